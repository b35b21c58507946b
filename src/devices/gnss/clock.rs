//! What time the receiver's messages say it is.

use jiff::civil::DateTime;

use crate::time::{Epoch, SimTime, gps_minus_utc_s};

const WEEK_NS: i128 = 604_800_000_000_000;

/// An instant as messages write it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// GPS week.
    pub week: u16,
    /// Time of the GPS week, ms.
    pub tow_ms: u32,
    /// GPS minus UTC as the receiver believes it, seconds.
    pub leap_s: i8,
    /// UTC as the receiver believes it, rounded to 10 ms.
    pub utc: DateTime,
    /// To be added to the whole second of `utc` for the exact time, ns.
    pub nano_ns: i32,
    /// GPS time in whole seconds since the GPS epoch.
    pub gps_s: i64,
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
        let gps_ns = epoch.gps_ns(at);
        let unix_s = epoch.unix_ns(at).div_euclid(1_000_000_000) as i64;
        let true_leap_s = gps_minus_utc_s(unix_s) as i8;
        let leap_s = if is_leap_known { true_leap_s } else { firmware_leap_s };
        let believed = i64::from(true_leap_s - leap_s) * 1_000_000_000;
        // Messages round to hundredths, so that they agree with one another.
        let utc_ns = at.0 as i64 + believed;
        let start_ns = epoch.unix_ns(SimTime::ZERO) as i64;
        let hundredths = (start_ns + utc_ns + 5_000_000).div_euclid(10_000_000);
        let shown = hundredths * 10_000_000;
        let second = shown.div_euclid(1_000_000_000);
        let nano_ns = start_ns + utc_ns - second * 1_000_000_000;
        let utc = jiff::Timestamp::from_nanosecond(shown.into())
            .unwrap_or(jiff::Timestamp::MAX)
            .to_zoned(jiff::tz::TimeZone::UTC)
            .datetime();
        Self {
            week: gps_ns.div_euclid(WEEK_NS) as u16,
            tow_ms: ((gps_ns.rem_euclid(WEEK_NS) + 500_000) / 1_000_000 % (WEEK_NS / 1_000_000))
                as u32,
            leap_s,
            utc,
            nano_ns: (nano_ns as f64 + error_ns).round() as i32,
            gps_s: gps_ns.div_euclid(1_000_000_000) as i64,
        }
    }
}

/// The first instant not before `from` whose GPS time is a multiple of `period_ns`.
pub fn next_on_grid(epoch: Epoch, from: SimTime, period_ns: u64) -> SimTime {
    let past = epoch.gps_ns(from).rem_euclid(i128::from(period_ns.max(1))) as u64;
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
        assert_eq!(next_on_grid(epoch, SimTime(0), 100_000_000), SimTime(70_000_000));
        assert_eq!(next_on_grid(epoch, SimTime(70_000_000), 100_000_000), SimTime(70_000_000));
        assert_eq!(next_on_grid(epoch, SimTime(0), 1_000_000_000), SimTime(870_000_000));
    }
}
