//! `menura profiles`: lists the firmware profiles, or shows one with its sources.

mod connections;

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

pub use self::connections::connection_table;
use super::out_file::write_file;
use super::schema::rows::rows_of;
use super::{CliError, console};
use crate::config::profile::Profile;
use crate::config::rig::{DeviceConfig, Rig};
use crate::devices::commands::{CommandRow, CommandTable, Conduct};
use crate::devices::describe::Rows;
use crate::devices::families::{catalogue, family_of, is_camera};
use crate::links::part_file::OutPath;

/// Largest width of a table column, characters. In a row with a longer cell, the text after the cell moves to the
/// right.
const WIDEST_COLUMN: usize = 32;

/// Arguments of `menura profiles`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Show this profile: a name from the list, or the path of a .toml file
    name: Option<String>,

    /// Write the calibration of the profile, or of a device of a rig, to this file; - is standard
    /// output
    ///
    /// Cameras: YAML for ROS camera_info_manager. HDL-64E: .xml for PCL, MRPT and VeloView,
    /// otherwise YAML for the ROS velodyne driver. Hesai: .csv.
    #[arg(long, value_name = "FILE")]
    calibration: Option<OutPath>,

    /// Use a device of this rig, with its settings, instead of a profile; requires --device
    #[arg(
        long,
        value_name = "FILE",
        requires = "device",
        requires = "calibration",
        conflicts_with = "name"
    )]
    rig: Option<PathBuf>,

    /// Name of the device in the rig of --rig
    #[arg(long, value_name = "NAME", requires = "rig")]
    device: Option<String>,

    /// Left camera of a stereo pair whose right camera is --device; the projection matrix then
    /// contains their distance
    #[arg(long, value_name = "NAME", requires = "rig")]
    left: Option<String>,

    /// Print every command of the product's protocols and how Menura handles it; without a profile,
    /// print the page docs/COMMANDS.md
    #[arg(long, conflicts_with = "calibration")]
    commands: bool,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let (Some(rig), Some(device), Some(path)) = (&self.rig, &self.device, &self.calibration)
        {
            return of_rig(rig, device, self.left.as_deref(), path);
        }
        let Some(name) = self.name else {
            if self.calibration.is_some() {
                let text = "error: --calibration needs a profile, or --rig and --device";
                return Err(CliError::Input(text.into()));
            }
            return console::print(if self.commands { command_page() } else { list() });
        };
        let profile = catalogue().profile(&name)?;
        if self.commands {
            return console::print(commands(&profile));
        }
        match self.calibration {
            Some(path) => write_calibration(&profile, None, 0.0, &path),
            None => console::print(page(&profile)),
        }
    }
}

/// Writes the calibration of a device of a rig.
fn of_rig(rig: &Path, device: &str, left: Option<&str>, path: &Path) -> Result<(), CliError> {
    let rig = Rig::load(rig, &[], catalogue())?;
    let named = |name: &str| {
        rig.devices.iter().find(|device| device.name == name).ok_or_else(|| {
            let names: Vec<_> = rig.devices.iter().map(|device| &*device.name).collect();
            let names = names.join(", ");
            CliError::Input(format!("error: the rig has no device `{name}`; it has {names}"))
        })
    };
    let device = named(device)?;
    let baseline_m = match left {
        Some(left) => baseline_m(named(left)?, device)?,
        None => 0.0,
    };
    write_calibration(&device.profile, Some(device), baseline_m, path)
}

/// Distance from `left` to `right`, metres; an error unless both are cameras that look in the same
/// direction side by side.
fn baseline_m(left: &DeviceConfig, right: &DeviceConfig) -> Result<f64, CliError> {
    for device in [left, right] {
        if !is_camera(device) {
            let name = &device.name;
            let text = format!("error: --left requires two cameras, and `{name}` is not a camera");
            return Err(CliError::Input(text));
        }
    }
    let is_on_one_body = match (&left.on, &right.on) {
        (None, None) => true,
        (Some((one, _)), Some((other, _))) => one == other,
        _ => false,
    };
    let between = left.body_from_sensor.inverse() * right.body_from_sensor;
    let aside = between.translation;
    let is_parallel = between.rotation.w.abs() > 1.0 - 1e-9;
    if is_on_one_body
        && is_parallel
        && aside.x.abs() < 1e-6
        && aside.z.abs() < 1e-6
        && aside.y < 0.0
    {
        return Ok(-aside.y);
    }
    Err(CliError::Input(format!(
        "error: `{}` must be on the right of `{}`, at the same height and with parallel axes",
        right.name, left.name
    )))
}

fn write_calibration(
    profile: &Profile,
    device: Option<&DeviceConfig>,
    baseline_m: f64,
    path: &Path,
) -> Result<(), CliError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let text = family_of(profile).calibration_file(profile, device, &extension, baseline_m);
    let Some(text) = text else {
        let format = if extension.is_empty() { String::new() } else { format!(" as .{extension}") };
        let text = format!("error: {} has no calibration{format}", profile.name);
        return Err(CliError::Input(text));
    };
    if path == Path::new("-") {
        return console::print(text);
    }
    write_file(path, text.as_bytes())?;
    console::say(format_args!("wrote {}", path.display()));
    Ok(())
}

fn list() -> String {
    let profiles = catalogue().profiles();
    let width = profiles.iter().map(|profile| profile.name.len()).max().unwrap_or(0);
    profiles.iter().map(|p| format!("{:width$}  {}\n", p.name, p.summary)).collect()
}

/// Text about a profile: its facts, and the settings that a rig may change.
pub fn page(profile: &Profile) -> String {
    let (name, summary, family) = (&profile.name, &profile.summary, profile.family.key());
    let mut text = format!("{name}\n{summary}\nfamily: {family}\n\n");
    for (heading, rows) in family_of(profile).describe(profile) {
        section(&mut text, heading, &rows);
    }
    settings(&mut text, profile);
    bullets(&mut text, "sources", &profile.sources);
    bullets(&mut text, "unsure", &profile.unsure);
    text
}

/// Appends a table of the keys that a rig's `settings` can have, with the columns of `docs/RIG-KEYS.md`.
fn settings(text: &mut String, profile: &Profile) {
    let head = ["key", "default", "type", "allowed"].map(str::to_owned);
    let rows = rows_of(&profile.settings_spec());
    let cells = rows.into_iter().map(|row| {
        let when = if row.when.is_empty() { String::new() } else { format!("only: {}", row.when) };
        let limits = [row.allowed, when].into_iter().filter(|part| !part.is_empty());
        [row.key, row.default.replace('`', ""), row.kind, limits.collect::<Vec<_>>().join("; ")]
    });
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(cells).collect();
    let [key, default, kind] = [0, 1, 2].map(|column| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.filter(|length| *length <= WIDEST_COLUMN).max().unwrap_or(0)
    });
    // Writing to a string cannot fail.
    let _ = writeln!(text, "settings of a rig");
    for [a, b, c, d] in &rows {
        let line = format!("  {a:key$}  {b:default$}  {c:kind$}  {d}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("`menura schema --markdown` prints what each key sets.\n\n");
}

/// Text with every command of a profile.
fn commands(profile: &Profile) -> String {
    let mut text = format!("{}\n", profile.name);
    for table in family_of(profile).commands(profile) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}: {}", table.title, table.summary());
        let width = |cell: fn(&CommandRow) -> &str| {
            table.rows.iter().map(|row| cell(row).len()).max().unwrap_or(0)
        };
        let (code, name) = (width(|row| row.code), width(|row| row.name));
        for row in &table.rows {
            let line = format!(
                "  {:code$}  {:name$}  {:8}  {}",
                row.code,
                row.name,
                row.conduct.word(),
                row.note
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        bullets(&mut text, "sources", &table.sources);
    }
    text
}

/// The page `docs/COMMANDS.md`: numbers of commands for each protocol, and the commands that units
/// refuse or that Menura does not support.
pub fn command_page() -> String {
    let mut tables: Vec<(CommandTable, Vec<&str>)> = Vec::new();
    for profile in catalogue().profiles() {
        for table in family_of(profile).commands(profile) {
            match tables.iter_mut().find(|(known, _)| *known == table) {
                Some((_, names)) => names.push(&profile.name),
                None => tables.push((table, vec![&profile.name])),
            }
        }
    }
    let mut text = PAGE_HEAD.to_owned();
    // Writing to a string cannot fail.
    for (table, names) in &tables {
        let _ =
            writeln!(text, "\n## {}: {}\n\n{}.\n", table.title, names.join(", "), table.summary());
        for source in &table.sources {
            let _ = writeln!(text, "Source: {source}\n");
        }
        let is_limit =
            |row: &&CommandRow| matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
        let limits: Vec<_> = table.rows.iter().filter(is_limit).collect();
        if limits.is_empty() {
            continue;
        }
        text.push_str("| Code | Command | Conduct | Reason |\n|---|---|---|---|\n");
        for row in limits {
            let cell = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                cell(row.code),
                cell(row.name),
                row.conduct.word(),
                cell(row.note)
            );
        }
    }
    text
}

const PAGE_HEAD: &str = "# Commands\n\n\
<!-- `menura profiles --commands` prints this page. -->\n\n\
Each section lists one protocol and the profiles that speak it. `menura profiles NAME --commands`\n\
prints every command of a profile. The word for each command says what the emulated product does:\n\n\
- `acts`: the command has its effect, or the answer is computed from the unit's state.\n\
- `kept`: the unit stores the value and reads it back.\n\
- `constant`: the answer never changes.\n\
- `refused`: the unit refuses or ignores the command, as the real product does.\n\
- `not made`: Menura does not have the command.\n";

fn section(text: &mut String, heading: &str, rows: &Rows) {
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{heading}");
    for (key, value) in rows {
        let _ = writeln!(text, "  {key:width$}  {value}");
    }
    text.push('\n');
}

fn bullets(text: &mut String, heading: &str, lines: &[impl Display]) {
    let _ = writeln!(text, "{heading}");
    for line in lines {
        let _ = writeln!(text, "  - {line}");
    }
    if lines.is_empty() {
        let _ = writeln!(text, "  (none)");
    }
    text.push('\n');
}
