//! Orientation and navigation as an IMU computes them: the true values with slow errors.
//!
//! A real IMU does not only integrate its gyro: gravity and the magnetic field keep its attitude near the true one.
//! Roll, pitch and heading therefore each have a Gauss-Markov error with the size from the datasheet.

use glam::{DQuat, DVec3};

use super::errors::GaussMarkov;
use super::settings::{AttitudeErrors, NavigationErrors};
use crate::frames::quat_about;
use crate::sensors::noise::{NoiseSource, Quantity};

/// Errors of an orientation. Must be stepped once per sample, in order.
#[derive(Clone, Debug)]
pub struct AttitudeError {
    settings: AttitudeErrors,
    noise: NoiseSource,
    dt_s: f64,
    roll: GaussMarkov,
    pitch: GaussMarkov,
    heading: GaussMarkov,
}

impl AttitudeError {
    /// Errors of an IMU sampled every `dt_s`. `noise` must not be shared with other models.
    pub fn new(settings: AttitudeErrors, noise: NoiseSource, dt_s: f64) -> Self {
        let calm = GaussMarkov::default();
        Self { settings, noise, dt_s, roll: calm, pitch: calm, heading: calm }
    }

    /// The IMU's estimate of `world_from_sensor` at sample `index`. `field` is the magnetic field in sensor axes, for
    /// IMUs whose heading refers to magnetic north.
    pub fn step(&mut self, index: u64, world_from_sensor: DQuat, field: &DVec3) -> DQuat {
        let s = self.settings;
        let draws = self.noise.request(index);
        let dt_s = self.dt_s;
        let step = |process: &mut GaussMarkov, place: usize, std: f64, correlation_s: f64| {
            if std == 0.0 {
                return 0.0;
            }
            let draw = draws.standard_normal(place, Quantity::BiasInstability);
            process.step(std, correlation_s, dt_s, draw)
        };
        let (std, correlation_s) = (s.roll_pitch_std_rad, s.roll_pitch_correlation_s);
        let roll = step(&mut self.roll, 0, std, correlation_s);
        let pitch = step(&mut self.pitch, 1, std, correlation_s);
        let heading = step(&mut self.heading, 2, s.heading_std_rad, s.heading_correlation_s);
        let towards_magnetic = if s.heading_is_magnetic {
            let field = world_from_sensor * *field;
            // Angle of the field's horizontal part from true north, clockwise. A heading from magnetic north is smaller by
            // this angle. Here angles count counter-clockwise, so the angle is added.
            libm::atan2(field.x, field.y)
        } else {
            0.0
        };
        quat_about(DVec3::Z, heading + towards_magnetic)
            * world_from_sensor
            * quat_about(DVec3::X, roll)
            * quat_about(DVec3::Y, pitch)
    }
}

/// Errors of position and velocity. Must be stepped once per sample, in order.
#[derive(Clone, Debug)]
pub struct NavigationError {
    settings: NavigationErrors,
    noise: NoiseSource,
    dt_s: f64,
    position: [GaussMarkov; 3],
    velocity: [GaussMarkov; 3],
}

impl NavigationError {
    /// Errors of an IMU sampled every `dt_s`. `noise` must not be shared with other models.
    pub fn new(settings: NavigationErrors, noise: NoiseSource, dt_s: f64) -> Self {
        let calm = [GaussMarkov::default(); 3];
        Self { settings, noise, dt_s, position: calm, velocity: calm }
    }

    /// Errors of position (m) and velocity (m/s) at sample `index`, in World.
    pub fn step(&mut self, index: u64) -> [DVec3; 2] {
        let s = self.settings;
        let draws = self.noise.request(index);
        let dt_s = self.dt_s;
        let step = |processes: &mut [GaussMarkov; 3], first: usize, std: f64| {
            let mut error = DVec3::ZERO;
            if std > 0.0 {
                for (axis, process) in processes.iter_mut().enumerate() {
                    let draw = draws.standard_normal(first + axis, Quantity::BiasInstability);
                    error[axis] = process.step(std, s.correlation_s, dt_s, draw);
                }
            }
            error
        };
        [
            step(&mut self.position, 0, s.position_std_m),
            step(&mut self.velocity, 3, s.velocity_std_m_s),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{quat_from_rpy, rpy_from_quat};

    #[test]
    fn errors_have_their_size_and_are_slow() {
        let settings = AttitudeErrors {
            roll_pitch_std_rad: 0.005,
            roll_pitch_correlation_s: 10.0,
            heading_std_rad: 0.02,
            heading_correlation_s: 10.0,
            heading_is_magnetic: false,
        };
        let mut error = AttitudeError::new(settings, NoiseSource::new(3, "a/attitude"), 0.1);
        let mut sums = [0.0; 3];
        let n = 100_000u64;
        let mut before: Option<(f64, f64, f64)> = None;
        for index in 0..n {
            let rpy = rpy_from_quat(error.step(index, DQuat::IDENTITY, &DVec3::Y));
            for (sum, x) in sums.iter_mut().zip([rpy.0, rpy.1, rpy.2]) {
                *sum += x * x / n as f64;
            }
            if let Some(before) = before {
                assert!((rpy.2 - before.2).abs() < 0.02, "{rpy:?} {before:?}");
            }
            before = Some(rpy);
        }
        // 10 000 s contain about 500 independent values.
        for (sum, std) in sums.iter().zip([0.005, 0.005, 0.02]) {
            assert!((sum.sqrt() / std - 1.0).abs() < 0.13, "{} {std}", sum.sqrt());
        }
    }

    #[test]
    fn a_magnetic_heading_counts_from_the_field() {
        let settings = AttitudeErrors { heading_is_magnetic: true, ..AttitudeErrors::default() };
        let mut error = AttitudeError::new(settings, NoiseSource::new(3, "a/attitude"), 0.1);
        // Facing north, the field points 10 degrees east of north; the compass reads 350 degrees.
        let north = quat_from_rpy(0.0, 0.0, std::f64::consts::FRAC_PI_2);
        let declination = 10f64.to_radians();
        let (sin, cos) = libm::sincos(declination);
        let field = north.conjugate() * DVec3::new(sin, cos, -1.0);
        let (.., yaw) = rpy_from_quat(error.step(0, north, &field));
        let heading_deg = (std::f64::consts::FRAC_PI_2 - yaw).to_degrees();
        assert!((heading_deg + 10.0).abs() < 1e-9, "{heading_deg}");
    }
}
