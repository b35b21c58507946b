//! Sends packets when they are due. A packet that is late is sent or dropped here, as `engine.late` says.
//!
//! Bytes of a serial line leave with the timing of a UART. A real port gets all of them when the first start
//! bit is due, and paces them itself. A line without pacing gets them in pieces, each when its last bit would
//! have arrived.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crossbeam_channel::Sender;
use rtrb::Producer;

use super::answers::Answers;
use super::ntrip::Ntrip;
use super::send_log::{LogEntry, Role, SendRecord};
use super::send_queue::{Scheduled, SendQueue};
use super::tap::Tap;
use crate::config::profile::network::PortIndex;
use crate::config::rig::{DeviceId, EngineConfig, LatePolicy, Lead};
use crate::devices::Output;
use crate::engine::connections::{Connections, Link};
use crate::engine::host_events::{HostEvent, HostInput, HostTarget, Payload};
use crate::engine::refusal::Refusal;
use crate::engine::stats::{DeviceStats, MissCause, Outcome};
use crate::links::ByteLink;
use crate::links::udp::{LaunchClock, UdpLink, system_keeps_datagrams};
use crate::time::SimTime;
use crate::timing::clock::{MonotonicClock, tai_offset};
use crate::wire::line::LineSettings;

/// Longest piece of a serial transmission, unless one byte takes longer: far shorter than the gaps by which drivers
/// detect the end of a telegram.
const LONGEST_PIECE_NS: u64 = 1_000_000;
/// Time by which a datagram is submitted to the kernel before its launch time.
const LAUNCH_LEAD: Duration = Duration::from_millis(1);
/// Shortest time from the submission of a datagram to its launch time. The kernel drops datagrams whose launch time has
/// passed.
const SOONEST_LAUNCH: Duration = Duration::from_micros(100);

/// Destinations of packets, and settings for sending.
#[derive(Clone, Copy)]
pub struct SendContext<'a> {
    /// Clock for the due times.
    pub clock: MonotonicClock,
    /// Connections by device.
    pub connections: &'a [Connections],
    /// Each device's counters.
    pub stats: &'a [DeviceStats],
    /// Settings of each device's serial port at the start; unused for network devices.
    pub lines: &'a [LineSettings],
    /// Settings for sleeping and for late packets.
    pub engine: &'a EngineConfig,
    /// Tracker of packets that carry a stimulus.
    pub answers: Option<&'a Answers>,
    /// Tap for sent packets.
    pub tap: Option<&'a Tap>,
    /// NTRIP casters, which serve the correction messages of base stations.
    pub ntrip: Option<&'a Ntrip>,
    /// Queue of events to the devices, if they can move to other addresses.
    pub events: Option<&'a Sender<HostEvent>>,
}

/// Next action of a sender.
pub enum Next<'a> {
    /// A packet waits for its sending time.
    Packet {
        /// Time at which to send the packet; it may be earlier than the due time.
        act: SimTime,
        /// Socket and destination of a datagram.
        way: Option<(&'a UdpLink, SocketAddr)>,
    },
    /// No packet waits.
    Nothing,
    /// No packet waits, and none will arrive.
    Over,
}

/// State that both senders share: the send queue and the state of the lines. Sending allocates nothing, and waits for
/// no thread except at the locks of serial lines and servers. Used buffers go to the send log, which frees them; they
/// are freed here only if its queue is full. Only a move to another address closes sockets and waits for the send log.
/// Each packet is sent by its own system call, because packets sent by one call would leave together.
pub struct Transmission<'a> {
    context: SendContext<'a>,
    queue: SendQueue,
    log: Producer<LogEntry>,
    lines: Vec<LineSettings>,
    /// For each device, the time at which its serial line has transmitted all bytes so far.
    lines_free: Vec<SimTime>,
    /// Destinations of each device's datagrams, by port: a copy, because the link would need a lock.
    targets: Vec<Vec<SocketAddr>>,
    /// Number of packets of each device that the sender has handled.
    numbers: Vec<u64>,
    /// Thread that sends now, or sent last.
    sent_by: Role,
    /// Whether the kernel builds datagrams in advance: such a datagram can no longer be dropped.
    prepares: bool,
}

impl<'a> Transmission<'a> {
    /// Sends the packets of `queue` and reports them to `log`.
    pub fn new(context: SendContext<'a>, queue: SendQueue, log: Producer<LogEntry>) -> Self {
        if let Lead::Fixed { ns } = context.engine.lead {
            context.stats.iter().for_each(|stats| stats.set_lead(Duration::from_nanos(ns)));
        }
        let targets = context.connections.iter().map(Connections::sockets);
        Self {
            context,
            queue,
            log,
            lines: context.lines.to_vec(),
            lines_free: vec![SimTime::ZERO; context.lines.len()],
            targets: targets.map(|ports| ports.iter().map(UdpLink::to).collect()).collect(),
            numbers: vec![0; context.connections.len()],
            sent_by: Role::First,
            prepares: context.engine.late != LatePolicy::Drop && system_keeps_datagrams(),
        }
    }

    /// Sends the first packet if its sending time has come; `by` is the calling sender. Returns the next action.
    pub fn serve(&mut self, by: Role) -> Next<'a> {
        // Send first, because the caller waited for this time; look for new packets afterwards.
        let SendContext { clock, connections, stats, .. } = self.context;
        if let Some(first) = self.queue.pop_if(|act| clock.left_until(act).is_zero()) {
            self.sent_by = by;
            self.send(first);
        }
        let is_open = self.queue.take(|packet| {
            let (due, device) = (packet.transmit.due, packet.device.0);
            let port = packet.transmit.output.port();
            match port.and_then(|port| connections[device].sockets().get(port.place())) {
                Some(socket) if socket.launch_clock().is_some() => due - LAUNCH_LEAD,
                Some(_) => due - stats[device].lead(),
                None => due,
            }
        });
        match self.queue.settle() {
            Some(first) => {
                let (act, device) = (first.act, first.packet.device);
                let port = first.packet.transmit.output.port();
                Next::Packet { act, way: port.and_then(|port| self.way(device, port)) }
            }
            None if is_open => Next::Nothing,
            None => Next::Over,
        }
    }

    /// Lets the kernel build the next packet, if this is a datagram that will certainly be sent; returns whether the
    /// datagram is built.
    pub fn prepare(&mut self) -> bool {
        let targets = &self.targets;
        let Some(first) = self.queue.first_mut() else { return false };
        let Output::Datagram { port, bytes } = &first.packet.transmit.output else { return false };
        let device = first.packet.device;
        if let Some((link, to)) = way(self.context.connections, targets, device, *port)
            && self.prepares
            && first.prepared.is_none()
            && link.launch_clock().is_none()
        {
            // An error is ignored here: the packet is sent when it is due, and that attempt reports the error.
            first.prepared = link.prepare(bytes, to).ok();
        }
        first.prepared.is_some()
    }

    fn way(&self, device: DeviceId, port: PortIndex) -> Option<(&'a UdpLink, SocketAddr)> {
        way(self.context.connections, &self.targets, device, port)
    }

    fn send(&mut self, scheduled: Scheduled) {
        let SendContext { clock, connections, .. } = self.context;
        let device = scheduled.packet.device;
        let connections = &connections[device.0];
        match &scheduled.packet.transmit.output {
            Output::Datagram { port, bytes } => {
                if let Some((link, to)) = self.way(device, *port) {
                    self.hand_over(&scheduled, || match scheduled.prepared {
                        Some(key) => Sent::datagram(link.release().map(|()| key)),
                        None => send_datagram(clock, link, bytes, to, scheduled.due),
                    });
                }
            }
            Output::Bytes(bytes) => match connections.serial_port() {
                Some(line) if !line.paces_itself() => return self.send_piece(scheduled, line),
                Some(line) => {
                    self.hand_over(&scheduled, || send_on(line, bytes));
                }
                // Bytes without a peer have no destination at a server, so they are only counted.
                None => {
                    self.hand_over(&scheduled, || Sent::WHOLE);
                }
            },
            Output::BytesTo(peer, bytes) => {
                // An answer to a host at an additional command port is not counted as a packet of the device.
                if !connections.answer(*peer, bytes)
                    && let Link::Server(server) = &connections.link
                {
                    self.hand_over(&scheduled, || Sent::or_no_room(server.send_to(*peer, bytes)));
                }
            }
            Output::Disconnect(peer) => connections.disconnect(*peer),
            Output::Line(settings) => {
                self.lines[device.0] = *settings;
                if let Some(line) = connections.serial_port() {
                    line.set_line(*settings);
                }
            }
            Output::PulsePerSecond(high) => {
                if let Some(line) = connections.serial_port() {
                    line.set_pulse_per_second(*high);
                }
            }
            Output::Host(host) => {
                let targets = &mut self.targets[device.0];
                for (place, (link, target)) in connections.sockets().iter().zip(targets).enumerate()
                {
                    // A command with port 0 does not change the destination.
                    let to = host.of(PortIndex(place as u8)).filter(|to| to.port() != 0);
                    let Some(to) = to else { continue };
                    match link.set_to(to) {
                        Ok(()) => *target = to,
                        Err(error) => tracing::warn!("{error}"),
                    }
                }
            }
            Output::Fragments(may_be) => {
                for link in connections.sockets() {
                    if let Err(error) = link.set_dont_fragment(!may_be) {
                        tracing::warn!("{error}");
                    }
                }
            }
            Output::Address(ip) => {
                let payload = Payload::Address { ip: *ip, moves: true };
                let input = HostInput { at: clock.now(), to: HostTarget::Device(device), payload };
                let tell = self.context.events;
                // This thread also sends the device's answer, so the answer leaves from the new
                // address.
                if tell.is_some_and(|tell| tell.try_send(input.into()).is_ok()) {
                    connections.take_over();
                } else {
                    // Without this message, the device does not know its new address: it keeps the
                    // old one.
                    connections.give_up_opened();
                }
            }
            Output::Revoke(_) | Output::Actuate(_) | Output::Aside { .. } => {}
        }
        self.give_back(scheduled);
    }

    /// Writes the piece whose last bit would have arrived by now, and schedules the next one.
    fn send_piece(&mut self, mut scheduled: Scheduled, line: &dyn ByteLink) {
        let Output::Bytes(bytes) = &scheduled.packet.transmit.output else { return };
        let done = match scheduled.piece.clone() {
            None => 0,
            Some(piece) => {
                let send = || send_on(line, &bytes[piece.clone()]);
                // A telegram is counted once, with its first piece; bytes that do not fit are lost.
                if piece.start > 0 {
                    send();
                } else if !self.hand_over(&scheduled, send) {
                    return self.give_back(scheduled);
                }
                piece.end
            }
        };
        if done == bytes.len() {
            return self.give_back(scheduled);
        }
        let device = scheduled.packet.device.0;
        let settings = self.lines[device];
        if scheduled.piece.is_none() {
            // A line transmits one byte at a time: bytes that are due during a late telegram follow it.
            let begins = scheduled.packet.transmit.due.max(self.lines_free[device]);
            scheduled.packet.transmit.due = begins;
            self.lines_free[device] = SimTime(begins.0 + settings.duration_ns(bytes.len()));
        }
        let fitting = (LONGEST_PIECE_NS / settings.duration_ns(1)).max(1) as usize;
        let end = bytes.len().min(done + fitting);
        // Computed from the start of the telegram, so that rounding errors do not add up.
        scheduled.due = SimTime(scheduled.packet.transmit.due.0 + settings.duration_ns(end));
        scheduled.act = scheduled.due;
        scheduled.piece = Some(done..end);
        self.queue.put_back(scheduled);
    }

    /// Calls `send` unless the packet is too late to be sent, and counts the packet; returns whether it called `send`.
    fn hand_over(&mut self, scheduled: &Scheduled, send: impl Fn() -> Sent) -> bool {
        let SendContext { engine, clock, stats, .. } = self.context;
        let Scheduled { act, due, ready, ref packet, .. } = *scheduled;
        let (device, first_shown) = (packet.device, packet.first_shown);
        let Some(bytes) = packet.transmit.output.bytes() else { return false };
        let number = self.numbers[device.0];
        self.numbers[device.0] += 1;
        let at = clock.now();
        let is_late = at.0.saturating_sub(due.0) > engine.miss_threshold_ns;
        let is_dropped = is_late && engine.late == LatePolicy::Drop;
        let sent = if is_dropped { Sent::WHOLE } else { send() };
        let outcome = match (is_dropped, sent.refusal, is_late) {
            (true, _, _) => Outcome::Dropped,
            (_, Some(refusal), _) => Outcome::Refused(refusal),
            (_, None, true) => Outcome::Late,
            (_, None, false) => Outcome::OnTime,
        };
        let port = packet.transmit.output.port();
        stats[device.0].count(outcome, packet.transmit.points, bytes.len(), port);
        if matches!(outcome, Outcome::Late | Outcome::Dropped) {
            stats[device.0].count_cause(MissCause::of(due, ready, at));
        }
        let (key, by, port) = (sent.key, self.sent_by, port.unwrap_or(PortIndex::DATA));
        let record =
            SendRecord { device, number, due, act, at, outcome, key, port, by, first_shown };
        if self.log.push(LogEntry::Record(record)).is_err() {
            stats[device.0].count_unrecorded();
        }
        !is_dropped
    }

    /// Passes the packet's buffer to the send log, which frees it. If the queue to the send log is full, the buffer is
    /// freed here.
    fn give_back(&mut self, scheduled: Scheduled) {
        let _ = self.log.push(LogEntry::Spent(scheduled.packet.device, scheduled.packet.transmit));
    }
}

/// The socket of a device's port, and the destination of its datagrams; `None` if the device has no such port.
fn way<'a>(
    connections: &'a [Connections],
    targets: &[Vec<SocketAddr>],
    device: DeviceId,
    port: PortIndex,
) -> Option<(&'a UdpLink, SocketAddr)> {
    let to = targets[device.0].get(port.place())?;
    Some((connections[device.0].sockets().get(port.place())?, *to))
}

fn send_datagram(
    clock: MonotonicClock,
    link: &UdpLink,
    bytes: &[u8],
    to: SocketAddr,
    due: SimTime,
) -> Sent {
    let sent = match link.launch_clock() {
        None => link.send_to(bytes, to),
        Some(launch_clock) => {
            let launch = due.max(clock.now() + SOONEST_LAUNCH);
            let monotonic_ns = clock.origin_ns() + launch.0;
            let launch_ns = match launch_clock {
                LaunchClock::Monotonic => monotonic_ns,
                LaunchClock::Tai => monotonic_ns.wrapping_add_signed(tai_offset().offset_ns),
            };
            link.send_at(bytes, to, launch_ns)
        }
    };
    Sent::datagram(sent)
}

/// Result of submitting bytes to the system.
struct Sent {
    /// Reason why some bytes were not sent.
    refusal: Option<Refusal>,
    /// Key of the datagram, as [`UdpLink::send`](crate::links::udp::UdpLink::send) returns it. It identifies the
    /// transmit timestamp; `None` if the datagram gets none.
    key: Option<u32>,
}

impl Sent {
    /// All bytes were sent; the kernel has no key for them.
    const WHOLE: Self = Self { refusal: None, key: None };

    /// Result of sending a datagram.
    fn datagram(sent: io::Result<u32>) -> Self {
        match sent {
            Ok(key) => Self { refusal: None, key: Some(key) },
            Err(error) => Self { refusal: Some(Refusal::of(&error)), key: None },
        }
    }

    /// Result of a write: sent if the bytes fitted, otherwise refused for lack of room.
    fn or_no_room(fitted: bool) -> Self {
        Self { refusal: (!fitted).then_some(Refusal::NoRoom), key: None }
    }
}

/// Sends `bytes`. The result is a refusal if the line reports an error or has no room for all of them.
fn send_on(line: &dyn ByteLink, bytes: &[u8]) -> Sent {
    match line.send(bytes) {
        Ok(sent) => Sent::or_no_room(sent == bytes.len()),
        Err(error) => Sent { refusal: Some(Refusal::of(&error)), key: None },
    }
}

#[cfg(test)]
mod tests;
