//! The clock of cases: real time, because drivers and rigs are other processes.

use std::time::{Duration, Instant};

/// The present instant.
pub fn now() -> Instant {
    Instant::now()
}

/// Waits for `duration`.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
