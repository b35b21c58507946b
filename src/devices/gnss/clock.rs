//! Time in the receiver's messages.

use jiff::civil::{Date, DateTime};

use crate::time::{Epoch, SimTime, utc_at_gps};

const WEEK_MS: i128 = 604_800_000;

/// A time as the receiver's messages express it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// GPS week of `tow_ms`.
    pub week: u16,
    /// Time of the GPS week to the nearest millisecond.
    pub tow_ms: u32,
    /// Nanoseconds to be added to `tow_ms` for the exact time, -500,000 to 499,999.
    pub tow_rest_ns: i32,
    /// Leap seconds (GPS minus UTC) that the receiver assumes.
    pub leap_s: i8,
    /// UTC according to the receiver, rounded to 10 ms; during a leap second, the preceding second.
    pub utc: DateTime,
    /// Whether this is a leap second.
    pub is_inserted_second: bool,
    /// Nanoseconds to be added to the whole second of `utc` for the exact time, -5,000,000 to 994,999,999.
    pub nano_ns: i32,
    /// GPS time according to the receiver, nanoseconds since the GPS epoch; the weeks of [`Self::weeks_behind`] are not
    /// subtracted.
    pub gps_ns: i128,
    /// Weeks by which `week` and `utc` are behind, because satellites count weeks modulo 1024 and the
    /// receiver assumes another cycle.
    pub weeks_behind: i64,
}

/// Leap seconds that a receiver assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeapSeconds {
    /// Leap seconds that satellites have announced: all past ones, and the day at whose end the next one is
    /// inserted.
    Told { inserted_on: Option<Date> },
    /// Leap seconds (GPS minus UTC) stored in the receiver's firmware.
    OfFirmware { gps_minus_utc_s: i8 },
}

impl Stamp {
    /// The time `at` on the clock of a receiver with the clock error `error_ns`.
    pub fn new(epoch: Epoch, at: SimTime, leap: LeapSeconds, error_ns: f64) -> Self {
        let gps_ns = epoch.gps_ns(at) + error_ns.round() as i128;
        // The week follows the rounded time: the last half millisecond of a week belongs to the next week.
        let gps_ms = (gps_ns + 500_000).div_euclid(1_000_000);
        // UTC is rounded to hundredths, so that all messages agree with NMEA.
        let shown_gps_ns = (gps_ns + 5_000_000).div_euclid(10_000_000) * 10_000_000;
        let told = |inserted_on| {
            let utc = utc_at_gps(shown_gps_ns, inserted_on);
            (utc.gps_minus_utc_s as i8, utc.unix_ns, utc.is_inserted_second)
        };
        let (leap_s, shown_ns, is_inserted_second) = match leap {
            LeapSeconds::Told { inserted_on } => told(inserted_on),
            LeapSeconds::OfFirmware { gps_minus_utc_s } => {
                let (true_s, unix_ns, _) = told(None);
                let ahead_ns = i128::from(true_s - gps_minus_utc_s) * 1_000_000_000;
                (gps_minus_utc_s, unix_ns + ahead_ns, false)
            }
        };
        let utc = jiff::Timestamp::from_nanosecond(shown_ns)
            .unwrap_or(jiff::Timestamp::MAX)
            .to_zoned(jiff::tz::TimeZone::UTC)
            .datetime();
        Self {
            week: gps_ms.div_euclid(WEEK_MS) as u16,
            tow_ms: gps_ms.rem_euclid(WEEK_MS) as u32,
            tow_rest_ns: (gps_ns - gps_ms * 1_000_000) as i32,
            leap_s,
            utc,
            is_inserted_second,
            nano_ns: (shown_ns.rem_euclid(1_000_000_000) + gps_ns - shown_gps_ns) as i32,
            gps_ns,
            weeks_behind: 0,
        }
    }

    /// This time according to a receiver that can represent only the 1024 weeks from `first`: week and date move into
    /// this range by a multiple of 1024 weeks. The leap seconds stay unchanged.
    pub fn in_weeks_from(mut self, first: u16) -> Self {
        let true_week = i64::from(self.week);
        let week = i64::from(first) + (true_week - i64::from(first)).rem_euclid(1024);
        let behind = true_week - week;
        let utc = self.utc.checked_sub(jiff::Span::new().weeks(behind));
        if let (Ok(week), Ok(utc)) = (u16::try_from(week), utc) {
            (self.week, self.utc, self.weeks_behind) = (week, utc, behind);
        }
        self
    }

    /// The second of the minute, 0 to 60.
    pub fn second(&self) -> u8 {
        if self.is_inserted_second { 60 } else { self.utc.second() as u8 }
    }

    /// Week, time of week in whole milliseconds, and the remaining fraction of a millisecond in units of 2^-32 ms. With
    /// `is_utc`, the time scale is UTC according to the receiver, otherwise GPS time.
    pub fn week_and_tow(&self, is_utc: bool) -> (u16, u32, u32) {
        let leap_ns = if is_utc { i128::from(self.leap_s) * 1_000_000_000 } else { 0 };
        let ns = self.gps_ns - leap_ns - i128::from(self.weeks_behind) * WEEK_MS * 1_000_000;
        let ms = ns.div_euclid(1_000_000);
        let rest = (ns.rem_euclid(1_000_000) << 32) / 1_000_000;
        (ms.div_euclid(WEEK_MS) as u16, ms.rem_euclid(WEEK_MS) as u32, rest as u32)
    }
}

/// A time scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// GPS time.
    Gps,
    /// UTC as POSIX time, which has no leap seconds.
    Utc,
}

/// The first time at or after `from` that is a multiple of `period_ns` in `scale`.
pub fn next_on_grid(epoch: Epoch, scale: Scale, from: SimTime, period_ns: u64) -> SimTime {
    let ns = match scale {
        Scale::Gps => epoch.gps_ns(from),
        Scale::Utc => epoch.unix_ns(from),
    };
    let past = ns.rem_euclid(i128::from(period_ns.max(1))) as u64;
    if past == 0 { from } else { SimTime(from.0 + period_ns - past) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: LeapSeconds = LeapSeconds::Told { inserted_on: None };

    #[test]
    fn an_inserted_second_is_the_sixtieth() {
        let leap = LeapSeconds::Told { inserted_on: "2026-06-30".parse().ok() };
        let begins = epoch("2026-06-30T23:59:59Z");
        let shown = |at_ms: u64| {
            let stamp = Stamp::new(begins, SimTime(at_ms * 1_000_000), leap, 0.0);
            let utc = stamp.utc;
            (utc.day(), utc.hour(), utc.minute(), stamp.second(), stamp.nano_ns, stamp.leap_s)
        };
        assert_eq!(shown(994), (30, 23, 59, 59, 994_000_000, 18));
        // 0.996 s is rounded to 1.00 s, so the leap second has begun.
        assert_eq!(shown(996), (30, 23, 59, 60, -4_000_000, 18));
        assert_eq!(shown(1500), (30, 23, 59, 60, 500_000_000, 18));
        assert_eq!(shown(2000), (1, 0, 0, 0, 0, 19));
        let unknown = LeapSeconds::OfFirmware { gps_minus_utc_s: 18 };
        let stamp = Stamp::new(begins, SimTime(1_500_000_000), unknown, 0.0);
        assert_eq!((stamp.second(), stamp.utc.day()), (0, 1));
    }

    /// A date of 2026, reduced by 1024 weeks, is a date of 2007.
    #[test]
    fn weeks_begin_again_after_1024() {
        let stamp = Stamp::new(epoch("2026-11-21T09:27:25Z"), SimTime(0), TOLD, 0.0);
        assert_eq!(stamp.in_weeks_from(2029), stamp);
        let old = stamp.in_weeks_from(1421);
        assert_eq!((old.week, old.tow_ms, old.leap_s), (1421, 552_463_000, 18));
        assert_eq!(old.utc.to_string(), "2007-04-07T09:27:25");
        assert_eq!(old.week_and_tow(false).0, 1421);
        assert_eq!(stamp.in_weeks_from(3000).week, 3469);
    }

    fn epoch(text: &str) -> Epoch {
        Epoch::new(text.parse().unwrap())
    }

    #[test]
    fn the_example_of_the_notes() {
        let stamp = Stamp::new(epoch("2026-11-21T09:27:25Z"), SimTime(0), TOLD, -120.0);
        assert_eq!((stamp.week, stamp.tow_ms, stamp.leap_s), (2445, 552_463_000, 18));
        assert_eq!((stamp.utc.to_string().as_str(), stamp.nano_ns), ("2026-11-21T09:27:25", -120));
    }

    #[test]
    fn seconds_round_up_with_negative_nanoseconds() {
        let at = SimTime(996_000_000);
        let stamp = Stamp::new(epoch("2026-12-31T23:59:59Z"), at, TOLD, 0.0);
        assert_eq!(stamp.utc.to_string(), "2027-01-01T00:00:00");
        assert_eq!(stamp.nano_ns, -4_000_000);
        let firmware = LeapSeconds::OfFirmware { gps_minus_utc_s: 16 };
        let stamp = Stamp::new(epoch("2026-12-31T23:59:59Z"), SimTime(0), firmware, 0.0);
        assert_eq!(stamp.utc.to_string(), "2027-01-01T00:00:01");
    }

    #[test]
    fn epochs_stand_on_gps_time() {
        let epoch = epoch("2026-11-21T09:27:25.130Z");
        assert_eq!(next_on_grid(epoch, Scale::Gps, SimTime(0), 100_000_000), SimTime(70_000_000));
        assert_eq!(
            next_on_grid(epoch, Scale::Gps, SimTime(70_000_000), 100_000_000),
            SimTime(70_000_000)
        );
        assert_eq!(
            next_on_grid(epoch, Scale::Gps, SimTime(0), 1_000_000_000),
            SimTime(870_000_000)
        );
    }
}
