//! The host's axes and north: alignment rotations, resets of the orientation, and the update of the
//! gyro's bias while the unit does not rotate.

use glam::{DQuat, DVec3};

use crate::frames::{quat_from_rpy, rpy_from_quat};
use crate::imu::conditioning::{Conditioning, Correction, flu_from_frd, turned_clockwise};
use crate::imu::output::frd;
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::xbus::error;

/// A unit that turns faster is not at rest, rad/s.
const AT_REST_RAD_S: f64 = 0.1;

/// Rotations and biases in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// Object from sensor, and the host's local frame from the unit's; forward-left-up and
    /// east-north-up.
    pub rotations: [DQuat; 2],
    /// Added to the heading, clockwise, rad.
    heading_rad: f64,
    /// Object from sensor by a reset of the inclination.
    inclination: DQuat,
    /// Bias of the gyro, sensor axes, rad/s.
    gyro_bias: DVec3,
    update: Update,
}

/// The update without rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Update {
    Done,
    /// The unit turned.
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
            gyro_bias: DVec3::ZERO,
            update: Update::Done,
        }
    }
}

impl Alignment {
    /// The rotation that four numbers describe, scalar part first.
    ///
    /// # Errors
    /// The quaternion is no rotation.
    pub fn rotation_of(wxyz: [f32; 4]) -> Result<DQuat, u8> {
        let [w, x, y, z] = wxyz.map(f64::from);
        let q = DQuat::from_xyzw(x, y, z, w);
        let is_rotation = (q.length() - 1.0).abs() < 1e-3;
        is_rotation.then(|| q.normalize()).ok_or(error::PARAMETER)
    }

    /// Restarts the unit: rotations are stored; what it found since the last start is lost.
    pub fn restart(&mut self) {
        *self = Self { rotations: self.rotations, ..Self::default() };
    }

    /// Finds the gyro's bias for `seconds`.
    pub fn start_update(&mut self, now: SimTime, seconds: u16) {
        let until = SimTime(now.0 + u64::from(seconds) * 1_000_000_000);
        self.update = Update::Running { until, sum: DVec3::ZERO, count: 0 };
    }

    /// Update bits of the status word: 3 while the update runs, 2 when the unit turned meanwhile.
    pub fn update_status(&self) -> u32 {
        match self.update {
            Update::Done => 0,
            Update::Failed => 2,
            Update::Running { .. } => 3,
        }
    }

    /// Follows a sample with the update.
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

    /// Converts a sample to the object's axes; also returns its attitude in the host's local frame.
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

    /// Resets the orientation by a code of the protocol: 1 heading, 3 inclination, 4 both; 5, 6 and 7 undo
    /// them. `latest` is an unprocessed sample.
    ///
    /// # Errors
    /// The code is unknown, or there is no measurement yet.
    pub fn reset(&mut self, code: u16, latest: Option<&Sample>) -> Result<(), u8> {
        let sample = || latest.ok_or(error::PARAMETER);
        if matches!(code, 3 | 4 | 6 | 7) {
            self.inclination = DQuat::IDENTITY;
        }
        if matches!(code, 1 | 4 | 5 | 7) {
            self.heading_rad = 0.0;
        }
        if matches!(code, 3 | 4) {
            // The object is level now; its heading stays.
            let attitude = self.apply(sample()?).0.attitude;
            let (.., yaw) = rpy_from_quat(attitude);
            self.inclination = (quat_from_rpy(0.0, 0.0, yaw).conjugate() * attitude).normalize();
        }
        if matches!(code, 1 | 4) {
            let (.., yaw) = rpy_from_quat(self.apply(sample()?).0.attitude);
            // Yaw counts against the clock.
            self.heading_rad = yaw;
        }
        if matches!(code, 1 | 3..=7) { Ok(()) } else { Err(error::PARAMETER) }
    }
}
