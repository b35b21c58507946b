//! Requests for series of samples at a constant period.

use std::collections::VecDeque;

use crate::config::rig::DeviceConfig;
use crate::sensors::imu::InertialTruth;
use crate::sensors::noise::{Quantity, RequestNoise};
use crate::sensors::{MeasurementRequest, Subject};
use crate::time::SimTime;

/// State of a device's requests for series of samples.
#[derive(Clone, Copy, Debug)]
pub struct SampleSeries {
    count: u32,
    period_ns: u64,
    next: SimTime,
}

impl SampleSeries {
    /// Samples taken every `period_ns` nanoseconds, the first at the start of the run.
    pub fn new(period_ns: u64) -> Self {
        let mut series = Self { count: 1, period_ns, next: SimTime::ZERO };
        series.limit(DeviceConfig::LONGEST_SERIES_NS);
        series
    }

    /// Limits the duration of a series to `longest_ns` nanoseconds; a series always has at least one sample. Call this
    /// before the first request.
    pub fn limit(&mut self, longest_ns: u64) {
        self.count = (longest_ns / self.period_ns).max(1) as u32;
    }

    /// Time between samples, nanoseconds.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Start of the next series.
    pub fn next_start(&self) -> SimTime {
        self.next
    }

    /// Start and request of the next series; `None` if it does not begin before `horizon`.
    pub fn poll(&mut self, horizon: SimTime) -> Option<(SimTime, Subject)> {
        let start = self.next;
        (start < horizon).then(|| {
            self.next = SimTime(start.0 + u64::from(self.count) * self.period_ns);
            (start, Subject::Series { count: self.count, period_ns: self.period_ns })
        })
    }

    /// Request for the next series, of a device that requests nothing else; the request's index is the number of the
    /// series. `None` if the series does not begin before `horizon`.
    pub fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let index = self.next.0 / (u64::from(self.count) * self.period_ns);
        let (start, subject) = self.poll(horizon)?;
        Some(MeasurementRequest { index, start, subject })
    }
}

/// Adds white noise to the acceleration and the angular rate of an IMU sample. Each vector is paired with the standard
/// deviation of its noise, in the same unit. `draws` is the random stream of the sample.
pub fn with_noise(
    draws: &RequestNoise,
    [acceleration, rate]: [([f64; 3], f64); 2],
) -> [[f64; 3]; 2] {
    let noisy = |(values, std): ([f64; 3], f64), first: usize| {
        let draw = |axis| draws.standard_normal(first + axis, Quantity::White);
        std::array::from_fn(|axis| values[axis] + std * draw(axis))
    };
    [noisy(acceleration, 0), noisy(rate, 3)]
}

/// Samples of a lidar's IMU: requests, and measured samples that wait for their packets.
#[derive(Clone, Debug)]
pub struct InertialSamples {
    /// State of the requests.
    pub series: SampleSeries,
    /// Measured samples that the device still needs for its packets, in order of time.
    pub waiting: VecDeque<InertialTruth>,
}

impl InertialSamples {
    /// Samples taken `rate_hz` times per second, the first at the start of the run.
    pub fn new(rate_hz: u32) -> Self {
        let period_ns = 1_000_000_000 / u64::from(rate_hz.max(1));
        Self { series: SampleSeries::new(period_ns), waiting: VecDeque::new() }
    }

    /// Adds `truths`, the samples of one measurement, to the waiting samples.
    pub fn take(&mut self, truths: &[InertialTruth]) {
        self.waiting.extend(truths);
    }

    /// Removes and returns the oldest waiting sample, if that sample is not later than `now`.
    pub fn next(&mut self, now: SimTime) -> Option<InertialTruth> {
        self.waiting.pop_front_if(|sample| sample.at <= now)
    }
}
