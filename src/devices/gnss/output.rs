//! UBX messages of the latest epoch and about the receiver itself.

use super::Gnss;
use super::clock::Stamp;
use super::items::key;
use super::messages::{NextPulse, Reporter, clock_bias};
use super::monitor;
use super::profile::GnssDialect;
use super::signals::{self, ReceiverClock};
use super::survey::Demand;
use super::ubx_outputs::NAV2;
use crate::sensors::gnss::navigator::{Fix, Solution};
use crate::sensors::gnss::settings::BestFix;
use crate::time::SimTime;
use crate::wire::ubx::cfg::Key;
use crate::wire::ubx::{Frame, MessageId, Payload, mon, mon_more, nav, nav_more, rxm};

/// Key of the item that enables SBAS.
const SBAS_ENA: Key = Key(0x1031_0020);
/// `SBAS-USE_TESTMODE`.
const SBAS_TEST: Key = Key(0x1036_0002);

impl Gnss {
    /// The message `id` about the latest epoch. A message about the receiver itself describes its state at `now`.
    /// `None` if the receiver cannot make the message, or has no epoch yet.
    pub(super) fn message(&self, now: SimTime, id: MessageId) -> Option<Frame> {
        if id.class == NAV2 {
            let first = MessageId::new(0x01, id.id);
            let frame =
                self.message(now, first).filter(|_| self.store.is_set(key::NAV2_OUT_ENABLED))?;
            return Some(Frame::new(id, frame.payload));
        }
        if let Some(frame) = self.about_itself(now, id) {
            return Some(frame);
        }
        let (s, stamp) = self.last.as_ref()?;
        let reporter = self.reporter(s, stamp);
        let itow_ms = reporter.itow();
        let signals_of = |system| self.signals_of(system);
        Some(match id {
            nav::NavSvin::ID => self.survey.message(itow_ms).to_frame(),
            nav_more::NavGeofence::ID => self.fences(s, itow_ms).to_frame(),
            nav_more::NavOdo::ID => self.odometer(itow_ms).to_frame(),
            nav_more::NavSbas::ID => {
                let [is_on, is_test] = [SBAS_ENA, SBAS_TEST].map(|key| self.store.is_set(key));
                // 0: off; 1: integrity; 3: also satellites in test mode.
                let mode = if is_on { 1 + 2 * u8::from(is_test) } else { 0 };
                // The receiver tracks no SBAS satellite.
                nav_more::NavSbas { itow_ms, mode, system: -1, ..Default::default() }.to_frame()
            }
            nav::NavSig::ID => {
                let is_rtk = matches!(s.fix, Fix::ThreeD(BestFix::RtkFloat | BestFix::RtkFixed));
                signals::nav_sig(s, itow_ms, is_rtk, signals_of).to_frame()
            }
            rxm::RxmRawx::ID => {
                let clock = ReceiverClock {
                    gps_ns: self.epoch.gps_ns(s.at),
                    bias_ns: reporter.clock_bias_ns(),
                    drift_ns_s: self.drift_ns_s,
                    is_reset: self.is_clock_reset(s.at),
                    leap_s: stamp.leap_s,
                    weeks_behind: stamp.weeks_behind,
                };
                let observations = if s.is_time_known { &self.observations[..] } else { &[] };
                signals::raw(observations, &clock, s.is_leap_known).to_frame()
            }
            _ => return reporter.message(id).map(|message| message.to_frame()),
        })
    }

    /// Whether the receiver corrected its clock by whole milliseconds between the epoch before and that at `at`.
    fn is_clock_reset(&self, at: SimTime) -> bool {
        let corrected_ms = |at| clock_bias(self.drift_ns_s, self.uptime_ms(at)).0;
        self.observed_before.is_some_and(|before| corrected_ms(before) != corrected_ms(at))
    }

    /// The message `id` if it describes the receiver itself (MON, SEC); `None` for all other messages.
    fn about_itself(&self, now: SimTime, id: MessageId) -> Option<Frame> {
        let looks = self.store.is_set(key::ITFM_ENABLE);
        let ports = || self.port_states(now);
        Some(match id {
            mon::MonHw::ID => monitor::hardware(looks).to_frame(),
            mon::MonRf::ID => {
                let bands = self.profile.nmea.signals.iter().map(|(_, signals)| signals.len());
                monitor::radios(bands.max().unwrap_or(1) as u8, looks).to_frame()
            }
            mon::MonComms::ID => monitor::communications(&ports()).to_frame(),
            mon_more::MonHw2::ID => monitor::radio().to_frame(),
            mon_more::MonHw3::ID => monitor::pins(&self.profile.identity.hardware).to_frame(),
            mon_more::MonIo::ID => monitor::bytes_of_ports(&ports()).to_frame(),
            mon_more::MonMsgpp::ID => monitor::messages_of_ports(&ports()).to_frame(),
            mon_more::MonRxbuf::ID => mon_more::MonRxbuf::default().to_frame(),
            mon_more::MonTxbuf::ID => monitor::transmit_buffers(&ports()).to_frame(),
            mon_more::MonRxr::ID => mon_more::MonRxr { flags: 1 }.to_frame(),
            mon_more::MonPatch::ID => {
                mon_more::MonPatch { version: 1, ..Default::default() }.to_frame()
            }
            mon_more::MonSys::ID => monitor::processor(self.uptime_ms(now) / 1000).to_frame(),
            mon_more::MonGnss::ID => mon_more::MonGnss {
                supported: self.system_bits(|_, _| true),
                factory: self.system_bits(|this, key| this.store.is_set_by_factory(key)),
                enabled: self.system_bits(|this, key| this.store.is_set(key)),
                simultaneous: if self.profile.receiver.dialect == GnssDialect::Ublox9 {
                    4
                } else {
                    3
                },
                ..Default::default()
            }
            .to_frame(),
            mon_more::SecUniqid::ID => {
                let bytes =
                    if self.profile.receiver.dialect == GnssDialect::Ublox10 { 6 } else { 5 };
                monitor::number(&self.noise, bytes).to_frame()
            }
            mon_more::SecSig::ID if self.profile.protocol_version() >= Some(2750) => {
                monitor::attacks_by_frequency().to_frame()
            }
            mon_more::SecSig::ID => monitor::attacks(looks).to_frame(),
            _ => return None,
        })
    }

    /// Adds a solution to the survey-in, if one is requested. It determines the position of a base.
    pub(super) fn survey_with(&mut self, at: SimTime, s: &Solution) {
        if !self.surveys() {
            return;
        }
        let demand = Demand {
            least_s: self.store.get(key::SVIN_MIN_DUR) as u32,
            accuracy_m: self.store.get(key::SVIN_ACC_LIMIT) as f64 * 1e-4,
        };
        let (h, v) = (s.horizontal_accuracy_m(), s.vertical_accuracy_m());
        let fix =
            matches!(s.fix, Fix::ThreeD(_)).then(|| (s.position.to_ecef(), libm::hypot(h, v)));
        self.survey.step(at, &demand, fix);
    }

    pub(super) fn reporter<'a>(&'a self, solution: &'a Solution, stamp: &'a Stamp) -> Reporter<'a> {
        let next = self.next_pulse_from(SimTime(solution.at.0 + 1));
        let next_pulse = NextPulse {
            stamp: self
                .in_weeks(next, Stamp::new(self.epoch, next, self.leap_seconds(solution), 0.0)),
            quantisation_ps: (self.quantisation_ns(next) * 1000.0).round() as i32,
            is_utc: self.store.get(key::TIMEGRID_TP1) == 0,
        };
        Reporter {
            solution,
            is_held: self.is_held,
            stamp,
            pvt_extra_bits: self.profile.receiver.pvt_extra_bits,
            uptime_ms: self.uptime_ms(solution.at),
            drift_ns_s: self.drift_ns_s,
            next_pulse,
            leap_second_on: self.settings.leap_second_on,
            utc_standard: match self.store.get(key::UTCSTANDARD) {
                0 => 3,
                standard => standard as u8,
            },
        }
    }
}
