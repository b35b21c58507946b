//! The sending thread: sleeps to the earliest due time, sends, and counts how late it was. After a
//! miss the next packet is due when it always was, so a lidar that slips keeps its phase.
//!
//! Bytes of a serial line leave as a UART would have them ready: a real port is given them when the
//! first start bit is due and takes its time by itself; to a line that moves them at once they are
//! given in pieces, each when its last bit would have arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use rtrb::{Consumer, Producer};

use super::LONGEST_SLEEP;
use super::answers::Answers;
use super::ledger::{Entry, Handed};
use super::pauses::{self, Pauses};
use crate::config::profile::network::PortIndex;
use crate::config::rig::{EngineConfig, LatePolicy, Lead};
use crate::devices::{Output, Transmit};
use crate::engine::Link;
use crate::engine::clock::{MonotonicClock, tai_offset};
use crate::engine::render::Marks;
use crate::engine::stats::{DeviceStats, Outcome};
use crate::links::ByteLink;
use crate::links::line::LineSettings;
use crate::links::udp::{LaunchClock, UdpLink, system_keeps_datagrams};
use crate::time::SimTime;

/// A piece of a serial transmission lasts no longer than this on the line, if it has more than one
/// byte: well below the gaps that drivers take for the end of a telegram.
const LONGEST_PIECE_NS: u64 = 1_000_000;
/// A datagram with a launch time is given to the kernel this much before it.
const LAUNCH_LEAD: Duration = Duration::from_millis(1);
/// How long before its time the kernel is given a datagram to build, or the way through it is gone
/// without one.
const REHEARSAL: Duration = Duration::from_micros(20);
/// One that comes late to the kernel gets a launch time this far ahead: in the past it would be
/// thrown away.
const SOONEST_LAUNCH: Duration = Duration::from_micros(100);
/// How long after a packet's time the standby looks whether it has gone.
const STANDBY_PATIENCE: Duration = Duration::from_micros(3);
/// How much of a wait the standby may watch the clock: the rest of its core is for other threads, as
/// the ledger, and who receives on a machine of two cores.
const STANDBY_PERCENT: u32 = 40;
/// How long a sender leaves the outbox to the other that has it.
const OTHERS_TURN: Duration = Duration::from_micros(20);

/// Where packets go and how.
#[derive(Clone, Copy)]
pub struct Outlet<'a> {
    /// Tells when they are due.
    pub clock: MonotonicClock,
    /// Each device's link.
    pub links: &'a [Link],
    /// Each device's counters.
    pub stats: &'a [DeviceStats],
    /// How each device's serial port runs at first; meaningless for network devices.
    pub lines: &'a [LineSettings],
    /// When to stop sleeping, and what becomes of late packets.
    pub engine: &'a EngineConfig,
    /// Who waits for packets that carry a stimulus.
    pub answers: Option<&'a Answers>,
}

/// Something to send.
#[derive(Debug)]
pub struct Packet {
    /// The device's place in the rig.
    pub unit: usize,
    /// What, and when.
    pub transmit: Transmit,
    /// What it is the first to show.
    pub shows: Marks,
}

/// Which of the sending threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that sends.
    First,
    /// Sends what the first has not, because its core was taken away from it.
    Standby,
}

/// What a sender is to do next.
enum Next<'a> {
    /// A packet waits for its time, and goes this way if it is a datagram.
    Packet { act: SimTime, way: Option<(&'a UdpLink, SocketAddr)> },
    /// Nothing waits.
    Nothing,
    /// Nothing waits, and nothing more comes.
    Over,
    /// The other sender is sending.
    OthersTurn,
}

/// A thread that sends. It waits for no other: where another has the outbox, it looks again later.
pub struct Sender<'a> {
    outbox: Arc<Mutex<Outbox<'a>>>,
    clock: MonotonicClock,
    role: Role,
    spin: Duration,
    pauses: Pauses,
}

impl<'a> Sender<'a> {
    /// Will send what is in `outbox`, which has the same `outlet`.
    pub fn new(outlet: Outlet<'a>, outbox: Arc<Mutex<Outbox<'a>>>, role: Role) -> Self {
        let Outlet { clock, engine, .. } = outlet;
        let spin = Duration::from_nanos(engine.spin_ns);
        Self { outbox, clock, role, spin, pauses: Pauses::of(engine.scheduler) }
    }

    /// Sends each packet when it is due, until whoever fills the outbox's queue has gone and
    /// nothing is left.
    pub fn send_all(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let next = match self.outbox.try_lock() {
                Ok(mut outbox) => outbox.serve(self.role),
                Err(TryLockError::WouldBlock) => Next::OthersTurn,
                Err(TryLockError::Poisoned(_)) => break,
            };
            let now = self.clock.now();
            self.pauses.note(now, Duration::ZERO);
            if self.pauses.must_sleep() {
                self.sleep(now + pauses::FORCED, Duration::ZERO);
            }
            let latest_wake = now + LONGEST_SLEEP;
            match next {
                // To be woken by the queue would mean a lock.
                Next::Nothing => self.sleep(latest_wake, Duration::ZERO),
                Next::Packet { act, .. } if act > latest_wake => {
                    self.sleep(latest_wake, Duration::ZERO);
                }
                Next::Packet { act, way } => self.wait_for(act + self.patience(), way),
                Next::OthersTurn => self.sleep(now + OTHERS_TURN, Duration::ZERO),
                Next::Over => break,
            }
        }
    }

    /// How long after its time a packet is looked at.
    fn patience(&self) -> Duration {
        match self.role {
            Role::First => Duration::ZERO,
            Role::Standby => STANDBY_PATIENCE,
        }
    }

    /// Sleeps until `early` before `at`.
    fn sleep(&mut self, at: SimTime, early: Duration) {
        let before = self.clock.now();
        self.clock.sleep_until_before(at, early);
        let now = self.clock.now();
        self.pauses.note(now, now.saturating_since(before));
    }

    /// Sleeps until a little before `act` and watches the clock from there. A datagram's way is gone
    /// once without it, if there is time.
    fn wait_for(&mut self, act: SimTime, way: Option<(&UdpLink, SocketAddr)>) {
        let clock = self.clock;
        let wait = clock.left_until(act);
        let wish = match self.role {
            Role::First => self.spin,
            Role::Standby => self.spin.min(wait * STANDBY_PERCENT / 100),
        };
        let spin = self.pauses.spin(wait, wish);
        if spin < wait {
            self.sleep(act, spin);
        }
        if let Some((link, to)) = way
            && spin >= 2 * REHEARSAL
            && clock.left_until(act) > REHEARSAL
        {
            clock.watch_until(act - REHEARSAL);
            if clock.left_until(act) > REHEARSAL / 2 {
                let is_prepared = self.role == Role::First
                    && self.outbox.try_lock().is_ok_and(|mut outbox| outbox.prepare());
                if !is_prepared {
                    link.rehearse(to);
                }
            }
        }
        clock.watch_until(act);
    }
}

/// What is to be sent, and how the lines run. Once it is made, it asks the allocator for nothing,
/// frees nothing, and waits for no other thread but for the locks of serial lines and servers: what
/// it is done with, it hands to the ledger. Its queues are wait-free. With any that is not, a thread
/// that was stopped in the middle of putting something in would have this one spin until it runs
/// again, which on the same core it does not. One system call sends one packet: several in one call
/// would leave together.
pub struct Outbox<'a> {
    outlet: Outlet<'a>,
    queue: Consumer<Packet>,
    ledger: Producer<Entry>,
    /// What is to be sent next. Not in the heap: the time that it takes to find is better spent after
    /// a packet is sent than when one is due.
    first: Option<Pending>,
    waiting: BinaryHeap<Reverse<Pending>>,
    capacity: usize,
    order: u64,
    lines: Vec<LineSettings>,
    /// Where each device's datagrams go, by port; here as well as in the link, which has a lock.
    targets: Vec<Vec<SocketAddr>>,
    /// Packets of each device that were turned to.
    numbers: Vec<u64>,
    /// Who sends now, or sent last.
    sent_by: Role,
    /// Whether datagrams are built by the kernel beforehand: such a one can no longer be dropped.
    prepares: bool,
}

impl<'a> Outbox<'a> {
    /// Takes packets from `queue`, no more than `capacity` at once, and tells `ledger` of them.
    pub fn new(
        outlet: Outlet<'a>,
        queue: Consumer<Packet>,
        capacity: usize,
        ledger: Producer<Entry>,
    ) -> Self {
        if let Lead::Fixed { ns } = outlet.engine.lead {
            outlet.stats.iter().for_each(|stats| stats.set_lead(Duration::from_nanos(ns)));
        }
        Self {
            outlet,
            queue,
            ledger,
            first: None,
            // One more: the rest of a serial transmission, when its place may be taken.
            waiting: BinaryHeap::with_capacity(capacity + 1),
            capacity,
            order: 0,
            lines: outlet.lines.to_vec(),
            targets: outlet.links.iter().map(targets).collect(),
            numbers: vec![0; outlet.links.len()],
            sent_by: Role::First,
            prepares: outlet.engine.late != LatePolicy::Drop && system_keeps_datagrams(),
        }
    }

    /// Sends the first packet if its time has come, `by` one of the senders, and tells of the next.
    fn serve(&mut self, by: Role) -> Next<'a> {
        // Before the queue is looked at: this is what was waited for.
        let clock = self.outlet.clock;
        if let Some(first) = self.first.take_if(|first| clock.left_until(first.act).is_zero()) {
            self.sent_by = by;
            self.send(first);
        }
        let is_open = self.take();
        self.settle();
        match &self.first {
            Some(first) => {
                let port = first.transmit.output.port();
                let way = port.and_then(|port| self.way(first.unit, port));
                Next::Packet { act: first.act, way }
            }
            None if is_open => Next::Nothing,
            None => Next::Over,
        }
    }

    /// Has the first of all be `first`; a prepared one stays, since nothing else may be sent by its
    /// link before it, and it goes within [`REHEARSAL`].
    fn settle(&mut self) {
        if self.first.as_ref().is_some_and(|first| first.prepared.is_some()) {
            return;
        }
        let is_before =
            |Reverse(top): &Reverse<Pending>| self.first.as_ref().is_none_or(|first| top < first);
        if self.waiting.peek().is_some_and(is_before)
            && let Some(Reverse(top)) = self.waiting.pop()
            && let Some(other) = self.first.replace(top)
        {
            self.waiting.push(Reverse(other));
        }
    }

    /// Has the kernel build what is to be sent next, if it is a datagram that goes whatever happens;
    /// whether it has.
    fn prepare(&mut self) -> bool {
        let way = self.first.as_ref().and_then(|first| {
            first.transmit.output.port().and_then(|port| self.way(first.unit, port))
        });
        let Some(first) = &mut self.first else { return false };
        if let (Some((link, to)), Some(bytes)) = (way, first.transmit.output.bytes())
            && self.prepares
            && first.prepared.is_none()
            && link.launch_clock().is_none()
        {
            // What fails now is tried when it is due, and told then.
            first.prepared = link.prepare(bytes, to).ok();
        }
        first.prepared.is_some()
    }

    /// The socket of a port, and where its datagrams go.
    fn way(&self, unit: usize, port: PortIndex) -> Option<(&'a UdpLink, SocketAddr)> {
        let Link::Datagrams(sockets) = &self.outlet.links[unit] else { return None };
        let to = self.targets[unit].get(port.place())?;
        Some((sockets.get(port.place())?, *to))
    }

    /// Takes what waits in the queue as far as there is room; whether more may come.
    fn take(&mut self) -> bool {
        // Asked first: what was put in before its end was dropped is still to be taken.
        let is_open = !self.queue.is_abandoned();
        while self.waiting.len() < self.capacity {
            let Ok(Packet { unit, transmit, shows }) = self.queue.pop() else { return is_open };
            self.order += 1;
            let (due, order) = (transmit.due, self.order);
            let act = match transmit.output.port().and_then(|port| self.way(unit, port)) {
                Some((link, _)) if link.launch_clock().is_some() => due - LAUNCH_LEAD,
                Some(_) => due - self.outlet.stats[unit].lead(),
                None => due,
            };
            let pending =
                Pending { act, due, order, unit, transmit, shows, piece: None, prepared: None };
            self.waiting.push(Reverse(pending));
        }
        true
    }

    fn send(&mut self, pending: Pending) {
        match (&self.outlet.links[pending.unit], &pending.transmit.output) {
            (Link::Datagrams(_), Output::Datagram { port, bytes }) => {
                if let Some((link, to)) = self.way(pending.unit, *port) {
                    let clock = self.outlet.clock;
                    self.hand_over(&pending, || match pending.prepared {
                        Some(key) => Sent::of(link, link.release().map(|()| key)),
                        None => send_datagram(clock, link, bytes, to, pending.due),
                    });
                }
            }
            (Link::Datagrams(sockets), Output::Host(host)) => {
                for (place, (link, target)) in
                    sockets.iter().zip(&mut self.targets[pending.unit]).enumerate()
                {
                    let Some(to) = host.of(PortIndex(place as u8)) else { continue };
                    match link.set_to(to) {
                        Ok(()) => *target = to,
                        Err(error) => tracing::warn!("{error}"),
                    }
                }
            }
            (Link::Line(line), Output::Bytes(bytes)) => {
                let line = line.as_ref();
                if !line.paces_itself() {
                    return self.send_piece(pending, line);
                }
                self.hand_over(&pending, || Sent::on_line(send_on(line, bytes)));
            }
            (Link::Line(line), Output::Line(settings)) => {
                self.lines[pending.unit] = *settings;
                line.set_line(*settings);
            }
            (Link::Line(line), Output::PulsePerSecond(high)) => line.set_pulse_per_second(*high),
            (Link::Server(server), Output::BytesTo(peer, bytes)) => {
                self.hand_over(&pending, || Sent::on_line(server.send_to(*peer, bytes)));
            }
            // What a server says to nobody in particular is heard by nobody.
            (Link::Server(_), Output::Bytes(_)) => {
                self.hand_over(&pending, || Sent::on_line(true));
            }
            (Link::Line(_), Output::BytesTo(..))
            | (
                Link::Datagrams(_),
                Output::Bytes(_)
                | Output::BytesTo(..)
                | Output::Line(_)
                | Output::PulsePerSecond(_),
            )
            | (Link::Server(_), Output::Line(_) | Output::PulsePerSecond(_))
            | (Link::Line(_) | Link::Server(_), Output::Host(_) | Output::Datagram { .. })
            | (_, Output::Revoke(_)) => {}
        }
        self.give_back(pending);
    }

    /// Sends the piece whose last bit has arrived by now and waits for that of the next.
    fn send_piece(&mut self, mut pending: Pending, link: &dyn ByteLink) {
        let Output::Bytes(bytes) = &pending.transmit.output else { return };
        let done = match pending.piece {
            None => 0,
            Some(Piece { start, end }) => {
                let send = || Sent::on_line(send_on(link, &bytes[start..end]));
                // A telegram is counted once; what its receiver has no room for is lost.
                if start > 0 {
                    send();
                } else if !self.hand_over(&pending, send) {
                    return self.give_back(pending);
                }
                end
            }
        };
        if done == bytes.len() {
            return self.give_back(pending);
        }
        let line = self.lines[pending.unit];
        let fitting = (LONGEST_PIECE_NS / line.duration_ns(1)).max(1) as usize;
        let end = bytes.len().min(done + fitting);
        // From the start of the whole, so that no rounding adds up.
        pending.due = SimTime(pending.transmit.due.0 + line.duration_ns(end));
        pending.act = pending.due;
        pending.piece = Some(Piece { start: done, end });
        self.waiting.push(Reverse(pending));
    }

    /// Calls `send`, or does not if it is too late for that, and counts it; whether it was called.
    fn hand_over(&mut self, pending: &Pending, send: impl Fn() -> Sent) -> bool {
        let Outlet { engine, clock, .. } = self.outlet;
        let Pending { unit, act, due, ref transmit, shows, .. } = *pending;
        let Some(bytes) = transmit.output.bytes() else { return false };
        let packet = self.numbers[unit];
        self.numbers[unit] += 1;
        let at = clock.now();
        let is_late = at.0.saturating_sub(due.0) > engine.miss_threshold_ns;
        let is_dropped = is_late && engine.late == LatePolicy::Drop;
        let sent = if is_dropped { Sent { is_whole: false, key: None } } else { send() };
        let outcome = match (is_dropped, sent.is_whole, is_late) {
            (true, _, _) => Outcome::Dropped,
            (_, false, _) => Outcome::Refused,
            (_, true, true) => Outcome::Late,
            (_, true, false) => Outcome::OnTime,
        };
        let port = transmit.output.port();
        self.outlet.stats[unit].count(outcome, transmit.points, bytes.len(), port);
        let (key, by, port) = (sent.key, self.sent_by, port.unwrap_or(PortIndex::DATA));
        let handed = Handed { unit, packet, due, act, at, outcome, key, port, by, shows };
        let entry = Entry { handed: Some(handed), spent: None };
        if self.ledger.push(entry).is_err() {
            self.outlet.stats[unit].count_unrecorded();
        }
        !is_dropped
    }

    /// Has the packet's buffer freed elsewhere. Only if the ledger is far behind it is freed here.
    fn give_back(&mut self, pending: Pending) {
        let _ = self.ledger.push(Entry { handed: None, spent: Some(pending.transmit) });
    }
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
    Sent::of(link, sent)
}

/// What came of handing bytes to the system.
struct Sent {
    is_whole: bool,
    /// What the kernel calls the datagram.
    key: Option<u32>,
}

impl Sent {
    /// A datagram.
    fn of(link: &UdpLink, sent: io::Result<u32>) -> Self {
        if let Err(error) = &sent {
            tracing::debug!("{}", link.explain(error));
        }
        Self { is_whole: sent.is_ok(), key: sent.ok() }
    }

    fn on_line(is_whole: bool) -> Self {
        Self { is_whole, key: None }
    }
}

fn targets(link: &Link) -> Vec<SocketAddr> {
    match link {
        Link::Datagrams(sockets) => sockets.iter().map(UdpLink::to).collect(),
        Link::Line(_) | Link::Server(_) => Vec::new(),
    }
}

/// Whether all of `bytes` went out.
fn send_on(link: &dyn ByteLink, bytes: &[u8]) -> bool {
    match link.send(bytes) {
        Ok(sent) => sent == bytes.len(),
        Err(error) => {
            tracing::debug!("cannot send on {}: {error}", link.describe());
            false
        }
    }
}

/// A transmission, or the rest of one, that waits for its due time; of equal times the first to
/// come goes first.
struct Pending {
    /// When the sender acts: when it is due, or earlier where the kernel launches it.
    act: SimTime,
    due: SimTime,
    order: u64,
    unit: usize,
    transmit: Transmit,
    /// What it is the first to show.
    shows: Marks,
    /// The bytes that have arrived at `due`; `None` until the first bit is due.
    piece: Option<Piece>,
    /// The key of the datagram that its link has prepared of it.
    prepared: Option<u32>,
}

struct Piece {
    start: usize,
    end: usize,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        (self.act, self.order) == (other.act, other.order)
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.act, self.order).cmp(&(other.act, other.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::ops::Range;

    use rtrb::RingBuffer;

    const SPACING_NS: u64 = 200_000;
    /// As many as a socket's buffer holds.
    const PACKETS: usize = 120;

    fn robot() -> (UdpSocket, [Link; 1]) {
        let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
        robot.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let link = UdpLink::open(&robot.local_addr().unwrap().into()).unwrap();
        (robot, [Link::Datagrams(vec![link])])
    }

    fn packet(due: SimTime, number: u32) -> Packet {
        let transmit = Transmit::datagram(due, number.to_be_bytes().to_vec());
        Packet { unit: 0, transmit, shows: Marks::default() }
    }

    fn hear(robot: &UdpSocket) -> u32 {
        let mut heard = [0; 16];
        assert_eq!(robot.recv(&mut heard).unwrap(), 4);
        u32::from_be_bytes(heard[..4].try_into().unwrap())
    }

    /// What is sent of two packets of which the second comes, due earlier, when the first may have
    /// been prepared; both are turned to when they are late.
    fn sent_late(late: LatePolicy) -> (Vec<(u64, Outcome)>, Vec<u32>) {
        let (robot, links) = robot();
        let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
        let engine = EngineConfig { late, ..EngineConfig::default() };
        let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
        let (stats, lines, engine) = (&stats, &lines, &engine);
        let outlet = Outlet { clock, links: &links, stats, lines, engine, answers: None };
        let (mut queue, packets) = RingBuffer::new(PACKETS);
        let (pen, mut entries) = RingBuffer::new(1000);
        let mut outbox = Outbox::new(outlet, packets, PACKETS, pen);
        let due = clock.now() + Duration::from_millis(300);
        queue.push(packet(due, 0)).unwrap();
        assert!(matches!(outbox.serve(Role::First), Next::Packet { .. }));
        assert_eq!(outbox.prepare(), late == LatePolicy::Late);
        queue.push(packet(due - Duration::from_millis(1), 1)).unwrap();
        assert!(matches!(outbox.serve(Role::First), Next::Packet { .. }));
        assert_eq!(outbox.prepare(), late == LatePolicy::Late);
        clock.sleep_until(due + Duration::from_nanos(2 * engine.miss_threshold_ns));
        while matches!(outbox.serve(Role::First), Next::Packet { .. }) {}
        let handed: Vec<_> = std::iter::from_fn(|| entries.pop().ok())
            .filter_map(|entry| entry.handed)
            .map(|handed| (handed.due.0.abs_diff(due.0), handed.outcome))
            .collect();
        let sent = handed.iter().filter(|(_, outcome)| *outcome != Outcome::Dropped).count();
        let heard = (0..sent).map(|_| hear(&robot)).collect();
        robot.set_nonblocking(true).unwrap();
        assert!(robot.recv(&mut [0; 16]).is_err(), "more than was written down");
        (handed, heard)
    }

    #[test]
    fn what_is_prepared_goes_before_what_comes_after_it() {
        let expected = vec![(0, Outcome::Late), (1_000_000, Outcome::Late)];
        assert_eq!(sent_late(LatePolicy::Late), (expected, vec![0, 1]));
    }

    #[test]
    fn what_may_have_to_be_dropped_is_not_prepared() {
        let expected = vec![(1_000_000, Outcome::Dropped), (0, Outcome::Dropped)];
        assert_eq!(sent_late(LatePolicy::Drop), (expected, vec![]));
    }

    #[test]
    fn the_standby_sends_what_the_first_does_not_and_each_packet_goes_once() {
        let (robot, links) = robot();
        let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
        let engine = EngineConfig::default();
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(20));
        let outlet = Outlet {
            clock,
            links: &links,
            stats: &stats,
            lines: &lines,
            engine: &engine,
            answers: None,
        };
        let (mut queue, packets) = RingBuffer::new(PACKETS);
        let (pen, mut entries) = RingBuffer::new(1000);
        let outbox = Arc::new(Mutex::new(Outbox::new(outlet, packets, PACKETS, pen)));
        let mut put = |numbers: Range<u32>| {
            for number in numbers {
                let due = SimTime(u64::from(number) * SPACING_NS);
                queue.push(packet(due, number)).unwrap();
            }
        };
        let is_sent = |count: u64| {
            let so_far = || stats[0].figures("", "", "", 0.0, Duration::ZERO).packets;
            while so_far() < count {
                clock.rest(Duration::from_millis(1));
            }
        };
        let (stop_standby, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let standby = Sender::new(outlet, Arc::clone(&outbox), Role::Standby);
            let first = Sender::new(outlet, outbox, Role::First);
            let standby = scope.spawn(|| standby.send_all(&stop_standby));
            put(0..40);
            is_sent(40);
            scope.spawn(|| first.send_all(&stop));
            put(40..80);
            is_sent(80);
            stop_standby.store(true, Ordering::Relaxed);
            standby.join().unwrap();
            put(80..120);
            is_sent(120);
            stop.store(true, Ordering::Relaxed);
        });
        let handed = std::iter::from_fn(|| entries.pop().ok()).filter_map(|entry| entry.handed);
        let by: Vec<_> = handed.map(|handed| handed.by).collect();
        assert_eq!((&by[..40], &by[80..]), (&[Role::Standby; 40][..], &[Role::First; 40][..]));
        for number in 0..120 {
            assert_eq!(hear(&robot), number);
        }
    }
}
