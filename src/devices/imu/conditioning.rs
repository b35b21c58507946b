//! Processing of sensor readings in the unit: the user's compensation, user axes, heading reference.
//!
//! Vectors and matrices from hosts are in forward, right, down; samples are in forward, left, up.

use glam::{DMat3, DQuat, DVec3};

use super::output::frd;
use crate::frames::quat_about;
use crate::sensors::imu::Sample;

/// Correction `y = matrix * (x - offset)` of a vector with the axes forward, right, down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// Scale and misalignment; for a magnetometer, soft iron.
    pub matrix: DMat3,
    /// Bias, in the unit of the quantity; for a magnetometer, hard iron.
    pub offset: DVec3,
}

impl Default for Correction {
    fn default() -> Self {
        Self::NONE
    }
}

impl Correction {
    /// No correction.
    pub const NONE: Self = Self { matrix: DMat3::IDENTITY, offset: DVec3::ZERO };

    /// A correction with only an offset.
    pub fn of_offset(offset: DVec3) -> Self {
        Self { offset, ..Self::NONE }
    }

    fn apply(&self, forward_left_up: DVec3) -> DVec3 {
        frd(self.matrix * (frd(forward_left_up) - self.offset))
    }
}

/// The user's compensation and axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditioning {
    /// Correction of the angular rate, rad/s.
    pub gyro: Correction,
    /// Correction of the specific force, m/s².
    pub accel: Correction,
    /// Correction of the magnetic field, gauss.
    pub mag: Correction,
    /// Rotation from the sensor axes to the user's axes (both forward, right, down); applied last.
    pub user_from_sensor: DQuat,
}

impl Conditioning {
    /// Conditioning without effect.
    pub const NONE: Self = Self {
        gyro: Correction::NONE,
        accel: Correction::NONE,
        mag: Correction::NONE,
        user_from_sensor: DQuat::IDENTITY,
    };

    /// Applies the conditioning to a sample.
    pub fn apply(&self, sample: &Sample) -> Sample {
        let turn = flu_from_frd(self.user_from_sensor);
        let mut made = *sample;
        made.gyro.value = turn * self.gyro.apply(sample.gyro.value);
        made.accel.value = turn * self.accel.apply(sample.accel.value);
        made.mag.value = turn * self.mag.apply(sample.mag.value);
        made.attitude = (sample.attitude * turn.conjugate()).normalize();
        made
    }
}

/// Converts a rotation of forward-right-down coordinates to forward-left-up coordinates, or back.
pub fn flu_from_frd(q: DQuat) -> DQuat {
    DQuat::from_xyzw(q.x, -q.y, -q.z, q.w)
}

/// Rotation from a matrix (row by row); `None` if the matrix is not a rotation within 1e-3.
pub fn rotation_of_rows(rows: &[f64; 9]) -> Option<DQuat> {
    let matrix = DMat3::from_cols_array(rows).transpose();
    let off = matrix * matrix.transpose() - DMat3::IDENTITY;
    let is_rotation =
        off.to_cols_array().iter().all(|x| x.abs() < 1e-3) && matrix.determinant() > 0.0;
    is_rotation.then(|| DQuat::from_mat3(&matrix).normalize())
}

/// An attitude (rotation from sensor to World) with its heading increased by `by_rad`, clockwise.
pub fn turned_clockwise(world_from_sensor: DQuat, by_rad: f64) -> DQuat {
    if by_rad == 0.0 {
        return world_from_sensor;
    }
    (quat_about(DVec3::Z, -by_rad) * world_from_sensor).normalize()
}

/// Declination at a sample: angle from true north to the magnetic field, clockwise, rad.
pub fn declination_rad(sample: &Sample) -> f64 {
    declination_of(sample.truth.world_from_sensor * sample.truth.magnetic_field_gauss)
}

/// Declination of a magnetic field in World (east, north, up): angle from true north, clockwise, rad; 0 if vertical.
pub fn declination_of(field_in_world: DVec3) -> f64 {
    if field_in_world.truncate() == glam::DVec2::ZERO {
        return 0.0;
    }
    libm::atan2(field_in_world.x, field_in_world.y)
}

/// A first-order low-pass of three axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinglePole {
    value: Option<DVec3>,
}

impl SinglePole {
    /// Filters the value `x`, which is `dt_s` later than the previous one; the corner frequency (-3 dB) is `cutoff_hz`.
    pub fn step(&mut self, x: DVec3, cutoff_hz: f64, dt_s: f64) -> DVec3 {
        let share = 1.0 - libm::exp(-std::f64::consts::TAU * cutoff_hz * dt_s);
        let next = self.value.map_or(x, |value| value + (x - value) * share);
        self.value = Some(next);
        next
    }
}

/// Moving mean of three axes.
#[derive(Clone, Debug, Default)]
pub struct MovingMean {
    held: std::collections::VecDeque<DVec3>,
}

impl MovingMean {
    /// Mean of the last `window` values, including `x`; with a window of 0 or 1, `x` itself.
    pub fn step(&mut self, x: DVec3, window: usize) -> DVec3 {
        self.held.push_back(x);
        while self.held.len() > window.max(1) {
            self.held.pop_front();
        }
        self.held.iter().copied().sum::<DVec3>() / self.held.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::quat_from_rpy;
    use crate::imu::output::{ned_from_frd, roll_pitch_yaw};

    #[test]
    fn axes_and_attitude_turn_together() {
        let truth = crate::imu::tests::truth(crate::time::SimTime(5));
        let sample = crate::imu::tests::sample(&truth);
        let user_from_sensor = quat_from_rpy(0.2, -0.4, 1.1);
        let turned = Conditioning { user_from_sensor, ..Conditioning::NONE }.apply(&sample);
        assert!((turned.accel.value - sample.accel.value).length() > 1.0);
        // In World the quantities are unchanged.
        for (before, after) in [
            (sample.accel.value, turned.accel.value),
            (sample.gyro.value, turned.gyro.value),
            (sample.mag.value, turned.mag.value),
        ] {
            let moved = turned.attitude * after - sample.attitude * before;
            assert!(moved.length() < 1e-12, "{moved}");
        }
    }

    #[test]
    fn clockwise_is_more_heading() {
        let attitude = quat_from_rpy(0.1, 0.2, 0.3);
        let before = roll_pitch_yaw(ned_from_frd(attitude));
        let after = roll_pitch_yaw(ned_from_frd(turned_clockwise(attitude, 0.25)));
        assert!((after - before - DVec3::new(0.0, 0.0, 0.25)).length() < 1e-12, "{after} {before}");
    }

    #[test]
    fn a_mirror_is_no_rotation() {
        assert_eq!(rotation_of_rows(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0]), None);
        assert_eq!(rotation_of_rows(&[2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]), None);
        let quarter = rotation_of_rows(&[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        assert!((quarter * DVec3::X - DVec3::Y).length() < 1e-12);
    }
}
