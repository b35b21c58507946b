//! Schedule of an event: once, periodic, or until the end of the run.

use crate::time::SimTime;
use crate::toml::reader::{Limit, TableReader};

/// Time windows: from `start` for `duration_ns`, repeated with `period_ns`. A window includes its first
/// instant and excludes its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Time when the first window opens.
    pub start: SimTime,
    /// Duration of a window, nanoseconds; `None`: to the end of the run.
    pub duration_ns: Option<u64>,
    /// Time between the starts of successive windows, nanoseconds; `None`: one window.
    pub period_ns: Option<u64>,
}

impl Schedule {
    /// Index of the window that contains `at`; `None` if no window is open.
    pub fn window_at(&self, at: SimTime) -> Option<u64> {
        self.window_between(at, at)
    }

    /// Index of the first window that overlaps `from..=to`; `None` if there is none.
    pub fn window_between(&self, from: SimTime, to: SimTime) -> Option<u64> {
        let nearest = match self.period_ns {
            None => 0,
            Some(period) => from.0.saturating_sub(self.start.0) / period,
        };
        let last = if self.period_ns.is_some() { nearest + 1 } else { 0 };
        (nearest..=last).find(|&window| {
            let (opens, closes) = self.window(window);
            opens <= to && closes.is_none_or(|closes| from < closes)
        })
    }

    /// Start of the first window that opens at `from` or later; `None` if there is none.
    pub fn next_opening(&self, from: SimTime) -> Option<SimTime> {
        let past = from.0.saturating_sub(self.start.0);
        let window = match self.period_ns {
            _ if past == 0 => 0,
            Some(period) => past.div_ceil(period),
            None => return None,
        };
        Some(self.window(window).0)
    }

    /// Start and end of a window; the end is `None` if the window never closes.
    pub fn window(&self, window: u64) -> (SimTime, Option<SimTime>) {
        let after = window.saturating_mul(self.period_ns.unwrap_or(0));
        let opens = SimTime(self.start.0.saturating_add(after));
        (opens, self.duration_ns.map(|duration| SimTime(opens.0.saturating_add(duration))))
    }
}

/// Longest time in a schedule, seconds: about 116 days.
const LONGEST_S: f64 = 1e7;

/// Converts seconds to nanoseconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Reads `duration_s` of `table`, for an event that starts on request. `origin` is the source of the key's limits.
pub(crate) fn schedule_from_now(table: &mut TableReader<'_>, origin: &str) -> Schedule {
    let lasting = Limit::new(1e-6..=LONGEST_S, "s", origin);
    let duration_ns = table.optional("duration_s").number(&lasting).map(nanos);
    Schedule { start: SimTime::ZERO, duration_ns, period_ns: None }
}

/// Reads `start_s`, `duration_s` and `period_s` of `table`; `origin` is the source of their limits.
pub(crate) fn schedule(table: &mut TableReader<'_>, origin: &str) -> Option<Schedule> {
    let from_start = Limit::new(0.0..=LONGEST_S, "s", origin);
    let lasting = Limit::new(1e-6..=LONGEST_S, "s", origin);
    let says = "Start, as time since the start of the run.";
    let start_s = table.required("start_s").meaning(says).number(&from_start);
    let duration =
        table.optional("duration_s").meaning("Duration (default: to the end of the run).");
    let says = "Period of the repetition (default: it happens once).";
    let period = table.optional("period_s").meaning(says);
    let (duration_s, period_s) = (duration.number(&lasting), period.number(&lasting));
    if let (Some(place), Some(period_s)) = (period.place(), period_s)
        && duration_s.is_none_or(|duration_s| duration_s >= period_s)
        && (duration_s.is_some() || !duration.is_written())
    {
        let label = match duration_s {
            Some(duration_s) => format!("allowed: more than `duration_s`, {duration_s} s"),
            None => "add a `duration_s` that is shorter".to_owned(),
        };
        period.fault(place.fault("`period_s` must be longer than `duration_s`", label));
    }
    Some(Schedule {
        start: SimTime(nanos(start_s?)),
        duration_ns: duration_s.map(nanos),
        period_ns: period_s.map(nanos),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_hold_their_first_instant_and_not_their_last() {
        let once = Schedule { start: SimTime(10), duration_ns: Some(5), period_ns: None };
        let held: Vec<_> = (0..20).filter(|&t| once.window_at(SimTime(t)).is_some()).collect();
        assert_eq!(held, [10, 11, 12, 13, 14]);
        assert_eq!(once.window_between(SimTime(3), SimTime(9)), None);
        assert_eq!(once.window_between(SimTime(3), SimTime(10)), Some(0));
        assert_eq!(once.window_between(SimTime(15), SimTime(30)), None);
        let for_ever = Schedule { duration_ns: None, ..once };
        assert_eq!(for_ever.window_at(SimTime(u64::MAX)), Some(0));
        assert_eq!(
            [0, 10, 11].map(|t| once.next_opening(SimTime(t))),
            [Some(SimTime(10)), Some(SimTime(10)), None]
        );
    }

    proptest! {
        #[test]
        fn windows_are_those_that_counting_finds(
            start in 0u64..50, duration in 1u64..20, gap in 1u64..20, from in 0u64..300, span in 0u64..60,
        ) {
            let schedule = Schedule {
                start: SimTime(start),
                duration_ns: Some(duration),
                period_ns: Some(duration + gap),
            };
            let opened = |t: u64| {
                let after = t.checked_sub(start)?;
                (after % (duration + gap) < duration).then_some(after / (duration + gap))
            };
            let counted = (from..=from + span).find_map(opened);
            prop_assert_eq!(
                schedule.window_between(SimTime(from), SimTime(from + span)), counted
            );
            let opens = |t: u64| t >= start && (t - start).is_multiple_of(duration + gap);
            let next = (from..).find(|&t| opens(t)).map(SimTime);
            prop_assert_eq!(schedule.next_opening(SimTime(from)), next);
        }
    }
}
