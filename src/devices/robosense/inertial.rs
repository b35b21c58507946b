//! The IMU of an Airy: one packet per sample.

use super::profile::ImuProfile;
use crate::sample_series::{InertialSamples, with_noise};
use crate::sensors::imu::InertialTruth;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;
use crate::wire::robosense::imu::Sample;

/// Index of the first random stream for IMU samples; streams of packets of points have lower indices.
const DRAWS: u64 = 1 << 62;

/// IMU of a unit, with the samples that wait for their packets.
pub struct Inertial {
    profile: ImuProfile,
    noise: NoiseSource,
    celsius: f64,
    count: u32,
    /// Samples that wait for their packets.
    pub samples: InertialSamples,
}

impl Inertial {
    /// IMU whose samples begin at the start of the run, at a temperature of `celsius`.
    pub fn new(profile: &ImuProfile, celsius: f64, noise: NoiseSource) -> Self {
        let samples = InertialSamples::new(profile.rate_hz);
        Self { profile: *profile, noise, celsius, count: 0, samples }
    }

    /// Send time of a sample's packet.
    pub fn leaves(&self, sampled: SimTime) -> SimTime {
        SimTime(sampled.0 + self.profile.latency_ns)
    }

    /// Packet of a sample; its timestamp is in microseconds of POSIX time.
    pub fn packet(&mut self, truth: &InertialTruth, unix_us: i64) -> Vec<u8> {
        let draws = self.noise.request(DRAWS + truth.at.0 / self.samples.series.period_ns());
        let ImuProfile { accel_std_g, gyro_std_deg_s, .. } = self.profile;
        let force_g = truth.specific_force_m_s2 / STANDARD_GRAVITY_M_S2;
        let rate_deg_s = truth.angular_rate_rad_s.to_array().map(f64::to_degrees);
        let [acceleration_g, angular_rate_deg_s] =
            with_noise(&draws, [(force_g.to_array(), accel_std_g), (rate_deg_s, gyro_std_deg_s)]);
        let sample = Sample {
            unix_us,
            acceleration_g,
            angular_rate_deg_s,
            celsius: self.celsius,
            ranges: [self.profile.accel_range, self.profile.gyro_range],
            count: self.count,
        };
        self.count = self.count.wrapping_add(1);
        sample.to_bytes(self.profile.full_scale_bits)
    }
}
