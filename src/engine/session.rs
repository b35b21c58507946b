//! A run from its start to its results: for `menura run` and for programs that embed Menura.
//!
//! [`RunSession::spawn`] runs a rig on its own thread, which suits tests. [`RunSession::open`] and
//! [`RunSession::run_to_end`] borrow rig and world, and let the program observe the run from inside.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::faults::log::FaultLog;
use super::feed_log::FeedLog;
use super::growing_file::GrowingFile;
use super::host_log::HostLog;
use super::live_faults::FaultControl;
use super::os::Grant;
use super::responses::ResponseFigures;
use super::run::{RealTimeRun, TimingLog, TruthOutcome};
use super::run_control::{ControlSocket, RunControl};
use super::stats::{self, DeviceFigures};
use super::truth::log::TruthFile;
use super::truth::stream::PoseStream;
use super::{LiveWorld, SetupError};
use crate::config::rig::{Rig, TrajectoryConfig};
use crate::world::trajectory::feed::FeedCounts;

/// Outputs of a run in addition to the packets of its devices. The default has none.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// CSV file for the effects of faults.
    pub fault_log: Option<PathBuf>,
    /// CSV file for the poses that arrive at the robot's external pose input (feed). The poses of an object are written
    /// to the file of [`feed_log_of`].
    pub feed_log: Option<PathBuf>,
    /// Host log: file for host commands, which a recording can replay.
    pub host_log: Option<PathBuf>,
    /// MCAP file for the ground truth. [`LiveWorld::keeps_truth`] must be set.
    pub truth: Option<PathBuf>,
    /// Destination of poses as JSON datagrams.
    pub poses_to: Option<SocketAddr>,
    /// Record the timing of every packet, for a certificate.
    pub keeps_timing: bool,
    /// Open the tap, through which observers receive sent packets.
    pub opens_tap: bool,
    /// Open the socket through which `menura fault` finds this run.
    pub opens_control: bool,
}

/// Reason why a run cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rig cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// An output cannot be opened.
    #[error("{0}")]
    Output(String),
    /// The first line of the host log cannot be written.
    #[error("cannot write the host log: {0}")]
    HostLog(std::io::Error),
}

/// The open logs of a run. They are opened before the world is loaded, so that a wrong path is reported at once.
#[derive(Default)]
pub struct RunLogs {
    fault_log: Option<FaultLog>,
    feed_logs: Vec<(String, FeedLog)>,
    host_log: Option<GrowingFile>,
    /// Files of the fault log and of the feed logs.
    growing: Vec<GrowingFile>,
}

impl RunLogs {
    /// Opens the logs that `options` name.
    ///
    /// # Errors
    /// A file cannot be created, or a feed log is requested for a rig without a feed.
    pub fn open(rig: &Rig, options: &RunOptions) -> Result<Self, RunError> {
        let mut logs = Self::default();
        if let Some(path) = &options.fault_log {
            let file = GrowingFile::create("fault log", path).map_err(RunError::Output)?;
            logs.fault_log = Some(
                FaultLog::new(rig, file.writer())
                    .map_err(|error| unwritable("fault log", path, &error))?,
            );
            logs.growing.push(file);
        }
        if let Some(path) = &options.feed_log {
            logs.open_feed_logs(path, rig)?;
        }
        if let Some(path) = &options.host_log {
            let file = GrowingFile::create("host log", path).map_err(RunError::Output)?;
            logs.host_log = Some(file);
        }
        Ok(logs)
    }

    /// Opens a log for each feed of the rig.
    fn open_feed_logs(&mut self, path: &Path, rig: &Rig) -> Result<(), RunError> {
        let objects = rig.world.objects.iter().map(|object| (Some(&object.name), &object.motion));
        for (object, motion) in std::iter::once((None, &rig.robot)).chain(objects) {
            if !matches!(motion.trajectory, TrajectoryConfig::Feed(_)) {
                continue;
            }
            let path = match object {
                None => path.to_owned(),
                Some(name) => feed_log_of(path, name),
            };
            let file = GrowingFile::create("feed log", &path).map_err(RunError::Output)?;
            let log = FeedLog::new(file.writer())
                .map_err(|error| unwritable("feed log", &path, &error))?;
            self.growing.push(file);
            self.feed_logs.push((object.map_or("robot", String::as_str).to_owned(), log));
        }
        if self.feed_logs.is_empty() {
            return Err(unwritable("feed log", path, &"no robot or object of this rig has a feed"));
        }
        Ok(())
    }
}

fn unwritable(what: &str, path: &Path, error: &dyn std::fmt::Display) -> RunError {
    RunError::Output(format!("cannot write the {what} {}: {error}", path.display()))
}

/// Path of an object's feed log, next to the robot's: `folder/stem-object.suffix`.
pub fn feed_log_of(path: &Path, object: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut file = path.with_file_name(format!("{stem}-{object}")).into_os_string();
    if let Some(suffix) = path.extension() {
        file.push(".");
        file.push(suffix);
    }
    file.into()
}

/// A rig with open links and outputs, ready to run.
pub struct RunSession<'a> {
    /// The run, with its links, clock and remote workers.
    pub run: RealTimeRun<'a>,
    options: RunOptions,
    growing: Vec<GrowingFile>,
}

/// A run in progress, for observers.
#[derive(Clone, Copy)]
pub struct LiveRun<'a> {
    /// The run, with its results so far and the tap.
    pub run: &'a RealTimeRun<'a>,
    /// Control that starts and ends faults during the run.
    pub control: &'a RunControl<'a>,
    /// Set when the run has ended.
    pub is_over: &'a AtomicBool,
}

/// The results of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// Device time of the first instant, UTC.
    pub start: jiff::Timestamp,
    /// The host's clock at the first instant.
    pub host_start: jiff::Timestamp,
    /// Duration of the run, including the time to finish measurements at its end.
    pub elapsed: Duration,
    /// Simulated seconds of the rig: less than `elapsed` if a device was behind.
    pub simulated_s: f64,
    /// Figures of each device, in the rig's order.
    pub figures: Vec<DeviceFigures>,
    /// For each external pose input (feed): the name of the robot or object that it moves, and its counts.
    pub feeds: Vec<(String, FeedCounts)>,
    /// Statistics of each response, in the rig's order.
    pub responses: Vec<ResponseFigures>,
    /// Collisions of a driven robot; `None` if it is not driven.
    pub contacts: Option<u64>,
    /// Result of writing the ground truth, if it was requested.
    pub truth: Option<TruthOutcome>,
    /// Real-time rights that were requested, and the system's answers.
    pub grants: Vec<Grant>,
    /// Number of threads that cast rays, in all processes.
    pub workers: usize,
    /// Identities of the ray casters; see [`RealTimeRun::caster`].
    pub caster: String,
    /// Whether the number of workers was chosen for a GPU instead of the processor; see [`RealTimeRun::has_gpu`].
    pub has_gpu: bool,
    /// Number of cast pulses and camera pixels.
    pub pulses: u64,
    /// Real-time factor: seconds of the rig's time that the workers can render per second. Above 1, they have time to
    /// spare.
    pub real_time_factor: f64,
    /// Share of the measuring time in which the workers had a processor, 0..=1. Other threads and programs used the
    /// rest.
    pub processor_share: f64,
    /// Timing of each device's packets, if it was recorded.
    pub timing: Option<Vec<Mutex<TimingLog>>>,
    /// Messages about outputs that are incomplete, one sentence each.
    pub failures: Vec<String>,
}

impl<'a> RunSession<'a> {
    /// Opens all links and the remaining outputs. The run starts a quarter of a second from now.
    ///
    /// # Errors
    /// A link or an output cannot be opened.
    pub fn open(
        rig: &'a Rig,
        world: &'a LiveWorld,
        logs: RunLogs,
        options: RunOptions,
    ) -> Result<Self, RunError> {
        let mut run = RealTimeRun::new(rig, world)?;
        let RunLogs { fault_log, feed_logs, host_log, mut growing } = logs;
        if let Some(log) = fault_log {
            run.log_faults(log);
        }
        for (name, log) in feed_logs {
            run.log_feed(&name, log);
        }
        if let Some(file) = host_log {
            let log = HostLog::new(rig, run.epoch().start(), file.writer());
            run.log_hosts(log.map_err(RunError::HostLog)?);
            growing.push(file);
        }
        if let Some(path) = &options.truth {
            let created = TruthFile::create(path);
            let (file, stream) = created.map_err(|error| RunError::Output(error.to_string()))?;
            growing.push(GrowingFile::of("truth", path, stream));
            run.log_truth(file);
        }
        if let Some(to) = options.poses_to {
            let stream = PoseStream::open(to);
            run.stream_poses(stream.map_err(|error| RunError::Output(error.to_string()))?);
        }
        if options.keeps_timing {
            run.keep_timing();
        }
        if options.opens_tap {
            run.open_tap();
        }
        Ok(Self { run, options, growing })
    }

    /// Runs until all packets due before `duration` (`None`: no limit) have left, or until `stop` is set. `on_start`
    /// receives the system's answers to the requests for real-time rights. `watch` runs on its own thread and must
    /// return when [`LiveRun::is_over`] is set.
    pub fn run_to_end(
        self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        on_start: impl FnOnce(&[Grant]) + Send,
        watch: impl FnOnce(LiveRun<'_>) + Send,
    ) -> RunOutcome {
        let Self { run, options, growing } = self;
        let control = RunControl::new(run.rig(), run.fault_control(), options.fault_log.as_deref());
        let socket = options.opens_control.then(ControlSocket::open);
        let socket = socket.and_then(|opened| {
            opened
                .map_err(|error| tracing::warn!("`menura fault` will not find this run: {error}"))
                .ok()
        });
        let mut grants = Vec::new();
        let is_over = AtomicBool::new(false);
        growing.iter().for_each(GrowingFile::keep);
        std::thread::scope(|scope| {
            let live = LiveRun { run: &run, control: &control, is_over: &is_over };
            scope.spawn(move || watch(live));
            if let Some(socket) = &socket {
                scope.spawn(|| control.serve(socket, &is_over));
            }
            run.run(duration, stop, |granted| {
                on_start(granted);
                grants.extend_from_slice(granted);
            });
            is_over.store(true, Ordering::Relaxed);
        });
        let elapsed = run.took();
        let figures = run.figures(elapsed);
        let mut failures = run.log_failures();
        failures.extend(run.truth().and_then(|truth| truth.written.as_ref().err().cloned()));
        failures.extend(growing.into_iter().filter_map(|file| file.finish().err()));
        let feeds = run.feeds().into_iter().map(|(name, counts)| (name.to_owned(), counts));
        RunOutcome {
            start: run.epoch().start(),
            host_start: run.host_start(),
            elapsed,
            simulated_s: stats::simulated_s(&figures, elapsed),
            figures,
            feeds: feeds.collect(),
            responses: run.responses(),
            contacts: run.contacts(),
            truth: run.truth().cloned(),
            grants,
            workers: run.workers(),
            caster: run.caster(),
            has_gpu: run.has_gpu(),
            pulses: run.pulses(),
            real_time_factor: run.real_time_factor(),
            processor_share: run.processor_share(),
            failures,
            timing: run.into_timing(),
        }
    }
}

impl RunSession<'static> {
    /// Loads the world of `rig` and runs the rig on a new thread. Returns when all links are open.
    ///
    /// # Errors
    /// The world cannot be loaded; a link or an output cannot be opened.
    pub fn spawn(rig: Rig, options: RunOptions) -> Result<SpawnedRun, RunError> {
        let rig = Arc::new(rig);
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, opened) = mpsc::channel();
        let (its_rig, its_stop) = (Arc::clone(&rig), Arc::clone(&stop));
        let work = move || {
            let report = |error| drop(tell.send(Err(error)));
            let (logs, world) = prepare(&its_rig, &options).map_err(report).ok()?;
            let session = RunSession::open(&its_rig, &world, logs, options).map_err(report).ok()?;
            let _ = tell.send(Ok(Arc::clone(session.run.fault_control())));
            Some(session.run_to_end(None, &its_stop, |_| {}, |_| {}))
        };
        let thread = Builder::new().name("run".into()).spawn(work);
        let thread = thread.expect("the system has threads to spare");
        let faults = opened.recv().expect("the run's thread reports before it ends")?;
        Ok(SpawnedRun { rig, faults, stop, thread: Some(thread) })
    }
}

fn prepare(rig: &Rig, options: &RunOptions) -> Result<(RunLogs, LiveWorld), RunError> {
    let logs = RunLogs::open(rig, options)?;
    let mut world = LiveWorld::load(rig)?;
    world.keeps_truth = options.truth.is_some();
    Ok((logs, world))
}

/// A run on its own thread. Dropping it stops the run.
pub struct SpawnedRun {
    rig: Arc<Rig>,
    faults: Arc<FaultControl>,
    stop: Arc<AtomicBool>,
    /// `None` after [`SpawnedRun::stop`].
    thread: Option<JoinHandle<Option<RunOutcome>>>,
}

impl SpawnedRun {
    /// Control that starts and ends faults during the run.
    pub fn control(&self) -> RunControl<'_> {
        RunControl::new(&self.rig, &self.faults, None)
    }

    /// Stops the run; returns its results.
    ///
    /// # Panics
    /// A thread of the run has panicked.
    pub fn stop(mut self) -> RunOutcome {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("a run is stopped once");
        let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.expect("a run that was opened has results")
    }
}

impl Drop for SpawnedRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic has already been printed.
            let _ = thread.join();
        }
    }
}
