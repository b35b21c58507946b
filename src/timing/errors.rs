//! A record of timing errors in constant memory: histogram, worst cases, and errors over time.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::drift::{Timeline, Window};
use crate::time::SimTime;

/// Largest error in the histogram, nanoseconds; in percentiles, larger errors count as this value.
const LIMIT_NS: u64 = 60_000_000_000;
/// Significant digits of percentiles.
const DIGITS: u8 = 3;
/// Number of worst cases that are kept.
const WORST_KEPT: usize = 10;

/// Timing errors of events; a positive error is late.
#[derive(Clone, Debug)]
pub struct ErrorRecord {
    sizes_ns: Histogram<u64>,
    early: u64,
    earliest_ns: u64,
    sum_ns: f64,
    worst: Vec<Worst>,
    timeline: Timeline,
}

/// One of the largest errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worst {
    /// Number of the device's packets before the packet with this error, including dropped packets.
    pub packet: u64,
    /// Time when the event was due, nanoseconds since the first instant.
    pub due_ns: u64,
    /// Error, nanoseconds; positive is late.
    pub error_ns: i64,
}

/// Statistics of an [`ErrorRecord`]. Percentiles are of the absolute error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorFigures {
    /// Number of recorded events.
    pub count: u64,
    /// Mean error, microseconds; early errors are negative.
    pub mean_us: f64,
    /// Median of the absolute error, microseconds.
    pub p50_us: f64,
    /// 90th percentile of the absolute error, microseconds.
    pub p90_us: f64,
    /// 99th percentile of the absolute error, microseconds.
    pub p99_us: f64,
    /// 99.9th percentile of the absolute error, microseconds.
    pub p99_9_us: f64,
    /// 99.99th percentile of the absolute error, microseconds.
    pub p99_99_us: f64,
    /// Largest absolute error, microseconds.
    pub max_us: f64,
    /// Number of early events.
    pub early: u64,
    /// Largest time by which an event preceded its due time, microseconds; 0 if no event was early.
    pub earliest_us: f64,
    /// Growth of the least error, microseconds per second; see [`Timeline::drift`].
    pub drift_us_per_s: f64,
    /// Histogram of the absolute errors: upper bound (nanoseconds) and count of each bin that is not empty.
    pub histogram: Vec<(u64, u64)>,
    /// Events with the largest absolute errors, largest first.
    pub worst: Vec<Worst>,
    /// Least, mean and largest error by time window.
    pub timeline: Vec<Window>,
}

impl Default for ErrorRecord {
    fn default() -> Self {
        let sizes_ns = Histogram::new_with_bounds(1, LIMIT_NS, DIGITS)
            .expect("constant bounds that hdrhistogram allows");
        Self {
            sizes_ns,
            early: 0,
            earliest_ns: 0,
            sum_ns: 0.0,
            worst: Vec::with_capacity(WORST_KEPT + 1),
            timeline: Timeline::default(),
        }
    }
}

impl ErrorRecord {
    /// Records that packet number `packet`, due at `due`, had the error `error_ns`; positive is late.
    pub fn record(&mut self, packet: u64, due: SimTime, error_ns: i64) {
        let size_ns = error_ns.unsigned_abs();
        self.sizes_ns.saturating_record(size_ns.max(1));
        if error_ns < 0 {
            self.early += 1;
            self.earliest_ns = self.earliest_ns.max(size_ns);
        }
        self.sum_ns += error_ns as f64;
        self.timeline.record(due, error_ns);
        let is_bad = |worst: &Worst| worst.error_ns.unsigned_abs() >= size_ns;
        let place = self.worst.partition_point(is_bad);
        if place < WORST_KEPT {
            self.worst.insert(place, Worst { packet, due_ns: due.0, error_ns });
            self.worst.truncate(WORST_KEPT);
        }
    }

    /// Number of recorded events.
    pub fn count(&self) -> u64 {
        self.sizes_ns.len()
    }

    /// Statistics of the recorded errors.
    pub fn figures(&self) -> ErrorFigures {
        let quantile = |q| self.sizes_ns.value_at_quantile(q) as f64 / 1e3;
        let count = self.count();
        let bars = self.sizes_ns.iter_recorded();
        ErrorFigures {
            count,
            mean_us: if count == 0 { 0.0 } else { self.sum_ns / count as f64 / 1e3 },
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p99_9_us: quantile(0.999),
            p99_99_us: quantile(0.9999),
            max_us: self.worst.first().map_or(0.0, |w| w.error_ns.unsigned_abs() as f64 / 1e3),
            early: self.early,
            earliest_us: self.earliest_ns as f64 / 1e3,
            drift_us_per_s: self.timeline.drift() * 1e-3,
            histogram: bars.map(|b| (b.value_iterated_to(), b.count_at_value())).collect(),
            worst: self.worst.clone(),
            timeline: self.timeline.windows(),
        }
    }
}

/// Whether `count` values are so few that their `quantile` (0 to 1) equals their maximum; false if `count` is 0.
pub fn is_maximum(quantile: f64, count: u64) -> bool {
    // Fractions such as 0.999 have no exact binary representation.
    count > 0 && (1.0 - quantile) * (count as f64) < 1.0 - 1e-9
}

impl ErrorFigures {
    /// The `quantile` (0 to 1) of the absolute errors, computed from the histogram, microseconds.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        if quantile >= 1.0 {
            return self.max_us;
        }
        let wanted = ((quantile * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (size_ns, count) in &self.histogram {
            seen += count;
            if seen >= wanted {
                return *size_ns as f64 / 1e3;
            }
        }
        self.max_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_are_those_of_the_errors() {
        let mut record = ErrorRecord::default();
        for n in 1..=1000_u64 {
            record.record(n - 1, SimTime(n * 1_000_000), n as i64 * 1000);
        }
        record.record(1000, SimTime(1_001_000_000), -5_000_000);
        let figures = record.figures();
        assert_eq!((figures.count, figures.early), (1001, 1));
        assert!((figures.p50_us - 501.0).abs() < 1.0, "{}", figures.p50_us);
        assert!((figures.p99_us - 991.0).abs() < 1.5, "{}", figures.p99_us);
        assert_eq!((figures.max_us, figures.earliest_us), (5000.0, 5000.0));
        assert_eq!(figures.worst.len(), 10);
        assert_eq!(figures.worst[0].packet, 1000);
        assert_eq!(
            figures.worst[1],
            Worst { packet: 999, due_ns: 1_000_000_000, error_ns: 1_000_000 }
        );
        assert_eq!(figures.histogram.iter().map(|(_, count)| count).sum::<u64>(), 1001);
        let text = serde_json::to_string(&figures).unwrap();
        let read: ErrorFigures = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (read.count, read.histogram, read.worst),
            (1001, figures.histogram, figures.worst)
        );
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        assert_eq!(ErrorRecord::default().figures(), ErrorFigures::default());
    }

    proptest! {
        #[test]
        fn the_written_histogram_has_the_same_percentiles(
            errors in prop::collection::vec(-100_000_000_000_i64..100_000_000_000, 1..300),
        ) {
            let mut record = ErrorRecord::default();
            for (n, error) in errors.iter().enumerate() {
                record.record(n as u64, SimTime(n as u64 * 400_000), *error);
            }
            let figures = record.figures();
            prop_assert_eq!(figures.quantile_us(0.5), figures.p50_us);
            prop_assert_eq!(figures.quantile_us(0.99), figures.p99_us);
            prop_assert_eq!(figures.quantile_us(0.999), figures.p99_9_us);
            let largest = errors.iter().map(|e| e.unsigned_abs()).max().unwrap();
            prop_assert_eq!(figures.quantile_us(1.0), largest as f64 / 1e3);
        }
    }
}
