//! `menura scenes`.

use super::CliError;

/// Arguments of `menura scenes`.
#[derive(Debug, clap::Args)]
pub struct Cmd {}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        Err(CliError::Failed("not built yet".into()))
    }
}
