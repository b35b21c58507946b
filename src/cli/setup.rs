//! Loading a rig's world with something to look at while it loads.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::CliError;
use crate::config::rig::Rig;
use crate::engine::{LiveWorld, SetupError};

impl From<SetupError> for CliError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Link { .. } => Self::Failed(error.to_string()),
            _ => Self::Input(format!("error: {error}")),
        }
    }
}

/// Loads and builds the world, with a spinner on a terminal.
pub fn load_world(rig: &Rig) -> Result<LiveWorld, CliError> {
    let style =
        ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
    let spinner = ProgressBar::new_spinner().with_style(style).with_message("loading the world");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let world = LiveWorld::load(rig);
    spinner.finish_and_clear();
    Ok(world?)
}
