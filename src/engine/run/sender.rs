//! The sending threads. The sender sleeps until the earliest packet's time, sends the packet, and records the lateness.
//! An optional second thread, the standby, sends packets that the sender has missed. A deadline miss does not delay the
//! next packet, so a lidar keeps its phase.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError, mpsc};
use std::thread::{Builder, Scope};
use std::time::Duration;

use rtrb::RingBuffer;

use super::LONGEST_SLEEP;
use super::pauses::{self, Pauses};
use super::send_log::{ENTRY_QUEUE, Role, SendLog, TimingLog};
use super::send_queue::SendQueue;
use super::transmission::{Next, SendContext, Transmission};
use crate::config::rig::Lead;
use crate::engine::os::{self, Grant, StayAwake};
use crate::links::udp::UdpLink;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;

/// Name of the sender's thread, as shown by `top -H` and `/proc`.
pub const SENDER_NAME: &str = "menura-send";
/// Name of the standby sender's thread.
pub const STANDBY_NAME: &str = "menura-standby";

/// Time before a packet's time of sending at which the sender prepares: it lets the kernel build the datagram in
/// advance, or warms up the code path through the kernel.
const REHEARSAL: Duration = Duration::from_micros(20);
/// Delay after the time of sending until the standby checks whether a packet has left.
const STANDBY_PATIENCE: Duration = Duration::from_micros(3);
/// Largest share of a wait during which the standby may spin, per cent. Other threads need the rest of its core: the
/// send log and, with two cores, the program that receives the packets.
const STANDBY_PERCENT: u32 = 40;
/// Time for which a sender sleeps if the other sender is using the send queue.
const OTHERS_TURN: Duration = Duration::from_micros(20);

/// Starts the threads that send packets of `queue` until its input is dropped: the sender, the standby if the rig has a
/// core for it, and the send log, which writes `timing` if requested. `on_start` receives the system's answers to the
/// requests for real-time rights.
pub fn start<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    context: SendContext<'scope>,
    timing: Option<&'scope [Mutex<TimingLog>]>,
    queue: SendQueue,
    stop: &'scope AtomicBool,
    on_start: impl FnOnce(&[Grant]) + Send + 'scope,
) {
    let (log_queue, entries) = RingBuffer::new(ENTRY_QUEUE);
    let SendContext { clock, connections, stats, engine, answers, tap, ntrip, .. } = context;
    let finds_leads = matches!(engine.lead, Lead::Auto);
    let log = SendLog { clock, connections, stats, timing, answers, tap, ntrip, finds_leads };
    log.ask_for_stamps();
    start_thread(scope, "menura-send-log", move || log.keep(entries));
    let transmission = Arc::new(Mutex::new(Transmission::new(context, queue, log_queue)));
    let standby = engine.standby_core.map(|core| {
        let transmission = Arc::clone(&transmission);
        let (tell, grants) = mpsc::sync_channel(1);
        let stand_by = move || {
            let _ = tell.send(os::favour_this_thread(engine.scheduler, Some(core)));
            Sender::new(context, transmission, Role::Standby).send_all(stop);
        };
        start_thread(scope, STANDBY_NAME, stand_by);
        grants
    });
    let send = move || {
        let (stay_awake, answer) = StayAwake::ask();
        let mut grants = os::favour_this_thread(engine.scheduler, engine.send_core);
        grants.extend(answer);
        let of_standby = standby.and_then(|grants| grants.recv().ok()).into_iter().flatten();
        grants.extend(of_standby.map(Grant::of_standby));
        // Memory is locked after the send queue and the stacks exist, because locking touches all their pages.
        grants.push(os::lock_memory());
        on_start(&grants);
        Sender::new(context, transmission, Role::First).send_all(stop);
        drop(stay_awake);
    };
    start_thread(scope, SENDER_NAME, send);
}

fn start_thread<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) {
    let named = Builder::new().name(name.to_owned());
    named.spawn_scoped(scope, work).expect("the system has threads to spare");
}

/// One of the two sending threads. It never waits for the other thread: while the other thread sends, it checks again
/// later.
pub struct Sender<'a> {
    transmission: Arc<Mutex<Transmission<'a>>>,
    clock: MonotonicClock,
    role: Role,
    spin: Duration,
    pauses: Pauses,
}

impl<'a> Sender<'a> {
    /// Creates one of the two senders. `transmission` is shared by both and must have been created with the same
    /// `context`.
    pub fn new(
        context: SendContext<'a>,
        transmission: Arc<Mutex<Transmission<'a>>>,
        role: Role,
    ) -> Self {
        let SendContext { clock, engine, .. } = context;
        let spin = Duration::from_nanos(engine.spin_ns);
        Self { transmission, clock, role, spin, pauses: Pauses::of(engine.scheduler) }
    }

    /// Sends each packet when it is due, until `stop` is set, or the queue's input is closed and the queue is empty.
    pub fn send_all(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let next = match self.transmission.try_lock() {
                Ok(mut transmission) => Some(transmission.serve(self.role)),
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(_)) => break,
            };
            let now = self.clock.now();
            self.pauses.note(now, Duration::ZERO);
            if self.pauses.must_sleep() {
                self.sleep_for(pauses::FORCED);
            }
            match next {
                // The sender polls, because a wake-up by the queue would need a lock.
                Some(Next::Nothing) => self.sleep_for(LONGEST_SLEEP),
                Some(Next::Packet { act, .. }) if self.clock.left_until(act) > LONGEST_SLEEP => {
                    self.sleep_for(LONGEST_SLEEP);
                }
                Some(Next::Packet { act, way }) => self.wait_for(act + self.patience(), way),
                // The other sender has the queue.
                None => self.sleep_for(OTHERS_TURN),
                Some(Next::Over) => break,
            }
        }
    }

    /// Delay after a packet's time of sending until this thread handles the packet.
    fn patience(&self) -> Duration {
        match self.role {
            Role::First => Duration::ZERO,
            Role::Standby => STANDBY_PATIENCE,
        }
    }

    /// Sleeps for `duration`. The present time may be before the first instant of the run.
    fn sleep_for(&mut self, duration: Duration) {
        match self.clock.left_until(SimTime::ZERO) {
            Duration::ZERO => self.sleep(self.clock.now() + duration, Duration::ZERO),
            left => self.sleep(
                SimTime::ZERO + duration.saturating_sub(left),
                left.saturating_sub(duration),
            ),
        }
    }

    /// Sleeps until `at` minus `early`, which may be before the first instant of the run.
    fn sleep(&mut self, at: SimTime, early: Duration) {
        let before = self.clock.now();
        self.clock.sleep_until_before(at, early);
        let now = self.clock.now();
        self.pauses.note(now, now.saturating_since(before));
    }

    /// Sleeps until shortly before `act`, then spins. If there is time, it lets the kernel build the datagram in
    /// advance, or warms up the code path through the kernel.
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
                    && self.transmission.try_lock().is_ok_and(|mut shared| shared.prepare());
                if !is_prepared {
                    link.rehearse(to);
                }
            }
        }
        clock.watch_until(act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::ops::Range;

    use crate::config::rig::{DeviceId, EngineConfig, LatePolicy};
    use crate::devices::Transmit;
    use crate::engine::connections::{Connections, Link};
    use crate::engine::packet::{FirstShown, Packet};
    use crate::engine::run::send_log::{LogEntry, SendRecord};
    use crate::engine::run::send_queue;
    use crate::engine::stats::{DeviceStats, Outcome};
    use crate::wire::line::LineSettings;

    const SPACING_NS: u64 = 200_000;
    /// Number of packets in the test; a socket's buffer holds all of them.
    const PACKETS: usize = 120;

    fn robot() -> (UdpSocket, [Connections; 1]) {
        let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
        robot.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let link = UdpLink::open(&robot.local_addr().unwrap().into()).unwrap();
        (robot, [Link::Datagrams(vec![link]).into()])
    }

    fn packet(due: SimTime, number: u32) -> Packet {
        let transmit = Transmit::datagram(due, number.to_be_bytes().to_vec());
        Packet { device: DeviceId(0), transmit, first_shown: FirstShown::default() }
    }

    fn record(entry: LogEntry) -> Option<SendRecord> {
        match entry {
            LogEntry::Record(record) => Some(record),
            LogEntry::Spent(..) => None,
        }
    }

    fn hear(robot: &UdpSocket) -> u32 {
        let mut heard = [0; 16];
        assert_eq!(robot.recv(&mut heard).unwrap(), 4);
        u32::from_be_bytes(heard[..4].try_into().unwrap())
    }

    /// Sends two packets after their deadline: packet 0, and packet 1, which is queued later but due 1 ms earlier. With
    /// [`LatePolicy::Late`], the kernel has already built packet 0. Returns two lists. The first has an entry for each
    /// packet in the order of handling: by how much it is due earlier than packet 0, ns, and its outcome. The second
    /// has the numbers of the received packets.
    fn sent_late(late: LatePolicy) -> (Vec<(u64, Outcome)>, Vec<u32>) {
        let (robot, connections) = robot();
        let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
        let engine = EngineConfig { late, ..EngineConfig::default() };
        let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
        let (stats, lines, engine) = (&stats, &lines, &engine);
        let context = SendContext {
            clock,
            connections: &connections,
            stats,
            lines,
            engine,
            answers: None,
            tap: None,
            ntrip: None,
            events: None,
        };
        let (mut queue, packets) = send_queue::with_capacity(PACKETS, clock);
        let (log, mut entries) = RingBuffer::new(1000);
        let mut transmission = Transmission::new(context, packets, log);
        let due = clock.now() + Duration::from_millis(300);
        assert!(queue.send(packet(due, 0)));
        assert!(matches!(transmission.serve(Role::First), Next::Packet { .. }));
        assert_eq!(transmission.prepare(), late == LatePolicy::Late);
        assert!(queue.send(packet(due - Duration::from_millis(1), 1)));
        assert!(matches!(transmission.serve(Role::First), Next::Packet { .. }));
        assert_eq!(transmission.prepare(), late == LatePolicy::Late);
        clock.sleep_until(due + Duration::from_nanos(2 * engine.miss_threshold_ns));
        while matches!(transmission.serve(Role::First), Next::Packet { .. }) {}
        let handed: Vec<_> = std::iter::from_fn(|| entries.pop().ok())
            .filter_map(record)
            .map(|record| (record.due.0.abs_diff(due.0), record.outcome))
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
    fn what_comes_while_the_sender_waits_for_the_first_instant_leaves_at_it() {
        let (robot, connections) = robot();
        let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
        let engine = EngineConfig::default();
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(60));
        let context = SendContext {
            clock,
            connections: &connections,
            stats: &stats,
            lines: &lines,
            engine: &engine,
            answers: None,
            tap: None,
            ntrip: None,
            events: None,
        };
        let (mut queue, packets) = send_queue::with_capacity(PACKETS, clock);
        let (log, _entries) = RingBuffer::new(1000);
        let shared = Arc::new(Mutex::new(Transmission::new(context, packets, log)));
        let mut sender = Sender::new(context, shared, Role::First);
        // A sleep that starts before the first instant takes no longer than a later one.
        sender.sleep_for(LONGEST_SLEEP);
        assert!(clock.since_start_ns() < 0, "it slept beyond the first instant");
        assert!(queue.send(packet(SimTime::ZERO, 0)));
        drop(queue);
        sender.send_all(&AtomicBool::new(false));
        assert_eq!(hear(&robot), 0);
    }

    #[test]
    fn the_standby_sends_what_the_first_does_not_and_each_packet_goes_once() {
        let (robot, connections) = robot();
        let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
        let engine = EngineConfig::default();
        let (clock, _) = MonotonicClock::starting_in(Duration::from_millis(20));
        let context = SendContext {
            clock,
            connections: &connections,
            stats: &stats,
            lines: &lines,
            engine: &engine,
            answers: None,
            tap: None,
            ntrip: None,
            events: None,
        };
        let (mut queue, packets) = send_queue::with_capacity(PACKETS, clock);
        let (log, mut entries) = RingBuffer::new(1000);
        let shared = Arc::new(Mutex::new(Transmission::new(context, packets, log)));
        let mut put = |numbers: Range<u32>| {
            for number in numbers {
                let due = SimTime(u64::from(number) * SPACING_NS);
                assert!(queue.send(packet(due, number)));
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
            let standby = Sender::new(context, Arc::clone(&shared), Role::Standby);
            let first = Sender::new(context, shared, Role::First);
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
        let records = std::iter::from_fn(|| entries.pop().ok()).filter_map(record);
        let by: Vec<_> = records.map(|record| record.by).collect();
        assert_eq!((&by[..40], &by[80..]), (&[Role::Standby; 40][..], &[Role::First; 40][..]));
        for number in 0..120 {
            assert_eq!(hear(&robot), number);
        }
    }
}
