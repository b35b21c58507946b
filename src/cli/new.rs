//! `menura new`: asks, or takes flags, and writes a commented rig to begin with.

mod ask;
mod draft;

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::{CliError, console};
use crate::config::rig::Rig;
use crate::config::rig::scenes::builtin;
use crate::devices::family::catalogue;
use draft::{Draft, DraftDevice};

/// Arguments of `menura new`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// The file to write; one that is there already stays as it is
    rig: PathBuf,

    /// Add a device with this profile, as in velodyne-vlp16-3.0 or roof=velodyne-vlp16-3.0
    ///
    /// May be repeated. `menura profiles` lists the profiles. On a terminal, a command without any
    /// asks for devices and scene.
    #[arg(long = "device", value_name = "[NAME=]PROFILE")]
    devices: Vec<String>,

    /// Where the bytes of a device go, as in udp:192.168.3.255:2368, pty:/tmp/scanner,
    /// serial:/dev/ttyUSB0 or tcp:127.0.0.1:2111
    ///
    /// The first one is the first device's, and so on; the rest get an address on this computer.
    #[arg(long = "link", value_name = "KIND:WHERE")]
    links: Vec<String>,

    /// A built-in scene, see `menura scenes`, or the path of a scene file [default: courtyard]
    #[arg(long, value_name = "SCENE")]
    scene: Option<String>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(mut self) -> Result<(), CliError> {
        if self.rig.exists() {
            let shown = self.rig.display();
            return Err(input(format!("error: {shown} is there already; name another file")));
        }
        if self.devices.is_empty() {
            if !std::io::stdin().is_terminal() {
                let help = "name at least one with --device; `menura profiles` lists them";
                return Err(input(format!("error: a rig has at least one device\n  help: {help}")));
            }
            let asked =
                ask::ask(&mut std::io::stdin().lock(), &mut console::questions(), self.scene)
                    .map_err(|error| CliError::failed("cannot read the answers", &error))?;
            (self.devices, self.links, self.scene) = (asked.devices, asked.links, asked.scene);
        }
        let text = self.text()?;
        let folder = self.rig.parent().unwrap_or(Path::new(""));
        let shown = self.rig.display().to_string();
        Rig::parse(&shown, &text, folder, &[], catalogue())?;
        let file = OpenOptions::new().write(true).create_new(true).open(&self.rig);
        let mut file =
            file.map_err(|error| input(format!("error: cannot write {shown}: {error}")))?;
        file.write_all(text.as_bytes()).map_err(|error| CliError::failed(&shown, &error))?;
        console::say(format_args!(
            "wrote {shown}; try `menura check {shown}` and `menura run {shown}`"
        ));
        Ok(())
    }

    /// The rig.
    fn text(&self) -> Result<String, CliError> {
        if self.links.len() > self.devices.len() {
            let (links, devices) = (self.links.len(), self.devices.len());
            return Err(input(format!("error: {links} links for {devices} devices")));
        }
        let scene = self.scene.as_deref().unwrap_or("courtyard");
        let mut draft = Draft { scene: self.scene_as_written(scene)?, devices: Vec::new() };
        for (index, device) in self.devices.iter().enumerate() {
            let (name, profile) = match device.split_once('=') {
                Some((name, profile)) => (Some(name), profile),
                None => (None, &**device),
            };
            let profile = catalogue().profile(profile)?;
            let name = name.map_or_else(|| draft.free_name(&profile), str::to_owned);
            let link = match self.links.get(index) {
                Some(link) => draft::link_of(link).map_err(input)?,
                None => draft.free_link(&name, &profile),
            };
            draft.devices.push(DraftDevice { name, profile, link });
        }
        Ok(draft.text())
    }

    /// Paths in a rig are relative to its folder, those of the command line are not.
    fn scene_as_written(&self, scene: &str) -> Result<String, CliError> {
        if builtin(scene).is_some() {
            return Ok(scene.to_owned());
        }
        if !Path::new(scene).exists() {
            let known = crate::config::rig::scenes::BUILTIN.iter().map(|scene| scene.name);
            let known = known.collect::<Vec<_>>().join(", ");
            let help = format!("allowed: {known}, or the path of a file");
            return Err(input(format!("error: there is no scene `{scene}`\n  help: {help}")));
        }
        if self.rig.parent().is_none_or(|folder| folder.as_os_str().is_empty()) {
            return Ok(scene.to_owned());
        }
        let path = std::path::absolute(scene).map_err(|error| CliError::failed(scene, &error))?;
        Ok(path.display().to_string())
    }
}

fn input(text: impl Into<String>) -> CliError {
    CliError::Input(text.into())
}
