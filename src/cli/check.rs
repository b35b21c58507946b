//! `menura check`: reads and validates a rig and all files that it names; sends no packets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::bench::estimate;
use super::rig_args::RigArgs;
use super::{CliError, all, console, setup, world_summary};
use crate::config::rig::{CableKind, CasterChoice, DeviceConfig, DeviceId, Rig};
use crate::devices::families::family_of;
use crate::engine::bench::bench;
use crate::engine::caster;
use crate::engine::{LiveWorld, load_scene};

/// Arguments of `menura check`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// Also estimate the real-time factor of the rig on this machine
    ///
    /// Loads the world and renders 0.2 s of simulated time. `menura bench` reports more.
    #[arg(long)]
    speed: bool,

    /// Print the rig as a complete rig file: with every default, and with short forms expanded
    ///
    /// The printed rig is valid and gives the same recording. Relative paths stay relative: save it
    /// in the folder of the rig. Keys without a fixed default are left out.
    #[arg(long, conflicts_with = "speed")]
    show: bool,
}

/// Simulated time that is rendered to estimate the real-time factor.
const SPEED_STRETCH: Duration = Duration::from_millis(200);

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.show {
            return console::print(self.rig.complete_text()?);
        }
        let rig = self.rig.load()?;
        if self.speed {
            setup::refuse_feeds(&rig, "an estimate")?;
        }
        let loaded = load_scene(&rig).map_err(|error| setup::explain(&rig, &error))?;
        if !self.speed && rig.engine.caster == CasterChoice::Gpu {
            caster::probe_gpu().map_err(|problem| setup::explain(&rig, &problem.into()))?;
        }
        let world = world_summary::lines(&rig, &loaded).into_iter();
        let lines = world.chain(summary(&rig)).chain(shared_destinations(&rig));
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

/// Lines of the command's output about the devices, one for each.
fn summary(rig: &Rig) -> impl Iterator<Item = String> {
    rig.devices.iter().map(|unit| device(rig, unit))
}

/// One line for each address that receives datagrams of several devices.
fn shared_destinations(rig: &Rig) -> Vec<String> {
    let mut senders: BTreeMap<SocketAddr, Vec<(&str, Option<IpAddr>)>> = BTreeMap::new();
    for device in &rig.devices {
        let Some((udp, host)) = device.link.udp().zip(device.link.datagram_host()) else {
            continue;
        };
        for port in host.ports {
            let from = udp.from.map(|from| from.ip());
            senders.entry((host.ip, port).into()).or_default().push((&device.name, from));
        }
    }
    let shared = senders.into_iter().filter(|(_, devices)| devices.len() > 1);
    shared.map(|(to, devices)| shared_destination(to, &devices)).collect()
}

fn shared_destination(to: SocketAddr, devices: &[(&str, Option<IpAddr>)]) -> String {
    let mut names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
    names.dedup();
    let sources: BTreeSet<IpAddr> = devices.iter().filter_map(|(_, from)| *from).collect();
    let sent = format!("{} send to {to}", names.join(" and "));
    if sources.len() == devices.len() {
        return format!("{sent}; hosts can distinguish them by source address");
    }
    format!(
        "warning: {sent}; give each another port in `to`, or a source address of its own with `from`"
    )
}

fn device(rig: &Rig, device: &DeviceConfig) -> String {
    let settings = family_of(&device.profile).summary(device);
    let mut link = device.link.describe();
    for control in &device.controls {
        link += &format!(", {}", control.describe());
    }
    if let Some(DeviceId(source)) = device.cable_from {
        let name = &rig.devices[source].name;
        link += &match device.cable {
            CableKind::Link => format!(", GPS input wired to {name}"),
            CableKind::Port(_) => format!(", corrections from {name}"),
            CableKind::Line(_) => {
                return format!(
                    "{}: {}, a line of {name}, {link}",
                    device.name, device.profile.name
                );
            }
        };
    }
    format!("{}: {}, {settings}, {link}", device.name, device.profile.name)
}
