//! From commands to motion: how devices and hosts move the robot's drive and joints.

use std::sync::Arc;

use super::world::LiveWorld;
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};
use crate::world::vehicle::{Driven, STEP_NS};

/// Applies the commands of devices and hosts to the drive and the joints of a rig.
///
/// A command that a device issues at T takes effect at T + `engine.render_ahead_ms`. The motion before that instant
/// can already be computed, so sensors can measure ahead of time. The delay is the same for every command. So the
/// robot's motion depends only on the commands and their times, never on the progress of the workers.
pub struct Actuators<'world> {
    world: &'world LiveWorld,
    driven: Option<Arc<Driven>>,
    ahead_ns: u64,
    /// Serial number of the latest command.
    serial: u64,
}

impl<'world> Actuators<'world> {
    /// The actuators of `world`, at their start positions. A command takes effect `ahead_ns` after it was issued.
    pub fn new(world: &'world LiveWorld, ahead_ns: u64) -> Self {
        let driven = world.trajectory.driven().cloned();
        if let Some(driven) = &driven {
            driven.restart();
        }
        world.joints.restart();
        Self { world, driven, ahead_ns, serial: 0 }
    }

    /// Accepts a command of a device or host, issued at `at`. The bytes that caused the command arrived at `arrived`.
    pub fn tell(&mut self, at: SimTime, arrived: SimTime, actuation: Actuation) {
        self.serial += 1;
        let at = SimTime(at.0.saturating_add(self.ahead_ns));
        let command = Command { at, serial: self.serial, arrived, actuation };
        match (actuation, &self.driven) {
            (Actuation::JointRate { .. } | Actuation::JointAngle { .. }, _) => {
                self.world.joints.command(command);
            }
            (_, Some(driven)) => driven.command(command),
            (_, None) => {}
        }
    }

    /// Whether commands can move the robot or its joints.
    pub fn can_move_anything(&self) -> bool {
        self.driven.is_some() || self.world.joints.known_until() != SimTime(u64::MAX)
    }

    /// Integrates all motion that no later command can change. `slowest` is the earliest time at which a later command
    /// can be issued. When no more commands follow, `at_least` is the time up to which sensors need the motion.
    /// Returns the time up to which all motion is known.
    pub fn advance(&mut self, slowest: SimTime, at_least: Option<SimTime>) -> SimTime {
        let joints = &self.world.joints;
        let until = SimTime(slowest.0.saturating_add(self.ahead_ns));
        // One integration step more, because the target can lie between two steps.
        let at_least = at_least.map_or(until, |end| SimTime(end.0.saturating_add(STEP_NS)));
        let until = until.max(at_least);
        joints.advance(until);
        let Some(driven) = &self.driven else { return joints.known_until() };
        driven.advance(until, self.world.caster.as_ref());
        driven.known_until().min(joints.known_until())
    }
}
