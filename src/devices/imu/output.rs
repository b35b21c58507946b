//! Converts samples to the values of a message: averages, increments, other frames.

use glam::{DQuat, DVec3};

use crate::frames::rpy_from_quat;
use crate::imu::profile::Decimation;
use crate::sensors::imu::Sample;

/// Gathers samples between two outputs of a stream.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    count: u32,
    gyro: DVec3,
    accel: DVec3,
    mag: DVec3,
    /// Coning sum of rates: cross products of the rotation before a sample and the rotation of the sample.
    coning: DVec3,
    /// Sculling sum: the same of rates with forces and of forces with rates.
    sculling: DVec3,
    clipped: Clipped,
}

/// Axes that reached the end of their range since the last output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clipped {
    /// Accelerometer.
    pub accel: [bool; 3],
    /// Gyro.
    pub gyro: [bool; 3],
    /// Magnetometer.
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

/// Values that a stream reports: averages since its last output, and the other values of the current sample.
/// Sensor axes are forward, left, up unless [`Measured::in_frd`] converted them.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Angular rates, rad/s.
    pub gyro: DVec3,
    /// Specific forces, m/s².
    pub accel: DVec3,
    /// Magnetic field, gauss.
    pub mag: DVec3,
    /// Turned since the last output as a rotation vector, rad: the integral of the rate, with the
    /// coning correction ([`Measured::corrections`]).
    pub delta_angle: DVec3,
    /// Velocity gained since the last output, in the axes of its start, m/s: the integral of the
    /// force, with the corrections of rotation and sculling.
    pub delta_velocity: DVec3,
    /// The parts of `delta_angle` and `delta_velocity` that are not the bare integrals: coning;
    /// rotation and sculling (P. G. Savage, Strapdown Inertial Navigation Integration Algorithm
    /// Design, Journal of Guidance, Control, and Dynamics 21, 1998; the sums of first order).
    pub corrections: [DVec3; 2],
    /// Time since the last output, s.
    pub interval_s: f64,
    /// Ranges that ended.
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

    /// Values of the samples up to and including `last`, one every `dt_s`; starts the next interval.
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
    /// The values in forward, right, down.
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

/// A stream: its decimation, and the values since its last output.
#[derive(Clone, Debug)]
pub struct Stream {
    divisor: u64,
    gathered: Gathered,
}

impl Stream {
    /// An output every `divisor` samples.
    pub fn every(divisor: u64) -> Self {
        Self { divisor: divisor.max(1), gathered: Gathered::default() }
    }

    /// Samples between two outputs.
    pub fn divisor(&self) -> u64 {
        self.divisor
    }

    /// Adds a sample; what to report if the stream has an output now.
    pub fn step(&mut self, sample: &Sample, dt_s: f64, decimation: Decimation) -> Option<Measured> {
        self.gathered.add(sample);
        sample
            .index
            .is_multiple_of(self.divisor)
            .then(|| self.gathered.take(sample, dt_s, decimation))
    }
}

/// Forward-left-up coordinates in forward-right-down, and back.
pub fn frd(v: DVec3) -> DVec3 {
    DVec3::new(v.x, -v.y, -v.z)
}

/// East-north-up coordinates in north-east-down, and back.
pub fn ned(v: DVec3) -> DVec3 {
    DVec3::new(v.y, v.x, -v.z)
}

/// An orientation of forward-left-up axes against east-north-up as one of forward-right-down
/// axes against north-east-down, its scalar part not negative.
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

/// The one of the two quaternions of a rotation whose scalar part is not negative.
pub fn positive(q: DQuat) -> DQuat {
    if q.w < 0.0 { -q } else { q }
}

/// Roll, pitch and heading (0 to 2 pi excluded; -pi to pi), rad, of [`ned_from_frd`].
pub fn roll_pitch_yaw(ned_from_frd: DQuat) -> DVec3 {
    let (roll, pitch, yaw) = rpy_from_quat(ned_from_frd);
    DVec3::new(roll, pitch, yaw)
}

/// w, x, y, z.
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
        // North with the nose up and the right side down.
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
