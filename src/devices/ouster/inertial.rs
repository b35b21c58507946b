//! The inertial unit of an Ouster: a packet for each sample.

use super::clock::OusterClock;
use super::profile::ImuProfile;
use super::words::TimestampMode;
use crate::sample_series::InertialSamples;
use crate::sensors::imu::InertialTruth;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::wire::ouster::imu::ImuPacket;

/// Samples that wait for their packets.
pub struct Inertial {
    profile: ImuProfile,
    noise: NoiseSource,
    /// Samples that wait for a packet.
    pub samples: InertialSamples,
}

impl Inertial {
    /// Samples begin at the first instant.
    pub fn new(profile: &ImuProfile, noise: NoiseSource) -> Self {
        let samples = InertialSamples::new(profile.rate_hz);
        Self { profile: *profile, noise, samples }
    }

    /// Time when a sample's packet leaves.
    pub fn leaves(&self, sampled: SimTime) -> SimTime {
        SimTime(sampled.0 + self.profile.latency_ns)
    }

    /// The packet of a sample.
    pub fn packet(
        &self,
        truth: &InertialTruth,
        clock: &OusterClock,
        mode: TimestampMode,
    ) -> ImuPacket {
        let draws = self.noise.request(truth.at.0 / self.samples.series.period_ns());
        let ImuProfile { accel_std_g, gyro_std_deg_s, counts, read_after_ns, .. } = self.profile;
        let read = |value: f64, std: f64, place: usize, counts: f64| {
            let noisy = value + std * draws.standard_normal(place, Quantity::White);
            ((noisy * counts).round() / counts) as f32
        };
        let force_g = truth.specific_force_m_s2 / STANDARD_GRAVITY_M_S2;
        let rate = truth.angular_rate_rad_s;
        let stamp = |after_ns| clock.stamp_ns(mode, SimTime(truth.at.0 + after_ns));
        ImuPacket {
            system_ns: stamp(0),
            acceleration_ns: stamp(read_after_ns[0]),
            gyro_ns: stamp(read_after_ns[1]),
            acceleration_g: [0, 1, 2].map(|axis| read(force_g[axis], accel_std_g, axis, counts[0])),
            angular_rate_deg_s: [0, 1, 2]
                .map(|axis| read(rate[axis].to_degrees(), gyro_std_deg_s, 3 + axis, counts[1])),
        }
    }
}
