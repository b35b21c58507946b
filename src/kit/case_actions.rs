//! Events of a case, in order.

use crate::kit::bench::Stretch;
use crate::kit::case::{Case, ClockStep, WebPost};

/// An event of a case with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Action<'a> {
    /// Time of the event, seconds after the start of the case.
    pub at_s: f64,
    /// Kind of the event.
    pub what: What<'a>,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What<'a> {
    /// The sensor loses its power.
    Off,
    /// Power returns.
    On,
    /// The driver is killed and restarted.
    RestartDriver,
    /// A form is sent to the device's web interface.
    Post(&'a WebPost),
    /// The clock of the driver's computer is set.
    StepClock(&'a ClockStep),
}

/// All events of `case`, in the order of time.
pub(super) fn actions(case: &Case) -> Vec<Action<'_>> {
    let action = |at_s, what| Action { at_s, what };
    let cuts = case.power_cuts.iter();
    let mut actions: Vec<_> =
        cuts.flat_map(|cut| [action(cut.off_s, What::Off), action(cut.on_s, What::On)]).collect();
    let restarts = case.driver_restarts_s.iter();
    actions.extend(restarts.map(|at_s| action(*at_s, What::RestartDriver)));
    actions.extend(case.web_posts.iter().map(|post| action(post.at_s, What::Post(post))));
    actions.extend(case.clock_steps.iter().map(|step| action(step.at_s, What::StepClock(step))));
    actions.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    actions
}

/// One [`Stretch`] (period with power) for each power-on of `device`. Its `lasts_s` runs to the end of the case, even
/// if a power cut ends the stretch earlier. The first starts at `start_utc`, `settle_s` seconds before the case, with
/// the `[[fault]]` tables `faults`.
pub(super) fn stretches(
    case: &Case,
    device: &str,
    start_utc: jiff::Timestamp,
    settle_s: f64,
    faults: &str,
) -> Vec<Stretch> {
    let total_s = settle_s + case.lasts_s;
    let mut stretches = vec![Stretch {
        number: 1,
        start_utc,
        lasts_s: total_s,
        faults: faults.to_owned(),
        sets: Vec::new(),
    }];
    for cut in &case.power_cuts {
        let on_s = settle_s + cut.on_s;
        let later = jiff::SignedDuration::from_secs_f64(on_s);
        stretches.push(Stretch {
            number: stretches.len() + 1,
            start_utc: start_utc.saturating_add(later).unwrap_or(start_utc),
            lasts_s: (total_s - on_s).max(0.1),
            faults: String::new(),
            sets: cut.set.iter().map(|set| set.replace("{device}", device)).collect(),
        });
    }
    stretches
}
