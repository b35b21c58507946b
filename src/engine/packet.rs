//! What a device sends, on its way from the device to its link.
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

/// Something to send: whose it is, and what it is the first to show.
#[derive(Debug)]
pub struct Packet {
    /// The device.
    pub device: DeviceId,
    /// What, and when.
    pub transmit: Transmit,
    /// Poses, objects and stimuli that no packet before it showed.
    pub marks: Marks,
}

/// What bytes show, for those who wait for the first that do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The latest pose of the robot's feed, or the latest order to its drive.
    pub pose: Option<ShownPose>,
    /// Watched objects with returns in it.
    pub seen: Option<Seen>,
    /// The first firing in it.
    pub fired: Option<SimTime>,
    /// Stimuli that it is the first to carry, a bit each.
    pub stimuli: u32,
}

/// Objects that a lidar had returns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// A bit an object.
    pub objects: u64,
    /// The first firing.
    pub from: SimTime,
    /// The last.
    pub to: SimTime,
}

impl Marks {
    /// Adds what a later measurement shows.
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
