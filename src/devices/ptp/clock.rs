//! A clock with an oscillator that can be stepped and steered.

use std::collections::VecDeque;

use crate::time::SimTime;

const DAY_NS: i128 = 86_400_000_000_000;
/// Rates are stored as multiples of 1 / `RATE_PARTS`.
const RATE_PARTS: i128 = 1_000_000_000_000;
/// Number of past settings kept for late measurements.
const KEPT_SETTINGS: usize = 4096;

/// Clock of a device. Its past readings stay the same when it is steered.
#[derive(Clone, Debug)]
pub struct PtpClock {
    fast_ns_a_day: i128,
    /// Settings of the clock, the latest first; never empty.
    past: VecDeque<Setting>,
    /// Time of the first steering.
    steered_since: Option<SimTime>,
}

/// Rate and offset of the clock from a given time on.
#[derive(Clone, Copy, Debug)]
struct Setting {
    from: SimTime,
    ticks: i128,
    shows_ns: i128,
    /// Deviation from the oscillator's rate, in units of 1 / [`RATE_PARTS`]; 0: the same rate.
    rate: i128,
}

impl PtpClock {
    /// A clock that reads `shows_ns` at `from` and whose oscillator is fast by `drift_s_per_day`.
    pub fn new(drift_s_per_day: f64, from: SimTime, shows_ns: i128) -> Self {
        let fast_ns_a_day = (drift_s_per_day * 1e9).round() as i128;
        let mut clock = Self { fast_ns_a_day, past: VecDeque::new(), steered_since: None };
        let ticks = clock.ticks(from);
        clock.past.push_front(Setting { from, ticks, shows_ns, rate: 0 });
        clock
    }

    /// A clock with the same oscillator that reads `shows_ns` at `from`.
    pub fn restarted(&self, from: SimTime, shows_ns: i128) -> Self {
        let ticks = self.ticks(from);
        let past = VecDeque::from([Setting { from, ticks, shows_ns, rate: 0 }]);
        Self { past, steered_since: None, ..*self }
    }

    /// Deviation of the clock's rate from its oscillator's, parts per billion; positive: the clock is faster.
    pub fn rate_ppb(&self) -> f64 {
        self.past.front().map_or(0.0, |setting| setting.rate as f64 / 1000.0)
    }

    /// Oscillator count at `at`, nanoseconds since the start of the run.
    fn ticks(&self, at: SimTime) -> i128 {
        let passed = i128::from(at.0);
        passed + (passed * self.fast_ns_a_day).div_euclid(DAY_NS)
    }

    /// Clock reading at `at`, nanoseconds; later steering does not change it.
    pub fn shows_ns(&self, at: SimTime) -> i128 {
        let then = self.past.iter().find(|setting| setting.from <= at);
        let Some(set) = then.or(self.past.back()) else { return 0 };
        let passed = self.ticks(at) - set.ticks;
        set.shows_ns + passed + (passed * set.rate).div_euclid(RATE_PARTS)
    }

    /// Time of the first call of [`Self::steer`]; `None` if there was none.
    pub fn steered_since(&self) -> Option<SimTime> {
        self.steered_since
    }

    /// Steps the clock by `step_ns` at `at`; from then on it runs `rate_ppb` faster than its oscillator. Times must not
    /// decrease.
    pub fn steer(&mut self, at: SimTime, step_ns: i128, rate_ppb: f64) {
        let shows_ns = self.shows_ns(at) + step_ns;
        let rate = (rate_ppb * 1000.0).round() as i128;
        self.past.push_front(Setting { from: at, ticks: self.ticks(at), shows_ns, rate });
        self.steered_since.get_or_insert(at);
        self.past.truncate(KEPT_SETTINGS);
    }
}
