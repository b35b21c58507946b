//! Commands of SDK 1: their effects and answers.

use std::net::IpAddr;

use super::super::commands::answer_at;
use super::profile::{FirstProfile, ReturnMode};
use super::values::Values;
use super::{Connection, LivoxFirst};
use crate::commands::{CommandTable, Conduct};
use crate::config::profile::network::HostAddress;
use crate::time::SimTime;
use crate::wire::livox::command::text;
use crate::wire::livox::first::command::{
    Broadcast, Frame, Handshake, Heartbeat, Kind, ParameterAnswer, Utc, id, key, key_error,
    parameters_to_bytes, parse_asked, parse_parameters, ret, state,
};
use crate::wire::livox::first::data::Coordinates;
use crate::wire::port::Peer;
use crate::wire::record::{Le, Record as _, parse};
use crate::{Output, REACTION_NS, Transmit};

impl LivoxFirst {
    /// Processes a datagram from a host.
    pub(super) fn hear(&mut self, peer: Peer, bytes: &[u8]) {
        let now = self.now;
        if self.states.is_off(now) {
            return;
        }
        let Ok(request) = Frame::parse(bytes) else { return };
        // The maker's SDK sends its handshake with the type of an answer.
        let is_request = match request.kind {
            Kind::Command => true,
            Kind::Answer => request.id == id::HANDSHAKE,
            Kind::Message => false,
        };
        let is_connected = self.connection.as_ref().is_some_and(|own| own.host == peer.from);
        if !is_request || !(is_connected || request.id == id::HANDSHAKE) {
            return;
        }
        let reply_ns = self.profile.interface.reply_ns;
        let Some(due) = answer_at(now, self.busy_until, reply_ns) else { return };
        let Some(data) = self.answer(peer, &request) else { return };
        self.busy_until = due;
        let answer = request.answer(data).to_bytes();
        self.backlog.ready.push_back(Transmit::new(due, Output::BytesTo(peer, answer)));
    }

    /// Executes a request; returns the data of its answer, or `None` if the unit does not answer.
    fn answer(&mut self, peer: Peer, request: &Frame) -> Option<Vec<u8>> {
        let (now, data) = (self.now, &request.data[..]);
        let (imu, interface) = (self.profile.imu.is_some(), &self.profile.interface);
        let mut wanted = self.values.clone();
        let done = |is_done: bool| vec![if is_done { ret::DONE } else { ret::FAILED }];
        let switch = |value: &mut bool| match data {
            [on @ 0..=1] => {
                *value = *on == 1;
                true
            }
            _ => false,
        };
        let is_done = match request.id {
            id::HANDSHAKE => return Some(done(self.connect(peer.from, data))),
            id::INFORMATION => {
                return Some([&[ret::DONE][..], &self.profile.identity.version].concat());
            }
            id::HEARTBEAT => {
                let until = self.lost_at();
                if let Some(connection) = &mut self.connection {
                    connection.until = until;
                }
                self.follow(SimTime(now.0 + REACTION_NS));
                return Some(self.heartbeat().to_bytes());
            }
            id::SAMPLE => match (data, &mut self.connection) {
                ([on @ 0..=1], Some(connection)) => {
                    connection.is_sampling = *on == 1;
                    self.follow(SimTime(now.0 + REACTION_NS));
                    true
                }
                _ => false,
            },
            id::COORDINATES => match data {
                [number @ 0..=1] => {
                    let spherical = *number == 1;
                    wanted.coordinates =
                        if spherical { Coordinates::Spherical } else { Coordinates::Cartesian };
                    true
                }
                _ => false,
            },
            id::DISCONNECT => {
                self.disconnect();
                true
            }
            id::SET_ADDRESS => wanted.set_address(data),
            id::GET_ADDRESS => {
                return Some([vec![ret::DONE], wanted.address.to_bytes()].concat());
            }
            id::REBOOT => match parse::<Le, u16>("a delay", data) {
                Ok(delay_ms) => {
                    self.restart(SimTime(now.0 + u64::from(delay_ms) * 1_000_000));
                    true
                }
                Err(_) => false,
            },
            id::SET_PARAMETERS => return Some(self.set_parameters(data).to_bytes()),
            id::GET_PARAMETERS => return Some(self.get_parameters(data)),
            id::RESET_PARAMETERS => return Some(self.reset_parameters(data).to_bytes()),
            id::MODE => match data {
                [mode @ (state::NORMAL | state::POWER_SAVING | state::STANDBY)] => {
                    let at = SimTime(now.0 + REACTION_NS);
                    let takes_a_while = self.states.drive(at, *mode);
                    self.renew_restart();
                    self.follow(at);
                    return Some(vec![if takes_a_while { ret::IN_PROGRESS } else { ret::DONE }]);
                }
                _ => false,
            },
            id::SET_MOUNTING => match data.try_into() {
                Ok(mounting) => {
                    wanted.mounting = mounting;
                    true
                }
                Err(_) => false,
            },
            id::GET_MOUNTING => return Some([&[ret::DONE][..], &wanted.mounting].concat()),
            id::RAIN_FOG => interface.has_rain_fog && switch(&mut wanted.suppresses_rain_fog),
            id::SET_FAN => interface.has_fan && switch(&mut wanted.is_fan_on),
            id::GET_FAN if interface.has_fan => {
                return Some(vec![ret::DONE, wanted.is_fan_on.into()]);
            }
            id::SET_RETURNS => match data {
                [number] => ReturnMode::from_number(*number)
                    .filter(|mode| interface.return_modes.contains(mode))
                    .inspect(|mode| wanted.returns = *mode)
                    .is_some(),
                _ => false,
            },
            id::GET_RETURNS if !interface.return_modes.is_empty() => {
                return Some(vec![ret::DONE, wanted.returns.number()]);
            }
            id::SET_IMU => imu && switch(&mut wanted.has_imu),
            id::GET_IMU if imu => return Some(vec![ret::DONE, wanted.has_imu.into()]),
            id::UTC => self.set_clock(data),
            // Lidars send these messages; they are no requests.
            id::BROADCAST | id::STATUS => return None,
            // Commands of other models or of the hub.
            _ => false,
        };
        self.configure(wanted);
        Some(done(is_done))
    }

    /// Connects the host `host`, which sent a handshake with `data`; returns whether the host is then connected. The
    /// handshake fails if another host is connected, or if `data` is invalid or contains port 0.
    fn connect(&mut self, host: IpAddr, data: &[u8]) -> bool {
        let Ok(Handshake { ip, data_port, command_port, imu_port }) = Handshake::parse(data) else {
            return false;
        };
        let ports = [data_port, imu_port, command_port];
        let is_others = self.connection.as_ref().is_some_and(|own| own.host != host);
        if is_others || ports.contains(&0) {
            return false;
        }
        self.is_alone = false;
        let until = self.lost_at();
        self.connection = Some(Connection { host, until, is_sampling: false });
        let at = SimTime(self.now.0 + REACTION_NS);
        // The destination of broadcasts does not change.
        let ports = [&ports[..], &[0]].concat();
        let host = HostAddress { ip: ip.into(), ports };
        self.backlog.ready.push_back(Transmit::new(at, Output::Host(host)));
        self.follow(at);
        true
    }

    /// Time at which the connection ends unless a heartbeat arrives: the heartbeat timeout from now, or an earlier planned
    /// restart.
    fn lost_at(&self) -> SimTime {
        let silent_at = SimTime(self.now.0 + self.profile.interface.heartbeat_timeout_ns);
        self.clock.goes_down_by(silent_at)
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.follow(SimTime(self.now.0 + REACTION_NS));
    }

    fn heartbeat(&self) -> Heartbeat {
        let at = self.now;
        let state = self.states.at(at);
        let is_starting = state == state::STARTING;
        let status = if is_starting { self.states.progress(at) } else { self.status(at) };
        Heartbeat { ret: ret::DONE, state, features: self.values.features(), status }
    }

    fn set_clock(&mut self, data: &[u8]) -> bool {
        let Ok(utc) = Utc::parse(data) else { return false };
        let Some(hour_ns) = utc.hour_ns().filter(|_| utc.us < 3_600_000_000) else { return false };
        self.clock.set_by_host(self.now, hour_ns + u64::from(utc.us) * 1000)
    }

    fn set_parameters(&mut self, data: &[u8]) -> ParameterAnswer {
        let Ok(parameters) = parse_parameters(data) else { return refused(0, key_error::LENGTH) };
        let mut wanted = self.values.clone();
        match wanted.set_parameters(&self.profile, &parameters) {
            Err((key, error)) => refused(key, error),
            Ok(()) => {
                self.configure(wanted);
                ParameterAnswer { ret: ret::DONE, key: 0, error: key_error::NONE }
            }
        }
    }

    fn get_parameters(&self, data: &[u8]) -> Vec<u8> {
        let Ok(keys) = parse_asked(data) else { return refused(0, key_error::LENGTH).to_bytes() };
        let mut told = Vec::new();
        for key in keys {
            let Some(value) = self.values.parameter(&self.profile, key) else {
                return refused(key, key_error::UNKNOWN).to_bytes();
            };
            told.push((key, vec![value]));
        }
        let mut bytes =
            ParameterAnswer { ret: ret::DONE, key: 0, error: key_error::NONE }.to_bytes();
        bytes.extend(parameters_to_bytes(&told));
        bytes
    }

    fn reset_parameters(&mut self, data: &[u8]) -> ParameterAnswer {
        let own = &self.profile.interface.keys;
        let keys = match data {
            // The maker's SDK adds a key, which is ignored.
            [0, 0] | [0, 0, _, _] => Ok(own.clone()),
            [1, asked @ ..] => parse_asked(asked),
            _ => return refused(0, key_error::LENGTH),
        };
        let Ok(keys) = keys else { return refused(0, key_error::LENGTH) };
        if let Some(unknown) = keys.iter().find(|key| !own.contains(key)) {
            return refused(*unknown, key_error::UNKNOWN);
        }
        let mut wanted = self.values.clone();
        let factory = Values::of(&self.profile, &self.profile.defaults);
        wanted.reset_parameters(&factory, &keys);
        self.configure(wanted);
        ParameterAnswer { ret: ret::DONE, key: 0, error: key_error::NONE }
    }

    /// Applies the values `wanted`.
    fn configure(&mut self, wanted: Values) {
        if wanted == self.values {
            return;
        }
        let at = SimTime(self.now.0 + REACTION_NS);
        let pattern =
            |values: &Values| values.parameter(&self.profile, key::PATTERN).unwrap_or_default();
        if pattern(&wanted) != pattern(&self.values) {
            self.states.change_pattern(at);
            self.renew_restart();
        }
        self.imu_on.set(at, wanted.has_imu);
        self.values = wanted;
        self.follow(at);
    }

    /// Plans a restart at `at`, but not before the unit can react and not later than a restart that is already planned. At
    /// the restart, the host is disconnected and settings are kept; after it, the PTP slave or GNSS receiver must set the
    /// clock again.
    fn restart(&mut self, at: SimTime) {
        let down_at = self.clock.goes_down_by(SimTime(at.0.max(self.now.0 + REACTION_NS)));
        let up_at = self.states.restart(down_at);
        self.clock.plan_restart(down_at, up_at);
        if let Some(connection) = &mut self.connection {
            connection.until = connection.until.min(down_at);
        }
        self.follow(down_at);
    }

    /// Plans the states of a planned restart again, because the state before the restart has changed. Does nothing if
    /// no restart is planned.
    fn renew_restart(&mut self) {
        if let Some(down_at) = self.clock.goes_down_at() {
            self.states.restart(down_at);
        }
    }

    /// The broadcast by which hosts discover the unit.
    pub(super) fn broadcast(&mut self) -> Vec<u8> {
        let code = text(&format!("{}{}", self.settings.serial, self.values.slot));
        let device_type = self.profile.identity.device_type;
        let data = Broadcast { code, device_type, reserved: [0, 0] }.to_bytes();
        self.message(id::BROADCAST, data)
    }

    /// A message that the unit sends without a request.
    pub(super) fn message(&mut self, id: (u8, u8), data: Vec<u8>) -> Vec<u8> {
        let sequence = self.messages;
        self.messages = self.messages.wrapping_add(1);
        Frame { kind: Kind::Message, sequence, id, data }.to_bytes()
    }
}

fn refused(key: u16, error: u8) -> ParameterAnswer {
    ParameterAnswer { ret: ret::FAILED, key, error }
}

/// Tables of commands and parameters; rows that the firmware lacks are marked as refused.
pub(super) fn tables_of(profile: &FirstProfile) -> Vec<CommandTable> {
    let interface = &profile.interface;
    let mut commands = CommandTable::parse("Commands", include_str!("commands.csv"));
    let mut keys = CommandTable::parse("Parameters", include_str!("parameters.csv"));
    let lacks = |set: u8, number: u8| match (set, number) {
        id::RAIN_FOG => !interface.has_rain_fog,
        id::SET_FAN | id::GET_FAN => !interface.has_fan,
        id::SET_RETURNS | id::GET_RETURNS => interface.return_modes.is_empty(),
        id::SET_IMU | id::GET_IMU => profile.imu.is_none(),
        _ => false,
    };
    for row in &mut commands.rows {
        let (set, number) = command_of(row.code);
        if lacks(set, number) {
            (row.conduct, row.note) =
                (Conduct::Refused, "code 1: this model does not have the command");
        }
    }
    for row in &mut keys.rows {
        if row.code.parse::<u16>().is_ok_and(|key| !interface.keys.contains(&key)) {
            (row.conduct, row.note) =
                (Conduct::Refused, "code 1, error 1: this model does not have the parameter");
        }
    }
    vec![commands, keys]
}

/// Parses the code of a row in the command table, such as "01 0A", into command set and command number; 255 for a
/// missing part.
pub(super) fn command_of(code: &str) -> (u8, u8) {
    let mut bytes = code.split(' ').filter_map(|hex| u8::from_str_radix(hex, 16).ok());
    (bytes.next().unwrap_or(u8::MAX), bytes.next().unwrap_or(u8::MAX))
}
