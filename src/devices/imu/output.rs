//! Converts samples to the values of a message: averages and increments, in the axes of the message.

use glam::{DQuat, DVec3};

use crate::frames::rpy_from_quat;
use crate::imu::profile::Decimation;
use crate::sensors::imu::Sample;

/// Accumulates samples between two outputs of a stream.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    count: u32,
    gyro: DVec3,
    accel: DVec3,
    mag: DVec3,
    /// Coning sum. Each sample adds the cross product of the sum of the earlier angular rates and its own angular rate.
    coning: DVec3,
    /// Sculling sum. Each sample adds two cross products: the sum of the earlier angular rates and its own specific
    /// force; the sum of the earlier specific forces and its own angular rate.
    sculling: DVec3,
    clipped: Clipped,
}

/// Axes whose readings were limited to the sensor's range since the last output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clipped {
    /// Clipped axes of the accelerometer.
    pub accel: [bool; 3],
    /// Clipped axes of the gyro.
    pub gyro: [bool; 3],
    /// Clipped axes of the magnetometer.
    pub mag: [bool; 3],
}

impl Clipped {
    fn add(&mut self, sample: &Sample) {
        let pairs = [
            (&mut self.accel, sample.accel.is_clipped),
            (&mut self.gyro, sample.gyro.is_clipped),
            (&mut self.mag, sample.mag.is_clipped),
        ];
        for (all, now) in pairs {
            for (all, now) in all.iter_mut().zip(now) {
                *all |= now;
            }
        }
    }
}

/// Values that a stream reports: readings, and increments since its last output. [`Decimation`] determines whether a
/// reading is the mean since the last output, or the last sample. Axes are forward, left, up, unless
/// [`Measured::in_frd`] has converted them.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Angular rates, rad/s.
    pub gyro: DVec3,
    /// Specific forces, m/s².
    pub accel: DVec3,
    /// Magnetic field, gauss.
    pub mag: DVec3,
    /// Rotation vector since the last output, rad: the integral of the angular rate with the coning correction
    /// ([`Measured::corrections`]).
    pub delta_angle: DVec3,
    /// Velocity increment since the last output, in the axes at its start, m/s: the integral of the specific force with
    /// the rotation and sculling corrections.
    pub delta_velocity: DVec3,
    /// Corrections in `delta_angle` (coning) and in `delta_velocity` (rotation and sculling), i.e. the differences from
    /// the plain integrals (P. G. Savage, Strapdown Inertial Navigation Integration Algorithm Design, Journal of
    /// Guidance, Control, and Dynamics 21, 1998; first-order sums).
    pub corrections: [DVec3; 2],
    /// Time since the last output, s.
    pub interval_s: f64,
    /// Axes whose readings were limited to the sensor's range.
    pub clipped: Clipped,
}

impl Gathered {
    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        self.count += 1;
        let (rate, force) = (sample.gyro.value, sample.accel.value);
        self.coning += self.gyro.cross(rate);
        self.sculling += self.gyro.cross(force) + self.accel.cross(rate);
        self.gyro += rate;
        self.accel += force;
        self.mag += sample.mag.value;
        self.clipped.add(sample);
    }

    /// Returns the values of all samples up to and including `last`, which are `dt_s` apart, and starts the next output
    /// interval.
    pub fn take(&mut self, last: &Sample, dt_s: f64, decimation: Decimation) -> Measured {
        let n = f64::from(self.count.max(1));
        let pick = |sum: DVec3, last: DVec3| match decimation {
            Decimation::Mean => sum / n,
            Decimation::Last => last,
        };
        let half = 0.5 * dt_s * dt_s;
        let corrections =
            [half * self.coning, half * (self.gyro.cross(self.accel) + self.sculling)];
        let measured = Measured {
            gyro: pick(self.gyro, last.gyro.value),
            accel: pick(self.accel, last.accel.value),
            mag: pick(self.mag, last.mag.value),
            delta_angle: self.gyro * dt_s + corrections[0],
            delta_velocity: self.accel * dt_s + corrections[1],
            corrections,
            interval_s: n * dt_s,
            clipped: self.clipped,
        };
        *self = Self::default();
        measured
    }
}

impl Measured {
    /// The values in forward, right, down axes.
    #[must_use]
    pub fn in_frd(self) -> Self {
        Self {
            gyro: frd(self.gyro),
            accel: frd(self.accel),
            mag: frd(self.mag),
            delta_angle: frd(self.delta_angle),
            delta_velocity: frd(self.delta_velocity),
            corrections: self.corrections.map(frd),
            ..self
        }
    }
}

/// A stream: samples per output, and the samples since its last output.
#[derive(Clone, Debug)]
pub struct Stream {
    divisor: u64,
    gathered: Gathered,
}

impl Stream {
    /// A stream with an output every `divisor` samples.
    pub fn every(divisor: u64) -> Self {
        Self { divisor: divisor.max(1), gathered: Gathered::default() }
    }

    /// Samples per output.
    pub fn divisor(&self) -> u64 {
        self.divisor
    }

    /// Adds a sample; returns the values to report if an output is due.
    pub fn step(&mut self, sample: &Sample, dt_s: f64, decimation: Decimation) -> Option<Measured> {
        self.gathered.add(sample);
        sample
            .index
            .is_multiple_of(self.divisor)
            .then(|| self.gathered.take(sample, dt_s, decimation))
    }
}

/// Converts forward-left-up coordinates to forward-right-down, or back.
pub fn frd(v: DVec3) -> DVec3 {
    DVec3::new(v.x, -v.y, -v.z)
}

/// Converts east-north-up coordinates to north-east-down, or back.
pub fn ned(v: DVec3) -> DVec3 {
    DVec3::new(v.y, v.x, -v.z)
}

/// Converts an attitude from a rotation between forward-left-up and east-north-up axes to the rotation between
/// forward-right-down and north-east-down axes. The scalar part of the result is not negative. The same function
/// converts back.
pub fn ned_from_frd(world_from_sensor: DQuat) -> DQuat {
    const NED_FROM_ENU: DQuat = DQuat::from_xyzw(
        std::f64::consts::FRAC_1_SQRT_2,
        std::f64::consts::FRAC_1_SQRT_2,
        0.0,
        0.0,
    );
    const FLU_FROM_FRD: DQuat = DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0);
    positive((NED_FROM_ENU * world_from_sensor * FLU_FROM_FRD).normalize())
}

/// Returns `q` or `-q`, which is the same rotation, so that the scalar part is not negative.
pub fn positive(q: DQuat) -> DQuat {
    if q.w < 0.0 { -q } else { q }
}

/// Roll, pitch and yaw, rad, of a rotation from forward-right-down to north-east-down. Yaw is the heading, -pi to pi.
pub fn roll_pitch_yaw(ned_from_frd: DQuat) -> DVec3 {
    let (roll, pitch, yaw) = rpy_from_quat(ned_from_frd);
    DVec3::new(roll, pitch, yaw)
}

/// Components w, x, y, z.
pub fn wxyz(q: DQuat) -> [f32; 4] {
    [q.w, q.x, q.y, q.z].map(|x| x as f32)
}

/// Converts to single precision for messages.
pub fn f32s(v: DVec3) -> [f32; 3] {
    v.to_array().map(|x| x as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::quat_from_rpy;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn facing_east_is_a_heading_of_ninety_degrees() {
        let rpy = roll_pitch_yaw(ned_from_frd(DQuat::IDENTITY));
        assert!((rpy - DVec3::new(0.0, 0.0, FRAC_PI_2)).length() < 1e-12, "{rpy}");
        // Heading north, nose up and right side down.
        let tilted = quat_from_rpy(0.1, -0.2, FRAC_PI_2);
        let rpy = roll_pitch_yaw(ned_from_frd(tilted));
        assert!((rpy - DVec3::new(0.1, 0.2, 0.0)).length() < 1e-12, "{rpy}");
    }

    #[test]
    fn turning_a_vector_agrees_in_both_pairs_of_frames() {
        let q = quat_from_rpy(0.3, -0.5, 2.0);
        let v = DVec3::new(1.0, 2.0, -3.0);
        assert!((ned(q * v) - ned_from_frd(q) * frd(v)).length() < 1e-12);
        assert!(ned_from_frd(q).w >= 0.0);
    }
}
