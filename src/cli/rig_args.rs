//! Arguments that select a rig, shared by `run`, `record`, `check` and other commands.

use crate::devices::families::catalogue;
use std::path::PathBuf;

use super::{CliError, console};
use crate::config::rig::Rig;
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::overrides::Override;

/// A rig file and what the command line changes in it.
#[derive(Clone, Debug, clap::Args)]
pub struct RigArgs {
    /// The rig file [default: a robot with two lidars, a scanner, GNSS and IMU in a courtyard]
    pub rig: Option<PathBuf>,

    /// Set one key of the rig, as in world.scene=room or device.roof-lidar.settings.lag_ms=2
    ///
    /// VALUE is TOML, or a string if it is not valid TOML. Address a device by its name or its
    /// index: device[0]. Paths are relative to the current folder. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,

    /// Set the seed of all random numbers; the same as --set seed=N
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl RigArgs {
    /// Overrides of the command line.
    pub fn overrides(&self) -> Vec<Override> {
        let seed = self.seed.map(|seed| Override { key: "seed".into(), value: seed.to_string() });
        self.set.iter().cloned().chain(seed).collect()
    }

    /// Reads and checks the rig.
    ///
    /// # Errors
    /// All errors of the rig, ready to print.
    pub fn load(&self) -> Result<Rig, CliError> {
        let overrides = self.overrides();
        let rig = match &self.rig {
            Some(path) => Rig::load(path, &overrides, catalogue()),
            None => Rig::default_rig(&overrides, catalogue()),
        };
        Ok(rig?)
    }

    /// Text of the rig with every default.
    ///
    /// # Errors
    /// See [`RigArgs::load`].
    pub fn complete_text(&self) -> Result<String, CliError> {
        Ok(Rig::complete_text(self.rig.as_deref(), &self.overrides(), catalogue())?)
    }
}

impl From<Diagnostics> for CliError {
    fn from(faults: Diagnostics) -> Self {
        Self::Input(faults.render(console::has_colours()))
    }
}
