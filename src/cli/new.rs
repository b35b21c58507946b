//! `menura new`: writes a commented rig from answers or options.

mod ask;
pub(super) mod draft;

use std::io::{IsTerminal, Write};
use std::path::Path;

use super::{CliError, console};
use crate::config::rig::Rig;
use crate::config::rig::scenes::builtin;
use crate::devices::families::catalogue;
use crate::links::part_file::{OutPath, PartFile};
use draft::{Draft, DraftDevice};

/// Arguments of `menura new`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Output file; an existing file is never overwritten
    rig: OutPath,

    /// Add a device with this profile, as in velodyne-vlp16-3.0 or roof=velodyne-vlp16-3.0
    ///
    /// May be repeated. `menura profiles` lists the profiles. Without --device, the command asks
    /// for devices and scene if it runs on a terminal.
    #[arg(long = "device", value_name = "[NAME=]PROFILE")]
    devices: Vec<String>,

    /// Link of a device, as in udp:192.168.3.255:2368, pty:/tmp/scanner, serial:/dev/ttyUSB0 or
    /// tcp:127.0.0.1:2111
    ///
    /// A link with a name, as in gps=serial:/dev/ttyUSB0, belongs to that device. Links without a
    /// name are assigned to the devices in order. Devices without a link, or with `auto`, get an
    /// address on this computer.
    #[arg(long = "link", value_name = "[NAME=]KIND:WHERE")]
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
            return Err(input(format!("error: {shown} already exists; name another file")));
        }
        if self.devices.is_empty() {
            if !std::io::stdin().is_terminal() {
                let help = "name at least one with --device; `menura profiles` lists them";
                return Err(input(format!(
                    "error: a rig needs at least one device\n  help: {help}"
                )));
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
        let mut file = PartFile::create(&self.rig)
            .map_err(|error| input(format!("error: cannot write {shown}: {error}")))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.finish_new())
            .map_err(|error| CliError::failed(format!("cannot write {shown}"), &error))?;
        console::say(format_args!(
            "wrote {shown}; try `menura check {shown}` and `menura run {shown}`"
        ));
        Ok(())
    }

    /// Text of the rig.
    fn text(&self) -> Result<String, CliError> {
        let scene = self.scene.as_deref().unwrap_or("courtyard");
        let mut draft = Draft::new(self.scene_as_written(scene)?);
        let given = self.links.iter().map(|link| link_in(link).1);
        given.for_each(|link| draft.taken.note_text(link));
        let mut links = Links::of(&self.links);
        for device in &self.devices {
            let (name, profile) = match device.split_once('=') {
                Some((name, profile)) => (Some(name), profile),
                None => (None, &**device),
            };
            let profile = catalogue().profile(profile)?;
            let name = name.map_or_else(|| draft.free_name(&profile), str::to_owned);
            let link = match links.take(&name) {
                Some(link) => draft::link_of(link).map_err(input)?,
                None => draft.free_link(&name, &profile),
            };
            draft.devices.push(DraftDevice { name, profile, link });
        }
        if let Some((name, link)) = links.left().next() {
            let known: Vec<_> = draft.devices.iter().map(|device| &*device.name).collect();
            let whose = name.map_or("no device is left for it".to_owned(), |name| {
                format!("there is no device `{name}`")
            });
            let help = format!("the devices are {}", known.join(", "));
            return Err(input(format!("error: link `{link}`: {whose}\n  help: {help}")));
        }
        Ok(draft.text())
    }

    /// The scene as written in the rig file: the name of a built-in scene, or a path. The path becomes absolute if the
    /// rig is in another folder, because paths in a rig are relative to the rig's folder.
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

/// Splits `NAME=LINK`; the name is `None` if only the link is given.
fn link_in(given: &str) -> (Option<&str>, &str) {
    // After the first `:`, a `=` belongs to the link: a path may contain it.
    match given.split_once('=') {
        Some((name, link)) if !name.contains(':') => (Some(name), link),
        _ => (None, given),
    }
}

/// Links from the command line that are not assigned to a device yet. Each is a device name, `None` if the user gave
/// none, and the text of the link.
struct Links<'a>(Vec<(Option<&'a str>, &'a str)>);

impl<'a> Links<'a> {
    fn of(given: &'a [String]) -> Self {
        Self(given.iter().map(|link| link_in(link)).collect())
    }

    /// Removes and returns the link for `device`: the one with its name, otherwise the first without a name. `None` if
    /// no link is left or the link is `auto`; the device then gets an address on this computer.
    fn take(&mut self, device: &str) -> Option<&'a str> {
        let own = self.0.iter().position(|(name, _)| *name == Some(device));
        let place = own.or_else(|| self.0.iter().position(|(name, _)| name.is_none()))?;
        let (_, link) = self.0.remove(place);
        (link != ask::AUTO).then_some(link)
    }

    /// Links from the command line that no device has taken.
    fn left(&self) -> impl Iterator<Item = &(Option<&'a str>, &'a str)> {
        self.0.iter()
    }
}

fn input(text: impl Into<String>) -> CliError {
    CliError::Input(text.into())
}
