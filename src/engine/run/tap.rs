//! A tap: copies nothing and holds nobody up. What has been sent goes on to whoever watches, instead of
//! being freed; when nobody keeps up, it is freed as ever.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::config::rig::DeviceId;
use crate::devices::Transmit;

/// Packets on their way to who watches.
const QUEUE: usize = 4096;

/// Something that a device has sent.
#[derive(Debug)]
pub struct Emitted {
    /// Whose it is.
    pub device: DeviceId,
    /// What, and when it was due.
    pub transmit: Transmit,
}

/// The end at which packets go in.
#[derive(Debug)]
pub struct Tap {
    queue: Sender<Emitted>,
    packets: Receiver<Emitted>,
    is_watched: AtomicBool,
}

impl Default for Tap {
    fn default() -> Self {
        let (queue, packets) = bounded(QUEUE);
        Self { queue, packets, is_watched: AtomicBool::new(false) }
    }
}

impl Tap {
    /// Takes what was sent, if somebody watches and there is room.
    pub fn pass(&self, device: DeviceId, transmit: Transmit) {
        if self.is_watched.load(Ordering::Relaxed) {
            // Whoever watches too slowly misses packets.
            let _ = self.queue.try_send(Emitted { device, transmit });
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

    /// The end at which they come out.
    pub fn packets(&self) -> &Receiver<Emitted> {
        &self.packets
    }
}
