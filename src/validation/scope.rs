//! Extent of an experiment, and display of its progress.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time after which a progress bar appears.
const PATIENCE: Duration = Duration::from_secs(2);

/// Extent of an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// Whether to run the short form of a few seconds, as in tests.
    pub short: bool,
}

impl Scope {
    /// Returns `short` for the short form, otherwise `full`.
    pub(super) fn of<T>(&self, full: T, short: T) -> T {
        if self.short { short } else { full }
    }

    /// Shows the progress of `what`, in `total` steps.
    pub(super) fn progress(&self, what: &str, total: u64) -> Progress {
        let style =
            ProgressStyle::with_template("{prefix} {bar:40} {percent:>3}% {msg}, {eta} left")
                .expect("a constant template");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_style(style);
        bar.set_prefix(what.to_owned());
        Progress { bar }
    }
}

/// A progress bar that appears only after [`PATIENCE`] and only on a terminal. It disappears when dropped.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Adds `steps` to the number of finished steps.
    pub(super) fn advance(&self, steps: u64) {
        self.appear();
        self.bar.inc(steps);
    }

    /// Sets the number of finished steps; `message` names the current step.
    pub(super) fn set(&self, done: u64, message: String) {
        self.appear();
        self.bar.set_message(message);
        self.bar.set_position(done);
    }

    fn appear(&self) {
        if self.bar.is_hidden() && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
