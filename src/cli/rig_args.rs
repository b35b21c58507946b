//! Which rig: the arguments that `run`, `record` and `check` share.

use crate::devices::family::catalogue;
use std::io::IsTerminal;
use std::path::PathBuf;

use super::CliError;
use crate::config::rig::Rig;
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::overrides::Override;

/// A rig file and what the command line changes in it.
#[derive(Clone, Debug, clap::Args)]
pub struct RigArgs {
    /// The rig file; left out, the default rig: a robot with all kinds of sensors in the courtyard
    pub rig: Option<PathBuf>,

    /// Set one key of the rig, as in world.scene=room or device.roof-lidar.settings.lag_ms=2
    ///
    /// VALUE is written as in TOML; what is not TOML is taken as a string. Devices go by name or
    /// by index: device[0]. Relative paths start at the current folder. May be given many times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,

    /// Set the seed of every random draw, as --set seed=N
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl RigArgs {
    /// Reads and checks the rig.
    ///
    /// # Errors
    /// Everything that is wrong with it, ready to print.
    pub fn load(&self) -> Result<Rig, CliError> {
        let mut overrides = self.set.clone();
        let seed = self.seed.map(|seed| Override { key: "seed".into(), value: seed.to_string() });
        overrides.extend(seed);
        let rig = match &self.rig {
            Some(path) => Rig::load(path, &overrides, catalogue()),
            None => Rig::default_rig(&overrides, catalogue()),
        };
        Ok(rig?)
    }
}

impl From<Diagnostics> for CliError {
    fn from(faults: Diagnostics) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::Input(faults.render(std::io::stderr().is_terminal() && !no_color))
    }
}
