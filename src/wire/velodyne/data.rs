//! Velodyne's data packet of 1206 bytes; [`super::position`] describes the other UDP payload.
//!
//! All numbers are little-endian and raw: a distance is in the model's unit (2 or 4 mm), without calibration. Parsing
//! keeps all received values, so that packets of every model and firmware are reproduced. [`DataPacket::check`]
//! reports suspicious values.
//!
//! Sources: user manuals of HDL-64E S1, S2 and S3, HDL-32E, VLP-16, VLP-32C and VLS-128; captures of real devices.
//! The last six bytes of the HDL-64E S1 are in doubt, see [`super::hdl64e_status::S1Status`].

use std::fmt;

use crate::ParseError;

/// Length of a data packet, bytes.
pub const DATA_PACKET_LEN: usize = 1206;
/// Number of blocks in a data packet.
pub const BLOCKS: usize = 12;
/// Number of points in a block.
pub const SLOTS: usize = 32;
/// Length of a block, bytes.
pub const BLOCK_LEN: usize = 100;
/// Length of a point, bytes.
pub const POINT_LEN: usize = 3;
/// Number of hundredths of a degree in one rotation.
pub const FULL_TURN_CENTIDEG: u16 = 36_000;
/// Number of microseconds in an hour. Timestamps are below this number.
pub const HOUR_US: u32 = 3_600_000_000;

/// Byte ranges of a block's fields.
mod block {
    use std::ops::Range;
    pub const FLAG: Range<usize> = 0..2;
    pub const AZIMUTH: Range<usize> = 2..4;
    pub const POINTS: Range<usize> = 4..super::BLOCK_LEN;
}
/// Offset of the last six bytes, which follow the blocks.
pub const TAIL: usize = BLOCKS * BLOCK_LEN;

/// Byte range of the timestamp in data packets of all models except the HDL-64E S1.
pub const TIMESTAMP: std::ops::Range<usize> = TAIL..TAIL + 4;

/// A group of 32 lasers, identified by the block flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bank {
    /// Lasers 0 to 31; the only bank of 16- and 32-laser models. On the wire `FF EE`.
    Upper,
    /// Lasers 32 to 63. On the wire `FF DD`.
    Lower,
    /// Lasers 64 to 95 of a VLS-128. On the wire `FF CC`.
    Third,
    /// Lasers 96 to 127 of a VLS-128. On the wire `FF BB`.
    Fourth,
}

impl Bank {
    /// Block flag of this bank.
    pub const fn flag(self) -> u16 {
        match self {
            Bank::Upper => 0xeeff,
            Bank::Lower => 0xddff,
            Bank::Third => 0xccff,
            Bank::Fourth => 0xbbff,
        }
    }

    /// Bank for a block flag; `None` for fillers and unknown flags.
    pub const fn from_flag(flag: u16) -> Option<Self> {
        match flag {
            0xeeff => Some(Bank::Upper),
            0xddff => Some(Bank::Lower),
            0xccff => Some(Bank::Third),
            0xbbff => Some(Bank::Fourth),
            _ => None,
        }
    }

    /// Index of the laser in slot 0 of this bank.
    pub const fn first_laser(self) -> usize {
        match self {
            Bank::Upper => 0,
            Bank::Lower => 32,
            Bank::Third => 64,
            Bank::Fourth => 96,
        }
    }
}

/// A point with raw values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Distance in the model's unit; 0 without a return.
    pub distance: u16,
    /// Intensity, 0..=255. Real devices send small values also without a return.
    pub intensity: u8,
}

impl Point {
    /// The point's bytes on the wire.
    #[inline]
    pub const fn bytes(self) -> [u8; POINT_LEN] {
        let [low, high] = self.distance.to_le_bytes();
        [low, high, self.intensity]
    }
}

/// The blocks of a data packet, for writing, in the order of the wire.
#[inline]
pub fn blocks_mut(packet: &mut [u8; DATA_PACKET_LEN]) -> &mut [[u8; BLOCK_LEN]] {
    packet.as_chunks_mut().0
}

/// Writes the header of a block; returns the bytes for its [`SLOTS`] points.
#[inline]
pub fn begin_block(
    block: &mut [u8; BLOCK_LEN],
    flag: u16,
    azimuth_centideg: u16,
) -> &mut [[u8; POINT_LEN]] {
    block[block::FLAG].copy_from_slice(&flag.to_le_bytes());
    block[block::AZIMUTH].copy_from_slice(&azimuth_centideg.to_le_bytes());
    block[block::POINTS].as_chunks_mut().0
}

/// One firing of the 32 lasers of a bank, or two firings of 16 lasers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Flag of the bank, see [`Bank::from_flag`].
    pub flag: u16,
    /// Rotor angle when the block's first laser fires, 0.01 degrees clockwise as seen from above.
    pub azimuth_centideg: u16,
    /// Points by slot.
    pub points: [Point; SLOTS],
}

impl Block {
    fn emit(&self, out: &mut [u8; BLOCK_LEN]) {
        let slots = begin_block(out, self.flag, self.azimuth_centideg);
        for (point, slot) in self.points.iter().zip(slots) {
            *slot = point.bytes();
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut points = [Point::default(); SLOTS];
        for (point, bytes) in points.iter_mut().zip(bytes[block::POINTS].chunks_exact(POINT_LEN)) {
            *point = Point { distance: u16_le(&bytes[..2]), intensity: bytes[2] };
        }
        Self {
            flag: u16_le(&bytes[block::FLAG]),
            azimuth_centideg: u16_le(&bytes[block::AZIMUTH]),
            points,
        }
    }
}

/// Payload of datagrams to UDP port 2368.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataPacket {
    /// Blocks in the order of the wire.
    pub blocks: [Block; BLOCKS],
    /// The last six bytes. For all models except the HDL-64E S1, see [`DataPacket::timestamp_us`] and
    /// [`DataPacket::status_bytes`]. The S1 has no timestamp.
    pub tail: [u8; 6],
}

impl DataPacket {
    /// Encodes the last six bytes, for all models except the HDL-64E S1.
    ///
    /// `timestamp_us` counts from the UTC hour and must be below [`HOUR_US`]. `status` is return mode and product id;
    /// for HDL-64E S2 and S3, status type and value.
    pub fn tail_with(timestamp_us: u32, status: [u8; 2]) -> [u8; 6] {
        let [a, b, c, d] = timestamp_us.to_le_bytes();
        [a, b, c, d, status[0], status[1]]
    }

    /// Microseconds after the UTC hour; meaningless for an HDL-64E S1.
    pub fn timestamp_us(&self) -> u32 {
        u32_le(&self.tail[..4])
    }

    /// The last two bytes: return mode and product id; for an HDL-64E, status type and value.
    pub fn status_bytes(&self) -> [u8; 2] {
        [self.tail[4], self.tail[5]]
    }

    /// Writes the packet to `out`.
    pub fn emit(&self, out: &mut [u8; DATA_PACKET_LEN]) {
        for (block, out) in self.blocks.iter().zip(blocks_mut(out)) {
            block.emit(out);
        }
        out[TAIL..].copy_from_slice(&self.tail);
    }

    /// Parses a packet; any 1206 bytes are accepted.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let bytes: &[u8; DATA_PACKET_LEN] = exactly(bytes, "data packet")?;
        let mut packet = Self::default();
        for (block, bytes) in packet.blocks.iter_mut().zip(bytes.chunks_exact(BLOCK_LEN)) {
            *block = Block::parse(bytes);
        }
        packet.tail.copy_from_slice(&bytes[TAIL..]);
        Ok(packet)
    }

    /// Model of the sender, as far as this packet identifies it; `None` if no model matches.
    ///
    /// A single packet can be ambiguous, for example a packet of an HDL-64E S1 that has only upper blocks. In rare
    /// cases, a packet matches another model. Use several packets to decide.
    pub fn model(&self) -> Option<Model> {
        let banks = self.blocks.map(|block| Bank::from_flag(block.flag));
        if banks.iter().any(|bank| matches!(bank, Some(Bank::Third | Bank::Fourth))) {
            return Some(Model::Vls128);
        }
        if banks.contains(&Some(Bank::Lower)) {
            return Some(Model::Hdl64e);
        }
        if self.tail[2..] == *b"DegC" {
            return Some(Model::Hdl64e);
        }
        let [mode, product] = self.status_bytes();
        ReturnMode::from_byte(mode)?;
        Model::from_product_id(product)
    }

    /// Whether the packet has two returns per firing.
    ///
    /// An HDL-64E sends no return mode, so blocks 0 and 2 are compared: with two returns per firing, they have the same
    /// bank and azimuth. For other models, the return mode must be [`ReturnMode::Dual`].
    pub fn is_dual_return(&self) -> bool {
        match self.model() {
            Some(Model::Hdl64e) => {
                self.blocks[0].azimuth_centideg == self.blocks[2].azimuth_centideg
                    && self.blocks[0].flag == self.blocks[2].flag
            }
            _ => self.tail[4] == ReturnMode::Dual.byte(),
        }
    }

    /// Lists the values that no device sends, in the order of the wire; empty for a valid packet.
    pub fn check(&self) -> Vec<Issue> {
        let model = self.model();
        let mut issues = Vec::new();
        for (index, block) in self.blocks.iter().enumerate() {
            let filler = model == Some(Model::Vls128) && matches!(block.flag, 0 | 0xffff);
            if Bank::from_flag(block.flag).is_none() && !filler {
                issues.push(Issue::UnknownFlag { block: index, flag: block.flag });
            }
            if block.azimuth_centideg >= FULL_TURN_CENTIDEG {
                let azimuth_centideg = block.azimuth_centideg;
                issues.push(Issue::AzimuthTooLarge { block: index, azimuth_centideg });
            }
        }
        match model {
            None => issues.push(Issue::UnknownModel { status: self.status_bytes() }),
            // The S1 has no timestamp, and a single packet does not show the generation.
            Some(Model::Hdl64e) => {}
            Some(_) if self.timestamp_us() >= HOUR_US => {
                issues.push(Issue::TimestampTooLarge { timestamp_us: self.timestamp_us() });
            }
            Some(_) => {}
        }
        issues
    }
}

/// A value in a data packet that no device sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issue {
    /// A block flag that no model has.
    UnknownFlag {
        /// Index of the block.
        block: usize,
        /// Flag of the block.
        flag: u16,
    },
    /// An azimuth of a full rotation or more.
    AzimuthTooLarge {
        /// Index of the block.
        block: usize,
        /// Azimuth of the block, 0.01 degrees.
        azimuth_centideg: u16,
    },
    /// A timestamp of an hour or more.
    TimestampTooLarge {
        /// The timestamp, microseconds.
        timestamp_us: u32,
    },
    /// Neither the block flags nor the last bytes identify a model.
    UnknownModel {
        /// The last two bytes of the packet.
        status: [u8; 2],
    },
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Issue::UnknownFlag { block, flag } => {
                write!(f, "block {block}: no model has the flag {flag:#06x}")
            }
            Issue::AzimuthTooLarge { block, azimuth_centideg } => {
                write!(f, "block {block}: azimuth {azimuth_centideg} is not below 36000")
            }
            Issue::TimestampTooLarge { timestamp_us } => {
                write!(f, "timestamp {timestamp_us} us is not within an hour")
            }
            Issue::UnknownModel { status: [mode, product] } => {
                write!(f, "no model ends its packets in {mode:#04x} {product:#04x}")
            }
        }
    }
}

/// The models that a data packet can identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// HDL-64E of any generation. It has no product id; its lower blocks or the end `DegC` identify it.
    Hdl64e,
    /// HDL-32E.
    Hdl32e,
    /// VLP-16 and Puck LITE.
    Vlp16,
    /// VLP-32A and VLP-32B.
    Vlp32ab,
    /// Puck Hi-Res.
    PuckHiRes,
    /// VLP-32C.
    Vlp32c,
    /// Velarray.
    Velarray,
    /// VLS-128, Alpha Prime.
    Vls128,
}

impl Model {
    /// Model for a product id, the last byte of a data packet.
    pub const fn from_product_id(id: u8) -> Option<Self> {
        match id {
            0x21 => Some(Model::Hdl32e),
            0x22 => Some(Model::Vlp16),
            0x23 => Some(Model::Vlp32ab),
            0x24 => Some(Model::PuckHiRes),
            0x28 => Some(Model::Vlp32c),
            0x31 => Some(Model::Velarray),
            0xa1 => Some(Model::Vls128),
            _ => None,
        }
    }

    /// Name of the model.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Hdl64e => "HDL-64E",
            Model::Hdl32e => "HDL-32E",
            Model::Vlp16 => "VLP-16",
            Model::Vlp32ab => "VLP-32A/B",
            Model::PuckHiRes => "Puck Hi-Res",
            Model::Vlp32c => "VLP-32C",
            Model::Velarray => "Velarray",
            Model::Vls128 => "VLS-128",
        }
    }

    /// Metres per step of distance.
    pub const fn distance_unit_m(self) -> f64 {
        match self {
            Model::Vlp32c | Model::Vls128 => 0.004,
            _ => 0.002,
        }
    }
}

/// Return mode of a packet: byte 1204 of all models except the HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnMode {
    /// The strongest return.
    Strongest,
    /// The last return.
    Last,
    /// Two returns, the strongest and the last.
    Dual,
    /// Three returns, VLS-128.
    Triple,
    /// Both returns with confidence values, VLS-128.
    DualWithConfidence,
}

impl ReturnMode {
    /// Value of byte 1204 for this mode.
    pub const fn byte(self) -> u8 {
        match self {
            ReturnMode::Strongest => 0x37,
            ReturnMode::Last => 0x38,
            ReturnMode::Dual => 0x39,
            ReturnMode::Triple => 0x3a,
            ReturnMode::DualWithConfidence => 0x3b,
        }
    }

    /// The mode for a value of byte 1204; `None` for an unknown value.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x37 => Some(ReturnMode::Strongest),
            0x38 => Some(ReturnMode::Last),
            0x39 => Some(ReturnMode::Dual),
            0x3a => Some(ReturnMode::Triple),
            0x3b => Some(ReturnMode::DualWithConfidence),
            _ => None,
        }
    }

    /// Name of the mode in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            ReturnMode::Strongest => "strongest",
            ReturnMode::Last => "last",
            ReturnMode::Dual => "dual",
            ReturnMode::Triple => "triple",
            ReturnMode::DualWithConfidence => "dual with confidence",
        }
    }
}

pub(super) fn exactly<'a, const N: usize>(
    bytes: &'a [u8],
    what: &'static str,
) -> Result<&'a [u8; N], ParseError> {
    bytes.try_into().map_err(|_| ParseError::Length { what, need: N, got: bytes.len() })
}

/// The little-endian number in two bytes; the slice must have two bytes.
pub(super) fn u16_le(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// The little-endian number in four bytes; the slice must have four bytes.
pub(super) fn u32_le(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_data_packet_survives(bytes in prop::collection::vec(any::<u8>(), DATA_PACKET_LEN)) {
            let packet = DataPacket::parse(&bytes).unwrap();
            packet.check();
            let mut again = [0xa5; DATA_PACKET_LEN];
            packet.emit(&mut again);
            prop_assert_eq!(again.as_slice(), bytes.as_slice());
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        let bytes = [0; DATA_PACKET_LEN + 1];
        for len in (0..=bytes.len()).filter(|len| *len != DATA_PACKET_LEN) {
            let need = DATA_PACKET_LEN;
            let error = ParseError::Length { what: "data packet", need, got: len };
            assert_eq!(DataPacket::parse(&bytes[..len]), Err(error));
        }
    }

    #[test]
    fn flags_and_azimuths_out_of_range_are_told() {
        let mut packet =
            DataPacket { tail: DataPacket::tail_with(HOUR_US, [0x37, 0x22]), ..Default::default() };
        for block in &mut packet.blocks {
            block.flag = Bank::Upper.flag();
        }
        packet.blocks[3].azimuth_centideg = 36_000;
        packet.blocks[5].flag = 0x1234;
        assert_eq!(
            packet.check(),
            [
                Issue::AzimuthTooLarge { block: 3, azimuth_centideg: 36_000 },
                Issue::UnknownFlag { block: 5, flag: 0x1234 },
                Issue::TimestampTooLarge { timestamp_us: HOUR_US },
            ]
        );
        packet.tail = [0; 6];
        assert_eq!(packet.check().last(), Some(&Issue::UnknownModel { status: [0, 0] }));
    }

    #[test]
    fn a_status_pair_that_names_a_vlp16_does_not_fool_an_hdl64e() {
        let mut packet =
            DataPacket { tail: DataPacket::tail_with(0, [b'7', 0x22]), ..Default::default() };
        for (index, block) in packet.blocks.iter_mut().enumerate() {
            block.flag = if index % 2 == 0 { Bank::Upper } else { Bank::Lower }.flag();
        }
        assert_eq!(packet.model(), Some(Model::Hdl64e));
        for block in &mut packet.blocks {
            block.flag = Bank::Upper.flag();
        }
        assert_eq!(packet.model(), Some(Model::Vlp16));
    }
}
