//! The IMU: one packet per sample.

use super::profile::ImuProfile;
use crate::sample_series::{InertialSamples, with_noise};
use crate::sensors::imu::InertialTruth;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;
use crate::wire::livox::data;

/// Index of the first random stream for IMU samples; streams of packets of points have lower indices.
const DRAWS: u64 = 1 << 62;

/// IMU of a unit, with the samples that wait for their packets.
pub struct Inertial {
    profile: ImuProfile,
    noise: NoiseSource,
    /// Samples that wait for their packets.
    pub samples: InertialSamples,
}

impl Inertial {
    /// IMU whose samples begin at the start of the run.
    pub fn new(profile: &ImuProfile, noise: NoiseSource) -> Self {
        let samples = InertialSamples::new(profile.rate_hz);
        Self { profile: *profile, noise, samples }
    }

    /// Send time of a sample's packet.
    pub fn leaves(&self, sampled: SimTime) -> SimTime {
        SimTime(sampled.0 + self.profile.latency_ns)
    }

    /// Adds the noise of the IMU to a true sample: acceleration in g, angular rates in rad/s.
    pub fn measured(&self, truth: &InertialTruth) -> data::Inertial {
        let draws = self.noise.request(DRAWS + truth.at.0 / self.samples.series.period_ns());
        let ImuProfile { accel_std_g, gyro_std_deg_s, .. } = self.profile;
        let force_g = truth.specific_force_m_s2 / STANDARD_GRAVITY_M_S2;
        let rate_rad_s = truth.angular_rate_rad_s.to_array();
        let [acceleration, rate] = with_noise(
            &draws,
            [(force_g.to_array(), accel_std_g), (rate_rad_s, gyro_std_deg_s.to_radians())],
        );
        data::Inertial {
            gyro_rad_s: rate.map(|value| value as f32),
            acceleration_g: acceleration.map(|value| value as f32),
        }
    }
}
