//! The recorder: the bytes of a run, written as fast as the workers render.
//!
//! The clock is stepped by the work: each packet is stamped with its due time.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::render::{Rendered, Renderer};
use super::stats::RenderStats;
use super::{LiveWorld, build_devices, clock, default_workers};
use crate::config::rig::{LinkConfig, Rig};
use crate::devices::Transmit;
use crate::links::pcap::PcapRecorder;
use crate::time::SimTime;
use crate::world::trajectory::truth::TruthWriter;

/// What was written.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The files with the number of packets (or rows) in each.
    pub files: Vec<(PathBuf, u64)>,
    /// Whether it was stopped before its end.
    pub is_cut_short: bool,
}

/// Why nothing more could be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}")]
pub struct RecordError {
    path: String,
    error: io::Error,
}

impl RecordError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self { path, error }
    }
}

/// Writes every packet whose first firing is before `duration` into `folder`, which is made when
/// it is not there: `<device>.pcap` for each device, and `truth.csv`. `progress` is told how far
/// the recording has come.
pub fn record(
    rig: &Rig,
    world: &LiveWorld,
    duration: Duration,
    folder: &Path,
    stop: &AtomicBool,
    mut progress: impl FnMut(SimTime),
) -> Result<Recording, RecordError> {
    std::fs::create_dir_all(folder).map_err(RecordError::at(folder))?;
    let epoch = clock::epoch_now_or(rig.start_utc);
    let end = SimTime(duration.as_nanos() as u64);
    let truth = write_truth(rig, world, end, folder)?;
    let mut recorders = Vec::new();
    for device in &rig.devices {
        let path = match device.link {
            LinkConfig::Udp(_) => folder.join(format!("{}.pcap", device.name)),
        };
        let header = device.profile.network().frame_header();
        let recorder = PcapRecorder::create(&path, header).map_err(RecordError::at(&path))?;
        recorders.push((path, recorder));
    }

    let workers = rig.engine.workers.unwrap_or_else(default_workers);
    let stats = RenderStats::default();
    let written = std::thread::scope(|scope| {
        let devices = build_devices(rig, epoch);
        let mut renderer = Renderer::start(scope, workers, world, &rig.devices, devices, &stats);
        let mut failure = None;
        let mut write = |rendered: Rendered| {
            let Rendered::Transmit(unit, Transmit { due, payload, .. }) = rendered else { return };
            progress(due);
            let (path, recorder) = &mut recorders[unit];
            if let Err(error) = recorder.write(epoch.unix_ns(due), &payload) {
                failure.get_or_insert_with(|| RecordError::at(path)(error));
            }
        };
        loop {
            renderer.dispatch(end, |_| false);
            let Some(done) = renderer.is_busy().then(|| renderer.done().recv().ok()).flatten()
            else {
                break;
            };
            renderer.collect(done, &mut write);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        failure.map_or(Ok(()), Err)
    });
    written?;

    let mut files = Vec::new();
    for (path, recorder) in recorders {
        let packets = recorder.finish().map_err(RecordError::at(&path))?;
        files.push((path, packets));
    }
    files.push(truth);
    Ok(Recording { files, is_cut_short: stop.load(Ordering::Relaxed) })
}

/// The last packet's firings may go on this long after the recording's end.
const LONGEST_PACKET_NS: u64 = 1_000_000;

/// Writes the robot's pose at the rig's truth rate, from the first instant to past the last firing.
fn write_truth(
    rig: &Rig,
    world: &LiveWorld,
    end: SimTime,
    folder: &Path,
) -> Result<(PathBuf, u64), RecordError> {
    let path = folder.join("truth.csv");
    let at = |error: io::Error| RecordError::at(&path)(error);
    let file = File::create(&path).map_err(at)?;
    let mut writer = TruthWriter::new(BufWriter::new(file), world.origin).map_err(at)?;
    let period_s = 1.0 / rig.engine.truth_rate_hz;
    let last = SimTime(end.0 + LONGEST_PACKET_NS);
    let mut rows = 0;
    loop {
        let now = SimTime::from_secs_f64(rows as f64 * period_s);
        writer.write(now, &world.trajectory.state(now)).map_err(at)?;
        rows += 1;
        if now >= last {
            break;
        }
    }
    writer.finish().map_err(at)?;
    Ok((path, rows))
}
