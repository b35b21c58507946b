//! `menura validate`: checks that what is simulated is what was asked for.

mod allan;
mod allan_plot;

use super::CliError;

/// Arguments of `menura validate`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Compare the Allan deviation of an IMU's simulated output with what its errors ask for
    Allan(allan::Cmd),
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.what {
            What::Allan(cmd) => cmd.run(),
        }
    }
}
