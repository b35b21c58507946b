//! A tap that passes sent packets to observers. Without observers, the packets are freed. The tap neither copies nor
//! delays packets. If the observers are too slow, they miss packets.
//!
//! Each device has its own queue. A lidar's thousands of packets can overflow the lidar's queue, but not that of a GNSS
//! receiver.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::config::rig::DeviceId;
use crate::devices::Transmit;

/// Largest number of packets in a device's queue to the observers.
const LANE: usize = 4096;

/// A packet that a device has sent.
#[derive(Debug)]
pub struct Emitted {
    /// Device that sent the packet.
    pub device: DeviceId,
    /// The packet with its due time.
    pub transmit: Transmit,
}

/// Queues from the sender to the observers.
#[derive(Debug)]
pub struct Tap {
    /// Queues by device.
    lanes: Vec<(Sender<Transmit>, Receiver<Transmit>)>,
    is_watched: AtomicBool,
}

impl Tap {
    /// Creates queues for the given number of devices; nothing is observed at first.
    pub fn new(devices: usize) -> Self {
        let lanes = (0..devices).map(|_| bounded(LANE)).collect();
        Self { lanes, is_watched: AtomicBool::new(false) }
    }

    /// Queues a sent packet for the observers. The packet is freed instead if packets are not observed or the queue of
    /// its device is full.
    pub fn pass(&self, device: DeviceId, transmit: Transmit) {
        if self.is_watched.load(Ordering::Relaxed) {
            // Observers that are too slow miss packets.
            let _ = self.lanes[device.0].0.try_send(transmit);
        }
    }

    /// Switches observation on or off.
    pub fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    /// Whether packets are observed.
    pub fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Takes the next packet from each device's queue; devices without a packet are skipped.
    pub fn next_of_each(&self) -> impl Iterator<Item = Emitted> {
        let lanes = (0..).map(DeviceId).zip(&self.lanes);
        lanes.filter_map(|(device, (_, packets))| {
            packets.try_recv().ok().map(|transmit| Emitted { device, transmit })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SimTime;

    #[test]
    fn who_sends_much_crowds_out_nobody() {
        let tap = Tap::new(2);
        let pass = |device, due| {
            tap.pass(DeviceId(device), Transmit::bytes(SimTime(due), Vec::new()));
        };
        pass(0, 0);
        assert_eq!(tap.next_of_each().count(), 0, "nobody watches");
        tap.set_watched(true);
        (0..2 * LANE as u64).for_each(|due| pass(0, due));
        pass(1, 7);
        let seen = || -> Vec<_> {
            tap.next_of_each().map(|packet| (packet.device.0, packet.transmit.due.0)).collect()
        };
        assert_eq!(seen(), [(0, 0), (1, 7)]);
        assert_eq!(seen(), [(0, 1)]);
        assert_eq!(std::iter::from_fn(|| tap.next_of_each().next()).count(), LANE - 2);
    }
}
