//! `menura test`: tests a driver with the faults and the behaviour of real sensors.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::out_file::OutFile;
use super::out_paths::{spare_what_was_read, spare_within};
use super::stop::stop_on_signal;
use super::{CliError, all, console};
use crate::config::rig::Rig;
use crate::config::toml::overrides::Override;
use crate::devices::families::catalogue;
use crate::kit::adapter::Adapter;
use crate::kit::adapter_read;
use crate::kit::case::Case;
use crate::kit::clock;
use crate::kit::library;
use crate::kit::report::html::html;
use crate::kit::report::junit::junit;
use crate::kit::report::{Counts, Subject, account};
use crate::kit::rig_source::RigSource;
use crate::kit::runner::{Plan, Progress};
use crate::kit::suite::Suite;
use crate::kit::verdict::{Outcome, Verdict};
use crate::links::part_file::OutPath;

/// Arguments of `menura test`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Cmd {
    /// The suite: all, lidar, scanner, gnss, imu, base, camera, or the path of a .toml file
    #[arg(required_unless_present = "list")]
    suite: Option<String>,

    /// The rig whose sensor the driver reads: a file, or a built-in rig of --list [default: that of
    /// the suite]
    #[arg(long, value_name = "RIG")]
    rig: Option<PathBuf>,

    /// Set one key of the rig, as in `menura run`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,

    /// The device of the rig that the driver reads [default: the first]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// Format of the driver's output: a file, see docs/DRIVER-TESTS.md [default: JSON lines]
    #[arg(long, value_name = "FILE")]
    adapter: Option<PathBuf>,

    /// Set the seed of all random numbers; the same as --set seed=N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Run only this case; may be repeated
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,

    /// Number of cases run in parallel; too many make packets late
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,

    /// Use the rig's own addresses and ports, for drivers with fixed ones; one case at a time
    #[arg(long, conflicts_with = "jobs")]
    keep_links: bool,

    /// Keep the evidence of each failed case in this folder: captures, ground truth, logs, and a
    /// script that repeats the recording
    #[arg(long, value_name = "DIR")]
    keep: Option<OutPath>,

    /// Write the verdicts to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<OutPath>,

    /// Write the verdicts to this file as an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<OutPath>,

    /// List the suites, or the cases of one suite
    #[arg(long)]
    list: bool,

    /// Explain a case: what happens, what real sensors do, and what a good driver does
    #[arg(long, value_name = "CASE", conflicts_with = "list")]
    explain: Option<String>,

    /// The command that starts the driver, with {placeholders} such as {udp_port} and {pty}
    #[arg(last = true)]
    command: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  menura test --list
  menura test lidar --explain azimuth-wrap
  menura test lidar -- python3 examples/bad_driver.py --port {udp_port} --sensor {sensor_ip}
  menura test gnss --junit verdicts.xml --html verdicts.html -- my-driver --port {pty}
  menura test my-suite.toml --rig my-rig.toml --adapter my-adapter.toml -- my-driver
  menura test lidar --only power-cycle --keep failed -- my-driver

Exit codes: 0 each case passed or was not applicable; 1 a case failed, ended with `bench failed` or
was not run; 2 the input is wrong and nothing was started.";

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Some(name) = &self.suite else { return list_suites() };
        let suite = Suite::load(name)?;
        if self.list {
            return console::print(cases_of(&suite));
        }
        if let Some(case) = &self.explain {
            return console::print(explained(suite.case(case).map_err(CliError::Input)?));
        }
        if self.command.is_empty() {
            let text = "error: no driver: write its command after `--`, as in\n  \
                        menura test lidar -- my-driver --port {udp_port}";
            return Err(CliError::Input(text.into()));
        }
        let cases = self.chosen(&suite)?;
        let adapter = match &self.adapter {
            Some(path) => adapter_read::load(path)?,
            None => Adapter::default(),
        };
        let junit_file =
            self.junit.as_ref().map(|path| OutFile::create("JUnit file", path)).transpose()?;
        let html_file = self.html.as_ref().map(|path| OutFile::create("page", path)).transpose()?;
        let folder = Folder::open(self.keep.as_deref())?;
        let plan = self.plan(&suite, adapter, &folder)?;
        plan.check().map_err(|why| CliError::Input(format!("error: {why}")))?;
        // Each case empties its folder before it runs, so no file that was read may be in it.
        spare_within("--keep", cases.iter().map(|case| folder.path.join(&case.name)))?;
        spare_what_was_read()?;
        let device = &plan.rig.devices[plan.device];
        let subject = Subject {
            suite: name.clone(),
            rig: self.rig_source(&suite)?.shown(),
            device: format!("{} ({})", device.name, device.profile.name),
            command: self.command.join(" "),
            begun: jiff::Timestamp::now(),
            took_s: 0.0,
        };
        let begun = clock::now();
        let outcomes = with_progress(&plan, &cases);
        let subject = Subject { took_s: begun.elapsed().as_secs_f64(), ..subject };
        let mut results = Vec::new();
        results.extend(junit_file.map(|file| file.write(&junit(&subject, &outcomes))));
        results.extend(html_file.map(|file| file.write(&html(&subject, &outcomes))));
        // On a terminal, the line of each case has already been printed.
        results.push(console::print(summary(&outcomes, console::is_one_terminal())));
        results.push(verdict(&outcomes, cases.len()));
        all(results)
    }

    fn chosen<'s>(&self, suite: &'s Suite) -> Result<Vec<&'s Case>, CliError> {
        if self.only.is_empty() {
            return Ok(suite.cases.iter().collect());
        }
        let case = |name: &String| match name.contains(',') {
            true => {
                let text = format!("error: --only \"{name}\" names several cases: repeat --only");
                Err(CliError::Input(text))
            }
            false => suite.case(name).map_err(CliError::Input),
        };
        self.only.iter().map(case).collect()
    }

    fn rig_source(&self, suite: &Suite) -> Result<RigSource, CliError> {
        match (&self.rig, &suite.rig) {
            // An existing file may have any name.
            (Some(path), _) if path.exists() => Ok(RigSource::File(path.clone())),
            (Some(path), _) => Ok(RigSource::find(&path.to_string_lossy(), Path::new(""))?),
            (None, Some(source)) => Ok(source.clone()),
            (None, None) => {
                let text = format!("error: the suite `{}` names no rig: add --rig RIG", suite.name);
                Err(CliError::Input(text))
            }
        }
    }

    fn plan(&self, suite: &Suite, adapter: Adapter, folder: &Folder) -> Result<Plan, CliError> {
        let mut sets = self.set.clone();
        sets.extend(self.seed.map(|seed| Override { key: "seed".into(), value: seed.to_string() }));
        let source = self.rig_source(suite)?;
        let rig_file = source.file(&folder.path).map_err(|error| {
            CliError::failed(format!("cannot write the rig {}", source.shown()), &error)
        })?;
        let rig = Rig::load(&rig_file, &sets, catalogue())?;
        if rig.devices.is_empty() {
            return Err(CliError::Input(
                "error: the rig has no device for the driver to read".into(),
            ));
        }
        let device = match &self.device {
            None => 0,
            Some(name) => {
                rig.devices.iter().position(|device| device.name == *name).ok_or_else(|| {
                    let names: Vec<_> = rig.devices.iter().map(|d| d.name.as_str()).collect();
                    let allowed = names.join(", ");
                    CliError::Input(format!(
                        "error: the rig has no device \"{name}\"; allowed: {allowed}"
                    ))
                })?
            }
        };
        let menura = std::env::current_exe()
            .map_err(|error| CliError::failed("cannot find this program", &error))?;
        Ok(Plan {
            menura,
            rig_file,
            is_users_rig: self.rig.is_some(),
            sets,
            device,
            rig,
            command: self.command.clone(),
            adapter,
            keep_links: self.keep_links,
            folder: folder.path.clone(),
            keep: self.keep.is_some(),
            jobs: usize::from(self.jobs),
            stop: stop_on_signal()?,
        })
    }
}

/// Folder for the files of cases: the user's folder, or a temporary one.
struct Folder {
    path: PathBuf,
    goes: bool,
}

impl Folder {
    fn open(keep: Option<&Path>) -> Result<Self, CliError> {
        let (path, goes) = match keep {
            Some(path) => (path.to_owned(), false),
            // Short, because the path of a pseudo-terminal's link must fit into drivers' buffers.
            None => {
                (std::env::temp_dir().join(format!("menura-test-{}", std::process::id())), true)
            }
        };
        std::fs::create_dir_all(&path)
            .and_then(|()| path.canonicalize())
            .map(|path| Self { path, goes })
            .map_err(|error| {
                CliError::Input(format!(
                    "error: cannot create the folder {}: {error}",
                    path.display()
                ))
            })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.goes {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Runs the cases. On a terminal, shows a progress bar and prints a line for each finished case.
fn with_progress(plan: &Plan, cases: &[&Case]) -> Vec<Outcome> {
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {elapsed}: {wide_msg}")
        .expect("a constant template");
    let bar = ProgressBar::new(cases.len() as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    let running: Mutex<Vec<String>> = Mutex::default();
    let outcomes = plan.run(cases, &|progress| {
        let mut running = running.lock().expect("no holder panics");
        match progress {
            Progress::Begins(case) => running.push(case.name.clone()),
            Progress::Ends(outcome) => {
                running.retain(|name| *name != outcome.case);
                bar.inc(1);
                // Checked before `suspend`: the bar cannot be queried while it is suspended.
                if !bar.is_hidden() {
                    bar.suspend(|| console::say(line(outcome)));
                }
            }
        }
        bar.set_message(running.join(", "));
    });
    bar.finish_and_clear();
    outcomes
}

fn line(outcome: &Outcome) -> String {
    let reason = outcome.reason();
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    format!("{:<14}  {}{reason}", outcome.verdict.word(), outcome.case)
}

/// Text with a line for each case (unless `is_told`, because the lines were printed before), the complaints of failed
/// cases, and the counts.
fn summary(outcomes: &[Outcome], is_told: bool) -> String {
    let mut text = String::new();
    if !is_told {
        text.extend(outcomes.iter().map(|outcome| line(outcome) + "\n"));
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.verdict.is_fine()) {
        text += &format!("\n{}: {}\n", outcome.case, outcome.title);
        let told = match &outcome.verdict {
            Verdict::BenchFailed(what) => what.clone(),
            _ => account(outcome),
        };
        for line in told.trim_end().lines() {
            text += &format!("  {line}\n");
        }
    }
    text + &format!("\n{}\n", Counts::of(outcomes).line())
}

fn verdict(outcomes: &[Outcome], wanted: usize) -> Result<(), CliError> {
    let counts = Counts::of(outcomes);
    match (counts.failed + counts.bench_failed, wanted - outcomes.len()) {
        (0, 0) => Ok(()),
        (0, left) => Err(CliError::Failed(format!("stopped; {left} cases were not run"))),
        _ => {
            let noun = if wanted == 1 { "case" } else { "cases" };
            Err(CliError::Failed(format!("of {wanted} {noun}: {}", counts.line())))
        }
    }
}

fn list_suites() -> Result<(), CliError> {
    let mut text = String::new();
    for name in library::suite_names() {
        let suite = Suite::load(name)?;
        text += &format!("{name:<8}  {:>3} cases  {}\n", suite.cases.len(), suite.summary);
    }
    text += "\nrigs, for --rig:\n";
    for (name, about) in library::rigs() {
        text += &format!("{name:<10}  {about}\n");
    }
    console::print(text)
}

fn cases_of(suite: &Suite) -> String {
    let width = suite.cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let line = |case: &Case| format!("{:<width$}  {}\n", case.name, case.title);
    suite.cases.iter().map(line).collect()
}

/// Text about a case: events, behaviour of real sensors, expectations.
fn explained(case: &Case) -> String {
    let mut text = format!(
        "{}: {}\n\nReal sensors: {}\n\nA good driver: {}\n\nIt lasts {} s.\n",
        case.name, case.title, case.real, case.good, case.lasts_s
    );
    let mut item = |what: String| text += &format!("- {what}\n");
    if !case.profiles.is_empty() {
        item(format!("for {}", case.profiles.join(", ")));
    }
    if let Some(rig) = &case.rig {
        item(format!("its rig is {}, unless --rig names another", rig.shown()));
    }
    if let Some(start) = case.start_utc {
        item(format!("it begins at {start}"));
    }
    match case.driver_first {
        Some(true) => item("the driver is started before the sensor".into()),
        Some(false) => {
            item(format!("the driver is started {} s after the sensor", case.driver_after_s))
        }
        None => {}
    }
    case.set.iter().for_each(|set| item(format!("the rig has {set}")));
    case.env.iter().for_each(|env| item(format!("the driver's environment has {env}")));
    for fault in &case.faults {
        let keys: Vec<_> =
            fault.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let whose = if fault.on_cable { " of the GNSS receiver at the GPS cable" } else { "" };
        item(format!(
            "fault \"{}\"{whose} from {} s on ({})",
            fault.kind,
            fault.start_s,
            keys.join(", ")
        ));
    }
    for cut in &case.power_cuts {
        let set = match &cut.set[..] {
            [] => String::new(),
            set => format!("; it restarts with {}", set.join(", ")),
        };
        item(format!("the sensor has no power from {} to {} s{set}", cut.off_s, cut.on_s));
    }
    for at_s in &case.driver_restarts_s {
        item(format!("the driver is killed and started again at {at_s} s"));
    }
    for post in &case.web_posts {
        let (at_s, path, body) = (post.at_s, &post.path, &post.body);
        item(format!("its web interface gets `{body}` at {path}, {at_s} s after the start"));
    }
    for step in &case.clock_steps {
        let way = if step.by_s < 0.0 { "back" } else { "forward" };
        item(format!(
            "the clock of its computer is set {way} by {} s at {} s",
            step.by_s.abs(),
            step.at_s
        ));
    }
    for stranger in &case.strangers {
        item(format!(
            "a rogue sender sends {}{} from {} to {} s",
            match stranger.sends {
                crate::kit::case::Sends::Garbage => "garbage",
                crate::kit::case::Sends::Bytes => "given datagrams",
                crate::kit::case::Sends::Twin if stranger.capture.is_some() =>
                    "the datagrams of a captured unit",
                crate::kit::case::Sends::Twin => "the datagrams of a second unit",
            },
            stranger.to.as_ref().map_or_else(String::new, |to| format!(" to the device's `{to}`")),
            stranger.start_s,
            stranger.start_s + stranger.duration_s
        ));
    }
    text += "\nExpected:\n";
    case.expectations.iter().for_each(|expectation| text += &format!("- {expectation}\n"));
    text
}
