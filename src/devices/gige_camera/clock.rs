//! The clock that timestamps frames: it counts from power-up or follows a PTP master.

use super::profile::{CameraSettings, PtpState};
use crate::config::rig::faults::Timed;
use crate::ptp::account::TAI_AHEAD_NS;
use crate::ptp::faults::{PtpFault, lost_since};
use crate::ptp::{PortState, PtpClock, PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::ClockIdentity;

/// Latched PTP state and offset (ns) at power-up.
const NOTHING_LATCHED: (PortState, i64) = (PortState::Disabled, 0);

#[derive(Clone, Debug)]
pub(super) struct CameraClock {
    source: PtpState,
    epoch: Epoch,
    own: PtpClock,
    /// Whether PTP is switched on.
    is_on: bool,
    /// PTP slave of a master on the network or within Menura; `None` if the clock runs free or follows a simulated
    /// master without error.
    pub slave: Option<PtpSlave>,
    faults: Vec<Timed<PtpFault>>,
    /// Latched PTP state and offset (ns).
    pub latched: (PortState, i64),
}

impl CameraClock {
    /// A clock that reads 0 at the start of the run.
    pub fn new(
        settings: &CameraSettings,
        epoch: Epoch,
        identity: ClockIdentity,
        noise: NoiseSource,
    ) -> Self {
        let ptp = settings.ptp;
        let own = PtpClock::new(settings.drift_s_per_day, SimTime::ZERO, 0);
        let slave =
            || PtpSlave::new(&PtpSettings::default(), identity, own.clone(), noise, SimTime::ZERO);
        let slave = match ptp {
            PtpState::None | PtpState::Locked => None,
            PtpState::Virtual => Some(slave().with_virtual_master(epoch)),
            PtpState::Wire => Some(slave()),
        };
        Self {
            source: ptp,
            epoch,
            own,
            is_on: ptp != PtpState::None,
            slave,
            faults: Vec::new(),
            latched: NOTHING_LATCHED,
        }
    }

    /// Replaces the PTP faults.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        if let Some(slave) = &mut self.slave {
            slave.set_faults(faults.clone());
        }
        self.faults = faults;
    }

    /// The PTP faults if PTP is on and the settings have a PTP master, simulated or on the network; otherwise empty.
    pub fn faults(&self) -> &[Timed<PtpFault>] {
        if self.is_on && self.source != PtpState::None { &self.faults } else { &[] }
    }

    /// Switches PTP on or off at `now`; the clock continues from its present reading.
    pub fn switch(&mut self, now: SimTime, is_on: bool) {
        if !is_on && self.source == PtpState::Locked && self.is_on {
            self.own = self.own.restarted(now, self.shows(now));
        }
        self.is_on = is_on;
        if let Some(slave) = &mut self.slave {
            let settings = slave.settings().clone();
            slave.configure(now, settings, is_on);
        }
    }

    /// Resets the clock to 0 at `now` and returns `true`. If PTP sets the clock, changes nothing and returns `false`.
    pub fn reset(&mut self, now: SimTime) -> bool {
        if self.is_on && self.source != PtpState::None {
            return false;
        }
        self.count_from(now);
        true
    }

    /// Restarts the clock of a unit that has booted at `up_at`. A free-running clock reads 0 at that time, and nothing
    /// is latched.
    pub fn restart(&mut self, up_at: SimTime) {
        self.count_from(up_at);
        self.latched = NOTHING_LATCHED;
    }

    fn count_from(&mut self, start: SimTime) {
        self.own = self.own.restarted(start, 0);
        self.slave = self.slave.take().map(|slave| slave.restarted(start));
    }

    /// State of the PTP port.
    pub fn state(&self, now: SimTime) -> PortState {
        match (&self.slave, self.is_on) {
            (_, false) => PortState::Disabled,
            (Some(slave), true) => slave.state(),
            (None, true)
                if self.source == PtpState::Locked && lost_since(&self.faults, now).is_none() =>
            {
                PortState::Slave
            }
            (None, true) => PortState::Listening,
        }
    }

    /// Latches the state of the PTP port, and the offset from the master (ns).
    pub fn latch(&mut self, now: SimTime) {
        let offset_ns = self.slave.as_ref().map_or(0, PtpSlave::offset_ns);
        self.latched = (self.state(now), offset_ns);
    }

    /// Whether a PTP slave adjusts the clock, so that readings at later times cannot be predicted.
    pub fn is_steered(&self) -> bool {
        self.slave.is_some()
    }

    /// Reading of the clock at `at`, nanoseconds; 0 instead of a negative reading.
    pub fn ticks(&self, at: SimTime) -> u64 {
        self.shows(at).clamp(0, u64::MAX.into()) as u64
    }

    /// Time at which the clock reads `ticks` (ns), computed from its reading at `now`; the rate error of the clock is
    /// neglected.
    pub fn time_of(&self, now: SimTime, ticks: u64) -> SimTime {
        let ahead = i128::from(ticks) - self.shows(now);
        SimTime((i128::from(now.0) + ahead).clamp(0, u64::MAX.into()) as u64)
    }

    fn shows(&self, at: SimTime) -> i128 {
        match &self.slave {
            Some(slave) => slave.shows_ns(at),
            None if self.is_on && self.source == PtpState::Locked => self.masters_ns(at),
            None => self.own.shows_ns(at),
        }
    }

    /// TAI time of a simulated PTP master without error, nanoseconds since 1970. After the loss of the master: reading
    /// of the unit's clock, which then runs free.
    fn masters_ns(&self, at: SimTime) -> i128 {
        let kept_to = lost_since(&self.faults, at).unwrap_or(at);
        let shows_ns = self.epoch.unix_ns(kept_to) + TAI_AHEAD_NS;
        self.own.restarted(kept_to, shows_ns).shows_ns(at)
    }
}
