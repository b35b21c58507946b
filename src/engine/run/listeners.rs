//! Listeners: one thread receives from each serial line, server and feed.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;
use tokio::sync::oneshot;

use crate::config::rig::DeviceId;
use crate::config::rig::drive::TwistInput;
use crate::config::rig::faults::WireFault;
use crate::config::rig::schedule::Schedule;
use crate::engine::feed_log::FeedLog;
use crate::engine::host_events::{HostEvent, HostInput, HostTarget, Payload};
use crate::engine::live_faults::FaultControl;
use crate::engine::log_failures::LogFailures;
use crate::links::ByteLink;
use crate::links::http::HttpServer;
use crate::links::tcp_server::{ServerEvent, TcpServer};
use crate::links::udp_server::UdpServer;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;
use crate::wire::drive_order::{DATAGRAM_LEN as ORDER_LEN, DriveOrder};
use crate::wire::feed::DATAGRAM_LEN;
use crate::world::trajectory::feed::Feed;

/// Longest delay until the end of a run is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Longest delay until the end of a link fault is noticed.
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// Largest number of bytes per read.
const PIECE: usize = 1024;
/// Longest datagram of commands that is read, bytes: longer than an Ethernet frame.
const LONGEST_DATAGRAM: usize = 2048;

/// Passes on bytes from `line` until `over` is set. Bytes that arrive while the link is down are lost. If the event
/// queue is full, the host waits.
pub fn listen_to_line(
    device: DeviceId,
    line: &dyn ByteLink,
    clock: MonotonicClock,
    faults: &LinkFaults,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let mut buffer = [0; PIECE];
    let mut health = Health::default();
    while !over.load(Ordering::Relaxed) {
        match line.receive(&mut buffer, PATIENCE) {
            Ok(0) => {}
            Ok(count) => {
                health.is_ill = false;
                let at = clock.now();
                if !faults.is_down(at) {
                    let payload = Payload::Bytes(buffer[..count].to_vec());
                    tell(HostInput { at, to: HostTarget::Device(device), payload }, events, over);
                }
            }
            Err(error) => health.complain(&line.describe(), &error),
        }
    }
}

/// Answers requests to a device's web interface until `over` is set. While the link is down, requests and answers wait.
/// If the event queue is full, requests are refused.
pub fn listen_to_web(
    device: DeviceId,
    server: &HttpServer,
    clock: MonotonicClock,
    faults: LinkFaults,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let events = events.clone();
    let ask = move |request| {
        let (reply, answer) = oneshot::channel();
        let (at, to) = (clock.now(), HostTarget::Device(device));
        let input = HostInput { at, to, payload: Payload::Request(request) };
        events.try_send(HostEvent { input, reply: Some(reply) }).ok().map(|()| answer)
    };
    let is_down = move || faults.is_down(clock.now());
    if let Err(error) = server.serve(Arc::new(ask), Arc::new(is_down), over) {
        tracing::warn!("the web interface at {} has ended: {error}", server.address());
    }
}

/// Passes on the events of `server`'s clients until `over` is set; events during a link fault are passed on after the
/// fault. If the event queue is full, the clients wait.
pub fn listen_to_server(
    device: DeviceId,
    server: &TcpServer,
    clock: MonotonicClock,
    faults: &LinkFaults,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let mut buffer = [0; PIECE];
    let mut health = Health::default();
    while !over.load(Ordering::Relaxed) {
        if faults.is_down(clock.now()) {
            std::thread::park_timeout(LONGEST_NAP);
            continue;
        }
        let mut happened = |event: ServerEvent<'_>| {
            let payload = match event {
                ServerEvent::Connected(peer) => Payload::Connected(peer, true),
                ServerEvent::Disconnected(peer) => Payload::Connected(peer, false),
                ServerEvent::Bytes(peer, bytes) => Payload::PeerBytes(peer, bytes.to_vec()),
            };
            tell(
                HostInput { at: clock.now(), to: HostTarget::Device(device), payload },
                events,
                over,
            );
        };
        match server.receive(&mut buffer, PATIENCE, &mut happened) {
            Ok(()) => health.is_ill = false,
            Err(error) => health.complain(&server.describe(), &error),
        }
    }
}

/// Passes on the datagrams that arrive at `server` until `over` is set; datagrams that arrive while the link
/// is down are lost.
pub fn listen_to_datagrams(
    device: DeviceId,
    server: &UdpServer,
    clock: MonotonicClock,
    faults: &LinkFaults,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let mut buffer = [0; LONGEST_DATAGRAM];
    let mut health = Health::default();
    while !over.load(Ordering::Relaxed) {
        let mut heard = |peer, bytes: &[u8]| {
            let at = clock.now();
            if !faults.is_down(at) {
                let payload = Payload::PeerBytes(peer, bytes.to_vec());
                tell(HostInput { at, to: HostTarget::Device(device), payload }, events, over);
            }
        };
        match server.receive(&mut buffer, PATIENCE, &mut heard) {
            Ok(()) => health.is_ill = false,
            Err(error) => health.complain(&server.describe(), &error),
        }
    }
}

/// Receives the poses of `socket` until `over` is set, logs a warning when they stop, and writes them to `log` if
/// given.
pub fn listen_to_feed(
    feed: &Feed,
    socket: &UdpSocket,
    mut log: Option<FeedLog>,
    clock: MonotonicClock,
    failures: &LogFailures,
    over: &AtomicBool,
) {
    let patience = PATIENCE.min(Duration::from_nanos(feed.config().hold_after_ns));
    // One byte more than a pose, so that longer datagrams are detected.
    let mut buffer = [0; DATAGRAM_LEN + 1];
    let mut health = Health::default();
    let name = format!("the feed at {}", feed.config().listen);
    if let Err(error) = socket.set_read_timeout(Some(patience)) {
        health.complain(&name, &error);
    }
    while !over.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((count, sender)) => {
                health.is_ill = false;
                if let Err(refusal) = feed.take(clock.now(), sender, &buffer[..count]) {
                    tracing::debug!("{name}: from {sender}: {refusal}");
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => health.complain(&name, &error),
        }
        if feed.has_just_stopped(clock.now()) {
            tracing::warn!("{name} has stopped: the robot or object keeps its last pose");
        }
        note(&mut log, failures, |log| log.write(&feed.take_log(false)));
    }
    note(&mut log, failures, |log| log.write(&feed.take_log(true)).and_then(|()| log.flush()));
}

/// Passes on drive commands from `socket` until `over` is set. If no command follows a twist command within the time
/// that the rig allows, passes on a command to stop.
pub fn listen_to_orders(
    input: &TwistInput,
    socket: &UdpSocket,
    clock: MonotonicClock,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let hold = Duration::from_nanos(input.hold_ns);
    // One byte more than a command, so that longer datagrams are detected.
    let mut buffer = [0; ORDER_LEN + 1];
    let mut health = Health::default();
    let name = format!("the drive commands at {}", input.listen);
    if let Err(error) = socket.set_read_timeout(Some(PATIENCE.min(hold))) {
        health.complain(&name, &error);
    }
    let pass = |order| {
        let payload = Payload::Order(order);
        tell(HostInput { at: clock.now(), to: HostTarget::Robot, payload }, events, over);
    };
    let mut moves_since = None;
    while !over.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((count, sender)) => {
                health.is_ill = false;
                match DriveOrder::decode(&buffer[..count]) {
                    Ok(order) => {
                        let is_twist = matches!(order, DriveOrder::Twist { .. });
                        moves_since = is_twist.then(|| clock.now());
                        pass(order);
                    }
                    Err(refusal) => tracing::debug!("{name}: from {sender}: {refusal}"),
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => health.complain(&name, &error),
        }
        if moves_since.is_some_and(|since| clock.now().0 >= since.0 + input.hold_ns) {
            tracing::warn!("{name} have stopped: the robot is commanded to stop");
            moves_since = None;
            pass(DriveOrder::Twist { forward_m_s: 0.0, turn_rad_s: 0.0 });
        }
    }
}

/// Writes to the feed log, if there is one; closes it after the first error.
fn note(
    log: &mut Option<FeedLog>,
    failures: &LogFailures,
    write: impl FnOnce(&mut FeedLog) -> std::io::Result<()>,
) {
    if let Some(Err(error)) = log.as_mut().map(write) {
        failures.note("feed log", &error);
        *log = None;
    }
}

/// Faults of a device's link and NTRIP caster; none by default.
#[derive(Clone, Default)]
pub struct LinkFaults {
    /// Faults that the rig defines for this device.
    pub own: Vec<(Schedule, WireFault)>,
    /// Control of the live faults, and the device; `None` without live faults.
    pub live: Option<(Arc<FaultControl>, DeviceId)>,
}

impl LinkFaults {
    /// Whether the link is down at `at`.
    pub fn is_down(&self, at: SimTime) -> bool {
        self.have(at, &WireFault::LinkDown)
    }

    /// Whether the fault `wanted` is active at `at`.
    pub fn have(&self, at: SimTime, wanted: &WireFault) -> bool {
        self.find(at, |fault| (fault == wanted).then_some(())).is_some()
    }

    /// Calls `of` for the faults that are active at `at`, until it returns `Some`; returns this result.
    pub fn find<T>(&self, at: SimTime, of: impl Fn(&WireFault) -> Option<T>) -> Option<T> {
        let own = self.own.iter().filter(|(schedule, _)| schedule.window_at(at).is_some());
        own.filter_map(|(_, fault)| of(fault)).next().or_else(|| {
            let (control, device) = self.live.as_ref()?;
            control.find_wire(*device, at, of)
        })
    }
}

/// Passes a host event to the scheduler; waits while the queue is full.
pub fn tell(input: HostInput, events: &Sender<HostEvent>, over: &AtomicBool) {
    let mut event = HostEvent::from(input);
    while let Err(refused) = events.send_timeout(event, PATIENCE) {
        if refused.is_disconnected() || over.load(Ordering::Relaxed) {
            return;
        }
        event = refused.into_inner();
    }
}

/// Logs the first of successive errors of a link, and waits before the next attempt.
#[derive(Default)]
struct Health {
    is_ill: bool,
}

impl Health {
    fn complain(&mut self, link: &str, error: &std::io::Error) {
        if !std::mem::replace(&mut self.is_ill, true) {
            tracing::warn!("cannot listen to {link}: {error}");
        }
        std::thread::park_timeout(PATIENCE);
    }
}
