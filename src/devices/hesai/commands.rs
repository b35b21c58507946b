//! Commands: their effects and answers.

use std::net::{IpAddr, Ipv4Addr};

use super::Hesai;
use super::calibration;
use super::control::Values;
use super::faults;
use super::profile::{ClockSource, InterfaceProfile, PtpState};
use crate::config::profile::network::HostAddress;
use crate::ptp::PtpSlave;
use crate::time::SimTime;
use crate::wire::hesai::ptc::{
    Configuration, Destination, Inventory, LidarRange, Monitor, OwnNetwork, PtcFrame,
    PtpConfiguration, PtpGrandmaster, PtpQuery, PtpStatus, Status, SyncAngle, code, command,
    mode_number, mode_of, text,
};
use crate::wire::port::Peer;
use crate::wire::ptp::management::{PortDataSet, TimeStatus};
use crate::wire::ptp::{PortIdentity, identity_of};
use crate::wire::record::{Record, parse};

/// Number of tenths of a degree in one rotation.
const FULL_TURN_DECIDEG: u16 = 3600;
/// Interval between synchronisations by a simulated PTP master, milliseconds.
const PTP_PERIOD_MS: u64 = 1000;
/// Port state in `PTP_DIAGNOSTICS` while the unit follows a simulated PTP master.
const PORT_SLAVE: u8 = 9;
/// Port state in `PTP_DIAGNOSTICS` while the unit follows no simulated PTP master.
const PORT_LISTENING: u8 = 4;

/// Largest PTP domain in the web interface.
const MAX_PTP_DOMAIN: u8 = 127;
/// Announce intervals in the web interface, as binary logarithms of seconds.
const PTP_LOG_ANNOUNCE: std::ops::RangeInclusive<i8> = -2..=3;
/// Intervals of sync messages and delay requests in the web interface, as binary logarithms of seconds.
const PTP_LOG_INTERVALS: std::ops::RangeInclusive<i8> = -7..=3;
/// Lock offsets that hosts can set: the range that drivers accept.
const PTP_LOCK_OFFSETS_US: std::ops::RangeInclusive<u8> = 1..=100;

/// Payload of an answer, or error code of a refusal.
type Answer = Result<Vec<u8>, u8>;

impl Hesai {
    /// Executes a request of a host; returns the answer.
    pub(super) fn answer(&mut self, now: SimTime, request: &PtcFrame) -> PtcFrame {
        let command = request.command;
        let (code, payload) = match self.carry_out(now, command, &request.payload) {
            Ok(payload) => (code::OK, payload),
            Err(code) => (code, Vec::new()),
        };
        PtcFrame { command, code, payload }
    }

    fn carry_out(&mut self, now: SimTime, command: u8, payload: &[u8]) -> Answer {
        match command {
            command::CALIBRATION => Ok(calibration::table(&self.lasers).into_bytes()),
            command::PTP_DIAGNOSTICS => {
                let query = PtpQuery::from_byte(byte(payload)?).ok_or(code::INVALID_PARAMETER)?;
                Ok(self.ptp_diagnostics(now, query))
            }
            command::INVENTORY => Ok(self.inventory().to_bytes()),
            command::CONFIGURATION => Ok(self.configuration().to_bytes()),
            command::STATUS => Ok(self.status(now).to_bytes()),
            command::GET_RANGE => {
                let [start_decideg, stop_decideg] = self.values.range_decideg;
                Ok(LidarRange { method: 0, start_decideg, stop_decideg }.to_bytes())
            }
            command::GET_PTP => {
                let is_on = u8::from(self.values.source == ClockSource::Ptp);
                Ok([vec![is_on], self.values.ptp.to_bytes()].concat())
            }
            command::GET_PTP_LOCK_OFFSET => Ok(vec![self.values.ptp_lock_offset_us]),
            command::MONITOR => Ok(self.monitor(now).to_bytes()),
            command::REBOOT => {
                self.reboots = true;
                Ok(Vec::new())
            }
            command::RESET => {
                let host = self.values.host.clone();
                self.configure(Values::of(&self.profile, &self.profile.defaults, host));
                Ok(Vec::new())
            }
            _ => {
                let mut wanted = self.values.clone();
                self.set(&mut wanted, command, payload)?;
                self.configure(wanted);
                Ok(Vec::new())
            }
        }
    }

    /// Changes `wanted` as a command requests; `Err` is the error code of a refusal.
    fn set(&self, wanted: &mut Values, command: u8, payload: &[u8]) -> Result<(), u8> {
        match command {
            command::SPIN_RATE => {
                let rpm: u16 = be(payload)?;
                let allowed = self.profile.rates_rpm.contains(&rpm.into());
                wanted.rpm = checked(u32::from(rpm), allowed)?;
            }
            command::SYNC_ANGLE => {
                let SyncAngle { is_on, angle } = record(payload)?;
                wanted.sync_enable = flag(is_on)?;
                wanted.sync_angle_deg = checked(angle, angle < 360)?;
            }
            command::TRIGGER => wanted.trigger = flag(byte(payload)?)?.into(),
            command::STANDBY => wanted.standby = flag(byte(payload)?)?,
            command::RETURN_MODE => {
                let mode = mode_of(self.profile.packet.format, byte(payload)?);
                let known = |mode: &_| self.profile.return_modes.contains(mode);
                wanted.returns = mode.filter(known).ok_or(code::INVALID_PARAMETER)?;
            }
            command::CLOCK_SOURCE => {
                let is_ptp = flag(byte(payload)?)?;
                wanted.source = if is_ptp { ClockSource::Ptp } else { ClockSource::Gps };
            }
            command::DESTINATION => {
                let Destination { ip, data_port, gps_port } = record(payload)?;
                checked((), data_port != 0 && gps_port != 0)?;
                let ip = IpAddr::from(Ipv4Addr::from(ip));
                wanted.host = HostAddress { ip, ports: vec![data_port, gps_port] };
            }
            command::OWN_NETWORK => {
                let network: OwnNetwork = record(payload)?;
                flag(network.vlan.is_on)?;
                wanted.network = network;
            }
            command::SET_RANGE => {
                let LidarRange { method, start_decideg, stop_decideg } = record(payload)?;
                let ends = [start_decideg, stop_decideg];
                // Sectors of single lasers (methods 1 and 2) are not supported.
                let allowed = method == 0 && ends.iter().all(|end| *end <= FULL_TURN_DECIDEG);
                wanted.range_decideg = checked(ends, allowed)?;
            }
            command::SET_PTP => wanted.ptp = ptp_of(&wanted.ptp, payload)?,
            command::SET_PTP_LOCK_OFFSET => {
                let us = byte(payload)?;
                wanted.ptp_lock_offset_us = checked(us, PTP_LOCK_OFFSETS_US.contains(&us))?;
            }
            _ => return Err(code::UNSUPPORTED),
        }
        Ok(())
    }

    fn inventory(&self) -> Inventory {
        let identity = &self.profile.identity;
        Inventory {
            serial: text(&self.settings.serial),
            manufactured: text(&identity.manufactured),
            mac: self.profile.network.source_mac,
            software: text(&identity.software),
            hardware: text(&identity.hardware),
            control_firmware: text(&identity.control_firmware),
            sensor_firmware: text(&identity.sensor_firmware),
            zero_angle_centideg: 0,
            model: identity.model,
            motor_type: 0,
            lines: self.lasers.len() as u8,
            reserved: [0; 11],
        }
    }

    fn configuration(&self) -> Configuration {
        let Values { network, host, .. } = &self.values;
        let ip = match host.ip {
            IpAddr::V4(ip) => ip.octets(),
            // Commands support only IPv4; a rig can have an IPv6 destination.
            IpAddr::V6(_) => [0; 4],
        };
        let port = |place: usize| host.ports.get(place).copied().unwrap_or_default();
        let [start_decideg, stop_decideg] = self.values.range_decideg;
        Configuration {
            ip: network.ip,
            mask: network.mask,
            gateway: network.gateway,
            destination: Destination { ip, data_port: port(0), gps_port: port(1) },
            rpm: self.values.rpm as u16,
            sync: SyncAngle {
                is_on: self.values.sync_enable.into(),
                angle: self.values.sync_angle_deg * 100,
            },
            start_decideg,
            stop_decideg,
            clock_source: (self.values.source == ClockSource::Ptp).into(),
            has_sequence: self.settings.has_sequence.into(),
            trigger: self.values.trigger,
            return_mode: mode_number(self.profile.packet.format, self.values.returns),
            standby: self.values.standby.into(),
            motor: u8::from(!self.values.standby),
            vlan: network.vlan.clone(),
            sentence: 0,
            noise_filter: 0,
            reflectivity_mapping: 0,
            reserved: [0; 6],
        }
    }

    fn status(&self, now: SimTime) -> Status {
        let rise_c = faults::rise_c(&self.hot, now).unwrap_or(0.0);
        let centidegrees = |celsius: f64| ((celsius + rise_c) * 100.0).round() as i32;
        let identity = &self.profile.identity;
        let power_up_s = self.settings.clock.own.power_up_us / 1_000_000;
        let running_s = now.0.saturating_sub(self.up_at.0) / 1_000_000_000;
        let before_s = if self.restarts == 0 { power_up_s } else { 0 };
        // Restarts do not interrupt the operating time.
        let run_min = (now.0 / 60_000_000_000) as u32;
        Status {
            uptime_s: (before_s + running_s) as u32,
            rpm: self.rpm(now),
            temperatures: self.profile.interface.temperatures_c.map(centidegrees),
            pps_locked: self.clock.pps_locked(now).into(),
            nmea_locked: self.clock.has_valid_nmea(now).into(),
            starts: identity.starts.saturating_add(self.restarts) as i32,
            operation_min: identity.operation_min.saturating_add(run_min) as i32,
            ptp: self.ptp(now).number(),
            reserved: [0; 5],
        }
    }

    /// State of PTP; [`PtpState::Free`] if the clock source is not PTP.
    fn ptp(&self, now: SimTime) -> PtpState {
        match self.values.source {
            ClockSource::Gps => PtpState::Free,
            ClockSource::Ptp => {
                let on_wire = self.clock.slave_state(self.values.ptp_lock_offset_us);
                on_wire.unwrap_or_else(|| self.clock.ptp(now))
            }
        }
    }

    fn monitor(&self, now: SimTime) -> Monitor {
        let InterfaceProfile { supply_v: volts, running_w, standby_w, .. } = self.profile.interface;
        let watts = if self.rpm(now) == 0 { standby_w } else { running_w };
        let hundredths = |value: f64| (value * 100.0).round() as i32;
        Monitor {
            current: hundredths(watts / volts * 1000.0),
            voltage: hundredths(volts),
            power: hundredths(watts),
            phase_offset: 0,
            reserved: [0; 48],
        }
    }

    fn ptp_diagnostics(&self, now: SimTime, query: PtpQuery) -> Vec<u8> {
        let state = self.ptp(now);
        if let Some(slave) = &self.clock.slave {
            return diagnostics_of(slave, now, state, query);
        }
        let is_kept = matches!(state, PtpState::Tracking | PtpState::Locked);
        let identity = identity_of(self.profile.network.source_mac);
        let synchronised = SimTime(now.0 / (PTP_PERIOD_MS * 1_000_000) * PTP_PERIOD_MS * 1_000_000);
        let ahead_s = self.settings.clock.ptp_ahead_s;
        match query {
            PtpQuery::Status => PtpStatus {
                master_offset_ns: 0,
                state: state.number().into(),
                elapsed_ms: ((now.0 - synchronised.0) / 1_000_000) as i32,
            }
            .to_bytes(),
            PtpQuery::Port => PortDataSet {
                identity: PortIdentity { clock: identity, port: 1 },
                state: if is_kept { PORT_SLAVE } else { PORT_LISTENING },
                log_min_delay_interval: self.values.ptp.log_min_delay_interval,
                peer_mean_path_delay: 0,
                log_announce_interval: self.values.ptp.log_announce_interval,
                announce_receipt_timeout: 3,
                log_sync_interval: self.values.ptp.log_sync_interval,
                delay_mechanism: 1,
                log_min_pdelay_interval: 0,
                version: 2,
            }
            .to_bytes(),
            PtpQuery::Time => TimeStatus {
                master_offset_ns: 0,
                ingress_time_ns: (self.epoch.unix_ns(synchronised)
                    + i128::from(ahead_s) * 1_000_000_000) as i64,
                cumulative_scaled_rate_offset: 0,
                scaled_last_gm_phase_change: 0,
                gm_time_base: 0,
                last_gm_phase_change: [0; 12],
                gm_present: is_kept.into(),
                // A simulated master has a MAC address for documentation (RFC 7042).
                gm_identity: identity_of([0, 0, 0x5e, 0, 0x53, 1]),
            }
            .to_bytes(),
            PtpQuery::Grandmaster => PtpGrandmaster {
                // Clock class 6, accuracy 100 ns, unknown variance: a clock set by a GNSS receiver.
                clock_quality: 0x0621_ffff,
                utc_offset_s: 37,
                time_flags: 0x3c,
                time_source: 0x20,
            }
            .to_bytes(),
        }
    }

    /// Handles bytes from a host.
    pub(super) fn hear(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        for request in self.hosts.hear(now, peer, bytes) {
            let Some(due) = self.hosts.due(now, peer, self.profile.interface.reply_ns) else {
                continue;
            };
            let answer = self.answer(now, &request);
            self.reply(due, peer, answer.to_bytes());
            if std::mem::take(&mut self.reboots) {
                // The restart follows after the answer.
                self.restart();
                return;
            }
        }
    }
}

/// Answer to `PTP_DIAGNOSTICS` of a unit with a PTP slave.
fn diagnostics_of(slave: &PtpSlave, now: SimTime, state: PtpState, query: PtpQuery) -> Vec<u8> {
    match query {
        PtpQuery::Status => {
            let since = slave.synchronised().map_or(now.0, |at| now.0.saturating_sub(at.0));
            let elapsed_ms = i32::try_from(since / 1_000_000).unwrap_or(i32::MAX);
            let (master_offset_ns, state) = (slave.offset_ns(), state.number().into());
            PtpStatus { master_offset_ns, state, elapsed_ms }.to_bytes()
        }
        PtpQuery::Port => slave.port_data_set().to_bytes(),
        PtpQuery::Time => slave.time_status().to_bytes(),
        PtpQuery::Grandmaster => {
            let (parent, time) = (slave.parent_data_set(), slave.time_properties());
            let quality = parent.quality.to_bytes();
            let quality: [u8; 4] = quality.try_into().unwrap_or_default();
            PtpGrandmaster {
                clock_quality: i32::from_be_bytes(quality),
                utc_offset_s: time.utc_offset_s,
                time_flags: time.flags,
                time_source: time.time_source,
            }
            .to_bytes()
        }
    }
}

/// Parses a payload of one byte.
fn byte(payload: &[u8]) -> Result<u8, u8> {
    be(payload)
}

/// Parses a payload of one big-endian number.
fn be<T: crate::wire::record::Field<crate::wire::record::Be>>(payload: &[u8]) -> Result<T, u8> {
    parse("a payload", payload).map_err(|_| code::INVALID_DATA)
}

/// Parses a payload of one record.
fn record<T: Record>(payload: &[u8]) -> Result<T, u8> {
    T::parse(payload).map_err(|_| code::INVALID_DATA)
}

/// Returns the value if it is allowed, else an error code.
fn checked<T>(value: T, is_allowed: bool) -> Result<T, u8> {
    if is_allowed { Ok(value) } else { Err(code::INVALID_PARAMETER) }
}

/// Parses a flag, which must be 0 or 1.
fn flag(byte: u8) -> Result<bool, u8> {
    checked(byte == 1, byte <= 1)
}

/// Parses PTP settings. Intervals that the request omits are taken from the present settings `now`.
fn ptp_of(now: &PtpConfiguration, payload: &[u8]) -> Result<PtpConfiguration, u8> {
    let mut whole = now.to_bytes();
    let wanted = whole.get_mut(..payload.len()).filter(|wanted| wanted.len() >= 3);
    wanted.ok_or(code::INVALID_DATA)?.copy_from_slice(payload);
    let wanted: PtpConfiguration = record(&whole)?;
    let PtpConfiguration { profile, domain, network, .. } = wanted;
    let logs = [wanted.log_sync_interval, wanted.log_min_delay_interval];
    let has_intervals = PTP_LOG_ANNOUNCE.contains(&wanted.log_announce_interval)
        && logs.iter().all(|log| PTP_LOG_INTERVALS.contains(log));
    let is_allowed = match (profile, network) {
        (0, 0 | 1) => has_intervals,
        // These profiles use only Ethernet and have fixed intervals.
        (1 | 2, 1) => true,
        _ => false,
    };
    checked(wanted, is_allowed && domain <= MAX_PTP_DOMAIN)
}
