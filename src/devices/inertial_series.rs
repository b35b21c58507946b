//! Samples of the inertial units in a lidar, which are asked for a series at a time.

use crate::sensors::Subject;
use crate::time::SimTime;

/// Length of the series in which a device asks for the truth, nanoseconds. A longer one would be asked for
/// further ahead than the motion of a robot that is driven is known, and nobody could ever measure it.
pub const SERIES_NS: u64 = 10_000_000;

/// Samples of a series of such samples, one each `period_ns`.
pub fn samples_of_series(period_ns: u64) -> u32 {
    (SERIES_NS / period_ns).max(1) as u32
}

/// Which samples have been asked for.
#[derive(Clone, Copy, Debug)]
pub struct InertialSeries {
    count: u32,
    period_ns: u64,
    next: SimTime,
}

impl InertialSeries {
    /// Series of samples, one each `period_ns`; the first is at the first instant.
    pub fn new(period_ns: u64) -> Self {
        Self { count: samples_of_series(period_ns), period_ns, next: SimTime::ZERO }
    }

    /// From a sample to the next, nanoseconds.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// When the next series begins.
    pub fn next_start(&self) -> SimTime {
        self.next
    }

    /// What to measure next, if it begins before `horizon`: its start and what.
    pub fn poll(&mut self, horizon: SimTime) -> Option<(SimTime, Subject)> {
        let start = self.next;
        (start < horizon).then(|| {
            self.next = SimTime(start.0 + u64::from(self.count) * self.period_ns);
            (start, Subject::Series { count: self.count, period_ns: self.period_ns })
        })
    }
}
