//! Times, temperatures and angles as represented in packets.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::layout::Layout;

/// Length of a time field, bytes.
pub const TIME_LEN: usize = 10;
/// Counts per degree Celsius.
const COUNTS_PER_CELSIUS: f64 = 16.0;

/// Time field for `unix_us`, microseconds of POSIX time. Calendar dates are in UTC.
pub fn time_field(layout: Layout, unix_us: i64) -> [u8; TIME_LEN] {
    let mut field = [0; TIME_LEN];
    if layout.has_calendar() {
        let time = civil(unix_us);
        let micros = unix_us.rem_euclid(1_000_000) as u32;
        field[0] = (time.year() - 2000).clamp(0, 255) as u8;
        let rest = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
        field[1..6].copy_from_slice(&rest.map(|value| value as u8));
        field[6..8].copy_from_slice(&((micros / 1000) as u16).to_be_bytes());
        field[8..].copy_from_slice(&((micros % 1000) as u16).to_be_bytes());
    } else {
        let seconds = unix_us.div_euclid(1_000_000).max(0) as u64;
        field[..6].copy_from_slice(&seconds.to_be_bytes()[2..]);
        let micros = unix_us.rem_euclid(1_000_000) as u32;
        field[6..].copy_from_slice(&micros.to_be_bytes());
    }
    field
}

/// Value of a time field, microseconds of POSIX time; `None` if it is invalid.
pub fn read_time(layout: Layout, field: [u8; TIME_LEN]) -> Option<i64> {
    let [a, b, c, d, e, f, g, h, i, j] = field;
    if layout.has_calendar() {
        let [month, day, hour, minute, second] = [b, c, d, e, f].map(|value| value as i8);
        let date = DateTime::new(2000 + i16::from(a), month, day, hour, minute, second, 0).ok()?;
        let seconds = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
        let [millis, micros] = [[g, h], [i, j]].map(|pair| i64::from(u16::from_be_bytes(pair)));
        Some(seconds * 1_000_000 + millis * 1000 + micros)
    } else {
        let seconds = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let micros = u32::from_be_bytes([g, h, i, j]);
        // 48 bits of seconds, times a million, are below 2^68.
        i64::try_from(seconds).ok()?.checked_mul(1_000_000)?.checked_add(micros.into())
    }
}

fn civil(unix_us: i64) -> DateTime {
    jiff::Timestamp::from_microsecond(unix_us)
        .unwrap_or(jiff::Timestamp::MAX)
        .to_zoned(TimeZone::UTC)
        .datetime()
}

/// Temperature field in sixteenths of a degree Celsius, least significant byte first: bits 3 to 7 of the first byte are
/// the low bits of the magnitude, bits 0 to 6 of the second byte the high ones; bit 7 of the second byte is the sign.
pub fn temperature_le(celsius: f64) -> [u8; 2] {
    let counts = counts(celsius);
    [(counts & 0x1f) as u8 * 8, (counts >> 5) as u8 | sign(celsius)]
}

/// Temperature in a field that [`temperature_le`] encoded, degrees Celsius.
pub fn read_temperature_le([low, high]: [u8; 2]) -> f64 {
    celsius(u16::from(high & 0x7f) << 5 | u16::from(low >> 3), high)
}

/// Temperature field in sixteenths of a degree Celsius, most significant byte first: bit 7 of the first byte is the
/// sign, bits 0 to 6 are the high bits of the magnitude; bits 4 to 7 of the second byte are the low bits.
pub fn temperature_be(celsius: f64) -> [u8; 2] {
    let counts = counts(celsius).min(0x7ff);
    [(counts >> 4) as u8 | sign(celsius), (counts & 0xf) as u8 * 16]
}

/// Temperature in a field that [`temperature_be`] encoded, degrees Celsius.
pub fn read_temperature_be([high, low]: [u8; 2]) -> f64 {
    celsius(u16::from(high & 0x7f) << 4 | u16::from(low >> 4), high)
}

fn counts(celsius: f64) -> u16 {
    (celsius.abs() * COUNTS_PER_CELSIUS).round().min(4095.0) as u16
}

fn sign(celsius: f64) -> u8 {
    if celsius < 0.0 { 0x80 } else { 0 }
}

fn celsius(counts: u16, signed: u8) -> f64 {
    let size = f64::from(counts) / COUNTS_PER_CELSIUS;
    if signed & 0x80 != 0 { -size } else { size }
}

/// Sign byte of an angle that was not measured.
const UNKNOWN: u8 = 0xff;

/// Angle field: sign byte (0 positive, 1 negative), and magnitude in steps of `unit_deg`, most significant byte first.
/// `None` is an angle that was not measured.
pub fn angle(deg: Option<f64>, unit_deg: f64) -> [u8; 3] {
    let Some(deg) = deg else { return [UNKNOWN; 3] };
    let size = (deg.abs() / unit_deg).round().min(65_535.0) as u16;
    let [high, low] = size.to_be_bytes();
    [u8::from(deg < 0.0 && size > 0), high, low]
}

/// Value of an angle field, degrees; `None` if the angle was not measured.
pub fn read_angle([sign, high, low]: [u8; 3], unit_deg: f64) -> Option<f64> {
    let size = f64::from(u16::from_be_bytes([high, low])) * unit_deg;
    match sign {
        UNKNOWN => None,
        0 => Some(size),
        _ => Some(-size),
    }
}
