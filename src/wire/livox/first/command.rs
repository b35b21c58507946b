//! Command frames of SDK 1 and their contents.

use crate::ParseError;
use crate::checksum::{crc16_livox, crc32_livox};
use crate::record::{Reader, record};

/// UDP port of lidars for commands; also the source port of all their datagrams.
pub const LIDAR_PORT: u16 = 65_000;
/// UDP port at which hosts receive the broadcasts of lidars.
pub const BROADCAST_PORT: u16 = 55_000;
/// Length of a frame in addition to its data, bytes.
pub const OVERHEAD: usize = 15;
/// Length of the longest frame, bytes.
pub const LONGEST_FRAME: usize = 1400;
const START: u8 = 0xaa;
const VERSION: u8 = 1;
/// Offset of the header's CRC-16.
const HEAD_CRC_AT: usize = 7;

/// Commands: set, and number within the set.
pub mod id {
    /// A lidar announces itself.
    pub const BROADCAST: (u8, u8) = (0, 0x00);
    /// A host connects.
    pub const HANDSHAKE: (u8, u8) = (0, 0x01);
    /// Requests the firmware version.
    pub const INFORMATION: (u8, u8) = (0, 0x02);
    /// Keeps the connection alive.
    pub const HEARTBEAT: (u8, u8) = (0, 0x03);
    /// Starts or stops the sending of points.
    pub const SAMPLE: (u8, u8) = (0, 0x04);
    /// Selects Cartesian or spherical points.
    pub const COORDINATES: (u8, u8) = (0, 0x05);
    /// Ends the connection.
    pub const DISCONNECT: (u8, u8) = (0, 0x06);
    /// The lidar pushes its status.
    pub const STATUS: (u8, u8) = (0, 0x07);
    /// Sets the IP address.
    pub const SET_ADDRESS: (u8, u8) = (0, 0x08);
    /// Requests the IP address.
    pub const GET_ADDRESS: (u8, u8) = (0, 0x09);
    /// Restarts the lidar.
    pub const REBOOT: (u8, u8) = (0, 0x0a);
    /// Sets parameters.
    pub const SET_PARAMETERS: (u8, u8) = (0, 0x0b);
    /// Requests parameters.
    pub const GET_PARAMETERS: (u8, u8) = (0, 0x0c);
    /// Restores the factory parameters.
    pub const RESET_PARAMETERS: (u8, u8) = (0, 0x0d);
    /// Selects normal mode, power saving or standby.
    pub const MODE: (u8, u8) = (1, 0x00);
    /// Sets the extrinsic parameters, which describe the mounting.
    pub const SET_MOUNTING: (u8, u8) = (1, 0x01);
    /// Requests the extrinsic parameters.
    pub const GET_MOUNTING: (u8, u8) = (1, 0x02);
    /// Turns suppression of rain and fog on or off.
    pub const RAIN_FOG: (u8, u8) = (1, 0x03);
    /// Turns the fan on or off.
    pub const SET_FAN: (u8, u8) = (1, 0x04);
    /// Requests the state of the fan.
    pub const GET_FAN: (u8, u8) = (1, 0x05);
    /// Selects the returns that become points.
    pub const SET_RETURNS: (u8, u8) = (1, 0x06);
    /// Requests the return mode.
    pub const GET_RETURNS: (u8, u8) = (1, 0x07);
    /// Turns IMU samples on or off.
    pub const SET_IMU: (u8, u8) = (1, 0x08);
    /// Requests the rate of IMU samples.
    pub const GET_IMU: (u8, u8) = (1, 0x09);
    /// Sets the clock to the time of the last PPS.
    pub const UTC: (u8, u8) = (1, 0x0a);
}

/// Codes of answers.
pub mod ret {
    /// The command was executed.
    pub const DONE: u8 = 0;
    /// The command failed.
    pub const FAILED: u8 = 1;
    /// The change of mode is in progress.
    pub const IN_PROGRESS: u8 = 2;
}

/// Keys of parameters.
pub mod key {
    /// Sensitivity: 0 normal, 1 high.
    pub const SENSITIVITY: u16 = 1;
    /// The scan pattern: 0 non-repetitive, 1 repetitive.
    pub const PATTERN: u16 = 2;
    /// Slot number in a hub, the last character of the broadcast code.
    pub const SLOT: u16 = 3;
}

/// Reasons why parameters were not set or read.
pub mod key_error {
    /// No error.
    pub const NONE: u8 = 0;
    /// Unknown key.
    pub const UNKNOWN: u8 = 1;
    /// The value is outside its range.
    pub const VALUE: u8 = 4;
    /// The value has the wrong length.
    pub const VALUE_LENGTH: u8 = 5;
    /// The number of keys does not match the data.
    pub const LENGTH: u8 = 7;
}

/// States that heartbeats report.
pub mod state {
    /// Self-test, or the motor is starting.
    pub const STARTING: u8 = 0;
    /// Normal operation.
    pub const NORMAL: u8 = 1;
    /// Power saving: only the network is powered.
    pub const POWER_SAVING: u8 = 2;
    /// Standby: no laser light.
    pub const STANDBY: u8 = 3;
    /// Stopped because of an error.
    pub const ERROR: u8 = 4;
}

words!(Kind: "command" => Command, "answer" => Answer, "message" => Message);

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command that requires an answer.
    Command = 0,
    /// An answer to a command.
    Answer = 1,
    /// A message without an answer.
    Message = 2,
}

/// A frame: a command, an answer or a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Purpose of the frame.
    pub kind: Kind,
    /// Sequence number; the answer repeats it.
    pub sequence: u16,
    /// Command: set and number, see [`id`].
    pub id: (u8, u8),
    /// Data of the command.
    pub data: Vec<u8>,
}

impl Frame {
    /// Reads a datagram.
    ///
    /// # Errors
    /// The bytes are not a valid frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new("a command", bytes);
        let [start, version] = reader.array()?;
        if start != START {
            return Err(ParseError::value("the start byte", start, "0xaa"));
        }
        if version != VERSION {
            return Err(ParseError::value("the version", version, "1"));
        }
        let (length, kind, sequence): (u16, u8, u16) = (reader.le()?, reader.le()?, reader.le()?);
        let head_crc: u16 = reader.le()?;
        let [set, number] = reader.array()?;
        let need = usize::from(length);
        if need != bytes.len() || !(OVERHEAD..=LONGEST_FRAME).contains(&need) {
            let need = need.clamp(OVERHEAD, LONGEST_FRAME);
            return Err(ParseError::Length { what: "a command", need, got: bytes.len() });
        }
        let kinds = Kind::WORDS.into_iter().map(|(_, known)| known);
        let Some(kind) = kinds.into_iter().find(|known| *known as u8 == kind) else {
            return Err(ParseError::value("the kind", kind, "0, 1 or 2"));
        };
        if crc16_livox(&bytes[..HEAD_CRC_AT]) != head_crc {
            return Err(ParseError::value("the head's CRC", head_crc, "the CRC-16 of the head"));
        }
        let data = reader.bytes(need - OVERHEAD)?.to_vec();
        let crc: u32 = reader.le()?;
        if crc32_livox(&bytes[..need - 4]) != crc {
            return Err(ParseError::value("the CRC", crc, "the CRC-32 of the frame"));
        }
        Ok(Self { kind, sequence, id: (set, number), data })
    }

    /// Bytes of the frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = OVERHEAD + self.data.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend([START, VERSION]);
        bytes.extend((length as u16).to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(crc16_livox(&bytes).to_le_bytes());
        bytes.extend([self.id.0, self.id.1]);
        bytes.extend(&self.data);
        bytes.extend(crc32_livox(&bytes).to_le_bytes());
        bytes
    }

    /// The lidar's answer to a command.
    pub fn answer(&self, data: Vec<u8>) -> Self {
        Self { kind: Kind::Answer, data, ..*self }
    }
}

record! {
    /// Data of the message by which a lidar announces itself to hosts, [`id::BROADCAST`].
    Broadcast: Le 19 {
        /// Serial number, slot, and a zero.
        code: [u8; 16],
        /// Code of the product.
        device_type: u8,
        /// Zero.
        reserved: [u8; 2],
    }

    /// Data of [`id::HANDSHAKE`]: destinations of the lidar's datagrams.
    Handshake: Le 10 {
        /// IP address of the host.
        ip: [u8; 4],
        /// Destination port of points.
        data_port: u16,
        /// Destination port of status messages.
        command_port: u16,
        /// Destination port of inertial samples.
        imu_port: u16,
    }

    /// The answer to [`id::HEARTBEAT`].
    Heartbeat: Le 7 {
        /// Result code, see [`ret`].
        ret: u8,
        /// State of the lidar, see [`state`].
        state: u8,
        /// Enabled features; bit 0: suppression of rain and fog.
        features: u8,
        /// Status of the lidar; while the unit starts, progress in per cent.
        status: u32,
    }

    /// Network settings: mode, address, mask and gateway.
    Address: Le 13 {
        /// Assignment of the address: 0 dynamic, 1 static.
        mode: u8,
        /// Address of the unit.
        ip: [u8; 4],
        /// Network mask.
        mask: [u8; 4],
        /// Gateway.
        gateway: [u8; 4],
    }

    /// Result of setting, reading or resetting parameters.
    ParameterAnswer: Le 4 {
        /// Result code, see [`ret`].
        ret: u8,
        /// Key that caused an error; 0 if no key did.
        key: u16,
        /// Reason for an error, see [`key_error`].
        error: u8,
    }

    /// Data of [`id::UTC`].
    Utc: Le 8 {
        /// Years since 2000.
        year: u8,
        /// Month: 1 to 12.
        month: u8,
        /// Day: 1 to 31.
        day: u8,
        /// Hour: 0 to 23.
        hour: u8,
        /// Time within the hour, microseconds.
        us: u32,
    }
}

impl Utc {
    /// Start of the hour, nanoseconds of POSIX time; `None` if date or hour is invalid.
    pub fn hour_ns(&self) -> Option<u64> {
        let part = |value: u8| i8::try_from(value).ok();
        let (month, day, hour) = (part(self.month)?, part(self.day)?, part(self.hour)?);
        let year = 2000 + i16::from(self.year);
        let date = jiff::civil::DateTime::new(year, month, day, hour, 0, 0, 0).ok()?;
        let zoned = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        u64::try_from(zoned.timestamp().as_nanosecond()).ok()
    }
}

/// Keys with their values.
pub type Parameters = Vec<(u16, Vec<u8>)>;

/// Reads keys with their values, the data of [`id::SET_PARAMETERS`].
///
/// # Errors
/// A length does not match the data.
pub fn parse_parameters(data: &[u8]) -> Result<Parameters, ParseError> {
    let mut reader = Reader::new("parameters", data);
    let mut all = Vec::new();
    while !reader.is_empty() {
        let (key, length): (u16, u16) = (reader.le()?, reader.le()?);
        all.push((key, reader.bytes(length.into())?.to_vec()));
    }
    Ok(all)
}

/// Bytes of keys with their values.
pub fn parameters_to_bytes(parameters: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in parameters {
        bytes.extend(key.to_le_bytes());
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(value);
    }
    bytes
}

/// Reads the keys that a host requests: the data of [`id::GET_PARAMETERS`], or the data after the flag of
/// [`id::RESET_PARAMETERS`].
///
/// # Errors
/// The number of keys does not match the data.
pub fn parse_asked(data: &[u8]) -> Result<Vec<u16>, ParseError> {
    let mut reader = Reader::new("keys", data);
    let count: u8 = reader.le()?;
    let keys = reader.le_vec(count)?;
    reader.finish()?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record as _;

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2);
        pairs.map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
    }

    fn frame(kind: Kind, sequence: u16, id: (u8, u8), data: &[u8]) -> Frame {
        Frame { kind, sequence, id, data: data.to_vec() }
    }

    /// A recorded conversation with openpylivoxv2, for a Horizon at 127.0.0.2.
    fn conversation() -> Vec<(&'static str, Frame)> {
        use Kind::{Answer, Command, Message};
        let broadcast =
            Broadcast { code: *b"3WEDH7600101231\0", device_type: 3, reserved: [0, 0] }.to_bytes();
        let handshake = Handshake {
            ip: [127, 0, 0, 1],
            data_port: 60_001,
            command_port: 50_001,
            imu_port: 40_001,
        };
        let heartbeat = Heartbeat { ret: 0, state: 1, features: 0, status: 0 }.to_bytes();
        vec![
            (
                "aa012200020000597e000033574544483736303031303132333100010000312fa576",
                // The device type in the recording is 1.
                frame(Message, 0, id::BROADCAST, &[&broadcast[..16], &[1, 0, 0]].concat()),
            ),
            (
                "aa011900000000dc5800017f00000161ea51c3419ca06ec97c",
                frame(Command, 0, id::HANDSHAKE, &handshake.to_bytes()),
            ),
            ("aa0110000100006453000100f1343c29", frame(Answer, 0, id::HANDSHAKE, &[0])),
            ("aa010f0000000004d7000338ba8d0c", frame(Command, 0, id::HEARTBEAT, &[])),
            (
                "aa011600010000fc68000300010000000000cd9be39f",
                frame(Answer, 0, id::HEARTBEAT, &heartbeat),
            ),
            ("aa010f0000000004d70002ae8a8a7b", frame(Command, 0, id::INFORMATION, &[])),
            (
                "aa011400010000747e0002000609000011ae8c76",
                frame(Answer, 0, id::INFORMATION, &[0, 6, 9, 0, 0]),
            ),
            ("aa011000000000b809000500f58c4f69", frame(Command, 0, id::COORDINATES, &[0])),
            ("aa0110000100006453000500f5f1504d", frame(Answer, 0, id::COORDINATES, &[0])),
            ("aa011000000000b8090100011122fd62", frame(Command, 0, id::MODE, &[1])),
            ("aa0110000100006453010000876fe531", frame(Answer, 0, id::MODE, &[0])),
            ("aa011000000000b809000401228d5307", frame(Command, 0, id::SAMPLE, &[1])),
            ("aa0110000100006453000400b4c04b54", frame(Answer, 0, id::SAMPLE, &[0])),
            ("aa011000000000b809000400b4bd5470", frame(Command, 0, id::SAMPLE, &[0])),
            ("aa010f0000000004d70006b74ee77c", frame(Command, 0, id::DISCONNECT, &[])),
            ("aa011000010000645300060036a27d66", frame(Answer, 0, id::DISCONNECT, &[0])),
            ("aa011100000000fc02000a000004477736", frame(Command, 0, id::REBOOT, &[0, 0])),
        ]
    }

    #[test]
    fn the_recorded_conversation_both_ways() {
        for (hex, frame) in conversation() {
            assert_eq!(Frame::parse(&bytes(hex)).unwrap(), frame, "{hex}");
            assert_eq!(frame.to_bytes(), bytes(hex), "{frame:?}");
        }
    }

    #[test]
    fn a_flipped_bit_is_no_frame() {
        let (hex, _) = conversation()[1];
        let whole = bytes(hex);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Frame::parse(&bytes).is_err(), "bit {bit}");
        }
        for len in 0..whole.len() {
            assert!(Frame::parse(&whole[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn parameters_that_do_not_match_their_lengths_are_refused() {
        let all = vec![(key::SENSITIVITY, vec![1]), (key::SLOT, vec![2])];
        let data = parameters_to_bytes(&all);
        assert_eq!(parse_parameters(&data).unwrap(), all);
        assert!(parse_parameters(&data[..data.len() - 1]).is_err());
        assert_eq!(parse_asked(&[2, 1, 0, 3, 0]).unwrap(), [1, 3]);
        assert!(parse_asked(&[2, 1, 0]).is_err() && parse_asked(&[0, 1]).is_err());
    }
}
