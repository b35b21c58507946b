//! The send queue: packets on their way from the scheduler to the sender, and in the order in which
//! the sender acts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::engine::packet::Packet;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;

/// Time between two looks whether a full queue has room again.
const REST: Duration = Duration::from_millis(1);

/// A send queue with room for `capacity` packets: where packets are put in, from one thread, and
/// where they come out.
pub fn with_capacity(capacity: usize, clock: MonotonicClock) -> (SendQueueWriter, SendQueue) {
    let (producer, incoming) = RingBuffer::new(capacity);
    (SendQueueWriter { producer, clock }, SendQueue::new(incoming, capacity))
}

/// Where packets are put in.
pub struct SendQueueWriter {
    producer: Producer<Ready>,
    clock: MonotonicClock,
}

/// A packet with the instant at which it was put in.
struct Ready {
    packet: Packet,
    at: SimTime,
}

impl SendQueueWriter {
    /// Puts `packet` in, and waits for room if there is none; `false` if the sender has stopped.
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
}

/// A packet, or the rest of one, that waits for its time; of equal times the first to come goes first.
pub struct Scheduled {
    /// Time when the sender acts: when it is due, or earlier where the kernel needs time.
    pub act: SimTime,
    /// Time when it, or its next piece, is due.
    pub due: SimTime,
    order: u64,
    /// Time when it came into the send queue.
    pub ready: SimTime,
    /// The packet.
    pub packet: Packet,
    /// The bytes of a serial line that have arrived at `due`; `None` until the first bit is due.
    pub piece: Option<Range<usize>>,
    /// The key of the datagram that the kernel has built of it already.
    pub prepared: Option<u32>,
}

/// What waits for its time. Once it is made it asks the allocator for nothing, frees nothing and waits
/// for nobody: packets come by a wait-free queue. With any other, a thread that was stopped in the
/// middle of putting something in would have the sender spin until it runs again, which on the same
/// core it does not.
pub struct SendQueue {
    incoming: Consumer<Ready>,
    /// What is to be sent next. Not in the heap: the time that it takes to find is better spent after
    /// a packet is sent than when one is due.
    first: Option<Scheduled>,
    waiting: BinaryHeap<Reverse<Scheduled>>,
    capacity: usize,
    order: u64,
}

impl SendQueue {
    fn new(incoming: Consumer<Ready>, capacity: usize) -> Self {
        // One more: the rest of a serial transmission, when its place may be taken.
        let waiting = BinaryHeap::with_capacity(capacity + 1);
        Self { incoming, first: None, waiting, capacity, order: 0 }
    }

    /// Takes what has come in, as far as there is room; `act` says when the sender acts on a packet.
    /// Whether more may come.
    pub fn take(&mut self, act: impl Fn(&Packet) -> SimTime) -> bool {
        // Asked first: what was put in before its end was dropped is still to be taken.
        let is_open = !self.incoming.is_abandoned();
        while self.waiting.len() < self.capacity {
            let Ok(Ready { packet, at: ready }) = self.incoming.pop() else { return is_open };
            self.order += 1;
            let (act, due, order) = (act(&packet), packet.transmit.due, self.order);
            let scheduled =
                Scheduled { act, due, order, ready, packet, piece: None, prepared: None };
            self.waiting.push(Reverse(scheduled));
        }
        true
    }

    /// Puts the rest of a packet back.
    pub fn put_back(&mut self, rest: Scheduled) {
        self.waiting.push(Reverse(rest));
    }

    /// Finds what is to be sent next. A packet that the kernel has built stays the first: nothing else
    /// may be sent by its socket before it, and it goes within microseconds.
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

    /// The next packet, as it was scheduled.
    pub fn first_mut(&mut self) -> Option<&mut Scheduled> {
        self.first.as_mut()
    }

    /// Takes what is to be sent next, if `is_time` says so of when the sender acts.
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
