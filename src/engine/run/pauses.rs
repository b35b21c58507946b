//! Limits how long the sending thread polls the clock.
//!
//! Linux pauses a real-time thread that leaves less than 5 % of a core to ordinary threads: once per second, for 50 ms.
//! The limit is `sched_rt_runtime_us`. Since Linux 6.12, the fair server enforces such a limit even if that setting
//! disables it. A `SCHED_DEADLINE` thread is paused when it has used its share of a period. So the sender measures its
//! sleep, and spins less if it has slept too little.

use std::time::Duration;

use crate::config::rig::SchedulerChoice;
use crate::time::SimTime;

/// Shortest wait in which the thread sleeps: falling asleep and waking up take this long.
const SHORTEST_SLEPT: Duration = Duration::from_micros(40);
/// Missing sleep, nanoseconds, above which the thread sleeps during shorter waits, too.
const PATIENCE_NS: i64 = 100_000;
/// Missing sleep, nanoseconds, above which the sender sleeps although a packet is due.
const LIMIT_NS: i64 = 1_000_000;
/// Duration of a sleep that the sender makes although a packet is due.
pub const FORCED: Duration = Duration::from_micros(200);
/// Largest surplus of past sleep that is credited to a thread, nanoseconds.
const MOST_SAVED_NS: i64 = 5_000_000;

/// Account of one thread's sleep: the required sleep so far, minus the actual sleep.
#[derive(Clone, Debug)]
pub struct Pauses {
    /// Share of the time that the thread must sleep, per cent.
    percent: u64,
    owed_ns: i64,
    last: Option<SimTime>,
}

impl Pauses {
    /// An account with a balance of zero, for a thread with this scheduler.
    pub fn of(scheduler: SchedulerChoice) -> Self {
        let percent = match scheduler {
            // Twice the share that the kernel requires for other threads.
            SchedulerChoice::Fifo => 10,
            // SCHED_DEADLINE reserves 400 of 500 us, so the thread must sleep for at least 20 %; 25 % leaves a margin.
            SchedulerChoice::Deadline => 25,
            SchedulerChoice::Normal => 0,
        };
        Self { percent, owed_ns: 0, last: None }
    }

    /// Records the present time `now`, and the sleep `slept` since the previous call.
    pub fn note(&mut self, now: SimTime, slept: Duration) {
        let elapsed = self.last.map_or(Duration::ZERO, |last| now.saturating_since(last));
        self.last = Some(now);
        let owed_ns = elapsed.as_nanos() as u64 * self.percent / 100;
        let balance_ns = self.owed_ns + owed_ns as i64 - slept.as_nanos() as i64;
        self.owed_ns = balance_ns.max(-MOST_SAVED_NS);
    }

    /// Time for which the thread may spin at the end of `wait`, at most `wish`. Before that time the thread sleeps.
    pub fn spin(&self, wait: Duration, wish: Duration) -> Duration {
        let most = match wait {
            _ if self.owed_ns <= 0 => wait,
            // Twice the required share, so that missing sleep is recovered.
            _ if wait >= SHORTEST_SLEPT => wait - wait * (2 * self.percent as u32) / 100,
            _ if self.owed_ns > PATIENCE_NS => Duration::ZERO,
            _ => wait,
        };
        most.min(wish)
    }

    /// Whether the thread must sleep although a packet is due.
    pub fn must_sleep(&self) -> bool {
        self.owed_ns > LIMIT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WAKE_UP: Duration = Duration::from_micros(5);

    /// Simulates a thread that sends for `cost` every `gap` and wants to spin for `wish`. Returns its share of sleep in
    /// the worst 50 ms, and its largest delay.
    fn drive(
        scheduler: SchedulerChoice,
        gap: Duration,
        cost: Duration,
        wish: Duration,
    ) -> (f64, Duration) {
        let window = Duration::from_millis(50);
        let mut pauses = Pauses::of(scheduler);
        let (mut now, mut due) = (SimTime::ZERO, SimTime::ZERO);
        let (mut asleep, mut least, mut latest) = (Duration::ZERO, f64::MAX, Duration::ZERO);
        let mut next_window = SimTime::ZERO + window;
        while now < SimTime(1_000_000_000) {
            pauses.note(now, Duration::ZERO);
            let mut sleep_until = |now: &mut SimTime, at: SimTime, pauses: &mut Pauses| {
                let slept = (at + WAKE_UP).saturating_since(*now);
                *now = at + WAKE_UP;
                asleep += slept;
                pauses.note(*now, slept);
            };
            if pauses.must_sleep() {
                let until = now + FORCED;
                sleep_until(&mut now, until, &mut pauses);
            }
            let wait = due.saturating_since(now);
            let spin = pauses.spin(wait, wish);
            if spin < wait {
                sleep_until(&mut now, due - spin, &mut pauses);
            }
            now = now.max(due);
            latest = latest.max(now.saturating_since(due));
            now = now + cost;
            due = due + gap;
            if now >= next_window {
                least = least.min(asleep.as_secs_f64() / window.as_secs_f64());
                asleep = Duration::ZERO;
                next_window = now + window;
            }
        }
        (least, latest)
    }

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn who_sleeps_enough_spins_as_asked() {
        // An HDL-64E S2 with default settings.
        let (asleep, latest) =
            drive(SchedulerChoice::Fifo, 288 * MICROSECOND, 8 * MICROSECOND, 100 * MICROSECOND);
        assert!((0.6..0.68).contains(&asleep), "{asleep}");
        assert_eq!(latest, Duration::ZERO);
    }

    #[test]
    fn who_would_never_sleep_sleeps_a_tenth_and_is_not_late() {
        // A VLS-128, and an HDL-64E with unlimited spinning.
        for gap in [79, 288] {
            let wish = 10_000 * MICROSECOND;
            let (asleep, latest) =
                drive(SchedulerChoice::Fifo, gap * MICROSECOND, 8 * MICROSECOND, wish);
            assert!((0.09..0.25).contains(&asleep), "{gap} us: {asleep}");
            assert_eq!(latest, Duration::ZERO, "{gap} us");
        }
        let (asleep, _) =
            drive(SchedulerChoice::Deadline, 288 * MICROSECOND, 8 * MICROSECOND, 300 * MICROSECOND);
        assert!(asleep > 0.22, "{asleep}");
    }

    proptest! {
        #[test]
        fn others_always_get_their_share(gap_us in 1_u32..400, cost_us in 1_u32..20, wish_us in 0_u32..500) {
            let (gap, cost, wish) = (gap_us * MICROSECOND, cost_us * MICROSECOND, wish_us * MICROSECOND);
            let (asleep, _) = drive(SchedulerChoice::Fifo, gap, cost, wish);
            prop_assert!(asleep > 0.07, "{asleep}");
        }
    }
}
