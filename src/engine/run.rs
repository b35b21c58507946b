//! The real-time loop.
//!
//! A packet's due time is absolute and comes from its firings. One thread sends (`sender.rs`) and
//! one writes down what it did (`ledger.rs`); a thread for each serial line and each server listens
//! (`listen.rs`); the conductor passes measurements, host bytes and the time to the devices.

pub mod answers;
mod card_time;
pub mod departure;
mod lead;
pub mod ledger;
mod listen;
mod pauses;
pub mod sender;

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded, select};

use super::clock::MonotonicClock;
use super::faults::log::FaultLog;
use super::faults::{Effect, Row, WireFaults};
use super::feed_log::FeedLog;
use super::os::{Grant, KeptOff};
use super::render::{Marks, Rendered, Renderer, Treatment};
use super::responses::ResponseFigures;
use super::stats::{DeviceFigures, DeviceStats, RenderStats};
use super::{
    ControlLink, Link, LiveWorld, SetupError, build_devices, default_workers, open_control,
    open_link,
};
use crate::config::rig::faults::{FaultKind, WireFault};
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{LatePolicy, Lead, Rig};
use crate::devices::Transmit;
use crate::links::line::LineSettings;
use crate::sensors::MeasurementRequest;
use crate::sensors::lidar::Thinning;
use crate::time::{Epoch, SimTime};
use crate::world::trajectory::feed::{Feed, FeedCounts};
use answers::{Answers, Carried};
use departure::Feeder;
use ledger::TimingBook;
use listen::{Heard, News};
use sender::{Outlet, Packet};

/// Time between deciding on the first instant and that instant: what is rendered ahead before it.
const START_DELAY: Duration = Duration::from_millis(250);
/// The conductor and the sender look for news at least this often.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// Devices are this far ahead of the clock, so that what they decide to send is with the sender
/// before it is due. Twice what passes between two looks.
const DEVICES_AHEAD: Duration = Duration::from_millis(2);
/// Packets that wait for their due times, beside what is rendered ahead.
const SEND_QUEUE: usize = 4096;
/// Pieces of host bytes on their way to the devices. When it is full, hosts wait.
const HEARD_QUEUE: usize = 256;

/// A feed with the socket it comes by.
struct FeedPort {
    /// Whose motion it is.
    name: String,
    feed: Arc<Feed>,
    socket: UdpSocket,
    /// Taken by the thread that listens.
    log: Mutex<Option<FeedLog>>,
}

/// A rig on its links, not yet running.
pub struct RealTimeRun<'a> {
    rig: &'a Rig,
    world: &'a LiveWorld,
    links: Vec<Link>,
    controls: Vec<Option<ControlLink>>,
    stats: Vec<DeviceStats>,
    /// One a device, if a certificate is wanted.
    books: Option<Vec<Mutex<TimingBook>>>,
    nominal_rates_hz: Vec<f64>,
    /// How each serial port runs at power-on; anything for network devices.
    lines: Vec<LineSettings>,
    render: RenderStats,
    workers: usize,
    clock: MonotonicClock,
    epoch: Epoch,
    feeds: Vec<FeedPort>,
    answers: Answers,
    /// Taken by the conductor.
    fault_log: Mutex<Option<FaultLog>>,
    host_start: jiff::Timestamp,
    /// All threads but the sender, which goes to the core by itself.
    _kept_off: Option<KeptOff>,
}

impl<'a> RealTimeRun<'a> {
    /// Opens every link; the first instant is a quarter of a second from now.
    pub fn new(rig: &'a Rig, world: &'a LiveWorld) -> Result<Self, SetupError> {
        // Only to ask them how they will run; their lives begin with the run.
        let devices = build_devices(rig, super::clock::epoch_now_or(rig.start_utc));
        let devices = || devices.iter().map(|built| &built.device);
        let lines: Vec<_> = devices()
            .map(|device| device.line().unwrap_or(LineSettings::eight_n_one(9600)))
            .collect();
        let links: Result<Vec<_>, _> = rig
            .devices
            .iter()
            .zip(&lines)
            .map(|(device, line)| open_link(device, *line, &rig.engine))
            .collect();
        let links = links?;
        let controls = rig.devices.iter().zip(&lines);
        let controls: Result<_, _> =
            controls.map(|(device, line)| open_control(device, *line)).collect();
        let controls = controls?;
        let nominal_rates_hz: Vec<_> = devices().map(|device| device.nominal_rate_hz()).collect();
        let (clock, host_start) = MonotonicClock::starting_in(START_DELAY);
        let epoch = Epoch::new(rig.start_utc.unwrap_or(host_start));
        Ok(Self {
            rig,
            world,
            stats: rig.devices.iter().map(|d| DeviceStats::new(&d.profile.ports())).collect(),
            // Where leads are found, they are found from departures.
            books: matches!(rig.engine.lead, Lead::Auto).then(|| new_books(links.len())),
            links,
            controls,
            nominal_rates_hz,
            lines,
            render: RenderStats::default(),
            workers: rig.engine.workers.unwrap_or_else(|| match rig.engine.send_core {
                Some(_) => default_workers().saturating_sub(1).max(1),
                None => default_workers(),
            }),
            clock,
            epoch,
            feeds: open_feeds(world)?,
            answers: Answers::open(rig)?,
            fault_log: Mutex::new(None),
            host_start,
            _kept_off: rig.engine.send_core.and_then(KeptOff::core),
        })
    }

    /// Has the truth about faults written to `log`.
    pub fn log_faults(&mut self, log: FaultLog) {
        self.fault_log = Mutex::new(Some(log));
    }

    /// Has what comes by the feed of `name` written to `log`.
    pub fn log_feed(&mut self, name: &str, log: FeedLog) {
        if let Some(port) = self.feeds.iter_mut().find(|port| port.name == name) {
            port.feed.keep_log();
            port.log = Mutex::new(Some(log));
        }
    }

    /// Writes down the timing of every packet, for [`RealTimeRun::books`].
    pub fn keep_books(&mut self) {
        self.books = Some(new_books(self.links.len()));
    }

    /// The timing of each device's packets, if it is written down.
    pub fn books(&self) -> Option<&[Mutex<TimingBook>]> {
        self.books.as_deref()
    }

    /// The rig.
    pub fn rig(&self) -> &Rig {
        self.rig
    }

    /// The host's clock at the first instant.
    pub fn host_start(&self) -> jiff::Timestamp {
        self.host_start
    }

    /// Threads that cast rays.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The UTC of the first instant, as the devices know it.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Where each device that has a second link is controlled: its name and the link.
    pub fn controls(&self) -> impl Iterator<Item = (&str, String)> {
        let named = self.rig.devices.iter().zip(&self.controls);
        named.filter_map(|(device, control)| {
            control.as_ref().map(|control| (device.name.as_str(), control.describe()))
        })
    }

    /// Time since the first instant.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    /// How many seconds of the rig are rendered in a second of busy workers.
    pub fn real_time_factor(&self) -> f64 {
        self.render.real_time_factor(self.workers)
    }

    /// Pulses cast so far.
    pub fn pulses(&self) -> u64 {
        self.render.pulses()
    }

    /// Each device's figures, were `elapsed` of the run over.
    pub fn figures(&self, elapsed: Duration) -> Vec<DeviceFigures> {
        self.rig
            .devices
            .iter()
            .zip(&self.stats)
            .zip(&self.links)
            .zip(&self.nominal_rates_hz)
            .map(|(((device, stats), link), &nominal_rate_hz)| {
                let link = link.describe();
                stats.figures(&device.name, &device.profile.name, &link, nominal_rate_hz, elapsed)
            })
            .collect()
    }

    /// What came of each feed: whose motion it is, and counts.
    pub fn feeds(&self) -> Vec<(&str, FeedCounts)> {
        self.feeds.iter().map(|port| (port.name.as_str(), port.feed.counts())).collect()
    }

    /// What came of each response so far.
    pub fn responses(&self) -> Vec<ResponseFigures> {
        self.answers.figures()
    }

    /// Runs until everything that is due before `duration`, and every packet whose first firing is,
    /// has left, or `stop` is set. `on_start` learns what the system granted.
    pub fn run(
        &self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        on_start: impl FnOnce(&[Grant]) + Send,
    ) {
        let end = duration.map_or(SimTime(u64::MAX), |d| SimTime(d.as_nanos() as u64));
        // Set when the conductor is done: nobody is left to hear then.
        let over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let devices = build_devices(self.rig, self.epoch);
            let renderer =
                Renderer::start(scope, self.workers, self.world, self.rig, devices, &self.render);
            let capacity = self.most_waiting();
            let (packets, queue) = departure::queue(capacity, self.clock);
            let (mouth, heard) = bounded(HEARD_QUEUE);
            for (unit, link) in self.links.iter().enumerate() {
                let (mouth, clock) = (mouth.clone(), self.clock);
                let down = self.link_down(unit);
                match link {
                    Link::Datagrams(_) => {}
                    Link::Line(line) => {
                        let line = line.as_ref();
                        scope.spawn(move || listen::listen(unit, line, clock, &down, &mouth, over));
                    }
                    Link::Server(server) => {
                        scope
                            .spawn(move || listen::serve(unit, server, clock, &down, &mouth, over));
                    }
                }
            }
            for (unit, control) in self.controls.iter().enumerate() {
                let (mouth, clock) = (mouth.clone(), self.clock);
                match control {
                    None => {}
                    Some(ControlLink::Web(server)) => {
                        let down = self.link_down(unit);
                        scope.spawn(move || {
                            listen::answer(unit, server, clock, down, &mouth, over);
                        });
                    }
                    Some(ControlLink::Line(line)) => {
                        let line = line.as_ref();
                        // The faults are those of the link, not of this line.
                        scope.spawn(move || listen::listen(unit, line, clock, &[], &mouth, over));
                    }
                }
            }
            let (answers, clock) = (&self.answers, self.clock);
            scope.spawn(move || answers.keep_board(clock, over));
            for source in answers.sources() {
                scope.spawn(move || source.listen(answers, clock, over));
            }
            for port in &self.feeds {
                let clock = self.clock;
                let log = port.log.lock().expect("no holder panics").take();
                scope.spawn(move || listen::follow(&port.feed, &port.socket, log, clock, over));
            }
            let outlet = Outlet {
                clock: self.clock,
                links: &self.links,
                stats: &self.stats,
                lines: &self.lines,
                engine: &self.rig.engine,
                answers: Some(&self.answers),
            };
            departure::start(scope, outlet, self.books(), capacity, queue, stop, on_start);
            self.conduct(renderer, packets, &heard, end, stop);
            over.store(true, Ordering::Relaxed);
        });
    }

    /// Room for all that may be rendered ahead, twice: a device may have more to say than usual.
    fn most_waiting(&self) -> usize {
        let ahead_s = self.rig.engine.render_ahead_ns as f64 * 1e-9;
        let rate_hz: f64 = self.nominal_rates_hz.iter().sum();
        SEND_QUEUE + (2.0 * ahead_s * rate_hz) as usize
    }

    /// What the rig's policy does about a request, by the time that is left until its last firing.
    fn treat(&self, request: &MeasurementRequest, has_backlog: bool) -> Treatment {
        let engine = &self.rig.engine;
        let end = request.end();
        match engine.late {
            LatePolicy::Late => Treatment::Measure(Thinning::None),
            LatePolicy::Drop => {
                // A packet this late cannot be sent any more; casting its rays would delay the next.
                let is_too_late = end.0 + engine.miss_threshold_ns < self.clock.now().0;
                if is_too_late { Treatment::GiveUp } else { Treatment::Measure(Thinning::None) }
            }
            LatePolicy::Thin => {
                let left_ns = self.clock.left_until(end).as_nanos() as u64;
                Treatment::Measure(match (has_backlog, 4 * left_ns / engine.render_ahead_ns) {
                    (true, 0) => Thinning::Single,
                    (true, 1) => Thinning::Half,
                    _ => Thinning::None,
                })
            }
        }
    }

    /// When the link of a device is down.
    fn link_down(&self, unit: usize) -> Vec<Schedule> {
        let of_unit = self.rig.faults.iter().filter(|fault| fault.device == unit);
        let down =
            of_unit.filter(|fault| matches!(fault.kind, FaultKind::Wire(WireFault::LinkDown)));
        down.map(|fault| fault.schedule).collect()
    }

    /// Keeps the workers supplied, tells the devices the time and what their hosts say, and passes
    /// what they send to the sender.
    fn conduct(
        &self,
        mut renderer: Renderer<'_>,
        mut packets: Feeder,
        heard: &Receiver<Heard>,
        end: SimTime,
        stop: &AtomicBool,
    ) {
        let ahead = Duration::from_nanos(self.rig.engine.render_ahead_ns);
        let mut faults = WireFaults::new(self.rig);
        let mut log = self.fault_log.lock().expect("no holder panics").take();
        let mut send = |unit: usize, transmit: Transmit, shows: Marks| {
            // Fails only when the sender has stopped, and then so do we.
            packets.send(Packet { unit, transmit, shows });
        };
        let mut latest_poses = vec![0; self.links.len()];
        let mut carried = Carried::new(self.rig);
        let mut ears = self.answers.ears();
        let mut pass_on = |rendered: Rendered| match rendered {
            Rendered::Transmit { unit, transmit, mut shows, .. } => {
                let latest = &mut latest_poses[unit];
                shows.pose = shows.pose.filter(|pose| pose.serial > *latest);
                *latest = shows.pose.map_or(*latest, |pose| pose.serial);
                shows.stimuli = carried.by_objects(shows.seen);
                let mut batch = Vec::new();
                faults.pass(unit, transmit, &mut |transmit| batch.push(transmit));
                let mut last = None;
                for row in faults.rows() {
                    let stimuli = carried.by_fault(row.fault, row.window);
                    match row.effect {
                        Effect::Lost => self.answers.tell_all(stimuli, row.at),
                        _ => shows.stimuli |= stimuli,
                    }
                    let is_own = self.rig.faults[row.fault].device == unit;
                    if is_own && row.packet.is_some() && last != row.packet {
                        self.stats[unit].count_faulted();
                        last = row.packet;
                    }
                    note(&mut log, row);
                }
                for transmit in batch {
                    send(unit, transmit, std::mem::take(&mut shows));
                }
            }
            Rendered::Thinned(unit) => self.stats[unit].count_thinned(),
            Rendered::Skipped(unit) => {
                self.stats[unit].count_dropped();
                faults.skip(unit);
            }
        };
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let horizon = (now + ahead).min(end);
            renderer.dispatch(horizon, |request, has_backlog| self.treat(request, has_backlog));
            renderer.flush_all(&mut pass_on);
            let device_now = (now + DEVICES_AHEAD).min(end);
            renderer.advance(device_now, &mut pass_on);
            if !renderer.is_busy() && device_now == end {
                break;
            }
            select! {
                recv(renderer.done()) -> done => {
                    if let Ok(done) = done {
                        renderer.collect(done, &mut pass_on);
                    }
                }
                recv(heard) -> piece => {
                    if let Ok(Heard { unit, at, news }) = piece {
                        match news {
                            News::Bytes(bytes) => {
                                self.answers.hear_device(&mut ears, unit, at, &bytes);
                                renderer.hear(unit, at, &bytes, &mut pass_on);
                            }
                            News::PeerBytes(peer, bytes) => {
                                self.answers.hear_device(&mut ears, unit, at, &bytes);
                                renderer.hear_peer(unit, at, peer, &bytes, &mut pass_on);
                            }
                            News::Request(request, reply) => {
                                let response = renderer.ask(unit, at, &request, &mut pass_on);
                                // The client may have lost its patience.
                                let _ = reply.send(response);
                            }
                            News::Peer(peer, connected) => {
                                renderer.meet(unit, at, peer, connected, &mut pass_on);
                            }
                        }
                    }
                }
                default(LONGEST_SLEEP) => {}
            }
            while let Ok(done) = renderer.done().try_recv() {
                renderer.collect(done, &mut pass_on);
            }
        }
        renderer.finish(&mut pass_on);
        faults.finish(&mut |unit, transmit| send(unit, transmit, Marks::default()));
        if let Some(log) = log
            && let Err(error) = log.finish(self.clock.now().min(end))
        {
            tracing::error!("cannot write the fault log: {error}");
        }
    }
}

fn new_books(devices: usize) -> Vec<Mutex<TimingBook>> {
    (0..devices).map(|_| Mutex::default()).collect()
}

/// Opens the sockets of what is moved from outside.
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

/// Writes a row while there is a log; gives up after the first error.
fn note(log: &mut Option<FaultLog>, row: Row) {
    if let Some(Err(error)) = log.as_mut().map(|log| log.note(row)) {
        tracing::error!("cannot write the fault log: {error}");
        *log = None;
    }
}
