//! Temperatures of a unit's boards, and its uptime.
//!
//! From power-on the boards warm up exponentially. They do not cool down during a restart. A restart only changes two
//! reported values: the temperature at the last start, and the time since then.

use crate::time::SimTime;
use crate::velodyne::web_settings::ThermalProfile;
use crate::wire::velodyne::telemetry::{AdcCalibration, Telemetry};

const SECOND_NS: u64 = 1_000_000_000;

/// The boards of one unit.
#[derive(Clone, Debug)]
pub struct Boards {
    thermal: ThermalProfile,
    up_since: SimTime,
    /// Temperature of the top board at the last power-up or reset, degrees C.
    power_up_c: f64,
}

impl Boards {
    /// Boards that are powered on at the start of the run.
    pub fn new(thermal: &ThermalProfile) -> Self {
        Self { thermal: *thermal, up_since: SimTime::ZERO, power_up_c: thermal.power_up_c }
    }

    /// Records a restart of the unit, after which it is up again at `up_at`.
    pub fn restart(&mut self, up_at: SimTime) {
        let [top_c, _] = self.temperatures_c(up_at);
        (self.up_since, self.power_up_c) = (up_at, top_c);
    }

    /// Temperatures of the top and bottom boards at `at`, degrees C.
    pub fn temperatures_c(&self, at: SimTime) -> [f64; 2] {
        let ThermalProfile { power_up_c, top_c, bottom_c, warm_up_s } = self.thermal;
        let left = libm::exp(-at.as_secs_f64() / warm_up_s);
        [top_c, bottom_c].map(|end_c| end_c + (power_up_c - end_c) * left)
    }

    /// The top board's temperature at the last start, whole degrees C.
    pub fn power_up_c(&self) -> u8 {
        celsius(self.power_up_c)
    }

    /// Telemetry in a position packet at `at`; ADCs were calibrated at the last start.
    pub fn telemetry(&self, at: SimTime) -> Telemetry {
        let [top_c, bottom_c] = self.temperatures_c(at);
        Telemetry {
            top_board_c: celsius(top_c),
            bottom_board_c: celsius(bottom_c),
            calibrated_at_c: self.power_up_c(),
            change_since_calibration_c: (top_c - self.power_up_c).round() as i16,
            since_calibration_s: (at.0.saturating_sub(self.up_since.0) / SECOND_NS) as u32,
            calibration: AdcCalibration::PowerOn,
            flags: 0,
        }
    }
}

fn celsius(temperature_c: f64) -> u8 {
    temperature_c.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_warm_up_and_a_reset_does_not_cool_them() {
        let thermal =
            ThermalProfile { power_up_c: 20.0, top_c: 50.0, bottom_c: 40.0, warm_up_s: 100.0 };
        let mut boards = Boards::new(&thermal);
        assert_eq!(boards.temperatures_c(SimTime::ZERO), [20.0, 20.0]);
        let at = SimTime(100 * SECOND_NS);
        let [top_c, bottom_c] = boards.temperatures_c(at);
        assert!((top_c - 38.96).abs() < 0.01 && (bottom_c - 32.64).abs() < 0.01);
        let telemetry = boards.telemetry(at);
        assert_eq!((telemetry.calibrated_at_c, telemetry.change_since_calibration_c), (20, 19));
        assert_eq!((telemetry.top_board_c, telemetry.since_calibration_s), (39, 100));
        boards.restart(SimTime(110 * SECOND_NS));
        let telemetry = boards.telemetry(SimTime(120 * SECOND_NS));
        assert_eq!((telemetry.calibrated_at_c, telemetry.change_since_calibration_c), (40, 1));
        assert_eq!((telemetry.top_board_c, telemetry.since_calibration_s), (41, 10));
    }
}
