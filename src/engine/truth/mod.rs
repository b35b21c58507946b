//! Ground truth of a run in addition to its packets: all poses, and the origin of each return.
//!
//! ```text
//! devices, sensors, faults, hosts --events--> queue --> one thread: order, encode, compress --> file, datagrams
//! ```
//!
//! [`TruthSender`] puts events into a bounded queue. In real time an event that finds no room is dropped and
//! counted; a recording waits. [`log`] is the thread and [`mod@file`] the file. [`kinds`] has the schemas of
//! messages and [`messages`] their values; [`poses`], [`measured`] and [`frames`] make them. [`packets`]
//! turns the ground truth of a packet into a message, [`labels`] has the names of parts, and [`stream`] sends
//! poses as datagrams. `docs/TRUTH.md` describes the format.

pub(crate) mod file;
mod frames;
pub mod kinds;
pub mod labels;
pub mod log;
mod measured;
pub mod messages;
pub mod packets;
pub mod poses;
pub(crate) mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::Value;

use self::kinds::Kind;
use super::faults::Row;
use super::host_events::HostInput;
use crate::config::rig::DeviceId;
use crate::config::rig::faults::FaultConfig;
use crate::config::rig::schedule::Schedule;
use crate::devices::ptp::account::ClockAccount;
use crate::devices::{Output, PacketTruth};
use crate::sensors::Measurement;
use crate::sensors::camera::truth::FrameTruth;
use crate::time::SimTime;
use crate::wire::truth::Way;

/// Length of the queue, events. It holds the packets of the busiest lidar for 0.2 s.
const QUEUE: usize = 4096;
/// In real time, packets are dropped if at least this number of events is queued. The rest of the queue is for other
/// events, which are few. So a lidar's packets displace no poses.
const QUEUE_FOR_PACKETS: usize = QUEUE / 4 * 3;

/// A JSON message.
#[derive(Clone)]
pub struct JsonMessage {
    /// Topic of the message, such as `/devices/NAME/packets`.
    pub topic: String,
    /// Kind of the message.
    pub kind: &'static Kind,
    /// Value of the message.
    pub value: Value,
}

impl JsonMessage {
    fn of(topic: impl Into<String>, kind: &'static Kind, value: Value) -> Self {
        Self { topic: topic.into(), kind, value }
    }
}

/// An event of the ground truth.
pub enum TruthEvent {
    /// A packet leaves, unless the link refuses it.
    Packet(PacketEvent),
    /// A sensor other than a lidar or a camera has measured.
    Measured(DeviceId, Box<Measurement>),
    /// State of a device's PTP clock at an instant.
    Clock(DeviceId, ClockAccount),
    /// A camera sends a frame.
    Frame(DeviceId, Box<FrameTruth>),
    /// A fault had an effect.
    Fault(Row),
    /// A fault was added during the run.
    FaultAdded(Box<FaultConfig>),
    /// The fault with this index has a new schedule.
    Rescheduled(usize, Schedule),
    /// A host command.
    HostInput(HostInput),
    /// All events before this time have been sent.
    Until(SimTime),
}

/// A packet with its ground truth.
pub struct PacketEvent {
    /// Device that sent the packet.
    pub device: DeviceId,
    /// Due time of the packet.
    pub due: SimTime,
    /// Link by which the packet leaves.
    pub way: Way,
    /// Index of the port by which a datagram leaves; 0 for other packets.
    pub port: u8,
    /// Bytes of the packet.
    pub bytes: Box<[u8]>,
    /// Ground truth of the packet.
    pub truth: PacketTruth,
}

impl PacketEvent {
    /// The event of a device's output; `None` for output without bytes.
    pub fn of(device: DeviceId, due: SimTime, output: &Output, truth: PacketTruth) -> Option<Self> {
        let (way, port) = match output {
            Output::Datagram { port, .. } => (Way::Datagram, port.0),
            Output::BytesTo(..) => (Way::Peer, 0),
            _ => (Way::Line, 0),
        };
        Some(Self { device, due, way, port, bytes: output.bytes()?.into(), truth })
    }
}

/// Sends events to the thread that writes the ground truth; each part of a run has a clone.
#[derive(Clone, Debug)]
pub struct TruthSender {
    queue: Sender<TruthEvent>,
    waits: bool,
    dropped: Arc<AtomicU64>,
}

impl TruthSender {
    /// A sender and its queue. If `waits` is set, senders wait for room and no event is lost.
    pub fn new(waits: bool) -> (Self, Receiver<TruthEvent>) {
        let (queue, events) = bounded(QUEUE);
        (Self { queue, waits, dropped: Arc::default() }, events)
    }

    /// Sends an event. If the queue has no room, either waits or drops and counts the event, see [`TruthSender::new`].
    pub fn tell(&self, event: TruthEvent) {
        // Sending fails only if the thread has ended after an error, which the thread reports.
        let is_lost = match self.waits {
            true => self.queue.send(event).is_err(),
            false => {
                let is_packet = matches!(event, TruthEvent::Packet(_));
                is_packet && self.queue.len() >= QUEUE_FOR_PACKETS
                    || self.queue.try_send(event).is_err()
            }
        };
        if is_lost {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of lost events so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_crowd_out_nothing_else() {
        let (teller, events) = TruthSender::new(false);
        let packet = |due| {
            let output = Output::Bytes(vec![0]);
            PacketEvent::of(DeviceId(0), SimTime(due), &output, PacketTruth::default()).unwrap()
        };
        for due in 0..2 * QUEUE as u64 {
            teller.tell(TruthEvent::Packet(packet(due)));
        }
        assert_eq!(teller.dropped(), (2 * QUEUE - QUEUE_FOR_PACKETS) as u64);
        for at in 0..(QUEUE - QUEUE_FOR_PACKETS) as u64 {
            teller.tell(TruthEvent::Until(SimTime(at)));
        }
        assert_eq!(events.len(), QUEUE);
        assert_eq!(teller.dropped(), (2 * QUEUE - QUEUE_FOR_PACKETS) as u64);
    }
}
