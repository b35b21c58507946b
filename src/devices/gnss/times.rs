//! NAV messages with the time scales of other systems, and NAV-ORB.

use super::messages::{Reporter, gnss_id};
use crate::sensors::gnss::navigator::TrackedSatellite;
use crate::wire::ubx::nav_more::{
    NavOrb, NavTimebds, NavTimegal, NavTimeglo, NavTimeqzss, OrbitInfo,
};

const WEEK_S: i64 = 604_800;
const DAY_S: i64 = 86_400;
/// GPS week at the start of BeiDou's week count, 2006-01-01.
const BEIDOU_WEEK: i64 = 1356;
/// GPS week at the start of Galileo's week count, 1999-08-22.
const GALILEO_WEEK: i64 = 1024;
/// GPS time minus BeiDou time, without whole weeks.
const BEIDOU_BEHIND_S: i64 = 14;
/// GLONASS time minus UTC, seconds.
pub(super) const MOSCOW_S: i64 = 3 * 3600;
/// Year in which the first of GLONASS's four-year periods starts.
const FOUR_YEARS_SINCE: i64 = 1996;
/// Days of a period of four years.
const FOUR_YEARS_DAYS: i64 = 1461;

/// A time as GLONASS sends it: four-year period, day and second of the day.
pub(super) struct GlonassTime {
    /// Second of the day.
    pub tod_s: u32,
    /// Day of the period of four years, from 1.
    pub day: u16,
    /// Number of the four-year period; 1 starts in 1996.
    pub four_years: u8,
}

impl GlonassTime {
    /// GLONASS time at a GPS time (since the GPS epoch); `leap_s` is GPS minus UTC.
    pub(super) fn new(gps_s: i64, leap_s: i8) -> Self {
        // Days since the GPS epoch, 1980-01-06; the period of 1980 began five days before it.
        let local_s = gps_s - i64::from(leap_s) + MOSCOW_S;
        let days = local_s.div_euclid(DAY_S) + 5;
        let periods = days.div_euclid(FOUR_YEARS_DAYS) - (FOUR_YEARS_SINCE - 1980) / 4;
        Self {
            tod_s: local_s.rem_euclid(DAY_S) as u32,
            day: (days.rem_euclid(FOUR_YEARS_DAYS) + 1) as u16,
            four_years: (periods + 1) as u8,
        }
    }
}

/// Week, second of the week (rounded to nearest) and remainder in nanoseconds.
struct Weeks {
    week: i16,
    tow_s: u32,
    rest_ns: i32,
    valid: u8,
}

impl Reporter<'_> {
    /// GPS time since the GPS epoch, rounded to seconds, and the remainder in nanoseconds.
    fn seconds(&self) -> (i64, i32) {
        let ns = self.stamp.gps_ns;
        let s = (ns + 500_000_000).div_euclid(1_000_000_000);
        (s as i64, (ns - s * 1_000_000_000) as i32)
    }

    fn weeks(&self, behind_s: i64, first_week: i64) -> Weeks {
        if !self.solution.is_time_known {
            return Weeks { week: 0, tow_s: 0, rest_ns: 0, valid: 0 };
        }
        let (s, rest_ns) = self.seconds();
        let s = s - behind_s;
        Weeks {
            week: (s.div_euclid(WEEK_S) - first_week) as i16,
            tow_s: s.rem_euclid(WEEK_S) as u32,
            rest_ns,
            valid: 0b011 | u8::from(self.solution.is_leap_known) << 2,
        }
    }

    pub(super) fn timegal(&self) -> NavTimegal {
        let Weeks { week, tow_s, rest_ns, valid } = self.weeks(0, GALILEO_WEEK);
        NavTimegal {
            itow_ms: self.itow(),
            tow_s,
            ftow_ns: rest_ns,
            week,
            leap_s: self.stamp.leap_s,
            valid,
            t_acc_ns: self.t_acc(),
        }
    }

    pub(super) fn timebds(&self) -> NavTimebds {
        let Weeks { week, tow_s, rest_ns, valid } = self.weeks(BEIDOU_BEHIND_S, BEIDOU_WEEK);
        NavTimebds {
            itow_ms: self.itow(),
            sow_s: tow_s,
            fsow_ns: rest_ns,
            week,
            leap_s: self.stamp.leap_s - BEIDOU_BEHIND_S as i8,
            valid,
            t_acc_ns: self.t_acc(),
        }
    }

    /// NAV-TIMEQZSS, always invalid because no QZSS satellite is received.
    pub(super) fn timeqzss(&self) -> NavTimeqzss {
        NavTimeqzss { itow_ms: self.itow(), t_acc_ns: u32::MAX, ..NavTimeqzss::default() }
    }

    pub(super) fn timeglo(&self) -> NavTimeglo {
        let none = NavTimeglo { itow_ms: self.itow(), t_acc_ns: u32::MAX, ..NavTimeglo::default() };
        if !self.solution.is_time_known || !self.solution.is_leap_known {
            return none;
        }
        let (s, ftod_ns) = self.seconds();
        let GlonassTime { tod_s, day, four_years } = GlonassTime::new(s, self.stamp.leap_s);
        NavTimeglo { tod_s, ftod_ns, day, four_years, valid: 0b11, t_acc_ns: self.t_acc(), ..none }
    }

    pub(super) fn orb(&self) -> NavOrb {
        let orbit = |t: &TrackedSatellite| {
            let is_tracked = t.cno_dbhz[0].is_some();
            OrbitInfo {
                gnss_id: gnss_id(t.satellite.system),
                sv_id: t.satellite.svid,
                flags: if t.satellite.is_healthy { 1 } else { 2 } | 3 << 2,
                // Ephemeris usable for two hours, almanac for a fortnight.
                ephemeris: if is_tracked { 8 | 1 << 5 } else { 0 },
                almanac: 14 | 1 << 5,
                other: 0,
            }
        };
        let satellites: Vec<_> = self.solution.satellites.iter().take(255).map(orbit).collect();
        NavOrb {
            itow_ms: self.itow(),
            version: 1,
            count: satellites.len() as u8,
            satellites,
            ..NavOrb::default()
        }
    }
}
