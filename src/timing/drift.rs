//! Timing errors over time, in constant memory, and their growth.

use serde::{Deserialize, Serialize};

use crate::time::SimTime;

/// Largest number of windows; if more are needed, neighbouring windows are merged.
const MOST_WINDOWS: usize = 600;
/// Initial length of a window, nanoseconds.
const FIRST_LENGTH_NS: u64 = 100_000_000;
/// Largest number of windows between which slopes are computed; neighbouring windows are combined first if there are
/// more. This bounds the number of slopes to 150 x 150 / 2.
const SLOPE_WINDOWS: usize = 150;

/// Least, mean and largest error in time windows of equal length.
#[derive(Clone, Debug)]
pub struct Timeline {
    length_ns: u64,
    windows: Vec<Option<Sums>>,
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    count: u64,
    sum_ns: i128,
    least_ns: i64,
    largest_ns: i64,
}

/// Errors in one time window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Start of the window, seconds since the first instant of the run.
    pub start_s: f64,
    /// Number of errors in the window.
    pub count: u64,
    /// Least error, microseconds.
    pub least_us: f64,
    /// Mean error, microseconds.
    pub mean_us: f64,
    /// Largest error, microseconds.
    pub largest_us: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { length_ns: FIRST_LENGTH_NS, windows: Vec::new() }
    }
}

impl Sums {
    fn of(error_ns: i64) -> Self {
        Self { count: 1, sum_ns: error_ns.into(), least_ns: error_ns, largest_ns: error_ns }
    }

    fn joined(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum_ns: self.sum_ns + other.sum_ns,
            least_ns: self.least_ns.min(other.least_ns),
            largest_ns: self.largest_ns.max(other.largest_ns),
        }
    }
}

fn join(one: Option<Sums>, other: Option<Sums>) -> Option<Sums> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.joined(other)),
        (one, other) => one.or(other),
    }
}

impl Timeline {
    /// Records an error, in nanoseconds, of an event at `at`.
    pub fn record(&mut self, at: SimTime, error_ns: i64) {
        while at.0 / self.length_ns >= MOST_WINDOWS as u64 {
            self.length_ns = self.length_ns.saturating_mul(2);
            let pairs = self.windows.chunks(2);
            self.windows = pairs.map(|p| join(p[0], p.get(1).copied().flatten())).collect();
        }
        let place = (at.0 / self.length_ns) as usize;
        if place >= self.windows.len() {
            self.windows.resize(place + 1, None);
        }
        self.windows[place] = join(self.windows[place], Some(Sums::of(error_ns)));
    }

    /// Windows with errors, in order.
    pub fn windows(&self) -> Vec<Window> {
        let window = |(place, sums): (usize, &Option<Sums>)| {
            let sums = (*sums)?;
            Some(Window {
                start_s: place as f64 * self.length_ns as f64 * 1e-9,
                count: sums.count,
                least_us: sums.least_ns as f64 * 1e-3,
                mean_us: sums.sum_ns as f64 * 1e-3 / sums.count as f64,
                largest_us: sums.largest_ns as f64 * 1e-3,
            })
        };
        self.windows.iter().enumerate().filter_map(window).collect()
    }

    /// Growth of the windows' least errors, nanoseconds per second: the median of the slopes between any two windows
    /// (Theil and Sen). A few windows with delays do not change it. The last window, which is not full, is left out; 0
    /// with fewer than two other windows.
    pub fn drift(&self) -> f64 {
        // The last window is seldom full, so its least error is usually larger than that of a full window.
        let full = &self.windows[..self.windows.len().saturating_sub(1)];
        let size = full.len().div_ceil(SLOPE_WINDOWS).max(1);
        let points: Vec<(f64, f64)> = full
            .chunks(size)
            .enumerate()
            .filter_map(|(place, group)| {
                let least_ns = group.iter().flatten().map(|s| s.least_ns).min()?;
                Some(((place * size) as f64 * self.length_ns as f64 * 1e-9, least_ns as f64))
            })
            .collect();
        let mut slopes = Vec::new();
        for (place, (start_s, least)) in points.iter().enumerate() {
            let later = &points[place + 1..];
            slopes.extend(later.iter().map(|(s, l)| (l - least) / (s - start_s)));
        }
        if slopes.is_empty() {
            return 0.0;
        }
        let middle = slopes.len() / 2;
        *slopes.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(seconds: u64, error_ns: impl Fn(u64) -> i64) -> Timeline {
        let mut timeline = Timeline::default();
        for at in (0..seconds * 1_000_000_000).step_by(1_000_000) {
            timeline.record(SimTime(at), error_ns(at));
        }
        timeline
    }

    #[test]
    fn a_drift_is_found_below_noise_and_stalls() {
        // The error grows by 50 us per second (50 ppm); every hundredth packet is also 5 ms late.
        let error = |at: u64| {
            let noise = (at / 1_000_000 * 7919 % 100) as i64 * 100;
            let stall = if at / 1_000_000 % 100 == 3 { 5_000_000 } else { 0 };
            (at / 20_000) as i64 + noise + stall
        };
        let drift = timeline(20, error).drift();
        assert!((drift - 50_000.0).abs() < 500.0, "{drift}");
    }

    #[test]
    fn a_stall_of_seconds_is_no_drift() {
        let error = |at: u64| if at / 1_000_000_000 == 3 { 8_000_000 } else { 2000 };
        assert_eq!(timeline(20, error).drift(), 0.0);
        assert_eq!(Timeline::default().drift(), 0.0);
    }

    #[test]
    fn long_runs_are_joined_into_wider_windows() {
        let timeline = timeline(200, |at| (at / 1_000_000_000) as i64 * 1000);
        let windows = timeline.windows();
        assert_eq!(windows.len(), 500);
        assert_eq!(windows[1].start_s, 0.4);
        assert_eq!(windows.iter().map(|w| w.count).sum::<u64>(), 200_000);
        assert_eq!((windows[499].least_us, windows[499].largest_us), (199.0, 199.0));
    }

    #[test]
    fn instants_at_the_end_of_time_are_answered() {
        let mut timeline = Timeline::default();
        timeline.record(SimTime(u64::MAX), i64::MIN);
        timeline.record(SimTime::ZERO, i64::MAX);
        assert!(timeline.windows().len() <= MOST_WINDOWS && timeline.drift().is_finite());
    }
}
