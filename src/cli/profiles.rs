//! `menura profiles`.

use super::CliError;

/// Arguments of `menura profiles`.
#[derive(Debug, clap::Args)]
pub struct Cmd {}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        Err(CliError::Failed("not built yet".into()))
    }
}
