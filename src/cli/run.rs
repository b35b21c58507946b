//! `menura run`: the rig in real time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::certify::CertifyArgs;
use super::onlookers::OnlookerArgs;
use super::out_file::{GrowingFile, OutFile};
use super::out_paths::spare_with;
use super::rig_args::RigArgs;
use super::status::{Reader, StatusView};
use super::summary::{self, Rendering};
use super::truth_target::TruthTarget;
use super::{CliError, all, console, ranks, setup};
use crate::config::rig::{Rig, TrajectoryConfig};
use crate::engine::WorldSummary;
use crate::engine::certificate::{Account, Certificate, Right, digest};
use crate::engine::faults::log::FaultLog;
use crate::engine::feed_log::FeedLog;
use crate::engine::host_log::HostLog;
use crate::engine::os::Grant;
use crate::engine::responses::ResponseFigures;
use crate::engine::run::{RealTimeRun, TruthOutcome};
use crate::engine::run_control::{ControlSocket, RunControl};
use crate::engine::stats::{self, DeviceFigures};
use crate::engine::truth::log::{TruthFigures, TruthFile};
use crate::engine::truth::stream::PoseStream;
use crate::links::part_file::OutPath;
use crate::time::duration::parse_duration;
use crate::world::trajectory::feed::FeedCounts;

/// Arguments of `menura run`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// How long to run: 10s, 1.5s, 500ms, 2min [default: until Ctrl-C]
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Write the summary to this file as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<OutPath>,

    /// Write the effects of each fault on each packet to this file as CSV: of [[fault]]s of the rig, and
    /// of those that `menura fault` begins while it runs
    #[arg(long, value_name = "FILE")]
    fault_log: Option<OutPath>,

    /// Write the poses of a feed, and how long each was shown, to this file as CSV; poses of a
    /// moving object go to FILE-NAME beside it
    #[arg(long, value_name = "FILE")]
    feed_log: Option<OutPath>,

    /// Write host commands and their times to this file; `menura record --host-log` replays it
    #[arg(long, value_name = "FILE")]
    host_log: Option<OutPath>,

    /// Print the status as a line of JSON a second to standard output; the summary goes to standard error
    #[arg(long)]
    json_status: bool,

    #[command(flatten)]
    onlookers: OnlookerArgs,

    /// Write the truth of the run to this file: poses, faults, and what each return is of
    ///
    /// An MCAP file; docs/TRUTH.md has its format. What cannot be written in time is left out and
    /// counted. `udp:HOST:PORT` sends poses there as JSON instead, to be plotted live; both may be
    /// given.
    #[arg(long, value_name = "FILE.mcap|udp:HOST:PORT")]
    truth: Vec<TruthTarget>,

    #[command(flatten)]
    certify: CertifyArgs,
}

/// What `--report` writes. Keys are stable.
#[derive(Serialize)]
struct Report<'a> {
    menura: &'static str,
    rig: &'a str,
    seed: u64,
    start_utc: String,
    run_s: f64,
    simulated_s: f64,
    scene: &'a str,
    instanced_triangles: u64,
    moving_objects: usize,
    workers: usize,
    pulses: u64,
    real_time_factor: f64,
    real_time_rights: Vec<Right>,
    devices: Vec<DeviceFigures>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    feeds: Vec<FeedRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    responses: Vec<ResponseFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<TruthRow>,
    /// How often a driven robot ran into something.
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
}

/// What was written of the truth.
#[derive(Serialize)]
struct TruthRow {
    messages: u64,
    message_bytes: u64,
    file_bytes: u64,
    dropped: u64,
}

impl TruthRow {
    fn of(outcome: &TruthOutcome) -> Option<Self> {
        let TruthFigures { messages, message_bytes, file_bytes } =
            outcome.written.as_ref().ok()?.clone();
        Some(Self { messages, message_bytes, file_bytes, dropped: outcome.dropped })
    }
}

/// What came of one feed.
#[derive(Serialize)]
struct FeedRow<'a> {
    of: &'a str,
    #[serde(flatten)]
    counts: FeedCounts,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        // Another rank has done all when this returns.
        let Some(ranks) = ranks::join()? else { return Ok(()) };
        let rig = ranks.load(&self.rig)?;
        let names: Vec<_> = rig.devices.iter().map(|device| device.name.as_str()).collect();
        let certifier = self.certify.open(&names)?;
        let report =
            self.report.as_ref().map(|path| OutFile::create("report", path)).transpose()?;
        let mut growing = Vec::new();
        let fault_log = self.fault_log.as_ref().map(|path| open_log(path, &rig, &mut growing));
        let fault_log = fault_log.transpose()?;
        let feed_logs = self.feed_log.as_ref().map(|path| open_feed_logs(path, &rig, &mut growing));
        let feed_logs = feed_logs.transpose()?;
        let host_log = self.host_log.as_ref().map(|path| GrowingFile::create("host log", path));
        let host_log = host_log.transpose()?;
        let onlookers = self.onlookers.open()?;
        let mut scene_sha256 = String::new();
        let mut world = setup::load_world_with(&rig, |scene| {
            if certifier.is_wanted() {
                scene_sha256 = digest::of_scene(scene);
            }
        })?;
        let feeds = rig
            .world
            .objects
            .iter()
            .filter(|object| matches!(object.motion.trajectory, TrajectoryConfig::Feed(_)));
        let of_objects = self
            .feed_log
            .iter()
            .flat_map(|path| feeds.clone().map(|object| beside(path, &object.name)));
        spare_with("--feed-log", of_objects)?;
        let files = self.truth.iter().filter(|target| matches!(target, TruthTarget::File(_)));
        if files.count() > 1 {
            let text = "error: --truth names two files; the truth goes to one";
            return Err(CliError::Input(text.into()));
        }
        world.keeps_truth = self.truth.iter().any(|t| matches!(t, TruthTarget::File(_)));
        let hashes = match certifier.is_wanted() {
            true => digest::hashes(&rig, &world.summary.scene, scene_sha256),
            false => Vec::new(),
        };
        let stop = ranks.stop()?;
        ranks.gather(&rig, &world)?;
        print_start(&rig, &world.summary);
        setup::warn_of_hidden_sky(&rig, &world);

        let mut run =
            RealTimeRun::new(&rig, &world).map_err(|error| setup::explain(&rig, &error))?;
        if let Some(remote) = ranks.workers() {
            run.cast_elsewhere(remote);
        }
        if let Some(log) = fault_log {
            run.log_faults(log);
        }
        for (name, log) in feed_logs.into_iter().flatten() {
            run.log_feed(&name, log);
        }
        if let Some(file) = host_log {
            let log = HostLog::new(&rig, run.epoch().start(), file.writer())
                .map_err(|error| CliError::failed("cannot write the host log", &error))?;
            growing.push(file);
            run.log_hosts(log);
        }
        for target in &self.truth {
            let wrong = |error: &dyn std::fmt::Display| CliError::Input(format!("error: {error}"));
            match target {
                TruthTarget::File(path) => {
                    let (file, stream) = TruthFile::create(path).map_err(|error| wrong(&error))?;
                    growing.push(GrowingFile::of("truth", path, stream));
                    run.log_truth(file);
                }
                TruthTarget::Poses(to) => {
                    run.stream_poses(PoseStream::open(*to).map_err(|error| wrong(&error))?);
                }
            }
        }
        if certifier.is_wanted() {
            run.keep_timing();
        }
        if onlookers.are_expected() {
            run.open_tap();
        }
        for (device, control) in run.controls() {
            console::say(format_args!("{device}: controlled by {control}"));
        }
        let grants = std::sync::Mutex::new(Vec::new());
        let is_over = AtomicBool::new(false);
        let reader = if self.json_status { Reader::Machine } else { Reader::People };
        let control = RunControl::new(&rig, run.fault_desk(), self.fault_log.as_deref());
        let socket = ControlSocket::open()
            .map_err(|error| tracing::warn!("`menura fault` will not find this run: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| CliError::failed("cannot start the status view", &error))?;
        growing.iter().for_each(GrowingFile::keep);
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(show_status(&run, reader, &stop, &is_over)));
            if onlookers.are_expected() {
                scope.spawn(|| onlookers.serve(&run, &control, &is_over));
            }
            if let Ok(socket) = &socket {
                scope.spawn(|| control.serve(socket, &is_over));
            }
            run.run(self.duration, &stop, |granted| {
                tell_refusals(granted);
                grants.lock().expect("no holder panics").extend_from_slice(granted);
            });
            is_over.store(true, Ordering::Relaxed);
        });

        let elapsed = run.took();
        let figures = run.figures(elapsed);
        let simulated_s = stats::simulated_s(&figures, elapsed);
        let grants: Vec<Grant> = grants.into_inner().expect("no holder panics");
        let rendering = Rendering {
            real_time_factor: run.real_time_factor(),
            workers: run.workers(),
            processor_share: run.processor_share(),
        };
        let mut text = summary::summary(&figures, elapsed, Some(rendering), &rig.engine);
        text += &summary::feeds(&run.feeds());
        text += &summary::contacts(run.contacts());
        text += &summary::responses(&run.responses());
        text += &summary::truth(run.truth());
        text += &ranks.summary();
        // Files first, each whatever comes of the others.
        let mut outcomes: Vec<_> =
            run.log_failures().into_iter().map(|text| Err(CliError::Failed(text))).collect();
        if let Some(TruthOutcome { written: Err(error), .. }) = run.truth() {
            outcomes.push(Err(CliError::Failed(error.clone())));
        }
        outcomes.extend(growing.into_iter().map(GrowingFile::finish));
        if let Some(report) = report {
            outcomes.push(report.write_json(&Report {
                menura: env!("CARGO_PKG_VERSION"),
                rig: &rig.name,
                seed: rig.seed,
                start_utc: run.epoch().start().to_string(),
                run_s: elapsed.as_secs_f64(),
                simulated_s,
                scene: &world.summary.scene,
                instanced_triangles: world.summary.instanced_triangles,
                moving_objects: world.summary.moving_objects,
                workers: run.workers(),
                pulses: run.pulses(),
                real_time_factor: run.real_time_factor(),
                real_time_rights: grants.iter().map(Right::new).collect(),
                devices: figures.clone(),
                responses: run.responses(),
                contacts: run.contacts(),
                truth: run.truth().and_then(TruthRow::of),
                feeds: run.feeds().into_iter().map(|(of, counts)| FeedRow { of, counts }).collect(),
            }));
        }
        let mut verdict = Ok(());
        if let Some(timing) = run.timing().filter(|_| certifier.is_wanted()) {
            let sets = self.rig.set.iter().map(|set| format!("{}={}", set.key, set.value));
            let certificate = Certificate::new(Account {
                rig: rig.name.clone(),
                overrides: sets.collect(),
                seed: rig.seed,
                start: run.epoch().start(),
                host_start: run.host_start(),
                elapsed,
                engine: &rig.engine,
                workers: run.workers(),
                grants: &grants,
                hashes,
                figures: figures.clone(),
                timing,
                requirements: &certifier.required,
            });
            let certified = certifier.finish(&certificate);
            outcomes.push(certified.written);
            text += &certified.text;
            verdict = certified.verdict;
        }
        if self.json_status {
            console::say(text.trim_end());
        } else {
            outcomes.push(console::print(text));
        }
        drop(run);
        outcomes.extend([ranks.finish(), summary::all_sent(&figures), verdict]);
        all(outcomes)
    }
}

fn print_start(rig: &Rig, summary: &WorldSummary) {
    console::say(format_args!(
        "{}: {} with {} triangles ({} instances, {} moving objects, {} MB of trees)",
        rig.name,
        summary.scene,
        summary.instanced_triangles,
        summary.instances,
        summary.moving_objects,
        summary.tracer_bytes / 1_000_000,
    ));
}

/// Says what the system did not grant.
pub fn tell_refusals(grants: &[Grant]) {
    for grant in grants {
        match &grant.refused {
            None => tracing::info!("granted: {}", grant.wish),
            Some(reason) => {
                console::say(format_args!("not granted: {} ({reason})", grant.wish));
            }
        }
    }
}

/// Shows the devices' figures until the run is over.
async fn show_status(
    run: &RealTimeRun<'_>,
    reader: Reader,
    stop: &AtomicBool,
    is_over: &AtomicBool,
) {
    let mut view = StatusView::new(reader);
    let mut tick = tokio::time::interval(view.check_period());
    while !is_over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
        tick.tick().await;
        let elapsed = run.elapsed();
        if view.is_due(elapsed) {
            let shown = view.show(&run.figures(elapsed), elapsed, run.real_time_factor());
            if let Err(error) = shown {
                tracing::warn!("{error}");
                break;
            }
        }
    }
    view.close();
}

/// A log for each feed of the rig, with whose motion it is.
fn open_feed_logs(
    path: &Path,
    rig: &Rig,
    growing: &mut Vec<GrowingFile>,
) -> Result<Vec<(String, FeedLog)>, CliError> {
    let wrong = |path: &Path, problem: &dyn std::fmt::Display| {
        CliError::Input(format!("error: cannot write the feed log {}: {problem}", path.display()))
    };
    let objects = rig.world.objects.iter().map(|object| (Some(&object.name), &object.motion));
    let mut logs = Vec::new();
    for (object, motion) in std::iter::once((None, &rig.robot)).chain(objects) {
        if !matches!(motion.trajectory, TrajectoryConfig::Feed(_)) {
            continue;
        }
        let path = match object {
            None => path.to_owned(),
            Some(name) => beside(path, name),
        };
        let file = GrowingFile::create("feed log", &path)?;
        let log = FeedLog::new(file.writer()).map_err(|error| wrong(&path, &error))?;
        growing.push(file);
        logs.push((object.map_or("robot", String::as_str).to_owned(), log));
    }
    if logs.is_empty() {
        return Err(wrong(path, &"nothing in this rig is moved by a feed"));
    }
    Ok(logs)
}

/// `folder/stem-name.suffix`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let file = path.with_file_name(format!("{stem}-{name}"));
    match path.extension() {
        Some(suffix) => {
            let mut file = file.into_os_string();
            file.push(".");
            file.push(suffix);
            file.into()
        }
        None => file,
    }
}

/// The log of faults, opened before the run so that a wrong path stops it at once.
fn open_log(path: &Path, rig: &Rig, growing: &mut Vec<GrowingFile>) -> Result<FaultLog, CliError> {
    let file = GrowingFile::create("fault log", path)?;
    let log = FaultLog::new(rig, file.writer());
    growing.push(file);
    log.map_err(|error| {
        CliError::Input(format!("error: cannot write the fault log {}: {error}", path.display()))
    })
}
