//! From orders to motion: what devices and hosts tell the robot's drive and joints.

use std::sync::Arc;

use super::world::LiveWorld;
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};
use crate::world::vehicle::{Driven, STEP_NS};

/// What the rig's devices and hosts can move.
///
/// An order that a device gives at T holds from T + `engine.render_ahead_ms` on: what is before that is
/// integrated already, so that it can be measured ahead. The time is the same for every order, and so
/// what the robot does depends on what was said and when, never on how far ahead workers were.
pub struct Actuators<'world> {
    world: &'world LiveWorld,
    driven: Option<Arc<Driven>>,
    ahead_ns: u64,
    /// Serial number of the latest command.
    serial: u64,
}

impl<'world> Actuators<'world> {
    /// The actuators of `world`, which are `ahead_ns` ahead of the devices.
    pub fn new(world: &'world LiveWorld, ahead_ns: u64) -> Self {
        let driven = world.trajectory.driven().cloned();
        if let Some(driven) = &driven {
            driven.restart();
        }
        world.joints.restart();
        Self { world, driven, ahead_ns, serial: 0 }
    }

    /// Takes an order that is given at `at`; what the host said came at `arrived`.
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

    /// Moves all as far as no order can change it that is given at `slowest` or later, or to `at_least`
    /// if no order will come any more; up to where all motion is known.
    pub fn advance(&mut self, slowest: SimTime, at_least: Option<SimTime>) -> SimTime {
        let joints = &self.world.joints;
        if self.driven.is_none() && joints.known_until() == SimTime(u64::MAX) {
            return SimTime(u64::MAX);
        }
        let until = SimTime(slowest.0.saturating_add(self.ahead_ns));
        // A step more: what is asked for may end between two of them.
        let at_least = at_least.map_or(until, |end| SimTime(end.0.saturating_add(STEP_NS)));
        let until = until.max(at_least);
        joints.advance(until);
        let Some(driven) = &self.driven else { return joints.known_until() };
        driven.advance(until, self.world.caster.as_ref());
        driven.known_until().min(joints.known_until())
    }
}
