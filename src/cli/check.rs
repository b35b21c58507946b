//! `menura check`: reads and validates a rig and everything it names; sends nothing.

use super::profiles::sick_lms1xx::mode_words;
use super::profiles::sick_lms2xx::variant_words;
use super::rig_args::RigArgs;
use super::{CliError, setup};
use crate::config::rig::{Configured, DeviceConfig, DeviceFamily, Rig};
use crate::engine::{LoadedWorld, load_scene};

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
        let LoadedWorld { scene, objects, .. } =
            load_scene(&rig).map_err(|error| setup::explain(&rig, &error))?;
        println!("{}: ok", rig.name);
        println!(
            "  scene: {} triangles in {} instances, {} of them stored",
            scene.instanced_triangles(),
            scene.instances.len(),
            scene.stored_triangles()
        );
        for object in &objects {
            println!("  {}: {}", object.name, object.trajectory.describe());
        }
        for line in summary(&rig) {
            println!("  {line}");
        }
        Ok(())
    }
}

/// One line a device.
fn summary(rig: &Rig) -> impl Iterator<Item = String> {
    rig.devices.iter().map(|unit| device(rig, unit))
}

fn device(rig: &Rig, device: &DeviceConfig) -> String {
    let settings = match &device.family {
        DeviceFamily::VelodyneHdl64e(Configured { profile, settings }) => {
            let rate = profile.timing_of(settings.return_mode).packets_per_second;
            let (rpm, mode) = (settings.rotation_rate_rpm, settings.return_mode.word());
            format!("{rpm} rpm, {mode}, {rate:.0} packets/s")
        }
        DeviceFamily::Velodyne(Configured { settings, .. }) => {
            format!("{} rpm, {}", settings.rotation_rate_rpm, settings.return_mode.word())
        }
        DeviceFamily::SickLms2xx(Configured { settings, .. }) => {
            let (baud, mode) = (settings.rate.baud(), settings.power_on_mode.word());
            format!("{}, {baud} baud, {mode}", variant_words(&settings.variant))
        }
        DeviceFamily::Imu(Configured { settings, .. }) => {
            format!("{} Hz, {} baud", settings.rate_hz, settings.baud_rate)
        }
        DeviceFamily::Gnss(Configured { settings, .. }) => {
            let outputs = settings.sentences.iter().map(|kind| kind.word());
            let outputs: Vec<_> =
                outputs.chain(settings.messages.iter().map(String::as_str)).collect();
            let rate = 1e9 / settings.period_ns as f64;
            format!("{rate} Hz, {} baud, {}", settings.baud, outputs.join(" "))
        }
        DeviceFamily::SickLms1xx(Configured { settings, .. }) => {
            let stream = settings.power_on_stream.map_or("off", |dialect| dialect.word());
            format!("{}, power-on stream {stream}", mode_words(&settings.mode))
        }
    };
    let mut link = device.link.describe();
    if let Some(control) = &device.control {
        link += &format!(", {}", control.describe());
    }
    if let Some(source) = device.gps_cable {
        link += &format!(", GPS input wired to {}", rig.devices[source].name);
    }
    format!("{}: {}, {settings}, {link}", device.name, device.profile.name)
}
