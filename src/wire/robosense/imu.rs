//! IMU samples of an Airy.

use super::layout::Layout;
use super::values::{TIME_LEN, read_time, time_field};
use crate::ParseError;
use crate::record::{Record as _, record};

/// Length of a packet, bytes.
pub const IMU_LEN: usize = 51;
const ID: [u8; 4] = [0xaa, 0x55, 0x5a, 0x05];

record! {
    /// Layout of a packet.
    ImuWords: Be 51 {
        /// First bytes, `aa 55 5a 05`.
        id: [u8; 4],
        /// Time: six bytes of POSIX seconds, then four bytes of microseconds within the second.
        time: [u8; TIME_LEN],
        /// Specific force, in counts. The largest positive value of the measuring range is 2^`bits` counts, see
        /// [`Sample::to_bytes`].
        acceleration: [i32; 3],
        /// Angular rate, in counts. The largest positive value of the measuring range is 2^`bits` counts, see
        /// [`Sample::to_bytes`].
        angular_rate: [i32; 3],
        /// Temperature of the chip, hundredths of a degree Celsius.
        temperature: i32,
        /// Code of the output rate.
        rate: u8,
        /// Code n of the acceleration's measuring range: ±2^(n+1) g.
        acceleration_range: u8,
        /// Code n of the angular rate's measuring range: ±250 * 2^n degrees/s.
        angular_rate_range: u8,
        /// Sequence number of the sample.
        count: u32,
        /// End of the packet, zero.
        end: u16,
    }
}

/// One IMU sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Time of the sample, microseconds of POSIX time; 0 if the field is invalid.
    pub unix_us: i64,
    /// Specific force, g.
    pub acceleration_g: [f64; 3],
    /// Angular rate, degrees/s.
    pub angular_rate_deg_s: [f64; 3],
    /// Temperature of the chip, degrees Celsius.
    pub celsius: f64,
    /// Codes n of the measuring ranges: acceleration ±2^(n+1) g, angular rate ±250 * 2^n degrees/s.
    pub ranges: [u8; 2],
    /// Sequence number of the sample.
    pub count: u32,
}

fn full_scales(ranges: [u8; 2]) -> [f64; 2] {
    let [acceleration, rate] = ranges.map(|range| libm::exp2(f64::from(range.min(16))));
    [2.0 * acceleration, 250.0 * rate]
}

impl Sample {
    /// Bytes of the packet. The largest positive value of the measuring range (2 g for ±2 g) is 2^`bits` counts.
    pub fn to_bytes(&self, bits: u8) -> Vec<u8> {
        let scales = full_scales(self.ranges);
        let full = libm::exp2(f64::from(bits));
        let counts = |value: f64, scale: f64| (value / scale * full).round() as i32;
        ImuWords {
            id: ID,
            time: time_field(Layout::Airy, self.unix_us),
            acceleration: self.acceleration_g.map(|value| counts(value, scales[0])),
            angular_rate: self.angular_rate_deg_s.map(|value| counts(value, scales[1])),
            temperature: (self.celsius * 100.0).round() as i32,
            rate: 0,
            acceleration_range: self.ranges[0],
            angular_rate_range: self.ranges[1],
            count: self.count,
            end: 0,
        }
        .to_bytes()
    }

    /// Reads a packet in which the largest positive value of the measuring range is 2^`bits` counts.
    ///
    /// # Errors
    /// The length or the first bytes are wrong.
    pub fn parse(bytes: &[u8], bits: u8) -> Result<Self, ParseError> {
        let words = ImuWords::parse(bytes)?;
        if words.id != ID {
            return Err(ParseError::value("first byte of an IMU packet", words.id[0], "0xaa"));
        }
        let ranges = [words.acceleration_range, words.angular_rate_range];
        let scales = full_scales(ranges);
        let full = libm::exp2(f64::from(bits));
        let value = |counts: i32, scale: f64| f64::from(counts) / full * scale;
        Ok(Self {
            unix_us: read_time(Layout::Airy, words.time).unwrap_or_default(),
            acceleration_g: words.acceleration.map(|counts| value(counts, scales[0])),
            angular_rate_deg_s: words.angular_rate.map(|counts| value(counts, scales[1])),
            celsius: f64::from(words.temperature) / 100.0,
            ranges,
            count: words.count,
        })
    }
}
