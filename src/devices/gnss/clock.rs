//! What time the receiver's messages say it is.

use jiff::civil::DateTime;

use crate::time::{Epoch, SimTime, gps_minus_utc_s};

const WEEK_MS: i128 = 604_800_000;

/// An instant as messages write it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// GPS week of `tow_ms`.
    pub week: u16,
    /// Time of the GPS week to the nearest millisecond.
    pub tow_ms: u32,
    /// To be added to `tow_ms` for the exact time, -500,000 to 500,000 ns.
    pub tow_rest_ns: i32,
    /// GPS minus UTC as the receiver believes it, seconds.
    pub leap_s: i8,
    /// UTC as the receiver believes it, rounded to 10 ms.
    pub utc: DateTime,
    /// To be added to the whole second of `utc` for the exact time, -5,000,000 to 994,999,999 ns.
    pub nano_ns: i32,
    /// GPS time as the receiver believes it, since the GPS epoch.
    pub gps_ns: i128,
}

impl Stamp {
    /// `at` in the eyes of a receiver that knows the leap seconds, or else takes `firmware_leap_s`
    /// for them. `error_ns` is the receiver's error in time.
    pub fn new(
        epoch: Epoch,
        at: SimTime,
        is_leap_known: bool,
        firmware_leap_s: i8,
        error_ns: f64,
    ) -> Self {
        let error_ns = error_ns.round() as i64;
        let unix_ns = epoch.unix_ns(at);
        let true_leap_s = gps_minus_utc_s(unix_ns.div_euclid(1_000_000_000) as i64) as i8;
        let leap_s = if is_leap_known { true_leap_s } else { firmware_leap_s };
        let gps_ns = epoch.gps_ns(at) + i128::from(error_ns);
        // The week follows the rounded time, so that the last half of a millisecond of a week is
        // the start of the next.
        let gps_ms = (gps_ns + 500_000).div_euclid(1_000_000);
        // UTC is rounded to hundredths, so that all messages agree with NMEA.
        let believed_ns = i64::from(true_leap_s - leap_s) * 1_000_000_000 + error_ns;
        let utc_ns = unix_ns as i64 + believed_ns;
        let shown_ns = (utc_ns + 5_000_000).div_euclid(10_000_000) * 10_000_000;
        let utc = jiff::Timestamp::from_nanosecond(shown_ns.into())
            .unwrap_or(jiff::Timestamp::MAX)
            .to_zoned(jiff::tz::TimeZone::UTC)
            .datetime();
        Self {
            week: gps_ms.div_euclid(WEEK_MS) as u16,
            tow_ms: gps_ms.rem_euclid(WEEK_MS) as u32,
            tow_rest_ns: (gps_ns - gps_ms * 1_000_000) as i32,
            leap_s,
            utc,
            nano_ns: (utc_ns - shown_ns.div_euclid(1_000_000_000) * 1_000_000_000) as i32,
            gps_ns,
        }
    }

    /// Week and time of week in another time scale, whole milliseconds and the rest in units of
    /// 2^-32 ms: GPS time, or UTC as the receiver believes it.
    pub fn week_and_tow(&self, is_utc: bool) -> (u16, u32, u32) {
        let leap_ns = if is_utc { i128::from(self.leap_s) * 1_000_000_000 } else { 0 };
        let ns = self.gps_ns - leap_ns;
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
    /// UTC, whole seconds from it.
    Utc,
}

/// The first instant not before `from` that is a multiple of `period_ns` in a scale.
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

    fn epoch(text: &str) -> Epoch {
        Epoch::new(text.parse().unwrap())
    }

    #[test]
    fn the_example_of_the_notes() {
        let stamp = Stamp::new(epoch("2026-11-21T09:27:25Z"), SimTime(0), true, 18, -120.0);
        assert_eq!((stamp.week, stamp.tow_ms, stamp.leap_s), (2445, 552_463_000, 18));
        assert_eq!((stamp.utc.to_string().as_str(), stamp.nano_ns), ("2026-11-21T09:27:25", -120));
    }

    #[test]
    fn seconds_round_up_with_negative_nanoseconds() {
        let at = SimTime(996_000_000);
        let stamp = Stamp::new(epoch("2026-12-31T23:59:59Z"), at, true, 18, 0.0);
        assert_eq!(stamp.utc.to_string(), "2027-01-01T00:00:00");
        assert_eq!(stamp.nano_ns, -4_000_000);
        let stamp = Stamp::new(epoch("2026-12-31T23:59:59Z"), SimTime(0), false, 16, 0.0);
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
