//! Instants of a run, and their civil time.
//!
//! [`SimTime`] counts nanoseconds since the start of a run; the simulation uses no other time. [`Epoch`] stores the UTC
//! of the start, for devices that output UTC.

pub mod duration;

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant: nanoseconds since the start of the run. A `u64` covers 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

impl SimTime {
    /// Start of a run.
    pub const ZERO: Self = Self(0);

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The instant `seconds` after the start of the run, rounded to a nanosecond; negative values give the start.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// Time from `earlier` to this instant; zero if `earlier` is later.
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

/// UTC at the start of a run. Leap seconds are not counted, as in POSIX time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    start: jiff::Timestamp,
}

impl Epoch {
    /// Creates an epoch for a run that starts at `start`.
    pub fn new(start: jiff::Timestamp) -> Self {
        Self { start }
    }

    /// UTC of the start of the run.
    pub fn start(&self) -> jiff::Timestamp {
        self.start
    }

    /// Time at `at`, nanoseconds of POSIX time.
    pub fn unix_ns(&self, at: SimTime) -> i128 {
        self.start.as_nanosecond() + i128::from(at.0)
    }

    /// Microseconds past the UTC hour at `at`, 0..3 600 000 000.
    pub fn micros_past_hour(&self, at: SimTime) -> u32 {
        (self.unix_ns(at).rem_euclid(3_600_000_000_000) / 1000) as u32
    }

    /// GPS time at `at`, nanoseconds since the GPS epoch, 1980-01-06T00:00:00Z. At the start of the run, GPS time is
    /// ahead of UTC by [`gps_minus_utc_s`]. Afterwards, GPS time advances with the run, also across a leap second.
    pub fn gps_ns(&self, at: SimTime) -> i128 {
        let leap_s = gps_minus_utc_s(self.start.as_second());
        self.unix_ns(at) + (i128::from(leap_s) - GPS_EPOCH_UNIX_S) * SECOND_NS
    }

    /// GPS time at `at`, seconds since the GPS epoch, with a resolution of a microsecond.
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

/// POSIX time of the GPS epoch, seconds.
const GPS_EPOCH_UNIX_S: i128 = 315_964_800;
const SECOND_NS: i128 = 1_000_000_000;

/// POSIX times at which GPS minus UTC changed, and the new values; latest first (IERS bulletin C).
const LEAP_SECONDS: [(i64, u8); 6] = [
    (1_483_228_800, 18), // 2017-01-01
    (1_435_708_800, 17), // 2015-07-01
    (1_341_100_800, 16), // 2012-07-01
    (1_230_768_000, 15), // 2009-01-01
    (1_136_073_600, 14), // 2006-01-01
    (915_148_800, 13),   // 1999-01-01
];

/// GPS minus UTC at a POSIX time, seconds. Valid from 1999 on; runs start in the year 2000 or later.
pub fn gps_minus_utc_s(unix_s: i64) -> u8 {
    LEAP_SECONDS.iter().find(|(since, _)| unix_s >= *since).map_or(13, |(_, leap)| *leap)
}

/// UTC at an instant of GPS time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtcInstant {
    /// Nanoseconds of POSIX time. A leap second has the same times as the second before it.
    pub unix_ns: i128,
    /// Whether this is a leap second: 23:59:60.
    pub is_inserted_second: bool,
    /// GPS minus UTC, seconds; a leap second still has the old value.
    pub gps_minus_utc_s: u8,
}

/// The next change of GPS minus UTC after the GPS time `gps_ns` or, if none follows, the last change. Returns the GPS
/// time of the change, which is the end of the leap second, in seconds, and the new value in seconds. For
/// `inserted_on`, see [`utc_at_gps`].
pub fn leap_second_near(gps_ns: i128, inserted_on: Option<jiff::civil::Date>) -> (i64, u8) {
    let mut last = None;
    for (unix_s, leap_s) in changes(inserted_on) {
        let gps_s = unix_s - GPS_EPOCH_UNIX_S as i64 + i64::from(leap_s);
        last = Some((gps_s, leap_s));
        if i128::from(gps_s) * SECOND_NS > gps_ns {
            break;
        }
    }
    last.unwrap_or_default()
}

/// UTC at the GPS time `gps_ns`. `inserted_on` is a day at whose end an additional leap second is inserted, although
/// no bulletin has announced it.
pub fn utc_at_gps(gps_ns: i128, inserted_on: Option<jiff::civil::Date>) -> UtcInstant {
    let (mut gps_minus_utc_s, mut is_inserted_second) = (13, false);
    for (unix_s, leap_s) in changes(inserted_on) {
        let over_ns = (i128::from(unix_s) - GPS_EPOCH_UNIX_S + i128::from(leap_s)) * SECOND_NS;
        is_inserted_second = (over_ns - SECOND_NS..over_ns).contains(&gps_ns);
        if gps_ns < over_ns {
            break;
        }
        gps_minus_utc_s = leap_s;
    }
    let behind_s = i128::from(gps_minus_utc_s) + i128::from(is_inserted_second);
    UtcInstant {
        unix_ns: gps_ns + (GPS_EPOCH_UNIX_S - behind_s) * SECOND_NS,
        is_inserted_second,
        gps_minus_utc_s,
    }
}

/// The changes of GPS minus UTC, earliest first: the changes of [`LEAP_SECONDS`], then the change at the end of
/// `inserted_on`, if this day is later.
fn changes(inserted_on: Option<jiff::civil::Date>) -> impl Iterator<Item = (i64, u8)> {
    let (newest_unix_s, newest_leap_s) = LEAP_SECONDS[0];
    let told = inserted_on
        .and_then(|day| day.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .map(|midnight| midnight.timestamp().as_second())
        .filter(|unix_s| *unix_s > newest_unix_s)
        .map(|unix_s| (unix_s, newest_leap_s + 1));
    LEAP_SECONDS.into_iter().rev().chain(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_inserted_and_gps_time_goes_on() {
        let day = "2026-06-30".parse().ok();
        let (epoch, second) = (Epoch::new("2026-06-30T23:59:58Z".parse().unwrap()), 1_000_000_000);
        let shown = |after_s: u64, day| {
            let utc = utc_at_gps(epoch.gps_ns(SimTime(after_s * second)), day);
            let passed_s = utc.unix_ns / 1_000_000_000 - i128::from(epoch.start().as_second());
            (passed_s, utc.is_inserted_second, utc.gps_minus_utc_s)
        };
        let all: Vec<_> = (0..5).map(|after_s| shown(after_s, day)).collect();
        let one_more =
            [(0, false, 18), (1, false, 18), (1, true, 18), (2, false, 19), (3, false, 19)];
        assert_eq!(all, one_more);
        assert_eq!(shown(4, None), (4, false, 18));
        // The last real leap second was at the end of 2016.
        let epoch = Epoch::new("2016-12-31T23:59:59Z".parse().unwrap());
        let utc = |after_s| utc_at_gps(epoch.gps_ns(SimTime(after_s * second)), None);
        assert!(
            utc(1).is_inserted_second && !utc(0).is_inserted_second && !utc(2).is_inserted_second
        );
        assert_eq!(epoch.gps_ns(SimTime(second)) - epoch.gps_ns(SimTime(0)), 1_000_000_000);
        assert_eq!(leap_second_near(epoch.gps_ns(SimTime(0)), None), (1_167_264_018, 18));
        assert_eq!(leap_second_near(epoch.gps_ns(SimTime(5 * second)), None), (1_167_264_018, 18));
        let (gps_s, leap_s) = leap_second_near(epoch.gps_ns(SimTime(5 * second)), day);
        assert_eq!((gps_s / 604_800, gps_s % 604_800 / 86_400, leap_s), (2425, 3, 19));
    }

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
