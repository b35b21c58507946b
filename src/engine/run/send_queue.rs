//! The send queue: packets between scheduler and sender, sorted by their time of sending.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::engine::packet::Packet;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;

/// Time between two checks for room in a full queue.
const REST: Duration = Duration::from_millis(1);

/// Creates a send queue for `capacity` packets. Returns its input, for one thread, and the queue itself.
pub fn with_capacity(capacity: usize, clock: MonotonicClock) -> (SendQueueWriter, SendQueue) {
    let (producer, incoming) = RingBuffer::new(capacity);
    let queue = SendQueue::new(incoming, capacity);
    (SendQueueWriter { producer, taken: Arc::clone(&queue.taken), clock }, queue)
}

/// Input of the send queue.
pub struct SendQueueWriter {
    producer: Producer<Ready>,
    /// See [`SendQueue::taken`].
    taken: Arc<AtomicUsize>,
    clock: MonotonicClock,
}

/// A packet with the instant at which it was queued.
struct Ready {
    packet: Packet,
    at: SimTime,
}

impl SendQueueWriter {
    /// Adds `packet`, and waits while the queue is full. Returns false if the sender has stopped.
    pub fn send(&mut self, packet: Packet) -> bool {
        let mut ready = Ready { packet, at: self.clock.now() };
        loop {
            match self.producer.push(ready) {
                Ok(()) => return true,
                Err(PushError::Full(_)) if self.producer.is_abandoned() => return false,
                Err(PushError::Full(back)) => ready = back,
            }
            self.clock.rest(REST);
        }
    }

    /// Whether more than a quarter of the queue is free. Packets that can also be added later leave this quarter to
    /// others.
    pub fn has_room(&self) -> bool {
        let capacity = self.producer.buffer().capacity();
        let added = capacity - self.producer.slots();
        4 * (added + self.taken.load(Ordering::Relaxed)) < 3 * capacity
    }
}

/// A packet, or the rest of one, that waits for its time of sending. Packets with equal times keep their order.
pub struct Scheduled {
    /// Time of sending: the due time, minus the lead for a datagram.
    pub act: SimTime,
    /// Due time of the packet or of its next piece.
    pub due: SimTime,
    order: u64,
    /// Time at which the packet entered the send queue.
    pub ready: SimTime,
    /// The whole packet, even if some of its pieces are already sent.
    pub packet: Packet,
    /// Byte range of the next piece of a serial packet. The piece is written at `due`, the time at which its last bit
    /// would have arrived on a real line. `None` before the packet itself is due.
    pub piece: Option<Range<usize>>,
    /// Key of the datagram, if the kernel has already built it.
    pub prepared: Option<u32>,
}

/// Packets that wait for their time of sending. After its creation the queue allocates nothing, frees nothing and waits
/// for no thread: packets arrive by a wait-free queue. With a lock, a thread that is paused while it adds a packet
/// would make the sender spin, and on the same core that thread could not continue.
pub struct SendQueue {
    incoming: Consumer<Ready>,
    /// Next packet to send. It is outside the heap, so that the search happens after sending and not at the due time.
    first: Option<Scheduled>,
    waiting: BinaryHeap<Reverse<Scheduled>>,
    /// Length of `waiting`, for the input.
    taken: Arc<AtomicUsize>,
    capacity: usize,
    order: u64,
}

impl SendQueue {
    fn new(incoming: Consumer<Ready>, capacity: usize) -> Self {
        // One place more, for the rest of a serial transmission that is put back into a full queue.
        let waiting = BinaryHeap::with_capacity(capacity + 1);
        Self { incoming, first: None, waiting, taken: Arc::default(), capacity, order: 0 }
    }

    /// Takes new packets from the input while there is room; `act` returns the time of sending of a packet. Returns
    /// false if the input was dropped and all its packets have been taken.
    pub fn take(&mut self, act: impl Fn(&Packet) -> SimTime) -> bool {
        // Checked first: packets that were added before the input was dropped must still be taken.
        let is_open = !self.incoming.is_abandoned();
        loop {
            // Stored for each packet, so that the input misses at most one packet.
            self.taken.store(self.waiting.len(), Ordering::Relaxed);
            if self.waiting.len() >= self.capacity {
                return true;
            }
            let Ok(Ready { packet, at: ready }) = self.incoming.pop() else { return is_open };
            self.order += 1;
            let (act, due, order) = (act(&packet), packet.transmit.due, self.order);
            let scheduled =
                Scheduled { act, due, order, ready, packet, piece: None, prepared: None };
            self.waiting.push(Reverse(scheduled));
        }
    }

    /// Puts the rest of a packet back into the queue.
    pub fn put_back(&mut self, rest: Scheduled) {
        self.waiting.push(Reverse(rest));
    }

    /// Finds the next packet to send; `None` if no packet waits. A packet that the kernel has already built stays
    /// first: the socket cannot send another packet before this one, which leaves within microseconds.
    pub fn settle(&mut self) -> Option<&Scheduled> {
        if self.first.as_ref().is_some_and(|first| first.prepared.is_some()) {
            return self.first.as_ref();
        }
        let is_before =
            |Reverse(top): &Reverse<Scheduled>| self.first.as_ref().is_none_or(|first| top < first);
        if self.waiting.peek().is_some_and(is_before)
            && let Some(Reverse(top)) = self.waiting.pop()
            && let Some(other) = self.first.replace(top)
        {
            self.waiting.push(Reverse(other));
        }
        self.first.as_ref()
    }

    /// The packet that [`SendQueue::settle`] found last, with its times; `None` without one.
    pub fn first_mut(&mut self) -> Option<&mut Scheduled> {
        self.first.as_mut()
    }

    /// Removes and returns the next packet, if `is_time` returns true for its sending time.
    pub fn pop_if(&mut self, is_time: impl Fn(SimTime) -> bool) -> Option<Scheduled> {
        self.first.take_if(|first| is_time(first.act))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.act, self.order) == (other.act, other.order)
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.act, self.order).cmp(&(other.act, other.order))
    }
}
