//! `menura fault`: starts and ends faults of a running rig, and converts the fault log of a run to sections of a rig.

mod log_to_rig;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{CliError, console};
use crate::engine::live_faults::LiveFault;
use crate::engine::run_control::{Listing, ask, runs};

/// Arguments of `menura fault`.
#[derive(Debug, clap::Args)]
#[command(subcommand_precedence_over_arg = true, after_help = EXAMPLES)]
pub struct Cmd {
    /// The run: its process ID, or its rig file [default: the only one]
    run: Option<String>,

    /// List this user's runs, their devices, the faults that each device supports, and active
    /// faults
    #[arg(long)]
    list: bool,

    /// Print the faults that were started during the run as [[fault]] sections of a rig
    ///
    /// FILE is the output of `menura run --fault-log`. Append the sections to the rig: with the
    /// same seed, it gives the bytes of that run again. Host commands are repeated by --host-log.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "list"])]
    log_to_rig: Option<PathBuf>,

    #[command(subcommand)]
    what: Option<What>,
}

const EXAMPLES: &str = "Examples:
  menura fault --list
  menura fault start roof-lidar window-dirty transmission=0.3 from_deg=350 to_deg=10
  menura fault courtyard.toml start roof-lidar packet-loss probability=0.05 duration_s=2
  menura fault end live-1
  menura fault --log-to-rig faults.csv >> rig.toml";

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Start a fault as soon as possible
    Start {
        /// The device
        device: String,
        /// The kind of fault
        kind: String,
        /// Keys of the fault as in [[fault]], except `start_s` and `period_s`
        #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
        keys: Vec<(String, Value)>,
    },
    /// End a fault as soon as possible
    End {
        /// Name of the fault, as `start` and `--list` print it
        name: String,
    },
}

/// Parses `KEY=VALUE`; the value is TOML, or a string if it is not valid TOML.
fn key_value(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as probability=0.1")?;
    let table = toml::from_str::<Map<String, Value>>(&format!("value = {value}"));
    let value = match table.map(|mut table| (table.len(), table.remove("value"))) {
        Ok((1, Some(value))) => value,
        _ => Value::String(value.trim().to_owned()),
    };
    Ok((key.trim().to_owned(), value))
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(path) = &self.log_to_rig {
            return log_to_rig::print(path);
        }
        let request = match self.what {
            Some(What::Start { device, kind, keys }) => {
                let own = [("device", device), ("kind", kind)];
                let own = own.into_iter().map(|(key, word)| (key.to_owned(), Value::String(word)));
                json!({ "start": own.chain(keys).collect::<Map<_, _>>() })
            }
            Some(What::End { name }) => json!({ "end": name }),
            None => return list(self.run.as_deref(), runs()),
        };
        if self.list {
            return Err(CliError::Input(
                "error: --list cannot be combined with `start` or `end`".into(),
            ));
        }
        let (path, listing) = chosen(self.run.as_deref(), runs())?;
        let answer = ask(&path, &request)
            .map_err(|error| CliError::failed("the run does not answer", &error))?;
        let answer = answer.map_err(|text| CliError::Input(with_error(&text)))?;
        let fault: LiveFault = serde_json::from_value(answer)
            .map_err(|error| CliError::failed("the run's answer cannot be read", &error))?;
        if listing.fault_log.is_none() {
            console::say("this run writes no fault log (`menura run --fault-log FILE`)");
        }
        console::print(format!("{}\n", line(&fault)))
    }
}

/// Adds `error: ` unless the text already starts with `error`, as messages about rigs do.
fn with_error(text: &str) -> String {
    if text.starts_with("error") { text.to_owned() } else { format!("error: {text}") }
}

fn line(fault: &LiveFault) -> String {
    let LiveFault { name, device, kind, begins_ns, ends_ns } = fault;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let end = match ends_ns {
        Some(end) => format!("ends at {:.3} s", seconds(*end)),
        None => format!("until `menura fault end {name}`"),
    };
    format!("{name}: {kind} of {device} from {:.3} s on, {end}", seconds(*begins_ns))
}

/// Finds the run that `wanted` names by its process ID, its rig or the rig's file stem; `None` means the only run. An
/// error if no run or several runs match.
fn chosen(
    wanted: Option<&str>,
    runs: Vec<(PathBuf, Listing)>,
) -> Result<(PathBuf, Listing), CliError> {
    let is_wanted = |listing: &Listing| match wanted {
        None => true,
        Some(wanted) => {
            listing.pid.to_string() == wanted
                || listing.rig == wanted
                || Path::new(&listing.rig).file_stem().is_some_and(|stem| stem == wanted)
        }
    };
    let mut named: Vec<_> =
        runs.iter().map(|(_, run)| format!("{} ({})", run.pid, run.rig)).collect();
    named.sort();
    let mut fitting: Vec<_> = runs.into_iter().filter(|(_, run)| is_wanted(run)).collect();
    match (fitting.len(), named.is_empty()) {
        (1, _) => Ok(fitting.remove(0)),
        (_, true) => Err(CliError::Input("error: this user has no running rig".into())),
        (0, _) => Err(CliError::Input(format!(
            "error: no run is named {}; allowed: {}",
            wanted.unwrap_or_default(),
            named.join(", ")
        ))),
        _ => Err(CliError::Input(format!(
            "error: several rigs run; name one by its process number: {}",
            named.join(", ")
        ))),
    }
}

fn list(wanted: Option<&str>, runs: Vec<(PathBuf, Listing)>) -> Result<(), CliError> {
    let shown = match wanted {
        Some(_) => vec![chosen(wanted, runs)?],
        None => runs,
    };
    if shown.is_empty() {
        console::say("this user has no running rig");
    }
    let mut text = String::new();
    for (_, run) in shown {
        let log = match &run.fault_log {
            Some(path) => format!("fault log {}", path.display()),
            None => "no fault log".to_owned(),
        };
        text += &format!("run {} ({}), {log}\n", run.pid, run.rig);
        for device in &run.devices {
            text +=
                &format!("  {} ({}): {}\n", device.name, device.profile, device.kinds.join(", "));
        }
        for fault in &run.faults {
            text += &format!("  {}\n", line(fault));
        }
    }
    console::print(text)
}
