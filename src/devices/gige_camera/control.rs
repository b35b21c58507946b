//! GVCP: answers of a unit to its hosts, and its bootstrap registers.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use super::GigeCamera;
use super::features::{Access, Feature, Kind, Values, at, line, source};
use super::network;
use super::profile::{CameraSettings, PtpState};
use crate::config::profile::network::HostAddress;
use crate::ptp::PortState;
use crate::sensors::camera::faults::CameraFault;
use crate::time::SimTime;
use crate::wire::gige::gvsp::{OVERHEAD, Shape};
use crate::wire::gige::{Action, Command, MAX_READ, Resend, ack, command, pending, status, words};
use crate::wire::port::Peer;
use crate::{Output, Transmit};

/// Number of acknowledgements stored for repeated commands, and largest number of scheduled actions; an assumption.
const REMEMBERED: usize = 16;
/// Optional parts of GVCP that the unit supports: concatenated registers, WRITEMEM, PACKETRESEND, PENDING_ACK, ACTION,
/// scheduled actions, status codes of GigE Vision 2.0, PTP, unconditional actions, status codes of GigE Vision 1.1,
/// link speed, switching the heartbeat off, serial number, user name.
const CAPABILITY: u32 = 0xf05e_0067;
/// Bit of the register GVCP Configuration that switches the heartbeat off.
const HEARTBEAT_OFF: u32 = 1;
/// Bit of the register GVCP Configuration that enables PENDING_ACK.
const PENDING_ON: u32 = 1 << 1;
/// Bit of the register GVCP Configuration that enables the status codes of GigE Vision 1.1: the mark of resent packets.
const STATUS_1_1: u32 = 1 << 2;
/// Bit of the register GVCP Configuration that enables actions without a controlling host.
const UNCONDITIONAL_ACTIONS: u32 = 1 << 3;
/// Bit of the register GVCP Configuration that enables the status codes of GigE Vision 2.0: those of scheduled actions.
const STATUS_2_0: u32 = 1 << 18;
/// Bit of the register GVCP Configuration that enables PTP.
const PTP_ON: u32 = 1 << 19;
/// Registers that hosts cannot write during acquisition: packet size and destination of the stream.
pub(super) const LOCKED: [u32; 2] = [0x0d04, 0x0d18];
/// Bit of the packet size register that forbids fragmentation.
const DONT_FRAGMENT: u32 = 1 << 30;
/// Smallest and largest packet size, bytes, with IP and UDP headers.
const PACKET_BYTES: [u32; 2] = [220, 9000];
/// Heartbeat timeout, milliseconds: smallest value, and value at power-on.
const HEARTBEAT_MS: [u32; 2] = [500, 3000];
/// Time that PENDING_ACK announces for commands that write to flash, milliseconds; the answer follows after half of it.
const STORING_MS: u16 = 200;

/// Register addresses of the features that determine when frames start.
const TRIGGERS: [u32; 5] = [
    at::TRIGGER_MODE,
    at::TRIGGER_SOURCE,
    at::TRIGGER_ACTIVATION,
    at::TRIGGER_DELAY,
    at::LINE_INVERTER,
];

/// GVCP control channel and bootstrap registers of a camera.
#[derive(Debug)]
pub(super) struct Control {
    owner: Option<Peer>,
    privilege: u32,
    heard: SimTime,
    heartbeat_ms: u32,
    port: u16,
    host: u32,
    scps: u32,
    /// Delay between packets, nanoseconds.
    pub packet_delay: u32,
    stream_config: u32,
    gvcp_config: u32,
    gvsp_config: u32,
    device_key: u32,
    group: [u32; 2],
    latched: u64,
    answers: VecDeque<(Peer, u16, Vec<u8>)>,
    actions: Vec<SimTime>,
}

impl Control {
    pub fn new(settings: &CameraSettings) -> Self {
        Self {
            owner: None,
            privilege: 0,
            heard: SimTime::ZERO,
            heartbeat_ms: HEARTBEAT_MS[1],
            port: 0,
            host: 0,
            scps: (settings.start.packet_bytes / 4 * 4) | DONT_FRAGMENT,
            packet_delay: 0,
            stream_config: 0,
            gvcp_config: if settings.ptp == PtpState::None { 0 } else { PTP_ON },
            gvsp_config: 0,
            device_key: 0,
            group: [0; 2],
            latched: 0,
            answers: VecDeque::new(),
            actions: Vec::new(),
        }
    }

    /// Opens the stream channel to `port` at the host address of the device's link.
    pub fn open(&mut self, port: u16) {
        self.port = port;
    }

    pub fn is_controlled(&self) -> bool {
        self.owner.is_some()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn is_extended(&self) -> bool {
        self.gvsp_config >> 30 & 1 != 0
    }

    pub fn shape(&self) -> Shape {
        Shape { packet_size: (self.scps & 0xffff) as usize, is_extended: self.is_extended() }
    }

    /// Status of resent packets; they are marked only if the host has enabled it.
    pub fn resent_status(&self) -> u16 {
        if self.gvcp_config & STATUS_1_1 == 0 { status::SUCCESS } else { status::RESENT }
    }

    /// Whether a host at `from` can request packets again: the destination of the stream, the controlling host, and
    /// each member of a multicast group. The packets go to the stream's destination.
    fn may_ask_again(&self, from: IpAddr) -> bool {
        let destination = Ipv4Addr::from_bits(self.host);
        destination.is_unspecified()
            || destination.is_multicast()
            || from == IpAddr::V4(destination)
            || self.owner.is_some_and(|owner| owner.from == from)
    }
}

impl GigeCamera {
    /// Ends a host's control of the unit if the host has been silent for longer than the heartbeat timeout. Executes
    /// the scheduled actions that are due.
    pub(super) fn watch_heartbeat(&mut self) {
        let limit_ns = u64::from(self.control.heartbeat_ms) * 1_000_000;
        let is_off = self.control.gvcp_config & HEARTBEAT_OFF != 0;
        if self.control.owner.is_some() && !is_off && self.now.0 - self.control.heard.0 > limit_ns {
            self.let_go();
        }
        let now = self.now;
        let due: Vec<SimTime> = self.control.actions.extract_if(.., |at| *at <= now).collect();
        due.into_iter().for_each(|at| self.fire(at));
    }

    fn let_go(&mut self) {
        self.control.owner = None;
        self.control.privilege = 0;
        self.control.port = 0;
        self.stop_stream();
        self.values.set(at::PARAMS_LOCKED, 0.0);
    }

    /// Processes a datagram from a host.
    pub(super) fn hear(&mut self, peer: Peer, bytes: &[u8]) {
        if self.now < self.up_at || self.network.is_restarting() {
            return;
        }
        let Ok(command) = Command::parse(bytes) else { return };
        let due = SimTime(self.now.0 + self.profile.timing.reply_ns);
        let is_unnoticed = self
            .faults
            .iter()
            .any(|fault| fault.is_on(self.now) && fault.kind == CameraFault::HeartbeatLost);
        if self.control.owner == Some(peer) && !is_unnoticed {
            self.control.heard = self.now;
        }
        let remembered =
            self.control.answers.iter().find(|(from, id, _)| (*from, *id) == (peer, command.id));
        if let Some((_, _, answer)) = remembered
            && answer.get(2..4) == Some(&command.code.wrapping_add(1).to_be_bytes()[..])
            && command.code != command::DISCOVERY
        {
            let answer = answer.clone();
            self.ready.push_back(Transmit::new(due, Output::BytesTo(peer, answer)));
            return;
        }
        if command.code == command::PACKET_RESEND {
            if self.control.may_ask_again(peer.from)
                && let Some(resend) = Resend::parse(&command)
            {
                self.resend(resend);
            }
            return;
        }
        let answered = match command.code {
            command::FORCE_IP => self.force_ip(peer, &command),
            _ => Some(self.answer(peer, &command)),
        };
        let Some(answered) = answered else { return };
        let (status, payload) = match answered {
            Ok(payload) => (status::SUCCESS, payload),
            Err(status) => (status, Vec::new()),
        };
        if !command.wants_ack() {
            return;
        }
        let answer = ack(status, command.code, command.id, &payload);
        let stores = matches!(command.code, command::WRITE_REGISTER | command::WRITE_MEMORY)
            && status == status::SUCCESS
            && command.payload.starts_with(&at::USER_SET_SAVE.to_be_bytes());
        let mut due = due;
        if stores {
            if self.control.gvcp_config & PENDING_ON != 0 {
                let wait = pending(command.id, STORING_MS);
                self.ready.push_back(Transmit::new(due, Output::BytesTo(peer, wait)));
            }
            due = SimTime(due.0 + u64::from(STORING_MS) * 500_000);
        }
        self.reply(peer, command.id, due, answer);
    }

    /// Sends the answer to command `id` of a host, and stores it for repetitions of the command.
    pub(super) fn reply(&mut self, peer: Peer, id: u16, due: SimTime, answer: Vec<u8>) {
        self.ready.push_back(Transmit::new(due, Output::BytesTo(peer, answer.clone())));
        self.control.answers.push_back((peer, id, answer));
        if self.control.answers.len() > REMEMBERED {
            self.control.answers.pop_front();
        }
    }

    fn answer(&mut self, peer: Peer, command: &Command<'_>) -> Result<Vec<u8>, u16> {
        let payload = command.payload;
        match command.code {
            command::DISCOVERY => self.read(0, 0xf8),
            command::READ_REGISTER => {
                self.may_read(peer)?;
                if payload.is_empty() || !payload.len().is_multiple_of(4) {
                    return Err(status::INVALID_HEADER);
                }
                let mut values = Vec::new();
                for address in words(payload) {
                    values.extend(self.word(address)?);
                }
                Ok(values)
            }
            command::READ_MEMORY => {
                self.may_read(peer)?;
                let [address, count] = words(payload).collect::<Vec<_>>()[..] else {
                    return Err(status::INVALID_HEADER);
                };
                if count > MAX_READ.into() {
                    return Err(status::INVALID_PARAMETER);
                }
                if address % 4 != 0 || count % 4 != 0 {
                    return Err(status::BAD_ALIGNMENT);
                }
                let mut data = address.to_be_bytes().to_vec();
                data.extend(self.read(address, count)?);
                Ok(data)
            }
            command::WRITE_REGISTER => {
                let (pairs, rest) = payload.as_chunks::<8>();
                if pairs.is_empty() || !rest.is_empty() {
                    return Err(status::INVALID_HEADER);
                }
                for pair in pairs {
                    let (address, data) = pair.split_at(4);
                    let address =
                        u32::from_be_bytes([address[0], address[1], address[2], address[3]]);
                    self.write(peer, address, data)?;
                }
                Ok(vec![0, 0, 0, pairs.len() as u8])
            }
            command::WRITE_MEMORY => {
                let Some((address, data)) =
                    payload.split_first_chunk::<4>().filter(|(_, data)| !data.is_empty())
                else {
                    return Err(status::INVALID_HEADER);
                };
                let address = u32::from_be_bytes(*address);
                if address % 4 != 0 || data.len() % 4 != 0 {
                    return Err(status::BAD_ALIGNMENT);
                }
                self.write(peer, address, data)?;
                Ok([0, 0].into_iter().chain((data.len() as u16).to_be_bytes()).collect())
            }
            command::ACTION => self.action(command),
            _ => Err(status::NOT_IMPLEMENTED),
        }
    }

    fn may_read(&self, peer: Peer) -> Result<(), u16> {
        let is_shut = self.control.privilege & 1 != 0 && self.control.owner != Some(peer);
        if is_shut { Err(status::ACCESS_DENIED) } else { Ok(()) }
    }

    fn action(&mut self, command: &Command<'_>) -> Result<Vec<u8>, u16> {
        let action = Action::parse(command).ok_or(status::INVALID_HEADER)?;
        let control = &self.control;
        let is_allowed =
            control.owner.is_some() || control.gvcp_config & UNCONDITIONAL_ACTIONS != 0;
        let is_meant = action.device_key == control.device_key
            && action.group_key == control.group[0]
            && action.group_mask & control.group[1] != 0;
        if !is_allowed || !is_meant {
            return Err(status::ACCESS_DENIED);
        }
        match action.at {
            None => self.fire(self.now),
            Some(_) if self.clock.state(self.now) != PortState::Slave => {
                return Err(self.extended(status::NO_REF_TIME));
            }
            Some(ticks) => {
                let at = self.clock.time_of(self.now, ticks);
                if at < self.now {
                    self.fire(self.now);
                    return Err(self.extended(status::ACTION_LATE));
                }
                if self.control.actions.len() >= REMEMBERED {
                    return Err(self.extended(status::OVERFLOW));
                }
                self.control.actions.push(at);
            }
        }
        Ok(Vec::new())
    }

    /// Returns `status`, a code of GigE Vision 2.0, if the host has enabled these codes; otherwise the general error.
    fn extended(&self, status: u16) -> u16 {
        if self.control.gvcp_config & STATUS_2_0 == 0 { status::ERROR } else { status }
    }

    fn fire(&mut self, at: SimTime) {
        if self.values.get(at::TRIGGER_MODE) != 0.0
            && self.values.whole(at::TRIGGER_SOURCE) == source::ACTION
        {
            self.trigger(at);
        }
    }

    fn read(&self, address: u32, count: u32) -> Result<Vec<u8>, u16> {
        let mut data = Vec::with_capacity(count as usize);
        for place in (0..count).step_by(4) {
            let address = address.checked_add(place).ok_or(status::INVALID_ADDRESS)?;
            data.extend(self.word(address)?);
        }
        Ok(data)
    }

    /// Reads the four bytes of the register at `address`; the error is a GVCP status code.
    fn word(&self, address: u32) -> Result<[u8; 4], u16> {
        if !address.is_multiple_of(4) {
            return Err(status::BAD_ALIGNMENT);
        }
        let text = |text: &str, from: u32| {
            let at = |place: u32| {
                text.as_bytes().get((address - from + place) as usize).copied().unwrap_or(0)
            };
            Ok([at(0), at(1), at(2), at(3)])
        };
        let identity = &self.profile.identity;
        match address {
            0x48..0x68 => return text(&identity.vendor, 0x48),
            0x68..0x88 => return text(&identity.model_name, 0x68),
            0x88..0xa8 => return text(&identity.device_version, 0x88),
            0xa8..0xd8 => return text(&identity.information, 0xa8),
            0xd8..0xe8 => return text(&self.settings.serial, 0xd8),
            0xe8..0xf8 => return text(&self.user_name, 0xe8),
            0x200..0x400 => {
                let url = format!("Local:menura.xml;{:X};{:X}", at::XML, self.xml.len());
                return text(&url, 0x200);
            }
            0x400..0x600 => return Ok([0; 4]),
            // The description is padded with zeros, so that the last piece can be read in full.
            at::XML.. if address - at::XML < self.xml.len() as u32 + u32::from(MAX_READ) => {
                let from = (address - at::XML) as usize;
                let at = |place: usize| self.xml.get(from + place).copied().unwrap_or(0);
                return Ok([at(0), at(1), at(2), at(3)]);
            }
            _ => {}
        }
        if let Some((feature, into)) = self.features.word(address) {
            let value = match feature.address {
                at::LINE_STATUS => self.line_status(self.values.whole(at::LINE_SELECTOR)).into(),
                at::LINE_STATUS_ALL => [line::INPUT, line::OUTPUT]
                    .map(|number| f64::from(u8::from(self.line_status(number)) << number))
                    .iter()
                    .sum(),
                address => self.values.get(address),
            };
            let bytes = feature.to_bytes(value);
            return Ok([bytes[into], bytes[into + 1], bytes[into + 2], bytes[into + 3]]);
        }
        self.register(address).map(u32::to_be_bytes)
    }

    fn register(&self, address: u32) -> Result<u32, u16> {
        let control = &self.control;
        let [a, b, c, d, e, f] = self.mac;
        Ok(match address {
            0x0000 => 0x0002_0000,
            0x0004 => 0x8000_0001,
            0x0008 => u32::from_be_bytes([0, 0, a, b]),
            0x000c => u32::from_be_bytes([c, d, e, f]),
            0x0010 => network::SUPPORTED,
            0x0014 => self.network.ways,
            0x0024 => self.network.now.ip.to_bits(),
            0x0034 => self.network.now.mask.to_bits(),
            0x0044 => self.network.now.gateway.to_bits(),
            0x064c => self.network.persistent.ip.to_bits(),
            0x065c => self.network.persistent.mask.to_bits(),
            0x066c => self.network.persistent.gateway.to_bits(),
            0x0001..0x00f8 => 0,
            0x0600 | 0x0904 | 0x0908 | 0x0910 => 1,
            0x0900 => 0,
            0x0670 => 1000,
            0x092c => 0xc000_0000,
            0x0930 => 0,
            0x0934 => CAPABILITY,
            0x0938 => control.heartbeat_ms,
            0x093c => 0,
            0x0940 => 1_000_000_000,
            0x0948 => (control.latched >> 32) as u32,
            0x094c => control.latched as u32,
            0x0950 => 0,
            0x0954 => control.gvcp_config,
            0x0958 => STORING_MS.into(),
            0x0960 => control.gvsp_config,
            0x0964 => 1,
            0x0968 => 0,
            0x096c => self.clock.state(self.now) as u32,
            0x0970 => REMEMBERED as u32,
            0x0a00 => control.privilege,
            0x0a04 => 0,
            0x0a14 => match control.owner.map(|owner| owner.from) {
                Some(IpAddr::V4(ip)) => ip.to_bits(),
                _ => 0,
            },
            0x0d00 => control.port.into(),
            0x0d04 => control.scps,
            0x0d08 => control.packet_delay,
            0x0d18 => control.host,
            0x0d1c => self.profile.network.source_port.into(),
            0x0d20 => 0,
            0x0d24 => control.stream_config,
            0x9800 => control.group[0],
            0x9804 => control.group[1],
            at::PTP_LATCH => 0,
            at::PTP_STATUS => self.clock.latched.0 as u32,
            at::PTP_OFFSET => (self.clock.latched.1 >> 32) as u32,
            at::PTP_OFFSET_LOW => self.clock.latched.1 as u32,
            _ => return Err(status::INVALID_ADDRESS),
        })
    }

    /// Writes consecutive registers from `address` on; the error is a GVCP status code.
    fn write(&mut self, peer: Peer, address: u32, mut data: &[u8]) -> Result<(), u16> {
        let mut address = address;
        if !address.is_multiple_of(4) {
            return Err(status::BAD_ALIGNMENT);
        }
        if address != 0x0a00 && self.control.owner != Some(peer) {
            return Err(status::ACCESS_DENIED);
        }
        if (0xe8..0xf8).contains(&address) {
            if address + data.len() as u32 > 0xf8 {
                return Err(status::INVALID_ADDRESS);
            }
            let mut bytes = self.user_name.clone().into_bytes();
            bytes.resize(16, 0);
            let from = (address - 0xe8) as usize;
            bytes[from..from + data.len()].copy_from_slice(data);
            let text: Vec<u8> = bytes.into_iter().take_while(|byte| *byte != 0).collect();
            self.user_name = String::from_utf8(text).map_err(|_| status::INVALID_PARAMETER)?;
            return Ok(());
        }
        while !data.is_empty() {
            let (len, feature) = match self.features.word(address) {
                Some((_, into)) if into != 0 => return Err(status::BAD_ALIGNMENT),
                Some((feature, _)) => (feature.len() as usize, Some(feature.clone())),
                None => (4, None),
            };
            let (value, rest) = data.split_at_checked(len).ok_or(status::BAD_ALIGNMENT)?;
            match feature {
                Some(feature) => self.set(&feature, feature.of_bytes(value))?,
                None => {
                    let value = words(value).next().unwrap_or(0);
                    self.set_register(peer, address, value)?;
                }
            }
            (address, data) = (address.wrapping_add(len as u32), rest);
        }
        Ok(())
    }

    fn set(&mut self, feature: &Feature, value: f64) -> Result<(), u16> {
        if feature.access == Access::Read {
            return Err(status::WRITE_PROTECT);
        }
        if feature.access == Access::Idle && self.is_streaming() {
            return Err(status::BUSY);
        }
        let most = match feature.kind {
            Kind::Integer(_, _, _, Some([all, other])) => {
                Some(self.values.get(all) - self.values.get(other))
            }
            _ => None,
        };
        let mut value = self.features.checked(feature, value, most)?;
        if feature.address == at::RATE {
            value = value.min(self.fastest_hz());
        }
        if feature.kind == Kind::Command {
            return if value == 0.0 { Ok(()) } else { self.execute(feature.address) };
        }
        // The input line has no source.
        if feature.address == at::LINE_SOURCE && self.values.whole(at::LINE_SELECTOR) == line::INPUT
        {
            return Err(status::WRITE_PROTECT);
        }
        let was_triggered = self.values.get(at::TRIGGER_MODE) != 0.0;
        self.values.set(feature.address, value);
        if TRIGGERS.contains(&feature.address) {
            self.plan_again(was_triggered);
        }
        if matches!(feature.address, at::BINNING_X | at::BINNING_Y) {
            self.values.set(at::OFFSET_X, 0.0);
            self.values.set(at::OFFSET_Y, 0.0);
            self.refresh();
            for (size, most) in [(at::WIDTH, at::WIDTH_MAX), (at::HEIGHT, at::HEIGHT_MAX)] {
                let most = self.values.get(most);
                self.values.set(size, most);
            }
        }
        self.refresh();
        Ok(())
    }

    fn execute(&mut self, address: u32) -> Result<(), u16> {
        match address {
            at::START if self.control.port == 0 => return Err(status::ACCESS_DENIED),
            at::START => self.start_stream(),
            at::STOP => self.stop_stream(),
            at::TRIGGER_SOFTWARE => {
                if self.values.get(at::TRIGGER_MODE) == 0.0
                    || self.values.whole(at::TRIGGER_SOURCE) != source::SOFTWARE
                {
                    return Err(status::ACCESS_DENIED);
                }
                self.trigger(self.now);
            }
            at::USER_SET_LOAD => {
                match self.values.whole(at::USER_SET) {
                    1 => self.values.load(&self.saved, &self.features),
                    _ => self.values.load(&Values::of(&self.features), &self.features),
                }
                self.refresh();
            }
            at::USER_SET_SAVE if self.values.whole(at::USER_SET) == 0 => {
                return Err(status::ACCESS_DENIED);
            }
            at::USER_SET_SAVE => self.saved = self.values.clone(),
            at::RESET => {
                self.let_go();
                self.power_on();
                if self.control.scps & DONT_FRAGMENT == 0 {
                    self.ready.push_back(Transmit::new(self.now, Output::Fragments(false)));
                }
                self.control = Control::new(&self.settings);
                self.up_at = SimTime(self.now.0 + self.profile.timing.boot_ns);
                self.network.restart(self.up_at);
                self.clock.restart(self.up_at);
                self.clock.switch(self.up_at, self.settings.ptp != PtpState::None);
            }
            _ => return Err(status::WRITE_PROTECT),
        }
        Ok(())
    }

    fn set_register(&mut self, peer: Peer, address: u32, value: u32) -> Result<(), u16> {
        // A host can redirect a camera that streams without a host.
        let is_locked = self.is_streaming() && !self.settings.streams_alone;
        if is_locked && LOCKED.contains(&address) {
            return Err(status::BUSY);
        }
        let ticks = self.clock.ticks(self.now);
        let before = self.register(address);
        let control = &mut self.control;
        match address {
            0x0014 | 0x064c | 0x065c | 0x066c => self.network.set(address, value)?,
            0x0938 => control.heartbeat_ms = value.max(HEARTBEAT_MS[0]),
            0x090c => control.device_key = value,
            0x0944 => {
                if value & 2 != 0 {
                    control.latched = ticks;
                }
                if value & 1 != 0 && !self.clock.reset(self.now) {
                    return Err(status::ACCESS_DENIED);
                }
            }
            0x0954 => {
                let kept = HEARTBEAT_OFF | PENDING_ON | STATUS_1_1 | UNCONDITIONAL_ACTIONS;
                control.gvcp_config = value & (kept | STATUS_2_0 | PTP_ON);
                self.clock.switch(self.now, value & PTP_ON != 0);
            }
            at::PTP_LATCH => {
                if value != 0 {
                    self.clock.latch(self.now);
                }
            }
            0x0960 => control.gvsp_config = value & 1 << 30,
            0x0964 | 0x0968 if value <= 1 => {}
            0x0a00 => return self.take_control(peer, value),
            0x0d00 => {
                let is_new = control.port == 0;
                control.port = value as u16;
                if control.port == 0 {
                    self.stop_stream();
                } else {
                    if is_new {
                        self.restart_blocks();
                    }
                    self.follow_host();
                }
            }
            0x0d04 => {
                let [least, most] = PACKET_BYTES;
                let size = (value & 0xffff).clamp(least, most) / 4 * 4;
                let has_changed = (control.scps ^ value) & DONT_FRAGMENT != 0;
                control.scps = value & DONT_FRAGMENT | size;
                if has_changed {
                    let output = Output::Fragments(value & DONT_FRAGMENT == 0);
                    self.ready.push_back(Transmit::new(self.now, output));
                }
                if value >> 31 != 0 {
                    self.fire_test();
                }
                self.refresh();
            }
            0x0d08 => {
                control.packet_delay = value.min(10_000_000);
                self.refresh();
            }
            0x0d18 => {
                control.host = value;
                self.follow_host();
            }
            // A request for multipart is ignored, because it is not supported.
            0x0d24 => control.stream_config = 0,
            0x9800 => control.group[0] = value,
            0x9804 => control.group[1] = value,
            _ if before.is_ok() => return Err(status::WRITE_PROTECT),
            _ => return Err(status::INVALID_ADDRESS),
        }
        Ok(())
    }

    fn take_control(&mut self, peer: Peer, value: u32) -> Result<(), u16> {
        let is_other = self.control.owner.is_some_and(|owner| owner != peer);
        if is_other {
            return Err(status::ACCESS_DENIED);
        }
        // Switchover and its key are not supported.
        let privilege = value & 3;
        if privilege == 0 {
            if self.control.owner.is_some() {
                self.let_go();
            }
            return Ok(());
        }
        // The host knows only the old address, so it would lose the unit after the move.
        if self.network.is_moving() {
            return Err(status::BUSY);
        }
        self.control.owner = Some(peer);
        self.control.privilege = privilege;
        self.control.heard = self.now;
        Ok(())
    }

    /// Redirects the stream to the port and address in the registers; no effect while either is 0.
    fn follow_host(&mut self) {
        let (port, host) = (self.control.port, self.control.host);
        if port != 0 && host != 0 {
            let ip = IpAddr::V4(Ipv4Addr::from_bits(host));
            let host = HostAddress { ip, ports: vec![port] };
            self.ready.push_back(Transmit::new(self.now, Output::Host(host)));
        }
    }

    /// Sends a test packet with the size in the packet size register and without image data. If it arrives, the network
    /// carries packets of this size, because the test packet must not be fragmented.
    fn fire_test(&mut self) {
        if self.control.port == 0 {
            return;
        }
        let bytes = vec![0; self.control.shape().packet_size - (OVERHEAD - 8)];
        // Later than the change before it: a datagram can be sent some microseconds before it is due.
        let due = SimTime(self.now.0 + self.profile.timing.reply_ns);
        let is_fragmentable = self.control.scps & DONT_FRAGMENT == 0;
        if is_fragmentable {
            self.ready.push_back(Transmit::new(self.now, Output::Fragments(false)));
        }
        self.ready.push_back(Transmit::datagram(due, bytes));
        if is_fragmentable {
            self.ready.push_back(Transmit::new(SimTime(due.0 + 1), Output::Fragments(true)));
        }
    }
}
