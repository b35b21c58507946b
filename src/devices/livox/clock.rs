//! What packets are stamped with: a PTP master's time, a receiver's, or that since power-up.

use std::net::Ipv4Addr;

use super::profile::{LivoxClockSettings, PtpState};
use crate::CableSignal;
use crate::config::rig::faults::Timed;
use crate::ptp::faults::{PtpFault, lost_since};
use crate::ptp::{PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::spinning::clock::{DeviceClock, PpsState};
use crate::spinning::clock_settings::ClockReference;
use crate::spinning::master;
use crate::time::{Epoch, SimTime};
use crate::wire::line::LineSettings;
use crate::wire::livox::data::TimeType;
use crate::wire::nmea::RawSentence;
use crate::wire::ptp::ClockIdentity;

const SECOND_NS: i128 = 1_000_000_000;
/// What the clock that a receiver sets shows at power-up, nanoseconds of POSIX time: the beginning of 2000.
const POWER_UP_NS: i128 = 946_684_800 * SECOND_NS;

/// A unit's clock.
#[derive(Clone, Debug)]
pub struct LivoxClock {
    settings: LivoxClockSettings,
    epoch: Epoch,
    own: DeviceClock,
    /// From when on a receiver has set it.
    set_by_gps: Option<SimTime>,
    faults: Vec<Timed<PtpFault>>,
    /// When the unit goes down for a restart, and when it is up again.
    restart: Option<(SimTime, SimTime)>,
    /// Whether stamps wait until it is known what a receiver or a master sent.
    is_wired: bool,
    /// What follows a master by PTP, if anything does.
    pub slave: Option<PtpSlave>,
}

impl LivoxClock {
    /// A clock that is switched on before the first instant. `identity` and `noise` are those of its PTP slave.
    pub fn new(
        settings: &LivoxClockSettings,
        epoch: Epoch,
        identity: ClockIdentity,
        noise: NoiseSource,
    ) -> Self {
        let virtual_master = (settings.ptp == PtpState::Virtual).then_some(epoch);
        let slave = settings.ptp.has_slave().then(|| {
            let ptp = PtpSettings::default();
            master::slave(&settings.own, &ptp, identity, noise, virtual_master)
        });
        let is_utc = settings.own.reference == ClockReference::Utc;
        Self {
            own: DeviceClock::new(&settings.own, epoch),
            settings: settings.clone(),
            epoch,
            set_by_gps: is_utc.then_some(SimTime::ZERO),
            faults: Vec::new(),
            restart: None,
            is_wired: slave.is_some(),
            slave,
        }
    }

    /// The address of a unit whose product has the MAC address `mac`.
    pub fn set_address(&mut self, mac: [u8; 6], address: Ipv4Addr) {
        if let Some(slave) = &mut self.slave {
            slave.set_address(mac, address);
        }
    }

    /// Wires a receiver to it: stamps wait until it is known what the receiver sent.
    pub fn connect_receiver(&mut self) {
        self.is_wired = true;
    }

    /// The latest instant whose stamp is known at `now`.
    pub fn known_to(&self, now: SimTime) -> SimTime {
        if self.is_wired { now } else { SimTime(u64::MAX) }
    }

    /// The time of the PTP slave comes to `now`.
    pub fn advance(&mut self, now: SimTime) {
        if let Some(slave) = &mut self.slave {
            slave.advance(now);
        }
    }

    /// The faults of PTP from now on.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        if let Some(slave) = &mut self.slave {
            slave.set_faults(faults.clone());
        }
        self.faults = faults;
    }

    /// The faults of PTP, if it follows a master.
    pub fn faults(&self) -> &[Timed<PtpFault>] {
        if self.settings.ptp == PtpState::None { &[] } else { &self.faults }
    }

    /// Takes a signal of the GPS cable at `at`; instants never go back.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal) {
        self.own.handle_signal(at, signal);
        if self.set_by_gps.is_none() && self.has_receiver(at) {
            self.set_by_gps = Some(at);
        }
    }

    /// A host says what the time was at the last pulse, nanoseconds of POSIX time; whether that is possible.
    pub fn set_by_host(&mut self, at: SimTime, unix_ns: u64) -> bool {
        let Ok(time) = jiff::Timestamp::from_nanosecond(unix_ns.into()) else { return false };
        let time = time.to_zoned(jiff::tz::TimeZone::UTC).datetime();
        if !(2000..=2037).contains(&time.year()) || self.own.pps(at) == PpsState::Absent {
            return false;
        }
        let [time, date] = ["%H%M%S", "%d%m%y"].map(|form| time.strftime(form).to_string());
        let fields = [&time, "A", "", "", "", "", "", "", &date, "", ""];
        let rmc = RawSentence::new("GPRMC", fields).to_bytes();
        let line = LineSettings::eight_n_one(self.settings.own.gps_baud);
        self.handle_signal(at, &CableSignal::Bytes(rmc, line));
        true
    }

    /// Plans a restart: the unit stops at `down_at` and starts at `up_at`, without a PTP master or GNSS receiver.
    pub fn plan_restart(&mut self, down_at: SimTime, up_at: SimTime) {
        self.restart = Some((down_at, up_at));
    }

    /// Instant at which the unit stops for the planned restart; `None` without one.
    pub fn goes_down_at(&self) -> Option<SimTime> {
        self.restart.map(|(down_at, _)| down_at)
    }

    /// The earlier of `at` and the planned restart, because a restart cancels everything that is planned after it.
    pub fn goes_down_by(&self, at: SimTime) -> SimTime {
        self.goes_down_at().map_or(at, |down_at| down_at.min(at))
    }

    /// Restarts if the unit has stopped by `now`. Returns whether it has. Timestamp earlier samples before this call.
    pub fn restart_by(&mut self, now: SimTime) -> bool {
        let Some((_, up_at)) = self.restart.take_if(|(down_at, _)| *down_at <= now) else {
            return false;
        };
        self.own.restart(up_at);
        let is_utc = self.settings.own.reference == ClockReference::Utc;
        self.set_by_gps = is_utc.then_some(up_at);
        self.slave = self.slave.take().map(|slave| slave.restarted(up_at));
        true
    }

    fn has_receiver(&self, at: SimTime) -> bool {
        self.own.pps(at) == PpsState::Locked && self.own.has_nmea(at)
    }

    /// The time since the last pulse that set the part below a second, nanoseconds; `None` while no such pulses come.
    pub fn since_pulse_ns(&self, at: SimTime) -> Option<u64> {
        let has_pulses = self.own.pps(at) == PpsState::Locked;
        has_pulses.then(|| self.own.unix_ns(at).rem_euclid(SECOND_NS) as u64)
    }

    /// Whether the master or receiver that sets it has been lost.
    pub fn is_lost(&self, at: SimTime) -> bool {
        match self.time_type(at) {
            TimeType::Ptp => lost_since(&self.faults, at).is_some(),
            TimeType::Gps => !self.has_receiver(at),
            TimeType::None => false,
        }
    }

    /// What sets the clock at `at`. A source that is lost still counts.
    pub fn time_type(&self, at: SimTime) -> TimeType {
        let is_ptp = match &self.slave {
            Some(slave) => slave.is_set_at(at),
            None => self.settings.ptp == PtpState::Locked,
        };
        match self.set_by_gps {
            _ if is_ptp => TimeType::Ptp,
            Some(since) if since <= at => TimeType::Gps,
            _ => TimeType::None,
        }
    }

    /// What it shows at `at`, nanoseconds: of POSIX time, or of the master's, or since power-up.
    pub fn shows_ns(&self, at: SimTime) -> u64 {
        let ns = match (self.time_type(at), &self.slave) {
            (TimeType::Ptp, Some(slave)) => slave.shows_ns(at),
            (TimeType::Ptp, None) => self.masters_ns(at),
            (TimeType::Gps, _) => self.own.unix_ns(at),
            (TimeType::None, _) => self.own.unix_ns(at) - POWER_UP_NS,
        };
        ns.clamp(0, u64::MAX.into()) as u64
    }

    /// The time of a master without error, and the unit's own from where it was lost.
    fn masters_ns(&self, at: SimTime) -> i128 {
        let LivoxClockSettings { own, ptp_ahead_s, .. } = &self.settings;
        master::simulated_ns(own, self.epoch, *ptp_ahead_s, lost_since(&self.faults, at), at)
    }

    /// What it showed when it was set last, and by how much it was off then, nanoseconds.
    pub fn synchronised(&self, now: SimTime) -> (u64, i64) {
        let offset_ns = self.slave.as_ref().map_or(0, |slave| slave.offset_ns());
        let at = match (&self.slave, self.time_type(now)) {
            (Some(slave), TimeType::Ptp) => slave.synchronised(),
            (_, TimeType::None) => None,
            // A simulated master or a receiver sets it each second.
            _ => Some(SimTime(now.0 / SECOND_NS as u64 * SECOND_NS as u64)),
        };
        (at.map_or(0, |at| self.shows_ns(at)), offset_ns)
    }
}
