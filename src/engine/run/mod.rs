//! The real-time loop.
//!
//! The device states when a packet is due, in simulated time: after the packet's last firing or sample. A packet passes
//! these stages in this order:
//!
//! 1. [`scheduler`] advances devices, passes them host commands, and posts measurements to workers;
//! 2. [`super::workers`] measure; [`super::work_queue`] chooses what they measure next;
//! 3. [`send_queue`] keeps packets until they are due, and [`delayed`] those that are due much later;
//! 4. [`sender`] sends each packet when it is due ([`transmission`]). A second sender may stand by;
//! 5. [`send_log`] records the sender's actions and reads transmit timestamps.
//!
//! With `engine.late = "drop"`, stage 2 gives up measurements that cannot be ready in time, and stage 4 drops packets
//! that are late. With the other values, late packets are sent.
//!
//! The threads of [`listeners`] receive input from hosts.

pub(crate) mod answers;
mod card_time;
mod delayed;
mod fault_orders;
mod lead;
pub(crate) mod listeners;
pub(crate) mod ntrip;
mod outgoing;
mod pauses;
mod ptp;
pub(crate) mod scheduler;
pub(crate) mod send_log;
pub(crate) mod send_queue;
pub mod sender;
pub mod tap;
pub(crate) mod transmission;
mod watching;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{Builder, Scope};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::connections::{Connections, ControlLink, Link};
use super::faults::log::FaultLog;
use super::feed_log::FeedLog;
use super::host_events::{HostEvent, HostInput, HostTarget, Payload};
use super::host_log::HostLog;
use super::live_faults::FaultControl;
use super::log_failures::LogFailures;
use super::os::{self, Grant, KeptOff};
use super::render::Renderer;
use super::responses::ResponseFigures;
use super::stats::{DeviceFigures, DeviceStats, RenderStats};
use super::truth::TruthSender;
use super::truth::log::{TruthError, TruthFigures, TruthFile, TruthLog};
use super::truth::stream::PoseStream;
use super::workers::{Casters, RemoteWorkers};
use super::{LiveWorld, SetupError, build_devices, caster, default_workers};
use crate::config::rig::drive::TwistInput;
use crate::config::rig::faults::FaultKind;
use crate::config::rig::{DeviceId, Lead, PtpMasterConfig, Rig};
use crate::devices::Built;
use crate::devices::ptp::PtpSend;
use crate::devices::ptp::master::{MasterSettings, PtpMaster};
use crate::links::ByteLink;
use crate::links::ptp::PtpLink;
use crate::links::tcp_server::TcpServer;
use crate::time::{Epoch, SimTime};
use crate::timing::clock::MonotonicClock;
use crate::wire::line::LineSettings;
use crate::wire::ptp::Transport;
use crate::world::trajectory::feed::{Feed, FeedCounts};
use answers::Answers;
use listeners::LinkFaults;
use ntrip::Ntrip;
pub use send_log::TimingLog;
use tap::Tap;
use transmission::SendContext;

/// Time from the setup of a run to its first instant; packets are rendered ahead during this time.
const START_DELAY: Duration = Duration::from_millis(250);
/// Longest sleep of the scheduler and of the sender between two checks.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// Capacity of the send queue, packets, in addition to twice the number of packets that can be rendered ahead.
const SEND_QUEUE: usize = 4096;
/// Stack size of a listener thread, bytes. It is small, because stacks are locked in RAM and a rig may have many ports.
const LISTENER_STACK: usize = 192 << 10;
/// Stack size of a thread that serves a web interface, bytes.
const WEB_STACK: usize = 512 << 10;
/// Length of the queue of host events to the devices. When it is full, hosts wait.
const EVENT_QUEUE: usize = 256;

/// Result of writing the ground truth of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthOutcome {
    /// Number of messages and size of the file, or the reason why the file was not written.
    pub written: Result<TruthFigures, String>,
    /// Number of events that were dropped, because writing was too slow.
    pub dropped: u64,
}

/// A feed with its socket.
struct FeedPort {
    /// Name of the robot or object that the feed moves.
    name: String,
    feed: Arc<Feed>,
    socket: UdpSocket,
    /// Log of the poses that arrive, until the listener thread of the feed takes it over; then `None`.
    log: Mutex<Option<FeedLog>>,
}

/// A rig with open links, and its run in real time.
pub struct RealTimeRun<'a> {
    rig: &'a Rig,
    world: &'a LiveWorld,
    connections: Vec<Connections>,
    stats: Vec<DeviceStats>,
    /// Timing log of each device, for a certificate or for estimating the lead automatically; otherwise `None`.
    timing: Option<Vec<Mutex<TimingLog>>>,
    nominal_rates_hz: Vec<f64>,
    /// Line settings of each device at power-on; unused for network devices.
    lines: Vec<LineSettings>,
    render: RenderStats,
    casters: Casters<'a>,
    clock: MonotonicClock,
    /// Duration of the run, after it has ended.
    took: OnceLock<Duration>,
    epoch: Epoch,
    feeds: Vec<FeedPort>,
    answers: Answers,
    /// Settings of the drive commands by datagrams, and the socket that receives them; `None` if the robot is not
    /// driven by datagrams.
    orders: Option<(TwistInput, UdpSocket)>,
    /// Configuration and link of Menura's PTP master, if the rig has one.
    ptp_master: Option<(PtpMasterConfig, PtpLink)>,
    /// NTRIP casters of base stations, and NTRIP clients of rovers.
    ntrip: Ntrip,
    /// Fault log, if requested, until the scheduler takes it over; then `None`.
    fault_log: Mutex<Option<FaultLog>>,
    /// Host log, if requested, until the scheduler takes it over; then `None`.
    host_log: Mutex<Option<HostLog>>,
    /// Ground truth file, if requested, until the thread that writes it takes it over; then `None`.
    truth_file: Mutex<Option<TruthFile>>,
    truth: OnceLock<TruthOutcome>,
    pose_stream: Option<PoseStream>,
    log_failures: LogFailures,
    fault_control: Arc<FaultControl>,
    /// Tap for sent packets; `None` if observers are not possible.
    tap: Option<Tap>,
    /// Queue of host events to the scheduler.
    host_events: (Sender<HostEvent>, Receiver<HostEvent>),
    host_start: jiff::Timestamp,
    /// Keeps all other threads off the sender's core.
    _kept_off: Option<KeptOff>,
}

impl<'a> RealTimeRun<'a> {
    /// Opens every link; the first instant is a quarter of a second from now.
    pub fn new(rig: &'a Rig, world: &'a LiveWorld) -> Result<Self, SetupError> {
        // These devices are only queried for their settings; the run builds its own devices.
        let devices = build_devices(rig, crate::timing::clock::epoch_now_or(rig.start_utc));
        let devices = || devices.iter().map(|built| &built.device);
        let lines: Vec<_> = devices()
            .map(|device| device.line().unwrap_or(LineSettings::eight_n_one(9600)))
            .collect();
        let opened = rig.devices.iter().zip(&lines);
        let connections: Vec<_> = opened
            .map(|(device, line)| Connections::open(device, *line, &rig.engine))
            .collect::<Result<_, _>>()?;
        let nominal_rates_hz: Vec<_> = devices().map(|device| device.nominal_rate_hz()).collect();
        let (clock, host_start) = MonotonicClock::starting_in(START_DELAY);
        let epoch = Epoch::new(rig.start_utc.unwrap_or(host_start));
        Ok(Self {
            rig,
            world,
            stats: rig.devices.iter().map(|d| DeviceStats::new(d.profile.ports())).collect(),
            // An automatic lead is estimated from departures.
            timing: matches!(rig.engine.lead, Lead::Auto).then(|| new_timing(connections.len())),
            connections,
            nominal_rates_hz,
            lines,
            render: RenderStats::new(rig.devices.len()),
            casters: Casters::Threads(caster::workers(
                rig,
                world.caster.as_ref(),
                usize::from(rig.engine.send_core.is_some()),
            )),
            clock,
            took: OnceLock::new(),
            epoch,
            feeds: open_feeds(world)?,
            answers: Answers::open(rig)?,
            orders: open_orders(world)?,
            ptp_master: open_ptp_master(rig)?,
            ntrip: Ntrip::open(rig)?,
            fault_log: Mutex::new(None),
            host_log: Mutex::new(None),
            truth_file: Mutex::new(None),
            truth: OnceLock::new(),
            pose_stream: None,
            log_failures: LogFailures::default(),
            fault_control: Arc::default(),
            tap: None,
            host_events: bounded(EVENT_QUEUE),
            host_start,
            _kept_off: rig.engine.send_core.and_then(KeptOff::core),
        })
    }

    /// Lets other processes cast the rays.
    pub fn cast_elsewhere(&mut self, remote: &'a dyn RemoteWorkers) {
        self.casters = Casters::Elsewhere(remote);
    }

    /// Sets the fault log of the run.
    pub fn log_faults(&mut self, log: FaultLog) {
        self.fault_log = Mutex::new(Some(log));
    }

    /// Sets the host log of the run.
    pub fn log_hosts(&mut self, log: HostLog) {
        self.host_log = Mutex::new(Some(log));
    }

    /// Sets the ground truth file of the run. The world must keep ground truth.
    pub fn log_truth(&mut self, file: TruthFile) {
        self.truth_file = Mutex::new(Some(file));
    }

    /// Sends the poses of robot and objects as datagrams while the rig runs.
    pub fn stream_poses(&mut self, stream: PoseStream) {
        self.pose_stream = Some(stream);
    }

    /// Result of writing the ground truth, after the run; `None` if it was not requested.
    pub fn truth(&self) -> Option<&TruthOutcome> {
        self.truth.get()
    }

    /// Sets the log for the poses that the feed of `name` receives.
    pub fn log_feed(&mut self, name: &str, log: FeedLog) {
        if let Some(port) = self.feeds.iter_mut().find(|port| port.name == name) {
            port.feed.keep_log();
            port.log = Mutex::new(Some(log));
        }
    }

    /// Records the timing of every packet, for [`RealTimeRun::timing`].
    pub fn keep_timing(&mut self) {
        self.timing = Some(new_timing(self.connections.len()));
    }

    /// Timing of each device's packets, if it is recorded.
    pub fn timing(&self) -> Option<&[Mutex<TimingLog>]> {
        self.timing.as_deref()
    }

    /// Returns the timing of each device's packets, if it was recorded. Call this after the run.
    pub fn into_timing(self) -> Option<Vec<Mutex<TimingLog>>> {
        self.timing
    }

    /// The rig that runs.
    pub fn rig(&self) -> &Rig {
        self.rig
    }

    /// The host's clock at the first instant.
    pub fn host_start(&self) -> jiff::Timestamp {
        self.host_start
    }

    /// Number of threads that cast rays, in all processes.
    pub fn workers(&self) -> usize {
        self.casters.count()
    }

    /// Identities of the ray casters of all processes, with a note if a GPU has cast no pulses or was lost.
    pub fn caster(&self) -> String {
        let own = self.world.caster_report();
        match self.casters {
            Casters::Threads(_) => own,
            Casters::Elsewhere(remote) => caster::of_ranks(self.rig, &own, &remote.caster()),
        }
    }

    /// UTC of the first instant on the devices' clocks.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Addresses of the devices' controls and NTRIP casters, each with the name of its device, as text for the status
    /// view.
    pub fn controls(&self) -> impl Iterator<Item = (&str, String)> {
        let casters = self.ntrip.casters().map(|(_, caster)| (caster.base(), caster.describe()));
        let named = self.rig.devices.iter().zip(&self.connections);
        named
            .flat_map(|(device, connections)| {
                let controls = connections.controls.iter();
                controls.map(|control| (device.name.as_str(), control.describe()))
            })
            .chain(casters)
    }

    /// Time since the first instant.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    /// Duration of the run: until its end, or until the last measurement if devices were behind. Before the end: like
    /// [`RealTimeRun::elapsed`].
    pub fn took(&self) -> Duration {
        self.took.get().copied().unwrap_or_else(|| self.elapsed())
    }

    /// Whether the number of workers was chosen for a GPU; it is then greater than the number of processors. If the
    /// GPU is lost, the workers share the processors.
    pub fn has_gpu(&self) -> bool {
        matches!(self.casters, Casters::Threads(_)) && self.world.caster.in_flight() > 1
    }

    /// Simulated seconds that the workers can render in a second: below 1, they are too slow for real time. 0 before
    /// the first measurement.
    pub fn real_time_factor(&self) -> f64 {
        match self.has_gpu() {
            true => self.render.waiting_real_time_factor(self.workers(), default_workers()),
            false => self.render.real_time_factor(self.workers()),
        }
    }

    /// Share of the measuring time in which the workers had a processor, see [`RenderStats::processor_share`].
    pub fn processor_share(&self) -> f64 {
        self.render.processor_share()
    }

    /// Number of cast pulses and camera pixels so far.
    pub fn pulses(&self) -> u64 {
        self.render.pulses()
    }

    /// Figures of each device after the time `elapsed` of the run.
    pub fn figures(&self, elapsed: Duration) -> Vec<DeviceFigures> {
        let is_driven = self.world.trajectory.driven().is_some();
        self.rig
            .devices
            .iter()
            .zip(&self.stats)
            .zip(&self.connections)
            .zip(&self.nominal_rates_hz)
            .enumerate()
            .map(|(index, (((device, stats), connections), &nominal_rate_hz))| {
                let link = connections.link.describe();
                let (name, profile) = (&device.name, &device.profile.name);
                let mut figures = stats.figures(name, profile, &link, nominal_rate_hz, elapsed);
                if is_driven {
                    figures.order_to_wire_us = figures.pose_to_wire_us.take();
                } else {
                    figures.firing_to_wire_us = None;
                }
                let behind_s = self.render.behind(DeviceId(index)).as_secs_f64();
                DeviceFigures { behind_s, ..figures }
            })
            .collect()
    }

    /// Name and counts of each feed.
    pub fn feeds(&self) -> Vec<(&str, FeedCounts)> {
        self.feeds.iter().map(|port| (port.name.as_str(), port.feed.counts())).collect()
    }

    /// Number of collisions of a driven robot; `None` if the robot is not driven.
    pub fn contacts(&self) -> Option<u64> {
        self.world.trajectory.driven().map(|driven| driven.contacts())
    }

    /// Messages about requested logs that could not be written.
    pub fn log_failures(&self) -> Vec<String> {
        self.log_failures.all()
    }

    /// Statistics of each response so far.
    pub fn responses(&self) -> Vec<ResponseFigures> {
        self.answers.figures()
    }

    /// Runs until `stop` is set, or until every packet is sent that begins before `duration`. Without a `duration`,
    /// only `stop` ends the run. `on_start` receives the system's answers to the requests for real-time rights.
    pub fn run(
        &self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        on_start: impl FnOnce(&[Grant]) + Send,
    ) {
        self.run_devices(build_devices(self.rig, self.epoch), duration, stop, on_start);
    }

    /// Like [`RealTimeRun::run`], but with `devices` instead of the rig's own devices.
    fn run_devices(
        &self,
        devices: Vec<Built>,
        duration: Option<Duration>,
        stop: &AtomicBool,
        on_start: impl FnOnce(&[Grant]) + Send,
    ) {
        let end = duration.map_or(SimTime(u64::MAX), |d| SimTime(d.as_nanos() as u64));
        // Set when the scheduler has ended; no thread receives host input from then on.
        let over = &AtomicBool::new(false);
        if let Casters::Elsewhere(remote) = self.casters {
            remote.begin(self.epoch);
        }
        std::thread::scope(|scope| {
            let clock = Some(self.clock);
            let (world, render) = (self.world, &self.render);
            let renderer =
                Renderer::start(scope, self.casters, world, self.rig, devices, clock, end, render);
            let (packets, queue) = send_queue::with_capacity(self.most_waiting(), self.clock);
            let context = SendContext {
                clock: self.clock,
                connections: &self.connections,
                stats: &self.stats,
                lines: &self.lines,
                engine: &self.rig.engine,
                answers: Some(&self.answers),
                tap: self.tap.as_ref(),
                ntrip: Some(&self.ntrip),
                events: Some(&self.host_events.0),
            };
            let (tell, events) = &self.host_events;
            for (index, connections) in self.connections.iter().enumerate() {
                self.start_listeners(scope, DeviceId(index), connections, tell, over);
            }
            let (answers, clock) = (&self.answers, self.clock);
            start_small(scope, LISTENER_STACK, move || answers.keep_board(clock, over));
            for source in answers.sources() {
                start_small(scope, LISTENER_STACK, move || source.listen(answers, clock, over));
            }
            for port in &self.feeds {
                let log = port.log.lock().expect("no holder panics").take();
                let failures = &self.log_failures;
                start_small(scope, LISTENER_STACK, move || {
                    listeners::listen_to_feed(&port.feed, &port.socket, log, clock, failures, over);
                });
            }
            if let Some((input, socket)) = &self.orders {
                let tell = tell.clone();
                start_small(scope, LISTENER_STACK, move || {
                    listeners::listen_to_orders(input, socket, clock, &tell, over);
                });
            }
            if let Some((config, link)) = &self.ptp_master {
                let mut devices = self.rig.devices.iter();
                let has_receiver = devices.any(|device| device.profile.product.has_gps_output);
                let PtpMasterConfig { address, domain, priority_1, transport, delay, .. } = *config;
                let settings = MasterSettings { domain, priority_1, transport, delay };
                let mut master = PtpMaster::new(settings, address, self.epoch, has_receiver);
                start_small(scope, LISTENER_STACK, move || {
                    ptp::lead(&mut master, link, clock, over);
                });
            }
            for (device, caster) in self.ntrip.casters() {
                let faults = self.link_faults(device);
                start_small(scope, LISTENER_STACK, move || caster.serve(clock, &faults, over));
            }
            for (device, client) in self.ntrip.clients() {
                let (tell, faults) = (tell.clone(), self.link_faults(device));
                start_small(scope, LISTENER_STACK, move || {
                    client.listen(device, clock, &faults, &tell, over);
                });
            }
            sender::start(scope, context, self.timing(), queue, stop, on_start);
            if let Some(stream) = &self.pose_stream {
                start_small(scope, LISTENER_STACK, move || {
                    os::step_back(&self.rig.engine, os::ANSWERER_NICE);
                    stream.send(self.rig, self.world, clock, over);
                });
            }
            let truth_file = self.truth_file.lock().expect("no holder panics").take();
            let truth = truth_file.map(|file| {
                let (teller, events) = TruthSender::new(false);
                let clock = Some(self.clock);
                let thread = Builder::new().name("truth".into());
                let spawned = thread.spawn_scoped(scope, move || {
                    os::step_back(&self.rig.engine, os::ONLOOKER_NICE);
                    let log = TruthLog::new(file, self.rig, self.world, self.epoch)?;
                    log.keep(&events, clock)
                });
                (teller, spawned.expect("the system has threads to spare"))
            });
            let (teller, writer) = truth.unzip();
            self.schedule(renderer, packets, events, teller.as_ref(), end, stop);
            let dropped = teller.map_or(0, |teller| teller.dropped());
            over.store(true, Ordering::Relaxed);
            if let Some(writer) = writer {
                let written = writer.join().expect("the truth's thread does not panic");
                let written = written.map_err(|error: TruthError| error.to_string());
                let _ = self.truth.set(TruthOutcome { written, dropped });
            }
        });
    }

    /// Starts threads that receive what hosts send to a device: one for each serial line or socket on which the device
    /// accepts input.
    fn start_listeners<'scope, 'env: 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, 'env>,
        device: DeviceId,
        connections: &'scope Connections,
        tell: &Sender<HostEvent>,
        over: &'scope AtomicBool,
    ) {
        let clock = self.clock;
        let faults = || self.link_faults(device);
        let listen_to_line = |line: &'scope Arc<dyn ByteLink>, faults: LinkFaults| {
            let tell = tell.clone();
            start_small(scope, LISTENER_STACK, move || {
                listeners::listen_to_line(device, line.as_ref(), clock, &faults, &tell, over);
            });
        };
        let listen_to_server = |server: &'scope TcpServer| {
            let (tell, faults) = (tell.clone(), faults());
            start_small(scope, LISTENER_STACK, move || {
                listeners::listen_to_server(device, server, clock, &faults, &tell, over);
            });
        };
        match &connections.link {
            Link::Datagrams(_) => {}
            Link::Line(line) => listen_to_line(line, faults()),
            Link::Server(server) => listen_to_server(server),
        }
        if let Some(link) = &connections.ptp {
            let (tell, faults) = (tell.clone(), faults());
            start_small(scope, LISTENER_STACK, move || {
                ptp::listen(device, link, clock, &faults, &tell, over);
            });
        }
        for control in &connections.controls {
            match control {
                // Faults of the rig act on the device's link, not on this control.
                ControlLink::Line(line) => listen_to_line(line, LinkFaults::default()),
                ControlLink::Commands(server) => listen_to_server(server),
                ControlLink::Datagrams(server) => {
                    let (tell, faults) = (tell.clone(), faults());
                    start_small(scope, LISTENER_STACK, move || {
                        listeners::listen_to_datagrams(device, server, clock, &faults, &tell, over);
                    });
                }
                ControlLink::Web(server) => {
                    let (tell, faults) = (tell.clone(), faults());
                    start_small(scope, WEB_STACK, move || {
                        listeners::listen_to_web(device, server, clock, faults, &tell, over);
                    });
                }
            }
        }
    }

    /// Sends a PTP message at once, unless the link is down. Errors are only logged: the device learns from the
    /// transmit timestamp that a message has left.
    fn send_ptp(&self, device: DeviceId, send: &PtpSend) {
        let link = self.connections.get(device.0).and_then(|connections| connections.ptp.as_ref());
        let Some(link) = link.filter(|_| !self.link_faults(device).is_down(self.clock.now()))
        else {
            return;
        };
        match (link.send(&send.bytes, send.key, send.to), send.key) {
            (Ok(false), Some(key)) => {
                let at = self.clock.now();
                let payload = Payload::PtpLeft { key, at };
                let input = HostInput { at, to: HostTarget::Device(device), payload };
                let _ = self.host_events.0.try_send(input.into());
            }
            (Ok(_), _) => {}
            (Err(error), _) => tracing::debug!("cannot send to {}: {error}", link.describe()),
        }
    }

    /// Sets the transport of a device's PTP messages.
    fn carry_ptp(&self, device: DeviceId, transport: Transport) {
        let link = self.connections.get(device.0).and_then(|connections| connections.ptp.as_ref());
        if let Some(link) = link {
            link.carry_by(transport);
        }
    }

    /// Faults of a device's link and NTRIP caster.
    fn link_faults(&self, device: DeviceId) -> LinkFaults {
        let own = self.rig.faults.iter().filter(|fault| DeviceId(fault.device) == device);
        let own = own.filter_map(|config| match &config.kind {
            FaultKind::Wire(fault) => Some((config.schedule, fault.clone())),
            FaultKind::Device(_) => None,
        });
        LinkFaults { own: own.collect(), live: Some((Arc::clone(&self.fault_control), device)) }
    }

    /// Length of the send queue: [`SEND_QUEUE`] plus twice the number of packets that can be rendered ahead, because a
    /// device may send more than its nominal rate.
    fn most_waiting(&self) -> usize {
        let ahead_s = self.rig.engine.render_ahead_ns as f64 * 1e-9;
        let rate_hz: f64 = self.nominal_rates_hz.iter().sum();
        SEND_QUEUE + (2.0 * ahead_s * rate_hz) as usize
    }
}

/// Starts a thread with `stack` bytes of stack.
fn start_small<'scope>(
    scope: &'scope Scope<'scope, '_>,
    stack: usize,
    work: impl FnOnce() + Send + 'scope,
) {
    let small = Builder::new().stack_size(stack);
    small.spawn_scoped(scope, work).expect("the system has threads to spare");
}

fn new_timing(devices: usize) -> Vec<Mutex<TimingLog>> {
    (0..devices).map(|_| Mutex::default()).collect()
}

/// Opens the socket for drive commands, if the robot is driven by datagrams.
fn open_orders(world: &LiveWorld) -> Result<Option<(TwistInput, UdpSocket)>, SetupError> {
    let driven = world.trajectory.driven();
    let Some(input) = driven.and_then(|driven| driven.config().twist.clone()) else {
        return Ok(None);
    };
    let listen = input.listen;
    let socket = UdpSocket::bind(listen).map_err(|error| {
        let of = "robot".to_owned();
        SetupError::Feed { of, listen, error }
    })?;
    Ok(Some((input, socket)))
}

/// Opens the sockets of Menura's PTP master, if the rig has one.
fn open_ptp_master(rig: &Rig) -> Result<Option<(PtpMasterConfig, PtpLink)>, SetupError> {
    let Some(config) = &rig.engine.ptp else { return Ok(None) };
    let link = PtpLink::open(config.address, config.interface.as_deref(), true);
    let link = link.and_then(|link| {
        link.carry_by(config.transport);
        link.open_carrier().map(|()| link)
    });
    Ok(Some((config.clone(), link.map_err(SetupError::PtpMaster)?)))
}

/// Opens a socket for each feed of the robot and of objects.
fn open_feeds(world: &LiveWorld) -> Result<Vec<FeedPort>, SetupError> {
    let robot = std::iter::once(("robot", &world.trajectory));
    let objects = world.objects.iter().map(|object| (object.name.as_str(), &object.trajectory));
    let mut ports = Vec::new();
    for (name, trajectory) in robot.chain(objects) {
        let Some(feed) = trajectory.feed() else { continue };
        let listen = feed.config().listen;
        let socket = UdpSocket::bind(listen).map_err(|error| SetupError::Feed {
            of: name.to_owned(),
            listen,
            error,
        })?;
        let (name, feed) = (name.to_owned(), feed.clone());
        ports.push(FeedPort { name, feed, socket, log: Mutex::new(None) });
    }
    Ok(ports)
}

#[cfg(test)]
mod tests;
