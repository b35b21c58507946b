//! Clocks of a run, comparisons of the kernel's clocks, and sleeping.
//!
//! The real-time clock counts from an origin on the kernel's monotonic clock and sleeps to
//! absolute instants, so lateness never adds up.

use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::thread::{ClockId, Timespec};
use rustix::time::{ClockId as ReadableClock, DynamicClockId, clock_gettime_dynamic};

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

    /// The current instant, or the first instant if that is still in the future.
    pub fn now(&self) -> SimTime {
        SimTime(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// The current instant, nanoseconds since the first instant; negative before it.
    pub fn since_start_ns(&self) -> i64 {
        monotonic_ns() as i64 - self.origin_ns as i64
    }

    /// Spins until `at`; returns at once if it has passed.
    pub fn watch_until(&self, at: SimTime) {
        let due_ns = self.origin_ns + at.0;
        while monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
    }

    /// Sleeps for about `duration`.
    pub fn rest(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// This clock's first instant on the kernel's monotonic clock, nanoseconds.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Time left until `at`, also correct before the first instant; zero if `at` has passed.
    pub fn left_until(&self, at: SimTime) -> Duration {
        Duration::from_nanos((self.origin_ns + at.0).saturating_sub(monotonic_ns()))
    }

    /// Sleeps until `at`; returns at once if it has passed.
    pub fn sleep_until(&self, at: SimTime) {
        self.sleep_until_before(at, Duration::ZERO);
    }

    /// Sleeps until the time `early` before `at`; this time may be before the first instant.
    pub fn sleep_until_before(&self, at: SimTime, early: Duration) {
        let due_ns = self.origin_ns + at.0 - early.as_nanos() as u64;
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

/// Measures elapsed time, for displayed figures only.
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

/// Processor time that the calling thread has used so far, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanos(rustix::time::clock_gettime(ReadableClock::ThreadCPUTime))
}

/// The epoch of a run: `start_utc` if it is given, otherwise the current time.
pub fn epoch_now_or(start_utc: Option<jiff::Timestamp>) -> Epoch {
    Epoch::new(start_utc.unwrap_or_else(jiff::Timestamp::now))
}

/// Offset of another kernel clock from the monotonic clock. The offset changes, because the other clock is steered and
/// set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Other clock minus monotonic clock, nanoseconds.
    pub offset_ns: i64,
    /// Half of the duration of the comparison, nanoseconds.
    pub uncertainty_ns: u64,
}

/// Offset of the real-time clock (`CLOCK_REALTIME`, which timestamps packets) from the monotonic clock.
pub fn realtime_offset() -> ClockOffset {
    offset_of(ReadableClock::Realtime)
}

/// Offset of international atomic time (`CLOCK_TAI`, the clock of launch times) from the monotonic clock.
pub fn tai_offset() -> ClockOffset {
    offset_of(ReadableClock::Tai)
}

fn offset_of(clock: ReadableClock) -> ClockOffset {
    let Ok(best) = compare(|| Ok::<_, Infallible>(nanos(rustix::time::clock_gettime(clock))));
    ClockOffset {
        offset_ns: best.other_ns as i64 - best.monotonic_ns as i64,
        uncertainty_ns: best.uncertainty_ns,
    }
}

/// Readings of two clocks at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Reading of the kernel's monotonic clock, nanoseconds.
    pub monotonic_ns: u64,
    /// Reading of the clock that is compared with the monotonic clock, nanoseconds.
    pub other_ns: u64,
    /// Largest possible time between the instants of the two readings, nanoseconds.
    pub uncertainty_ns: u64,
}

/// Compares a clock that has a file descriptor, such as the clock of a network card, with the monotonic clock.
///
/// # Errors
/// The clock cannot be read.
pub fn compare_with(clock: &impl AsFd) -> io::Result<Comparison> {
    let read = || clock_gettime_dynamic(DynamicClockId::Dynamic(clock.as_fd()));
    Ok(compare(|| read().map(nanos))?)
}

/// Compares the clock that `read` reads, in nanoseconds, with the monotonic clock. Returns the most precise of five
/// comparisons, because an interruption between two readings makes one imprecise.
fn compare<E>(read: impl Fn() -> Result<u64, E>) -> Result<Comparison, E> {
    let once = || -> Result<Comparison, E> {
        let before = monotonic_ns();
        let other_ns = read()?;
        let after = monotonic_ns();
        Ok(Comparison {
            monotonic_ns: before + (after - before) / 2,
            other_ns,
            uncertainty_ns: (after - before).div_ceil(2),
        })
    };
    let mut best = once()?;
    for _ in 1..5 {
        let next = once()?;
        if next.uncertainty_ns < best.uncertainty_ns {
            best = next;
        }
    }
    Ok(best)
}

fn monotonic_ns() -> u64 {
    nanos(rustix::time::clock_gettime(ReadableClock::Monotonic))
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_clock_shows_no_time() {
        assert!(compare_with(&std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
