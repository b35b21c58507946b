//! Packets of points and of IMU samples in SDK 1.

use super::command::Utc;
use crate::ParseError;
use crate::record::{Reader, Record as _, record};

pub use super::super::data::{ANGLE_STEP_DEG, Inertial, Point};

/// Length of the header before the data, bytes.
pub const HEAD_LEN: usize = 18;
/// Largest number of returns per pulse.
pub const MOST_RETURNS: usize = 3;
const VERSION: u8 = 5;
/// Offset of the status in a packet, bytes.
const STATUS_AT: usize = 4;
/// Offset of the time type in a packet, bytes.
const TIME_TYPE_AT: usize = 8;
/// Offset of the time in a packet, bytes.
const TIME_AT: usize = 10;
/// Data type of IMU samples.
const INERTIAL: u8 = 6;

words!(Coordinates: "cartesian" => Cartesian, "spherical" => Spherical);

/// Coordinates of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coordinates {
    /// Cartesian, millimetres.
    #[default]
    Cartesian,
    /// Spherical, millimetres and hundredths of a degree.
    Spherical,
}

/// The format of a packet of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Coordinates of the points.
    pub coordinates: Coordinates,
    /// Whether points have tags (confidence).
    pub has_tags: bool,
    /// Number of returns per pulse, 1 to [`MOST_RETURNS`]. Formats with several returns have tags.
    pub returns: usize,
}

impl Format {
    /// All formats with their numbers.
    const ALL: [(u8, Self); 8] = {
        use Coordinates::{Cartesian, Spherical};
        const fn of(coordinates: Coordinates, has_tags: bool, returns: usize) -> Format {
            Format { coordinates, has_tags, returns }
        }
        [
            (0, of(Cartesian, false, 1)),
            (1, of(Spherical, false, 1)),
            (2, of(Cartesian, true, 1)),
            (3, of(Spherical, true, 1)),
            (4, of(Cartesian, true, 2)),
            (5, of(Spherical, true, 2)),
            (7, of(Cartesian, true, 3)),
            (8, of(Spherical, true, 3)),
        ]
    };

    /// Format with these properties. `returns` is limited to 1 to [`MOST_RETURNS`]; with several returns, points have
    /// tags even if `has_tags` is false.
    pub fn new(coordinates: Coordinates, has_tags: bool, returns: usize) -> Self {
        let returns = returns.clamp(1, MOST_RETURNS);
        Self { coordinates, has_tags: has_tags || returns > 1, returns }
    }

    /// Number on the wire.
    pub fn number(self) -> u8 {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or(0, |(number, _)| *number)
    }

    /// Format with this number on the wire; `None` if the number is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == number).map(|(_, format)| *format)
    }

    /// Number of pulses in a packet.
    pub fn pulses(self) -> usize {
        match (self.returns, self.has_tags) {
            (1, false) => 100,
            (1, true) => 96,
            (2, _) => 48,
            _ => 30,
        }
    }

    /// Length of a pulse with all its returns, bytes.
    pub fn pulse_len(self) -> usize {
        let tags = usize::from(self.has_tags);
        match (self.coordinates, self.returns) {
            (Coordinates::Cartesian, returns) => returns * (13 + tags),
            (Coordinates::Spherical, 1) => 9 + tags,
            (Coordinates::Spherical, returns) => 4 + returns * 6,
        }
    }

    /// Name for users.
    pub fn name(self) -> String {
        let returns = ["single", "dual", "triple"][self.returns.clamp(1, MOST_RETURNS) - 1];
        let tags = if self.has_tags { " with tags" } else { "" };
        format!("{}, {returns} return{tags}", self.coordinates.word())
    }

    /// Writes a pulse to a slice of [`Self::pulse_len`] bytes. A spherical format with several returns contains only
    /// the angles of the first return. Returns missing in `points` are written as empty.
    pub fn put(self, points: &[Point], out: &mut [u8]) {
        let of = |nth: usize| points.get(nth).copied().unwrap_or_default();
        let depth = |place: [i32; 3]| (place[0].max(0) as u32).to_le_bytes();
        let angles = |place: [i32; 3]| {
            let [theta, phi] =
                [place[1], place[2]].map(|a| (a.clamp(0, 0xffff) as u16).to_le_bytes());
            [theta[0], theta[1], phi[0], phi[1]]
        };
        let mut at = 0;
        let mut write = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        let is_paired = self.coordinates == Coordinates::Spherical && self.returns > 1;
        if is_paired {
            write(&angles(of(0).place));
        }
        for Point { place, reflectivity, tag } in (0..self.returns).map(of) {
            match self.coordinates {
                Coordinates::Cartesian => place.iter().for_each(|mm| write(&mm.to_le_bytes())),
                Coordinates::Spherical => write(&depth(place)),
            }
            if self.coordinates == Coordinates::Spherical && !is_paired {
                write(&angles(place));
            }
            write(&[reflectivity]);
            if self.has_tags {
                write(&[tag]);
            }
        }
    }

    /// Reads the returns of a pulse from a slice of [`Self::pulse_len`] bytes. Returns beyond [`Self::returns`] are
    /// empty.
    pub fn get(self, bytes: &[u8]) -> [Point; MOST_RETURNS] {
        let mut reader = Reader::new("a pulse", bytes);
        let mut points = [Point::default(); MOST_RETURNS];
        // If there are too few bytes, the remaining returns stay empty.
        let _ = self.read(&mut reader, &mut points);
        points
    }

    fn read(self, reader: &mut Reader<'_>, points: &mut [Point]) -> Result<(), ParseError> {
        fn angles(reader: &mut Reader<'_>) -> Result<[i32; 2], ParseError> {
            let (theta, phi): (u16, u16) = (reader.le()?, reader.le()?);
            Ok([theta.into(), phi.into()])
        }
        let is_paired = self.coordinates == Coordinates::Spherical && self.returns > 1;
        let common = if is_paired { angles(reader)? } else { [0, 0] };
        for point in points.iter_mut().take(self.returns) {
            point.place = match self.coordinates {
                Coordinates::Cartesian => [reader.le()?, reader.le()?, reader.le()?],
                Coordinates::Spherical => {
                    let depth: u32 = reader.le()?;
                    let [theta, phi] = if is_paired { common } else { angles(reader)? };
                    [depth.min(i32::MAX as u32) as i32, theta, phi]
                }
            };
            point.reflectivity = reader.u8()?;
            if self.has_tags {
                point.tag = reader.u8()?;
            }
        }
        Ok(())
    }

    /// Whether the point has no return.
    pub fn is_empty(self, point: &Point) -> bool {
        match self.coordinates {
            Coordinates::Spherical => point.place[0] == 0,
            Coordinates::Cartesian => point.place == [0; 3],
        }
    }
}

/// Time source of the clock. The source determines the format of timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeType {
    /// No source: nanoseconds since power-on.
    #[default]
    None,
    /// A PTP master: nanoseconds of the master's time.
    Ptp,
    /// PPS and sentences of a GNSS receiver: date, hour, and microseconds of the hour.
    Gps,
    /// PPS alone: nanoseconds since the last PPS.
    Pps,
}

impl TimeType {
    /// Number on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Ptp => 1,
            Self::Gps => 3,
            Self::Pps => 4,
        }
    }

    /// Time type with this number on the wire; `None` if the number is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::None, Self::Ptp, Self::Gps, Self::Pps].into_iter().find(|one| one.number() == number)
    }
}

record! {
    /// Header of a packet.
    Head: Le 18 {
        /// Version of the format: 5.
        version: u8,
        /// Slot of the hub to which the lidar is connected.
        slot: u8,
        /// The number of the lidar at the slot.
        id: u8,
        /// Zero.
        reserved: u8,
        /// Status of the lidar, see [`status`].
        status: u32,
        /// Source that sets the clock, coded as [`TimeType::number`].
        time_type: u8,
        /// Type of data: 6 for inertial samples, otherwise [`Format::number`].
        data_type: u8,
        /// Time of the first point, coded as `time_type` requires.
        time: [u8; 8],
    }
}

/// Bit positions in the status.
pub mod status {
    /// Temperature, two bits: 0 normal, 1 warning, 2 error.
    pub const TEMPERATURE: u32 = 0;
    /// Voltage, two bits as in [`TEMPERATURE`].
    pub const VOLTAGE: u32 = 2;
    /// Motor, two bits as in [`TEMPERATURE`].
    pub const MOTOR: u32 = 4;
    /// The window is dirty or covered.
    pub const DIRTY: u32 = 6;
    /// The firmware must be replaced.
    pub const FIRMWARE: u32 = 8;
    /// PPS arrives.
    pub const PPS: u32 = 9;
    /// The lidar is near the end of its life.
    pub const END_OF_LIFE: u32 = 10;
    /// Fan warning.
    pub const FAN: u32 = 11;
    /// PTP messages arrive.
    pub const PTP: u32 = 13;
    /// Source of the clock, three bits: 0 none, 1 PTP, 2 GPS, 3 PPS, 4 failure of the best source.
    pub const SYNCHRONISATION: u32 = 14;
    /// Worst state of all parts, two bits: 0 normal, 1 warning, 2 error.
    pub const SYSTEM: u32 = 30;
}

impl Head {
    /// Header of a packet; [`seal`] completes it.
    pub fn new(data_type: u8, slot: u8) -> Self {
        let (status, time_type, time) = (0, 0, [0; 8]);
        Self { version: VERSION, slot, id: 1, reserved: 0, status, time_type, data_type, time }
    }

    /// Time in nanoseconds, depending on `time_type`: POSIX time, the master's time, time since power-on, or time since
    /// the last PPS. If `time` contains an invalid date, the result is the time within the hour.
    pub fn time_ns(&self) -> u64 {
        if TimeType::from_number(self.time_type) != Some(TimeType::Gps) {
            return u64::from_le_bytes(self.time);
        }
        let [year, month, day, hour, us @ ..] = self.time;
        let utc = Utc { year, month, day, hour, us: u32::from_le_bytes(us) };
        utc.hour_ns().unwrap_or_default() + u64::from(utc.us) * 1000
    }
}

/// Bytes of the field `time` of [`Head`]. `time_ns` has the meaning that [`Head::time_ns`] states for this time type.
pub fn time_bytes(time_type: TimeType, time_ns: u64) -> [u8; 8] {
    if time_type != TimeType::Gps {
        return time_ns.to_le_bytes();
    }
    let stamp = jiff::Timestamp::from_nanosecond(time_ns.into()).unwrap_or(jiff::Timestamp::MAX);
    let date = stamp.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    let us = (time_ns % 3_600_000_000_000 / 1000) as u32;
    let [a, b, c, d] = us.to_le_bytes();
    let year = (date.year() - 2000).clamp(0, 255) as u8;
    [year, date.month() as u8, date.day() as u8, date.hour() as u8, a, b, c, d]
}

/// Completes a packet with header and data: writes its status, time type and time.
pub fn seal(packet: &mut [u8], status: u32, time_type: TimeType, time_ns: u64) {
    packet[STATUS_AT..STATUS_AT + 4].copy_from_slice(&status.to_le_bytes());
    packet[TIME_TYPE_AT] = time_type.number();
    packet[TIME_AT..HEAD_LEN].copy_from_slice(&time_bytes(time_type, time_ns));
}

/// Bytes of an IMU sample's packet; [`seal`] completes it.
pub fn inertial_packet(sample: &Inertial, slot: u8) -> Vec<u8> {
    let mut packet = Head::new(INERTIAL, slot).to_bytes();
    sample.emit(&mut packet);
    packet
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet<'p> {
    /// Points: header, format, and the bytes of the points.
    Points(Head, Format, &'p [u8]),
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
        if head.version != VERSION {
            return Err(ParseError::value("the version", head.version, "5"));
        }
        if TimeType::from_number(head.time_type).is_none() {
            return Err(ParseError::value("the time type", head.time_type, "0, 1, 3 or 4"));
        }
        if head.data_type == INERTIAL {
            let sample = Inertial::parse(data)?;
            return Ok(Self::Inertial(head, sample));
        }
        let Some(format) = Format::from_number(head.data_type) else {
            return Err(ParseError::value("the data type", head.data_type, "0 to 8"));
        };
        let need = format.pulses() * format.pulse_len();
        if data.len() != need {
            return Err(ParseError::Length { what: "the points", need, got: data.len() });
        }
        Ok(Self::Points(head, format, data))
    }

    /// Header of the packet.
    pub fn head(&self) -> &Head {
        match self {
            Self::Points(head, ..) | Self::Inertial(head, _) => head,
        }
    }
}

/// Returns of each pulse of a packet. Each pulse has [`MOST_RETURNS`] entries; those after the first
/// [`Format::returns`] are empty.
pub fn pulses(format: Format, data: &[u8]) -> impl Iterator<Item = [Point; MOST_RETURNS]> {
    data.chunks_exact(format.pulse_len()).map(move |bytes| format.get(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_NS: u64 = 1_600_000_000_123_456_789;

    fn golden(number: u8) -> Vec<u8> {
        let format = Format::from_number(number).unwrap();
        let mut packet = Head::new(number, 1).to_bytes();
        packet.resize(HEAD_LEN + format.pulses() * format.pulse_len(), 0);
        for (i, out) in packet[HEAD_LEN..].chunks_exact_mut(format.pulse_len()).enumerate() {
            let points = [0i32, 1, 2].map(|nth| {
                // The second return of pulse n is point n + 50, the third is point n + 60.
                let n = i as i32;
                let later = n + [0, 50, 60][nth as usize];
                let place = match format.coordinates {
                    Coordinates::Cartesian => {
                        [1000 + 13 * later, -2000 - 7 * later, 300 + 5 * later]
                    }
                    Coordinates::Spherical => {
                        [5000 + 1000 * nth + 10 * n, (9000 + 10 * n) % 18_001, 350 * n % 36_000]
                    }
                };
                Point { place, reflectivity: i as u8, tag: 0x10 * (nth as u8 + 1) }
            });
            format.put(&points, out);
        }
        seal(&mut packet, 0, TimeType::Ptp, TIME_NS);
        packet
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn golden_packets_of_points() {
        // CRC-32 (Ethernet) of packets that were not made by this code.
        for (number, length, crc) in [
            (0, 1318, 0x451b_fc06),
            (1, 918, 0x102e_37d5),
            (2, 1362, 0x6d58_4a94),
            (3, 978, 0x9761_4ebb),
            (4, 1362, 0xd3d5_039b),
            (5, 786, 0xb2f1_9661),
            (7, 1278, 0x7b5c_e472),
            (8, 678, 0x884f_93eb),
        ] {
            let packet = golden(number);
            assert_eq!(packet.len(), length, "{number}");
            assert_eq!(crate::checksum::crc32(&packet), crc, "{number}");
            let Packet::Points(head, format, data) = Packet::parse(&packet).unwrap() else {
                panic!("no points");
            };
            assert_eq!((format.number(), head.time_ns()), (number, TIME_NS));
            let mut again = packet.clone();
            let out = again[HEAD_LEN..].chunks_exact_mut(format.pulse_len());
            for (points, out) in pulses(format, data).zip(out) {
                assert!(points[..format.returns].iter().all(|point| !format.is_empty(point)));
                out.fill(0xff);
                format.put(&points, out);
            }
            assert_eq!(again, packet);
        }
    }

    #[test]
    fn a_golden_packet_of_an_inertial_sample() {
        let sample = Inertial { gyro_rad_s: [0.01, -0.02, 0.03], acceleration_g: [0.0, -0.5, 1.0] };
        let mut packet = inertial_packet(&sample, 1);
        seal(&mut packet, 0, TimeType::Ptp, TIME_NS);
        assert_eq!(
            hex(&packet),
            "0501010000000000010615cdfbdf855734160ad7233c0ad7a3bc8fc2f53c00000000000000bf0000803f"
        );
        let Packet::Inertial(_, read) = Packet::parse(&packet).unwrap() else {
            panic!("no sample")
        };
        assert_eq!(read, sample);
    }

    #[test]
    fn the_time_of_a_receiver_is_a_date_and_microseconds_of_the_hour() {
        // 2026-07-05, 1234.567890 s after 10:00.
        let time_ns = 1_783_245_600_000_000_000 + 1_234_567_890_000;
        assert_eq!(hex(&time_bytes(TimeType::Gps, time_ns)), "1a07050ad2029649");
        let mut packet = golden(0);
        seal(&mut packet, 5, TimeType::Gps, time_ns + 999);
        let head = Packet::parse(&packet).unwrap().head().clone();
        assert_eq!((head.time_ns(), head.status), (time_ns, 5));
        // An invalid date must not cause a panic.
        packet[TIME_AT + 1] = 13;
        assert_eq!(Packet::parse(&packet).unwrap().head().time_ns(), 1_234_567_890_000);
    }

    #[test]
    fn what_is_cut_or_of_another_version_is_refused() {
        for number in [0, 5, 8] {
            let packet = golden(number);
            for len in 0..packet.len() {
                assert!(Packet::parse(&packet[..len]).is_err());
            }
            for byte in [0, 8, 9] {
                let mut wrong = packet.clone();
                wrong[byte] ^= 0x52;
                assert!(Packet::parse(&wrong).is_err(), "byte {byte}");
            }
        }
    }
}
