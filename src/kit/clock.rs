//! The clock by which cases are watched: drivers and rigs are other processes and live in real time.

use std::time::{Duration, Instant};

/// The present instant.
pub fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
