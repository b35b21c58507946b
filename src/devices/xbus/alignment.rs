//! Alignment rotations set by the host, orientation resets, and the gyro bias update while the unit does not rotate
//! (no-rotation update).

use glam::{DQuat, DVec3};

use crate::frames::{quat_from_rpy, rpy_from_quat};
use crate::imu::conditioning::{Conditioning, Correction, flu_from_frd, turned_clockwise};
use crate::imu::output::frd;
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::xbus::error;

/// Largest angular rate of a unit at rest, rad/s.
const AT_REST_RAD_S: f64 = 0.1;

/// Present rotations and gyro bias.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// Two rotations that a host sets: from the sensor's axes to the object's axes (forward, left, up), and from the
    /// unit's local frame to the host's local frame (east, north, up).
    pub rotations: [DQuat; 2],
    /// Addition to the heading, clockwise, rad.
    heading_rad: f64,
    /// Rotation that an inclination reset has set. It is applied after the first of `rotations`.
    inclination: DQuat,
    /// Heading and inclination that the host has stored. The unit starts with them.
    stored: (f64, DQuat),
    /// Estimated gyro bias, sensor frame, rad/s.
    gyro_bias: DVec3,
    update: Update,
}

/// State of the no-rotation update.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Update {
    Done,
    /// The unit rotated, so the update failed.
    Failed,
    Running {
        until: SimTime,
        sum: DVec3,
        count: u32,
    },
}

impl Default for Alignment {
    fn default() -> Self {
        Self {
            rotations: [DQuat::IDENTITY; 2],
            heading_rad: 0.0,
            inclination: DQuat::IDENTITY,
            stored: (0.0, DQuat::IDENTITY),
            gyro_bias: DVec3::ZERO,
            update: Update::Done,
        }
    }
}

impl Alignment {
    /// Converts a quaternion w, x, y, z to a rotation.
    ///
    /// # Errors
    /// Returns an error code if the quaternion is not a rotation.
    pub fn rotation_of(wxyz: [f32; 4]) -> Result<DQuat, u8> {
        let [w, x, y, z] = wxyz.map(f64::from);
        let q = DQuat::from_xyzw(x, y, z, w);
        let is_rotation = (q.length() - 1.0).abs() < 1e-3;
        is_rotation.then(|| q.normalize()).ok_or(error::PARAMETER)
    }

    /// Stores the present orientation resets for the next starts.
    pub fn store_resets(&mut self) {
        self.stored = (self.heading_rad, self.inclination);
    }

    /// Restarts the unit: rotations and stored orientation resets remain; the estimated bias and the other orientation
    /// resets are lost.
    pub fn restart(&mut self) {
        let Self { rotations, stored, .. } = *self;
        let (heading_rad, inclination) = stored;
        *self = Self { rotations, stored, heading_rad, inclination, ..Self::default() };
    }

    /// Starts a no-rotation update, which estimates the gyro bias during the next `seconds`.
    pub fn start_update(&mut self, now: SimTime, seconds: u16) {
        let until = SimTime(now.0 + u64::from(seconds) * 1_000_000_000);
        self.update = Update::Running { until, sum: DVec3::ZERO, count: 0 };
    }

    /// Value of the two bits of the status word that report the no-rotation update: 3 during the update, 2 if it failed
    /// because the unit rotated, otherwise 0.
    pub fn update_status(&self) -> u32 {
        match self.update {
            Update::Done => 0,
            Update::Failed => 2,
            Update::Running { .. } => 3,
        }
    }

    /// During a no-rotation update, adds a sample to the bias estimate; otherwise does nothing.
    pub fn step(&mut self, sample: &Sample) {
        let Update::Running { until, sum, count } = &mut self.update else { return };
        if sample.gyro.value.length() > AT_REST_RAD_S {
            self.update = Update::Failed;
            return;
        }
        *sum += sample.gyro.value;
        *count += 1;
        if sample.truth.at >= *until {
            self.gyro_bias = *sum / f64::from(*count);
            self.update = Update::Done;
        }
    }

    /// Converts a sample to the object frame; also returns its attitude in the host's local frame.
    pub fn apply(&self, sample: &Sample) -> (Sample, DQuat) {
        let conditioning = Conditioning {
            gyro: Correction::of_offset(frd(self.gyro_bias)),
            user_from_sensor: flu_from_frd(self.inclination * self.rotations[0]),
            ..Conditioning::NONE
        };
        let made = conditioning.apply(sample);
        let heading = turned_clockwise(made.attitude, self.heading_rad);
        (made, (self.rotations[1] * heading).normalize())
    }

    /// Resets the orientation by a code of the protocol: 1 heading, 3 inclination, 4 both; 5, 6 and 7 undo the resets
    /// 1, 3 and 4. `latest` is the latest sample of the sensors, before this alignment is applied.
    ///
    /// # Errors
    /// Returns an error code for an unknown reset, or without a measurement.
    pub fn reset(&mut self, code: u16, latest: Option<&Sample>) -> Result<(), u8> {
        let sample = || latest.ok_or(error::PARAMETER);
        if matches!(code, 3 | 4 | 6 | 7) {
            self.inclination = DQuat::IDENTITY;
        }
        if matches!(code, 1 | 4 | 5 | 7) {
            self.heading_rad = 0.0;
        }
        if matches!(code, 3 | 4) {
            // The inclination becomes zero; the heading does not change.
            let attitude = self.apply(sample()?).0.attitude;
            let (.., yaw) = rpy_from_quat(attitude);
            self.inclination = (quat_from_rpy(0.0, 0.0, yaw).conjugate() * attitude).normalize();
        }
        if matches!(code, 1 | 4) {
            let (.., yaw) = rpy_from_quat(self.apply(sample()?).0.attitude);
            // Yaw is positive counter-clockwise, the heading clockwise.
            self.heading_rad = yaw;
        }
        if matches!(code, 1 | 3..=7) { Ok(()) } else { Err(error::PARAMETER) }
    }
}
