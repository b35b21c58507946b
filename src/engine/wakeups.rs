//! Measures how late this host wakes a thread that sleeps until absolute instants. A sender that does not spin has at
//! least these delays.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::os::{self, Grant};
use crate::config::rig::SchedulerChoice;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;

/// Time between two wake-ups, nanoseconds.
const PERIOD_NS: u64 = 1_000_000;

/// Lateness of wake-ups, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WakeUps {
    /// Number of measured wake-ups.
    pub count: u64,
    /// Median lateness, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the lateness, nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile of the lateness, nanoseconds.
    pub p99_9_ns: u64,
    /// Largest lateness, nanoseconds.
    pub max_ns: u64,
    /// Rights that the system granted the thread.
    #[serde(skip)]
    pub grants: Vec<Grant>,
}

/// Largest wake-up delay that the histogram holds, nanoseconds; a longer delay is recorded as this value.
const LIMIT_NS: u64 = 60_000_000_000;
/// Significant digits of the histogram.
const DIGITS: u8 = 3;

/// Measures the wake-up delays of a thread that, like the sender, has real-time rights. For `duration`, the thread
/// sleeps 1000 times per second, at least once in total.
pub fn measure(duration: Duration) -> WakeUps {
    let count = (duration.as_nanos() as u64 / PERIOD_NS).max(1);
    let measuring = std::thread::spawn(move || {
        let grants = os::favour_this_thread(SchedulerChoice::default(), None);
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(5));
        let lateness_ns = (0..count).map(|index| {
            let due = SimTime(index * PERIOD_NS);
            clock.sleep_until(due);
            clock.now().0 - due.0
        });
        WakeUps { grants, ..WakeUps::of(lateness_ns) }
    });
    measuring.join().unwrap_or_default()
}

impl WakeUps {
    /// Statistics of wake-up delays, nanoseconds.
    fn of(lateness_ns: impl Iterator<Item = u64>) -> Self {
        // Bounds are necessary: without them the histogram records only very small values.
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LIMIT_NS, DIGITS)
            .expect("constant bounds that hdrhistogram allows");
        for lateness in lateness_ns {
            histogram.saturating_record(lateness.max(1));
        }
        let quantile = |share| histogram.value_at_quantile(share);
        Self {
            count: histogram.len(),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p99_9_ns: quantile(0.999),
            max_ns: histogram.max(),
            grants: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_wake_ups() {
        // 1 us to 1 ms in equal steps, and one wake-up that is 2.5 s late.
        let lateness_ns = (1..=1000).map(|n| n * 1000).chain([2_500_000_000]);
        let found = WakeUps::of(lateness_ns);
        assert_eq!(found.count, 1001);
        let within = |found_ns: u64, true_ns: u64| found_ns.abs_diff(true_ns) * 1000 <= true_ns;
        assert!(within(found.p50_ns, 501_000), "{found:?}");
        assert!(within(found.p99_ns, 991_000), "{found:?}");
        assert!(within(found.p99_9_ns, 1_000_000), "{found:?}");
        assert!(within(found.max_ns, 2_500_000_000), "{found:?}");
        let beyond = WakeUps::of([u64::MAX].into_iter());
        assert!(within(beyond.max_ns, LIMIT_NS), "{beyond:?}");
    }

    #[test]
    fn wake_ups_are_counted_and_ordered_and_no_thread_wakes_at_once() {
        let found = measure(Duration::from_millis(20));
        assert_eq!(found.count, 20);
        assert!(found.p50_ns <= found.p99_ns && found.p99_9_ns <= found.max_ns);
        // The return from the system call and the reading of the clock alone take more than 20 ns.
        assert!(found.max_ns > 20, "{found:?}");
    }
}
