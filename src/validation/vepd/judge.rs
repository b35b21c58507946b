//! The judge: an estimator, namely an error-state Kalman filter of fifteen states that fuses an IMU with GNSS
//! positions.
//!
//! The judge has the data of an estimator on the robot: the readings, the accuracies from the receiver and the data
//! sheet, the position of the antenna, and that the robot is at rest at the start. It has no access to the ground
//! truth.
//!
//! World is east-north-up, the IMU's axes are forward-left-up. The state is position `p` and velocity
//! `v` of the IMU in World, its attitude `R`, the gyro's bias `bg` and the accelerometer's `ba`; the
//! errors are `p + dp`, `v + dv`, `R exp(dθ)`, `bg + dbg`, `ba + dba`. With `w = gyro - bg` and
//! `a = accel - ba` over a step `dt` (Solà, Quaternion kinematics for the error-state Kalman filter,
//! arXiv 1711.02508, sections 5.4 and 6):
//!
//! ```text
//! p <- p + v dt + (R a + g) dt²/2     dp' = dp + dv dt - R [a]x dθ dt²/2 - R dba dt²/2
//! v <- v + (R a + g) dt               dv' = dv - R [a]x dθ dt - R dba dt
//! R <- R exp(w dt)                    dθ' = exp(w dt)ᵀ dθ - dbg dt
//! ```
//!
//! with white noise on accelerometer and gyro, and random walks of their biases. A GNSS position of an
//! antenna at `l` from the IMU is `p + R l`. The attitude that the unit computes is also used, ten times per
//! second: its errors last for minutes, so each use counts as white noise of the same power at low
//! frequencies, `σ √(2 τ / dt)`.

use glam::{DMat3, DQuat, DVec3};
use nalgebra::{Matrix3, SMatrix, Vector3};

use crate::devices::imu::profile::ImuSettings;
use crate::frames::quat_about;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::imu::errors::gauss_markov_std;
use crate::sensors::imu::settings::TriadErrors;

/// States: position, velocity, attitude, gyro bias, accelerometer bias, three each.
pub const STATES: usize = 15;
/// Covariance of the errors, in the order of the states; metres, m/s, rad, rad/s, m/s².
pub type Covariance = SMatrix<f64, STATES, STATES>;

/// First row of the position in the state.
const POSITION: usize = 0;
/// First row of the velocity in the state.
const VELOCITY: usize = 3;
/// First row of the attitude in the state.
const ATTITUDE: usize = 6;
/// First row of the gyro bias in the state.
const GYRO_BIAS: usize = 9;
/// First row of the accelerometer bias in the state.
const ACCEL_BIAS: usize = 12;

/// Standard deviation of the position at the start, where it is unknown, metres.
const INITIAL_POSITION_STD_M: f64 = 1000.0;
/// Standard deviation of the velocity at the start, where the robot is at rest, m/s.
const INITIAL_VELOCITY_STD_M_S: f64 = 0.01;

/// The judge's assumptions about an IMU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beliefs {
    /// Noise density of the gyro, rad/s/√Hz.
    pub gyro_density: f64,
    /// Noise density of the accelerometer, m/s²/√Hz.
    pub accel_density: f64,
    /// Random walk of the gyro's bias, rad/s/√s.
    pub gyro_walk: f64,
    /// Random walk of the accelerometer's bias, m/s²/√s.
    pub accel_walk: f64,
    /// Standard deviation of the gyro bias at the start, rad/s.
    pub gyro_bias_std: f64,
    /// Standard deviation of the accelerometer bias at the start, m/s².
    pub accel_bias_std: f64,
    /// Standard deviation of the errors of the attitude that the unit reports: roll, pitch and heading, rad.
    pub attitude_std: DVec3,
    /// Correlation time of the attitude errors: roll, pitch and heading, seconds.
    pub attitude_correlation_s: DVec3,
}

impl Beliefs {
    /// Assumptions about an IMU with the settings `imu`, as a reader of the data sheet would make them. A bias
    /// instability (Gauss-Markov) is treated as the random walk with the same slope at the start. Scale factors and
    /// misalignments act on gravity; this error is treated as a bias.
    pub fn of(imu: &ImuSettings) -> Self {
        let walk = |e: &TriadErrors| {
            let std = gauss_markov_std(e.bias_instability);
            (2.0 * std * std / e.bias_correlation_s.max(1e-9) + e.walk_density().powi(2)).sqrt()
        };
        let bias = |e: &TriadErrors, rests_at: f64| {
            let leaks = (e.scale_factor_std.powi(2) + e.misalignment_std_rad.powi(2)).sqrt();
            let parts =
                [e.turn_on_bias_std, gauss_markov_std(e.bias_instability), leaks * rests_at];
            parts.iter().map(|part| part * part).sum::<f64>().sqrt()
        };
        let attitude = &imu.model.attitude;
        let tilt = attitude.roll_pitch_std_rad;
        let lasts = attitude.roll_pitch_correlation_s;
        Self {
            gyro_density: imu.model.gyro.white_density(),
            accel_density: imu.model.accel.white_density(),
            gyro_walk: walk(&imu.model.gyro),
            accel_walk: walk(&imu.model.accel),
            gyro_bias_std: bias(&imu.model.gyro, 0.0),
            accel_bias_std: bias(&imu.model.accel, STANDARD_GRAVITY_M_S2),
            attitude_std: DVec3::new(tilt, tilt, attitude.heading_std_rad),
            attitude_correlation_s: DVec3::new(lasts, lasts, attitude.heading_correlation_s),
        }
    }
}

/// The judge: state of the estimator with its covariance.
#[derive(Clone, Debug)]
pub struct Judge {
    /// Position of the IMU in World, metres.
    pub position_m: DVec3,
    /// Velocity of the IMU in World, m/s.
    pub velocity_m_s: DVec3,
    /// Rotation from the IMU's axes to World.
    pub attitude: DQuat,
    /// Bias of the gyro, rad/s.
    pub gyro_bias: DVec3,
    /// Bias of the accelerometer, m/s².
    pub accel_bias: DVec3,
    /// Covariance of the errors of all states.
    pub covariance: Covariance,
    beliefs: Beliefs,
    gravity_m_s2: DVec3,
}

impl Judge {
    /// Initial state at rest, with the attitude that the unit reports. `gravity_m_s2` is in World.
    pub fn at_rest(beliefs: Beliefs, attitude: DQuat, gravity_m_s2: DVec3) -> Self {
        let mut covariance = Covariance::zeros();
        let mut know = |first: usize, std: DVec3| {
            for axis in 0..3 {
                covariance[(first + axis, first + axis)] = (std[axis] * std[axis]).max(1e-20);
            }
        };
        know(POSITION, DVec3::splat(INITIAL_POSITION_STD_M));
        know(VELOCITY, DVec3::splat(INITIAL_VELOCITY_STD_M_S));
        know(ATTITUDE, beliefs.attitude_std);
        know(GYRO_BIAS, DVec3::splat(beliefs.gyro_bias_std));
        know(ACCEL_BIAS, DVec3::splat(beliefs.accel_bias_std));
        Self {
            position_m: DVec3::ZERO,
            velocity_m_s: DVec3::ZERO,
            attitude: attitude.normalize(),
            gyro_bias: DVec3::ZERO,
            accel_bias: DVec3::ZERO,
            covariance,
            beliefs,
            gravity_m_s2,
        }
    }

    /// Advances the state by `dt_s` with the IMU's mean readings over that time, rad/s and m/s².
    pub fn predict(&mut self, gyro: DVec3, accel: DVec3, dt_s: f64) {
        let turn = (gyro - self.gyro_bias) * dt_s;
        let felt = accel - self.accel_bias;
        // The IMU rotates during the step, so the specific force is converted to World with the attitude at the middle
        // of the step.
        let halfway = self.attitude * rotation(turn * 0.5);
        let acceleration = halfway * felt + self.gravity_m_s2;
        self.carry_covariance(turn, felt, halfway, dt_s);
        self.position_m += self.velocity_m_s * dt_s + acceleration * (0.5 * dt_s * dt_s);
        self.velocity_m_s += acceleration * dt_s;
        self.attitude = (self.attitude * rotation(turn)).normalize();
    }

    fn carry_covariance(&mut self, turn: DVec3, felt: DVec3, halfway: DQuat, dt_s: f64) {
        let r = DMat3::from_quat(halfway);
        let tilted = r * skew(felt);
        let mut f = Covariance::identity();
        let mut set = |row, column, block: DMat3| {
            f.fixed_view_mut::<3, 3>(row, column).copy_from(&matrix(block));
        };
        set(POSITION, VELOCITY, DMat3::IDENTITY * dt_s);
        set(POSITION, ATTITUDE, tilted * (-0.5 * dt_s * dt_s));
        set(POSITION, ACCEL_BIAS, r * (-0.5 * dt_s * dt_s));
        set(VELOCITY, ATTITUDE, tilted * -dt_s);
        set(VELOCITY, ACCEL_BIAS, r * -dt_s);
        set(ATTITUDE, ATTITUDE, DMat3::from_quat(rotation(-turn)));
        set(ATTITUDE, GYRO_BIAS, DMat3::IDENTITY * -dt_s);
        self.covariance = f * self.covariance * f.transpose();
        let b = &self.beliefs;
        for (first, density) in [
            (VELOCITY, b.accel_density),
            (ATTITUDE, b.gyro_density),
            (GYRO_BIAS, b.gyro_walk),
            (ACCEL_BIAS, b.accel_walk),
        ] {
            for state in first..first + 3 {
                self.covariance[(state, state)] += density * density * dt_s;
            }
        }
        self.make_symmetric();
    }

    /// Updates the state with a GNSS position of the antenna, `antenna_m` (World), and its reported covariance, m².
    /// `arm_m` is the antenna's position relative to the IMU, in the IMU's axes.
    pub fn take_position(&mut self, antenna_m: DVec3, arm_m: DVec3, covariance_m2: DMat3) {
        let r = DMat3::from_quat(self.attitude);
        let mut h = SMatrix::<f64, 3, STATES>::zeros();
        h.fixed_view_mut::<3, 3>(0, POSITION).copy_from(&Matrix3::identity());
        h.fixed_view_mut::<3, 3>(0, ATTITUDE).copy_from(&matrix(-(r * skew(arm_m))));
        let residual = antenna_m - (self.position_m + r * arm_m);
        self.update(&h, residual, covariance_m2);
    }

    /// Updates the state with the attitude `told` that the IMU computes and sends every `dt_s`.
    pub fn take_attitude(&mut self, told: DQuat, dt_s: f64) {
        let lasts = self.beliefs.attitude_correlation_s * (2.0 / dt_s);
        let variance = self.beliefs.attitude_std * self.beliefs.attitude_std * lasts;
        if variance == DVec3::ZERO {
            return;
        }
        let mut h = SMatrix::<f64, 3, STATES>::zeros();
        h.fixed_view_mut::<3, 3>(0, ATTITUDE).copy_from(&Matrix3::identity());
        let residual = rotation_vector(self.attitude.conjugate() * told);
        self.update(&h, residual, DMat3::from_diagonal(variance.max(DVec3::splat(1e-20))));
    }

    /// The Kalman update in Joseph's form. The estimated errors are then added to the state.
    fn update(&mut self, h: &SMatrix<f64, 3, STATES>, residual: DVec3, noise: DMat3) {
        let r = matrix(noise);
        let across = self.covariance * h.transpose();
        let Some(inverse) = (h * across + r).try_inverse() else { return };
        let gain = across * inverse;
        let keep = Covariance::identity() - gain * h;
        self.covariance = keep * self.covariance * keep.transpose() + gain * r * gain.transpose();
        let step = gain * Vector3::new(residual.x, residual.y, residual.z);
        let part = |first: usize| DVec3::new(step[first], step[first + 1], step[first + 2]);
        self.position_m += part(POSITION);
        self.velocity_m_s += part(VELOCITY);
        self.attitude = (self.attitude * rotation(part(ATTITUDE))).normalize();
        self.gyro_bias += part(GYRO_BIAS);
        self.accel_bias += part(ACCEL_BIAS);
        // Attitude errors are relative to the new attitude, so their covariance is rotated.
        let mut reset = Covariance::identity();
        let turned = DMat3::IDENTITY - skew(part(ATTITUDE)) * 0.5;
        reset.fixed_view_mut::<3, 3>(ATTITUDE, ATTITUDE).copy_from(&matrix(turned));
        self.covariance = reset * self.covariance * reset.transpose();
        self.make_symmetric();
    }

    fn make_symmetric(&mut self) {
        self.covariance = (self.covariance + self.covariance.transpose()) * 0.5;
    }

    /// Normalised squared error of the velocity (NEES) with the judge's own covariance: 3 on average if the covariance
    /// is right.
    pub fn velocity_nees(&self, true_velocity_m_s: DVec3) -> f64 {
        let off = true_velocity_m_s - self.velocity_m_s;
        let off = Vector3::new(off.x, off.y, off.z);
        let block = self.covariance.fixed_view::<3, 3>(VELOCITY, VELOCITY).into_owned();
        block.try_inverse().map_or(f64::NAN, |inverse| (off.transpose() * inverse * off)[0])
    }
}

/// The rotation about the vector `v`; the angle in radians is the length of `v`.
fn rotation(v: DVec3) -> DQuat {
    let angle = v.length();
    if angle < 1e-12 { DQuat::IDENTITY } else { quat_about(v / angle, angle) }
}

/// The inverse of [`rotation`], in the shorter direction.
fn rotation_vector(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    let axis = q.xyz();
    let sin = axis.length();
    if sin < 1e-12 { axis * 2.0 } else { axis * (2.0 * libm::atan2(sin, q.w) / sin) }
}

/// Matrix of the cross product of `v` with another vector.
fn skew(v: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, v.z, -v.y),
        DVec3::new(-v.z, 0.0, v.x),
        DVec3::new(v.y, -v.x, 0.0),
    )
}

fn matrix(m: DMat3) -> Matrix3<f64> {
    Matrix3::from_column_slice(&m.to_cols_array())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
