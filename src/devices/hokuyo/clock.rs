//! The scanner's clock: a 24-bit counter of milliseconds since power-on or reset, driven by a quartz oscillator with
//! drift.

use super::profile::HokuyoSettings;
use crate::time::SimTime;
use crate::wire::scip::scan::TIME_PERIOD_MS;

const NS_PER_MS: u64 = 1_000_000;

/// Clock of a scanner.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Time at which the clock read `offset_ns`.
    origin: SimTime,
    offset_ns: u64,
    drift_ppb: i64,
}

impl Clock {
    /// Clock of a unit that is switched on at or before the start of the run.
    pub fn new(settings: &HokuyoSettings) -> Self {
        let is_running = settings.start_up_ns == 0;
        let offset_ns = if is_running { settings.uptime_ns } else { 0 };
        Self {
            origin: SimTime::ZERO,
            offset_ns,
            drift_ppb: (settings.clock.drift_ppm * 1e3).round() as i64,
        }
    }

    /// Restarts the clock from zero at `at`.
    pub fn reset(&mut self, at: SimTime) {
        self.origin = at;
        self.offset_ns = 0;
    }

    fn ns(&self, at: SimTime) -> u64 {
        let elapsed = i128::from(at.0.saturating_sub(self.origin.0));
        let drifted = elapsed + elapsed * i128::from(self.drift_ppb) / 1_000_000_000;
        self.offset_ns + drifted.max(0) as u64
    }

    /// Clock reading, milliseconds.
    pub fn ms(&self, at: SimTime) -> u32 {
        (self.ns(at) / NS_PER_MS % u64::from(TIME_PERIOD_MS)) as u32
    }

    /// First time at or after `at` at which the clock reads a multiple of `tick_ns`, without regard to the drift from
    /// `at` on; `at` itself if `tick_ns` is 0.
    pub fn next_tick(&self, at: SimTime, tick_ns: u64) -> SimTime {
        match self.ns(at).checked_rem(tick_ns) {
            None | Some(0) => at,
            Some(past) => SimTime(at.0 + tick_ns - past),
        }
    }
}
