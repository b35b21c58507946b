//! Interface of an experiment.

use super::{Findings, Scope};
use crate::config::toml::diagnostic::Diagnostics;

/// An experiment: a type whose fields are its options.
pub trait Run {
    /// Name of the experiment on the command line.
    const NAME: &'static str;
    /// Description of the comparison in one line.
    const ABOUT: &'static str;

    /// Runs the experiment.
    ///
    /// # Errors
    /// The options are impossible, or a file cannot be written.
    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError>;
}

/// Reason why an experiment has no findings.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The options are impossible; the text is ready to print.
    #[error("{0}")]
    Input(String),
    /// The rig or profile that the options name contains errors.
    #[error("{0}")]
    Rig(#[from] Diagnostics),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        #[source]
        why: std::io::Error,
    },
}
