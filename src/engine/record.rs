//! The recorder: the bytes of a run, written as fast as the workers render.
//!
//! There is no real-time clock: the simulated time advances with the rendering, and each packet is stamped with its due
//! time.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::due_queue::DueQueue;
use super::faults::log::FaultLog;
use super::faults::{Row, WireFaults};
use super::host_events::HostInput;
use super::host_log::Conversation;
use super::hosts::{Hosts, NoHosts, Repeated};
use super::packet::Packet;
use super::render::{Rendered, Renderer};
use super::stats::RenderStats;
use super::truth::log::{TruthError, TruthFile, TruthLog};
use super::truth::{PacketEvent, TruthEvent, TruthSender};
use super::workers::Casters;
use super::{LiveWorld, build_devices, caster};
use crate::config::profile::Profile;
use crate::config::profile::network::DatagramPort;
use crate::config::rig::{DeviceConfig, DeviceId, Rig};
use crate::devices::{Built, Output, PacketTruth, Transmit};
use crate::links::part_file::{PartFile, SharedPart};
use crate::links::pcap::PcapRecorder;
use crate::links::serial_record::SerialRecorder;
use crate::time::{Epoch, SimTime};
use crate::timing::clock;
use crate::wire::ethernet::FrameHeader;
use crate::wire::port::Peer;
use crate::world::trajectory::Trajectory;
use crate::world::trajectory::truth::TruthWriter;
use crate::world::vehicle::STEP_NS;

/// Result of a recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Written files, each with its number of packets, writes, rows or messages.
    pub files: Vec<(PathBuf, u64)>,
    /// Whether the recording was stopped before its end.
    pub is_cut_short: bool,
}

/// Reason why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be written.
    #[error("{path}: {error}")]
    File {
        /// Path of the file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// The ground truth cannot be written.
    #[error(transparent)]
    Truth(#[from] TruthError),
    /// Errors of several files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<RecordError>),
}

impl RecordError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File { path, error }
    }
}

/// Largest step of a device's time between two polls for its requests. Every device requests a measurement at least
/// this long in advance.
const STEP: Duration = Duration::from_millis(5);
/// Largest lead of a device over the slowest one, which limits the measurements that wait in memory. It is long enough
/// for slow devices to keep many workers busy.
const AHEAD: Duration = Duration::from_secs(1);
/// Number of passes of the main loop without progress after which a recording counts as stuck.
const IDLE_PASSES: u32 = 1000;
/// Interval in simulated time at which the ground truth thread is informed of the devices' progress.
const TELL_EVERY: Duration = Duration::from_millis(10);

/// Records into `folder` (created if missing) every packet with a first firing before `duration`, and all other output
/// that is due before `duration`. Files: `<device>.pcap` for each network device, `<device>.bin` with
/// `<device>.idx.csv` for any other, `truth.csv`, `truth-<object>.csv` for each moving object, and `faults.csv` if the
/// rig has faults. Answers of a device with a TCP server go to `<device>-peer<connection>.bin`. `truth.mcap` is written
/// if the world keeps ground truth. `hosts` is the host log to replay. `progress` gets the recorded time so far.
pub fn record(
    rig: &Rig,
    world: &LiveWorld,
    duration: Duration,
    hosts: Option<&Conversation>,
    folder: &Path,
    stop: &AtomicBool,
    progress: impl FnMut(SimTime),
) -> Result<Recording, RecordError> {
    let stretch = Stretch { rig, world, duration, start: rig.start_utc, stop };
    record_by(own_threads(rig, world), stretch, hosts, folder, progress)
}

/// Names of the files that a recording of `rig` creates at its start; `truth.mcap` is included only if `keeps_truth`.
pub fn file_names(rig: &Rig, keeps_truth: bool) -> Vec<String> {
    let mut names = vec!["truth.csv".to_owned()];
    names.extend(rig.world.objects.iter().map(|object| format!("truth-{}.csv", object.name)));
    for DeviceConfig { name, profile, .. } in &rig.devices {
        match Framer::new(profile) {
            Some(_) => names.push(format!("{name}.pcap")),
            None => names.extend([format!("{name}.bin"), format!("{name}.idx.csv")]),
        }
    }
    names.extend((!rig.faults.is_empty()).then(|| "faults.csv".to_owned()));
    names.extend(keeps_truth.then(|| "truth.mcap".to_owned()));
    names
}

/// UTC of the first instant if a rig has no `start_utc`: 2026-06-01T12:00:00Z. It is fixed, so that recordings on
/// different days have the same bytes.
const RECORDING_START: jiff::Timestamp = jiff::Timestamp::constant(1_780_315_200, 0);

/// Like [`record`], with rays cast by `casters`. Without `start`, the replay of a host log starts at the time at
/// which the logged run started.
pub fn record_by(
    casters: Casters<'_>,
    Stretch { rig, world, duration, start, stop }: Stretch<'_>,
    hosts: Option<&Conversation>,
    folder: &Path,
    mut progress: impl FnMut(SimTime),
) -> Result<Recording, RecordError> {
    std::fs::create_dir_all(folder).map_err(RecordError::at(folder))?;
    let end = SimTime(duration.as_nanos() as u64);
    let create = |name: &str, trajectory| Truth::create(rig, world, name, trajectory, folder);
    let mut truths = vec![create("truth.csv", &world.trajectory)?];
    for object in world.objects.iter() {
        truths.push(create(&format!("truth-{}.csv", object.name), &object.trajectory)?);
    }
    let mut recorders = Vec::new();
    for device in &rig.devices {
        recorders.push(Recorder::create(device, folder)?);
    }

    let log_path = folder.join("faults.csv");
    let log = (!rig.faults.is_empty()).then(|| {
        let file = SharedPart::create(&log_path)?;
        file.keep();
        Ok((FaultLog::new(rig, Box::new(BufWriter::new(file.clone())))?, file))
    });
    let mut log = log.transpose().map_err(RecordError::at(&log_path))?;
    let mut log_outcome = Ok(());
    let mut note = |row: Row| {
        if let (Some((log, _)), Ok(())) = (&mut log, &log_outcome) {
            log_outcome = log.note(row);
        }
    };

    let past_last = SimTime(end.0 + LONGEST_PACKET_NS);
    let mut reached = SimTime::ZERO;
    let start = start.or(hosts.map(|hosts| hosts.start));
    let mut repeated = hosts.map(Repeated::new);
    let hosts: &mut dyn Hosts = match &mut repeated {
        Some(repeated) => repeated,
        None => &mut NoHosts,
    };
    let epoch = Epoch::new(start.unwrap_or(RECORDING_START));
    let run = Stretch { rig, world, duration, start: Some(epoch.start()), stop };
    let truth_path = folder.join("truth.mcap");
    let full_truth = world.keeps_truth.then(|| {
        let (file, stream) = TruthFile::create(&truth_path)?;
        stream.keep();
        Ok((TruthLog::new(file, rig, world, epoch)?, stream))
    });
    let full_truth = full_truth.transpose().map_err(|error: TruthError| error)?;
    let mut sink = |unit: usize, unix_ns: i128, due, output: &Output| {
        if due > reached {
            reached = due;
            progress(due);
            // Poses are written along with the packets, so that a stopped recording has the ground truth of its
            // packets.
            let known = world.trajectory.driven().map_or(past_last, |driven| driven.known_until());
            let until = due.min(past_last).min(known);
            truths.iter_mut().try_for_each(|truth| truth.write_until(until, stop))?;
        }
        recorders[unit].write(unix_ns, due, output)
    };
    let (rendered, full_truth) = match full_truth {
        None => (render_telling(casters, run, hosts, &mut note, None, &mut sink), None),
        Some((log, stream)) => std::thread::scope(|scope| {
            let (teller, events) = TruthSender::new(true);
            let log = scope.spawn(move || log.keep(&events, None));
            let telling = Some(&teller);
            let rendered = render_telling(casters, run, hosts, &mut note, telling, &mut sink);
            drop(teller);
            let log = log.join().expect("the truth's thread does not panic");
            (rendered, Some((log, stream)))
        }),
    };
    // If the recording was stopped, the robot's motion is not computed any further.
    if let Some(driven) = world.trajectory.driven().filter(|_| !stop.load(Ordering::Relaxed)) {
        let row_ns = (1e9 / rig.engine.truth_rate_hz) as u64;
        driven.advance(SimTime(past_last.0 + row_ns + STEP_NS), world.caster.as_ref());
    }
    let truth_written = truths.iter_mut().try_for_each(|truth| truth.write_until(past_last, stop));

    // Incomplete files keep their `.part` names.
    let log_written = log_outcome.map_err(RecordError::at(&log_path));
    let mut failures: Vec<_> =
        [rendered, truth_written, log_written].into_iter().filter_map(Result::err).collect();
    let full_truth = match full_truth {
        Some((Ok(figures), stream)) => Some((figures, stream)),
        Some((Err(error), _)) => {
            failures.push(error.into());
            None
        }
        None => None,
    };
    if !failures.is_empty() {
        return Err(RecordError::Several(failures));
    }
    let is_cut_short = stop.load(Ordering::Relaxed);
    let log_end = if is_cut_short { reached.min(end) } else { end };
    let log = log.map(|(log, file)| {
        let finished = log.finish(log_end).and_then(|rows| file.finish().map(|_| rows));
        finished.map(|rows| (log_path.clone(), rows)).map_err(RecordError::at(&log_path))
    });
    let mut finished = Vec::new();
    for recorder in recorders {
        match recorder.finish() {
            Ok(files) => finished.extend(files.into_iter().map(Ok)),
            Err(error) => finished.push(Err(error)),
        }
    }
    finished.extend(truths.into_iter().map(Truth::finish));
    finished.extend(log);
    finished.extend(full_truth.map(|(figures, stream)| {
        stream.finish().map_err(RecordError::at(&truth_path))?;
        Ok((truth_path, figures.messages))
    }));
    let (files, failures): (Vec<_>, Vec<_>) = finished.into_iter().partition(Result::is_ok);
    if !failures.is_empty() {
        let failures = failures.into_iter().filter_map(Result::err);
        return Err(RecordError::Several(failures.collect()));
    }
    let files = files.into_iter().flatten().collect();
    Ok(Recording { files, is_cut_short })
}

/// The part of a run that is rendered: from the first instant for `duration`.
#[derive(Clone, Copy)]
pub struct Stretch<'a> {
    /// Rig whose devices are rendered.
    pub rig: &'a Rig,
    /// World of the rig.
    pub world: &'a LiveWorld,
    /// Duration from the first instant.
    pub duration: Duration,
    /// UTC of the first instant; `None`: in [`render`] and [`render_devices`], the host's clock; in [`record_by`], the
    /// start of the host log, otherwise a fixed time.
    pub start: Option<jiff::Timestamp>,
    /// Stops the rendering early when set.
    pub stop: &'a AtomicBool,
}

/// Renders the packets that [`record`] writes and passes them to `sink`: index of the device in the rig, time of the
/// first byte (nanoseconds of POSIX time, and since the first instant), and an output with bytes. Outputs of one device
/// are in the order of time. Rendering ends at the first error of `sink`. `hosts` receive the same packets and send
/// commands; `note` gets the effects of the rig's faults.
pub fn render<E>(
    stretch: Stretch<'_>,
    hosts: &mut dyn Hosts,
    note: &mut dyn FnMut(Row),
    sink: impl FnMut(usize, i128, SimTime, &Output) -> Result<(), E>,
) -> Result<(), E> {
    render_telling(own_threads(stretch.rig, stretch.world), stretch, hosts, note, None, sink)
}

/// Like [`render`] without hosts, with `devices` in place of the rig's devices; `stats` counts the cost of rendering.
pub fn render_devices<E>(
    stretch: Stretch<'_>,
    devices: Vec<Built>,
    stats: &RenderStats,
    sink: impl FnMut(usize, i128, SimTime, &Output) -> Result<(), E>,
) -> Result<(), E> {
    let casters = own_threads(stretch.rig, stretch.world);
    render_all(casters, stretch, devices, stats, &mut NoHosts, &mut |_| (), None, sink)
}

/// Like [`render`]; sends ground truth to `truth`, if given.
fn render_telling<E>(
    casters: Casters<'_>,
    stretch: Stretch<'_>,
    hosts: &mut dyn Hosts,
    note: &mut dyn FnMut(Row),
    truth: Option<&TruthSender>,
    sink: impl FnMut(usize, i128, SimTime, &Output) -> Result<(), E>,
) -> Result<(), E> {
    let epoch = clock::epoch_now_or(stretch.start);
    let devices = build_devices(stretch.rig, epoch);
    let stretch = Stretch { start: Some(epoch.start()), ..stretch };
    let stats = RenderStats::new(stretch.rig.devices.len());
    render_all(casters, stretch, devices, &stats, hosts, note, truth, sink)
}

/// Returns the threads of this process that cast rays for a recording of the rig.
pub fn own_threads(rig: &Rig, world: &LiveWorld) -> Casters<'static> {
    Casters::Threads(caster::workers(rig, world.caster.as_ref(), 0))
}

#[expect(clippy::too_many_arguments, reason = "what a recording consists of")]
fn render_all<E>(
    casters: Casters<'_>,
    Stretch { rig, world, duration, start, stop }: Stretch<'_>,
    devices: Vec<Built>,
    stats: &RenderStats,
    hosts: &mut dyn Hosts,
    note: &mut dyn FnMut(Row),
    truth: Option<&TruthSender>,
    mut sink: impl FnMut(usize, i128, SimTime, &Output) -> Result<(), E>,
) -> Result<(), E> {
    let epoch = clock::epoch_now_or(start);
    let end = SimTime(duration.as_nanos() as u64);
    if let Casters::Elsewhere(remote) = casters {
        remote.begin(epoch);
    }
    std::thread::scope(|scope| {
        let mut renderer = Renderer::start(scope, casters, world, rig, devices, None, end, stats);
        let (mut outcome, has_failed) = (Ok(()), Cell::new(false));
        let mut sent = Sent {
            queues: rig.devices.iter().map(|_| DueQueue::default()).collect(),
            faults: WireFaults::new(rig),
            note,
            truth,
            write: |device: usize, due: SimTime, output: &Output| {
                if outcome.is_ok() {
                    outcome = sink(device, epoch.unix_ns(due), due, output);
                    has_failed.set(outcome.is_err());
                }
            },
        };
        let mut told = SimTime::ZERO;
        let (mut last, mut idle_passes) = (None, 0);
        while !stop.load(Ordering::Relaxed) && !has_failed.get() {
            renderer.dispatch((renderer.slowest() + AHEAD).min(end));
            // Hosts send only when all devices have reached exactly the time of sending.
            while let Some(now) = hosts.next().filter(|next| *next < end) {
                if renderer.slowest() < now {
                    break;
                }
                sent.settle_all(now, hosts);
                for input in hosts.speak(now) {
                    let (heard, _) =
                        renderer.hear(&input, &mut |rendered| sent.take(rendered, hosts));
                    sent.tell(|| TruthEvent::HostInput(HostInput { at: heard, ..input }));
                }
            }
            if truth.is_some() && renderer.slowest() >= told + TELL_EVERY {
                told = renderer.slowest();
                sent.settle_all(told, hosts);
                sent.tell(|| TruthEvent::Until(told));
            }
            let until = hosts.next().map_or(end, |next| next.min(end));
            let mut take = |rendered| sent.take(rendered, hosts);
            let all_at_end = renderer.advance_behind(until, STEP, &mut take) && until == end;
            if renderer.is_measuring() {
                // This fails only if every worker has ended, which only a panic causes.
                let Ok(answers) = renderer.answers().recv() else { break };
                renderer.collect(answers, &mut take);
                idle_passes = 0;
            } else if all_at_end && !renderer.is_busy() {
                break;
            } else {
                // A device that requests motion beyond the known one is a bug; it must not block the recording.
                let here = Some((renderer.way(), hosts.next()));
                idle_passes = if last == here { idle_passes + 1 } else { 0 };
                last = here;
                let at_s = renderer.slowest().as_secs_f64();
                assert!(idle_passes < IDLE_PASSES, "the recording stands still at {at_s} s");
            }
        }
        renderer.finish(&mut |rendered| sent.take(rendered, hosts));
        let Sent { queues, faults, .. } = &mut sent;
        faults.finish(&mut |device, transmit| put(&mut queues[device.0], transmit));
        sent.settle_all(SimTime(u64::MAX), hosts);
        let is_cut = stop.load(Ordering::Relaxed) || has_failed.get();
        let all_told = if is_cut { told } else { end };
        sent.tell(|| TruthEvent::Until(SimTime(all_told.0 + 1)));
        outcome
    })
}

/// Passes output of devices through the rig's faults to the files, sorted by due time.
struct Sent<'a, W> {
    /// Outputs by device that are not written yet, because a later output may have an earlier due time.
    queues: Vec<DueQueue<(Output, PacketTruth)>>,
    faults: WireFaults,
    note: &'a mut dyn FnMut(Row),
    truth: Option<&'a TruthSender>,
    write: W,
}

impl<W: FnMut(usize, SimTime, &Output)> Sent<'_, W> {
    fn take(&mut self, rendered: Rendered, hosts: &mut dyn Hosts) {
        let (packet, settled) = match rendered {
            Rendered::Packet { packet, settled } => (packet, settled),
            Rendered::Measured(device, measurement) => {
                return self.tell(|| TruthEvent::Measured(device, measurement));
            }
            Rendered::Clock(device, account) => {
                return self.tell(|| TruthEvent::Clock(device, account));
            }
            Rendered::Frame(device, frame) => {
                return self.tell(|| TruthEvent::Frame(device, frame));
            }
            // A recording does not use these results.
            Rendered::Ptp(..)
            | Rendered::PtpTransport(..)
            | Rendered::GivenUp(_)
            | Rendered::Thinned(_) => return,
        };
        let Packet { device, transmit, .. } = packet;
        let queue = &mut self.queues[device.0];
        self.faults.apply(device, transmit, &mut |transmit| put(queue, transmit));
        for row in self.faults.rows() {
            if let Some(truth) = self.truth {
                truth.tell(TruthEvent::Fault(row));
            }
            (self.note)(row);
        }
        self.settle(device, settled, hosts);
    }

    /// Writes the outputs of `device` that are due at or before `settled`. Outputs that arrive afterwards are not due
    /// before that time.
    fn settle(&mut self, device: DeviceId, settled: SimTime, hosts: &mut dyn Hosts) {
        while let Some((due, (output, truth))) = self.queues[device.0].pop_until(settled) {
            hosts.hear(device, due, &output);
            (self.write)(device.0, due, &output);
            if let Some(teller) = self.truth
                && let Some(event) = PacketEvent::of(device, due, &output, truth)
            {
                teller.tell(TruthEvent::Packet(event));
            }
        }
    }

    /// Sends ground truth, if it is requested.
    fn tell(&self, event: impl FnOnce() -> TruthEvent) {
        if let Some(truth) = self.truth {
            truth.tell(event());
        }
    }

    fn settle_all(&mut self, settled: SimTime, hosts: &mut dyn Hosts) {
        for device in 0..self.queues.len() {
            self.settle(DeviceId(device), settled, hosts);
        }
    }
}

/// Queues the output if it has bytes; only such outputs are recorded. Changes of a line's rate and PPS pulses have
/// none.
fn put(queue: &mut DueQueue<(Output, PacketTruth)>, Transmit { due, output, truth, .. }: Transmit) {
    if output.bytes().is_some() {
        queue.push_ranked(due, output.rank(), (output, truth));
    }
}

/// Makes the network headers of a device's datagrams. Each port has its own header and, if it counts frames, its own
/// counter.
pub struct Framer {
    ports: Vec<DatagramPort>,
}

impl Framer {
    /// Framer for a device with this `profile`; `None` for a product without datagrams.
    pub fn new(profile: &Profile) -> Option<Self> {
        let ports = profile.ports().to_vec();
        (!ports.is_empty()).then_some(Self { ports })
    }

    /// Header of the datagram `output`, which must be the next one of its port; `None` for other outputs.
    pub fn header(&mut self, output: &Output) -> Option<FrameHeader> {
        let port = self.ports.get_mut(output.port()?.place())?;
        let header = port.frame.clone();
        if port.counts_frames {
            port.frame.identification = header.identification.wrapping_add(1);
        }
        Some(header)
    }
}

/// Files of one device.
enum Recorder {
    Network { path: PathBuf, recorder: PcapRecorder, frames: Framer },
    Line { path: PathBuf, recorder: SerialRecorder, writes: u64, peers: PeerRecorders },
}

/// Recordings of a device's TCP server, one for each connection of a host.
struct PeerRecorders {
    folder: PathBuf,
    device: String,
    files: BTreeMap<u64, (PathBuf, SerialRecorder, u64)>,
}

impl PeerRecorders {
    fn write(&mut self, peer: Peer, due: SimTime, bytes: &[u8]) -> Result<(), RecordError> {
        let (path, recorder, writes) = match self.files.entry(peer.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let name = format!("{}-peer{}", self.device, peer.connection);
                let path = self.folder.join(format!("{name}.bin"));
                let recorder =
                    SerialRecorder::create(&self.folder, &name).map_err(RecordError::at(&path))?;
                new.insert((path, recorder, 0))
            }
        };
        *writes += 1;
        recorder.write(due, bytes).map_err(RecordError::at(path))
    }
}

impl Recorder {
    fn create(device: &DeviceConfig, folder: &Path) -> Result<Self, RecordError> {
        match Framer::new(&device.profile) {
            Some(frames) => {
                let path = folder.join(format!("{}.pcap", device.name));
                let recorder = PcapRecorder::create(&path, frames.ports[0].frame.clone())
                    .map_err(RecordError::at(&path))?;
                Ok(Self::Network { path, recorder, frames })
            }
            None => {
                let path = folder.join(format!("{}.bin", device.name));
                let recorder =
                    SerialRecorder::create(folder, &device.name).map_err(RecordError::at(&path))?;
                let files = BTreeMap::new();
                let (folder, device) = (folder.to_owned(), device.name.clone());
                let peers = PeerRecorders { folder, device, files };
                Ok(Self::Line { path, recorder, writes: 0, peers })
            }
        }
    }

    fn write(&mut self, unix_ns: i128, due: SimTime, output: &Output) -> Result<(), RecordError> {
        let Some(bytes) = output.bytes() else { return Ok(()) };
        match self {
            Self::Network { path, recorder, frames } => {
                let Some(header) = frames.header(output) else { return Ok(()) };
                recorder.write_in(&header, unix_ns, bytes).map_err(RecordError::at(path))
            }
            Self::Line { path, recorder, writes, peers } => match output {
                Output::BytesTo(peer, _) => peers.write(*peer, due, bytes),
                _ => {
                    *writes += 1;
                    recorder.write(due, bytes).map_err(RecordError::at(path))
                }
            },
        }
    }

    /// Completes the files; returns each with its number of packets or writes.
    fn finish(self) -> Result<Vec<(PathBuf, u64)>, RecordError> {
        match self {
            Self::Network { path, recorder, .. } => {
                let packets = recorder.finish().map_err(RecordError::at(&path))?;
                Ok(vec![(path, packets)])
            }
            Self::Line { path, recorder, writes, peers } => {
                let of_peers = peers.files.into_values();
                let all = std::iter::once((path, recorder, writes)).chain(of_peers);
                all.map(|(path, recorder, writes)| {
                    recorder.finish().map_err(RecordError::at(&path))?;
                    Ok((path, writes))
                })
                .collect()
            }
        }
    }
}

/// Poses are written up to this time after the recording's end, nanoseconds: the firings of the last packet may end
/// after the recording's end.
const LONGEST_PACKET_NS: u64 = 1_000_000;

/// Writes the poses of a motion at the rig's truth rate, from the first instant to after the last firing.
struct Truth<'a> {
    path: PathBuf,
    writer: TruthWriter<BufWriter<PartFile>>,
    trajectory: &'a Trajectory,
    period_s: f64,
    rows: u64,
}

impl<'a> Truth<'a> {
    fn create(
        rig: &Rig,
        world: &LiveWorld,
        name: &str,
        trajectory: &'a Trajectory,
        folder: &Path,
    ) -> Result<Self, RecordError> {
        let path = folder.join(name);
        let create =
            || TruthWriter::new(BufWriter::new(PartFile::create_growing(&path)?), world.origin);
        let writer = create().map_err(RecordError::at(&path))?;
        Ok(Self { path, writer, trajectory, period_s: 1.0 / rig.engine.truth_rate_hz, rows: 0 })
    }

    /// Writes rows up to the first one at or after `last`, unless `stop` is set before.
    fn write_until(&mut self, last: SimTime, stop: &AtomicBool) -> Result<(), RecordError> {
        let at = |row: u64, period_s: f64| SimTime::from_secs_f64(row as f64 * period_s);
        while self.rows == 0 || at(self.rows - 1, self.period_s) < last {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let now = at(self.rows, self.period_s);
            let written = self.writer.write(now, &self.trajectory.state(now));
            written.map_err(RecordError::at(&self.path))?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Completes the file; returns it with its number of rows.
    fn finish(self) -> Result<(PathBuf, u64), RecordError> {
        let file = self.writer.finish();
        file.and_then(|file| file.into_inner().map_err(|error| error.into_error())?.finish())
            .map_err(RecordError::at(&self.path))?;
        Ok((self.path, self.rows))
    }
}
