//! `menura check`: reads and validates a rig and everything it names; sends nothing.

use super::rig_args::RigArgs;
use super::{CliError, all, console, setup, world_summary};
use crate::config::rig::{DeviceConfig, DeviceId, Rig};
use crate::devices::family::family_of;
use crate::engine::load_scene;

/// Arguments of `menura check`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let rig = self.rig.load()?;
        let loaded = load_scene(&rig).map_err(|error| setup::explain(&rig, &error))?;
        let lines = world_summary::lines(&rig, &loaded).into_iter().chain(summary(&rig));
        let lines: String = lines.map(|line| format!("  {line}\n")).collect();
        let printed = console::print(format_args!("{}: ok\n{lines}", rig.name));
        all([printed, setup::look_for_sky(&rig, loaded)])
    }
}

/// One line a device.
fn summary(rig: &Rig) -> impl Iterator<Item = String> {
    rig.devices.iter().map(|unit| device(rig, unit))
}

fn device(rig: &Rig, device: &DeviceConfig) -> String {
    let settings = family_of(&device.profile).summary(device);
    let mut link = device.link.describe();
    for control in &device.controls {
        link += &format!(", {}", control.describe());
    }
    if let Some(DeviceId(source)) = device.cable_from {
        link += &format!(", GPS input wired to {}", rig.devices[source].name);
    }
    format!("{}: {}, {settings}, {link}", device.name, device.profile.name)
}
