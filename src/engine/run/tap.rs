//! A tap: copies nothing and holds nobody up. What has been sent goes on to whoever watches, instead of
//! being freed; when nobody keeps up, it is freed as ever.
//!
//! Each device has a lane of its own: of a lidar's thousands of packets some may be missed, but they crowd out no
//! receiver's one message a second.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::config::rig::DeviceId;
use crate::devices::Transmit;

/// Packets of a device on their way to who watches.
const LANE: usize = 4096;

/// Something that a device has sent.
#[derive(Debug)]
pub struct Emitted {
    /// Device that sent it.
    pub device: DeviceId,
    /// What, and when it was due.
    pub transmit: Transmit,
}

/// Where packets go in and come out.
#[derive(Debug)]
pub struct Tap {
    /// Lanes by device.
    lanes: Vec<(Sender<Transmit>, Receiver<Transmit>)>,
    is_watched: AtomicBool,
}

impl Tap {
    /// For so many devices; nobody watches.
    pub fn new(devices: usize) -> Self {
        let lanes = (0..devices).map(|_| bounded(LANE)).collect();
        Self { lanes, is_watched: AtomicBool::new(false) }
    }

    /// Takes what was sent, if somebody watches and there is room.
    pub fn pass(&self, device: DeviceId, transmit: Transmit) {
        if self.is_watched.load(Ordering::Relaxed) {
            // Whoever watches too slowly misses packets.
            let _ = self.lanes[device.0].0.try_send(transmit);
        }
    }

    /// Says whether somebody watches.
    pub fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// The next packet of each device that has one.
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
