//! CFG and ACK messages: what a host sets, asks for and is answered.

use serde::Serialize;

use super::field::{Le, message, record};
use super::{MessageId, Payload};
use crate::wire::ParseError;

message! {
    /// The named message was refused.
    AckNak 0x05 0x00 2 {
        /// Class of the message.
        class: u8,
        /// Id of the message.
        id: u8,
    }
}

message! {
    /// The named message was accepted.
    AckAck 0x05 0x01 2 {
        /// Class of the message.
        class: u8,
        /// Id of the message.
        id: u8,
    }
}

message! {
    /// A port's settings.
    CfgPrt 0x06 0x00 20 {
        /// 0 I2C, 1 UART1, 2 UART2, 3 USB, 4 SPI.
        port: u8,
        /// Reserved.
        reserved1: u8,
        /// Pin that says bytes wait.
        tx_ready: u16,
        /// UARTs: bits 6-7 data bits less five, 9-11 parity, 12-13 stop bits.
        mode: u32,
        /// UARTs: bits a second.
        baud: u32,
        /// Bit 0 UBX, 1 NMEA, 2 RTCM 2, 5 RTCM 3.
        input_protocols: u16,
        /// The same.
        output_protocols: u16,
        /// Bit 1 extended timeout.
        flags: u16,
        /// Reserved.
        reserved2: u16,
    }
}

message! {
    /// Restart. Not acknowledged.
    CfgRst 0x06 0x04 4 {
        /// What to forget: 0 nothing (hot), 1 ephemeris (warm), 0xffff everything (cold).
        clear: u16,
        /// 0 and 4 hardware, 1 and 2 software, 8 stop and 9 start navigation.
        mode: u8,
        /// Reserved.
        reserved1: u8,
    }
}

message! {
    /// How often to measure and navigate.
    CfgRate 0x06 0x08 6 {
        /// Between measurements.
        measurement_ms: u16,
        /// Measurements a solution.
        measurements_per_solution: u16,
        /// 0 UTC, 1 GPS and others.
        time_reference: u16,
    }
}

message! {
    /// The navigation engine.
    CfgNav5 0x06 0x24 36 {
        /// Which fields to apply.
        mask: u16,
        /// Dynamic model: 0 portable, 2 stationary, 3 pedestrian, 4 automotive, 5 sea, 6-8 airborne.
        dynamic_model: u8,
        /// 1 two-, 2 three-dimensional only, 3 automatic.
        fix_mode: u8,
        /// Height for two-dimensional fixes.
        fixed_altitude_cm: i32,
        /// 1e-4 m^2.
        fixed_altitude_variance: u32,
        /// Lowest elevation of a satellite that is used.
        min_elevation_deg: i8,
        /// Reserved.
        dead_reckoning_limit_s: u8,
        /// Dilutions and accuracies above which a fix is outside the limits, 0.1 and metres.
        limits: [u16; 4],
        /// Below this speed the position is held.
        static_hold_cm_s: u8,
        /// Differential corrections' timeout.
        correction_timeout_s: u8,
        /// Carrier-to-noise threshold: satellites, dB-Hz.
        cno_threshold: [u8; 2],
        /// Reserved.
        reserved1: [u8; 2],
        /// Static hold ends beyond this distance.
        static_hold_max_m: u16,
        /// 0 automatic.
        utc_standard: u8,
        /// Reserved.
        reserved2: [u8; 5],
    }
}

message! {
    /// The time pulse.
    CfgTp5 0x06 0x31 32 {
        /// 0 or 1.
        index: u8,
        /// Of the message.
        version: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// Of the antenna's cable.
        cable_delay_ns: i16,
        /// Of the receiver's radio.
        rf_delay_ns: i16,
        /// Microseconds or hertz.
        period: u32,
        /// The same once locked.
        period_locked: u32,
        /// Microseconds or 2^-32 of the period.
        length: u32,
        /// The same once locked.
        length_locked: u32,
        /// Delay the user asks for.
        user_delay_ns: i32,
        /// Bit 0 active, 1 lock, 2 locked values differ, 3 frequency, 4 length, 5 align, 6 rising.
        flags: u32,
    }
}

/// How often a message is sent: one every so many solutions, 0 never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CfgMsg {
    /// Asks for the rates of the message.
    Poll(MessageId),
    /// Sets the rate on the port this came by.
    ThisPort(MessageId, u8),
    /// Sets, or answers with, the rates on I2C, UART1, UART2, USB, SPI and a reserved port.
    AllPorts(MessageId, [u8; 6]),
}

impl Payload for CfgMsg {
    const ID: MessageId = MessageId::new(0x06, 0x01);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        match *payload {
            [class, id] => Ok(Self::Poll(MessageId::new(class, id))),
            [class, id, rate] => Ok(Self::ThisPort(MessageId::new(class, id), rate)),
            [class, id, ref rates @ ..] if rates.len() == 6 => {
                Ok(Self::AllPorts(MessageId::new(class, id), Le::get(rates)))
            }
            _ => Err(ParseError::Length { what: "CfgMsg", need: 8, got: payload.len() }),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let (Self::Poll(id) | Self::ThisPort(id, _) | Self::AllPorts(id, _)) = self;
        out.extend([id.class, id.id]);
        match self {
            Self::Poll(_) => {}
            Self::ThisPort(_, rate) => out.push(*rate),
            Self::AllPorts(_, rates) => out.extend(rates),
        }
    }
}

/// Clear, save and load settings, in this order; bits name groups of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CfgCfg {
    /// Put back to the factory's.
    pub clear: u32,
    /// From RAM to storage.
    pub save: u32,
    /// From storage to RAM.
    pub load: u32,
    /// Which storage: bit 0 battery-backed, 1 flash, 2 EEPROM, 4 SPI flash.
    pub devices: Option<u8>,
}

impl Payload for CfgCfg {
    const ID: MessageId = MessageId::new(0x06, 0x09);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        if !matches!(payload.len(), 12 | 13) {
            return Err(ParseError::Length { what: "CfgCfg", need: 12, got: payload.len() });
        }
        Ok(Self {
            clear: Le::get(&payload[..4]),
            save: Le::get(&payload[4..8]),
            load: Le::get(&payload[8..12]),
            devices: payload.get(12).copied(),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        self.clear.put(out);
        self.save.put(out);
        self.load.put(out);
        out.extend(self.devices);
    }
}

record! {
    /// One satellite system of [`CfgGnss`].
    GnssBlock {
        /// 0 GPS, 1 SBAS, 2 Galileo, 3 BeiDou, 4 IMES, 5 QZSS, 6 GLONASS.
        gnss_id: u8,
        /// Channels kept for it.
        reserved_channels: u8,
        /// Channels it may have.
        max_channels: u8,
        /// Reserved.
        reserved1: u8,
        /// Bit 0 enabled, 16-23 signals.
        flags: u32,
    }
}

/// Satellite systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CfgGnss {
    /// Of the message, 0.
    pub version: u8,
    /// Channels the hardware has.
    pub hardware_channels: u8,
    /// Channels to use.
    pub used_channels: u8,
    /// At most 255.
    pub blocks: Vec<GnssBlock>,
}

impl Payload for CfgGnss {
    const ID: MessageId = MessageId::new(0x06, 0x3e);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let wrong_length = |need| ParseError::Length { what: "CfgGnss", need, got: payload.len() };
        let (head, rows) = payload.split_first_chunk::<4>().ok_or(wrong_length(4))?;
        let need = usize::from(head[3]) * GnssBlock::SIZE;
        if rows.len() != need {
            return Err(wrong_length(4 + need));
        }
        Ok(Self {
            version: head[0],
            hardware_channels: head[1],
            used_channels: head[2],
            blocks: rows.chunks_exact(GnssBlock::SIZE).map(GnssBlock::get).collect(),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let count = self.blocks.len() as u8;
        out.extend([self.version, self.hardware_channels, self.used_channels, count]);
        for block in self.blocks.iter().take(255) {
            block.put(out);
        }
    }
}

/// A configuration item's key. Bits 28-30 give the size of its value, 16-23 its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Key(pub u32);

impl Key {
    /// Bytes its value takes, as bits 28-30 of the key say; `None` for sizes that do not exist.
    pub fn value_len(self) -> Option<usize> {
        match self.0 >> 28 & 7 {
            1 | 2 => Some(1),
            3 => Some(2),
            4 => Some(4),
            5 => Some(8),
            _ => None,
        }
    }

    /// Whether its value is one bit.
    pub fn is_bit(self) -> bool {
        self.0 >> 28 & 7 == 1
    }

    /// Bits 16-23.
    pub fn group(self) -> u8 {
        (self.0 >> 16) as u8
    }
}

/// A configuration item. Signed and floating values keep their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Which.
    pub key: Key,
    /// Its value's bits, of which as many count as the key says.
    pub value: u64,
}

fn read_items(what: &'static str, mut bytes: &[u8]) -> Result<Vec<Item>, ParseError> {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        let wrong_length = |need| ParseError::Length { what, need, got: bytes.len() };
        let (key, rest) = bytes.split_first_chunk().ok_or(wrong_length(4))?;
        let key = Key(u32::from_le_bytes(*key));
        let length = known_len(key)?;
        let value = rest.get(..length).ok_or(wrong_length(4 + length))?;
        let mut wide = [0; 8];
        wide[..length].copy_from_slice(value);
        items.push(Item { key, value: u64::from_le_bytes(wide) });
        bytes = &rest[length..];
    }
    Ok(items)
}

fn known_len(key: Key) -> Result<usize, ParseError> {
    key.value_len().ok_or(ParseError::Value {
        field: "configuration key",
        value: key.0.into(),
        allowed: "1 to 5 in bits 28 to 30",
    })
}

fn write_items(items: &[Item], out: &mut Vec<u8>) {
    for item in items {
        item.key.0.put(out);
        let length = item.key.value_len().unwrap_or(0);
        out.extend_from_slice(&item.value.to_le_bytes()[..length]);
    }
}

fn read_keys(what: &'static str, bytes: &[u8]) -> Result<Vec<Key>, ParseError> {
    let (keys, []) = bytes.as_chunks::<4>() else {
        return Err(ParseError::Length { what, need: bytes.len() / 4 * 4, got: bytes.len() });
    };
    Ok(keys.iter().map(|key| Key(u32::from_le_bytes(*key))).collect())
}

/// Sets configuration items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CfgValset {
    /// 0, or 1 for transactions.
    pub version: u8,
    /// Bit 0 RAM, 1 battery-backed, 2 flash.
    pub layers: u8,
    /// Version 1: 0 none, 1 start, 2 go on, 3 apply.
    pub transaction: u8,
    /// Reserved.
    pub reserved1: u8,
    /// At most 64.
    pub items: Vec<Item>,
}

impl Payload for CfgValset {
    const ID: MessageId = MessageId::new(0x06, 0x8a);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let wrong_length = ParseError::Length { what: "CfgValset", need: 4, got: payload.len() };
        let (head, items) = payload.split_first_chunk::<4>().ok_or(wrong_length)?;
        let [version, layers, transaction, reserved1] = *head;
        let items = read_items("CfgValset", items)?;
        Ok(Self { version, layers, transaction, reserved1, items })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([self.version, self.layers, self.transaction, self.reserved1]);
        write_items(&self.items, out);
    }
}

/// Forgets stored configuration items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CfgValdel {
    /// 0, or 1 for transactions.
    pub version: u8,
    /// Bit 1 battery-backed, 2 flash.
    pub layers: u8,
    /// Version 1: 0 none, 1 start, 2 go on, 3 apply.
    pub transaction: u8,
    /// Reserved.
    pub reserved1: u8,
    /// At most 64.
    pub keys: Vec<Key>,
}

impl Payload for CfgValdel {
    const ID: MessageId = MessageId::new(0x06, 0x8c);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let wrong_length = ParseError::Length { what: "CfgValdel", need: 4, got: payload.len() };
        let (head, keys) = payload.split_first_chunk::<4>().ok_or(wrong_length)?;
        let [version, layers, transaction, reserved1] = *head;
        Ok(Self { version, layers, transaction, reserved1, keys: read_keys("CfgValdel", keys)? })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([self.version, self.layers, self.transaction, self.reserved1]);
        for key in &self.keys {
            key.0.put(out);
        }
    }
}

/// Asks for configuration items, or answers with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CfgValget {
    /// From the host: version 0. A key whose low 16 bits are ones asks for its whole group, one
    /// whose group is ones too for everything.
    Request {
        /// 0 RAM, 1 battery-backed, 2 flash, 7 default.
        layer: u8,
        /// How many items of the answer to skip.
        position: u16,
        /// At most 64.
        keys: Vec<Key>,
    },
    /// From the receiver: version 1.
    Answer {
        /// As asked for.
        layer: u8,
        /// As asked for.
        position: u16,
        /// At most 64.
        items: Vec<Item>,
    },
}

impl Payload for CfgValget {
    const ID: MessageId = MessageId::new(0x06, 0x8b);

    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let wrong_length = ParseError::Length { what: "CfgValget", need: 4, got: payload.len() };
        let (head, rest) = payload.split_first_chunk::<4>().ok_or(wrong_length)?;
        let [version, layer, low, high] = *head;
        let position = u16::from_le_bytes([low, high]);
        match version {
            0 => Ok(Self::Request { layer, position, keys: read_keys("CfgValget", rest)? }),
            1 => Ok(Self::Answer { layer, position, items: read_items("CfgValget", rest)? }),
            _ => Err(ParseError::Value {
                field: "version",
                value: version.into(),
                allowed: "0 for a request, 1 for an answer",
            }),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request { layer, position, keys } => {
                out.extend([0, *layer]);
                position.put(out);
                for key in keys {
                    key.0.put(out);
                }
            }
            Self::Answer { layer, position, items } => {
                out.extend([1, *layer]);
                position.put(out);
                write_items(items, out);
            }
        }
    }
}
