//! How late this host wakes a thread that sleeps to absolute instants: the floor below which no
//! sender on it can go without spinning.

use std::time::Duration;

use serde::Serialize;

use super::clock::MonotonicClock;
use super::os::{self, Grant};
use crate::config::rig::EngineConfig;
use crate::time::SimTime;

/// Between two wake-ups, nanoseconds.
const PERIOD_NS: u64 = 1_000_000;

/// Lateness of wake-ups, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WakeUps {
    /// Wake-ups that were measured.
    pub count: usize,
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
        let grants = os::favour_this_thread(&EngineConfig::default());
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(5));
        let mut lateness_ns: Vec<u64> = (0..count)
            .map(|index| {
                let due = SimTime(index * PERIOD_NS);
                clock.sleep_until(due);
                clock.now().0 - due.0
            })
            .collect();
        lateness_ns.sort_unstable();
        (lateness_ns, grants)
    });
    let (sorted, grants) = measuring.join().unwrap_or_default();
    WakeUps {
        count: sorted.len(),
        p50_ns: quantile(&sorted, 500),
        p99_ns: quantile(&sorted, 990),
        p99_9_ns: quantile(&sorted, 999),
        max_ns: sorted.last().copied().unwrap_or_default(),
        grants,
    }
}

/// The smallest of `sorted` that `permille` of 1000 do not exceed; 0 of none.
fn quantile(sorted: &[u64], permille: usize) -> u64 {
    let rank = (sorted.len() * permille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_ranks() {
        let sorted: Vec<u64> = (1..=1000).collect();
        assert_eq!([500, 990, 999, 1000].map(|q| quantile(&sorted, q)), [500, 990, 999, 1000]);
        assert_eq!(quantile(&[7], 1), 7);
        assert_eq!(quantile(&[], 500), 0);
    }

    #[test]
    fn wake_ups_are_counted_and_ordered() {
        let found = measure(Duration::from_millis(20));
        assert_eq!(found.count, 20);
        assert!(found.p50_ns <= found.p99_ns && found.p99_9_ns <= found.max_ns);
    }
}
