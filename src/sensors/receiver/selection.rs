//! Selection of a pulse's echoes that a device reports.

use super::super::{PulseReturns, Return};

/// Rule that selects the echoes of a pulse that a receiver reports.
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

/// Echoes from which a selection chooses, added from near to far.
#[derive(Default)]
pub(super) struct Candidates {
    nearest: Option<Return>,
    strongest: Option<Return>,
    runner_up: Option<Return>,
    last: Option<Return>,
}

impl Candidates {
    /// Adds the next echo, which must be farther than the earlier ones.
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

    /// The echoes that `selection` reports.
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

/// The returns that `selection` reports for a pulse with one echo or none.
#[inline]
pub(in crate::sensors) fn of_one(echo: Option<Return>, selection: EchoSelection) -> PulseReturns {
    let second = match selection {
        EchoSelection::First | EchoSelection::Strongest | EchoSelection::Last => None,
        EchoSelection::StrongestAndLast | EchoSelection::OtherAndLast => echo,
    };
    PulseReturns { first: echo, second }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Range and signal of the selected echoes. `signals` has the signals of all echoes, from near to far.
    fn selected(selection: EchoSelection, signals: &[u8]) -> [Option<(f32, f32)>; 2] {
        let mut candidates = Candidates::default();
        for (place, signal) in signals.iter().enumerate() {
            let (range_m, signal) = (10.0 * (place + 1) as f32, f32::from(*signal));
            candidates.take(Return { range_m, intensity: 0.5, signal });
        }
        let returns = candidates.select(selection);
        [returns.first, returns.second].map(|echo| echo.map(|echo| (echo.range_m, echo.signal)))
    }

    /// Compares every order of up to three echoes of three strengths, equal ones included, with the rule. The rule
    /// selects the last echo and the strongest one. If these are the same, it selects the strongest of the others.
    #[test]
    fn the_other_echo_is_the_strongest_that_is_not_the_last() {
        let mut compared = 0;
        for count in 0..=3u32 {
            for code in 0..3usize.pow(count) {
                let signals: Vec<u8> =
                    (0..count).map(|place| 1 + (code / 3usize.pow(place) % 3) as u8).collect();
                let echo = |place: usize| (10.0 * (place + 1) as f32, f32::from(signals[place]));
                let nearest_of = |places: usize| {
                    let most = signals[..places].iter().max()?;
                    signals.iter().position(|signal| signal == most)
                };
                let last = signals.len().checked_sub(1);
                let strongest = nearest_of(signals.len());
                let other = if strongest == last {
                    last.and_then(nearest_of).or(strongest)
                } else {
                    strongest
                };
                let found = selected(EchoSelection::OtherAndLast, &signals);
                assert_eq!(found, [other.map(echo), last.map(echo)], "{signals:?}");
                let both = selected(EchoSelection::StrongestAndLast, &signals);
                assert_eq!(both, [strongest.map(echo), last.map(echo)], "{signals:?}");
                compared += 1;
            }
        }
        assert_eq!(compared, 1 + 3 + 9 + 27);
        // Example: of three echoes, the middle one is the other when the last is the strongest.
        let found = selected(EchoSelection::OtherAndLast, &[1, 2, 3]);
        assert_eq!(found, [Some((20.0, 2.0)), Some((30.0, 3.0))]);
        let found = selected(EchoSelection::OtherAndLast, &[2, 2, 2]);
        assert_eq!(found, [Some((10.0, 2.0)), Some((30.0, 2.0))]);
    }

    #[test]
    fn a_single_echo_is_selected_as_from_several() {
        for selection in [
            EchoSelection::First,
            EchoSelection::Strongest,
            EchoSelection::Last,
            EchoSelection::StrongestAndLast,
            EchoSelection::OtherAndLast,
        ] {
            for signals in [&[][..], &[7]] {
                let echo = |signal: &u8| Return {
                    range_m: 10.0,
                    intensity: 0.5,
                    signal: f32::from(*signal),
                };
                let PulseReturns { first, second } = of_one(signals.first().map(echo), selection);
                let found =
                    [first, second].map(|echo| echo.map(|echo| (echo.range_m, echo.signal)));
                assert_eq!(found, selected(selection, signals), "{selection:?}");
            }
        }
    }
}
