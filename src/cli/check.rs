//! `menura check`: reads and validates a rig and everything it names; sends nothing.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::bench::estimate;
use super::rig_args::RigArgs;
use super::{CliError, all, console, setup, world_summary};
use crate::config::rig::{DeviceConfig, DeviceId, Rig};
use crate::devices::family::family_of;
use crate::engine::bench::bench;
use crate::engine::{LiveWorld, load_scene};

/// Arguments of `menura check`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// Estimate also how many times real time the rig runs on this machine
    ///
    /// This loads the world and renders a fifth of a second of it; `menura bench` says more.
    #[arg(long)]
    speed: bool,
}

/// What is rendered for an estimate.
const SPEED_STRETCH: Duration = Duration::from_millis(200);

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let rig = self.rig.load()?;
        if self.speed {
            setup::refuse_feeds(&rig, "an estimate")?;
        }
        let loaded = load_scene(&rig).map_err(|error| setup::explain(&rig, &error))?;
        let lines = world_summary::lines(&rig, &loaded).into_iter().chain(summary(&rig));
        let lines: String = lines.map(|line| format!("  {line}\n")).collect();
        let printed = console::print(format_args!("{}: ok\n{lines}", rig.name));
        if !self.speed {
            return all([printed, setup::look_for_sky(&rig, loaded)]);
        }
        let world = LiveWorld::build(&rig, loaded).map_err(|error| setup::explain(&rig, &error))?;
        setup::warn_of_hidden_sky(&rig, &world);
        let figures = bench(&rig, world, SPEED_STRETCH, &AtomicBool::new(false), |_| ())
            .map_err(|error| CliError::failed("cannot measure the sending", &error))?;
        let told = console::print(format_args!("  speed: {}\n", estimate(&figures)));
        all([printed, told])
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
