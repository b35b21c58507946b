//! The survey of the antenna's position that CFG-TMODE asks for, as NAV-SVIN reports it.
//!
//! The mean of all three-dimensional fixes. Its accuracy is the fixes' root mean square accuracy,
//! divided by the square root of the minutes gone plus one: errors of fixes within a minute are taken
//! for the same. The survey ends when time and accuracy are as asked for. The receiver goes on
//! navigating; a position held fixed is not emulated.

use glam::DVec3;

use crate::time::SimTime;
use crate::wire::ubx::nav::NavSvin;

/// A survey, or that there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    since: Option<SimTime>,
    duration_s: u32,
    sum_m: DVec3,
    squares_m2: f64,
    count: u32,
    is_valid: bool,
}

/// What a host wants of a survey.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Whether it wants one.
    pub is_on: bool,
    /// Least time.
    pub least_s: u32,
    /// Greatest error.
    pub accuracy_m: f64,
}

impl Survey {
    /// Takes the position of an epoch and its accuracy; `None` without a fix.
    pub fn step(&mut self, at: SimTime, demand: &Demand, fix: Option<(DVec3, f64)>) {
        if !demand.is_on {
            *self = Self::default();
            return;
        }
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

    fn accuracy_m(&self) -> f64 {
        let minutes = f64::from(self.duration_s) / 60.0;
        (self.squares_m2 / f64::from(self.count.max(1)) / (1.0 + minutes)).sqrt()
    }

    /// NAV-SVIN.
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
