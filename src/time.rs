//! Instants of a run and their civil time.
//!
//! [`SimTime`] counts nanoseconds since the first instant of a run; it is the only time the
//! simulation knows. [`Epoch`] says what UTC that first instant has, for devices that print it.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant: nanoseconds since the run's first instant. A `u64` lasts 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

impl SimTime {
    /// The first instant of a run.
    pub const ZERO: Self = Self(0);

    /// The instant as seconds since the run's first instant.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The instant `seconds` after the run's first instant, rounded to the nanosecond; negative
    /// values give the first instant.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// How long after `earlier` this instant is; zero if it is not after.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0 + rhs.as_nanos() as u64)
    }
}

impl Sub<Duration> for SimTime {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs.as_nanos() as u64))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The UTC of a run's first instant. Leap seconds are not counted, as in POSIX time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    start: jiff::Timestamp,
}

impl Epoch {
    /// An epoch that starts at `start`.
    pub fn new(start: jiff::Timestamp) -> Self {
        Self { start }
    }

    /// The UTC of the run's first instant.
    pub fn start(&self) -> jiff::Timestamp {
        self.start
    }

    /// Nanoseconds of POSIX time at `at`.
    pub fn unix_ns(&self, at: SimTime) -> i128 {
        self.start.as_nanosecond() + i128::from(at.0)
    }

    /// Microseconds past the UTC hour at `at`, 0..3 600 000 000.
    pub fn micros_past_hour(&self, at: SimTime) -> u32 {
        (self.unix_ns(at).rem_euclid(3_600_000_000_000) / 1000) as u32
    }

    /// The civil UTC date and time at `at`.
    pub fn civil(&self, at: SimTime) -> jiff::civil::DateTime {
        let timestamp =
            jiff::Timestamp::from_nanosecond(self.unix_ns(at)).unwrap_or(jiff::Timestamp::MAX);
        timestamp.to_zoned(jiff::tz::TimeZone::UTC).datetime()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micros_wrap_at_the_hour() {
        let epoch = Epoch::new("2026-06-01T12:59:59.5Z".parse().unwrap());
        assert_eq!(epoch.micros_past_hour(SimTime::ZERO), 3_599_500_000);
        assert_eq!(epoch.micros_past_hour(SimTime(499_999_999)), 3_599_999_999);
        assert_eq!(epoch.micros_past_hour(SimTime(500_000_000)), 0);
    }

    #[test]
    fn civil_follows_the_calendar() {
        let epoch = Epoch::new("2028-02-28T23:59:59Z".parse().unwrap());
        assert_eq!(epoch.civil(SimTime(1_000_000_000)).to_string(), "2028-02-29T00:00:00");
    }
}
