//! `menura run`: the rig in real time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::duration::parse_duration;
use super::rig_args::RigArgs;
use super::status::StatusView;
use super::{CliError, setup, stop_on_signal};
use crate::config::rig::Rig;
use crate::engine::WorldSummary;
use crate::engine::faults::log::FaultLog;
use crate::engine::os::Grant;
use crate::engine::run::RealTimeRun;
use crate::engine::stats::DeviceFigures;

/// Arguments of `menura run`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// How long to run: 10s, 1.5s, 500ms, 2min; until Ctrl-C when left out
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Write the summary as JSON to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Write what each [[fault]] of the rig did to which packet to this file, as CSV
    #[arg(long, value_name = "FILE")]
    fault_log: Option<PathBuf>,
}

/// What `--report` writes. Keys are stable.
#[derive(Serialize)]
struct Report<'a> {
    menura: &'static str,
    rig: &'a str,
    seed: u64,
    start_utc: String,
    run_s: f64,
    scene: &'a str,
    instanced_triangles: u64,
    moving_objects: usize,
    workers: usize,
    pulses: u64,
    real_time_factor: f64,
    real_time_rights: Vec<GrantRow>,
    devices: Vec<DeviceFigures>,
}

#[derive(Clone, Serialize)]
struct GrantRow {
    wish: String,
    granted: bool,
    refused_because: Option<String>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let rig = self.rig.load()?;
        let report = self.report.as_ref().map(|path| ReportFile::create(path)).transpose()?;
        let fault_log = self.fault_log.as_ref().map(|path| open_log(path, &rig)).transpose()?;
        let world = setup::load_world(&rig)?;
        let stop = stop_on_signal()?;
        print_start(&rig, &world.summary);

        let mut run =
            RealTimeRun::new(&rig, &world).map_err(|error| setup::explain(&rig, &error))?;
        if let Some(log) = fault_log {
            run.log_faults(log);
        }
        let grants = std::sync::Mutex::new(Vec::new());
        let is_over = AtomicBool::new(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| CliError::failed("cannot start the status view", &error))?;
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(show_status(&run, &stop, &is_over)));
            run.run(self.duration, &stop, |granted| {
                tell_refusals(granted);
                let rows = granted.iter().map(|grant| GrantRow {
                    wish: grant.wish.clone(),
                    granted: grant.refused.is_none(),
                    refused_because: grant.refused.clone(),
                });
                grants.lock().expect("no holder panics").extend(rows);
            });
            is_over.store(true, Ordering::Relaxed);
        });

        let elapsed = run.elapsed().min(self.duration.unwrap_or(Duration::MAX));
        let figures = run.figures(elapsed);
        StatusView::summary(&figures, elapsed, run.real_time_factor(), run.workers());
        if let Some(report) = report {
            let grants = grants.into_inner().expect("no holder panics");
            report.write(&Report {
                menura: env!("CARGO_PKG_VERSION"),
                rig: &rig.name,
                seed: rig.seed,
                start_utc: run.epoch().start().to_string(),
                run_s: elapsed.as_secs_f64(),
                scene: &world.summary.scene,
                instanced_triangles: world.summary.instanced_triangles,
                moving_objects: world.summary.moving_objects,
                workers: run.workers(),
                pulses: run.pulses(),
                real_time_factor: run.real_time_factor(),
                real_time_rights: grants,
                devices: figures,
            })?;
        }
        Ok(())
    }
}

fn print_start(rig: &Rig, summary: &WorldSummary) {
    eprintln!(
        "{}: {} with {} triangles ({} instances, {} moving objects, {} MB of trees)",
        rig.name,
        summary.scene,
        summary.instanced_triangles,
        summary.instances,
        summary.moving_objects,
        summary.tracer_bytes / 1_000_000,
    );
}

fn tell_refusals(grants: &[Grant]) {
    for grant in grants {
        match &grant.refused {
            None => tracing::info!("granted: {}", grant.wish),
            Some(reason) => eprintln!("not granted: {} ({reason})", grant.wish),
        }
    }
}

/// Shows the devices' figures until the run is over.
async fn show_status(run: &RealTimeRun<'_>, stop: &AtomicBool, is_over: &AtomicBool) {
    let mut view = StatusView::new();
    let mut tick = tokio::time::interval(view.check_period());
    while !is_over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
        tick.tick().await;
        let elapsed = run.elapsed();
        if view.is_due(elapsed) {
            view.show(&run.figures(elapsed), elapsed, run.real_time_factor());
        }
    }
    view.close();
}

/// The log of faults, opened before the run so that a wrong path stops it at once.
fn open_log(path: &std::path::Path, rig: &Rig) -> Result<FaultLog, CliError> {
    let open = || {
        let file = std::fs::File::create(path)?;
        FaultLog::new(rig, Box::new(std::io::BufWriter::new(file)))
    };
    open().map_err(|error| {
        CliError::Input(format!("error: cannot write the fault log {}: {error}", path.display()))
    })
}

/// The report's file, opened before the run so that a wrong path stops it at once.
struct ReportFile {
    path: PathBuf,
    file: std::fs::File,
}

impl ReportFile {
    fn create(path: &std::path::Path) -> Result<Self, CliError> {
        let file = std::fs::File::create(path).map_err(|error| {
            CliError::Input(format!("error: cannot write the report {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    fn write(mut self, report: &Report<'_>) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(report)
            .map_err(|error| CliError::failed("the report", &error))?;
        std::io::Write::write_all(&mut self.file, format!("{text}\n").as_bytes())
            .map_err(|error| CliError::failed(self.path.display(), &error))
    }
}
