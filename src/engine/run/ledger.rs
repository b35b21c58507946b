//! The ledger: a thread that writes down what the sender did, so that the sender needs neither a
//! lock nor the allocator. It also frees the packets' buffers, and reads the kernel's stamps of
//! departures and assigns them to packets.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use rtrb::Consumer;

use super::answers::Answers;
use super::card_time::CardTime;
use super::lead::LeadFinder;
use super::sender::Role;
use crate::config::profile::network::PortIndex;
use crate::devices::Transmit;
use crate::engine::Link;
use crate::engine::clock::{self, MonotonicClock};
use crate::engine::render::Marks;
use crate::engine::stats::{DeviceStats, Outcome};
use crate::engine::timing::ErrorRecord;
use crate::links::card_clock::CardClock;
use crate::links::timestamps::{DepartureStamp, StampReader, Stamper};
use crate::links::udp::UdpLink;
use crate::time::SimTime;

/// Time between two looks. The sender never waits for the ledger, so it is not told of news.
const REST: Duration = Duration::from_millis(2);
/// How long the last stamps are waited for when the sender is done.
const PATIENCE: Duration = Duration::from_millis(200);
/// Entries on their way from the sender.
pub const ENTRY_QUEUE: usize = 16_384;
/// Packets that wait for their stamp, at most; older ones are without.
const MOST_UNSTAMPED: usize = 65_536;

/// What the sender hands over: what it did, and what it does not need any more.
#[derive(Debug, Default)]
pub struct Entry {
    /// What was done with a packet.
    pub handed: Option<Handed>,
    /// To be freed.
    pub spent: Option<Transmit>,
}

/// A packet that the sender has handed to the kernel, or has not.
#[derive(Clone, Copy, Debug)]
pub struct Handed {
    /// The device's place in the rig.
    pub unit: usize,
    /// How many packets of the device the sender had turned to before.
    pub packet: u64,
    /// When it was due.
    pub due: SimTime,
    /// When the sender was to turn to it: its lead before it was due.
    pub act: SimTime,
    /// When the sender turned to it.
    pub at: SimTime,
    /// What became of it.
    pub outcome: Outcome,
    /// What the kernel calls it when it tells of its departure.
    pub key: Option<u32>,
    /// The port that it left by; the keys of each port's socket are its own.
    pub port: PortIndex,
    /// Who turned to it.
    pub by: Role,
    /// What it is the first to show.
    pub shows: Marks,
}

/// The timing of one device's packets, written by the ledger.
#[derive(Debug, Default)]
pub struct TimingBook {
    /// From due to handed to the kernel.
    pub handed: ErrorRecord,
    /// From due to the transmit timestamp.
    pub departed: ErrorRecord,
    /// From handed over to the transmit timestamp.
    pub in_kernel: ErrorRecord,
    /// Whether this device's packets are stamped.
    pub is_stamped: bool,
    /// Those of the timestamps that the network card took.
    pub by_card: u64,
    /// How far a reading of the card's clock may be off, nanoseconds: the worst.
    pub card_uncertainty_ns: u64,
    /// Packets that the standby sent.
    pub by_standby: u64,
    /// Packets whose stamp never came.
    pub unstamped: u64,
    /// Stamps that no packet was found for.
    pub unclaimed: u64,
    lead: LeadFinder,
    /// Of each port.
    waiting: Vec<VecDeque<Handed>>,
}

/// Stamps of a link's sockets whose packets are still to come.
#[derive(Debug)]
struct Stamps {
    /// Of each port.
    ports: Vec<Vec<DepartureStamp>>,
    card: CardTime,
}

impl Stamps {
    fn of(link: &Link) -> Self {
        Self { ports: vec![Vec::new(); sockets(link).len()], card: CardTime::default() }
    }
}

/// The sockets of a link that sends datagrams, one a port.
fn sockets(link: &Link) -> &[UdpLink] {
    match link {
        Link::Datagrams(sockets) => sockets,
        Link::Line(_) | Link::Server(_) => &[],
    }
}

/// The ledger and what it writes to.
pub struct Ledger<'a> {
    /// Tells how late packets are.
    pub clock: MonotonicClock,
    /// Where stamps come from.
    pub links: &'a [Link],
    /// Lateness for the status view.
    pub stats: &'a [DeviceStats],
    /// Timing for a certificate, if one is wanted; a book for each device.
    pub books: Option<&'a [Mutex<TimingBook>]>,
    /// Who waits for packets that carry a stimulus.
    pub answers: Option<&'a Answers>,
    /// Whether each device's lead is to be what its departures show; needs books.
    pub finds_leads: bool,
}

impl Ledger<'_> {
    /// Has the kernel stamp what leaves by datagram links, if a certificate is wanted.
    pub fn ask_for_stamps(&self) {
        for (link, book) in self.links.iter().zip(self.books.into_iter().flatten()) {
            for socket in sockets(link) {
                match socket.stamp_departures() {
                    Ok(()) => book.lock().expect("no holder panics").is_stamped = true,
                    Err(error) => tracing::warn!("the kernel does not stamp what leaves: {error}"),
                }
            }
        }
    }

    /// Writes down what comes from the sender until it has gone and the last stamp is there.
    pub fn keep(&self, mut entries: Consumer<Entry>) {
        let mut reader = StampReader::default();
        let mut stamps: Vec<Stamps> = self.links.iter().map(Stamps::of).collect();
        let mut last_look = None;
        loop {
            // Stamps first: what they belong to is in the queue by the next look at the latest.
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
        for book in self.books.into_iter().flatten() {
            let mut book = book.lock().expect("no holder panics");
            let waiting = std::mem::take(&mut book.waiting);
            book.unstamped += waiting.iter().map(|port| port.len() as u64).sum::<u64>();
        }
    }

    /// Whether the sender has gone.
    fn read_entries(&self, entries: &mut Consumer<Entry>) -> bool {
        // Asked first: what the sender wrote before it went is still to be read.
        let is_over = entries.is_abandoned();
        while let Ok(entry) = entries.pop() {
            if let Some(handed) = entry.handed {
                self.write(handed);
            }
        }
        is_over
    }

    fn write(&self, handed: Handed) {
        if !matches!(handed.outcome, Outcome::OnTime | Outcome::Late) {
            return;
        }
        self.stats[handed.unit].record_lateness(handed.at.saturating_since(handed.due));
        if let Some(pose) = handed.shows.pose {
            self.stats[handed.unit].count_pose(handed.at.saturating_since(pose.arrived));
        }
        if let Some(answers) = self.answers {
            answers.tell_all(handed.shows.stimuli, handed.at);
        }
        let Some(books) = self.books else { return };
        let mut book = books[handed.unit].lock().expect("no holder panics");
        let error_ns = difference_ns(handed.at.0, handed.due.0);
        book.handed.record(handed.packet, handed.due, error_ns);
        book.by_standby += u64::from(handed.by == Role::Standby);
        if book.is_stamped && handed.key.is_some() {
            let waiting = book.waiting_at(handed.port);
            let is_full = waiting.len() == MOST_UNSTAMPED;
            if is_full {
                waiting.pop_front();
            }
            waiting.push_back(handed);
            book.unstamped += u64::from(is_full);
        }
    }

    fn read_stamps(&self, reader: &mut StampReader, stamps: &mut [Stamps]) {
        if self.books.is_none() {
            return;
        }
        for (link, stamps) in self.links.iter().zip(stamps) {
            for (socket, stamps) in sockets(link).iter().zip(&mut stamps.ports) {
                if let Err(error) = socket.departures(reader, stamps) {
                    tracing::debug!("cannot read stamps of {}: {error}", socket.to());
                }
            }
        }
    }

    /// Gives stamps to the packets they are of; whether any packet still waits for its own.
    fn assign(&self, stamps: &mut [Stamps]) -> bool {
        let Some(books) = self.books else { return false };
        // The clocks are compared anew each time: the one that stamps is steered.
        let offset_ns = clock::realtime_offset().offset_ns;
        let mut is_waiting = false;
        let devices = self.links.iter().zip(self.stats).zip(books);
        for (((link, stats), book), stamps) in devices.zip(stamps) {
            let Some(socket) = sockets(link).first() else { continue };
            let mut book = book.lock().expect("no holder panics");
            let Stamps { ports, card } = stamps;
            if let Some(clock) = socket.card_clock() {
                let of_card = |stamp: &DepartureStamp| stamp.by == Stamper::Card;
                if ports.iter().flatten().any(of_card) {
                    book.card_uncertainty_ns = book.card_uncertainty_ns.max(look_at(clock, card));
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
                    // A clock that cannot be read leaves its stamps without meaning.
                    let Some(at_ns) = at_ns(stamp) else { return false };
                    !book.claim(PortIndex(place as u8), stamp, at_ns)
                });
            }
            if self.finds_leads {
                stats.set_lead(book.lead.lead());
            }
            is_waiting |= book.waiting.iter().any(|port| !port.is_empty());
        }
        is_waiting
    }
}

/// Compares a card's clock; how far that may be off, nanoseconds.
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

impl TimingBook {
    /// Packets of a port that wait for their stamp.
    fn waiting_at(&mut self, port: PortIndex) -> &mut VecDeque<Handed> {
        let count = self.waiting.len().max(port.place() + 1);
        self.waiting.resize_with(count, VecDeque::new);
        &mut self.waiting[port.place()]
    }

    /// Writes the departure of the packet that `stamp` is of, `at_ns` after the first instant;
    /// `false` if that packet is still to come.
    fn claim(&mut self, port: PortIndex, stamp: &DepartureStamp, at_ns: i64) -> bool {
        // Keys count up and wrap. Packets before this one have lost their stamps.
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
            self.departed.record(first.packet, first.due, at_ns.saturating_sub(first.due.0 as i64));
            let in_kernel_ns = at_ns.saturating_sub(first.at.0 as i64);
            self.in_kernel.record(first.packet, first.due, in_kernel_ns);
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

    fn handed(packet: u64, key: u32) -> Handed {
        let due = SimTime(packet * 1000);
        let at = SimTime(due.0 + 10);
        Handed {
            unit: 0,
            packet,
            due,
            act: due,
            at,
            outcome: Outcome::OnTime,
            key: Some(key),
            port: PortIndex::DATA,
            by: Role::First,
            shows: Marks::default(),
        }
    }

    const DATA: PortIndex = PortIndex::DATA;

    fn claim(book: &mut TimingBook, port: PortIndex, key: u32, at_ns: i64) -> bool {
        let stamp = DepartureStamp { key, at_ns: 0, by: Stamper::Kernel };
        book.claim(port, &stamp, at_ns)
    }

    #[test]
    fn stamps_find_their_packets_although_some_are_lost_and_keys_wrap() {
        let mut book = TimingBook { is_stamped: true, ..TimingBook::default() };
        let first = u32::MAX - 1;
        book.waiting_at(DATA).extend((0..4).map(|n| handed(n, first.wrapping_add(n as u32))));
        assert!(claim(&mut book, DATA, first, 25));
        // The second's stamp is lost; the third's key has wrapped to 0.
        assert!(claim(&mut book, DATA, 0, 2027));
        assert!(claim(&mut book, DATA, first, 25), "a stamp that comes twice is thrown away");
        assert!(!claim(&mut book, PortIndex(1), 1, 9), "the other port counts for itself");
        assert!(claim(&mut book, DATA, 1, 3020));
        assert!(!claim(&mut book, DATA, 2, 4020), "its packet has not been written down yet");
        assert_eq!((book.departed.count(), book.unstamped, book.unclaimed), (3, 1, 1));
        let worst = book.departed.figures().worst[0];
        assert_eq!((worst.packet, worst.error_ns), (2, 27));
        assert_eq!(book.in_kernel.figures().worst[0].error_ns, 17);
        assert_eq!(book.by_card, 0);
        book.waiting_at(DATA).push_back(handed(4, 2));
        assert!(book.claim(DATA, &DepartureStamp { key: 2, at_ns: 0, by: Stamper::Card }, 4020));
        assert_eq!((book.departed.count(), book.by_card), (4, 1));
    }
}
