//! Packets that are due much later than they are rendered, for example because a fault delays them. They wait here, so
//! that they do not fill the send queue: the scheduler waits while it is full, and the output of all devices with it.

use std::time::Duration;

use super::send_queue::SendQueueWriter;
use crate::engine::due_queue::DueQueue;
use crate::engine::packet::Packet;
use crate::time::SimTime;

/// Time before its due time at which a packet enters the send queue, in addition to the time by which packets are
/// rendered ahead.
const MARGIN: Duration = Duration::from_millis(100);
/// Largest number of bytes in the packets that wait here; it limits the memory. A delay of a minute of a VLS-128 needs
/// less than half of it. With more bytes, the earliest packets enter the send queue.
const MOST_WAITING_BYTES: usize = 1 << 30;

/// Input of the send queue, with the packets that are due too late to enter it now.
pub(super) struct DelayedQueue {
    queue: SendQueueWriter,
    /// Time before its due time at which a packet enters the send queue.
    near: Duration,
    /// Packets that are due later than `near_until`.
    later: DueQueue<Packet>,
    /// Number of bytes in the packets of `later`.
    bytes: usize,
    /// Packets that are due by this time enter the send queue at once. It never decreases.
    near_until: SimTime,
}

impl DelayedQueue {
    /// Puts packets into `queue`; `ahead` is the time by which packets are rendered ahead.
    pub(super) fn new(queue: SendQueueWriter, ahead: Duration) -> Self {
        let (later, near_until) = (DueQueue::default(), SimTime::ZERO);
        Self { queue, near: ahead + MARGIN, later, bytes: 0, near_until }
    }

    /// Adds `packet`. Packets with equal due times keep their order.
    pub(super) fn send(&mut self, packet: Packet) {
        let due = packet.transmit.due;
        if due <= self.near_until {
            // Fails only if the sender has stopped; the scheduler then stops too.
            self.queue.send(packet);
            return;
        }
        self.bytes += size(&packet);
        self.later.push(due, packet);
        while self.bytes > MOST_WAITING_BYTES
            && let Some(first) = self.pop_until(SimTime(u64::MAX))
        {
            self.queue.send(first);
        }
    }

    /// Moves packets that are due soon after `now` into the send queue while it has room. Waits for nothing.
    pub(super) fn release(&mut self, now: SimTime) {
        let limit = now + self.near;
        while let Some(due) = self.later.first_due().filter(|due| *due <= limit) {
            if !self.queue.has_room() {
                // A new packet that is due at `due` or later must not overtake those that wait here.
                self.near_until = SimTime(due.0 - 1);
                return;
            }
            if let Some(packet) = self.pop_until(due) {
                self.queue.send(packet);
            }
        }
        self.near_until = limit;
    }

    /// Moves all packets into the send queue. Waits while it is full.
    pub(super) fn finish(mut self) {
        while let Some(packet) = self.pop_until(SimTime(u64::MAX)) {
            if !self.queue.send(packet) {
                break;
            }
        }
    }

    fn pop_until(&mut self, limit: SimTime) -> Option<Packet> {
        let (_, packet) = self.later.pop_until(limit)?;
        self.bytes -= size(&packet);
        Some(packet)
    }
}

fn size(packet: &Packet) -> usize {
    packet.transmit.output.bytes().map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::profile::network::PortIndex;
    use crate::config::rig::DeviceId;
    use crate::devices::{Output, Transmit};
    use crate::engine::packet::FirstShown;
    use crate::engine::run::send_queue::{self, SendQueue};
    use crate::timing::clock::MonotonicClock;

    const fn at_ms(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    fn packet(due_ms: u64, number: u8) -> Packet {
        let output = Output::Datagram { port: PortIndex::DATA, bytes: vec![number] };
        let transmit = Transmit::new(at_ms(due_ms), output);
        Packet { device: DeviceId(0), transmit, first_shown: FirstShown::default() }
    }

    /// Numbers of the packets in the send queue, which is empty afterwards.
    fn emptied(queue: &mut SendQueue) -> Vec<u8> {
        let mut numbers = Vec::new();
        queue.take(|packet| packet.transmit.due);
        while queue.settle().is_some() {
            let sent = queue.pop_if(|_| true).expect("a packet is settled");
            let Output::Datagram { bytes, .. } = sent.packet.transmit.output else {
                panic!("another output")
            };
            numbers.push(bytes[0]);
        }
        // The sender always looks for new packets after sending.
        queue.take(|packet| packet.transmit.due);
        numbers
    }

    #[test]
    fn delayed_packets_leave_room_for_others_and_keep_their_order() {
        let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
        let (writer, mut queue) = send_queue::with_capacity(8, clock);
        let mut delayed = DelayedQueue::new(writer, Duration::ZERO);
        delayed.release(SimTime::ZERO);
        for number in 0..20 {
            delayed.send(packet(10_000, number));
        }
        delayed.send(packet(50, 100));
        assert_eq!(emptied(&mut queue), [100]);
        let now = at_ms(9950);
        delayed.release(now);
        delayed.send(packet(9990, 101));
        for (due_ms, number) in [(10_010, 21), (10_000, 20), (20_000, 22)] {
            delayed.send(packet(due_ms, number));
        }
        assert_eq!(emptied(&mut queue), [101, 0, 1, 2, 3, 4, 5]);
        let mut rest = Vec::new();
        for _ in 0..4 {
            delayed.release(now);
            rest.extend(emptied(&mut queue));
        }
        assert_eq!(rest, (6..=21).collect::<Vec<_>>());
        delayed.finish();
        assert_eq!(emptied(&mut queue), [22]);
    }
}
