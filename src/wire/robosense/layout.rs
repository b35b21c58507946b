//! Layout of each model's packets.

use std::ops::Range;

words!(Layout: "rs16" => Rs16, "rs32" => Rs32, "bpearl" => Bpearl, "bpearl-v4" => BpearlV4, "helios" => Helios,
    "helios-16p" => Helios16, "ruby" => Ruby, "airy" => Airy, "m1" => M1);

/// Packet layout of a group of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// RS-LiDAR-16: two firings per block or, with two returns, one firing per block.
    #[default]
    Rs16,
    /// RS-LiDAR-32.
    Rs32,
    /// Bpearl, versions 1 to 3.
    Bpearl,
    /// Bpearl, version 4.
    BpearlV4,
    /// Helios with 32 lasers.
    Helios,
    /// Helios-16P: two firings per block or, with two returns, one firing per block.
    Helios16,
    /// Ruby and Ruby Plus with 128 lasers.
    Ruby,
    /// Airy with 96 lines: two blocks for each return of a firing.
    Airy,
    /// M1, whose points have their own angles.
    M1,
}

/// Sizes of a packet's parts in bytes, and numbers of blocks and points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Length of the whole packet, bytes.
    pub packet: usize,
    /// Length of the header before the first block, bytes.
    pub head: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Length of a block before its first point, bytes.
    pub block_head: usize,
    /// Number of points in a block.
    pub points: usize,
    /// Length of a point, bytes.
    pub point: usize,
}

impl Shape {
    const fn of(
        packet: usize,
        head: usize,
        blocks: usize,
        block_head: usize,
        points: usize,
    ) -> Self {
        Self { packet, head, blocks, block_head, points, point: 3 }
    }

    /// Offset of a block, bytes.
    pub fn block_at(&self, block: usize) -> usize {
        self.head + block * (self.block_head + self.points * self.point)
    }

    /// Offset of a point, bytes.
    pub fn point_at(&self, block: usize, point: usize) -> usize {
        self.block_at(block) + self.block_head + point * self.point
    }
}

/// A group of points in a block: returns of one firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Index of the block.
    pub block: usize,
    /// Index of the first point in the block.
    pub point: usize,
    /// Index of the firing in the packet.
    pub firing: usize,
    /// Whether the points are second returns.
    pub is_second: bool,
    /// Laser of the first point; the following points have the next lasers.
    pub first_laser: usize,
    /// Number of lasers, and of points in the group.
    pub lasers: usize,
}

impl Slot {
    /// Byte range of the points in the packet.
    pub fn bytes(&self, shape: &Shape) -> Range<usize> {
        shape.point_at(self.block, self.point)..shape.point_at(self.block, self.point + self.lasers)
    }
}

/// Whether a packet starts with the first or with the second return of a firing. With two returns per firing, the
/// packets of a Ruby alternate between both, because a packet has three blocks, and a firing takes two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The packet starts with the first return of a firing. Also used for all other models and return modes.
    #[default]
    Even,
    /// The packet starts with the second return of a firing; the previous packet ended with the first return.
    Odd,
}

impl Layout {
    /// Shape of a point packet in this layout.
    pub fn shape(self) -> Shape {
        match self {
            Self::Rs16
            | Self::Rs32
            | Self::Bpearl
            | Self::BpearlV4
            | Self::Helios
            | Self::Helios16 => Shape::of(1248, 42, 12, 4, 32),
            Self::Ruby => Shape::of(1248, 80, 3, 4, 128),
            Self::Airy => Shape::of(1248, 42, 8, 4, 48),
            Self::M1 => Shape { point: 9, ..Shape::of(1210, 32, 25, 2, 5) },
        }
    }

    /// Number of lasers or, for an M1, of channels.
    pub fn lasers(self) -> usize {
        match self {
            Self::Rs16 | Self::Helios16 => 16,
            Self::Rs32 | Self::Bpearl | Self::BpearlV4 | Self::Helios => 32,
            Self::Airy => 96,
            Self::Ruby => 128,
            Self::M1 => 5,
        }
    }

    /// Metres per count of distance with the factory setting.
    pub fn distance_unit_m(self) -> f64 {
        match self {
            Self::BpearlV4 | Self::Helios | Self::Helios16 => 0.0025,
            _ => 0.005,
        }
    }

    /// Largest value of a point's distance, in counts of [`Layout::distance_unit_m`].
    pub fn max_distance(self) -> u16 {
        // An Airy uses 14 bits for the distance, and two bits for a class of the point.
        if self == Self::Airy { 0x3fff } else { u16::MAX }
    }

    /// First bytes of a packet of points. Several layouts have the same first bytes.
    pub fn id(self) -> &'static [u8] {
        match self {
            Self::Rs16 | Self::Rs32 | Self::Bpearl | Self::BpearlV4 => {
                &[0x55, 0xaa, 0x05, 0x0a, 0x5a, 0xa5, 0x50, 0xa0]
            }
            Self::Helios | Self::Helios16 | Self::Ruby | Self::Airy => &[0x55, 0xaa, 0x05, 0x5a],
            Self::M1 => &[0x55, 0xaa, 0x5a, 0xa5],
        }
    }

    /// First bytes of a block; empty for an M1.
    pub fn block_flag(self) -> &'static [u8] {
        match self {
            Self::Ruby => &[0xfe],
            Self::M1 => &[],
            _ => &[0xff, 0xee],
        }
    }

    /// Offset of the byte with the type of the lidar; the next byte is its kind, which distinguishes models of one
    /// type.
    pub fn type_at(self) -> usize {
        match self {
            Self::Ruby | Self::M1 => 30,
            _ => 31,
        }
    }

    /// Whether times are calendar dates instead of seconds of POSIX time.
    pub fn has_calendar(self) -> bool {
        matches!(self, Self::Rs16 | Self::Rs32 | Self::Bpearl)
    }

    /// Whether `code` is a return mode with two returns.
    pub fn is_dual(self, code: u8) -> bool {
        match self {
            Self::Ruby => code >= 3,
            Self::Airy => code == 0 || code == 3,
            _ => code == 0,
        }
    }

    /// Degrees per count of an angle in status packets.
    pub fn angle_unit_deg(self) -> f64 {
        match self {
            Self::Rs16 => 0.0001,
            Self::Rs32 => 0.001,
            _ => 0.01,
        }
    }

    /// Number of firings in a packet. If `is_dual`, each firing has two returns; otherwise one.
    pub fn firings(self, is_dual: bool) -> usize {
        match (self, is_dual) {
            (Self::Rs16 | Self::Helios16, false) => 24,
            (Self::Rs16 | Self::Helios16, true) => 12,
            (Self::Rs32 | Self::Bpearl | Self::BpearlV4 | Self::Helios, false) => 12,
            (Self::Rs32 | Self::Bpearl | Self::BpearlV4 | Self::Helios, true) => 6,
            (Self::Ruby, false) => 3,
            (Self::Ruby, true) => 2,
            (Self::Airy, false) => 4,
            (Self::Airy, true) => 2,
            // The next packet has the second returns.
            (Self::M1, _) => 25,
        }
    }

    /// Lasers and returns of a packet's points, in the order of the wire. An M1 sends first and second returns in
    /// separate packets; its slots are always marked as first returns.
    pub fn slots(self, is_dual: bool, phase: Phase) -> Vec<Slot> {
        let lasers = self.lasers();
        let whole = |block, firing, is_second| Slot {
            block,
            point: 0,
            firing,
            is_second,
            first_laser: 0,
            lasers,
        };
        let blocks = 0..self.shape().blocks;
        match (self, is_dual) {
            (Self::Rs16 | Self::Helios16, _) => {
                let half = |block: usize, second: usize| Slot {
                    point: 16 * second,
                    ..whole(
                        block,
                        if is_dual { block } else { 2 * block + second },
                        is_dual && second == 1,
                    )
                };
                blocks.flat_map(|block| [half(block, 0), half(block, 1)]).collect()
            }
            (Self::Airy, _) => {
                let half = |block: usize| {
                    let pair = block / 2;
                    let (firing, is_second) =
                        if is_dual { (pair / 2, pair % 2 == 1) } else { (pair, false) };
                    let first_laser = block % 2 * 48;
                    Slot { first_laser, lasers: 48, ..whole(block, firing, is_second) }
                };
                blocks.map(half).collect()
            }
            (Self::Ruby, true) => match phase {
                Phase::Even => vec![whole(0, 0, false), whole(1, 0, true), whole(2, 1, false)],
                Phase::Odd => vec![whole(0, 0, true), whole(1, 1, false), whole(2, 1, true)],
            },
            (Self::Ruby | Self::M1, _) | (_, false) => {
                blocks.map(|block| whole(block, block, false)).collect()
            }
            (_, true) => blocks.map(|block| whole(block, block / 2, block % 2 == 1)).collect(),
        }
    }
}
