//! Layout of each model's data packets, and the bytes before their first block.

use crate::record::{Record as _, record};

/// Length of one count of distance, metres.
pub const DISTANCE_UNIT_M: f64 = 0.004;
/// Distance unit in packet headers, millimetres.
pub const DISTANCE_UNIT_MM: u8 = 4;
/// Bit of the header's flags: the packet ends with a sequence number.
pub const HAS_SEQUENCE: u8 = 1;
/// First bytes of packets with a header.
pub(super) const HEAD_FLAG: [u8; 2] = [0xee, 0xff];
/// First bytes of blocks in packets without a header.
pub(super) const BLOCK_FLAG: [u8; 2] = [0xff, 0xee];
pub(super) const AZIMUTH_LEN: usize = 2;
const SEQUENCE_LEN: usize = 4;

/// Layout of a model's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HesaiFormat {
    /// Pandar40P.
    Pandar40P,
    /// Pandar64.
    Pandar64,
    /// PandarQT64.
    Qt64,
    /// PandarXT-16.
    Xt16,
    /// PandarXT-32.
    #[default]
    Xt32,
}

/// Layout of the words at a packet's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailKind {
    Pandar,
    Qt,
    Xt,
}

record! {
    /// The first bytes of a Pandar64's packet.
    ShortHead: Le 8 {
        /// Start of the packet: bytes `ee ff`.
        flag: [u8; 2],
        /// Number of distances in a block.
        lasers: u8,
        /// Number of blocks.
        blocks: u8,
        /// Code of the return in the first block of a pair; 0 in all captures.
        first_block: u8,
        /// Unit of distances, millimetres.
        distance_unit_mm: u8,
        /// Zero.
        reserved: [u8; 2],
    }

    /// The first bytes of a packet of a QT64 or an XT.
    LongHead: Le 12 {
        /// Start of the packet: bytes `ee ff`.
        flag: [u8; 2],
        /// Major and minor version of the protocol.
        protocol: [u8; 2],
        /// Status or version of the protocol.
        version: u8,
        /// Zero.
        reserved: u8,
        /// Number of distances in a block.
        lasers: u8,
        /// Number of blocks.
        blocks: u8,
        /// Code of the return in the first block of a pair: 0 with one return, 1 for the last return.
        first_block: u8,
        /// Unit of distances, millimetres.
        distance_unit_mm: u8,
        /// Number of returns per firing.
        returns: u8,
        /// Flags, see [`HAS_SEQUENCE`].
        flags: u8,
    }
}

/// Header fields of a packet that the lidar model does not fix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadWords {
    /// Minor version of the protocol.
    pub minor: u8,
    /// Status or version of the protocol.
    pub version: u8,
    /// Code of the return in the first block of a pair.
    pub first_block: u8,
    /// Number of returns per firing.
    pub returns: u8,
    /// Flags, see [`HAS_SEQUENCE`].
    pub flags: u8,
}

impl HesaiFormat {
    /// All layouts with their names.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("pandar40p", Self::Pandar40P),
        ("pandar64", Self::Pandar64),
        ("qt64", Self::Qt64),
        ("xt16", Self::Xt16),
        ("xt32", Self::Xt32),
    ];

    /// Name of the layout.
    pub fn name(self) -> &'static str {
        let own = Self::NAMES.iter().find(|(_, format)| *format == self);
        own.map_or("", |(name, _)| name)
    }

    /// Number of distances in a block.
    pub fn lasers(self) -> usize {
        match self {
            Self::Pandar40P => 40,
            Self::Pandar64 | Self::Qt64 => 64,
            Self::Xt16 => 16,
            Self::Xt32 => 32,
        }
    }

    /// Number of blocks in a packet.
    pub fn blocks(self) -> usize {
        match self {
            Self::Pandar40P => 10,
            Self::Pandar64 => 6,
            Self::Qt64 => 4,
            Self::Xt16 | Self::Xt32 => 8,
        }
    }

    /// Length of a point, bytes.
    pub fn point_len(self) -> usize {
        match self {
            Self::Pandar40P | Self::Pandar64 => 3,
            Self::Qt64 | Self::Xt16 | Self::Xt32 => 4,
        }
    }

    /// Length of the header before the first block, bytes.
    pub fn head_len(self) -> usize {
        match self {
            Self::Pandar40P => 0,
            Self::Pandar64 => 8,
            Self::Qt64 | Self::Xt16 | Self::Xt32 => 12,
        }
    }

    /// Number of bytes of [`super::data::Tail::status`] in a packet.
    pub fn status_len(self) -> usize {
        match self.tail_kind() {
            TailKind::Pandar => 8,
            TailKind::Qt | TailKind::Xt => 10,
        }
    }

    /// Major version of the protocol, if the packets contain it.
    pub fn protocol(self) -> Option<u8> {
        match self {
            Self::Pandar40P | Self::Pandar64 => None,
            Self::Qt64 => Some(3),
            Self::Xt16 | Self::Xt32 => Some(6),
        }
    }

    pub(super) fn tail_kind(self) -> TailKind {
        match self {
            Self::Pandar40P | Self::Pandar64 => TailKind::Pandar,
            Self::Qt64 => TailKind::Qt,
            Self::Xt16 | Self::Xt32 => TailKind::Xt,
        }
    }

    pub(super) fn tail_len(self) -> usize {
        match self.tail_kind() {
            TailKind::Pandar => 22,
            TailKind::Qt | TailKind::Xt => 24,
        }
    }

    /// Length of a block before its points, bytes.
    pub(super) fn block_head_len(self) -> usize {
        AZIMUTH_LEN + if self == Self::Pandar40P { BLOCK_FLAG.len() } else { 0 }
    }

    /// Length of a block, bytes.
    pub(super) fn block_len(self) -> usize {
        self.block_head_len() + self.lasers() * self.point_len()
    }

    pub(super) fn tail_at(self) -> usize {
        self.head_len() + self.blocks() * self.block_len()
    }

    /// Length of a packet with or without a sequence number, bytes.
    pub fn packet_len(self, has_sequence: bool) -> usize {
        self.tail_at() + self.tail_len() + if has_sequence { SEQUENCE_LEN } else { 0 }
    }

    /// Formats with packets of `len` bytes; `true`: with a sequence number.
    pub fn of_len(len: usize) -> impl Iterator<Item = (Self, bool)> {
        let all = Self::NAMES.into_iter().flat_map(|(_, one)| [(one, false), (one, true)]);
        all.filter(move |(format, has_sequence)| format.packet_len(*has_sequence) == len)
    }

    /// The bytes before the first block; empty for a Pandar40P. The header of a Pandar64 contains none of `words`.
    pub fn head(self, words: HeadWords) -> Vec<u8> {
        let HeadWords { minor, version, first_block, returns, flags } = words;
        let (lasers, blocks) = (self.lasers() as u8, self.blocks() as u8);
        let (flag, distance_unit_mm) = (HEAD_FLAG, DISTANCE_UNIT_MM);
        match (self, self.protocol()) {
            (Self::Pandar64, _) => {
                let (first_block, reserved) = (0, [0; 2]);
                ShortHead { flag, lasers, blocks, first_block, distance_unit_mm, reserved }
                    .to_bytes()
            }
            (_, Some(major)) => LongHead {
                flag,
                protocol: [major, minor],
                version,
                reserved: 0,
                lasers,
                blocks,
                first_block,
                distance_unit_mm,
                returns,
                flags,
            }
            .to_bytes(),
            (_, None) => Vec::new(),
        }
    }
}
