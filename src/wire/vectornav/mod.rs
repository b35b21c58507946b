//! VectorNav's text lines, such as `$VNRRG,01*72`, and the stream that contains both lines and [binary
//! packets](binary).
//!
//! Lines resemble NMEA 0183. Their checksum is the exclusive or of the bytes between `$` and `*` as two hex digits
//! or, if so configured, a CRC16 as four hex digits; `XX` disables the check. Sources: VectorNav's programming
//! library 1.2, and the ROS drivers based on it.

pub mod binary;

use std::fmt::Write as _;

use self::binary::{BinaryPacket, Layout};
use super::checksum::{crc16_xmodem, xor8};
use super::framer::{Framing, NoFrame, require, whole};

/// Length of the longest line including its end, bytes.
pub const MAX_LINE: usize = 256;

/// Error codes in `$VNERR` lines.
#[allow(missing_docs, reason = "the names are the library's")]
pub mod error {
    pub const INVALID_CHECKSUM: u8 = 0x03;
    pub const INVALID_COMMAND: u8 = 0x04;
    pub const NOT_ENOUGH_PARAMETERS: u8 = 0x05;
    pub const TOO_MANY_PARAMETERS: u8 = 0x06;
    pub const INVALID_PARAMETER: u8 = 0x07;
    pub const INVALID_REGISTER: u8 = 0x08;
    pub const UNAUTHORIZED_ACCESS: u8 = 0x09;
    pub const OUTPUT_BUFFER_OVERFLOW: u8 = 0x0b;
    pub const INSUFFICIENT_BAUD_RATE: u8 = 0x0c;
}

/// Kind of checksum of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Exclusive or, two hex digits.
    #[default]
    Xor,
    /// CRC16, four hex digits.
    Crc16,
    /// `XX` or `XXXX`: the checksum is not checked.
    Ignored,
}

/// A line, whose checksum can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Characters between `$` and `*`, such as `VNRRG,01`.
    pub body: String,
    /// Characters between `*` and the line end.
    pub sum: String,
    /// Whether the line ends in `\r\n` instead of `\n`.
    pub has_return: bool,
}

impl Line {
    /// Creates a line with a correct checksum of the kind `checksum`.
    pub fn new(body: impl Into<String>, checksum: Checksum) -> Self {
        let body = body.into();
        let sum = match checksum {
            Checksum::Xor => format!("{:02X}", xor8(body.as_bytes())),
            Checksum::Crc16 => format!("{:04X}", crc16_xmodem(body.as_bytes())),
            Checksum::Ignored => "XX".to_owned(),
        };
        Self { body, sum, has_return: true }
    }

    /// Kind of the line's checksum; `None` if the checksum is wrong.
    pub fn checked(&self) -> Option<Checksum> {
        let sum = u16::from_str_radix(&self.sum, 16).ok();
        match self.sum.len() {
            _ if matches!(self.sum.as_str(), "XX" | "XXXX") => Some(Checksum::Ignored),
            2 => (sum == Some(xor8(self.body.as_bytes()).into())).then_some(Checksum::Xor),
            4 => (sum == Some(crc16_xmodem(self.body.as_bytes()))).then_some(Checksum::Crc16),
            _ => None,
        }
    }

    /// Command or type, such as `VNRRG`, and the fields after it.
    pub fn fields(&self) -> (&str, Vec<&str>) {
        let mut parts = self.body.split(',');
        (parts.next().unwrap_or_default(), parts.collect())
    }

    /// Appends the line and its line end to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(b'$');
        out.extend_from_slice(self.body.as_bytes());
        out.push(b'*');
        out.extend_from_slice(self.sum.as_bytes());
        out.extend_from_slice(if self.has_return { b"\r\n" } else { b"\n" });
    }

    /// Reads a line without its `\n`.
    fn parse(line: &str) -> Result<Self, NoFrame> {
        let (line, has_return) = match line.strip_suffix('\r') {
            Some(line) => (line, true),
            None => (line, false),
        };
        let parts = line.strip_prefix('$').and_then(|line| line.split_once('*'));
        let (body, sum) = parts.ok_or(NoFrame::Refused)?;
        let is_plain = body.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'$');
        let is_sum = sum.len() <= 4 && sum.bytes().all(|byte| byte.is_ascii_alphanumeric());
        require(is_plain && is_sum && body.starts_with("VN"))?;
        Ok(Self { body: body.to_owned(), sum: sum.to_owned(), has_return })
    }
}

/// Text format of a number, by the measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Angle, degrees, `+090.000`.
    Angle,
    /// Magnetic field, gauss, `+00.2100`.
    Magnetic,
    /// Acceleration, m/s², `-09.810`.
    Acceleration,
    /// Angular rate, rad/s, `+00.010000`.
    AngularRate,
    /// Component of a quaternion, `+0.707107`.
    Quaternion,
    /// Time, seconds, `+0.665016`.
    Seconds,
    /// Temperature, degrees C, `+35.5`.
    Temperature,
    /// Pressure, kPa, `+101.325`.
    Pressure,
}

impl Format {
    /// Smallest number of characters, including the sign; shorter numbers are padded with zeros.
    pub fn width(self) -> usize {
        match self {
            Format::Temperature => 5,
            Format::Acceleration => 7,
            Format::Angle | Format::Magnetic | Format::Pressure => 8,
            Format::Quaternion | Format::Seconds => 9,
            Format::AngularRate => 10,
        }
    }

    /// Number of digits after the decimal point.
    fn digits(self) -> usize {
        match self {
            Format::Temperature => 1,
            Format::Angle | Format::Acceleration | Format::Pressure => 3,
            Format::Magnetic => 4,
            Format::AngularRate | Format::Quaternion | Format::Seconds => 6,
        }
    }

    /// Appends `,` and the formatted number for each of `values`.
    pub fn put(self, body: &mut String, values: &[f64]) {
        for value in values {
            // Writing to a string cannot fail.
            let (width, digits) = (self.width(), self.digits());
            let _ = write!(body, ",{value:+0width$.digits$}");
        }
    }
}

/// A text line or a binary packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A text line.
    Line(Line),
    /// A binary packet.
    Packet(BinaryPacket),
}

impl Frame {
    /// Appends the bytes of the frame to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Line(line) => line.emit(out),
            Frame::Packet(packet) => packet.emit(out),
        }
    }
}

/// Finds [`Frame`]s in a byte stream, whether the host or the device sent it.
#[derive(Clone, Copy, Debug)]
pub struct VectorNav;

impl VectorNav {
    fn line(bytes: &[u8]) -> Result<(Line, usize), NoFrame> {
        let window = &bytes[..bytes.len().min(MAX_LINE)];
        let Some(end) = window.iter().position(|byte| *byte == b'\n') else {
            // Another `$` begins a new line.
            require(!window[1..].contains(&b'$') && window.len() < MAX_LINE)?;
            return Err(NoFrame::Incomplete);
        };
        let text = std::str::from_utf8(&window[..end]).map_err(|_| NoFrame::Refused)?;
        Ok((Line::parse(text)?, end + 1))
    }

    fn packet(bytes: &[u8]) -> Result<(BinaryPacket, usize), NoFrame> {
        let layout = Layout::scan(bytes)?;
        let packet = whole(bytes, layout.packet_len())?;
        require(crc16_xmodem(&packet[1..]) == 0)?;
        let payload = packet[layout.header_len()..packet.len() - 2].to_vec();
        Ok((BinaryPacket { layout, payload }, packet.len()))
    }
}

impl Framing for VectorNav {
    type Frame = Frame;

    fn max_len(&self) -> usize {
        binary::MAX_LEN
    }

    fn begins(&self, byte: u8) -> bool {
        matches!(byte, b'$' | binary::SYNC)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        match bytes[0] {
            b'$' => Self::line(bytes).map(|(line, length)| (Frame::Line(line), length)),
            _ => Self::packet(bytes).map(|(packet, length)| (Frame::Packet(packet), length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;

    fn emit(frame: &Frame) -> Vec<u8> {
        let mut out = vec![0xa5];
        frame.emit(&mut out);
        out.split_off(1)
    }

    #[test]
    fn lines_are_the_librarys() {
        for golden in [
            "$VNWRG,05,115200*58",
            "$VNRRG,01*72",
            "$VNRRG,01,VN-100T-CR*32",
            "$VNRRG,04,2.1.0.0*76",
            "$VNRRG,02,7*6A",
            "$VNRRG,03,0100013022*5F",
            "$VNWRG,06,0*6C",
            "$VNWRG,75,1,20,33,578,4C,100,69D*5C",
            "$VNWRG,76,0,1,0*6A",
            "$VNRRG,00,*5F",
        ] {
            let bytes = format!("{golden}\r\n").into_bytes();
            let body = golden[1..].split('*').next().unwrap();
            let line = Line::new(body, Checksum::Xor);
            assert_eq!(emit(&Frame::Line(line.clone())), bytes);
            assert_eq!(line.checked(), Some(Checksum::Xor));
            assert_eq!(Framer::new(VectorNav).frames(&bytes), [Frame::Line(line)]);
        }
    }

    #[test]
    fn the_default_output_is_written_as_the_unit_does() {
        let mut body = "VNYMR".to_owned();
        Format::Angle.put(&mut body, &[90.0, 0.5, -0.25]);
        Format::Magnetic.put(&mut body, &[0.21, 0.03, 0.42]);
        Format::Acceleration.put(&mut body, &[0.1, -0.2, -9.81]);
        Format::AngularRate.put(&mut body, &[0.01, -0.02, 0.03]);
        let line = Line::new(body, Checksum::Xor);
        let golden = "$VNYMR,+090.000,+000.500,-000.250,+00.2100,+00.0300,+00.4200,+00.100,-00.200,\
            -09.810,+00.010000,-00.020000,+00.030000*60\r\n";
        assert_eq!(emit(&Frame::Line(line)), golden.as_bytes());
    }

    #[test]
    fn checksums_can_be_long_left_out_or_wrong() {
        let long = Line::new("VNRRG,01", Checksum::Crc16);
        assert_eq!((long.sum.len(), long.checked()), (4, Some(Checksum::Crc16)));
        let found = Framer::new(VectorNav).frames(b"$VNRRG,01*XX\n$VNRRG,01*73\r\n$VNRRG,01*7\r\n");
        let checked: Vec<_> = found
            .iter()
            .map(|frame| match frame {
                Frame::Line(line) => line.checked(),
                Frame::Packet(_) => panic!("{frame:?}"),
            })
            .collect();
        assert_eq!(checked, [Some(Checksum::Ignored), None, None]);
    }

    #[test]
    fn a_line_that_was_broken_off_does_not_hide_the_next() {
        let found = Framer::new(VectorNav).frames(b"$VNRRG,0$VNRRG,01*72\r\n");
        assert_eq!(found, [Frame::Line(Line::new("VNRRG,01", Checksum::Xor))]);
    }
}
