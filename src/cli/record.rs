//! `menura record`.

use super::CliError;

/// Arguments of `menura record`.
#[derive(Debug, clap::Args)]
pub struct Cmd {}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        Err(CliError::Failed("not built yet".into()))
    }
}
