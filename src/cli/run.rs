//! `menura run`: runs a rig in real time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::certify::CertifyArgs;
use super::onlookers::OnlookerArgs;
use super::out_file::OutFile;
use super::out_paths::spare_with;
use super::rig_args::RigArgs;
use super::status::{Reader, StatusView};
use super::summary::{self, Rendering};
use super::truth_target::TruthTarget;
use super::{CliError, all, console, ranks, setup};
use crate::config::rig::{Rig, TrajectoryConfig};
use crate::engine::WorldSummary;
use crate::engine::caster;
use crate::engine::certificate::{Account, Certificate, Right, digest};
use crate::engine::os::Grant;
use crate::engine::responses::ResponseFigures;
use crate::engine::run::TruthOutcome;
use crate::engine::session::{
    LiveRun, RunError, RunLogs, RunOptions, RunOutcome, RunSession, feed_log_of,
};
use crate::engine::stats::DeviceFigures;
use crate::engine::truth::log::TruthFigures;
use crate::engine::workers::RemoteWorkers;
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

    /// Write the effects of each fault on each packet to this CSV file, for [[fault]] sections of
    /// the rig and for faults that `menura fault` starts
    #[arg(long, value_name = "FILE")]
    fault_log: Option<OutPath>,

    /// Write the received poses of a feed, and how long each was in use, to this CSV file; poses of
    /// a moving object go to FILE-NAME in the same folder
    #[arg(long, value_name = "FILE")]
    feed_log: Option<OutPath>,

    /// Write host commands and their times to this file; `menura record --host-log` replays it
    #[arg(long, value_name = "FILE")]
    host_log: Option<OutPath>,

    /// Print the status to standard output, as one line of JSON per second; the summary goes to
    /// standard error
    #[arg(long)]
    json_status: bool,

    #[command(flatten)]
    onlookers: OnlookerArgs,

    /// Write the ground truth of the run to this file: poses, faults, and the surface of each
    /// return
    ///
    /// The file is MCAP; docs/TRUTH.md describes the format. Messages that cannot be written in
    /// time are left out and counted. `udp:HOST:PORT` instead sends poses there as JSON, for live
    /// plots. Both can be given.
    #[arg(long, value_name = "FILE.mcap|udp:HOST:PORT")]
    truth: Vec<TruthTarget>,

    #[command(flatten)]
    certify: CertifyArgs,
}

/// Content of the `--report` file. Keys are stable.
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
    caster: &'a str,
    pulses: u64,
    real_time_factor: f64,
    real_time_rights: Vec<Right>,
    devices: &'a [DeviceFigures],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    feeds: Vec<FeedRow<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    responses: &'a [ResponseFigures],
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<TruthRow>,
    /// Number of collisions of a driven robot.
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<u64>,
}

impl<'a> Report<'a> {
    fn new(rig: &'a Rig, world: &'a WorldSummary, outcome: &'a RunOutcome) -> Self {
        let feed = |(of, counts): &'a (String, FeedCounts)| FeedRow { of, counts: *counts };
        Self {
            menura: env!("CARGO_PKG_VERSION"),
            rig: &rig.name,
            seed: rig.seed,
            start_utc: outcome.start.to_string(),
            run_s: outcome.elapsed.as_secs_f64(),
            simulated_s: outcome.simulated_s,
            scene: &world.scene,
            instanced_triangles: world.instanced_triangles,
            moving_objects: world.moving_objects,
            workers: outcome.workers,
            caster: &outcome.caster,
            pulses: outcome.pulses,
            real_time_factor: outcome.real_time_factor,
            real_time_rights: outcome.grants.iter().map(Right::new).collect(),
            devices: &outcome.figures,
            feeds: outcome.feeds.iter().map(feed).collect(),
            responses: &outcome.responses,
            truth: outcome.truth.as_ref().and_then(TruthRow::of),
            contacts: outcome.contacts,
        }
    }
}

/// Result of writing the ground truth.
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

/// Counts of one feed.
#[derive(Serialize)]
struct FeedRow<'a> {
    of: &'a str,
    #[serde(flatten)]
    counts: FeedCounts,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        // In all ranks except rank 0, `join` does the work and then returns `None`.
        let Some(ranks) = ranks::join()? else { return Ok(()) };
        let mut rig = ranks.load(&self.rig)?;
        self.spare_feed_logs(&rig)?;
        let files = self.truth.iter().filter(|target| matches!(target, TruthTarget::File(_)));
        if files.count() > 1 {
            let text = "error: --truth names two files; only one is supported";
            return Err(CliError::Input(text.into()));
        }
        let names: Vec<_> = rig.devices.iter().map(|device| device.name.as_str()).collect();
        let certifier = self.certify.open(&names)?;
        let report =
            self.report.as_ref().map(|path| OutFile::create("report", path)).transpose()?;
        let mut options = self.options();
        let logs = RunLogs::open(&rig, &options).map_err(|error| explain(&rig, error))?;
        let onlookers = self.onlookers.open(&mut rig)?;
        let mut scene_sha256 = String::new();
        let mut world = setup::load_world_with(&ranks.for_own_rays(&rig), |scene| {
            if certifier.is_wanted() {
                scene_sha256 = digest::of_scene(scene);
            }
        })?;
        world.keeps_truth = options.truth.is_some();
        let hashes = match certifier.is_wanted() {
            true => digest::hashes(&rig, &world.summary.scene, scene_sha256),
            false => Vec::new(),
        };
        let stop = ranks.stop()?;
        ranks.gather(&rig, &world)?;
        print_start(&rig, &world.summary, ranks.workers());
        setup::warn_of_hidden_sky(&rig, &world);

        options.keeps_timing = certifier.is_wanted();
        options.opens_tap = onlookers.are_expected();
        let session = RunSession::open(&rig, &world, logs, options);
        let mut session = session.map_err(|error| explain(&rig, error))?;
        if let Some(remote) = ranks.workers() {
            session.run.cast_elsewhere(remote);
        }
        for (device, control) in session.run.controls() {
            console::say(format_args!("{device}: controlled by {control}"));
        }
        let reader = if self.json_status { Reader::Machine } else { Reader::People };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| CliError::failed("cannot start the status view", &error))?;
        let outcome = session.run_to_end(self.duration, &stop, tell_refusals, |live| {
            std::thread::scope(|scope| {
                if onlookers.are_expected() {
                    scope.spawn(|| onlookers.serve(live));
                }
                runtime.block_on(show_status(live, reader, &stop));
            });
        });

        let mut text = summary_of(&outcome, &rig);
        text += &ranks.summary();
        // Every file is written, even if another one fails; then the summary is printed.
        let failures = outcome.failures.iter().cloned();
        let mut outcomes: Vec<_> = failures.map(|text| Err(CliError::Failed(text))).collect();
        if let Some(report) = report {
            outcomes.push(report.write_json(&Report::new(&rig, &world.summary, &outcome)));
        }
        let mut verdict = Ok(());
        if let Some(timing) = outcome.timing.as_deref().filter(|_| certifier.is_wanted()) {
            let sets = self.rig.set.iter().map(|set| format!("{}={}", set.key, set.value));
            let certificate = Certificate::new(Account {
                rig: rig.name.clone(),
                overrides: sets.collect(),
                seed: rig.seed,
                start: outcome.start,
                host_start: outcome.host_start,
                elapsed: outcome.elapsed,
                engine: &rig.engine,
                workers: outcome.workers,
                caster: outcome.caster.clone(),
                grants: &outcome.grants,
                hashes,
                figures: outcome.figures.clone(),
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
        outcomes.extend([ranks.finish(), summary::all_sent(&outcome.figures), verdict]);
        all(outcomes)
    }

    /// Outputs that the command line requests.
    fn options(&self) -> RunOptions {
        let path = |path: &Option<OutPath>| path.as_ref().map(|path| path.to_path_buf());
        let mut options = RunOptions {
            fault_log: path(&self.fault_log),
            feed_log: path(&self.feed_log),
            host_log: path(&self.host_log),
            opens_control: true,
            ..RunOptions::default()
        };
        for target in &self.truth {
            match target {
                TruthTarget::File(path) => options.truth = Some(path.clone()),
                TruthTarget::Poses(to) => options.poses_to = Some(*to),
            }
        }
        options
    }

    /// Returns an error if the feed log of an object would overwrite another file of the command line.
    fn spare_feed_logs(&self, rig: &Rig) -> Result<(), CliError> {
        let feeds = rig
            .world
            .objects
            .iter()
            .filter(|object| matches!(object.motion.trajectory, TrajectoryConfig::Feed(_)));
        let of_objects = self
            .feed_log
            .iter()
            .flat_map(|path| feeds.clone().map(|object| feed_log_of(path, &object.name)));
        spare_with("--feed-log", of_objects)
    }
}

fn explain(rig: &Rig, error: RunError) -> CliError {
    match error {
        RunError::Setup(error) => setup::explain(rig, &error),
        RunError::Output(text) => CliError::Input(format!("error: {text}")),
        RunError::HostLog(_) => CliError::Failed(error.to_string()),
    }
}

fn summary_of(outcome: &RunOutcome, rig: &Rig) -> String {
    let rendering = Rendering {
        real_time_factor: outcome.real_time_factor,
        workers: outcome.workers,
        processor_share: outcome.processor_share,
        caster: &outcome.caster,
        has_gpu: outcome.has_gpu,
    };
    let RunOutcome { figures, elapsed, .. } = outcome;
    let mut text = summary::summary(figures, *elapsed, Some(rendering), &rig.engine);
    text += &summary::feeds(&outcome.feeds);
    text += &summary::contacts(outcome.contacts);
    text += &summary::responses(&outcome.responses);
    text += &summary::truth(outcome.truth.as_ref());
    text
}

fn print_start(rig: &Rig, summary: &WorldSummary, others: Option<&dyn RemoteWorkers>) {
    let own = &summary.caster;
    console::say(format_args!(
        "{}: {} with {} triangles ({} instances, {} moving objects, {} MB for ray tracing); rays \
         are cast by: {}",
        rig.name,
        summary.scene,
        summary.instanced_triangles,
        summary.instances,
        summary.moving_objects,
        summary.tracer_bytes / 1_000_000,
        others.map_or_else(|| own.clone(), |others| caster::of_ranks(rig, own, &others.caster())),
    ));
}

/// Prints which real-time rights the system refused, and why; logs the granted ones.
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
async fn show_status(live: LiveRun<'_>, reader: Reader, stop: &AtomicBool) {
    let LiveRun { run, is_over, .. } = live;
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
