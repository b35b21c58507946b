//! Commands of SDK 2: their effects and answers.

use super::Livox;
use super::faults::{codes, diagnosis};
use super::profile::LivoxProfile;
use super::values::Values;
use crate::commands::{CommandTable, Conduct};
use crate::time::SimTime;
use crate::wire::livox::command::{
    Found, Frame, GetAnswer, GpsTime, LONGEST_FRAME, SEARCH_PORT, SetAnswer, id, keys_to_bytes,
    parse_asked, parse_keys, ret, text,
};
use crate::wire::livox::key::{Entries, key, state};
use crate::wire::port::Peer;
use crate::wire::record::{Record as _, parse};
use crate::{Output, REACTION_NS, Transmit};

/// Largest number of pending answers, an assumption; further requests are ignored.
const MAX_WAITING: u64 = 32;
/// [`Peer::port`] of hosts that send to the port for searches, the first control of the product.
const SEARCH_CONTROL: u8 = 0;

/// Time of the answer to a request that arrives at `now`, if earlier answers occupy the unit until `busy_until` and an
/// answer takes `reply_ns`. `None` if too many answers are pending.
pub(super) fn answer_at(now: SimTime, busy_until: SimTime, reply_ns: u64) -> Option<SimTime> {
    let due = SimTime(busy_until.max(now).0 + reply_ns);
    (due.0 - now.0 <= MAX_WAITING * reply_ns.max(1)).then_some(due)
}

impl Livox {
    /// Processes a datagram from a host.
    pub(super) fn hear(&mut self, peer: Peer, bytes: &[u8]) {
        let now = self.now;
        if self.states.is_off(now) {
            return;
        }
        // Answers of other units arrive too and are ignored.
        let Ok(request) = Frame::parse(bytes) else { return };
        if request.is_answer || request.is_lidars {
            return;
        }
        let is_for_searches =
            peer.port == SEARCH_CONTROL && self.profile.ports.command != SEARCH_PORT;
        if is_for_searches && request.id != id::SEARCH {
            return;
        }
        let reply_ns = self.profile.interface.reply_ns;
        let Some(due) = answer_at(now, self.busy_until, reply_ns) else { return };
        let Some(data) = self.answer(&request) else { return };
        self.busy_until = due;
        let answer = request.answer(data).to_bytes();
        self.backlog.ready.push_back(Transmit::new(due, Output::BytesTo(peer, answer)));
    }

    /// Executes a request; returns the data of its answer, or `None` if the unit does not answer.
    fn answer(&mut self, request: &Frame) -> Option<Vec<u8>> {
        let now = self.now;
        Some(match request.id {
            id::SEARCH => self.found().to_bytes(),
            id::SET => self.set(&request.data).to_bytes(),
            id::GET => self.get(&request.data).to_bytes(),
            id::REBOOT => match parse::<crate::wire::record::Le, u16>("a delay", &request.data) {
                Ok(delay_ms) => {
                    self.restart(SimTime(now.0 + u64::from(delay_ms) * 1_000_000));
                    vec![ret::DONE]
                }
                Err(_) => vec![ret::WRONG_LENGTH],
            },
            id::RESET if request.data.len() != 16 => vec![ret::WRONG_LENGTH],
            // The maker's SDK does not set the bytes after the serial number.
            id::RESET if !request.data.starts_with(self.settings.serial.as_bytes()) => {
                vec![ret::FAILED]
            }
            id::RESET => {
                let mut factory =
                    Values::of(&self.profile, &self.profile.defaults, &self.stored_host);
                factory.set_address(self.address);
                self.has_host = self.settings.stored_destination;
                self.configure(factory, false, false);
                self.restart(now);
                vec![ret::DONE]
            }
            id::GPS_TIME => match GpsTime::parse(&request.data) {
                Ok(GpsTime { kind: 2, ns }) if self.clock.set_by_host(now, ns) => vec![ret::DONE],
                Ok(GpsTime { kind: 2, .. }) => vec![ret::NOT_ALLOWED],
                Ok(_) => vec![ret::OUT_OF_RANGE],
                Err(_) => vec![ret::WRONG_LENGTH],
            },
            // Lidars send these messages; they are no requests.
            id::PUSH => return None,
            // Not supported: logs, debugging and firmware update.
            _ => vec![ret::FAILED],
        })
    }

    fn found(&self) -> Found {
        Found {
            ret: ret::DONE,
            device_type: self.profile.identity.device_type,
            serial: text(&self.settings.serial),
            ip: self.address.octets(),
            command_port: self.profile.ports.command,
        }
    }

    /// Sets all keys in `data`, or none if one of them cannot be set.
    fn set(&mut self, data: &[u8]) -> SetAnswer {
        let Ok(Entries(entries)) = parse_keys(data) else {
            return SetAnswer { ret: ret::WRONG_COUNT, key: 0 };
        };
        for (key, value) in &entries {
            if let Err(ret) = self.values.check(&self.profile, *key, value) {
                return SetAnswer { ret, key: *key };
            }
        }
        let mut wanted = self.values.clone();
        entries.iter().for_each(|(key, value)| wanted.put(*key, value));
        let has = |asked: &[u16]| entries.iter().any(|(key, _)| asked.contains(key));
        let is_hosts = has(&[key::STATE_HOST, key::POINT_HOST, key::IMU_HOST]);
        self.configure(wanted, is_hosts, has(&[key::TARGET_STATE]));
        match has(&[key::NETWORK]) {
            true => SetAnswer { ret: ret::AFTER_REBOOT, key: key::NETWORK },
            false => SetAnswer { ret: ret::DONE, key: 0 },
        }
    }

    fn get(&self, data: &[u8]) -> GetAnswer {
        let none = |ret| GetAnswer { ret, entries: Entries::default() };
        let Ok(keys) = parse_asked(data) else { return none(ret::WRONG_COUNT) };
        let values = keys.iter().map(|key| Some((*key, self.value(*key, self.now)?)));
        let Some(entries) = values.collect() else { return none(ret::UNKNOWN_KEY) };
        let answer = GetAnswer { ret: ret::DONE, entries: Entries(entries) };
        let length = answer.to_bytes().len() + crate::wire::livox::command::HEAD_LEN;
        if length > LONGEST_FRAME { none(ret::WRONG_LENGTH) } else { answer }
    }

    /// Value of a key at `at`; `None` if the firmware lacks the key.
    fn value(&self, key: u16, at: SimTime) -> Option<Vec<u8>> {
        if !self.profile.interface.keys.contains(&key) {
            return None;
        }
        if let Some(value) = self.values.get(key) {
            return Some(value.to_vec());
        }
        let identity = &self.profile.identity;
        let (synchronised_ns, offset_ns) = self.clock.synchronised(at);
        let now = self.states.at(at);
        Some(match key {
            key::SERIAL => text::<16>(&self.settings.serial).to_vec(),
            key::PRODUCT => text::<64>(&identity.product).to_vec(),
            key::VERSION => identity.version.to_vec(),
            key::LOADER_VERSION => identity.loader_version.to_vec(),
            key::HARDWARE_VERSION => identity.hardware_version.to_vec(),
            key::MAC => self.profile.network.source_mac.to_vec(),
            key::STATE => vec![now],
            key::TEMPERATURE => {
                ((identity.temperature_c * 100.0).round() as i32).to_le_bytes().to_vec()
            }
            key::STARTS => (identity.starts + self.restarts).to_le_bytes().to_vec(),
            key::TIME => self.clock.shows_ns(at).to_le_bytes().to_vec(),
            key::SYNCHRONISED => synchronised_ns.to_le_bytes().to_vec(),
            key::TIME_OFFSET => offset_ns.to_le_bytes().to_vec(),
            key::SYNCHRONISATION => vec![self.clock.time_type(at).number()],
            key::STATUS => vec![0; 32],
            key::DIAGNOSIS => diagnosis(self.states.faults(), at).to_le_bytes().to_vec(),
            key::FLASH => vec![0],
            key::FIRMWARE_KIND => vec![1],
            key::HMS => codes(self.states.faults(), at),
            key::HEATER => vec![self.values.heats(now == state::SAMPLING).into()],
            _ => return None,
        })
    }

    /// The push message that is due at `at`.
    pub(super) fn push(&self, sequence: u32, at: SimTime) -> Vec<u8> {
        let keys = self.profile.interface.push_keys.iter();
        let entries = keys.filter_map(|key| Some((*key, self.value(*key, at)?))).collect();
        let data = keys_to_bytes(&Entries(entries));
        Frame { sequence, id: id::PUSH, is_answer: false, is_lidars: true, data }.to_bytes()
    }

    /// Applies the settings `wanted`. `names_hosts`: the request sets destinations; `has_target`: it sets the target
    /// state.
    fn configure(&mut self, wanted: Values, names_hosts: bool, has_target: bool) {
        let at = SimTime(self.now.0 + REACTION_NS);
        for host in wanted.moved(&self.values) {
            self.backlog.ready.push_back(Transmit::new(at, Output::Host(host)));
        }
        let (target, has_imu) = (wanted.target(), wanted.has_imu());
        let is_other_pattern = wanted.get(key::PATTERN) != self.values.get(key::PATTERN);
        self.values = wanted;
        self.has_host |= names_hosts;
        let down_at = self.clock.goes_down_at();
        if down_at.is_none_or(|down_at| at < down_at) {
            if has_target {
                self.states.drive(at, target);
            }
            if is_other_pattern {
                self.states.change_pattern(at, target);
            }
        }
        // A planned restart must lead to the target state that is set now.
        if let Some(down_at) = down_at {
            self.states.restart(down_at, self.values.target_after_boot());
        }
        self.imu_on.set(at, has_imu);
        self.follow(at);
    }

    /// Plans a restart at `at`, but not before the unit can react and not later than a restart that is already planned. At
    /// the restart, packets stop and settings are kept; after it, the PTP slave or GNSS receiver must set the clock again.
    fn restart(&mut self, at: SimTime) {
        let down_at = self.clock.goes_down_by(SimTime(at.0.max(self.now.0 + REACTION_NS)));
        let up_at = self.states.restart(down_at, self.values.target_after_boot());
        self.clock.plan_restart(down_at, up_at);
        self.follow(down_at);
    }
}

/// Table of keys; keys that the firmware lacks are marked as refused.
pub(super) fn keys_of(profile: &LivoxProfile) -> CommandTable {
    let mut table = CommandTable::parse("Keys", include_str!("keys.csv"));
    for row in &mut table.rows {
        let number = row.code.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok());
        if number.is_some_and(|key| !profile.interface.keys.contains(&key)) {
            (row.conduct, row.note) =
                (Conduct::Refused, "code 0x20: this model does not have the key");
        }
    }
    table
}
