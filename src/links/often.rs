//! Messages about events that may happen thousands of times per second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shortest time between two messages about the same event.
const QUIET: Duration = Duration::from_secs(10);

/// Limits log messages about equal events: the first event is logged at once, and the number of further events later.
#[derive(Debug, Default)]
pub(super) struct Often {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    told_at: Option<Instant>,
    untold: u64,
}

impl Often {
    /// Counts an event. Calls `first` if no message was logged in the last ten seconds and no earlier event waits for
    /// [`Often::tell_rest`].
    pub(super) fn happened(&self, first: impl FnOnce()) {
        if self.is_news(Instant::now()) {
            first();
        }
    }

    /// Calls `rest` with the number of events that were not logged. Does nothing if there are none, or if a message was
    /// logged in the last ten seconds.
    pub(super) fn tell_rest(&self, rest: impl FnOnce(u64)) {
        if let Some(count) = self.take_rest(Instant::now()) {
            rest(count);
        }
    }

    /// Number of events that were not logged, for a message at the end.
    pub(super) fn untold(&self) -> u64 {
        self.state.lock().map_or(0, |state| state.untold)
    }

    fn is_news(&self, now: Instant) -> bool {
        let mut state = self.state.lock().expect("no holder panics");
        let is_quiet = state.told_at.is_none_or(|at| now.duration_since(at) >= QUIET);
        if is_quiet && state.untold == 0 {
            state.told_at = Some(now);
            return true;
        }
        state.untold += 1;
        false
    }

    fn take_rest(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().expect("no holder panics");
        let is_quiet = state.told_at.is_some_and(|at| now.duration_since(at) >= QUIET);
        if !is_quiet || state.untold == 0 {
            return None;
        }
        state.told_at = Some(now);
        Some(std::mem::take(&mut state.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_the_others_are_counted() {
        let often = Often::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(often.take_rest(start), None);
        assert!(often.is_news(start));
        for _ in 0..100_000 {
            assert!(!often.is_news(after(1)));
        }
        assert_eq!(often.take_rest(after(9)), None);
        assert_eq!(often.untold(), 100_000);
        assert_eq!(often.take_rest(after(10)), Some(100_000));
        assert_eq!(often.take_rest(after(40)), None);
        // After a pause, the next event counts as the first again.
        assert!(often.is_news(after(41)));
        assert!(!often.is_news(after(42)));
    }
}
