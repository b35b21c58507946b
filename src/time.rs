//! Instants of a run and their civil time.
//!
//! [`SimTime`] counts nanoseconds since the first instant of a run; it is the only time the
//! simulation knows. [`Epoch`] says what UTC that first instant has, for devices that print it.

pub mod duration;

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

    /// GPS time at `at` in nanoseconds since the GPS epoch, 1980-01-06T00:00:00Z. It runs ahead of
    /// UTC by [`gps_minus_utc_s`].
    pub fn gps_ns(&self, at: SimTime) -> i128 {
        let unix_ns = self.unix_ns(at);
        let leap_s = gps_minus_utc_s((unix_ns.div_euclid(1_000_000_000)) as i64);
        unix_ns - GPS_EPOCH_UNIX_S * 1_000_000_000 + i128::from(leap_s) * 1_000_000_000
    }

    /// GPS time at `at` in seconds since the GPS epoch; exact to a microsecond.
    pub fn gps_seconds(&self, at: SimTime) -> f64 {
        self.gps_ns(at) as f64 * 1e-9
    }

    /// The civil UTC date and time at `at`.
    pub fn civil(&self, at: SimTime) -> jiff::civil::DateTime {
        let timestamp =
            jiff::Timestamp::from_nanosecond(self.unix_ns(at)).unwrap_or(jiff::Timestamp::MAX);
        timestamp.to_zoned(jiff::tz::TimeZone::UTC).datetime()
    }
}

/// POSIX time of the GPS epoch.
const GPS_EPOCH_UNIX_S: i128 = 315_964_800;

/// POSIX times at which GPS minus UTC took a new value, latest first (IERS bulletin C).
const LEAP_SECONDS: [(i64, u8); 6] = [
    (1_483_228_800, 18), // 2017-01-01
    (1_435_708_800, 17), // 2015-07-01
    (1_341_100_800, 16), // 2012-07-01
    (1_230_768_000, 15), // 2009-01-01
    (1_136_073_600, 14), // 2006-01-01
    (915_148_800, 13),   // 1999-01-01
];

/// GPS minus UTC at a POSIX time, seconds; runs start in the year 2000 or later.
pub fn gps_minus_utc_s(unix_s: i64) -> u8 {
    LEAP_SECONDS.iter().find(|(since, _)| unix_s >= *since).map_or(13, |(_, leap)| *leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gps_time_is_ahead_of_utc() {
        // GPS week 2445, 552463 s.
        let epoch = Epoch::new("2026-11-21T09:27:25Z".parse().unwrap());
        assert_eq!(epoch.gps_ns(SimTime::ZERO), (2445 * 604_800 + 552_463) * 1_000_000_000);
        assert_eq!(gps_minus_utc_s(1_483_228_799), 17);
        assert_eq!(gps_minus_utc_s(1_483_228_800), 18);
    }

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
