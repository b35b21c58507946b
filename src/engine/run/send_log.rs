//! The send log: a thread that records the sender's actions, so that the sender needs neither a lock nor the allocator.
//! It also frees the packets' buffers, reads the kernel's transmit timestamps and assigns them to packets.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use rtrb::Consumer;

use super::answers::Answers;
use super::card_time::CardTime;
use super::lead::LeadFinder;
use super::ntrip::Ntrip;
use super::tap::Tap;
use crate::config::profile::network::PortIndex;
use crate::config::rig::DeviceId;
use crate::devices::Transmit;
use crate::engine::connections::Connections;
use crate::engine::packet::FirstShown;
use crate::engine::refusal::Refusal;
use crate::engine::stats::{DeviceStats, Outcome};
use crate::links::card_clock::CardClock;
use crate::links::timestamps::{DepartureStamp, StampReader, Stamper};
use crate::time::SimTime;
use crate::timing::ErrorRecord;
use crate::timing::clock::{self, MonotonicClock};

/// Time between two checks for entries and timestamps. The sender does not wake the send log.
const REST: Duration = Duration::from_millis(2);
/// Time for which the log waits for the last timestamps after the sender has ended.
const PATIENCE: Duration = Duration::from_millis(200);
/// Length of the queue from the sender to the send log, entries.
pub const ENTRY_QUEUE: usize = 16_384;
/// Largest number of packets of a port that wait for their timestamps. If there are more, the oldest gets none.
const MOST_UNSTAMPED: usize = 65_536;

/// Entry from the sender.
#[derive(Debug)]
pub enum LogEntry {
    /// Record of a packet.
    Record(SendRecord),
    /// A packet whose buffer can be freed, and its device.
    Spent(DeviceId, Transmit),
}

/// Identifies one of the sending threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The main sender.
    First,
    /// The standby sender, which sends packets that the first sender missed because it lost its core.
    Standby,
}

/// Record of a packet that the sender has handled.
#[derive(Clone, Copy, Debug)]
pub struct SendRecord {
    /// Device of the packet.
    pub device: DeviceId,
    /// Number of packets of the device that the sender handled before this one.
    pub number: u64,
    /// Due time of the packet, or of the first piece of a serial packet that the sender writes in pieces.
    pub due: SimTime,
    /// Planned time of sending: the due time minus the lead.
    pub act: SimTime,
    /// Time at which the sender began to handle the packet.
    pub at: SimTime,
    /// Outcome of the packet.
    pub outcome: Outcome,
    /// Key of the packet in the kernel's transmit timestamps.
    pub key: Option<u32>,
    /// Port by which the packet left; each port's socket has its own keys.
    pub port: PortIndex,
    /// Thread that handled the packet.
    pub by: Role,
    /// Events, such as a new pose or a stimulus, whose effect this packet is the first to contain; for latency
    /// measurements.
    pub first_shown: FirstShown,
}

/// The timing of one device's packets, written by the send log.
#[derive(Debug, Default)]
pub struct TimingLog {
    /// Submission to the kernel minus due time.
    pub handed: ErrorRecord,
    /// Transmit timestamp minus due time.
    pub departed: ErrorRecord,
    /// Transmit timestamp minus submission to the kernel.
    pub in_kernel: ErrorRecord,
    /// Whether the device's packets get timestamps.
    pub is_stamped: bool,
    /// Number of timestamps that the network card took.
    pub by_card: u64,
    /// Largest uncertainty of a reading of the card's clock, nanoseconds.
    pub card_uncertainty_ns: u64,
    /// Packets that the standby sender sent.
    pub by_standby: u64,
    /// Number of packets that got no timestamp.
    pub unstamped: u64,
    /// Number of timestamps for which no packet was found.
    pub unclaimed: u64,
    lead: LeadFinder,
    /// Records that wait for their timestamps, by port.
    waiting: Vec<VecDeque<SendRecord>>,
}

/// Timestamps of one device's sockets that wait for the records of their packets.
#[derive(Debug)]
struct Stamps {
    /// Timestamps without a packet so far, by port.
    ports: Vec<Vec<DepartureStamp>>,
    card: CardTime,
}

impl Stamps {
    fn of(connections: &Connections) -> Self {
        Self { ports: vec![Vec::new(); connections.sockets().len()], card: CardTime::default() }
    }
}

/// The send log, with its clock and all places to which it reports.
pub struct SendLog<'a> {
    /// Clock of the run.
    pub clock: MonotonicClock,
    /// Connections by device; their sockets deliver the timestamps.
    pub connections: &'a [Connections],
    /// Counters of each device; the send log adds the lateness and latencies of its packets.
    pub stats: &'a [DeviceStats],
    /// Timing logs by device, if requested.
    pub timing: Option<&'a [Mutex<TimingLog>]>,
    /// Tracker of responses; it receives the send times of packets that are the first to contain a stimulus.
    pub answers: Option<&'a Answers>,
    /// Tap that passes sent packets to observers.
    pub tap: Option<&'a Tap>,
    /// NTRIP casters, which serve the correction messages of base stations.
    pub ntrip: Option<&'a Ntrip>,
    /// Whether each device's lead (time from submission to the due time) is estimated from its transmit timestamps;
    /// requires `timing`.
    pub finds_leads: bool,
}

impl SendLog<'_> {
    /// Requests timestamps of datagrams from the kernel, if the timing is recorded.
    pub fn ask_for_stamps(&self) {
        for (connections, timing) in self.connections.iter().zip(self.timing.into_iter().flatten())
        {
            for socket in connections.sockets() {
                match socket.stamp_departures() {
                    Ok(()) => timing.lock().expect("no holder panics").is_stamped = true,
                    Err(error) => tracing::warn!("the kernel does not timestamp packets: {error}"),
                }
            }
        }
    }

    /// Processes the sender's entries until the sender has stopped. Then waits at most `PATIENCE` for the last
    /// timestamps.
    pub fn keep(&self, mut entries: Consumer<LogEntry>) {
        let mut reader = StampReader::default();
        let mut stamps: Vec<Stamps> = self.connections.iter().map(Stamps::of).collect();
        let mut last_look = None;
        loop {
            // Timestamps are read before entries. The record of a packet is then usually in the queue, otherwise at the
            // next check.
            self.read_stamps(&mut reader, &mut stamps);
            let is_over = self.read_entries(&mut entries);
            let is_waiting = self.assign(&mut stamps);
            let now = self.clock.now();
            if is_over {
                let until = *last_look.get_or_insert(now + PATIENCE);
                if !is_waiting || now >= until {
                    break;
                }
            }
            self.clock.rest(REST);
        }
        for timing in self.timing.into_iter().flatten() {
            let mut timing = timing.lock().expect("no holder panics");
            let waiting = std::mem::take(&mut timing.waiting);
            timing.unstamped += waiting.iter().map(|port| port.len() as u64).sum::<u64>();
        }
    }

    /// Processes all entries that are in the queue; returns whether the sender has stopped.
    fn read_entries(&self, entries: &mut Consumer<LogEntry>) -> bool {
        // This is checked first, because entries that the sender wrote before its end must still be read.
        let is_over = entries.is_abandoned();
        let mut left = true;
        while let Ok(entry) = entries.pop() {
            match entry {
                LogEntry::Record(record) => {
                    // Observers get only packets that have left. In the queue, a packet follows its record.
                    left = matches!(record.outcome, Outcome::OnTime | Outcome::Late);
                    self.write(record);
                }
                LogEntry::Spent(device, transmit) => {
                    if let Some(ntrip) = self.ntrip {
                        ntrip.take(device, &transmit);
                    }
                    match self.tap.filter(|_| left) {
                        Some(tap) => tap.pass(device, transmit),
                        None => drop(transmit),
                    }
                }
            }
        }
        is_over
    }

    fn write(&self, record: SendRecord) {
        match record.outcome {
            Outcome::OnTime | Outcome::Late => {}
            Outcome::Refused(refusal) => return self.tell_refusal(&record, refusal),
            Outcome::Dropped => return,
        }
        self.stats[record.device.0].record_lateness(record.at.saturating_since(record.due));
        self.stats[record.device.0].note_sent(record.at);
        if let Some(pose) = record.first_shown.pose {
            self.stats[record.device.0].count_pose(record.at.saturating_since(pose.arrived));
        }
        if let Some(fired) = record.first_shown.fired {
            self.stats[record.device.0].count_fired(record.at.saturating_since(fired));
        }
        if let Some(answers) = self.answers {
            answers.tell_all(record.first_shown.stimuli, record.at);
        }
        let Some(timing) = self.timing else { return };
        let mut timing = timing[record.device.0].lock().expect("no holder panics");
        let error_ns = difference_ns(record.at.0, record.due.0);
        timing.handed.record(record.number, record.due, error_ns);
        timing.by_standby += u64::from(record.by == Role::Standby);
        if timing.is_stamped && record.key.is_some() {
            let waiting = timing.waiting_at(record.port);
            let is_full = waiting.len() == MOST_UNSTAMPED;
            if is_full {
                waiting.pop_front();
            }
            waiting.push_back(record);
            timing.unstamped += u64::from(is_full);
        }
    }

    /// Counts a refusal, and logs each reason once.
    fn tell_refusal(&self, record: &SendRecord, refusal: Refusal) {
        let (connections, stats) =
            (&self.connections[record.device.0], &self.stats[record.device.0]);
        let explain = || connections.explain(record.port, refusal);
        if let Some(reason) = stats.note_refusal(refusal, explain) {
            tracing::warn!("{}: a packet was refused: {reason}", connections.device);
        }
    }

    fn read_stamps(&self, reader: &mut StampReader, stamps: &mut [Stamps]) {
        if self.timing.is_none() {
            return;
        }
        for (connections, stamps) in self.connections.iter().zip(stamps) {
            for (socket, stamps) in connections.sockets().iter().zip(&mut stamps.ports) {
                if let Err(error) = socket.departures(reader, stamps) {
                    tracing::debug!("cannot read stamps of {}: {error}", socket.to());
                }
            }
        }
    }

    /// Assigns timestamps to their packets; returns whether packets still wait for one.
    fn assign(&self, stamps: &mut [Stamps]) -> bool {
        let Some(timing) = self.timing else { return false };
        // The offset is measured each time, because the clock of the timestamps is steered.
        let offset_ns = clock::realtime_offset().offset_ns;
        let mut is_waiting = false;
        let devices = self.connections.iter().zip(self.stats).zip(timing);
        for (((connections, stats), timing), stamps) in devices.zip(stamps) {
            let Some(socket) = connections.sockets().first() else { continue };
            let mut timing = timing.lock().expect("no holder panics");
            let Stamps { ports, card } = stamps;
            if let Some(clock) = socket.card_clock() {
                let of_card = |stamp: &DepartureStamp| stamp.by == Stamper::Card;
                if ports.iter().flatten().any(of_card) {
                    timing.card_uncertainty_ns =
                        timing.card_uncertainty_ns.max(look_at(clock, card));
                }
            }
            let at_ns = |stamp: &DepartureStamp| {
                let monotonic_ns = match stamp.by {
                    Stamper::Kernel => Some(stamp.at_ns as i64 - offset_ns),
                    Stamper::Card => card.monotonic_ns(stamp.at_ns),
                };
                monotonic_ns.map(|ns| ns - self.clock.origin_ns() as i64)
            };
            for (place, stamps) in ports.iter_mut().enumerate() {
                stamps.retain(|stamp| {
                    // Timestamps of a clock that cannot be read are useless.
                    let Some(at_ns) = at_ns(stamp) else { return false };
                    !timing.claim(PortIndex(place as u8), stamp, at_ns)
                });
            }
            if self.finds_leads {
                stats.set_lead(timing.lead.lead());
            }
            is_waiting |= timing.waiting.iter().any(|port| !port.is_empty());
        }
        is_waiting
    }
}

/// Compares a card's clock with the host's clock, and stores the result in `card`. Returns the uncertainty of the
/// reading, nanoseconds; 0 if the card's clock cannot be read.
fn look_at(clock: &CardClock, card: &mut CardTime) -> u64 {
    match clock::compare_with(clock) {
        Ok(comparison) => {
            card.note(comparison);
            comparison.uncertainty_ns
        }
        Err(error) => {
            tracing::debug!("cannot read the network card's clock: {error}");
            0
        }
    }
}

impl TimingLog {
    /// Packets of a port that wait for their timestamps.
    fn waiting_at(&mut self, port: PortIndex) -> &mut VecDeque<SendRecord> {
        let count = self.waiting.len().max(port.place() + 1);
        self.waiting.resize_with(count, VecDeque::new);
        &mut self.waiting[port.place()]
    }

    /// Finds the waiting packet with the key of `stamp` and records its departure, `at_ns` nanoseconds after the run's
    /// first instant. Returns false if the packet's record has not arrived yet.
    fn claim(&mut self, port: PortIndex, stamp: &DepartureStamp, at_ns: i64) -> bool {
        // Keys count up and wrap. Packets with earlier keys have lost their timestamps.
        while let Some(first) = self.waiting_at(port).front().copied() {
            let ahead = stamp.key.wrapping_sub(first.key.unwrap_or(stamp.key)) as i32;
            if ahead < 0 {
                self.unclaimed += 1;
                return true;
            }
            self.waiting_at(port).pop_front();
            if ahead > 0 {
                self.unstamped += 1;
                continue;
            }
            self.by_card += u64::from(stamp.by == Stamper::Card);
            self.departed.record(first.number, first.due, at_ns.saturating_sub(first.due.0 as i64));
            let in_kernel_ns = at_ns.saturating_sub(first.at.0 as i64);
            self.in_kernel.record(first.number, first.due, in_kernel_ns);
            self.lead.note(at_ns.saturating_sub(first.act.0 as i64));
            return true;
        }
        false
    }
}

fn difference_ns(later: u64, earlier: u64) -> i64 {
    later.wrapping_sub(earlier) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, key: u32) -> SendRecord {
        let due = SimTime(number * 1000);
        let at = SimTime(due.0 + 10);
        SendRecord {
            device: DeviceId(0),
            number,
            due,
            act: due,
            at,
            outcome: Outcome::OnTime,
            key: Some(key),
            port: PortIndex::DATA,
            by: Role::First,
            first_shown: FirstShown::default(),
        }
    }

    const DATA: PortIndex = PortIndex::DATA;

    fn claim(timing: &mut TimingLog, port: PortIndex, key: u32, at_ns: i64) -> bool {
        let stamp = DepartureStamp { key, at_ns: 0, by: Stamper::Kernel };
        timing.claim(port, &stamp, at_ns)
    }

    #[test]
    fn stamps_find_their_packets_although_some_are_lost_and_keys_wrap() {
        let mut timing = TimingLog { is_stamped: true, ..TimingLog::default() };
        let first = u32::MAX - 1;
        timing.waiting_at(DATA).extend((0..4).map(|n| record(n, first.wrapping_add(n as u32))));
        assert!(claim(&mut timing, DATA, first, 25));
        // The second packet's timestamp is lost; the third packet's key has wrapped to 0.
        assert!(claim(&mut timing, DATA, 0, 2027));
        assert!(claim(&mut timing, DATA, first, 25), "a stamp that comes twice is thrown away");
        assert!(!claim(&mut timing, PortIndex(1), 1, 9), "the other port counts for itself");
        assert!(claim(&mut timing, DATA, 1, 3020));
        assert!(!claim(&mut timing, DATA, 2, 4020), "its packet has not been written down yet");
        assert_eq!((timing.departed.count(), timing.unstamped, timing.unclaimed), (3, 1, 1));
        let worst = timing.departed.figures().worst[0];
        assert_eq!((worst.packet, worst.error_ns), (2, 27));
        assert_eq!(timing.in_kernel.figures().worst[0].error_ns, 17);
        assert_eq!(timing.by_card, 0);
        timing.waiting_at(DATA).push_back(record(4, 2));
        assert!(timing.claim(DATA, &DepartureStamp { key: 2, at_ns: 0, by: Stamper::Card }, 4020));
        assert_eq!((timing.departed.count(), timing.by_card), (4, 1));
    }
}
