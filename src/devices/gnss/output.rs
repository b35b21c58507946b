//! UBX messages of the latest epoch and about the receiver itself.

use std::collections::BTreeMap;

use super::Gnss;
use super::clock::Stamp;
use super::items::key;
use super::messages::{NextPulse, Reporter};
use super::monitor::{self, PortState};
use super::signals::{self, ReceiverClock};
use super::survey::Demand;
use crate::sensors::gnss::constellation::Satellite;
use crate::sensors::gnss::navigator::{Fix, Solution};
use crate::sensors::gnss::settings::BestFix;
use crate::time::SimTime;
use crate::wire::ubx::{Message, MessageId, Payload, mon, nav, rxm};

impl Gnss {
    /// The message `id` as of the latest epoch; those about the receiver itself are of `now`.
    pub(super) fn message(&self, now: SimTime, id: MessageId) -> Option<Message> {
        let looks = self.store.is_set(key::ITFM_ENABLE);
        match id {
            mon::MonHw::ID => return Some(Message::MonHw(monitor::hardware(looks))),
            mon::MonRf::ID => return Some(Message::MonRf(monitor::radios(2, looks))),
            mon::MonComms::ID => {
                let port = PortState {
                    waiting_bytes: self.port.waiting_bytes(now),
                    buffer_bytes: self.profile.tx_buffer_bytes,
                    has_lost: self.port.lost() > 0,
                };
                let message = monitor::communications(&self.traffic, &port);
                return Some(Message::MonComms(message));
            }
            _ => {}
        }
        let (s, stamp) = self.last.as_ref()?;
        let reporter = self.reporter(s, stamp);
        let signals_of = |system| self.signals_of(system);
        Some(match id {
            nav::NavSvin::ID => Message::NavSvin(self.survey.message(reporter.itow())),
            nav::NavSig::ID => {
                let is_rtk = matches!(s.fix, Fix::ThreeD(BestFix::RtkFloat | BestFix::RtkFixed));
                Message::NavSig(signals::nav_sig(s, reporter.itow(), is_rtk, signals_of))
            }
            rxm::RxmRawx::ID => {
                let clock = ReceiverClock {
                    gps_ns: stamp.gps_ns,
                    bias_ns: reporter.clock_bias_ns(),
                    drift_ns_s: self.drift_ns_s,
                    leap_s: stamp.leap_s,
                };
                let lock_ns = |satellite: &Satellite| {
                    let since = self.followed.get(&(satellite.system, satellite.svid));
                    since.map_or(0, |since| s.at.0.saturating_sub(since.0))
                };
                Message::RxmRawx(signals::raw(s, &clock, signals_of, lock_ns))
            }
            _ => return reporter.message(id),
        })
    }

    /// Keeps account of what takes longer than an epoch.
    pub(super) fn follow(&mut self, at: SimTime, s: &Solution) {
        let heard: BTreeMap<_, _> = s
            .satellites
            .iter()
            .filter(|t| t.cno_dbhz[0].is_some())
            .map(|t| (t.satellite.system, t.satellite.svid))
            .map(|name| (name, self.followed.get(&name).copied().unwrap_or(at)))
            .collect();
        self.followed = heard;
        let demand = Demand {
            is_on: self.store.get(key::TMODE_MODE) == 1,
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
            stamp: Stamp::new(self.epoch, next, self.leap_seconds(solution), 0.0),
            quantisation_ps: (self.quantisation_ns(next) * 1000.0).round() as i32,
            is_utc: self.store.get(key::TIMEGRID_TP1) == 0,
        };
        Reporter {
            solution,
            stamp,
            pvt_extra_bits: self.profile.pvt_extra_bits,
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
