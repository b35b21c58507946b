//! What an experiment is to the command line, and what it implements.

use clap::{ArgMatches, Args, Command};

use super::{Findings, Scope};
use crate::config::toml::diagnostic::Diagnostics;

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
    pub run: fn(&ArgMatches, &Scope) -> Result<Findings, ExperimentError>,
    /// Runs it as `menura validate --all` does, without options.
    pub run_as_one_of_all: fn(&Scope) -> Result<Findings, ExperimentError>,
}

impl Experiment {
    pub(super) const fn of<R: Run>() -> Self {
        Self {
            name: R::NAME,
            about: R::ABOUT,
            arguments: R::augment_args,
            run: run_with::<R>,
            run_as_one_of_all: |scope| {
                let arguments = [R::NAME].iter().chain(R::ARGUMENTS_OF_ALL);
                let command = R::augment_args(Command::new(R::NAME));
                match command.try_get_matches_from(arguments) {
                    Ok(matches) => run_with::<R>(&matches, scope),
                    Err(error) => Err(ExperimentError::Input(error.to_string())),
                }
            },
        }
    }
}

fn run_with<R: Run>(matches: &ArgMatches, scope: &Scope) -> Result<Findings, ExperimentError> {
    match R::from_arg_matches(matches) {
        Ok(experiment) => experiment.run(scope),
        Err(error) => Err(ExperimentError::Input(error.to_string())),
    }
}

/// What an experiment implements: a type whose fields are its options.
pub(super) trait Run: Args {
    /// See [`Experiment::name`].
    const NAME: &'static str;
    /// See [`Experiment::about`].
    const ABOUT: &'static str;
    /// What stands on the command line where all experiments are run: whatever it cannot do without.
    const ARGUMENTS_OF_ALL: &'static [&'static str] = &[];

    /// Does the work.
    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError>;
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
