//! IMU in the base of an HDL-32E.
//!
//! Three chips, each with a gyro and two accelerometers, measure the motion of the base. A position packet has their
//! latest samples, in words of twelve bits and a four-bit index.

use glam::DVec3;

use crate::sample_series::InertialSamples;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::velodyne::position_settings::{Axis, PositionImu};
use crate::wire::velodyne::position::ImuWords;

/// Scale of the angular rate, degrees/s per count (VeloView).
const GYRO_DEG_S: f64 = 0.09766;
/// Scale of the temperature above 25 degrees C, kelvin per count.
const TEMPERATURE_K: f64 = 0.1453;
/// Scale of the acceleration, g per count.
const ACCELERATION_G: f64 = 0.001221;

/// IMU of the base.
pub struct Inertial {
    profile: PositionImu,
    noise: NoiseSource,
    /// IMU samples, starting with the one in the last packet.
    pub samples: InertialSamples,
}

impl Inertial {
    /// IMU whose samples begin at the start of the run.
    pub fn new(profile: &PositionImu, noise: NoiseSource) -> Self {
        let samples = InertialSamples::new(profile.sample_rate_hz);
        Self { profile: profile.clone(), noise, samples }
    }

    /// Whether the IMU sample that is current at `at` has been measured.
    pub fn knows(&self, at: SimTime) -> bool {
        self.samples
            .waiting
            .back()
            .is_some_and(|last| at.0 < last.at.0 + self.samples.series.period_ns())
    }

    /// Words of the three chips in position packet `number`, which is created at `at`.
    pub fn words(&mut self, at: SimTime, number: u64) -> [ImuWords; 3] {
        while self.samples.waiting.get(1).is_some_and(|next| next.at <= at) {
            self.samples.waiting.pop_front();
        }
        let truth = self.samples.waiting.front();
        let rate = truth.map_or(DVec3::ZERO, |truth| truth.angular_rate_rad_s);
        let force = truth.map_or(DVec3::ZERO, |truth| truth.specific_force_m_s2);
        let draws = self.noise.request(number);
        let mut unit = 0;
        let PositionImu { gyro_std_deg_s, accel_std_g, .. } = self.profile;
        [0, 1, 2].map(|_| {
            let [gyro, x, y] = self.profile.axes[unit];
            let error = |word| draws.standard_normal(unit * 3 + word, Quantity::White);
            let rate_deg_s = along(gyro, rate).to_degrees() + gyro_std_deg_s * error(0);
            let accel = |axis, which| {
                let accel_g = along(axis, force) / STANDARD_GRAVITY_M_S2;
                word(1 + which as u16, (accel_g + accel_std_g * error(which)) / ACCELERATION_G)
            };
            let above_25_k = self.profile.temperatures_c[unit] - 25.0;
            let words = ImuWords {
                gyro: word(0, rate_deg_s / GYRO_DEG_S),
                temperature: word(1, above_25_k / TEMPERATURE_K),
                acceleration_x: accel(x, 1),
                acceleration_y: accel(y, 2),
            };
            unit += 1;
            words
        })
    }
}

/// A word: index, and value limited to twelve bits.
fn word(kind: u16, counts: f64) -> u16 {
    kind << 12 | (counts.round().clamp(-2048.0, 2047.0) as i16 as u16 & 0x0fff)
}

/// Component of a vector (forward, left, up) along an axis.
fn along(axis: Axis, vector: DVec3) -> f64 {
    match axis {
        Axis::Forward => vector.x,
        Axis::Back => -vector.x,
        Axis::Left => vector.y,
        Axis::Right => -vector.y,
        Axis::Up => vector.z,
        Axis::Down => -vector.z,
    }
}
