//! Packets of points (MSOP).

use super::layout::{Layout, Phase, Shape, Slot};
use super::values::{
    TIME_LEN, read_temperature_be, read_temperature_le, read_time, temperature_be, temperature_le,
    time_field,
};
use crate::ParseError;

/// Number of hundredths of a degree in one rotation.
pub const FULL_TURN_CENTIDEG: u16 = 36_000;
/// Code of an angle of zero degrees in an M1's points.
pub const M1_ANGLE_ZERO: i32 = 32_768;
/// An M1's temperature code is the temperature in degrees Celsius plus this offset.
const M1_COLDEST: f64 = 80.0;
/// Offset of the time in packets of all models except Ruby and M1, bytes.
const TIME_AT: usize = 20;
/// Offset of the time in packets of Ruby and M1, bytes.
const RUBY_TIME_AT: usize = 10;
const COUNT_AT: usize = 1242;
const END: [u8; 2] = [0x00, 0xff];

/// Header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Head {
    /// Time of the first firing, microseconds of POSIX time; 0 if the field is not a valid date.
    pub unix_us: i64,
    /// Temperature of the boards, degrees Celsius.
    pub celsius: f64,
    /// Packet counter. For an M1, number of the packet in its frame, from 1. Packets of a Ruby have no counter: 0.
    pub count: u32,
    /// Type byte of the model, then the byte that distinguishes versions of a Bpearl. The second byte is 0 for an M1.
    pub kind: [u8; 2],
    /// Code of the return mode; 0 in layouts without one.
    pub returns: u8,
    /// Code of the clock's time source (M1).
    pub sync: u8,
}

/// A return of a laser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Distance in units of [`Layout::distance_unit_m`]; 0 without a return.
    pub distance: u16,
    /// Intensity: 0 to 255.
    pub intensity: u8,
}

/// Writes header, block flags and end of a packet into `out`, which must be all zero.
pub fn begin(layout: Layout, head: &Head, out: &mut [u8]) {
    let shape = layout.shape();
    out[..layout.id().len()].copy_from_slice(layout.id());
    match layout {
        Layout::M1 => {
            out[4..6].copy_from_slice(&(head.count as u16).to_be_bytes());
            out[6..8].copy_from_slice(&[0, 1]);
            out[8] = head.returns;
            out[31] = (head.celsius + M1_COLDEST).round().clamp(0.0, 255.0) as u8;
        }
        Layout::Ruby => {
            out[4..6].copy_from_slice(&[0, 1]);
            out[7] = head.returns;
            out[8..10].copy_from_slice(&temperature_be(head.celsius));
            out[31] = head.kind[1];
        }
        Layout::Airy => {
            out[8..12].copy_from_slice(&head.count.to_be_bytes());
            out[12..16].copy_from_slice(&head.count.to_be_bytes());
            out[17] = head.returns;
            out[32] = head.kind[1];
            out[38..40].copy_from_slice(&temperature_le(head.celsius));
            out[40..42].copy_from_slice(&temperature_le(head.celsius));
        }
        _ => {
            if matches!(layout, Layout::Helios | Layout::Helios16) {
                out[4..6].copy_from_slice(&[0, 1]);
                out[8..12].copy_from_slice(&head.count.to_be_bytes());
                out[12..16].copy_from_slice(&head.count.to_be_bytes());
                out[17] = 1;
            }
            out[32] = head.kind[1];
            out[38..40].copy_from_slice(&temperature_le(head.celsius));
            out[COUNT_AT..COUNT_AT + 4].copy_from_slice(&head.count.to_be_bytes());
            out[COUNT_AT + 4..COUNT_AT + 6].copy_from_slice(&END);
        }
    }
    out[layout.type_at()] = head.kind[0];
    for block in 0..shape.blocks {
        let at = shape.block_at(block);
        let flag = layout.block_flag();
        out[at..at + flag.len()].copy_from_slice(flag);
    }
    stamp(layout, head.unix_us, head.sync, out);
}

fn time_at(layout: Layout) -> usize {
    if matches!(layout, Layout::Ruby | Layout::M1) { RUBY_TIME_AT } else { TIME_AT }
}

/// Writes the time of a packet, microseconds of POSIX time, and for an M1 the code `sync` of the time source.
pub fn stamp(layout: Layout, unix_us: i64, sync: u8, out: &mut [u8]) {
    if layout == Layout::M1 {
        out[9] = sync;
    }
    let at = time_at(layout);
    out[at..at + TIME_LEN].copy_from_slice(&time_field(layout, unix_us));
}

/// Writes the azimuth of a block, hundredths of a degree.
pub fn azimuth(shape: &Shape, block: usize, centideg: u16, out: &mut [u8]) {
    let at = shape.block_at(block) + shape.block_head - 2;
    out[at..at + 2].copy_from_slice(&centideg.to_be_bytes());
}

/// Writes the number of the return into a Ruby's block: 1 or 2, or 0 with one return.
pub fn return_number(shape: &Shape, block: usize, number: u8, out: &mut [u8]) {
    out[shape.block_at(block) + 1] = number;
}

impl Point {
    /// Writes the point into its three bytes.
    #[inline]
    pub fn put(self, out: &mut [u8]) {
        if let [a, b, c] = out {
            let [high, low] = self.distance.to_be_bytes();
            [*a, *b, *c] = [high, low, self.intensity];
        }
    }

    /// Reads a point from its three bytes.
    #[inline]
    fn get(bytes: &[u8]) -> Self {
        match bytes {
            [a, b, c] => Self { distance: u16::from_be_bytes([*a, *b]), intensity: *c },
            _ => Self::default(),
        }
    }
}

/// A point of an M1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AngledPoint {
    /// Distance and intensity.
    pub point: Point,
    /// Elevation and azimuth (positive to the left), hundredths of a degree, offset by [`M1_ANGLE_ZERO`].
    pub angles: [u16; 2],
}

impl AngledPoint {
    /// Writes the point into its nine bytes.
    #[inline]
    pub fn put(self, out: &mut [u8]) {
        let [pitch, yaw] = self.angles.map(u16::to_be_bytes);
        let distance = self.point.distance.to_be_bytes();
        if let [a, b, c, d, e, f, g, ..] = out {
            [*a, *b] = distance;
            [*c, *d] = pitch;
            [*e, *f] = yaw;
            *g = self.point.intensity;
        }
    }

    fn get(bytes: &[u8]) -> Self {
        match bytes {
            [a, b, c, d, e, f, g, ..] => Self {
                point: Point { distance: u16::from_be_bytes([*a, *b]), intensity: *g },
                angles: [u16::from_be_bytes([*c, *d]), u16::from_be_bytes([*e, *f])],
            },
            _ => Self::default(),
        }
    }

    /// Elevation and azimuth, degrees; the azimuth is positive to the left.
    pub fn angles_deg(&self) -> [f64; 2] {
        self.angles.map(|angle| f64::from(i32::from(angle) - M1_ANGLE_ZERO) / 100.0)
    }
}

/// A packet to read.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    layout: Layout,
    bytes: &'a [u8],
}

/// Type bytes that distinguish models with the same layout.
mod kind {
    pub const RS16: u8 = 1;
    pub const RS32: u8 = 2;
    pub const BPEARL: u8 = 3;
    pub const BPEARL_V4: u8 = 4;
    pub const HELIOS_16P: u8 = 7;
}

impl<'a> Packet<'a> {
    /// Reads a packet of any model.
    ///
    /// # Errors
    /// No model has this length, these first bytes, this block flag or this type, or an azimuth is 360 degrees or more.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let layout = layout_of(bytes)?;
        let shape = layout.shape();
        for block in 0..shape.blocks {
            let at = shape.block_at(block);
            if !bytes[at..].starts_with(layout.block_flag()) {
                return Err(ParseError::value("flag of a block", bytes[at], "0xff 0xee, 0xfe"));
            }
        }
        let packet = Self { layout, bytes };
        let blocks = 0..if layout == Layout::M1 { 0 } else { shape.blocks };
        let most = blocks.map(|block| packet.azimuth(block)).max().unwrap_or_default();
        if most >= FULL_TURN_CENTIDEG {
            return Err(ParseError::value("azimuth", most, "0 to 35999"));
        }
        Ok(packet)
    }

    /// Layout of the packet.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    /// Header of the packet.
    pub fn head(&self) -> Head {
        let (layout, bytes) = (self.layout, self.bytes);
        let unix_us = read_time(layout, self.array(time_at(layout))).unwrap_or_default();
        let (celsius, count, returns, sync) = match layout {
            Layout::M1 => (
                f64::from(bytes[31]) - M1_COLDEST,
                u16::from_be_bytes(self.array(4)).into(),
                bytes[8],
                bytes[9],
            ),
            Layout::Ruby => (read_temperature_be(self.array(8)), 0, bytes[7], 0),
            Layout::Airy => (
                read_temperature_le(self.array(38)),
                u32::from_be_bytes(self.array(8)),
                bytes[17],
                0,
            ),
            _ => (
                read_temperature_le(self.array(38)),
                u32::from_be_bytes(self.array(COUNT_AT)),
                0,
                0,
            ),
        };
        let kind = [bytes[layout.type_at()], bytes[layout.type_at() + 1]];
        let kind = if layout == Layout::M1 { [kind[0], 0] } else { kind };
        Head { unix_us, celsius, count, kind, returns, sync }
    }

    /// The azimuth of a block, hundredths of a degree.
    pub fn azimuth(&self, block: usize) -> u16 {
        let shape = self.layout.shape();
        u16::from_be_bytes(self.array(shape.block_at(block) + shape.block_head - 2))
    }

    /// Lasers and returns of the packet's points, see [`Layout::slots`]. A Ruby's packet with two returns per firing is
    /// [`Phase::Odd`] if its first two blocks have different azimuths.
    pub fn slots(&self, is_dual: bool) -> Vec<Slot> {
        let phase = match self.layout == Layout::Ruby && self.azimuth(0) != self.azimuth(1) {
            true => Phase::Odd,
            false => Phase::Even,
        };
        self.layout.slots(is_dual, phase)
    }

    /// Points of a slot. The two bits with the class of an Airy's point are ignored.
    pub fn points(&self, slot: &Slot) -> impl Iterator<Item = Point> {
        let shape = self.layout.shape();
        let most = self.layout.max_distance();
        self.bytes[slot.bytes(&shape)].chunks_exact(shape.point).map(move |bytes| {
            let point = Point::get(&bytes[..3]);
            Point { distance: point.distance & most, ..point }
        })
    }

    /// A block of an M1: the block's time minus the packet's time in microseconds, the number of the return, and the
    /// points.
    pub fn angled(&self, block: usize) -> (u8, u8, impl Iterator<Item = AngledPoint>) {
        let shape = self.layout.shape();
        let at = shape.block_at(block);
        let points = &self.bytes[at + shape.block_head..shape.block_at(block + 1)];
        let points = points.chunks_exact(shape.point).map(AngledPoint::get);
        (self.bytes[at], self.bytes[at + 1], points)
    }
}

/// Determines the layout from a packet's length, first bytes, block flags and type.
fn layout_of(bytes: &[u8]) -> Result<Layout, ParseError> {
    let is =
        |layout: Layout| bytes.len() == layout.shape().packet && bytes.starts_with(layout.id());
    let has_flag = |layout: Layout, block| {
        bytes[layout.shape().block_at(block)..].starts_with(layout.block_flag())
    };
    if is(Layout::M1) {
        return Ok(Layout::M1);
    }
    if is(Layout::Rs16) {
        return match (bytes[31], bytes[32]) {
            (kind::RS16, _) => Ok(Layout::Rs16),
            (kind::RS32, _) => Ok(Layout::Rs32),
            (kind::BPEARL, kind::BPEARL_V4) => Ok(Layout::BpearlV4),
            (kind::BPEARL, _) => Ok(Layout::Bpearl),
            (other, _) => Err(ParseError::value("type of a lidar", other, "1, 2, 3")),
        };
    }
    if is(Layout::Helios) {
        return Ok(match () {
            () if has_flag(Layout::Airy, 0) && has_flag(Layout::Airy, 1) => Layout::Airy,
            () if has_flag(Layout::Helios, 0) && bytes[31] == kind::HELIOS_16P => Layout::Helios16,
            () if has_flag(Layout::Helios, 0) => Layout::Helios,
            () => Layout::Ruby,
        });
    }
    let need = Layout::Helios.shape().packet;
    Err(ParseError::Length { what: "a RoboSense data packet", need, got: bytes.len() })
}

/// Writes the header of an M1's block. `after_us` is the block's time minus the packet's time, `number` the number of
/// the return.
pub fn angled_block(shape: &Shape, block: usize, after_us: u8, number: u8, out: &mut [u8]) {
    let at = shape.block_at(block);
    [out[at], out[at + 1]] = [after_us, number];
}
