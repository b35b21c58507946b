//! `menura profiles`: lists the firmware profiles, or shows one with its sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{CliError, console};
use crate::config::profile::Profile;
use crate::devices::describe::Rows;
use crate::devices::family::{catalogue, family_of};

/// Arguments of `menura profiles`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Show this profile: a name from the list, or the path of a .toml file
    name: Option<String>,

    /// Write the profile's calibration: .xml for PCL, MRPT and VeloView, otherwise YAML for the
    /// ROS velodyne driver; - is standard output
    #[arg(long, value_name = "FILE", requires = "name")]
    calibration: Option<PathBuf>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Some(name) = self.name else {
            return console::print(list());
        };
        let profile = catalogue().profile(&name)?;
        match self.calibration {
            Some(path) => write_calibration(&profile, &path),
            None => console::print(show(&profile)),
        }
    }
}

fn write_calibration(profile: &Profile, path: &Path) -> Result<(), CliError> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let Some(text) = family_of(profile).calibration_file(profile, &extension) else {
        return Err(CliError::Input(format!("error: {} has no calibration", profile.name)));
    };
    if path == Path::new("-") {
        return console::print(text);
    }
    std::fs::write(path, text)
        .map_err(|error| CliError::failed(format!("cannot write {}", path.display()), &error))?;
    console::say(format_args!("wrote {}", path.display()));
    Ok(())
}

fn list() -> String {
    let profiles = catalogue().profiles();
    let width = profiles.iter().map(|profile| profile.name.len()).max().unwrap_or(0);
    profiles.iter().map(|p| format!("{:width$}  {}\n", p.name, p.summary)).collect()
}

fn show(profile: &Profile) -> String {
    let mut text = format!("{}\n{}\n\n", profile.name, profile.summary);
    for (heading, rows) in family_of(profile).describe(profile) {
        section(&mut text, heading, &rows);
    }
    bullets(&mut text, "sources", &profile.sources);
    bullets(&mut text, "unsure", &profile.unsure);
    text
}

fn section(text: &mut String, heading: &str, rows: &Rows) {
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{heading}");
    for (key, value) in rows {
        let _ = writeln!(text, "  {key:width$}  {value}");
    }
    text.push('\n');
}

fn bullets(text: &mut String, heading: &str, lines: &[String]) {
    let _ = writeln!(text, "{heading}");
    for line in lines {
        let _ = writeln!(text, "  - {line}");
    }
    if lines.is_empty() {
        let _ = writeln!(text, "  (none)");
    }
    text.push('\n');
}
