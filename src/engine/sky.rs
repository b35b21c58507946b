//! Checks whether the GNSS receivers of a rig can get a fix where the robot starts.
//!
//! In a closed room, an emulated GNSS receiver sends the same as a real one: sentences without a position, and no PPS.
//! This is correct, but rarely intended, so `check` warns.

use std::fmt;

use super::{LiveWorld, build_devices};
use crate::config::rig::{CableKind, DeviceId, Rig, TrajectoryConfig};
use crate::sensors::SkyOutlook;
use crate::sensors::lidar::Scratch;
use crate::time::SimTime;
use crate::timing::clock::epoch_now_or;

/// A GNSS receiver is reported only if it cannot get a fix within this time after the start, seconds.
const GRACE_S: u64 = 5;
/// Time for which the robot's path is checked in advance, seconds.
const LOOKED_AT_S: u64 = 60;

/// A GNSS receiver whose view of the sky the scene hides at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenSky {
    /// Name of the receiver.
    pub receiver: String,
    /// View of the sky at the start.
    pub at_start: SkyOutlook,
    /// First time after the start at which enough satellites are visible for a fix, seconds; `None` if this does not
    /// happen within the first minute.
    pub fix_at_s: Option<u64>,
    /// Names of the devices that this receiver supplies through their `gps_cable`.
    pub feeds: Vec<String>,
}

/// Whether [`hidden`] applies: a device of `rig` has a GPS output, and neither a feed nor a host moves the robot.
pub fn is_asked_for(rig: &Rig) -> bool {
    let is_moved_from_outside =
        matches!(rig.robot.trajectory, TrajectoryConfig::Feed(_) | TrajectoryConfig::Drive(_));
    !is_moved_from_outside && rig.devices.iter().any(|device| device.profile.product.has_gps_output)
}

/// GNSS receivers of `rig` that have no fix in the first seconds because the scene hides the satellites. The receivers
/// are assumed to have been on for a long time. The robot's path is checked once per second. If a feed or a host moves
/// the robot, its path is unknown and the list is empty.
pub fn hidden(rig: &Rig, world: &LiveWorld) -> Vec<HiddenSky> {
    if !is_asked_for(rig) {
        return Vec::new();
    }
    let mut scratch = Scratch::default();
    let built = build_devices(rig, epoch_now_or(rig.start_utc));
    let mut found = Vec::new();
    for (index, (config, built)) in rig.devices.iter().zip(&built).enumerate() {
        if config.is_line() {
            continue;
        }
        let around = world.surroundings_of(DeviceId(index), &config.body_from_sensor);
        let mut outlook = |second: u64| {
            built.sensor.sky_outlook(SimTime(second * 1_000_000_000), &around, &mut scratch)
        };
        let Some(at_start) = outlook(0) else { continue };
        let fix_at_s =
            (0..=LOOKED_AT_S).find(|second| outlook(*second).is_some_and(|sky| sky.has_fix));
        if fix_at_s.is_some_and(|second| second <= GRACE_S) {
            continue;
        }
        let fed = rig.devices.iter().filter(|other| {
            other.cable_from == Some(DeviceId(index)) && other.cable == CableKind::Link
        });
        let feeds = fed.map(|other| other.name.clone()).collect();
        found.push(HiddenSky { receiver: config.name.clone(), at_start, fix_at_s, feeds });
    }
    found
}

impl fmt::Display for HiddenSky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SkyOutlook { received, above_mask, .. } = self.at_start;
        write!(
            f,
            "warning: {}: the scene hides the sky from its antenna, which receives {received} of \
             {above_mask} satellites at the start: ",
            self.receiver
        )?;
        match self.fix_at_s {
            Some(second) => write!(f, "it has no fix in the first {second} s")?,
            None => write!(f, "it has no fix in the first minute of the robot's path")?,
        }
        if !self.feeds.is_empty() {
            let (names, until) =
                (self.feeds.join(", "), self.fix_at_s.map_or("", |_| " until then"));
            write!(
                f,
                "\n  Without a fix there is no PPS (time pulse): {names}, with gps_cable = \"{}\", \
                 does not set its clock{until}.",
                self.receiver
            )?;
        }
        write!(
            f,
            "\n  Choose a scene with open sky (courtyard instead of room), or mount the antenna \
             under it."
        )
    }
}
