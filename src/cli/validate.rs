//! `menura validate`: checks that what is simulated is what was asked for.

mod allan;
mod allan_plot;
mod vepd;

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
    /// Compare GNSS error models by what a state estimator makes of them and of an IMU
    Vepd(vepd::Cmd),
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.what {
            What::Allan(cmd) => cmd.run(),
            What::Vepd(cmd) => cmd.run(),
        }
    }
}
