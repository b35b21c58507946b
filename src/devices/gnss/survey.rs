//! Survey of the antenna's position (requested by CFG-TMODE, reported by NAV-SVIN), and the held position.
//!
//! The position is the mean of all three-dimensional fixes. Its accuracy is the root mean square of the fixes'
//! accuracies, divided by √(1 + elapsed minutes), because errors of fixes within a minute are assumed equal. The survey
//! ends when duration and accuracy meet the request. Then the receiver holds the mean, like a position from the host:
//! the reported position is constant, and the receiver needs only one satellite for its time.

use glam::{DMat3, DVec3};

use super::Gnss;
use super::item_keys as key;
use crate::frames::Geodetic;
use crate::sensors::gnss::navigator::{Fix, Solution};
use crate::sensors::gnss::settings::BestFix;
use crate::time::SimTime;
use crate::wire::ubx::nav::NavSvin;

/// State of a survey.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    since: Option<SimTime>,
    duration_s: u32,
    sum_m: DVec3,
    squares_m2: f64,
    count: u32,
    is_valid: bool,
}

/// A host's request for a survey.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Minimum duration, seconds.
    pub least_s: u32,
    /// Accuracy that the survey must reach, metres.
    pub accuracy_m: f64,
}

impl Survey {
    /// Adds the three-dimensional `fix` of an epoch: position (ECEF, metres) and accuracy (metres); `None` if the epoch
    /// has none.
    pub fn step(&mut self, at: SimTime, demand: &Demand, fix: Option<(DVec3, f64)>) {
        let since = *self.since.get_or_insert(at);
        if self.is_valid {
            return;
        }
        self.duration_s = (at.0.saturating_sub(since.0) / 1_000_000_000) as u32;
        if let Some((ecef_m, accuracy_m)) = fix {
            self.sum_m += ecef_m;
            self.squares_m2 += accuracy_m * accuracy_m;
            self.count += 1;
        }
        self.is_valid = self.count > 0
            && self.duration_s >= demand.least_s
            && self.accuracy_m() <= demand.accuracy_m;
    }

    /// Mean position (ECEF, metres) and its accuracy (metres); `None` before the survey has ended.
    fn result(&self) -> Option<(DVec3, f64)> {
        self.is_valid.then(|| (self.sum_m / f64::from(self.count.max(1)), self.accuracy_m()))
    }

    fn accuracy_m(&self) -> f64 {
        let minutes = f64::from(self.duration_s) / 60.0;
        (self.squares_m2 / f64::from(self.count.max(1)) / (1.0 + minutes)).sqrt()
    }

    /// NAV-SVIN: progress and result of the survey.
    pub fn message(&self, itow_ms: u32) -> NavSvin {
        let mean = self.sum_m / f64::from(self.count.max(1));
        let tenths_mm = (mean * 1e4).to_array().map(|x| x.round() as i64);
        let cm = tenths_mm.map(|x| (x + 50).div_euclid(100));
        let rest = |axis: usize| (tenths_mm[axis] - cm[axis] * 100) as i8;
        NavSvin {
            itow_ms,
            duration_s: self.duration_s,
            mean_ecef_cm: cm.map(|x| x as i32),
            mean_ecef_hp_100um: [rest(0), rest(1), rest(2)],
            mean_acc_100um: (self.accuracy_m() * 1e4).round().min(4e9) as u32,
            observations: self.count,
            valid: self.is_valid.into(),
            active: (self.since.is_some() && !self.is_valid).into(),
            ..NavSvin::default()
        }
    }
}

/// Permitted distances of positions from the Earth's centre, metres.
pub(super) const EARTH_RADIUS_M: std::ops::Range<f64> = 6.2e6..6.6e6;

impl Gnss {
    /// Whether a survey is requested.
    pub(super) fn surveys(&self) -> bool {
        self.store.get(key::TMODE_MODE) == 1
    }

    /// The held position and its accuracy, metres; `None` if the receiver holds none.
    pub(super) fn held_position(&self) -> Option<(Geodetic, f64)> {
        let get = |key| self.store.get(key);
        let signed = |key| f64::from(get(key) as u32 as i32);
        let byte = |key| f64::from(get(key) as u8 as i8);
        let accuracy_m = get(key::TMODE_FIXED_POS_ACC) as f64 * 1e-4;
        match (get(key::TMODE_MODE), get(key::TMODE_POS_TYPE)) {
            (1, _) => {
                let (ecef_m, accuracy_m) = self.survey.result()?;
                Some((Geodetic::from_ecef(ecef_m), accuracy_m))
            }
            (2, 0) => {
                let axis = |n: usize| {
                    signed(key::TMODE_ECEF[n]) * 1e-2 + byte(key::TMODE_ECEF_HP[n]) * 1e-4
                };
                let ecef_m = DVec3::new(axis(0), axis(1), axis(2));
                let is_place = EARTH_RADIUS_M.contains(&ecef_m.length());
                is_place.then(|| (Geodetic::from_ecef(ecef_m), accuracy_m))
            }
            (2, _) => {
                let [latitude, longitude, height] = key::TMODE_LLH;
                let [latitude_hp, longitude_hp, height_hp] = key::TMODE_LLH_HP;
                let place = Geodetic {
                    latitude_deg: signed(latitude) * 1e-7 + byte(latitude_hp) * 1e-9,
                    longitude_deg: signed(longitude) * 1e-7 + byte(longitude_hp) * 1e-9,
                    altitude_m: signed(height) * 1e-2 + byte(height_hp) * 1e-4,
                };
                let is_place = place.latitude_deg.abs() <= 90.0
                    && place.longitude_deg.abs() <= 180.0
                    && place.altitude_m.abs() < 1e5;
                is_place.then_some((place, accuracy_m))
            }
            _ => None,
        }
    }

    /// If the receiver holds a position, knows the time and receives a satellite, replaces `s` with a time-only
    /// solution at that position. Returns whether it did.
    pub(super) fn hold(&self, s: &mut Solution) -> bool {
        let Some((place, accuracy_m)) = self.held_position() else { return false };
        if !s.is_time_known || s.satellites.iter().all(|t| t.cno_dbhz[0].is_none()) {
            return false;
        }
        s.fix = Fix::ThreeD(BestFix::Standalone);
        s.position = place;
        s.velocity_enu_m_s = DVec3::ZERO;
        s.covariance_m2 = DMat3::from_diagonal(DVec3::splat(accuracy_m * accuracy_m / 3.0));
        true
    }
}
