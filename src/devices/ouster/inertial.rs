//! The inertial unit of an Ouster: a packet for each sample.

use std::collections::VecDeque;

use super::clock::OusterClock;
use super::profile::ImuProfile;
use super::words::TimestampMode;
use crate::sample_series::SampleSeries;
use crate::sensors::Subject;
use crate::sensors::imu::InertialTruth;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::wire::ouster::imu::ImuPacket;

const STANDARD_GRAVITY_M_S2: f64 = 9.806_65;
const SECOND_NS: u64 = 1_000_000_000;

/// The samples on their way to packets.
pub struct Inertial {
    profile: ImuProfile,
    noise: NoiseSource,
    series: SampleSeries,
    samples: VecDeque<InertialTruth>,
}

impl Inertial {
    /// Samples begin at the first instant.
    pub fn new(profile: &ImuProfile, noise: NoiseSource) -> Self {
        let period_ns = SECOND_NS / u64::from(profile.rate_hz.max(1));
        let series = SampleSeries::new(period_ns);
        Self { profile: *profile, noise, series, samples: VecDeque::new() }
    }

    /// As [`SampleSeries::limit`].
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// When the next series begins.
    pub fn next_start(&self) -> SimTime {
        self.series.next_start()
    }

    /// What to measure next, if it begins before `horizon`: its start and what.
    pub fn poll(&mut self, horizon: SimTime) -> Option<(SimTime, Subject)> {
        self.series.poll(horizon)
    }

    /// Takes the answer to a request.
    pub fn take(&mut self, truths: &[InertialTruth]) {
        self.samples.extend(truths);
    }

    /// The next sample that has been taken until `now`, with its number.
    pub fn next_sample(&mut self, now: SimTime) -> Option<(u64, InertialTruth)> {
        let truth = self.samples.pop_front_if(|sample| sample.at <= now)?;
        Some((truth.at.0 / self.series.period_ns(), truth))
    }

    /// When a sample's packet leaves.
    pub fn leaves(&self, sampled: SimTime) -> SimTime {
        SimTime(sampled.0 + self.profile.latency_ns)
    }

    /// The packet of sample `number`.
    pub fn packet(
        &self,
        number: u64,
        truth: &InertialTruth,
        clock: &OusterClock,
        mode: TimestampMode,
    ) -> ImuPacket {
        let draws = self.noise.request(number);
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
