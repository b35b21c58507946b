//! Numbers in NMEA's form: decimal digits. The number of digits is part of the value.

use serde::Serialize;

use super::super::ParseError;

/// A decimal number with all its digits: `02.50` differs from `2.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    is_negative: bool,
    scaled: u64,
    decimals: u8,
    integer_digits: u8,
}

/// Largest accepted number of digits, because 18 digits fit into a `u64`. It is an assumption that no receiver sends
/// more.
const MAX_DIGITS: usize = 18;

impl Number {
    /// `value` rounded to `decimals` (at most 9), with at least one digit before the point. A value that rounds to
    /// zero has no sign. Values that need too many digits are clamped.
    pub fn from_f64(value: f64, decimals: u8) -> Self {
        let scale = 10_f64.powi(decimals.into());
        let scaled = (value.abs() * scale).round().clamp(0.0, 1e18) as u64;
        Self { is_negative: value < 0.0 && scaled > 0, scaled, decimals, integer_digits: 1 }
    }

    /// The integer `value`, without a decimal point.
    pub fn whole(value: u64) -> Self {
        Self { is_negative: false, scaled: value, decimals: 0, integer_digits: 1 }
    }

    /// The number `scaled` × 10^-`decimals`.
    pub fn scaled(scaled: u64, decimals: u8) -> Self {
        Self { is_negative: false, scaled, decimals, integer_digits: 1 }
    }

    /// The number with at least `integer_digits` digits before the point, padded with leading zeros.
    #[must_use]
    pub fn padded(self, integer_digits: u8) -> Self {
        Self { integer_digits, ..self }
    }

    /// The number as a floating-point value.
    pub fn to_f64(self) -> f64 {
        let magnitude = self.scaled as f64 / self.unit() as f64;
        if self.is_negative { -magnitude } else { magnitude }
    }

    /// Number of digits after the point.
    pub fn decimals(self) -> u8 {
        self.decimals
    }

    /// Integer part, without sign.
    pub fn integer(self) -> u64 {
        self.scaled / self.unit()
    }

    fn unit(self) -> u64 {
        10_u64.pow(self.decimals.into())
    }

    pub(super) fn read(text: &str) -> Result<Self, ParseError> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_point_alone = digits.ends_with('.');
        let all_digits = integer.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        let count = integer.len() + fraction.len();
        if !all_digits || is_point_alone || !(1..=MAX_DIGITS).contains(&count) {
            return Err(not_a("number", text));
        }
        let scaled = integer
            .bytes()
            .chain(fraction.bytes())
            .fold(0, |all, digit| all * 10 + u64::from(digit - b'0'));
        Ok(Self {
            is_negative,
            scaled,
            decimals: fraction.len() as u8,
            integer_digits: integer.len() as u8,
        })
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_negative {
            f.write_str("-")?;
        }
        let (integer, fraction) = (self.scaled / self.unit(), self.scaled % self.unit());
        if integer > 0 || self.integer_digits > 0 {
            write!(f, "{integer:0width$}", width = usize::from(self.integer_digits))?;
        }
        if self.decimals > 0 {
            write!(f, ".{fraction:0width$}", width = usize::from(self.decimals))?;
        }
        Ok(())
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

pub(super) fn not_a(field: &'static str, text: &str) -> ParseError {
    ParseError::Value {
        field,
        // The first eight bytes are sufficient for a message.
        value: text.bytes().take(8).fold(0, |all, byte| all << 8 | u64::from(byte)),
        allowed: "a value that the sentence's definition allows",
    }
}

/// A time of day, `hhmmss.ss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(Number);

impl Time {
    /// The time field of a civil time; the second is truncated to `decimals` decimals (at most 9).
    pub fn new(hour: u8, minute: u8, second: u8, subsec_ns: u32, decimals: u8) -> Self {
        let whole = (u64::from(hour) * 100 + u64::from(minute)) * 100 + u64::from(second);
        let fraction = u64::from(subsec_ns) / 10_u64.pow(u32::from(9 - decimals.min(9)));
        let scaled = whole * 10_u64.pow(decimals.into()) + fraction;
        Self(Number::scaled(scaled, decimals).padded(6))
    }

    /// Hour, minute, and second with its fraction.
    pub fn hms(self) -> (u8, u8, f64) {
        let whole = self.0.integer();
        let seconds = self.0.to_f64() - (whole - whole % 100) as f64;
        ((whole / 10_000) as u8, (whole / 100 % 100) as u8, seconds)
    }

    pub(super) fn read(text: &str) -> Result<Self, ParseError> {
        let number = Number::read(text)?;
        let whole = number.integer();
        // Second 60 is a leap second.
        let in_range = whole < 240_000 && whole / 100 % 100 < 60 && whole % 100 <= 60;
        if number.integer_digits != 6 || number.is_negative || !in_range {
            return Err(not_a("time", text));
        }
        Ok(Self(number))
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A date, `ddmmyy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date(Number);

impl Date {
    /// Converts a civil date; only the last two digits of the year are stored.
    pub fn new(year: u16, month: u8, day: u8) -> Self {
        let whole = (u64::from(day) * 100 + u64::from(month)) * 100 + u64::from(year % 100);
        Self(Number::whole(whole).padded(6))
    }

    /// Year within the century, month and day.
    pub fn ymd(self) -> (u8, u8, u8) {
        let whole = self.0.integer();
        ((whole % 100) as u8, (whole / 100 % 100) as u8, (whole / 10_000) as u8)
    }

    pub(super) fn read(text: &str) -> Result<Self, ParseError> {
        let number = Number::read(text)?;
        let (_, month, day) = Self(number).ymd();
        let plain = number.integer_digits == 6 && number.decimals == 0 && !number.is_negative;
        if !plain || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(not_a("date", text));
        }
        Ok(Self(number))
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Date {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An angle without sign, `ddmm.mmmmm` or `dddmm.mmmmm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Angle(Number);

impl Angle {
    /// Converts an angle to degrees of `degree_digits` digits, and minutes with `decimals` decimals (at most 9). The
    /// sign is ignored. The minutes are rounded first, so that the result never has 60 minutes.
    pub fn from_degrees(degrees: f64, degree_digits: u8, decimals: u8) -> Self {
        let unit = 10_u64.pow(decimals.into());
        let minutes = (degrees.abs() * 60.0 * unit as f64).round() as u64;
        let (degrees, minutes) = (minutes / (60 * unit), minutes % (60 * unit));
        let scaled = degrees * 100 * unit + minutes;
        Self(Number::scaled(scaled, decimals).padded(degree_digits + 2))
    }

    /// Number of decimals of the minutes.
    pub fn decimals(self) -> u8 {
        self.0.decimals()
    }

    /// The angle in degrees.
    pub fn to_degrees(self) -> f64 {
        let degrees = self.0.integer() / 100;
        degrees as f64 + (self.0.to_f64() - (degrees * 100) as f64) / 60.0
    }

    pub(super) fn read(text: &str, degree_digits: u8, most: f64) -> Result<Self, ParseError> {
        let number = Number::read(text)?;
        let angle = Self(number);
        let is_plain = number.integer_digits == degree_digits + 2 && !number.is_negative;
        if !is_plain || number.integer() % 100 >= 60 || angle.to_degrees() > most {
            return Err(not_a("angle", text));
        }
        Ok(angle)
    }
}

impl std::fmt::Display for Angle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Latitude and longitude: four fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Latitude without sign.
    pub latitude: Angle,
    /// Hemisphere: N (`true`) or S.
    pub is_north: bool,
    /// Longitude without sign.
    pub longitude: Angle,
    /// Hemisphere: E (`true`) or W.
    pub is_east: bool,
}

impl Position {
    /// Converts WGS84 degrees, positive to the north and east. Minutes have `decimals` decimals.
    pub fn from_degrees(latitude_deg: f64, longitude_deg: f64, decimals: u8) -> Self {
        Self {
            latitude: Angle::from_degrees(latitude_deg, 2, decimals),
            is_north: latitude_deg >= 0.0,
            longitude: Angle::from_degrees(longitude_deg, 3, decimals),
            is_east: longitude_deg >= 0.0,
        }
    }

    /// Latitude in WGS84 degrees, positive to the north.
    pub fn latitude_deg(&self) -> f64 {
        let degrees = self.latitude.to_degrees();
        if self.is_north { degrees } else { -degrees }
    }

    /// Longitude in WGS84 degrees, positive to the east.
    pub fn longitude_deg(&self) -> f64 {
        let degrees = self.longitude.to_degrees();
        if self.is_east { degrees } else { -degrees }
    }
}

impl Serialize for Position {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("latitude_deg", &self.latitude_deg())?;
        map.serialize_entry("longitude_deg", &self.longitude_deg())?;
        map.end()
    }
}
