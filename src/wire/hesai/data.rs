//! Data packets: blocks with one azimuth and a distance for every laser, and a tail.
//!
//! Packets do not name their product. The length and the first bytes of a packet show its format.

use super::format::{
    AZIMUTH_LEN, BLOCK_FLAG, DISTANCE_UNIT_MM, HAS_SEQUENCE, HEAD_FLAG, HesaiFormat, LongHead,
    ShortHead, TailKind,
};
use crate::ParseError;
use crate::record::{Record as _, record};

/// Number of hundredths of a degree in one rotation.
pub const FULL_TURN_CENTIDEG: u16 = 36_000;

record! {
    /// The last bytes of a Pandar40P's or Pandar64's packet.
    PandarTail: Le {
        /// Five reserved bytes, the flag of high temperature, two reserved bytes.
        status: [u8; 8],
        /// Speed of the motor, rpm.
        rpm: u16,
        /// Microseconds within the second.
        micros: u32,
        /// Return mode, see [`ReturnMode`].
        return_mode: u8,
        /// Factory information, 0x42.
        factory: u8,
        /// Year (see [`Tail::date`]), month, day, hour, minute, second.
        date: [u8; 6],
        /// Number of the packet; `None` if the packet has none.
        sequence: Option<u32>,
    }

    /// The last bytes of a QT64's packet.
    QtTail: Le {
        /// Reserved.
        status: [u8; 10],
        /// Speed of the motor, rpm.
        rpm: u16,
        /// Microseconds within the second.
        micros: u32,
        /// Return mode, see [`ReturnMode`].
        return_mode: u8,
        /// Factory information, 0x42.
        factory: u8,
        /// Year (see [`Tail::date`]), month, day, hour, minute, second.
        date: [u8; 6],
        /// Number of the packet; `None` if the packet has none.
        sequence: Option<u32>,
    }

    /// The last bytes of an XT's packet.
    XtTail: Le {
        /// Reserved bytes, in which real units report their state.
        status: [u8; 10],
        /// Return mode, see [`ReturnMode`].
        return_mode: u8,
        /// Speed of the motor, rpm.
        rpm: u16,
        /// Year (see [`Tail::date`]), month, day, hour, minute, second.
        date: [u8; 6],
        /// Microseconds within the second.
        micros: u32,
        /// Factory information, 0x42.
        factory: u8,
        /// Number of the packet; `None` if the packet has none.
        sequence: Option<u32>,
    }
}

/// Content of a packet's last bytes, for any model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Status bytes; packets contain the first [`HesaiFormat::status_len`] of them.
    pub status: [u8; 10],
    /// Speed of the motor, rpm.
    pub rpm: u16,
    /// Year minus 1900 or 2000 (as the firmware counts), month, day, hour, minute, second.
    pub date: [u8; 6],
    /// Microseconds within the second.
    pub micros: u32,
    /// Return mode, see [`ReturnMode`].
    pub return_mode: u8,
    /// Factory information, 0x42.
    pub factory: u8,
    /// Number of the packet; `None` if the firmware does not count packets.
    pub sequence: Option<u32>,
}

/// Returns that a packet contains; the discriminant is the code in the packet's tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReturnMode {
    /// The first (nearest) return.
    First = 0x33,
    /// The second nearest return.
    Second = 0x34,
    /// The strongest return.
    #[default]
    Strongest = 0x37,
    /// The last (farthest) return.
    Last = 0x38,
    /// The last and the strongest return.
    LastStrongest = 0x39,
    /// The first and the second nearest return.
    FirstSecond = 0x3a,
    /// The last and the first return.
    LastFirst = 0x3b,
    /// The first and the strongest return.
    FirstStrongest = 0x3c,
    /// The strongest and the second nearest return.
    StrongestSecond = 0x3e,
}

impl ReturnMode {
    /// All modes with their names.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("first", Self::First),
        ("second", Self::Second),
        ("strongest", Self::Strongest),
        ("last", Self::Last),
        ("last-strongest", Self::LastStrongest),
        ("first-second", Self::FirstSecond),
        ("last-first", Self::LastFirst),
        ("first-strongest", Self::FirstStrongest),
        ("strongest-second", Self::StrongestSecond),
    ];

    /// Code of the mode in the tail of a packet.
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// Mode with this code in the tail of a packet; `None` for an unknown code.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::NAMES.into_iter().map(|(_, mode)| mode).find(|mode| mode.byte() == byte)
    }

    /// Name of the mode.
    pub fn name(self) -> &'static str {
        let own = Self::NAMES.iter().find(|(_, mode)| *mode == self);
        own.map_or("", |(name, _)| name)
    }

    /// Whether a firing has two returns, in two successive blocks with the same azimuth.
    pub fn is_dual(self) -> bool {
        self.byte() >= Self::LastStrongest.byte()
    }
}

/// A return of a laser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Distance in units of [`DISTANCE_UNIT_M`](super::format::DISTANCE_UNIT_M); 0 without a return.
    pub distance: u16,
    /// Reflectivity in per cent of a white target; retroreflectors exceed 100.
    pub reflectivity: u8,
    /// Fourth byte of the point; 0 in formats with three bytes per point.
    pub confidence: u8,
}

impl Point {
    /// Writes the point into `out`, three or four bytes; no effect for other lengths.
    #[inline]
    pub fn put(self, out: &mut [u8]) {
        let [low, high] = self.distance.to_le_bytes();
        match out {
            [a, b, c] => [*a, *b, *c] = [low, high, self.reflectivity],
            [a, b, c, d] => [*a, *b, *c, *d] = [low, high, self.reflectivity, self.confidence],
            _ => {}
        }
    }

    /// Reads a point from its bytes.
    #[inline]
    pub fn get(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        Self {
            distance: u16::from_le_bytes([byte(0), byte(1)]),
            reflectivity: byte(2),
            confidence: byte(3),
        }
    }
}

impl Tail {
    fn to_bytes(self, format: HesaiFormat) -> Vec<u8> {
        let Self { status, rpm, date, micros, return_mode, factory, sequence } = self;
        match format.tail_kind() {
            TailKind::Pandar => {
                let [a, b, c, d, e, f, g, h, ..] = status;
                let status = [a, b, c, d, e, f, g, h];
                PandarTail { status, rpm, micros, return_mode, factory, date, sequence }.to_bytes()
            }
            TailKind::Qt => {
                QtTail { status, rpm, micros, return_mode, factory, date, sequence }.to_bytes()
            }
            TailKind::Xt => {
                XtTail { status, return_mode, rpm, date, micros, factory, sequence }.to_bytes()
            }
        }
    }

    fn parse(format: HesaiFormat, bytes: &[u8]) -> Result<Self, ParseError> {
        Ok(match format.tail_kind() {
            TailKind::Pandar => {
                let tail = PandarTail::parse(bytes)?;
                let PandarTail { rpm, micros, return_mode, factory, date, sequence, .. } = tail;
                let mut status = [0; 10];
                status[..8].copy_from_slice(&tail.status);
                Self { status, rpm, date, micros, return_mode, factory, sequence }
            }
            TailKind::Qt => {
                let tail = QtTail::parse(bytes)?;
                let QtTail { status, rpm, micros, return_mode, factory, date, sequence } = tail;
                Self { status, rpm, date, micros, return_mode, factory, sequence }
            }
            TailKind::Xt => {
                let tail = XtTail::parse(bytes)?;
                let XtTail { status, return_mode, rpm, date, micros, factory, sequence } = tail;
                Self { status, rpm, date, micros, return_mode, factory, sequence }
            }
        })
    }
}

/// Writes the parts of a packet into its bytes.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    format: HesaiFormat,
    bytes: &'a mut [u8],
}

impl<'a> PacketWriter<'a> {
    /// A writer for [`HesaiFormat::packet_len`] bytes.
    pub fn new(format: HesaiFormat, bytes: &'a mut [u8]) -> Self {
        Self { format, bytes }
    }

    /// Writes the bytes before the first block, [`HesaiFormat::head_len`] of them.
    pub fn head(&mut self, head: &[u8]) {
        self.bytes[..self.format.head_len()].copy_from_slice(head);
    }

    /// Starts block `index` with its azimuth, hundredths of a degree; returns the bytes of the block's points.
    pub fn block(&mut self, index: usize, azimuth_centideg: u16) -> &mut [u8] {
        let (format, len) = (self.format, self.format.block_len());
        let at = format.head_len() + index * len;
        let (head, points) = self.bytes[at..at + len].split_at_mut(format.block_head_len());
        let (flag, azimuth) = head.split_at_mut(head.len() - AZIMUTH_LEN);
        if format == HesaiFormat::Pandar40P {
            flag.copy_from_slice(&BLOCK_FLAG);
        }
        azimuth.copy_from_slice(&azimuth_centideg.to_le_bytes());
        points
    }

    /// Writes the last bytes.
    pub fn tail(&mut self, tail: &Tail) {
        self.bytes[self.format.tail_at()..].copy_from_slice(&tail.to_bytes(self.format));
    }
}

/// A parsed data packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    format: HesaiFormat,
    bytes: &'a [u8],
    tail: Tail,
}

impl<'a> Packet<'a> {
    /// Reads a packet of any model.
    ///
    /// # Errors
    /// No model's packets have this length, the first bytes are not those of the model, or an azimuth exceeds 360
    /// degrees.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut wrong = ParseError::Length {
            what: "a Hesai data packet",
            need: HesaiFormat::Xt32.packet_len(true),
            got: bytes.len(),
        };
        for (format, has_sequence) in HesaiFormat::of_len(bytes.len()) {
            match check_heads(format, has_sequence, bytes) {
                Ok(()) => {
                    let tail = Tail::parse(format, &bytes[format.tail_at()..])?;
                    return Ok(Self { format, bytes, tail });
                }
                Err(why) => wrong = why,
            }
        }
        Err(wrong)
    }

    /// Format of the packet.
    pub fn format(&self) -> HesaiFormat {
        self.format
    }

    /// The bytes before the first block.
    pub fn head(&self) -> &'a [u8] {
        &self.bytes[..self.format.head_len()]
    }

    /// Blocks of the packet: the azimuth of each, hundredths of a degree, and the bytes of its points.
    pub fn blocks(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        blocks(self.format, self.bytes)
    }

    /// The points of a block, by laser.
    pub fn points(&self, block: &'a [u8]) -> impl Iterator<Item = Point> {
        block.chunks_exact(self.format.point_len()).map(Point::get)
    }

    /// The packet's last bytes.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Whether a firing has two returns, in two successive blocks with the same azimuth.
    pub fn is_dual(&self) -> bool {
        ReturnMode::from_byte(self.tail.return_mode).is_some_and(ReturnMode::is_dual)
    }
}

fn blocks(format: HesaiFormat, bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let all = bytes[format.head_len()..format.tail_at()].chunks_exact(format.block_len());
    all.map(move |block| {
        let (head, points) = block.split_at(format.block_head_len());
        let [.., low, high] = *head else { return (0, points) };
        (u16::from_le_bytes([low, high]), points)
    })
}

fn check_heads(format: HesaiFormat, has_sequence: bool, bytes: &[u8]) -> Result<(), ParseError> {
    let (head, rest) = bytes.split_at(format.head_len());
    let counts = [format.lasers() as u8, format.blocks() as u8];
    let told = match format {
        HesaiFormat::Pandar40P => {
            let mut heads = rest.chunks_exact(format.block_len()).take(format.blocks());
            if !heads.all(|block| block.starts_with(&BLOCK_FLAG)) {
                return Err(ParseError::value("flag of a block", rest[0], "0xff 0xee"));
            }
            None
        }
        HesaiFormat::Pandar64 => {
            let head = ShortHead::parse(head)?;
            Some((head.flag, [head.lasers, head.blocks], head.distance_unit_mm))
        }
        HesaiFormat::Qt64 | HesaiFormat::Xt16 | HesaiFormat::Xt32 => {
            let head = LongHead::parse(head)?;
            if (head.flags & HAS_SEQUENCE != 0) != has_sequence {
                return Err(ParseError::value("flags", head.flags, "must fit the length"));
            }
            if Some(head.protocol[0]) != format.protocol() {
                return Err(ParseError::value("protocol", head.protocol[0], "3 for QT, 6 for XT"));
            }
            Some((head.flag, [head.lasers, head.blocks], head.distance_unit_mm))
        }
    };
    if let Some((flag, told, unit_mm)) = told {
        if flag != HEAD_FLAG {
            return Err(ParseError::value("flag of a packet", flag[0], "0xee 0xff"));
        }
        if told != counts {
            return Err(ParseError::value("lasers", told[0], "must fit the length"));
        }
        if unit_mm != DISTANCE_UNIT_MM {
            return Err(ParseError::value("unit of distance", unit_mm, "4 mm"));
        }
    }
    let most = blocks(format, bytes).map(|(azimuth, _)| azimuth).max().unwrap_or_default();
    if most > FULL_TURN_CENTIDEG {
        return Err(ParseError::value("azimuth", most, "0 to 36000"));
    }
    Ok(())
}
