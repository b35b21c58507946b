//! How late this host wakes a thread that sleeps to absolute instants: the floor below which no
//! sender on it can go without spinning.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::clock::MonotonicClock;
use super::os::{self, Grant};
use crate::config::rig::SchedulerChoice;
use crate::time::SimTime;

/// Between two wake-ups, nanoseconds.
const PERIOD_NS: u64 = 1_000_000;

/// Lateness of wake-ups, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WakeUps {
    /// Wake-ups that were measured.
    pub count: u64,
    /// Half of them were no later than this.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p99_9_ns: u64,
    /// The latest.
    pub max_ns: u64,
    /// What the system granted the thread.
    #[serde(skip)]
    pub grants: Vec<Grant>,
}

/// Sleeps a thousand times a second for `duration`, at least once, as the sending thread would.
pub fn measure(duration: Duration) -> WakeUps {
    let count = (duration.as_nanos() as u64 / PERIOD_NS).max(1);
    let measuring = std::thread::spawn(move || {
        let grants = os::favour_this_thread(SchedulerChoice::default(), None);
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(5));
        let mut lateness_ns = Histogram::<u64>::new(3).expect("a number of digits that it allows");
        for index in 0..count {
            let due = SimTime(index * PERIOD_NS);
            clock.sleep_until(due);
            lateness_ns.saturating_record(clock.now().0 - due.0);
        }
        let quantile = |share| lateness_ns.value_at_quantile(share);
        WakeUps {
            count: lateness_ns.len(),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p99_9_ns: quantile(0.999),
            max_ns: lateness_ns.max(),
            grants,
        }
    });
    measuring.join().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_are_counted_and_ordered() {
        let found = measure(Duration::from_millis(20));
        assert_eq!(found.count, 20);
        assert!(found.p50_ns <= found.p99_ns && found.p99_9_ns <= found.max_ns);
    }
}
