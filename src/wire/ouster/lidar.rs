//! Lidar packets: sixteen columns of pixels.
//!
//! [`PacketWriter`] writes packets in place, because they have up to 33 kB and there are up to 1280 per second.

use super::format::{COARSE_MM, COARSE_PHOTONS, COLUMNS, EDGE_LEN, ENCODER_TICKS, LidarFormat};
use crate::ParseError;
use crate::checksum::crc64_xz;

/// Packet type of lidar packets.
pub const LIDAR_TYPE: u16 = 1;
/// Length of the checksum at a packet's end, bytes.
const CRC_LEN: usize = 8;
/// Constant instead of a checksum in firmware 2.3 and 2.4.
const CONSTANT_CRC: [u8; CRC_LEN] = [0xde, 0xc0, 0, 0, 0xef, 0xbe, 0xad, 0xde];
/// Status of a column with measured pixels.
const VALID: u16 = 1;

/// The last eight bytes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Footer {
    /// Zeros: firmware 2.2, and packets for functional safety.
    #[default]
    Zero,
    /// A constant: firmware 2.3 and 2.4.
    Constant,
    /// CRC-64/XZ of all bytes before the CRC.
    Crc64,
}

/// Header of a packet; packets of [`LidarFormat::Legacy`] have only its frame number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of the rotation (frame). It wraps after 65535, except in packets for functional safety.
    pub frame_id: u32,
    /// `initialization_id` of the metadata, 24 bits.
    pub initialization_id: u32,
    /// Serial number, `prod_sn` of the metadata, 40 bits.
    pub serial: u64,
    /// Alert flags: bit 7 is set while an alert is active; bits 0 to 5 count starts and ends of alerts.
    pub alert_flags: u8,
    /// Seconds until thermal shutdown.
    pub shutdown_countdown_s: u8,
    /// Seconds until shot limiting starts.
    pub limiting_countdown_s: u8,
    /// State of thermal shutdown: 0 normal, 1 imminent.
    pub thermal_shutdown: u8,
    /// State of shot limiting: 0 normal, 1 imminent, 2 to 9 for reductions from 0-10 % to 70-75 %.
    pub shot_limiting: u8,
}

/// One pixel of a column. Formats omit values for which they have no space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pixel {
    /// First and second return; zeros for a missing return.
    pub returns: [PixelReturn; 2],
    /// Number of near-infrared photons of the background light.
    pub near_infrared: u16,
}

/// One return of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PixelReturn {
    /// Range from the sensor's axis, millimetres; 0 without a return.
    pub range_mm: u32,
    /// Reflectivity: 0 to 100 for diffuse targets, up to 255 for retroreflectors. [`LidarFormat::Legacy`] has 16 bits,
    /// all of which firmware before 2.1 uses; other formats have 8.
    pub reflectivity: u16,
    /// Number of photons in the return.
    pub signal: u16,
}

/// Header of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Time of the measurement on the lidar's clock, nanoseconds.
    pub timestamp_ns: u64,
    /// Index of the column in the rotation.
    pub measurement_id: u16,
    /// Whether the column's pixels were measured.
    pub is_valid: bool,
}

/// Writes a packet in place.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    format: LidarFormat,
    pixels: usize,
    bytes: &'a mut [u8],
}

impl<'a> PacketWriter<'a> {
    /// Creates a writer for `bytes`, which must be all zero or contain a previous packet. The length of `bytes` must be
    /// [`LidarFormat::packet_len`].
    pub fn new(format: LidarFormat, pixels: usize, bytes: &'a mut [u8]) -> Self {
        debug_assert_eq!(bytes.len(), format.packet_len(pixels));
        Self { format, pixels, bytes }
    }

    /// Writes the header.
    pub fn header(&mut self, header: &Header) {
        match self.format {
            LidarFormat::Legacy => {}
            LidarFormat::Fusa => put_fusa_header(&mut self.bytes[..EDGE_LEN], header),
            _ => put_header(&mut self.bytes[..EDGE_LEN], LIDAR_TYPE, header),
        }
    }

    /// Writes the header of column `index` in the packet; returns the bytes of its pixels. `turn` is the number of
    /// columns per rotation.
    pub fn column(
        &mut self,
        index: usize,
        column: &Column,
        header: &Header,
        turn: u16,
    ) -> &mut [u8] {
        let len = self.format.column_len(self.pixels);
        let from = self.format.header_len() + index * len;
        let out = &mut self.bytes[from..from + len];
        let id = column.measurement_id;
        out[..8].copy_from_slice(&column.timestamp_ns.to_le_bytes());
        out[8..10].copy_from_slice(&id.to_le_bytes());
        if self.format == LidarFormat::Legacy {
            out[10..12].copy_from_slice(&(header.frame_id as u16).to_le_bytes());
            let encoder = u32::from(id) * (ENCODER_TICKS / u32::from(turn.max(1)));
            out[12..16].copy_from_slice(&encoder.to_le_bytes());
            let status = if column.is_valid { u32::MAX } else { 0 };
            out[len - 4..].copy_from_slice(&status.to_le_bytes());
        } else if column.is_valid {
            out[10..12].copy_from_slice(&VALID.to_le_bytes());
        }
        let first = self.format.column_header_len();
        &mut out[first..first + self.pixels * self.format.pixel_len()]
    }

    /// Replaces the timestamp of column `index` in the packet.
    pub fn stamp(&mut self, index: usize, timestamp_ns: u64) {
        let from = self.format.header_len() + index * self.format.column_len(self.pixels);
        self.bytes[from..from + 8].copy_from_slice(&timestamp_ns.to_le_bytes());
    }

    /// Writes the last eight bytes of the packet as `footer` requires; no effect for [`LidarFormat::Legacy`]. All other
    /// bytes must already be written.
    pub fn finish(self, footer: Footer) {
        if self.format != LidarFormat::Legacy {
            seal(self.bytes, footer);
        }
    }
}

/// Writes the last eight bytes of a packet as `footer` requires.
pub(super) fn seal(bytes: &mut [u8], footer: Footer) {
    let (body, end) = bytes.split_at_mut(bytes.len() - CRC_LEN);
    end.copy_from_slice(&match footer {
        Footer::Zero => [0; CRC_LEN],
        Footer::Constant => CONSTANT_CRC,
        Footer::Crc64 => crc64_xz(body).to_le_bytes(),
    });
}

/// Writes the header of a packet of type `kind`.
pub(super) fn put_header(out: &mut [u8], kind: u16, header: &Header) {
    out[0..2].copy_from_slice(&kind.to_le_bytes());
    out[2..4].copy_from_slice(&(header.frame_id as u16).to_le_bytes());
    out[4..7].copy_from_slice(&header.initialization_id.to_le_bytes()[..3]);
    out[7..12].copy_from_slice(&header.serial.to_le_bytes()[..5]);
    out[12] = header.alert_flags;
    put_states(out, header);
}

fn put_fusa_header(out: &mut [u8], header: &Header) {
    out[0] = LIDAR_TYPE as u8;
    out[1..4].copy_from_slice(&header.initialization_id.to_le_bytes()[..3]);
    out[4..8].copy_from_slice(&header.frame_id.to_le_bytes());
    out[8] = header.alert_flags;
    out[11..16].copy_from_slice(&header.serial.to_le_bytes()[..5]);
    put_states(out, header);
}

fn put_states(out: &mut [u8], header: &Header) {
    out[16] = header.shutdown_countdown_s;
    out[17] = header.limiting_countdown_s;
    out[18] = header.thermal_shutdown & 0x0f;
    out[19] = header.shot_limiting & 0x0f;
}

impl Pixel {
    /// Writes the pixel into [`LidarFormat::pixel_len`] zero bytes.
    #[inline(always)]
    pub fn put(&self, format: LidarFormat, out: &mut [u8]) {
        let [one, two] = &self.returns;
        let coarse = |range_mm: u32| (range_mm / COARSE_MM) as u16 & 0x7fff;
        let dim = || (self.near_infrared / COARSE_PHOTONS).min(255) as u8;
        match format {
            LidarFormat::Legacy | LidarFormat::Single => {
                let mask = if format == LidarFormat::Legacy { 0x000f_ffff } else { 0x0007_ffff };
                out[0..4].copy_from_slice(&(one.range_mm & mask).to_le_bytes());
                let [low, high] = one.reflectivity.to_le_bytes();
                out[4] = low;
                if format == LidarFormat::Legacy {
                    out[5] = high;
                }
                out[6..8].copy_from_slice(&one.signal.to_le_bytes());
                out[8..10].copy_from_slice(&self.near_infrared.to_le_bytes());
            }
            LidarFormat::Dual => {
                let word = |r: &PixelReturn| {
                    (r.range_mm & 0x0007_ffff | u32::from(r.reflectivity) << 24).to_le_bytes()
                };
                out[0..4].copy_from_slice(&word(one));
                out[4..8].copy_from_slice(&word(two));
                out[8..10].copy_from_slice(&one.signal.to_le_bytes());
                out[10..12].copy_from_slice(&two.signal.to_le_bytes());
                out[12..14].copy_from_slice(&self.near_infrared.to_le_bytes());
            }
            LidarFormat::Low | LidarFormat::LowDual | LidarFormat::Fusa => {
                out[0..2].copy_from_slice(&coarse(one.range_mm).to_le_bytes());
                out[2] = one.reflectivity as u8;
                out[3] = dim();
                if format != LidarFormat::Low {
                    out[4..6].copy_from_slice(&coarse(two.range_mm).to_le_bytes());
                    out[6] = two.reflectivity as u8;
                }
            }
        }
    }

    /// Reads a pixel from [`LidarFormat::pixel_len`] bytes.
    pub fn get(format: LidarFormat, bytes: &[u8]) -> Self {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let coarse = |at: usize| u32::from(short(at) & 0x7fff) * COARSE_MM;
        let one = |range_mm, reflectivity, signal| PixelReturn { range_mm, reflectivity, signal };
        match format {
            LidarFormat::Legacy | LidarFormat::Single => {
                let mask = if format == LidarFormat::Legacy { 0x000f_ffff } else { 0x0007_ffff };
                let reflectivity = match format {
                    LidarFormat::Legacy => short(4),
                    _ => bytes[4].into(),
                };
                let first = one(word(0) & mask, reflectivity, short(6));
                Self { returns: [first, PixelReturn::default()], near_infrared: short(8) }
            }
            LidarFormat::Dual => Self {
                returns: [
                    one(word(0) & 0x0007_ffff, bytes[3].into(), short(8)),
                    one(word(4) & 0x0007_ffff, bytes[7].into(), short(10)),
                ],
                near_infrared: short(12),
            },
            LidarFormat::Low | LidarFormat::LowDual | LidarFormat::Fusa => {
                let second = match format {
                    LidarFormat::Low => PixelReturn::default(),
                    _ => one(coarse(4), bytes[6].into(), 0),
                };
                Self {
                    returns: [one(coarse(0), bytes[2].into(), 0), second],
                    near_infrared: u16::from(bytes[3]) * COARSE_PHOTONS,
                }
            }
        }
    }
}

/// A packet to read.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    format: LidarFormat,
    pixels: usize,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet of a format with `pixels` pixels per column.
    ///
    /// # Errors
    /// The length or the packet type is wrong.
    pub fn parse(format: LidarFormat, pixels: usize, bytes: &'a [u8]) -> Result<Self, ParseError> {
        let need = format.packet_len(pixels);
        if bytes.len() != need {
            let what = "an Ouster lidar packet";
            return Err(ParseError::Length { what, need, got: bytes.len() });
        }
        let kind = match format {
            LidarFormat::Legacy => LIDAR_TYPE,
            LidarFormat::Fusa => bytes[0].into(),
            _ => u16::from_le_bytes([bytes[0], bytes[1]]),
        };
        if kind != LIDAR_TYPE {
            return Err(ParseError::value("packet type", kind, "1 in lidar packets"));
        }
        Ok(Self { format, pixels, bytes })
    }

    /// Format of the packet.
    pub fn format(&self) -> LidarFormat {
        self.format
    }

    /// Number of pixels per column.
    pub fn pixels(&self) -> usize {
        self.pixels
    }

    /// The packet's header.
    pub fn header(&self) -> Header {
        let bytes = self.bytes;
        let init = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]);
        let serial = |at: usize| {
            let part = |place: usize| u64::from(bytes[at + place]) << (8 * place);
            (0..5).map(part).sum()
        };
        let states = Header {
            shutdown_countdown_s: bytes[16],
            limiting_countdown_s: bytes[17],
            thermal_shutdown: bytes[18] & 0x0f,
            shot_limiting: bytes[19] & 0x0f,
            ..Header::default()
        };
        match self.format {
            LidarFormat::Legacy => Header {
                frame_id: u16::from_le_bytes([bytes[10], bytes[11]]).into(),
                ..Header::default()
            },
            LidarFormat::Fusa => Header {
                frame_id: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
                initialization_id: init(1),
                serial: serial(11),
                alert_flags: bytes[8],
                ..states
            },
            _ => Header {
                frame_id: u16::from_le_bytes([bytes[2], bytes[3]]).into(),
                initialization_id: init(4),
                serial: serial(7),
                alert_flags: bytes[12],
                ..states
            },
        }
    }

    /// Columns of the packet: the header of each, and the bytes of its pixels.
    pub fn columns(&self) -> impl Iterator<Item = (Column, &'a [u8])> {
        let (format, len) = (self.format, self.format.column_len(self.pixels));
        let from = format.header_len();
        let columns = self.bytes[from..from + COLUMNS * len].chunks_exact(len);
        columns.map(move |bytes| {
            let mut stamp = [0; 8];
            stamp.copy_from_slice(&bytes[..8]);
            let is_valid = match format {
                LidarFormat::Legacy => bytes[len - 4..] == [0xff; 4],
                _ => bytes[10] & 1 != 0,
            };
            let column = Column {
                timestamp_ns: u64::from_le_bytes(stamp),
                measurement_id: u16::from_le_bytes([bytes[8], bytes[9]]),
                is_valid,
            };
            let end = if format == LidarFormat::Legacy { len - 4 } else { len };
            (column, &bytes[format.column_header_len()..end])
        })
    }

    /// Encoder count of the first column; `None` except in packets of [`LidarFormat::Legacy`].
    pub fn encoder(&self) -> Option<u32> {
        let [a, b, c, d] = *self.bytes.get(12..16)?.first_chunk::<4>()?;
        (self.format == LidarFormat::Legacy).then(|| u32::from_le_bytes([a, b, c, d]))
    }

    /// Kind of the last eight bytes. `None` if these bytes are neither a constant nor the correct checksum, and for
    /// [`LidarFormat::Legacy`], which has no footer.
    pub fn footer(&self) -> Option<Footer> {
        if self.format == LidarFormat::Legacy {
            return None;
        }
        let (body, end) = self.bytes.split_at(self.bytes.len() - CRC_LEN);
        match end {
            [0, 0, 0, 0, 0, 0, 0, 0] => Some(Footer::Zero),
            end if end == CONSTANT_CRC => Some(Footer::Constant),
            end => (end == crc64_xz(body).to_le_bytes()).then_some(Footer::Crc64),
        }
    }
}
