//! CFG and ACK messages: settings, requests and their answers.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::ParseError;
use crate::record::{Field, Le, Reader, Record, put_le, record};

message! {
    /// The receiver rejected the named message.
    AckNak 0x05 0x00 2 {
        /// Class of the rejected message.
        class: u8,
        /// Id of the rejected message.
        id: u8,
    }
    /// The receiver accepted the named message.
    AckAck 0x05 0x01 2 {
        /// Class of the acknowledged message.
        class: u8,
        /// Id of the acknowledged message.
        id: u8,
    }
    /// A port's settings.
    CfgPrt 0x06 0x00 20 {
        /// Index of the port: 0 I2C, 1 UART1, 2 UART2, 3 USB, 4 SPI.
        port: u8,
        /// Reserved.
        reserved1: u8,
        /// Settings of the pin that is active while bytes wait to be sent.
        tx_ready: u16,
        /// UARTs: bits 6-7 number of data bits minus five, 9-11 parity (0 even, 1 odd, 4 none), 12-13 stop bits (0 one,
        /// 1 one and a half, 2 two, 3 half).
        mode: u32,
        /// UARTs: bit rate, bits per second.
        baud: u32,
        /// Input protocols: bit 0 UBX, 1 NMEA, 2 RTCM 2, 5 RTCM 3.
        input_protocols: u16,
        /// Output protocols; bits as in `input_protocols`.
        output_protocols: u16,
        /// Flags: bit 1 extended timeout.
        flags: u16,
        /// Reserved.
        reserved2: u16,
    }
    /// Restarts the receiver; not acknowledged.
    CfgRst 0x06 0x04 4 {
        /// Data to delete: 0 none (hot), 1 ephemeris (warm), 0xffff everything (cold).
        clear: u16,
        /// Kind of reset: 0 and 4 hardware, 1 and 2 software, 8 stop and 9 start navigation.
        mode: u8,
        /// Reserved.
        reserved1: u8,
    }
    /// Rates of measurements and solutions.
    CfgRate 0x06 0x08 6 {
        /// Interval between measurements, milliseconds.
        measurement_ms: u16,
        /// Number of measurements per solution.
        measurements_per_solution: u16,
        /// Time reference: 0 UTC, 1 GPS, 2 GLONASS, 3 BeiDou, 4 Galileo.
        time_reference: u16,
    }
    /// Settings of the navigation engine.
    CfgNav5 0x06 0x24 36 {
        /// Bits that select the fields to apply.
        mask: u16,
        /// Dynamic model: 0 portable, 2 stationary, 3 pedestrian, 4 automotive, 5 sea, 6-8 airborne.
        dynamic_model: u8,
        /// Kind of fix: 1 two-dimensional only, 2 three-dimensional only, 3 automatic.
        fix_mode: u8,
        /// Height above mean sea level for two-dimensional fixes.
        fixed_altitude_cm: i32,
        /// Variance of the fixed altitude, 1e-4 m^2.
        fixed_altitude_variance: u32,
        /// Smallest elevation of the satellites used.
        min_elevation_deg: i8,
        /// Reserved; u-blox's field `drLimit`.
        dead_reckoning_limit_s: u8,
        /// Limits of a valid fix: PDOP and TDOP in 0.1, position and time accuracy in metres.
        limits: [u16; 4],
        /// Speed below which the position is held.
        static_hold_cm_s: u8,
        /// Timeout of differential corrections.
        correction_timeout_s: u8,
        /// Carrier-to-noise threshold for a fix: number of satellites, and dB-Hz.
        cno_threshold: [u8; 2],
        /// Reserved.
        reserved1: [u8; 2],
        /// Distance beyond which static hold ends.
        static_hold_max_m: u16,
        /// UTC standard; 0: automatic.
        utc_standard: u8,
        /// Reserved.
        reserved2: [u8; 5],
    }
    /// Settings of the time pulse.
    CfgTp5 0x06 0x31 32 {
        /// Index of the pulse: 0 or 1.
        index: u8,
        /// Version of the message.
        version: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// Delay of the antenna's cable.
        cable_delay_ns: i16,
        /// Delay of the receiver's radio.
        rf_delay_ns: i16,
        /// Period in microseconds, or frequency in hertz if bit 3 of `flags` is set.
        period: u32,
        /// Period or frequency once the pulse is locked to GNSS time, as in `period`.
        period_locked: u32,
        /// Length of the pulse in microseconds if bit 4 of `flags` is set, otherwise in units of 2^-32 of the period.
        length: u32,
        /// Length once the pulse is locked to GNSS time, as in `length`.
        length_locked: u32,
        /// Delay set by the user.
        user_delay_ns: i32,
        /// Flags: bit 0 active, 1 locked to GNSS time, 2 `period_locked` and `length_locked` apply when locked, 3
        /// `period` is a frequency, 4 `length` is a time, 5 aligned to the second, 6 rising edge at the second.
        flags: u32,
    }
}

/// Output rate of a message. With the rate n, the receiver sends the message with every n-th solution; 0: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CfgMsg {
    /// Requests the rates of a message.
    Poll(MessageId),
    /// Sets the rate on the receiving port.
    ThisPort(MessageId, u8),
    /// Sets, or reports, the rates on I2C, UART1, UART2, USB, SPI and a reserved port.
    AllPorts(MessageId, [u8; 6]),
}

impl Payload for CfgMsg {
    const ID: MessageId = MessageId::new(0x06, 0x01);
}

impl Record for CfgMsg {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        match *payload {
            [class, id] => Ok(Self::Poll(MessageId::new(class, id))),
            [class, id, rate] => Ok(Self::ThisPort(MessageId::new(class, id), rate)),
            [class, id, a, b, c, d, e, f] => {
                Ok(Self::AllPorts(MessageId::new(class, id), [a, b, c, d, e, f]))
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

message! {
    /// Clears, saves and loads settings, in this order. Each bit of the masks selects a group of settings.
    #[derive(Eq)]
    CfgCfg 0x06 0x09 {
        /// Groups to reset to factory settings.
        clear: u32,
        /// Groups to copy from RAM to storage.
        save: u32,
        /// Groups to copy from storage to RAM.
        load: u32,
        /// Storage devices: bit 0 battery-backed memory, 1 flash, 2 EEPROM, 4 SPI flash.
        devices: Option<u8>,
    }
}

record! {
    /// One satellite system of [`CfgGnss`].
    #[derive(Copy, Default, Serialize)]
    GnssBlock: Le 8 {
        /// Satellite system: 0 GPS, 1 SBAS, 2 Galileo, 3 BeiDou, 4 IMES, 5 QZSS, 6 GLONASS.
        gnss_id: u8,
        /// Number of reserved channels.
        reserved_channels: u8,
        /// Largest number of channels.
        max_channels: u8,
        /// Reserved.
        reserved1: u8,
        /// Flags: bit 0 enabled, 16-23 signals.
        flags: u32,
    }
}

/// Settings of satellite systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CfgGnss {
    /// Version of the message, 0.
    pub version: u8,
    /// Number of channels of the hardware.
    pub hardware_channels: u8,
    /// Number of channels to use.
    pub used_channels: u8,
    /// The blocks, at most 255.
    pub blocks: Vec<GnssBlock>,
}

impl Payload for CfgGnss {
    const ID: MessageId = MessageId::new(0x06, 0x3e);
}

impl Record for CfgGnss {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("CfgGnss", payload);
        let [version, hardware_channels, used_channels, count] = from.array()?;
        let blocks = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { version, hardware_channels, used_channels, blocks })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let blocks = &self.blocks[..self.blocks.len().min(255)];
        let count = blocks.len() as u8;
        out.extend([self.version, self.hardware_channels, self.used_channels, count]);
        put_le(out, blocks);
    }
}

/// Key of a configuration item. Bits 28-30 code the size of the value, bits 16-23 are the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Key(pub u32);

impl Key {
    /// Length of the value, bytes, from bits 28-30 of the key; `None` for unknown sizes.
    pub fn value_len(self) -> Option<usize> {
        match self.0 >> 28 & 7 {
            1 | 2 => Some(1),
            3 => Some(2),
            4 => Some(4),
            5 => Some(8),
            _ => None,
        }
    }

    /// Whether the value is one bit.
    pub fn is_bit(self) -> bool {
        self.0 >> 28 & 7 == 1
    }

    /// Group: bits 16-23 of the key.
    pub fn group(self) -> u8 {
        (self.0 >> 16) as u8
    }
}

/// A configuration item. Signed and floating-point values are stored as their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Key of the item.
    pub key: Key,
    /// Bits of the value; the key determines their number.
    pub value: u64,
}

impl Field<Le> for Key {
    const MIN_LEN: usize = 4;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        from.le().map(Self)
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_le(out, &[self.0]);
    }
}

impl Field<Le> for Item {
    const MIN_LEN: usize = 5;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        let key: Key = from.le()?;
        let length = key.value_len().ok_or_else(|| {
            ParseError::value("configuration key", key.0, "1 to 5 in bits 28 to 30")
        })?;
        let mut value = [0; 8];
        value[..length].copy_from_slice(from.bytes(length)?);
        Ok(Self { key, value: u64::from_le_bytes(value) })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.key.write(out);
        let length = self.key.value_len().unwrap_or(0);
        out.extend_from_slice(&self.value.to_le_bytes()[..length]);
    }
}

record! {
    /// Sets configuration items.
    #[derive(Default, Eq, Serialize)]
    CfgValset: Le {
        /// Version: 0, or 1 for transactions.
        version: u8,
        /// Layers: bit 0 RAM, 1 battery-backed, 2 flash.
        layers: u8,
        /// Transaction (version 1): 0 none, 1 start, 2 continue, 3 apply.
        transaction: u8,
        /// Reserved.
        reserved1: u8,
        /// The items, at most 64.
        items: Vec<Item>,
    }
    /// Deletes stored configuration items.
    #[derive(Default, Eq, Serialize)]
    CfgValdel: Le {
        /// Version: 0, or 1 for transactions.
        version: u8,
        /// Layers: bit 1 battery-backed, 2 flash.
        layers: u8,
        /// Transaction (version 1): 0 none, 1 start, 2 continue, 3 apply.
        transaction: u8,
        /// Reserved.
        reserved1: u8,
        /// The keys, at most 64.
        keys: Vec<Key>,
    }
}

impl Payload for CfgValset {
    const ID: MessageId = MessageId::new(0x06, 0x8a);
}

impl Payload for CfgValdel {
    const ID: MessageId = MessageId::new(0x06, 0x8c);
}

/// Requests configuration items, or answers such a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CfgValget {
    /// Request of the host, version 0 of the message. A key whose low 16 bits are all ones requests the whole group; if
    /// the bits of the group are all ones, too, the key requests all items.
    Request {
        /// Layer: 0 RAM, 1 battery-backed RAM, 2 flash, 7 default.
        layer: u8,
        /// Number of items that the answer skips.
        position: u16,
        /// Keys, at most 64.
        keys: Vec<Key>,
    },
    /// Answer of the receiver, version 1 of the message.
    Answer {
        /// Requested layer.
        layer: u8,
        /// Requested position.
        position: u16,
        /// Items, at most 64.
        items: Vec<Item>,
    },
}

impl Payload for CfgValget {
    const ID: MessageId = MessageId::new(0x06, 0x8b);
}

impl Record for CfgValget {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("CfgValget", payload);
        let ([version, layer], position) = (from.array()?, from.le()?);
        match version {
            0 => Ok(Self::Request { layer, position, keys: from.le()? }),
            1 => Ok(Self::Answer { layer, position, items: from.le()? }),
            _ => Err(ParseError::value("version", version, "0 for a request, 1 for an answer")),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let (Self::Request { layer, position, .. } | Self::Answer { layer, position, .. }) = self;
        out.extend([u8::from(matches!(self, Self::Answer { .. })), *layer]);
        put_le(out, &[*position]);
        match self {
            Self::Request { keys, .. } => put_le(out, keys),
            Self::Answer { items, .. } => put_le(out, items),
        }
    }
}
