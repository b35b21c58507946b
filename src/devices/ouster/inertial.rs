//! The IMU of an Ouster; each sample is a packet.

use super::clock::OusterClock;
use super::profile::ImuProfile;
use super::words::TimestampMode;
use crate::sample_series::{InertialSamples, with_noise};
use crate::sensors::imu::InertialTruth;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;
use crate::wire::ouster::imu::ImuPacket;

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

    /// Makes the packet of a sample: values with errors, and timestamps of the clock in the mode `mode`.
    pub fn packet(
        &self,
        truth: &InertialTruth,
        clock: &OusterClock,
        mode: TimestampMode,
    ) -> ImuPacket {
        let draws = self.noise.request(truth.at.0 / self.samples.series.period_ns());
        let ImuProfile { accel_std_g, gyro_std_deg_s, counts, read_after_ns, .. } = self.profile;
        let force_g = truth.specific_force_m_s2 / STANDARD_GRAVITY_M_S2;
        let rate_deg_s = truth.angular_rate_rad_s.to_array().map(f64::to_degrees);
        let [acceleration, rate] =
            with_noise(&draws, [(force_g.to_array(), accel_std_g), (rate_deg_s, gyro_std_deg_s)]);
        let read = |counts: f64| move |value: f64| ((value * counts).round() / counts) as f32;
        let stamp = |after_ns| clock.stamp_ns(mode, SimTime(truth.at.0 + after_ns));
        ImuPacket {
            system_ns: stamp(0),
            acceleration_ns: stamp(read_after_ns[0]),
            gyro_ns: stamp(read_after_ns[1]),
            acceleration_g: acceleration.map(read(counts[0])),
            angular_rate_deg_s: rate.map(read(counts[1])),
        }
    }
}
