//! The only file that asks for the time and sleeps.
//!
//! The real-time clock counts from an origin on the kernel's monotonic clock and sleeps to
//! absolute instants, so lateness never adds up.

use std::time::{Duration, Instant};

use rustix::thread::{ClockId, Timespec};
use rustix::time::ClockId as ReadableClock;

use crate::time::{Epoch, SimTime};

/// Simulated time that runs with the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin_ns: u64,
}

impl MonotonicClock {
    /// A clock whose first instant is `delay` from now, and the host's UTC at that instant.
    pub fn starting_in(delay: Duration) -> (Self, jiff::Timestamp) {
        let origin_ns = monotonic_ns() + delay.as_nanos() as u64;
        let delay = jiff::SignedDuration::try_from(delay).unwrap_or(jiff::SignedDuration::ZERO);
        (Self { origin_ns }, jiff::Timestamp::now() + delay)
    }

    /// The present instant; the first instant until it has come.
    pub fn now(&self) -> SimTime {
        SimTime(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// Sleeps until `at`; returns at once if it has passed.
    pub fn sleep_until(&self, at: SimTime) {
        let due_ns = self.origin_ns + at.0;
        let request = Timespec {
            tv_sec: (due_ns / 1_000_000_000) as i64,
            tv_nsec: (due_ns % 1_000_000_000) as _,
        };
        while monotonic_ns() < due_ns {
            // Interrupted by a signal: the deadline is absolute, so simply sleep again.
            let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request);
        }
    }
}

/// Measures how long work takes, for figures shown to people.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The epoch of a run that begins now, unless the rig says when it begins.
pub fn epoch_now_or(start_utc: Option<jiff::Timestamp>) -> Epoch {
    Epoch::new(start_utc.unwrap_or_else(jiff::Timestamp::now))
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(ReadableClock::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
