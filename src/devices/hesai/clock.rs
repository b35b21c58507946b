//! Clock for timestamps: set by a GNSS receiver, a simulated PTP master, or PTP on the network.

use jiff::civil::DateTime;

use super::profile::{ClockSource, HesaiClockSettings, PtpState};
use crate::CableSignal;
use crate::config::rig::faults::Timed;
use crate::ptp::faults::{PtpFault, lost_since};
use crate::ptp::{PortState, PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::spinning::clock::{DeviceClock, PpsState};
use crate::spinning::master;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::ClockIdentity;

const SECOND_NS: i128 = 1_000_000_000;

/// A unit's clock.
#[derive(Clone, Debug)]
pub struct HesaiClock {
    settings: HesaiClockSettings,
    epoch: Epoch,
    own: DeviceClock,
    faults: Vec<Timed<PtpFault>>,
    /// PTP slave, if the clock follows a master.
    pub slave: Option<PtpSlave>,
}

impl HesaiClock {
    /// A clock that is already on at the start of the run.
    ///
    /// `identity` and `noise` belong to its PTP slave.
    pub fn new(
        settings: &HesaiClockSettings,
        epoch: Epoch,
        identity: ClockIdentity,
        noise: NoiseSource,
    ) -> Self {
        let own = DeviceClock::new(&settings.own, epoch);
        let virtual_master = (settings.ptp == PtpState::Virtual).then_some(epoch);
        let slave = settings.ptp.has_slave().then(|| {
            let ptp = PtpSettings::default();
            master::slave(&settings.own, &ptp, identity, noise, virtual_master)
        });
        Self { settings: settings.clone(), epoch, own, faults: Vec::new(), slave }
    }

    /// Replaces the PTP faults.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        if let Some(slave) = &mut self.slave {
            slave.set_faults(faults.clone());
        }
        self.faults = faults;
    }

    /// PTP faults.
    pub fn faults(&self) -> &[Timed<PtpFault>] {
        &self.faults
    }

    /// State of the PTP slave; the clock counts as locked within `lock_offset_us` of the master. `None` without a
    /// slave.
    pub fn slave_state(&self, lock_offset_us: u8) -> Option<PtpState> {
        let slave = self.slave.as_ref()?;
        let limit_ns = u64::from(lock_offset_us) * 1000;
        Some(match (slave.state(), slave.is_set()) {
            (PortState::Slave, _) if slave.offset_ns().unsigned_abs() <= limit_ns => {
                PtpState::Locked
            }
            (PortState::Slave | PortState::Uncalibrated, _) => PtpState::Tracking,
            (PortState::Listening | PortState::Disabled, true) => PtpState::Frozen,
            (PortState::Listening | PortState::Disabled, false) => PtpState::Free,
        })
    }

    /// Processes a signal of the GPS cable at `at`; times must not decrease.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal) {
        self.own.handle_signal(at, signal);
    }

    /// Restarts the clock of a unit that is up again at `up_at`. Earlier pulses and sentences of the GNSS receiver are
    /// forgotten.
    pub fn restart(&mut self, up_at: SimTime) {
        self.own.restart(up_at);
        self.slave = self.slave.take().map(|slave| slave.restarted(up_at));
    }

    /// The last undamaged sentence of an accepted type, with its line end; empty before the first one.
    pub fn sentence(&self) -> &[u8] {
        self.own.sentence()
    }

    /// Whether the clock is locked to the PPS input at `at`.
    pub fn pps_locked(&self, at: SimTime) -> bool {
        self.own.pps(at) == PpsState::Locked
    }

    /// Whether a sentence with a valid time arrived shortly before `at`, see [`DeviceClock::has_valid_nmea`].
    pub fn has_valid_nmea(&self, at: SimTime) -> bool {
        self.own.has_valid_nmea(at)
    }

    /// Start of the fault that makes the simulated PTP master unreachable at `at`; `None` if there is no such fault
    /// then.
    fn lost_since(&self, at: SimTime) -> Option<SimTime> {
        lost_since(&self.faults, at)
    }

    /// State of PTP at `at` with a simulated master: the configured state, but frozen while the master is lost.
    pub fn ptp(&self, at: SimTime) -> PtpState {
        match self.settings.ptp {
            PtpState::Tracking | PtpState::Locked if self.lost_since(at).is_some() => {
                PtpState::Frozen
            }
            state => state,
        }
    }

    /// Whether `source` provides a time reference to which the rotor can be phase-locked.
    pub fn is_kept(&self, source: ClockSource, at: SimTime) -> bool {
        match source {
            ClockSource::Gps => self.pps_locked(at),
            ClockSource::Ptp => match &self.slave {
                Some(slave) => slave.is_set_at(at),
                None => self.settings.ptp != PtpState::Free,
            },
        }
    }

    /// Date and time of the clock at `at`, if its source is `source`.
    pub fn civil(&self, source: ClockSource, at: SimTime) -> DateTime {
        if let (ClockSource::Ptp, Some(slave)) = (source, &self.slave) {
            // Until a PTP master sets the clock, it counts from power-up, as it does without a GNSS receiver.
            return match slave.is_set_at(at) {
                true => {
                    let utc_offset_ns = i128::from(slave.utc_offset_s()) * SECOND_NS;
                    civil(slave.shows_ns(at) - utc_offset_ns)
                }
                false => self.own.civil(at),
            };
        }
        let frozen_since = match self.settings.ptp {
            PtpState::Frozen => Some(SimTime::ZERO),
            _ => self.lost_since(at),
        };
        if source == ClockSource::Gps || self.settings.ptp == PtpState::Free {
            return self.own.civil(at);
        }
        let HesaiClockSettings { own, ptp_ahead_s, .. } = &self.settings;
        civil(master::simulated_ns(own, self.epoch, *ptp_ahead_s, frozen_since, at))
    }

    /// Earliest time of the run at which a second begins on the clock, extrapolated from the clock's offset at `now`. A
    /// clock that no PTP slave sets is taken as error-free.
    pub fn second(&self, source: ClockSource, now: SimTime) -> SimTime {
        let slave = self.slave.as_ref().filter(|_| source == ClockSource::Ptp);
        master::second(slave, self.epoch, now)
    }
}

/// Date and time from POSIX time, limited to the representable range.
fn civil(unix_ns: i128) -> DateTime {
    jiff::Timestamp::from_nanosecond(unix_ns)
        .unwrap_or(jiff::Timestamp::MAX)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .datetime()
}

/// Year minus `base`, month, day, hour, minute, second; and microseconds of the second.
pub fn words(time: DateTime, base: u16) -> ([u8; 6], u32) {
    let since = (i32::from(time.year()) - i32::from(base)).clamp(0, 255) as u8;
    let rest = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
    let [month, day, hour, minute, second] = rest.map(|value| value as u8);
    ([since, month, day, hour, minute, second], time.subsec_nanosecond() as u32 / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;
    use crate::spinning::clock_settings::ClockSettings;

    fn clock(change: impl FnOnce(&mut HesaiClockSettings)) -> HesaiClock {
        let own = ClockSettings { drift_s_per_day: 86.4, ..ClockSettings::default() };
        let mut settings = HesaiClockSettings {
            own,
            source: ClockSource::Ptp,
            ptp: PtpState::Locked,
            ..HesaiClockSettings::default()
        };
        change(&mut settings);
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        HesaiClock::new(&settings, epoch, [0; 8], NoiseSource::new(1, "xt"))
    }

    fn s(seconds: f64) -> SimTime {
        SimTime((seconds * 1e9).round() as u64)
    }

    fn told(clock: &HesaiClock, at: SimTime) -> ([u8; 6], u32) {
        words(clock.civil(ClockSource::Ptp, at), 1900)
    }

    #[test]
    fn a_masters_time_is_told_until_it_is_lost_and_again_afterwards() {
        let mut clock = clock(|_| {});
        let schedule =
            Schedule { start: s(1.0), duration_ns: Some(2_000_000_000), period_ns: None };
        clock.set_faults(vec![Timed { fault: 0, schedule, kind: PtpFault::Lost }]);
        assert_eq!(told(&clock, s(0.5)), ([126, 6, 1, 12, 0, 0], 500_000));
        assert_eq!(told(&clock, s(2.5)), ([126, 6, 1, 12, 0, 2], 501_500), "a thousandth fast");
        assert_eq!(told(&clock, s(3.5)), ([126, 6, 1, 12, 0, 3], 500_000));
        let states = [0.5, 2.5, 3.5].map(|at| clock.ptp(s(at)));
        assert_eq!(states, [PtpState::Locked, PtpState::Frozen, PtpState::Locked]);
    }

    #[test]
    fn without_a_master_it_counts_from_power_up() {
        let clock = clock(|settings| {
            settings.ptp = PtpState::Free;
            settings.own.power_up_us = 60_000_000;
        });
        assert_eq!(told(&clock, s(0.0)), ([100, 1, 1, 0, 1, 0], 0));
        assert!(!clock.is_kept(ClockSource::Ptp, s(1.0)));
    }

    #[test]
    fn tai_and_years_since_2000() {
        let clock = clock(|settings| settings.ptp_ahead_s = 37);
        let time = clock.civil(ClockSource::Ptp, s(0.0));
        assert_eq!(words(time, 2000), ([26, 6, 1, 12, 0, 37], 0));
    }
}
