//! Xbus, the messages of Xsens (Movella) MTi products, and MTData2, the measurements in them.
//!
//! `FA | bus id | message id | length | data | checksum`. If the length is FF, two bytes with the length follow. The
//! sum of all bytes after `FA` is zero. Numbers are most significant byte first. Source: the driver `mtdevice.py` of
//! ethz-asl and the golden messages in the tests.

use super::ParseError;
use super::framer::{Framing, NoFrame, head, require, whole};
use super::record::{Reader, record};

const PREAMBLE: u8 = 0xfa;
/// Bus id of a device that is connected directly to the host.
pub const MASTER: u8 = 0xff;
/// Longest data of a message, bytes.
pub const MAX_DATA: usize = 2048;

/// Message ids. The id of an answer is the id of its request plus one.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod mid {
    pub const REQ_DID: u8 = 0x00;
    pub const INIT_MT: u8 = 0x02;
    pub const SET_PERIOD: u8 = 0x04;
    pub const REQ_DATA_LENGTH: u8 = 0x0a;
    pub const REQ_CONFIGURATION: u8 = 0x0c;
    pub const RESTORE_FACTORY_DEF: u8 = 0x0e;
    pub const GO_TO_MEASUREMENT: u8 = 0x10;
    pub const REQ_FW_REV: u8 = 0x12;
    pub const SET_BAUDRATE: u8 = 0x18;
    pub const REQ_PRODUCT_CODE: u8 = 0x1c;
    pub const REQ_HARDWARE_VERSION: u8 = 0x1e;
    pub const SET_NO_ROTATION: u8 = 0x22;
    pub const RUN_SELFTEST: u8 = 0x24;
    pub const SET_SYNC_SETTINGS: u8 = 0x2c;
    pub const GO_TO_CONFIG: u8 = 0x30;
    pub const REQ_DATA: u8 = 0x34;
    pub const MT_DATA2: u8 = 0x36;
    pub const WAKE_UP: u8 = 0x3e;
    pub const WAKE_UP_ACK: u8 = 0x3f;
    pub const RESET: u8 = 0x40;
    pub const ERROR: u8 = 0x42;
    pub const SET_OPTION_FLAGS: u8 = 0x48;
    pub const SET_UTC_TIME: u8 = 0x60;
    pub const REQ_AVAILABLE_PROFILES: u8 = 0x62;
    pub const SET_FILTER_PROFILE: u8 = 0x64;
    pub const SET_LAT_LON_ALT: u8 = 0x6e;
    pub const SET_LOCATION_ID: u8 = 0x84;
    pub const ICC_COMMAND: u8 = 0x74;
    pub const SET_EXT_OUTPUT_MODE: u8 = 0x86;
    pub const STORE_FILTER_STATE: u8 = 0x8a;
    pub const SET_STRING_OUTPUT_TYPE: u8 = 0x8e;
    pub const REQ_EMTS: u8 = 0x90;
    pub const RESET_ORIENTATION: u8 = 0xa4;
    pub const ADJUST_UTC_TIME: u8 = 0xa8;
    pub const SET_OUTPUT_CONFIGURATION: u8 = 0xc0;
    pub const SET_OUTPUT_MODE: u8 = 0xd0;
    pub const SET_OUTPUT_SETTINGS: u8 = 0xd2;
    pub const SET_OUTPUT_SKIP_FACTOR: u8 = 0xd4;
    pub const SET_ERROR_MODE: u8 = 0xda;
    pub const SET_TRANSMIT_DELAY: u8 = 0xdc;
    pub const SET_ALIGNMENT_ROTATION: u8 = 0xec;
}

/// Error codes: data of an [`mid::ERROR`] message.
pub mod error {
    /// The period is invalid.
    pub const PERIOD: u8 = 0x03;
    /// The message is unknown, or not allowed in this state.
    pub const MESSAGE: u8 = 0x04;
    /// The baud rate is invalid.
    pub const BAUD_RATE: u8 = 0x20;
    /// A parameter is invalid.
    pub const PARAMETER: u8 = 0x21;
}

/// Ids of bit rates in `SetBaudrate`, with the rates in bits per second; 921600 has two ids.
pub const BAUD_IDS: [(u8, u32); 13] = [
    (0x00, 460_800),
    (0x01, 230_400),
    (0x02, 115_200),
    (0x03, 76_800),
    (0x04, 57_600),
    (0x05, 38_400),
    (0x06, 28_800),
    (0x07, 19_200),
    (0x08, 14_400),
    (0x09, 9_600),
    (0x0b, 4_800),
    (0x80, 921_600),
    (0x0a, 921_600),
];

/// An Xbus message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Bus id: [`MASTER`], or the id of a device on a bus.
    pub bus_id: u8,
    /// Message id, see [`mid`].
    pub mid: u8,
    /// The data, at most [`MAX_DATA`] bytes.
    pub data: Vec<u8>,
}

impl Message {
    /// Creates a message from or to a device that is connected directly to the host.
    pub fn new(mid: u8, data: impl Into<Vec<u8>>) -> Self {
        Self { bus_id: MASTER, mid, data: data.into() }
    }

    /// Appends the message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([PREAMBLE, self.bus_id, self.mid]);
        match u8::try_from(self.data.len()) {
            Ok(length) if length < 0xff => out.push(length),
            _ => {
                out.push(0xff);
                out.extend((self.data.len() as u16).to_be_bytes());
            }
        }
        out.extend_from_slice(&self.data);
        let sum = sum(&out[start + 1..]);
        out.push(0u8.wrapping_sub(sum));
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Finds [`Message`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Xbus;

impl Framing for Xbus {
    type Frame = Message;

    fn max_len(&self) -> usize {
        7 + MAX_DATA
    }

    fn begins(&self, byte: u8) -> bool {
        byte == PREAMBLE
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Message, usize), NoFrame> {
        let [_, bus_id, mid, short] = head(bytes)?;
        let (start, length) = if short == 0xff {
            let [.., high, low] = head::<6>(bytes)?;
            (6, usize::from(u16::from_be_bytes([high, low])))
        } else {
            (4, usize::from(short))
        };
        // A length that fits into one byte is never sent in two bytes.
        require(length <= MAX_DATA && (start == 4 || length >= 0xff))?;
        let message = whole(bytes, start + length + 1)?;
        require(sum(&message[1..]) == 0)?;
        let data = message[start..start + length].to_vec();
        Ok((Message { bus_id, mid, data }, message.len()))
    }
}

/// Data id of an MTData2 item: group, type, precision and frame in two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xdi(pub u16);

#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
impl Xdi {
    pub const TEMPERATURE: Self = Self(0x0810);
    pub const UTC_TIME: Self = Self(0x1010);
    pub const PACKET_COUNTER: Self = Self(0x1020);
    pub const ITOW: Self = Self(0x1030);
    pub const SAMPLE_TIME_FINE: Self = Self(0x1060);
    pub const SAMPLE_TIME_COARSE: Self = Self(0x1070);
    pub const QUATERNION: Self = Self(0x2010);
    pub const ROTATION_MATRIX: Self = Self(0x2020);
    pub const EULER: Self = Self(0x2030);
    pub const PRESSURE: Self = Self(0x3010);
    pub const DELTA_V: Self = Self(0x4010);
    pub const ACCELERATION: Self = Self(0x4020);
    pub const FREE_ACCELERATION: Self = Self(0x4030);
    pub const ACCELERATION_HR: Self = Self(0x4040);
    pub const RATE_OF_TURN: Self = Self(0x8020);
    pub const DELTA_Q: Self = Self(0x8030);
    pub const RATE_OF_TURN_HR: Self = Self(0x8040);
    pub const RAW_SENSORS: Self = Self(0xa010);
    pub const RAW_GYRO_TEMPERATURES: Self = Self(0xa020);
    pub const MAGNETIC_FIELD: Self = Self(0xc020);
    pub const CORRECTED_MAGNETIC_FIELD: Self = Self(0xc030);
    pub const STATUS_BYTE: Self = Self(0xe010);
    pub const STATUS_WORD: Self = Self(0xe020);
    pub const DEVICE_ID: Self = Self(0xe080);
    pub const LOCATION_ID: Self = Self(0xe090);
}

/// Number format of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single-precision floating point, four bytes.
    Float32,
    /// Fixed point, four bytes, with twenty bits after the binary point.
    Fixed12_20,
    /// Fixed point, six bytes: first the 32 bits after the binary point, then the 16 bits before.
    Fixed16_32,
    /// Double-precision floating point, eight bytes.
    Float64,
}

/// Local frame of an item's orientation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalFrame {
    /// Axes east, north, up.
    Enu,
    /// Axes north, east, down.
    Ned,
    /// Axes north, west, up.
    Nwu,
}

impl Xdi {
    /// The data id without precision and frame: group and type.
    pub fn what(self) -> Self {
        Self(self.0 & 0xfff0)
    }

    /// Precision in the data id.
    pub fn precision(self) -> Precision {
        match self.0 & 3 {
            0 => Precision::Float32,
            1 => Precision::Fixed12_20,
            2 => Precision::Fixed16_32,
            _ => Precision::Float64,
        }
    }

    /// Frame in the data id; `None` for an undefined value.
    pub fn frame(self) -> Option<LocalFrame> {
        match self.0 & 0xc {
            0 => Some(LocalFrame::Enu),
            4 => Some(LocalFrame::Ned),
            8 => Some(LocalFrame::Nwu),
            _ => None,
        }
    }
}

/// An item of MTData2 with raw data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Data id of the item.
    pub xdi: Xdi,
    /// The data, at most 255 bytes.
    pub data: Vec<u8>,
}

impl Item {
    /// Creates an item of real numbers in the precision of `xdi`.
    pub fn of_reals(xdi: Xdi, values: &[f64]) -> Self {
        let mut data = Vec::with_capacity(8 * values.len());
        for &value in values {
            match xdi.precision() {
                Precision::Float32 => data.extend((value as f32).to_be_bytes()),
                Precision::Float64 => data.extend(value.to_be_bytes()),
                Precision::Fixed12_20 => {
                    let raw = (value * f64::from(1 << 20)).round() as i32;
                    data.extend(raw.to_be_bytes());
                }
                Precision::Fixed16_32 => {
                    // On the wire, the fraction precedes the integer part.
                    let raw = ((value * 4_294_967_296.0).round() as i64).to_be_bytes();
                    data.extend_from_slice(&raw[4..]);
                    data.extend_from_slice(&raw[2..4]);
                }
            }
        }
        Self { xdi, data }
    }

    /// The data as real numbers in the item's precision; `None` if its length does not match.
    pub fn reals(&self) -> Option<Vec<f64>> {
        let whole = |size: usize| self.data.len().is_multiple_of(size).then_some(size);
        let chunks = |size| self.data.chunks_exact(size);
        let four = |b: &[u8]| <[u8; 4]>::try_from(b).unwrap_or_default();
        Some(match self.xdi.precision() {
            Precision::Float32 => {
                chunks(whole(4)?).map(|b| f64::from(f32::from_be_bytes(four(b)))).collect()
            }
            Precision::Fixed12_20 => chunks(whole(4)?)
                .map(|b| f64::from(i32::from_be_bytes(four(b))) / f64::from(1 << 20))
                .collect(),
            Precision::Fixed16_32 => chunks(whole(6)?)
                .map(|b| {
                    let fraction = f64::from(u32::from_be_bytes(four(&b[..4]))) / 4_294_967_296.0;
                    f64::from(i16::from_be_bytes([b[4], b[5]])) + fraction
                })
                .collect(),
            Precision::Float64 => chunks(whole(8)?)
                .map(|b| f64::from_be_bytes(b.try_into().unwrap_or_default()))
                .collect(),
        })
    }

    /// The items of an MTData2 message.
    ///
    /// # Errors
    /// An item is longer than the rest of the message.
    pub fn parse_all(data: &[u8]) -> Result<Vec<Self>, ParseError> {
        let (mut items, mut from) = (Vec::new(), Reader::new("MTData2", data));
        while !from.is_empty() {
            let (xdi, length) = (Xdi(from.be()?), from.u8()?);
            items.push(Item { xdi, data: from.bytes(length.into())?.to_vec() });
        }
        Ok(items)
    }

    /// Appends the item to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.xdi.0.to_be_bytes());
        out.push(self.data.len() as u8);
        out.extend_from_slice(&self.data);
    }
}

/// An entry of the output configuration: an item and its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputItem {
    /// Data id of the item.
    pub xdi: Xdi,
    /// Rate, Hz; 0xFFFF: the item is in every message.
    pub rate_hz: u16,
}

impl OutputItem {
    /// Parses the data of `SetOutputConfiguration`.
    ///
    /// # Errors
    /// The data has incomplete entries.
    pub fn parse_all(data: &[u8]) -> Result<Vec<Self>, ParseError> {
        let (entries, rest) = data.as_chunks::<4>();
        if !rest.is_empty() {
            let need = 4 * (entries.len() + 1);
            return Err(ParseError::Length { what: "output configuration", need, got: data.len() });
        }
        let entry = |[a, b, c, d]: &[u8; 4]| Self {
            xdi: Xdi(u16::from_be_bytes([*a, *b])),
            rate_hz: u16::from_be_bytes([*c, *d]),
        };
        Ok(entries.iter().map(entry).collect())
    }

    /// Data of `SetOutputConfiguration`, or of its answer.
    pub fn emit_all(list: &[Self]) -> Vec<u8> {
        let bytes = |o: &Self| [o.xdi.0.to_be_bytes(), o.rate_hz.to_be_bytes()].concat();
        list.iter().flat_map(bytes).collect()
    }
}

record! {
    /// Answer of a single unit to `ReqConfiguration`.
    #[derive(Eq)]
    Configuration: Be 118 {
        /// Device id of the bus master, here of the unit itself.
        master_id: u32,
        /// Interval between samples, in 1/115200 s.
        period: u16,
        /// Number of samples skipped between messages.
        skip_factor: u16,
        /// Mode, skip factor and offset of `SyncIn`.
        sync_in: [u8; 8],
        /// Date of the output configuration, `YYYYMMDD`.
        date: [u8; 8],
        /// Time of the output configuration, `HHMMSSHH`.
        time: [u8; 8],
        /// Zeros.
        reserved1: [u8; 64],
        /// Number of devices, 1.
        devices: u16,
        /// Device id of the unit.
        device_id: u32,
        /// Length of the data in a legacy measurement message, bytes.
        data_length: u16,
        /// Legacy output mode.
        output_mode: u16,
        /// Legacy output settings.
        output_settings: u32,
        /// Number of the current filter profile.
        filter_profile: u16,
        /// Major, minor and revision of the firmware.
        firmware: [u8; 3],
        /// Kind and version of the filter, zeros.
        reserved2: [u8; 3],
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            master_id: 0,
            period: 0,
            skip_factor: 0,
            sync_in: [0; 8],
            date: [b'0'; 8],
            time: [b'0'; 8],
            reserved1: [0; 64],
            devices: 1,
            device_id: 0,
            data_length: 0,
            output_mode: 0,
            output_settings: 0,
            filter_profile: 0,
            firmware: [0; 3],
            reserved2: [0; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::record::Record;
    use crate::tests::hex;
    use proptest::prelude::*;

    fn emit(message: &Message) -> Vec<u8> {
        let mut out = vec![0xa5];
        message.emit(&mut out);
        out.split_off(1)
    }

    fn golden(message: Message, text: &str) {
        assert_eq!(emit(&message), hex(text));
        assert_eq!(Framer::new(Xbus).frames(&hex(text)), [message]);
    }

    #[test]
    fn messages_are_the_drivers() {
        golden(Message::new(mid::GO_TO_CONFIG, []), "FA FF 30 00 D1");
        golden(Message::new(mid::GO_TO_CONFIG + 1, []), "FA FF 31 00 D0");
        golden(Message::new(mid::GO_TO_MEASUREMENT, []), "FA FF 10 00 F1");
        golden(Message::new(mid::REQ_DID, []), "FA FF 00 00 01");
        golden(Message::new(1, [0x03, 0x60, 0, 1]), "FA FF 01 04 03 60 00 01 98");
        golden(Message::new(mid::ERROR, [error::MESSAGE]), "FA FF 42 01 04 BA");
        golden(Message::new(mid::WAKE_UP, []), "FA FF 3E 00 C3");
        let list = [0x1020, 0x1060, 0x2010, 0x4020, 0x8020, 0xc020, 0xe020]
            .map(|xdi| OutputItem { xdi: Xdi(xdi), rate_hz: 100 });
        let message = Message::new(mid::SET_OUTPUT_CONFIGURATION, OutputItem::emit_all(&list));
        assert_eq!(OutputItem::parse_all(&message.data).unwrap(), list);
        golden(
            message,
            "FA FF C0 1C 10 20 00 64 10 60 00 64 20 10 00 64 40 20 00 64 80 20 00 64 C0 20 00 64 E0 \
             20 00 64 B9",
        );
    }

    #[test]
    fn measurements_are_the_notes() {
        let text = "FA FF 36 53 10 20 02 00 01 10 60 04 00 00 00 64 20 10 10 3F 35 04 F3 00 00 00 \
            00 00 00 00 00 3F 35 04 F3 40 20 0C 3D CC CC CD BE 4C CC CD 41 1C F5 C3 80 20 0C 3C 23 \
            D7 0A BC A3 D7 0A 3C F5 C2 8F C0 20 0C 3E CC CC CD 3C A3 D7 0A BF 66 66 66 E0 20 04 00 \
            00 00 03 9C";
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let items = [
            Item { xdi: Xdi::PACKET_COUNTER, data: vec![0, 1] },
            Item { xdi: Xdi::SAMPLE_TIME_FINE, data: vec![0, 0, 0, 100] },
            Item::of_reals(Xdi::QUATERNION, &[half, 0.0, 0.0, half]),
            Item::of_reals(Xdi::ACCELERATION, &[0.1, -0.2, 9.81]),
            Item::of_reals(Xdi::RATE_OF_TURN, &[0.01, -0.02, 0.03]),
            Item::of_reals(Xdi::MAGNETIC_FIELD, &[0.4, 0.02, -0.9]),
            Item { xdi: Xdi::STATUS_WORD, data: vec![0, 0, 0, 3] },
        ];
        let mut data = Vec::new();
        items.iter().for_each(|item| item.emit(&mut data));
        assert_eq!(Item::parse_all(&data).unwrap(), items);
        golden(Message::new(mid::MT_DATA2, data), text);
    }

    #[test]
    fn long_messages_have_two_bytes_of_length() {
        let bytes = emit(&Message::new(mid::MT_DATA2, vec![7; 255]));
        assert_eq!(bytes[..6], [0xfa, 0xff, 0x36, 0xff, 0, 255]);
        assert_eq!(Framer::new(Xbus).frames(&bytes).len(), 1);
        assert_eq!(emit(&Message::new(mid::MT_DATA2, vec![7; 254]))[3], 254);
    }

    #[test]
    fn every_precision_comes_back() {
        for bits in 0..4 {
            let item = Item::of_reals(Xdi(0x4020 | bits), &[1.5, -2.25, 0.0]);
            assert_eq!(item.reals(), Some(vec![1.5, -2.25, 0.0]), "{bits}");
        }
        assert_eq!(Xdi(0x2014).frame(), Some(LocalFrame::Ned));
        // 1.5 in the format 16.32, with the fraction first.
        assert_eq!(Item::of_reals(Xdi(0x4022), &[1.5]).data, [0x80, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_configuration_comes_back() {
        let configuration = Configuration {
            master_id: 0x0360_0001,
            period: 1152,
            date: *b"20260601",
            time: *b"12000000",
            device_id: 0x0360_0001,
            ..Configuration::default()
        };
        let bytes = configuration.to_bytes();
        assert_eq!(Configuration::parse(&bytes).unwrap(), configuration);
        assert!(Configuration::parse(&bytes[1..]).is_err());
        assert_eq!(bytes[96..98], [0, 1]);
    }

    proptest! {
        #[test]
        fn any_message_survives(bus_id: u8, mid: u8, data in prop::collection::vec(any::<u8>(), 0..600)) {
            let message = Message { bus_id, mid, data };
            prop_assert_eq!(Framer::new(Xbus).frames(&emit(&message)), [message]);
        }

        #[test]
        fn items_come_back(data in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(items) = Item::parse_all(&data) {
                let mut again = Vec::new();
                items.iter().for_each(|item| item.emit(&mut again));
                prop_assert_eq!(again, data);
            }
        }
    }
}
