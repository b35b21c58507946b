//! Command frames of SDK 2 and their contents. The settings and reported values of a lidar are called keys, see
//! [`super::key`].

use super::key::Entries;
use crate::ParseError;
use crate::checksum::{crc16_ibm_3740, crc32};
use crate::record::{Reader, record};

/// UDP port for searches, the same for all lidars and hosts.
pub const SEARCH_PORT: u16 = 56_000;
/// Length of a frame without data, bytes.
pub const HEAD_LEN: usize = 24;
/// Length of the longest frame, bytes.
pub const LONGEST_FRAME: usize = 1400;
const START: u8 = 0xaa;
const CRC_AT: usize = 18;

/// Numbers of commands.
pub mod id {
    /// Searches for lidars.
    pub const SEARCH: u16 = 0x0000;
    /// Sets the values of keys.
    pub const SET: u16 = 0x0100;
    /// Requests the values of keys.
    pub const GET: u16 = 0x0101;
    /// The lidar pushes the values of keys.
    pub const PUSH: u16 = 0x0102;
    /// Restarts the lidar.
    pub const REBOOT: u16 = 0x0200;
    /// Restores the factory settings.
    pub const RESET: u16 = 0x0201;
    /// Sets the clock to the time of the last PPS.
    pub const GPS_TIME: u16 = 0x0202;
}

/// Codes of answers.
pub mod ret {
    /// The command was executed.
    pub const DONE: u8 = 0x00;
    /// The command failed.
    pub const FAILED: u8 = 0x01;
    /// The command is not allowed now.
    pub const NOT_ALLOWED: u8 = 0x02;
    /// A value is outside its range.
    pub const OUT_OF_RANGE: u8 = 0x03;
    /// Unknown key.
    pub const UNKNOWN_KEY: u8 = 0x20;
    /// The value takes effect after a restart.
    pub const AFTER_REBOOT: u8 = 0x21;
    /// The key cannot be set.
    pub const READ_ONLY: u8 = 0x22;
    /// A value or the answer has the wrong length.
    pub const WRONG_LENGTH: u8 = 0x23;
    /// The number of keys does not match the data.
    pub const WRONG_COUNT: u8 = 0x24;
}

/// A frame: a request or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Sequence number; the answer repeats it.
    pub sequence: u32,
    /// Command, see [`id`].
    pub id: u16,
    /// Whether the frame is an answer.
    pub is_answer: bool,
    /// Whether the lidar sent the frame; otherwise the host did.
    pub is_lidars: bool,
    /// Data of the command.
    pub data: Vec<u8>,
}

impl Frame {
    /// Reads a datagram. For frames without data, any checksum of the data is accepted, because hosts differ.
    ///
    /// # Errors
    /// The bytes are not a valid frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new("a command", bytes);
        let [start, version] = reader.array()?;
        if start != START {
            return Err(ParseError::value("the start byte", start, "0xaa"));
        }
        if version != 0 {
            return Err(ParseError::value("the version", version, "0"));
        }
        let length: u16 = reader.le()?;
        let (sequence, id): (u32, u16) = (reader.le()?, reader.le()?);
        let [answers, lidars] = reader.array()?;
        let [_, _, _, _, _, _] = reader.array()?;
        let (head_crc, data_crc): (u16, u32) = (reader.le()?, reader.le()?);
        let data = reader.rest().to_vec();
        if usize::from(length) != bytes.len() || bytes.len() > LONGEST_FRAME {
            let (need, got) = (usize::from(length).min(LONGEST_FRAME), bytes.len());
            return Err(ParseError::Length { what: "a command", need, got });
        }
        if answers > 1 || lidars > 1 {
            return Err(ParseError::value("kind or sender", answers.max(lidars), "0 or 1"));
        }
        if crc16_ibm_3740(&bytes[..CRC_AT]) != head_crc {
            return Err(ParseError::value("the head's CRC", head_crc, "the CRC-16 of the head"));
        }
        if !data.is_empty() && crc32(&data) != data_crc {
            return Err(ParseError::value("the data's CRC", data_crc, "the CRC-32 of the data"));
        }
        Ok(Self { sequence, id, is_answer: answers == 1, is_lidars: lidars == 1, data })
    }

    /// Bytes of the frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_LEN + self.data.len());
        bytes.extend([START, 0]);
        bytes.extend(((HEAD_LEN + self.data.len()) as u16).to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.id.to_le_bytes());
        bytes.extend([u8::from(self.is_answer), u8::from(self.is_lidars)]);
        bytes.extend([0; 6]);
        bytes.extend(crc16_ibm_3740(&bytes).to_le_bytes());
        let crc = if self.data.is_empty() { 0 } else { crc32(&self.data) };
        bytes.extend(crc.to_le_bytes());
        bytes.extend(&self.data);
        bytes
    }

    /// A request of a host.
    pub fn request(sequence: u32, id: u16, data: Vec<u8>) -> Self {
        Self { sequence, id, is_answer: false, is_lidars: false, data }
    }

    /// The lidar's answer to a request.
    pub fn answer(&self, data: Vec<u8>) -> Self {
        Self { is_answer: true, is_lidars: true, data, ..*self }
    }
}

record! {
    /// Answer to [`id::SEARCH`].
    Found: Le 24 {
        /// Result code, see [`ret`].
        ret: u8,
        /// Code of the product.
        device_type: u8,
        /// Serial number, padded with zeros.
        serial: [u8; 16],
        /// IP address of the unit.
        ip: [u8; 4],
        /// Port for commands.
        command_port: u16,
    }

    /// Answer to [`id::SET`].
    SetAnswer: Le 3 {
        /// Result code, see [`ret`].
        ret: u8,
        /// Key that could not be set; 0 if all keys were set.
        key: u16,
    }

    /// Data of [`id::GPS_TIME`].
    GpsTime: Le 9 {
        /// Kind of time; lidars accept only 2.
        kind: u8,
        /// Time of the last PPS, nanoseconds.
        ns: u64,
    }
}

/// Answer to [`id::GET`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetAnswer {
    /// Result code, see [`ret`].
    pub ret: u8,
    /// Keys with their values.
    pub entries: Entries,
}

impl GetAnswer {
    /// Reads the data of an answer to [`id::GET`].
    ///
    /// # Errors
    /// The data is too short or too long.
    pub fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new("an answer with keys", data);
        let (ret, count): (u8, u16) = (reader.le()?, reader.le()?);
        Ok(Self { ret, entries: Entries::read(&mut reader, count)? })
    }

    /// Data of the answer to [`id::GET`], as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.ret];
        bytes.extend((self.entries.0.len() as u16).to_le_bytes());
        self.entries.emit(&mut bytes);
        bytes
    }
}

/// Reads keys with their values, the data of [`id::SET`] and [`id::PUSH`].
///
/// # Errors
/// The number of keys does not match the data.
pub fn parse_keys(data: &[u8]) -> Result<Entries, ParseError> {
    let mut reader = Reader::new("keys", data);
    let (count, _reserved): (u16, u16) = (reader.le()?, reader.le()?);
    Entries::read(&mut reader, count)
}

/// Bytes of keys with their values, the data of [`id::SET`] or [`id::PUSH`].
pub fn keys_to_bytes(entries: &Entries) -> Vec<u8> {
    let mut bytes = Vec::from((entries.0.len() as u16).to_le_bytes());
    bytes.extend([0, 0]);
    entries.emit(&mut bytes);
    bytes
}

/// Reads the keys that [`id::GET`] requests.
///
/// # Errors
/// The number of keys does not match the data.
pub fn parse_asked(data: &[u8]) -> Result<Vec<u16>, ParseError> {
    let mut reader = Reader::new("keys", data);
    let (count, _reserved): (u16, u16) = (reader.le()?, reader.le()?);
    let keys = reader.le_vec(count)?;
    reader.finish()?;
    Ok(keys)
}

/// Data of a request [`id::GET`] for `keys`, as bytes.
pub fn asked_to_bytes(keys: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::from((keys.len() as u16).to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(keys.iter().flat_map(|key| key.to_le_bytes()));
    bytes
}

/// A text in a field of fixed length, padded with zeros; longer text is truncated.
pub fn text<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    field.iter_mut().zip(text.bytes()).for_each(|(out, byte)| *out = byte);
    field
}

#[cfg(test)]
mod tests {
    use super::super::key::{Destination, key};
    use super::*;
    use crate::record::Record as _;

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2);
        pairs.map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
    }

    fn entries(all: &[(u16, &[u8])]) -> Entries {
        Entries(all.iter().map(|(key, value)| (*key, value.to_vec())).collect())
    }

    /// A recorded conversation with the maker's SDK 2, for a Mid-360 at 127.0.0.2.
    fn conversation() -> Vec<(&'static str, Frame)> {
        let host = |sequence, id, data| Frame::request(sequence, id, data);
        let done = |sequence, id, data| host(sequence, id, Vec::new()).answer(data);
        let set = |sequence, keys: &[(u16, &[u8])]| {
            host(sequence, id::SET, keys_to_bytes(&entries(keys)))
        };
        let ok = |sequence| done(sequence, id::SET, SetAnswer { ret: 0, key: 0 }.to_bytes());
        let found = |device_type, command_port| Found {
            ret: 0,
            device_type,
            serial: text("47MDL8C0010101"),
            ip: [127, 0, 0, 2],
            command_port,
        };
        let to = |port, own_port| Destination { ip: [127, 0, 0, 1], port, own_port }.to_bytes();
        let mut push = entries(&[
            (key::DATA_TYPE, &[1]),
            (key::TARGET_STATE, &[1]),
            (key::SERIAL, &text::<16>("47MDL8C0010101")),
            (key::STATE, &[1]),
            (key::TEMPERATURE, &4512i32.to_le_bytes()),
            (key::SYNCHRONISATION, &[0]),
            (key::DIAGNOSIS, &[0, 0]),
        ]);
        let mut hms = vec![0; 32];
        hms[..4].copy_from_slice(&0x0102_0002u32.to_le_bytes());
        push.0.push((key::HMS, hms));
        vec![
            ("aa00180002000000000000000000000000000a9200000000", host(2, id::SEARCH, vec![])),
            (
                "aa0030000200000000000101000000000000293a08d513a1000934374d444c38433030313031303100007f00000224db",
                done(2, id::SEARCH, found(9, 56_100).to_bytes()),
            ),
            (
                "aa0030000200000000000101000000000000293a4beae39a000a34374d444c38433030313031303100007f000002c0da",
                done(2, id::SEARCH, found(10, 56_000).to_bytes()),
            ),
            (
                "aa001e000300000001010000000000000000b6ad77e3e4dd010000001080",
                host(3, id::GET, asked_to_bytes(&[key::FIRMWARE_KIND])),
            ),
            (
                "aa002000030000000101010100000000000024e6c5af29380001001080010001",
                done(
                    3,
                    id::GET,
                    GetAnswer { ret: 0, entries: entries(&[(key::FIRMWARE_KIND, &[1])]) }
                        .to_bytes(),
                ),
            ),
            (
                "aa004000050000000001000000000000000088b767385aa703000000050008007f00000189db88db060008007f000001eddbecdb070008007f00000151dc50dc",
                set(
                    5,
                    &[
                        (key::STATE_HOST, &to(56_201, 56_200)),
                        (key::POINT_HOST, &to(56_301, 56_300)),
                        (key::IMU_HOST, &to(56_401, 56_400)),
                    ],
                ),
            ),
            ("aa001b000500000000010101000000000000d01e12d941ff000000", ok(5)),
            (
                "aa002100060000000001000000000000000033584c5ab787010000000000010001",
                set(6, &[(key::DATA_TYPE, &[1])]),
            ),
            ("aa001b000600000000010101000000000000739312d941ff000000", ok(6)),
            (
                "aa002100070000000001000000000000000052236a43d0cd010000000100010000",
                set(7, &[(key::PATTERN, &[0])]),
            ),
            ("aa001b00070000000001010100000000000012e812d941ff000000", ok(7)),
            (
                "aa00380008000000000100000000000000009422290d9f0f0100000012001800000000000000000000000000000000000000000000000000",
                set(8, &[(key::MOUNTING, &[0; 24])]),
            ),
            ("aa001b0008000000000101010000000000007f7312d941ff000000", ok(8)),
            (
                "aa00210009000000000100000000000000005ec36fd5e7ad010000001a00010001",
                set(9, &[(key::TARGET_STATE, &[1])]),
            ),
            ("aa001b0009000000000101010000000000001e0812d941ff000000", ok(9)),
            (
                "aa0021000a00000000010000000000000000fd4ecf20a722010000001c00010001",
                set(10, &[(key::IMU_ON, &[1])]),
            ),
            ("aa001b000a00000000010101000000000000bd8512d941ff000000", ok(10)),
            (
                "aa00340005000000000100000000000000006cdeea64568202000000060008007f000001a8dea8de070008007f00000190e290e2",
                set(
                    5,
                    &[(key::POINT_HOST, &to(57_000, 57_000)), (key::IMU_HOST, &to(58_000, 58_000))],
                ),
            ),
            (
                "aa001a00050000000002000000000000000002645cbc48406400",
                host(5, id::REBOOT, 100u16.to_le_bytes().to_vec()),
            ),
            ("aa0019000500000000020101000000000000fd738def02d200", done(5, id::REBOOT, vec![0])),
            (
                "aa0021000600000002020000000000000000fdabaf9612d50200ccfd388b5dbf18",
                host(
                    6,
                    id::GPS_TIME,
                    GpsTime { kind: 2, ns: 1_783_246_830_000_000_000 }.to_bytes(),
                ),
            ),
            (
                "aa001b00070000000001010100000000000012e831cc21ec200300",
                done(7, id::SET, SetAnswer { ret: ret::UNKNOWN_KEY, key: 3 }.to_bytes()),
            ),
            (
                "aa007600010000000201000100000000000063895523dc0d0800000000000100011a000100010080100034374d444c3843303031303130310000068001000107800400a01100000c800100000e8002000000118020000200020100000000000000000000000000000000000000000000000000000000",
                Frame {
                    sequence: 1,
                    id: id::PUSH,
                    is_answer: false,
                    is_lidars: true,
                    data: keys_to_bytes(&push),
                },
            ),
        ]
    }

    #[test]
    fn the_recorded_conversation_both_ways() {
        for (hex, frame) in conversation() {
            assert_eq!(frame.to_bytes(), bytes(hex), "{frame:?}");
            assert_eq!(Frame::parse(&bytes(hex)).unwrap(), frame, "{hex}");
        }
    }

    #[test]
    fn a_flipped_bit_is_no_frame() {
        let (hex, _) = conversation()[5];
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
    fn a_search_with_any_checksum_of_no_data_is_heard() {
        let mut search = Frame::request(1, id::SEARCH, vec![]).to_bytes();
        search[20..].copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(Frame::parse(&search).unwrap().id, id::SEARCH);
    }

    #[test]
    fn keys_that_do_not_match_their_number_are_refused() {
        let data = keys_to_bytes(&entries(&[(1, &[0]), (2, &[])]));
        assert_eq!(parse_keys(&data).unwrap().0.len(), 2);
        for wrong in [1u16, 3, u16::MAX] {
            let mut data = data.clone();
            data[..2].copy_from_slice(&wrong.to_le_bytes());
            assert!(parse_keys(&data).is_err(), "{wrong}");
        }
        assert!(parse_asked(&[2, 0, 0, 0, 1, 0]).is_err());
        assert!(GetAnswer::parse(&[0, 1, 0]).is_err());
    }
}
