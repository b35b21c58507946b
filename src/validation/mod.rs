//! Experiments: each compares what Menura simulates with what it should be, and judges it.
//!
//! An experiment is one folder with a type that implements [`Run`], and one line of
//! [`EXPERIMENTS`]; the command line lists and runs what stands there.

mod allan;
mod andabata;
mod vepd;

use clap::{ArgMatches, Args, Command};

use crate::config::toml::diagnostic::Diagnostics;
use crate::plot::Figure;

/// All experiments, in the order of `menura validate --help`.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::of::<allan::Allan>(),
    Experiment::of::<vepd::Vepd>(),
    Experiment::of::<andabata::Andabata>(),
];

/// An experiment as the command line sees it.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it compares, in one line.
    pub about: &'static str,
    /// Adds its options to a command.
    pub arguments: fn(Command) -> Command,
    /// Runs it with the options that were given.
    pub run: fn(&ArgMatches) -> Result<Findings, ExperimentError>,
}

impl Experiment {
    const fn of<R: Run>() -> Self {
        Self {
            name: R::NAME,
            about: R::ABOUT,
            arguments: R::augment_args,
            run: |matches| match R::from_arg_matches(matches) {
                Ok(experiment) => experiment.run(),
                Err(error) => Err(ExperimentError::Input(error.to_string())),
            },
        }
    }
}

/// What an experiment implements: a type whose fields are its options.
trait Run: Args {
    /// See [`Experiment::name`].
    const NAME: &'static str;
    /// See [`Experiment::about`].
    const ABOUT: &'static str;

    /// Does the work.
    fn run(&self) -> Result<Findings, ExperimentError>;
}

/// What an experiment found.
pub struct Findings {
    /// Tables for people.
    pub text: String,
    /// The same for machines.
    pub report: serde_json::Value,
    /// The same as a figure.
    pub(crate) plot: Figure,
    /// What it comes to.
    pub verdict: Verdict,
}

/// What an experiment comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether everything is as it should be.
    pub holds: bool,
    /// One line that says so, or how much is not.
    pub line: String,
}

/// Why an experiment has no findings.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Its options ask for something that cannot be done; the text is ready to print.
    #[error("{0}")]
    Input(String),
    /// The rig or the profile that its options name is wrong.
    #[error("{0}")]
    Rig(#[from] Diagnostics),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
}
