//! Clock for timestamps. Its time comes from a PTP master, from a GNSS receiver or from a host that has written it.
//! Otherwise it counts from power-up.

use super::profile::{PtpState, RobosenseClockSettings};
use crate::CableSignal;
use crate::config::rig::faults::Timed;
use crate::ptp::faults::{PtpFault, lost_since};
use crate::ptp::{DelayMechanism, PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::spinning::clock::{DeviceClock, PpsState};
use crate::spinning::master;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::{ClockIdentity, Transport};
use crate::wire::robosense::difop::{SyncMode, gps};

/// Source that has set the clock; the discriminant is the number that packets of points contain, and the place of its
/// code in `sync_codes` of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// Neither GNSS nor PTP; a host may have written the time.
    Nothing = 0,
    /// A GNSS receiver.
    Gps = 1,
    /// A PTP master.
    Ptp = 2,
}

/// A unit's clock.
#[derive(Clone, Debug)]
pub struct RobosenseClock {
    settings: RobosenseClockSettings,
    epoch: Epoch,
    own: DeviceClock,
    /// Whether a host has written the time. The clock then keeps its time when the unit restarts.
    is_written: bool,
    faults: Vec<Timed<PtpFault>>,
    /// PTP slave, if the clock follows a PTP master.
    pub slave: Option<PtpSlave>,
}

fn ptp_settings(settings: &RobosenseClockSettings) -> PtpSettings {
    let by_udp = PtpSettings { transport: Transport::Udp, ..PtpSettings::default() };
    match settings.mode {
        SyncMode::Gptp => PtpSettings::gptp(),
        SyncMode::PtpP2p => {
            let masters = settings.ptp_options.masters.clone();
            PtpSettings { delay: DelayMechanism::PeerToPeer, masters, ..by_udp }
        }
        SyncMode::PtpE2e | SyncMode::Gps => settings.ptp_options.apply(by_udp),
    }
}

/// PTP transport that these settings require.
pub(super) fn transport_of(settings: &RobosenseClockSettings) -> Transport {
    ptp_settings(settings).transport
}

impl RobosenseClock {
    /// A clock that is already on at the start of the run. `identity` and `noise` belong to its PTP slave.
    pub fn new(
        settings: &RobosenseClockSettings,
        epoch: Epoch,
        identity: ClockIdentity,
        noise: NoiseSource,
    ) -> Self {
        let virtual_master = (settings.ptp == PtpState::Virtual).then_some(epoch);
        let slave = settings.has_slave().then(|| {
            let ptp = ptp_settings(settings);
            master::slave(&settings.own, &ptp, identity, noise, virtual_master)
        });
        Self {
            own: DeviceClock::new(&settings.own, epoch),
            settings: settings.clone(),
            epoch,
            is_written: false,
            faults: Vec::new(),
            slave,
        }
    }

    /// Replaces the PTP faults.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        if let Some(slave) = &mut self.slave {
            slave.set_faults(faults.clone());
        }
        self.faults = faults;
    }

    /// The PTP faults if PTP is the selected clock source and the settings have a PTP master, simulated or on the
    /// network; otherwise empty.
    pub fn faults(&self) -> &[Timed<PtpFault>] {
        let follows = self.settings.is_ptp() && self.settings.ptp != PtpState::None;
        if follows { &self.faults } else { &[] }
    }

    /// Processes a signal of the GPS cable at `at`; times must not decrease.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal) {
        self.own.handle_signal(at, signal);
    }

    /// Sets the clock to the time that a host wrote at `at`, nanoseconds of POSIX time. Has no effect while a GNSS
    /// receiver or a PTP master sets the clock.
    pub fn set_by_host(&mut self, at: SimTime, unix_ns: i128) {
        if self.set_by(at) == SetBy::Nothing {
            self.own.set(at, unix_ns);
            self.is_written = true;
        }
    }

    /// Restarts the clock, because the unit restarts; the unit is up at `up_at`. Its PTP slave or GNSS receiver must
    /// then set the clock again. If a host has written the time, the clock continues without a jump.
    pub fn restart(&mut self, up_at: SimTime) {
        let kept_ns = self.own.unix_ns(up_at);
        self.own.restart(up_at);
        if self.is_written {
            self.own.set(up_at, kept_ns);
        }
        self.slave = self.slave.take().map(|slave| slave.restarted(up_at));
    }

    /// Last sentence of the GNSS receiver, without its line end; empty before the first one.
    pub fn sentence(&self) -> &[u8] {
        self.own.sentence().trim_ascii_end()
    }

    /// Status bits of the GNSS receiver.
    pub fn gps_state(&self, at: SimTime) -> u8 {
        let pps = self.own.pps(at);
        let (is_locked, has_time) = (pps == PpsState::Locked, self.own.has_valid_nmea(at));
        let bit = |is_on: bool, bit: u8| if is_on { bit } else { 0 };
        bit(is_locked, gps::PPS)
            | bit(has_time, gps::VALID)
            | bit(is_locked && has_time, gps::TIME)
            | bit(self.own.has_nmea(at), gps::SENTENCES)
            | bit(pps != PpsState::Absent, gps::PULSES)
    }

    /// Source that has set the clock.
    pub fn set_by(&self, at: SimTime) -> SetBy {
        let is_gps = self.own.pps(at) == PpsState::Locked && self.own.has_valid_nmea(at);
        match (self.settings.is_ptp(), &self.slave) {
            (true, Some(slave)) if slave.is_set_at(at) => SetBy::Ptp,
            (true, None) if self.settings.ptp == PtpState::Locked => SetBy::Ptp,
            (false, _) if is_gps => SetBy::Gps,
            _ => SetBy::Nothing,
        }
    }

    /// Clock reading at `at`, nanoseconds since 1970 in UTC or, if a PTP master has set the clock, in the master's time
    /// scale.
    pub fn unix_ns(&self, at: SimTime) -> i128 {
        match (self.set_by(at), &self.slave) {
            (SetBy::Ptp, Some(slave)) => slave.shows_ns(at),
            (SetBy::Ptp, None) => self.masters_ns(at),
            (SetBy::Gps | SetBy::Nothing, _) => self.own.unix_ns(at),
        }
    }

    /// Time of the simulated PTP master, without error, nanoseconds of POSIX time; after the loss of the master, the
    /// time of the unit's free-running clock.
    fn masters_ns(&self, at: SimTime) -> i128 {
        let RobosenseClockSettings { own, ptp_ahead_s, .. } = &self.settings;
        master::simulated_ns(own, self.epoch, *ptp_ahead_s, lost_since(&self.faults, at), at)
    }

    /// First time in the run at which a second of the clock begins, extrapolated from the clock's reading at `now`.
    pub fn second(&self, now: SimTime) -> SimTime {
        master::second(self.slave.as_ref(), self.epoch, now)
    }
}
