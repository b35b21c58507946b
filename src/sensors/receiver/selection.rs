//! Which of a pulse's echoes a device reports.

use super::super::{PulseReturns, Return};

/// Which of a pulse's echoes a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoSelection {
    /// The echo with the least range.
    First,
    /// The echo with the strongest signal; the nearest of several equal ones.
    Strongest,
    /// The echo with the greatest range.
    Last,
    /// The strongest echo as first return, the last as second.
    StrongestAndLast,
    /// The last echo as second return. The first return is the strongest echo, or the second
    /// strongest if the last is the strongest and there is another.
    OtherAndLast,
}

/// The echoes that a selection may need, told from near to far.
#[derive(Default)]
pub(super) struct Candidates {
    nearest: Option<Return>,
    strongest: Option<Return>,
    runner_up: Option<Return>,
    last: Option<Return>,
}

impl Candidates {
    /// Takes the next echo.
    pub fn take(&mut self, echo: Return) {
        self.nearest = self.nearest.or(Some(echo));
        if self.strongest.is_none_or(|strongest| echo.signal > strongest.signal) {
            self.runner_up = self.strongest;
            self.strongest = Some(echo);
        } else if self.runner_up.is_none_or(|second| echo.signal > second.signal) {
            self.runner_up = Some(echo);
        }
        self.last = Some(echo);
    }

    /// What is reported.
    pub fn select(&self, selection: EchoSelection) -> PulseReturns {
        let Self { nearest, strongest, runner_up, last } = *self;
        let (first, second) = match selection {
            EchoSelection::First => (nearest, None),
            EchoSelection::Strongest => (strongest, None),
            EchoSelection::Last => (last, None),
            EchoSelection::StrongestAndLast => (strongest, last),
            EchoSelection::OtherAndLast if strongest == last => (runner_up.or(strongest), last),
            EchoSelection::OtherAndLast => (strongest, last),
        };
        PulseReturns { first, second }
    }
}
