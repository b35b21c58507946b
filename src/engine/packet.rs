//! Output of a device until it leaves by the device's link.
//!
//! | type | added information |
//! |---|---|
//! | [`Transmit`] | the output of a device and its due time |
//! | [`Packet`] | the device, and the events that this output is the first to show |
//! | [`super::run::send_queue::Scheduled`] | the time at which the sender acts, and its progress |
//! | [`super::run::send_log::SendRecord`] | the outcome |

use crate::config::rig::DeviceId;
use crate::devices::Transmit;
use crate::time::SimTime;
use crate::world::body_state::ShownPose;

/// Output of a device, with the events that this output is the first to show.
#[derive(Debug)]
pub struct Packet {
    /// Device that produced the output.
    pub device: DeviceId,
    /// The output with its due time.
    pub transmit: Transmit,
    /// Poses, objects and stimuli that this packet is the first to show.
    pub first_shown: FirstShown,
}

/// Events whose effect the bytes of a packet are the first to contain. Latency measurements end with this packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstShown {
    /// The latest pose of the robot's feed, or the latest command to its drive.
    pub pose: Option<ShownPose>,
    /// Watched objects from which the packet has returns.
    pub seen: Option<Seen>,
    /// Start of the first firing whose measurement the packet contains.
    pub fired: Option<SimTime>,
    /// Stimuli that the packet is the first to carry: bit `n` stands for stimulus `n` of the rig.
    pub stimuli: u32,
}

/// Objects from which a lidar had returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Bit `n` is set if the packet has returns from object `n` of the rig.
    pub objects: u64,
    /// Start of the packet's first firing.
    pub from: SimTime,
    /// Start of the packet's last firing.
    pub to: SimTime,
}

impl FirstShown {
    /// Adds the events of a later measurement; a later pose replaces the earlier one.
    pub fn merge(&mut self, later: FirstShown) {
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
