//! Runs the cases of a suite, several in parallel if requested, each with its own rig and driver.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::config::rig::Rig;
use crate::config::rig::fault_read::kinds_of;
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::overrides::Override;
use crate::devices::families::{catalogue, family_of};
use crate::kit::adapter::Adapter;
use crate::kit::bench::{Bench, Stretch};
use crate::kit::case::{Case, CaseFault, Sends};
use crate::kit::case_run::{self, CaseRun};
use crate::kit::clock;
use crate::kit::host_clock::HostClock;
use crate::kit::links::{self, Ports};
use crate::kit::stranger::Timed;
use crate::kit::truth::Truth;
use crate::kit::verdict::{Outcome, Verdict};
use crate::links::part_file::PartFile;

/// UTC at the start of cases that set none.
const START: &str = "2026-06-01T12:00:00Z";

/// Largest number of runs of one case. A case is repeated if this machine may have been too busy.
const ATTEMPTS: usize = 3;

/// Plan of a test run.
#[derive(Clone)]
pub struct Plan {
    /// Path of the program `menura`, which runs the rigs.
    pub menura: PathBuf,
    /// Path of the rig.
    pub rig_file: PathBuf,
    /// Whether the user named the rig; cases then do not use their own rigs.
    pub is_users_rig: bool,
    /// Settings of the rig that the user changed.
    pub sets: Vec<Override>,
    /// Index of the device under test in the rig.
    pub device: usize,
    /// The rig with the user's settings.
    pub rig: Rig,
    /// The command that starts the driver.
    pub command: Vec<String>,
    /// Properties of the driver.
    pub adapter: Adapter,
    /// Whether the rig's own links are used instead of new ones for each case.
    pub keep_links: bool,
    /// Folder for the files of cases.
    pub folder: PathBuf,
    /// Whether files of failed cases are kept in `folder`.
    pub keep: bool,
    /// Number of cases that run in parallel.
    pub jobs: usize,
    /// Stops all cases at once when set.
    pub stop: std::sync::Arc<AtomicBool>,
}

/// Progress while cases run.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A case starts.
    Begins(&'a Case),
    /// A case has ended.
    Ends(&'a Outcome),
}

impl Plan {
    /// Checks that the device under test supports all placeholders in the command, and that the program exists.
    ///
    /// # Errors
    /// A message about the missing placeholder or program.
    pub fn check(&self) -> Result<(), String> {
        let ports = Ports::default();
        let links = links::of_case(&self.rig, self.device, true, Path::new(""), &ports);
        let mut known = links.map_err(|error| error.to_string())?.placeholders;
        case_run::add_common(&mut known, "case", "dir", "127.0.0.1:1", "menura");
        known.add("calibration", "calibration");
        let filled = |word: &String| known.fill(word);
        let command = self.command.iter().map(filled).collect::<Result<Vec<_>, _>>()?;
        let program = command.first().map_or("", String::as_str);
        match is_program(program) {
            true => Ok(()),
            false => Err(format!("cannot start the driver: there is no program `{program}`")),
        }
    }

    /// Runs `cases`; calls `tell` when a case starts or ends. Returns the outcomes in the order of the cases, or fewer
    /// after a stop.
    pub fn run(&self, cases: &[&Case], tell: &(dyn Fn(Progress<'_>) + Sync)) -> Vec<Outcome> {
        let ports = Ports::default();
        let next = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1).min(cases.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = cases.get(index) else { return };
                        if self.stop.load(Ordering::Relaxed) {
                            return;
                        }
                        tell(Progress::Begins(case));
                        let outcome = self.attempts(case, &ports);
                        if self.stop.load(Ordering::Relaxed) {
                            return;
                        }
                        tell(Progress::Ends(&outcome));
                        outcomes.lock().expect("no holder panics").push((index, outcome));
                    }
                });
            }
        });
        let mut outcomes = outcomes.into_inner().expect("no holder panics");
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Runs a case, at most [`ATTEMPTS`] times. It is repeated if the verdict is [`Verdict::BenchFailed`] and
    /// expectations were not met, because this machine may have been too busy.
    fn attempts(&self, case: &Case, ports: &Ports) -> Outcome {
        let values = |outcome: &Outcome| -> Vec<String> {
            let wrong = outcome.complaints.iter().filter(|wrong| wrong.is_about_values);
            wrong.map(|wrong| wrong.expected.clone()).collect()
        };
        let mut outcome = self.case(case, ports, Vec::new());
        let mut wrong_each_time = values(&outcome);
        for attempt in 2..=ATTEMPTS {
            let again = matches!(&outcome.verdict, Verdict::BenchFailed(_));
            if !again || outcome.complaints.is_empty() || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let is_last = attempt == ATTEMPTS;
            let before = if is_last { wrong_each_time.clone() } else { Vec::new() };
            outcome = self.case(case, ports, before);
            let wrong = values(&outcome);
            wrong_each_time.retain(|expected| wrong.contains(expected));
        }
        outcome
    }

    fn case(&self, case: &Case, ports: &Ports, wrong_before: Vec<String>) -> Outcome {
        let begun = clock::now();
        let mut outcome = Outcome {
            case: case.name.clone(),
            suite: case.suite.clone(),
            title: case.title.clone(),
            real: case.real.clone(),
            good: case.good.clone(),
            verdict: Verdict::Passed,
            complaints: Vec::new(),
            notes: Vec::new(),
            evidence: String::new(),
            repeat: String::new(),
            took: Duration::ZERO,
        };
        let folder = self.folder.join(&case.name);
        let own = self.with_rig_of(case);
        let prepared = match &own {
            Ok(plan) => plan.as_ref().unwrap_or(self).prepare(case, &folder, ports),
            Err(verdict) => Err(verdict.clone()),
        };
        outcome.verdict = match prepared {
            Ok(run) => CaseRun { wrong_before, ..run }.run(&mut outcome),
            Err(verdict) => verdict,
        };
        if !self.keep || outcome.verdict.is_fine() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        outcome.took = begun.elapsed();
        outcome
    }

    /// The plan with the case's own rig; `None` if the case has none or the user named a rig. The error is the verdict
    /// if the rig cannot be used.
    fn with_rig_of(&self, case: &Case) -> Result<Option<Self>, Verdict> {
        let Some(source) = case.rig.as_ref().filter(|_| !self.is_users_rig) else {
            return Ok(None);
        };
        let rig_file = source.file(&self.folder).map_err(|error| {
            Verdict::BenchFailed(format!("cannot write the rig {}: {error}", source.shown()))
        })?;
        let rig = Rig::load(&rig_file, &self.sets, catalogue())
            .map_err(|told| Verdict::NotApplicable(reason_of(&told)))?;
        let name = &self.rig.devices[self.device].name;
        let device = rig.devices.iter().position(|device| device.name == *name);
        let Some(device) = device else {
            let text = format!("the rig of the case, {}, has no device \"{name}\"", source.shown());
            return Err(Verdict::NotApplicable(text));
        };
        Ok(Some(Self { rig_file, rig, device, ..self.clone() }))
    }

    /// Prepares the inputs of a case; the error is the verdict if this is impossible.
    fn prepare<'a>(
        &'a self,
        case: &'a Case,
        folder: &Path,
        ports: &Ports,
    ) -> Result<CaseRun<'a>, Verdict> {
        let bench_failed = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| Verdict::BenchFailed(format!("{what}: {error}"))
        };
        let device = &self.rig.devices[self.device];
        if !case.fits_profile(&device.profile.name) {
            let wanted = case.profiles.join(", ");
            return Err(Verdict::NotApplicable(format!("the case is only for {wanted}")));
        }
        // Files of an earlier run must not be mistaken for new ones.
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(bench_failed("cannot make a folder"))?;
        let links = links::of_case(&self.rig, self.device, self.keep_links, folder, ports)
            .map_err(bench_failed("there is no free port"))?;
        let settle_s = self.adapter.settle_s;
        let begins = case.start_utc.unwrap_or_else(|| START.parse().expect("a constant instant"));
        let settling = jiff::SignedDuration::from_secs_f64(settle_s);
        let start_utc = begins.saturating_sub(settling).unwrap_or(begins);
        let named = |set: &String| set.replace("{device}", &device.name);
        let mut sets: Vec<String> =
            self.sets.iter().map(|set| format!("{}={}", set.key, set.value)).collect();
        sets.extend(links.sets.iter().cloned());
        sets.extend(case.set.iter().map(named));
        // A product may lack the case's settings. The remaining settings decide which faults it supports.
        let refused = |told| Verdict::NotApplicable(reason_of(&told));
        let changed = self.rig_with(&sets, "").map_err(refused)?;
        let faults = self.faults(case, &changed, settle_s)?;
        let rig = self.rig_with(&sets, &faults).map_err(refused)?;
        for cut in case.power_cuts.iter().filter(|cut| !cut.set.is_empty()) {
            let later: Vec<_> = sets.iter().cloned().chain(cut.set.iter().map(named)).collect();
            self.rig_with(&later, "").map_err(|told| Verdict::NotApplicable(reason_of(&told)))?;
        }
        if !case.web_posts.is_empty() && links.web.is_none() {
            let text = "the case needs the device's web interface (`link.web` in the rig)";
            return Err(Verdict::NotApplicable(text.into()));
        }
        let missing = case.strangers.iter().filter_map(|stranger| stranger.to.as_ref());
        let mut missing = missing.filter(|to| links.commands.iter().all(|(key, _)| key != to));
        if let Some(to) = missing.next() {
            return Err(Verdict::NotApplicable(format!("the case needs the device's `link.{to}`")));
        }
        let to_driver = case.strangers.iter().any(|stranger| stranger.to.is_none());
        if to_driver && links.data.is_none_or(|to| !to.ip().is_loopback()) {
            let text = "rogue senders send only to loopback addresses; this device sends no \
                        datagrams there";
            return Err(Verdict::NotApplicable(text.into()));
        }
        let mark = format!("{}-{}", std::process::id(), case.name);
        let bench = Bench {
            menura: self.menura.clone(),
            rig: self.rig_file.clone(),
            sets,
            folder: folder.to_owned(),
            mark,
        };
        let clock = match &case.clock_steps[..] {
            [] => None,
            _ => Some(HostClock::new(folder, &bench.mark).map_err(Verdict::NotApplicable)?),
        };
        let twins = self.twins(case, &bench, start_utc)?;
        let truth = Truth::load(&rig, self.device).map_err(Verdict::BenchFailed)?;
        let calibration = calibration(&rig, self.device, folder)
            .map_err(bench_failed("cannot write the calibration"))?;
        Ok(CaseRun {
            case,
            bench,
            device: device.name.clone(),
            links,
            faults,
            start_utc,
            settle_s,
            command: &self.command,
            adapter: &self.adapter,
            twins,
            truth,
            calibration,
            clock,
            seed: rig.seed,
            keep: self.keep,
            wrong_before: Vec::new(),
            stop: &self.stop,
        })
    }

    /// The faults of a case as TOML, for the devices of `rig`. The error is the verdict if a device does not support a
    /// fault.
    fn faults(&self, case: &Case, rig: &Rig, settle_s: f64) -> Result<String, Verdict> {
        let subject = &rig.devices[self.device];
        let mut texts = Vec::new();
        for (number, fault) in case.faults.iter().enumerate() {
            let CaseFault { kind, on_cable, .. } = fault;
            let device = match (on_cable, subject.cable_from) {
                (false, _) => subject,
                (true, Some(receiver)) => &rig.devices[receiver.0],
                (true, None) => {
                    let text = "the case needs a GNSS receiver at the device's `gps_cable`";
                    return Err(Verdict::NotApplicable(text.into()));
                }
            };
            if !kinds_of(device, catalogue()).contains(&kind.as_str()) {
                let text = format!("{} does not support the fault \"{kind}\"", device.profile.name);
                return Err(Verdict::NotApplicable(text));
            }
            texts.push(fault.toml(&format!("case-{}", number + 1), &device.name, settle_s));
        }
        Ok(texts.join(", "))
    }

    fn rig_with(&self, sets: &[String], faults: &str) -> Result<Rig, Diagnostics> {
        let mut overrides: Vec<Override> = sets.iter().filter_map(|set| set.parse().ok()).collect();
        overrides.push(Override { key: "fault".into(), value: format!("[{faults}]") });
        Rig::load(&self.rig_file, &overrides, catalogue())
    }

    /// For each rogue sender of a case, the datagrams of its second unit, from a capture or a new recording; empty for
    /// rogue senders of other kinds.
    fn twins(
        &self,
        case: &Case,
        bench: &Bench,
        start_utc: jiff::Timestamp,
    ) -> Result<Vec<Vec<Timed>>, Verdict> {
        let device = &self.rig.devices[self.device].name;
        let mut twins = Vec::new();
        for (number, stranger) in case.strangers.iter().enumerate() {
            if stranger.sends != Sends::Twin {
                twins.push(Vec::new());
                continue;
            }
            if let Some(capture) = &stranger.capture {
                let read = crate::kit::stranger::twin(capture);
                twins.push(read.map_err(|error| {
                    Verdict::BenchFailed(format!("{}: {error}", capture.display()))
                })?);
                continue;
            }
            let mut bench = bench.clone();
            bench.sets.extend(stranger.set.iter().map(|set| set.replace("{device}", device)));
            let stretch = Stretch {
                number: number + 1,
                start_utc,
                lasts_s: stranger.duration_s,
                faults: String::new(),
                sets: Vec::new(),
            };
            let recording =
                bench.record(&stretch, "twin", Duration::from_secs(120)).and_then(|folder| {
                    crate::kit::stranger::twin(&folder.join(format!("{device}.pcap")))
                });
            twins.push(recording.map_err(|error| {
                Verdict::BenchFailed(format!("cannot record the rogue sender: {error}"))
            })?);
        }
        Ok(twins)
    }
}

/// Whether a program of this name exists, in a folder of `PATH` if the name is not a path.
fn is_program(name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let may_be_run = |path: &Path| {
        let about = std::fs::metadata(path);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return may_be_run(Path::new(name));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| may_be_run(&folder.join(name)))
}

/// One line about the errors of a rig: title and allowed values of the first message.
fn reason_of(told: &Diagnostics) -> String {
    let text = told.to_string();
    let title = text.lines().next().unwrap_or_default();
    let label = text.lines().find_map(|line| line.split_once("^ ")).map(|(_, label)| label);
    let title = title.trim_start_matches("error: ");
    match label {
        Some(label) => format!("{title}; {label}"),
        None => title.to_owned(),
    }
}

/// Writes the calibration file of the device, if its product has one; returns its path.
fn calibration(rig: &Rig, device: usize, folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let device = &rig.devices[device];
    let family = family_of(&device.profile);
    for extension in ["yaml", "csv", "dat"] {
        if let Some(text) = family.calibration_file(&device.profile, Some(device), extension, 0.0) {
            let path = folder.join(format!("calibration.{extension}"));
            PartFile::write_whole(&path, text.as_bytes())?;
            return Ok(Some(path));
        }
    }
    Ok(None)
}
