//! A robot that its computer drives: orders in, poses and wheel travel out.
//!
//! The vehicle is integrated in steps of a millisecond by one thread ([`Driven::advance`]). What it did
//! is kept for a while, so that any thread can ask for the pose at a firing ([`Driven::state`]). An order
//! holds from its [`Command::at`] on, which is never before what is integrated already: what the robot
//! did depends on the orders and their times alone.

mod history;
mod plant;

use std::sync::{Mutex, RwLock};

use self::history::History;
use self::plant::Plant;
use crate::config::rig::drive::DriveConfig;
use crate::time::SimTime;
use crate::world::actuation::Command;
use crate::world::raycast::RayCaster;
use crate::world::trajectory::{BodyState, ShownPose};

/// A step of the integration, nanoseconds.
pub const STEP_NS: u64 = 1_000_000;

/// What encoders at the wheels can know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WheelState {
    /// How far each side's wheels have turned, as travel on their circumference, metres: left, right.
    pub travel_m: [f64; 2],
    /// The same by time, m/s.
    pub speed_m_s: [f64; 2],
    /// What they are to turn at, m/s.
    pub setpoint_m_s: [f64; 2],
    /// Angle of the wheel in the middle of the front axle, left positive, radians; 0 for robots that do
    /// not steer.
    pub steering_rad: f64,
}

/// A robot that is driven. One thread writes, any thread reads.
#[derive(Debug)]
pub struct Driven {
    config: DriveConfig,
    plant: Mutex<Plant>,
    history: RwLock<History>,
}

impl Driven {
    /// A robot that stands where `config` says.
    pub fn new(config: DriveConfig) -> Self {
        let plant = Plant::new(&config);
        let history = RwLock::new(History::starting_with(plant.sample()));
        Self { config, plant: Mutex::new(plant), history }
    }

    /// The rig's words.
    pub fn config(&self) -> &DriveConfig {
        &self.config
    }

    /// Takes an order that holds from `command.at` on, which is not before
    /// [`Driven::known_until`]; orders of the same instant hold in the order of their serial numbers.
    pub fn command(&self, command: Command) {
        self.plant.lock().expect("no holder panics").command(command);
    }

    /// Forgets everything: the robot stands where the rig says, and the run begins.
    pub fn restart(&self) {
        let plant = Plant::new(&self.config);
        *self.history.write().expect("no holder panics") = History::starting_with(plant.sample());
        *self.plant.lock().expect("no holder panics") = plant;
    }

    /// Integrates to the last whole step at or before `until`.
    pub fn advance(&self, until: SimTime, _caster: &dyn RayCaster) {
        let mut plant = self.plant.lock().expect("no holder panics");
        while plant.now().0 + STEP_NS <= until.0 {
            plant.step();
            self.history.write().expect("no holder panics").push(plant.sample());
        }
    }

    /// What happens up to here is known.
    pub fn known_until(&self) -> SimTime {
        self.history.read().expect("no holder panics").latest().at
    }

    /// Position, orientation and their rates at `t`, which is not after [`Driven::known_until`].
    pub fn state(&self, t: SimTime) -> BodyState {
        self.history.read().expect("no holder panics").state(t)
    }

    /// What the wheels have done by `t`.
    pub fn wheels(&self, t: SimTime) -> WheelState {
        self.history.read().expect("no holder panics").wheels(t)
    }

    /// The order that holds at `t`; `None` before the first.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        self.history.read().expect("no holder panics").shown_at(t)
    }
}

#[cfg(test)]
mod tests;
