//! Packets of points and of IMU samples in SDK 2.

use crate::ParseError;
use crate::checksum::crc32;
use crate::record::{Reader, Record as _, record};

/// Length of the header before the data, bytes.
pub const HEAD_LEN: usize = 36;
/// Number of points in a packet.
pub const POINTS: usize = 96;
/// Offset of the CRC-32, which covers the bytes after it.
const CRC_AT: usize = 24;
/// Resolution of a spherical point's angles, degrees.
pub const ANGLE_STEP_DEG: f64 = 0.01;

words!(DataType: "cartesian" => Cartesian, "cartesian-16" => Cartesian16, "spherical" => Spherical);

/// Format of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataType {
    /// Cartesian, millimetres in 32 bits.
    #[default]
    Cartesian,
    /// Cartesian, centimetres in 16 bits.
    Cartesian16,
    /// Spherical, millimetres and hundredths of a degree.
    Spherical,
}

/// Data type of IMU samples.
const INERTIAL: u8 = 0;

impl DataType {
    /// Number on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::Cartesian => 1,
            Self::Cartesian16 => 2,
            Self::Spherical => 3,
        }
    }

    /// Data type with this number on the wire; `None` if the number is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::WORDS.into_iter().map(|(_, kind)| kind).find(|kind| kind.number() == number)
    }

    /// Number of bytes of a point.
    pub fn point_len(self) -> usize {
        match self {
            Self::Cartesian => 14,
            Self::Cartesian16 => 8,
            Self::Spherical => 10,
        }
    }
}

/// Time source of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeType {
    /// No source: time since power-on.
    #[default]
    None,
    /// A PTP master.
    Ptp,
    /// A GNSS receiver.
    Gps,
}

impl TimeType {
    /// Number on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Ptp => 1,
            Self::Gps => 2,
        }
    }

    /// Time type with this number on the wire; `None` if the number is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::None, Self::Ptp, Self::Gps].into_iter().find(|one| one.number() == number)
    }
}

record! {
    /// Header of a packet.
    Head: Le 36 {
        /// Version of the format: 0.
        version: u8,
        /// Length of the whole packet, bytes.
        length: u16,
        /// Time from the first point to the last, tenths of a microsecond.
        interval: u16,
        /// Number of points; 1 for an inertial sample.
        count: u16,
        /// Number of the packet.
        sequence: u16,
        /// Number of the frame; without meaning for the non-repetitive pattern.
        frame: u8,
        /// Type of data: 0 for inertial samples, otherwise [`DataType::number`].
        data_type: u8,
        /// Time source of the clock, coded as [`TimeType::number`].
        time_type: u8,
        /// Zero.
        reserved: [u8; 12],
        /// CRC-32 of all bytes after this field.
        crc: u32,
        /// Time of the first point, nanoseconds.
        time_ns: u64,
    }

    /// An inertial sample: axes forward, left, up.
    Inertial: Le 24 {
        /// Angular rate, rad/s.
        gyro_rad_s: [f32; 3],
        /// Specific force, g.
        acceleration_g: [f32; 3],
    }
}

impl Head {
    /// Header of a packet; [`seal`] completes it. `interval` is the time from the first point to the last, tenths of a
    /// microsecond.
    pub fn new(data_type: u8, count: u16, interval: u16, sequence: u16) -> Self {
        let (version, length, frame, time_type, crc, time_ns) = (0, 0, 0, 0, 0, 0);
        let reserved = [0; 12];
        Self {
            version,
            length,
            interval,
            count,
            sequence,
            frame,
            data_type,
            time_type,
            reserved,
            crc,
            time_ns,
        }
    }
}

/// A point, in the units of its [`DataType`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Position: x, y, z (Cartesian), or depth, theta from the zenith, phi counter-clockwise from forward (spherical).
    pub place: [i32; 3],
    /// Reflectivity: 0 to 150 for diffuse surfaces, above that for retroreflectors.
    pub reflectivity: u8,
    /// Confidence of the point (tag).
    pub tag: u8,
}

impl Point {
    /// Whether the point has no return.
    #[inline]
    pub fn is_empty(&self, kind: DataType) -> bool {
        match kind {
            DataType::Spherical => self.place[0] == 0,
            DataType::Cartesian | DataType::Cartesian16 => {
                let [x, y, z] = self.place;
                x | y | z == 0
            }
        }
    }

    /// Writes the point to a slice of [`DataType::point_len`] bytes; values that are too large are clamped.
    #[inline]
    pub fn put(&self, kind: DataType, out: &mut [u8]) {
        let [a, b, c] = self.place;
        let short =
            |value: i32| (value.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_le_bytes();
        let tail = match kind {
            DataType::Cartesian => {
                out[..4].copy_from_slice(&a.to_le_bytes());
                out[4..8].copy_from_slice(&b.to_le_bytes());
                out[8..12].copy_from_slice(&c.to_le_bytes());
                12
            }
            DataType::Cartesian16 => {
                out[..2].copy_from_slice(&short(a));
                out[2..4].copy_from_slice(&short(b));
                out[4..6].copy_from_slice(&short(c));
                6
            }
            DataType::Spherical => {
                out[..4].copy_from_slice(&(a.max(0) as u32).to_le_bytes());
                out[4..6].copy_from_slice(&(b.clamp(0, 0xffff) as u16).to_le_bytes());
                out[6..8].copy_from_slice(&(c.clamp(0, 0xffff) as u16).to_le_bytes());
                8
            }
        };
        out[tail..tail + 2].copy_from_slice(&[self.reflectivity, self.tag]);
    }

    /// Reads a point from a slice of [`DataType::point_len`] bytes.
    pub fn get(kind: DataType, bytes: &[u8]) -> Self {
        fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
            bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
        }
        let (place, tail) = match kind {
            DataType::Cartesian => ([0, 4, 8].map(|at| i32::from_le_bytes(array(bytes, at))), 12),
            DataType::Cartesian16 => {
                ([0, 2, 4].map(|at| i16::from_le_bytes(array(bytes, at)).into()), 6)
            }
            DataType::Spherical => {
                let depth = u32::from_le_bytes(array(bytes, 0)).min(i32::MAX as u32) as i32;
                let [theta, phi] = [4, 6].map(|at| u16::from_le_bytes(array(bytes, at)).into());
                ([depth, theta, phi], 8)
            }
        };
        let [reflectivity, tag] = array(bytes, tail);
        Self { place, reflectivity, tag }
    }
}

/// Completes a packet with header and data: writes its length, time type, time and checksum.
pub fn seal(packet: &mut [u8], time_type: TimeType, time_ns: u64) {
    let length = (packet.len() as u16).to_le_bytes();
    packet[1..3].copy_from_slice(&length);
    packet[11] = time_type.number();
    packet[28..36].copy_from_slice(&time_ns.to_le_bytes());
    let crc = crc32(&packet[28..]);
    packet[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Bytes of the packet with an IMU sample. `interval` is in tenths of a microsecond, `time_ns` the time of the sample.
pub fn inertial_packet(
    sample: &Inertial,
    sequence: u16,
    interval: u16,
    time_type: TimeType,
    time_ns: u64,
) -> Vec<u8> {
    let mut packet = Head::new(INERTIAL, 1, interval, sequence).to_bytes();
    sample.emit(&mut packet);
    seal(&mut packet, time_type, time_ns);
    packet
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet<'p> {
    /// Points: header, format, and the bytes of the points.
    Points(Head, DataType, &'p [u8]),
    /// An IMU sample.
    Inertial(Head, Inertial),
}

impl<'p> Packet<'p> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// The bytes are not a valid packet.
    pub fn parse(bytes: &'p [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new("a packet", bytes);
        let head: Head = reader.le()?;
        let data = reader.rest();
        if head.version != 0 {
            return Err(ParseError::value("the version", head.version, "0"));
        }
        if usize::from(head.length) != bytes.len() {
            let need = head.length.into();
            return Err(ParseError::Length { what: "a packet", need, got: bytes.len() });
        }
        if TimeType::from_number(head.time_type).is_none() {
            return Err(ParseError::value("the time type", head.time_type, "0, 1 or 2"));
        }
        if crc32(&bytes[28..]) != head.crc {
            return Err(ParseError::value("the CRC", head.crc, "the CRC-32 of time and data"));
        }
        if head.data_type == INERTIAL {
            let sample = Inertial::parse(data)?;
            return Ok(Self::Inertial(head, sample));
        }
        let Some(kind) = DataType::from_number(head.data_type) else {
            return Err(ParseError::value("the data type", head.data_type, "0 to 3"));
        };
        let need = usize::from(head.count) * kind.point_len();
        if data.len() != need {
            return Err(ParseError::Length { what: "the points", need, got: data.len() });
        }
        Ok(Self::Points(head, kind, data))
    }

    /// Header of the packet.
    pub fn head(&self) -> &Head {
        match self {
            Self::Points(head, ..) | Self::Inertial(head, _) => head,
        }
    }
}

/// The points of a packet.
pub fn points(kind: DataType, data: &[u8]) -> impl Iterator<Item = Point> {
    data.chunks_exact(kind.point_len()).map(move |bytes| Point::get(kind, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_NS: u64 = 1_600_000_000_123_456_789;

    fn golden(kind: DataType) -> Vec<u8> {
        let mut packet = Head::new(kind.number(), POINTS as u16, 4750, 7).to_bytes();
        packet.resize(HEAD_LEN + POINTS * kind.point_len(), 0);
        for (i, out) in packet[HEAD_LEN..].chunks_exact_mut(kind.point_len()).enumerate() {
            let n = i as i32;
            let place = match kind {
                DataType::Cartesian => [1000 + 13 * n, -2000 - 7 * n, 300 + 5 * n],
                DataType::Cartesian16 => [100 + n, -200 - n, 30 + n],
                DataType::Spherical => [5000 + 10 * n, (9000 + 10 * n) % 18_001, 350 * n % 36_000],
            };
            Point { place, reflectivity: i as u8, tag: 0 }.put(kind, out);
        }
        seal(&mut packet, TimeType::Ptp, TIME_NS);
        packet
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn golden_packets_of_points() {
        // Headers contain the CRC-32 of all following bytes.
        for (kind, length, head) in [
            (
                DataType::Cartesian,
                1380,
                "0064058e12600007000001010000000000000000000000003fb968ae15cdfbdf85573416",
            ),
            (
                DataType::Cartesian16,
                804,
                "0024038e12600007000002010000000000000000000000001f9c783f15cdfbdf85573416",
            ),
            (
                DataType::Spherical,
                996,
                "00e4038e12600007000003010000000000000000000000000828021c15cdfbdf85573416",
            ),
        ] {
            let packet = golden(kind);
            assert_eq!(packet.len(), length);
            assert_eq!(hex(&packet[..HEAD_LEN]), head);
            let Packet::Points(head, told, data) = Packet::parse(&packet).unwrap() else {
                panic!("no points");
            };
            assert_eq!((told, head.time_ns, head.sequence), (kind, TIME_NS, 7));
            let mut again = packet.clone();
            for (point, out) in
                points(kind, data).zip(again[HEAD_LEN..].chunks_exact_mut(kind.point_len()))
            {
                assert!(!point.is_empty(kind));
                out.fill(0xff);
                point.put(kind, out);
            }
            assert_eq!(again, packet);
        }
    }

    #[test]
    fn a_golden_packet_of_an_inertial_sample() {
        let sample = Inertial { gyro_rad_s: [0.01, -0.02, 0.03], acceleration_g: [0.0, -0.5, 1.0] };
        let packet = inertial_packet(&sample, 7, 0, TimeType::Ptp, TIME_NS);
        assert_eq!(
            hex(&packet),
            "003c000000010007000000010000000000000000000000006f6310f215cdfbdf855734160ad7233c0ad7a3bc\
             8fc2f53c00000000000000bf0000803f"
        );
        let Packet::Inertial(_, read) = Packet::parse(&packet).unwrap() else {
            panic!("no sample")
        };
        assert_eq!(read, sample);
    }

    #[test]
    fn what_is_cut_or_flipped_is_refused() {
        let packet = golden(DataType::Cartesian16);
        for len in 0..packet.len() {
            assert!(Packet::parse(&packet[..len]).is_err());
        }
        for byte in [0, 1, 5, 10, 11, 24, 30, 40, 800] {
            let mut wrong = packet.clone();
            wrong[byte] ^= 0x55;
            assert!(Packet::parse(&wrong).is_err(), "byte {byte}");
        }
    }
}
