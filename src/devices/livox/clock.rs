//! Clock of a unit: it provides the timestamps of packets (time of a PTP master or GNSS receiver, or since power-up).

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
/// Reading of the unit's own clock at power-up, before a GNSS receiver sets it, nanoseconds of POSIX time: the
/// beginning of 2000.
const POWER_UP_NS: i128 = 946_684_800 * SECOND_NS;

/// A unit's clock.
#[derive(Clone, Debug)]
pub struct LivoxClock {
    settings: LivoxClockSettings,
    epoch: Epoch,
    own: DeviceClock,
    /// Time at which a GNSS receiver first set the clock after power-up; `None`: not yet.
    set_by_gps: Option<SimTime>,
    /// Time of the last pulse with which a GNSS receiver set the clock by the cable, nanoseconds of POSIX time.
    pulse_ns: u64,
    faults: Vec<Timed<PtpFault>>,
    /// Planned restart: when the unit stops, and when it is up again.
    restart: Option<(SimTime, SimTime)>,
    /// Whether timestamps wait until the signals of a wired GNSS receiver or PTP master are known.
    is_wired: bool,
    /// PTP slave, if the unit follows a PTP master.
    pub slave: Option<PtpSlave>,
}

impl LivoxClock {
    /// A clock that is already on at the start of the run. `identity` and `noise` belong to its PTP slave.
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
            pulse_ns: 0,
            faults: Vec::new(),
            restart: None,
            is_wired: slave.is_some(),
            slave,
        }
    }

    /// Sets the unit's IP address; `mac` is the MAC address of the product.
    pub fn set_address(&mut self, mac: [u8; 6], address: Ipv4Addr) {
        if let Some(slave) = &mut self.slave {
            slave.set_address(mac, address);
        }
    }

    /// Connects a GNSS receiver: timestamps then wait until the receiver's signals are known.
    pub fn connect_receiver(&mut self) {
        self.is_wired = true;
    }

    /// Latest time whose timestamp can be determined at `now`, because the clock's signals up to it are known.
    pub fn known_to(&self, now: SimTime) -> SimTime {
        if self.is_wired { now } else { SimTime(u64::MAX) }
    }

    /// Advances the PTP slave to `now`.
    pub fn advance(&mut self, now: SimTime) {
        if let Some(slave) = &mut self.slave {
            slave.advance(now);
        }
    }

    /// Replaces the PTP faults.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        if let Some(slave) = &mut self.slave {
            slave.set_faults(faults.clone());
        }
        self.faults = faults;
    }

    /// PTP faults; empty if the settings have no PTP master, neither on the network nor simulated.
    pub fn faults(&self) -> &[Timed<PtpFault>] {
        if self.settings.ptp == PtpState::None { &[] } else { &self.faults }
    }

    /// Processes a signal of the GPS cable at `at`; times must not decrease.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal) {
        self.own.handle_signal(at, signal);
        if !self.has_receiver(at) {
            return;
        }
        let is_pulse = matches!(signal, CableSignal::PulsePerSecond(true));
        if is_pulse || self.set_by_gps.is_none() {
            self.pulse_ns = self.second_ns(at);
        }
        self.set_by_gps = self.set_by_gps.or(Some(at));
    }

    /// Sets the time of the last pulse (POSIX, nanoseconds) by a host's command. Returns false if no pulses arrive, or
    /// if the year is not 2000 to 2037.
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

    /// Plans a restart: the unit stops at `down_at` and starts at `up_at`. Then its PTP slave or GNSS receiver must set
    /// the clock again.
    pub fn plan_restart(&mut self, down_at: SimTime, up_at: SimTime) {
        self.restart = Some((down_at, up_at));
    }

    /// Time at which the unit stops for the planned restart; `None` without one.
    pub fn goes_down_at(&self) -> Option<SimTime> {
        self.restart.map(|(down_at, _)| down_at)
    }

    /// The earlier of `at` and the planned restart, because a restart cancels everything that is planned after it.
    pub fn goes_down_by(&self, at: SimTime) -> SimTime {
        self.goes_down_at().map_or(at, |down_at| down_at.min(at))
    }

    /// Restarts the clock if the planned stop is at or before `now`; returns whether it was restarted. Before this
    /// call, all samples and packets from before the stop must have their timestamps.
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

    /// Start of the present second of the unit's own clock, nanoseconds of POSIX time.
    fn second_ns(&self, at: SimTime) -> u64 {
        (self.own.unix_ns(at).div_euclid(SECOND_NS) * SECOND_NS).max(0) as u64
    }

    fn has_receiver(&self, at: SimTime) -> bool {
        self.own.pps(at) == PpsState::Locked && self.own.has_valid_nmea(at)
    }

    /// Time since the last PPS pulse, nanoseconds; `None` if PPS is not locked.
    pub fn since_pulse_ns(&self, at: SimTime) -> Option<u64> {
        let has_pulses = self.own.pps(at) == PpsState::Locked;
        has_pulses.then(|| self.own.unix_ns(at).rem_euclid(SECOND_NS) as u64)
    }

    /// Whether the PTP master or GNSS receiver that set the clock is lost.
    pub fn is_lost(&self, at: SimTime) -> bool {
        match self.time_type(at) {
            TimeType::Ptp => match &self.slave {
                Some(slave) => slave.holds_over(),
                None => lost_since(&self.faults, at).is_some(),
            },
            TimeType::Gps => !self.has_receiver(at),
            TimeType::None => false,
        }
    }

    /// Time source of the clock at `at`; a lost source still counts.
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

    /// Clock reading at `at`, nanoseconds: POSIX time, the PTP master's time, or time since power-up.
    pub fn shows_ns(&self, at: SimTime) -> u64 {
        let ns = match (self.time_type(at), &self.slave) {
            (TimeType::Ptp, Some(slave)) => slave.shows_ns(at),
            (TimeType::Ptp, None) => self.masters_ns(at),
            (TimeType::Gps, _) => self.own.unix_ns(at),
            (TimeType::None, _) => self.own.unix_ns(at) - POWER_UP_NS,
        };
        ns.clamp(0, u64::MAX.into()) as u64
    }

    /// Time of the simulated PTP master, without error, nanoseconds; after the loss of the master, the time of the
    /// unit's free-running clock.
    fn masters_ns(&self, at: SimTime) -> i128 {
        let LivoxClockSettings { own, ptp_ahead_s, .. } = &self.settings;
        master::simulated_ns(own, self.epoch, *ptp_ahead_s, lost_since(&self.faults, at), at)
    }

    /// Clock reading at the last synchronisation (0 without one), and the offset from the PTP master that the slave
    /// measured last (0 without a slave), nanoseconds.
    pub fn synchronised(&self, now: SimTime) -> (u64, i64) {
        let offset_ns = self.slave.as_ref().map_or(0, |slave| slave.offset_ns());
        let ns = match (self.time_type(now), &self.slave) {
            (TimeType::None, _) => 0,
            (TimeType::Ptp, Some(slave)) => slave.synchronised().map_or(0, |at| self.shows_ns(at)),
            // A simulated master sets the clock every second until it is lost.
            (TimeType::Ptp, None) => {
                let kept_to = lost_since(&self.faults, now).unwrap_or(now);
                self.shows_ns(SimTime(kept_to.0 - kept_to.0 % SECOND_NS as u64))
            }
            (TimeType::Gps, _) => match self.settings.own.reference {
                ClockReference::Utc => self.second_ns(now),
                ClockReference::FreeRunning => self.pulse_ns,
            },
        };
        (ns, offset_ns)
    }
}
