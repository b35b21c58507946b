//! Encodes a solution as UBX messages.

use glam::{DVec3, Vec3};

use super::clock::Stamp;
use super::sentences::shown_dop;
use crate::frames::GeoOrigin;
use crate::sensors::gnss::constellation::Satellite;
use crate::sensors::gnss::corrected::Baseline;
use crate::sensors::gnss::dop::Dop;
use crate::sensors::gnss::navigator::{Fix, Solution, TrackedSatellite};
use crate::sensors::gnss::settings::{BestFix, GnssSystem};
use crate::sensors::gnss::tracked::CorrectionSource;
use crate::time::leap_second_near;
use crate::wire::ubx::mon::TimTp;
use crate::wire::ubx::nav::*;
use crate::wire::ubx::nav_more::*;
use crate::wire::ubx::{Message, MessageId, Payload};

const WEEK_MS: u32 = 604_800_000;
/// Value of an unknown accuracy.
const UNKNOWN: u32 = u32::MAX;

/// Data for the messages of an epoch: the solution and the receiver's state.
pub struct Reporter<'a> {
    /// The epoch's solution.
    pub solution: &'a Solution,
    /// Whether the receiver holds its surveyed or configured position; the solution then determines only time.
    pub is_held: bool,
    /// Day at whose end the next leap second is inserted.
    pub leap_second_on: Option<jiff::civil::Date>,
    /// Time of the solution on the receiver's clock.
    pub stamp: &'a Stamp,
    /// Undocumented bits to set in `valid` and `flags2` of NAV-PVT.
    pub pvt_extra_bits: [u8; 2],
    /// Time since start or reset, ms.
    pub uptime_ms: u32,
    /// Clock drift, ns/s.
    pub drift_ns_s: f64,
    /// The next PPS pulse.
    pub next_pulse: NextPulse,
    /// UTC standard in the numbering of NAV-TIMEUTC.
    pub utc_standard: u8,
}

/// The next PPS pulse, for TIM-TP.
pub struct NextPulse {
    /// Time of the pulse on the receiver's clock.
    pub stamp: Stamp,
    /// Quantisation error, ps: the pulse's edge, on a tick of the receiver's clock, minus the exact time; positive if
    /// the edge is late.
    pub quantisation_ps: i32,
    /// Whether pulses are aligned to UTC instead of GPS time.
    pub is_utc: bool,
}

impl Reporter<'_> {
    /// The message `id`; `None` for a message that [`Reporter`] does not build.
    pub fn message(&self, id: MessageId) -> Option<Message> {
        Some(match id {
            NavPvt::ID => Message::NavPvt(self.pvt()),
            NavSol::ID => Message::NavSol(self.sol()),
            NavPosecef::ID => Message::NavPosecef(self.posecef()),
            NavPosllh::ID => Message::NavPosllh(self.posllh()),
            NavHpposecef::ID => Message::NavHpposecef(self.hpposecef()),
            NavHpposllh::ID => Message::NavHpposllh(self.hpposllh()),
            NavStatus::ID => Message::NavStatus(self.status()),
            NavDop::ID => Message::NavDop(self.dop()),
            NavVelecef::ID => Message::NavVelecef(self.velecef()),
            NavVelned::ID => Message::NavVelned(self.velned()),
            NavTimegps::ID => Message::NavTimegps(self.timegps()),
            NavTimeutc::ID => Message::NavTimeutc(self.timeutc()),
            NavClock::ID => Message::NavClock(self.clock()),
            NavTimels::ID => Message::NavTimels(self.timels()),
            NavSvinfo::ID => Message::NavSvinfo(self.svinfo()),
            NavSat::ID => Message::NavSat(self.sat()),
            NavCov::ID => Message::NavCov(self.cov()),
            NavRelposned::ID => Message::NavRelposned(self.relposned()),
            TimTp::ID => Message::TimTp(self.tim_tp()),
            NavTimeglo::ID => Message::NavTimeglo(self.timeglo()),
            NavTimebds::ID => Message::NavTimebds(self.timebds()),
            NavTimegal::ID => Message::NavTimegal(self.timegal()),
            NavTimeqzss::ID => Message::NavTimeqzss(self.timeqzss()),
            NavOrb::ID => Message::NavOrb(self.orb()),
            // These messages have no content but the time of week, because Menura does not emulate the correction
            // stations and services that they report.
            NavDgps::ID => Message::NavDgps(NavDgps { itow_ms: self.itow(), ..NavDgps::default() }),
            NavSlas::ID => Message::NavSlas(NavSlas { itow_ms: self.itow(), ..NavSlas::default() }),
            NavAopstatus::ID => {
                let itow_ms = self.itow();
                Message::NavAopstatus(NavAopstatus { itow_ms, ..NavAopstatus::default() })
            }
            NavPl::ID => {
                Message::NavPl(NavPl { version: 1, itow_ms: self.itow(), ..NavPl::default() })
            }
            NavEoe::ID => Message::NavEoe(NavEoe { itow_ms: self.itow() }),
            _ => return None,
        })
    }

    /// Time of week, ms. Until the receiver knows the time, this is the time since its start.
    pub fn itow(&self) -> u32 {
        if self.solution.is_time_known { self.stamp.tow_ms } else { self.uptime_ms }
    }

    /// Nanoseconds of the time of week that [`Self::itow`] omits, because it counts milliseconds.
    fn ftow(&self) -> i32 {
        if self.solution.is_time_known { self.stamp.tow_rest_ns } else { 0 }
    }

    fn week(&self) -> i16 {
        if self.solution.is_time_known { self.stamp.week as i16 } else { 0 }
    }

    fn has_fix(&self) -> bool {
        self.solution.fix.is_some()
    }

    fn fix_type(&self) -> u8 {
        match self.solution.fix {
            Fix::None => 0,
            _ if self.is_held => 5,
            Fix::DeadReckoning => 1,
            Fix::TwoD => 2,
            Fix::ThreeD(_) => 3,
        }
    }

    /// Carrier solution: 0 none, 1 float, 2 fixed.
    fn carrier_solution(&self) -> u8 {
        match self.solution.fix {
            Fix::ThreeD(BestFix::RtkFloat) => 1,
            Fix::ThreeD(BestFix::RtkFixed) => 2,
            _ => 0,
        }
    }

    fn is_differential(&self) -> bool {
        matches!(self.solution.fix, Fix::ThreeD(grade) if grade != BestFix::Standalone)
    }

    /// Age of corrections as the code of NAV-PVT; 0 without corrections.
    fn correction_age(&self) -> u16 {
        const STEPS_S: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0];
        match self.solution.baseline {
            Some(baseline) => {
                let age_s = self.solution.at.saturating_since(baseline.by.of).as_secs_f64();
                1 + STEPS_S.iter().filter(|step| age_s >= **step).count() as u16
            }
            // Corrections of unknown age count as recent.
            None => self.is_differential().into(),
        }
    }

    /// Flags of a fix: bit 0 fix within limits, 1 differential.
    fn fix_flags(&self) -> u8 {
        let is_valid = self.has_fix() && self.solution.is_within_limits;
        u8::from(is_valid) | u8::from(self.is_differential()) << 1
    }

    /// Accuracy `metres` in steps of `unit` metres; [`UNKNOWN`] without a fix.
    fn accuracy(&self, metres: f64, unit: f64) -> u32 {
        if self.has_fix() { (metres / unit).round().min(4e9) as u32 } else { UNKNOWN }
    }

    fn horizontal(&self, unit: f64) -> u32 {
        self.accuracy(self.solution.horizontal_accuracy_m(), unit)
    }

    fn vertical(&self, unit: f64) -> u32 {
        self.accuracy(self.solution.vertical_accuracy_m(), unit)
    }

    fn position_accuracy(&self, unit: f64) -> u32 {
        let (h, v) = (self.solution.horizontal_accuracy_m(), self.solution.vertical_accuracy_m());
        self.accuracy((h * h + v * v).sqrt(), unit)
    }

    fn speed_accuracy(&self, unit: f64) -> u32 {
        if self.has_fix() {
            (self.solution.velocity_std_m_s * 3_f64.sqrt() / unit).round() as u32
        } else {
            (20.0 / unit) as u32
        }
    }

    fn course_accuracy_1e5_deg(&self) -> u32 {
        let speed = self.solution.ground_speed_m_s();
        let angle = libm::atan2(self.solution.velocity_std_m_s, speed.max(1e-9)).to_degrees();
        if self.has_fix() { (angle.min(180.0) * 1e5) as u32 } else { 18_000_000 }
    }

    /// Time accuracy, ns; [`UNKNOWN`] without a fix.
    pub(super) fn t_acc(&self) -> u32 {
        if self.has_fix() { 25 } else { UNKNOWN }
    }

    /// Longitude and latitude in 1e-9 degrees, height above the ellipsoid and above mean sea level in 0.1 mm.
    fn llh(&self) -> [i64; 4] {
        let at = self.solution.position;
        if !self.has_fix() {
            return [0; 4];
        }
        [
            (at.longitude_deg * 1e9).round() as i64,
            (at.latitude_deg * 1e9).round() as i64,
            (at.altitude_m * 1e4).round() as i64,
            ((at.altitude_m - self.solution.geoid_separation_m) * 1e4).round() as i64,
        ]
    }

    /// ECEF position (m) and velocity (m/s).
    fn ecef(&self) -> (DVec3, DVec3) {
        if !self.has_fix() {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let at = self.solution.position;
        (at.to_ecef(), GeoOrigin::new(at).ecef_direction(self.solution.velocity_enu_m_s))
    }

    fn velocity_ned(&self, unit: f64) -> [i32; 3] {
        let v = self.solution.velocity_enu_m_s / unit;
        let ned = DVec3::new(v.y, v.x, -v.z);
        if self.has_fix() { ned.to_array().map(|x| x.round() as i32) } else { [0; 3] }
    }

    fn ground_speed(&self, unit: f64) -> u32 {
        if self.has_fix() { (self.solution.ground_speed_m_s() / unit).round() as u32 } else { 0 }
    }

    fn course_1e5_deg(&self) -> i32 {
        if self.has_fix() { (self.solution.course_deg() * 1e5).round() as i32 } else { 0 }
    }

    fn dop_centi(&self, pick: impl Fn(&Dop) -> f64) -> u16 {
        shown_dop(self.solution, pick).map_or(9999, |dop| (dop * 100.0).round().min(9999.0) as u16)
    }

    fn num_sv(&self) -> u8 {
        self.solution.used().count().min(255) as u8
    }

    fn pvt(&self) -> NavPvt {
        let s = self.solution;
        let known = u8::from(s.is_time_known);
        let [valid_extra, flags2_extra] = self.pvt_extra_bits;
        let [lon, lat, height, h_msl] = self.llh();
        let t = self.civil();
        NavPvt {
            itow_ms: self.itow(),
            year: t.year,
            month: t.month,
            day: t.day,
            hour: t.hour,
            minute: t.minute,
            second: t.second,
            valid: known * (0b011 | u8::from(s.is_leap_known) << 2 | valid_extra),
            t_acc_ns: self.t_acc(),
            nano_ns: t.nano_ns,
            fix_type: self.fix_type(),
            flags: self.fix_flags() | self.carrier_solution() << 6,
            flags2: known * (0xe0 | flags2_extra),
            num_sv: self.num_sv(),
            lon_1e7_deg: rounded(lon, 100),
            lat_1e7_deg: rounded(lat, 100),
            height_mm: rounded(height, 10),
            h_msl_mm: rounded(h_msl, 10),
            h_acc_mm: self.horizontal(1e-3),
            v_acc_mm: self.vertical(1e-3),
            vel_ned_mm_s: self.velocity_ned(1e-3),
            g_speed_mm_s: self.ground_speed(1e-3) as i32,
            head_mot_1e5_deg: self.course_1e5_deg(),
            s_acc_mm_s: self.speed_accuracy(1e-3),
            head_acc_1e5_deg: self.course_accuracy_1e5_deg(),
            p_dop_centi: self.dop_centi(Dop::position),
            flags3: u16::from(!self.has_fix()) | self.correction_age() << 1,
            ..NavPvt::default()
        }
    }

    fn sol(&self) -> NavSol {
        let (place, velocity) = self.ecef();
        NavSol {
            itow_ms: self.itow(),
            ftow_ns: self.ftow(),
            week: self.week(),
            gps_fix: self.fix_type(),
            flags: self.fix_flags() | (u8::from(self.solution.is_time_known) * 0x0c),
            ecef_cm: (place * 100.0).to_array().map(|x| x.round() as i32),
            p_acc_cm: self.position_accuracy(1e-2),
            ecef_v_cm_s: (velocity * 100.0).to_array().map(|x| x.round() as i32),
            s_acc_cm_s: self.speed_accuracy(1e-2),
            p_dop_centi: self.dop_centi(Dop::position),
            num_sv: self.num_sv(),
            ..NavSol::default()
        }
    }

    fn posecef(&self) -> NavPosecef {
        NavPosecef {
            itow_ms: self.itow(),
            ecef_cm: (self.ecef().0 * 100.0).to_array().map(|x| x.round() as i32),
            p_acc_cm: self.position_accuracy(1e-2),
        }
    }

    fn posllh(&self) -> NavPosllh {
        let [lon, lat, height, h_msl] = self.llh();
        NavPosllh {
            itow_ms: self.itow(),
            lon_1e7_deg: rounded(lon, 100),
            lat_1e7_deg: rounded(lat, 100),
            height_mm: rounded(height, 10),
            h_msl_mm: rounded(h_msl, 10),
            h_acc_mm: self.horizontal(1e-3),
            v_acc_mm: self.vertical(1e-3),
        }
    }

    fn hpposecef(&self) -> NavHpposecef {
        let tenths_mm = (self.ecef().0 * 1e4).to_array().map(|x| x.round() as i64);
        NavHpposecef {
            itow_ms: self.itow(),
            ecef_cm: tenths_mm.map(|x| rounded(x, 100)),
            ecef_hp_100um: tenths_mm.map(|x| remainder(x, 100)),
            flags: u8::from(!self.has_fix()),
            p_acc_100um: self.position_accuracy(1e-4),
            ..NavHpposecef::default()
        }
    }

    fn hpposllh(&self) -> NavHpposllh {
        let [lon, lat, height, h_msl] = self.llh();
        NavHpposllh {
            flags: u8::from(!self.has_fix()),
            itow_ms: self.itow(),
            lon_1e7_deg: rounded(lon, 100),
            lat_1e7_deg: rounded(lat, 100),
            height_mm: rounded(height, 10),
            h_msl_mm: rounded(h_msl, 10),
            lon_hp_1e9_deg: remainder(lon, 100),
            lat_hp_1e9_deg: remainder(lat, 100),
            height_hp_100um: remainder(height, 10),
            h_msl_hp_100um: remainder(h_msl, 10),
            h_acc_100um: self.horizontal(1e-4),
            v_acc_100um: self.vertical(1e-4),
            ..NavHpposllh::default()
        }
    }

    fn status(&self) -> NavStatus {
        NavStatus {
            itow_ms: self.itow(),
            gps_fix: self.fix_type(),
            flags: self.fix_flags() | (u8::from(self.solution.is_time_known) * 0x0c),
            fix_stat: u8::from(self.is_differential()) | u8::from(self.carrier_solution() > 0) << 1,
            flags2: 0x08 | self.carrier_solution() << 6,
            ttff_ms: self.solution.time_to_first_fix_ns.map_or(0, |ns| (ns / 1_000_000) as u32),
            msss_ms: self.uptime_ms,
        }
    }

    fn dop(&self) -> NavDop {
        NavDop {
            itow_ms: self.itow(),
            g_dop_centi: self.dop_centi(Dop::geometric),
            p_dop_centi: self.dop_centi(Dop::position),
            t_dop_centi: self.dop_centi(Dop::time),
            v_dop_centi: self.dop_centi(Dop::vertical),
            h_dop_centi: self.dop_centi(Dop::horizontal),
            n_dop_centi: self.dop_centi(|dop| dop.axes().y),
            e_dop_centi: self.dop_centi(|dop| dop.axes().x),
        }
    }

    fn velecef(&self) -> NavVelecef {
        NavVelecef {
            itow_ms: self.itow(),
            ecef_v_cm_s: (self.ecef().1 * 100.0).to_array().map(|x| x.round() as i32),
            s_acc_cm_s: self.speed_accuracy(1e-2),
        }
    }

    fn velned(&self) -> NavVelned {
        let speed = if self.has_fix() { self.solution.velocity_enu_m_s.length() } else { 0.0 };
        NavVelned {
            itow_ms: self.itow(),
            vel_ned_cm_s: self.velocity_ned(1e-2),
            speed_cm_s: (speed * 100.0).round() as u32,
            g_speed_cm_s: self.ground_speed(1e-2),
            heading_1e5_deg: self.course_1e5_deg(),
            s_acc_cm_s: self.speed_accuracy(1e-2),
            c_acc_1e5_deg: self.course_accuracy_1e5_deg(),
        }
    }

    fn timegps(&self) -> NavTimegps {
        let s = self.solution;
        NavTimegps {
            itow_ms: self.itow(),
            ftow_ns: self.ftow(),
            week: self.week(),
            leap_s: self.stamp.leap_s,
            valid: (u8::from(s.is_time_known) * 0b011) | (u8::from(s.is_leap_known) << 2),
            t_acc_ns: self.t_acc(),
        }
    }

    fn timeutc(&self) -> NavTimeutc {
        let s = self.solution;
        let t = self.civil();
        NavTimeutc {
            itow_ms: self.itow(),
            t_acc_ns: self.t_acc(),
            nano_ns: t.nano_ns,
            year: t.year,
            month: t.month,
            day: t.day,
            hour: t.hour,
            minute: t.minute,
            second: t.second,
            valid: (u8::from(s.is_time_known) * 0b011)
                | (u8::from(s.is_leap_known) * (0x04 | self.utc_standard << 4)),
        }
    }

    fn clock(&self) -> NavClock {
        NavClock {
            itow_ms: self.itow(),
            bias_ns: self.clock_bias_ns().round() as i32,
            drift_ns_s: self.drift_ns_s.round() as i32,
            t_acc_ns: self.t_acc(),
            f_acc_ps_s: if self.has_fix() { 200 } else { UNKNOWN },
        }
    }

    /// Clock bias of the receiver.
    pub fn clock_bias_ns(&self) -> f64 {
        clock_bias(self.drift_ns_s, self.uptime_ms).1
    }

    fn timels(&self) -> NavTimels {
        let is_known = self.solution.is_leap_known;
        // Rounded to the nearest millisecond, like all other fields of this message.
        let week = i64::from(self.stamp.week) + self.stamp.weeks_behind;
        let now_ms = week * 604_800_000 + i64::from(self.stamp.tow_ms);
        let now_ns = i128::from(now_ms) * 1_000_000;
        let (event_s, leap_after_s) = leap_second_near(now_ns, self.leap_second_on);
        let is_ahead = event_s * 1000 > now_ms;
        // The last second of the day at whose end the leap second is inserted.
        let last_s = event_s - i64::from(leap_after_s) - 1;
        NavTimels {
            itow_ms: self.itow(),
            source: if is_known { 2 } else { 0 },
            leap_s: self.stamp.leap_s,
            change_source: if is_known { 2 } else { 0 },
            change_s: i8::from(is_known && is_ahead),
            time_to_event_s: (event_s - now_ms.div_euclid(1000)) as i32,
            event_week: last_s.div_euclid(604_800) as u16,
            event_day: (last_s.rem_euclid(604_800) / 86_400 + 1) as u16,
            valid: u8::from(is_known) * 0b11,
            ..NavTimels::default()
        }
    }

    fn sat(&self) -> NavSat {
        let row = |t: &TrackedSatellite| {
            let quality: u32 = match t.cno_dbhz {
                [Some(_), Some(_)] => 7,
                [Some(_), None] => 4,
                _ => 1,
            };
            let is_tracked = t.cno_dbhz[0].is_some();
            let health = if t.satellite.is_healthy { 1 } else { 2 };
            let orbit: u32 = if is_tracked { 1 } else { 2 };
            // Bit 6: corrected; 16 and 17: by SBAS, by RTCM; 20 and 21: code and carrier corrected.
            let corrections = match t.correction.source {
                CorrectionSource::None => 0,
                CorrectionSource::Sbas => 1 << 6 | 1 << 16 | 1 << 20,
                CorrectionSource::Rtcm => {
                    1 << 6 | 1 << 17 | 1 << 20 | u32::from(t.correction.has_carrier) << 21
                }
            };
            SatInfo {
                gnss_id: gnss_id(t.satellite.system),
                sv_id: t.satellite.svid,
                cno_dbhz: t.cno_dbhz[0].map_or(0, |cno| cno.round() as u8),
                elevation_deg: t.elevation_deg.round() as i8,
                azimuth_deg: t.azimuth_deg.round() as i16 % 360,
                residual_dm: if t.is_used { (t.residual_m * 10.0).round() as i16 } else { 0 },
                flags: quality
                    | u32::from(t.is_used) << 3
                    | health << 4
                    | corrections
                    | orbit << 8
                    | u32::from(is_tracked) << 11
                    | 1 << 12,
            }
        };
        let satellites = self.solution.satellites.iter().take(255).map(row).collect();
        NavSat { itow_ms: self.itow(), version: 1, reserved1: [0; 2], satellites }
    }

    fn svinfo(&self) -> NavSvinfo {
        let channel = |(index, t): (usize, &TrackedSatellite)| ChannelInfo {
            channel: index as u8,
            sv_id: shared_number(&t.satellite),
            flags: u8::from(t.is_used)
                | u8::from(t.correction.source != CorrectionSource::None) << 1
                | 1 << 2
                | u8::from(t.cno_dbhz[0].is_some()) << 3,
            quality: if t.cno_dbhz[0].is_some() { 7 } else { 1 },
            cno_dbhz: t.cno_dbhz[0].map_or(0, |cno| cno.round() as u8),
            elevation_deg: t.elevation_deg.round() as i8,
            azimuth_deg: t.azimuth_deg.round() as i16 % 360,
            residual_cm: if t.is_used { (t.residual_m * 100.0).round() as i32 } else { 0 },
        };
        NavSvinfo {
            itow_ms: self.itow(),
            global_flags: 4,
            reserved1: [0; 2],
            channels: self.solution.satellites.iter().take(255).enumerate().map(channel).collect(),
        }
    }

    fn cov(&self) -> NavCov {
        let c = &self.solution.covariance_m2;
        let velocity = (self.solution.velocity_std_m_s.powi(2)) as f32;
        let diagonal = Vec3::splat(velocity);
        NavCov {
            itow_ms: self.itow(),
            pos_valid: u8::from(self.has_fix()),
            vel_valid: u8::from(self.has_fix()),
            pos_m2: [c.y_axis.y, c.x_axis.y, -c.y_axis.z, c.x_axis.x, -c.x_axis.z, c.z_axis.z]
                .map(|x| x as f32),
            vel_m2_s2: [diagonal.x, 0.0, 0.0, diagonal.y, 0.0, diagonal.z],
            ..NavCov::default()
        }
    }

    /// NAV-RELPOSNED: vector from the base station, if there is a carrier solution. With a moving base, vector and
    /// time belong to the epoch of the base's observations.
    fn relposned(&self) -> NavRelposned {
        let none = NavRelposned {
            version: 1,
            itow_ms: self.itow(),
            flags: u32::from(self.fix_flags()) | u32::from(self.carrier_solution()) << 3,
            ..NavRelposned::default()
        };
        let Some(Baseline { by, enu_m, covariance_m2 }) =
            self.solution.baseline.filter(|_| self.carrier_solution() > 0)
        else {
            return none;
        };
        let age_ms = (self.solution.at.saturating_since(by.of).as_nanos() / 1_000_000) as u32;
        let itow_ms = match by.is_moving {
            true => (self.itow() + WEEK_MS - age_ms.min(WEEK_MS)) % WEEK_MS,
            false => self.itow(),
        };
        let tenths_mm = |metres: f64| (metres * 1e4).round() as i64;
        let ned = [enu_m.y, enu_m.x, -enu_m.z].map(tenths_mm);
        let length_m = enu_m.length();
        let length = tenths_mm(length_m);
        let heading_deg = libm::atan2(enu_m.x, enu_m.y).to_degrees().rem_euclid(360.0);
        let c = &covariance_m2;
        let accuracy = |variance: f64| (variance.max(0.0).sqrt() * 1e4).round() as u32;
        let along = enu_m / length_m.max(1e-9);
        let across_m2 = (c.x_axis.x + c.y_axis.y) / 2.0;
        let level_m = enu_m.truncate().length().max(1e-9);
        let heading_acc_deg = libm::atan2(across_m2.max(0.0).sqrt(), level_m).to_degrees();
        NavRelposned {
            station: by.station,
            itow_ms,
            rel_pos_cm: ned.map(|x| rounded(x, 100)),
            rel_pos_hp_100um: ned.map(|x| remainder(x, 100)),
            length_cm: rounded(length, 100),
            length_hp_100um: remainder(length, 100),
            heading_1e5_deg: (heading_deg * 1e5).round() as i32,
            acc_100um: [c.y_axis.y, c.x_axis.x, c.z_axis.z].map(accuracy),
            acc_length_100um: accuracy(along.dot(*c * along)),
            acc_heading_1e5_deg: (heading_acc_deg * 1e5).round() as u32,
            flags: none.flags | 1 << 2 | u32::from(by.is_moving) << 5 | 1 << 8,
            ..none
        }
    }

    fn tim_tp(&self) -> TimTp {
        let NextPulse { stamp, quantisation_ps, is_utc } = &self.next_pulse;
        let (week, tow_ms, tow_sub_ms) = stamp.week_and_tow(*is_utc);
        TimTp {
            tow_ms,
            tow_sub_ms,
            quantisation_error_ps: *quantisation_ps,
            week,
            flags: u8::from(*is_utc) | u8::from(self.solution.is_leap_known) << 1,
            reference: 0x30,
        }
    }

    fn civil(&self) -> Civil {
        if !self.solution.is_time_known {
            return Civil::default();
        }
        let t = self.stamp.utc;
        Civil {
            year: t.year() as u16,
            month: t.month() as u8,
            day: t.day() as u8,
            hour: t.hour() as u8,
            minute: t.minute() as u8,
            second: self.stamp.second(),
            nano_ns: self.stamp.nano_ns,
        }
    }
}

#[derive(Default)]
struct Civil {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    nano_ns: i32,
}

/// UBX's identifier of a system.
pub fn gnss_id(system: GnssSystem) -> u8 {
    match system {
        GnssSystem::Gps => 0,
        GnssSystem::Galileo => 2,
        GnssSystem::Beidou => 3,
        GnssSystem::Glonass => 6,
    }
}

/// u-blox's number of a satellite in the range that all systems share: in NAV-SVINFO and PUBX,03.
pub fn shared_number(satellite: &Satellite) -> u8 {
    satellite.svid
        + match satellite.system {
            GnssSystem::Gps => 0,
            GnssSystem::Glonass => 64,
            GnssSystem::Galileo => 210,
            GnssSystem::Beidou if satellite.svid <= 5 => 158,
            GnssSystem::Beidou => 27,
        }
}

/// Clock of a receiver that has drifted by `drift_ns_s` for `uptime_ms`: the whole milliseconds by which the receiver
/// has corrected it, and the remaining bias, ns. The receiver corrects the clock when the bias leaves the range from
/// -0.5 to 0.5 ms.
pub fn clock_bias(drift_ns_s: f64, uptime_ms: u32) -> (i64, f64) {
    let ahead_ns = drift_ns_s * f64::from(uptime_ms) * 1e-3 + 500_000.0;
    (ahead_ns.div_euclid(1e6) as i64, ahead_ns.rem_euclid(1e6) - 500_000.0)
}

/// `value` in steps of `unit`, rounded to the nearest.
fn rounded(value: i64, unit: i64) -> i32 {
    (value + unit / 2).div_euclid(unit) as i32
}

/// `value` minus the multiple of `unit` to which [`rounded`] rounds it; negative if it was rounded up.
fn remainder(value: i64, unit: i64) -> i8 {
    (value - i64::from(rounded(value, unit)) * unit) as i8
}
