//! Output of a device, on its way to the device's link.
//!
//! | type | what it adds |
//! |---|---|
//! | [`Transmit`] | what a device gives out, and when it is due |
//! | [`Packet`] | whose it is, and what it is the first to show |
//! | [`super::run::send_queue::Scheduled`] | when the sender acts, and what it has done so far |
//! | [`super::run::send_log::SendRecord`] | what became of it |

use crate::config::rig::DeviceId;
use crate::devices::Transmit;
use crate::time::SimTime;
use crate::world::body_state::ShownPose;

/// Output of a device, with the events that it is the first to show.
#[derive(Debug)]
pub struct Packet {
    /// The device.
    pub device: DeviceId,
    /// The output with its due time.
    pub transmit: Transmit,
    /// Poses, objects and stimuli that this packet is the first to show.
    pub marks: Marks,
}

/// Events that the bytes show; latency measurements wait for the first packet that shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The latest pose of the robot's feed, or the latest command to its drive.
    pub pose: Option<ShownPose>,
    /// Watched objects with returns in the packet.
    pub seen: Option<Seen>,
    /// First firing in the packet.
    pub fired: Option<SimTime>,
    /// Stimuli that the packet is the first to carry, one bit each.
    pub stimuli: u32,
}

/// Objects that a lidar had returns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// A bit an object.
    pub objects: u64,
    /// Start of the packet's first firing.
    pub from: SimTime,
    /// Start of the packet's last firing.
    pub to: SimTime,
}

impl Marks {
    /// Adds the events of a later measurement.
    pub fn merge(&mut self, later: Marks) {
        self.pose = later.pose.or(self.pose);
        self.seen = match (self.seen, later.seen) {
            (Some(first), Some(then)) => {
                Some(Seen { objects: first.objects | then.objects, to: then.to, ..first })
            }
            (first, then) => then.or(first),
        };
        self.fired = self.fired.or(later.fired);
        self.stimuli |= later.stimuli;
    }
}
