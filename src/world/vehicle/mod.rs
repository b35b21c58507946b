//! A robot that its computer drives: orders in, poses and wheel travel out.
//!
//! ```text
//! drivetrain.rs   set points, motors with their lag, the body's motion on firm ground
//! patches.rs      centres of rotation that vary with the ground
//! ride.rs         height, roll and pitch on four wheels, smoothed or sprung
//! obstacles.rs    what the body's box runs into
//! plant.rs        all of them, a step of a millisecond at a time
//! history.rs      the last minute, at any instant of it
//! ```
//!
//! The vehicle is integrated by one thread ([`Driven::advance`]). What it did is kept for a minute, so that
//! any thread can ask for the pose at a firing ([`Driven::state`]). An order holds from the first whole
//! millisecond at or after its [`Command::at`] on, which is never before what is integrated already: what
//! the robot did depends on the orders and their times alone.
//!
//! docs/DRIVING.md has the equations, and says what stops the robot.

mod drivetrain;
mod history;
mod obstacles;
mod patches;
mod plant;
mod ride;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, RwLock};

use glam::DVec3;

pub use self::drivetrain::WheelState;
pub use self::history::STEP_NS;
use self::history::{Course, History, Step};
use self::obstacles::{Ahead, Passable};
use self::plant::{Incident, Plant};
use crate::config::rig::drive::DriveConfig;
use crate::time::SimTime;
use crate::world::actuation::Command;
use crate::world::body_state::{BodyState, ShownPose};
use crate::world::ground::GroundHeight;
use crate::world::materials;
use crate::world::raycast::RayCaster;
use crate::world::scene::Scene;

/// Events that are kept until they are taken.
const MOST_EVENTS: usize = 10_000;

/// A robot that is driven. One thread writes, any thread reads.
pub struct Driven {
    config: DriveConfig,
    vehicle: Mutex<Vehicle>,
    history: RwLock<History>,
}

/// A millisecond of the vehicle's motion, complete: x, y, z (World, metres), roll, pitch and yaw (radians), the
/// travel of the left and right wheels (metres), and their rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VehicleStep {
    /// Its start.
    pub at: SimTime,
    /// The values at its start.
    pub from: Course,
    /// Rates at its start, middle and end.
    pub rates: [Course; 3],
    /// Set points of both sides.
    pub setpoint_m_s: [f64; 2],
    /// Steering angles at its start and end.
    pub steering_rad: [f64; 2],
    /// Height of the ground under each wheel at its start, World, metres.
    pub terrain_m: [f64; 4],
    /// The order that holds.
    pub shown: Option<ShownPose>,
}

/// State of the writing thread.
struct Vehicle {
    plant: Plant,
    passable: Passable,
    names: Option<Names>,
    events: VecDeque<DriveEvent>,
    /// Contacts since the start of the run.
    contacts: u64,
    /// Orders that found no room to wait.
    refused: u64,
}

/// Names of things.
struct Names {
    scene: Arc<Scene>,
    /// Names of moving objects, in the rig's order.
    objects: Vec<String>,
}

/// Something that befell the robot.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveEvent {
    /// When.
    pub at: SimTime,
    /// What.
    pub what: DriveEventKind,
}

/// Kinds of [`DriveEvent`].
#[derive(Clone, Debug, PartialEq)]
pub enum DriveEventKind {
    /// The body touches something, which stops it; its wheels turn on.
    Touches {
        /// The object's name, or mesh and material of the scene.
        name: String,
        /// Where, World, metres.
        point_m: DVec3,
    },
    /// Nothing is in its way any more.
    IsFree,
}

impl Driven {
    /// A robot that stands where `config` says, with wheels at the corners of a `footprint_m` (length,
    /// width), on a plane without obstacles.
    pub fn new(config: DriveConfig, footprint_m: [f64; 2]) -> Self {
        let plant = Plant::new(&config, footprint_m);
        let history = RwLock::new(History::starting_with(plant.coming_step()));
        let vehicle = Vehicle {
            plant,
            passable: Passable::default(),
            names: None,
            events: VecDeque::new(),
            contacts: 0,
            refused: 0,
        };
        Self { config, vehicle: Mutex::new(vehicle), history }
    }

    /// The rig's words.
    pub fn config(&self) -> &DriveConfig {
        &self.config
    }

    /// Puts the robot on `ground`, whose height, roll and pitch it takes from now on; to be called before
    /// the run. False if there is no ground where it stands.
    pub fn stand_on(&self, ground: Arc<dyn GroundHeight>) -> bool {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        let stands = vehicle.plant.stand_on(ground);
        self.begin_history(&vehicle.plant);
        stands
    }

    /// Tells what the scene consists of and what the `objects` are called that move in it, so that the robot
    /// knows what it drives through and what it touched.
    pub fn look_around(&self, scene: Arc<Scene>, objects: Vec<String>) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        let through = &self.config.body.drives_through;
        vehicle.passable = Passable {
            materials: scene.materials.iter().map(|m| is_among(&m.name, through)).collect(),
            instances: scene.instances.len() as u32,
        };
        vehicle.names = Some(Names { scene, objects });
    }

    /// Takes an order that holds from `command.at` on, which is not before
    /// [`Driven::known_until`]; orders of the same instant hold in the order of their serial numbers.
    pub fn command(&self, command: Command) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        if !vehicle.plant.command(command) {
            if vehicle.refused == 0 {
                tracing::warn!(
                    "orders to the robot wait in such numbers that further ones are dropped"
                );
            }
            vehicle.refused += 1;
        }
    }

    /// Forgets everything: the robot stands where the rig says, and the run begins.
    pub fn restart(&self) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        vehicle.plant.restart();
        vehicle.events.clear();
        vehicle.contacts = 0;
        vehicle.refused = 0;
        self.begin_history(&vehicle.plant);
    }

    fn begin_history(&self, plant: &Plant) {
        let first = History::starting_with(plant.coming_step());
        *self.history.write().expect("no holder panics") = first;
    }

    /// Integrates to the last whole step at or before `until`.
    pub fn advance(&self, until: SimTime, caster: &dyn RayCaster) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        let vehicle = &mut *vehicle;
        while vehicle.plant.now().0 + STEP_NS <= until.0 {
            let at = vehicle.plant.now();
            let mut incidents = Vec::new();
            let tell = &mut |incident| incidents.push(incident);
            let done = vehicle.plant.step(caster, &vehicle.passable, tell);
            let coming = vehicle.plant.coming_step();
            self.history.write().expect("no holder panics").push(done, coming);
            for incident in incidents {
                vehicle.note(at, &incident);
            }
        }
    }

    /// Time up to which the motion is known.
    pub fn known_until(&self) -> SimTime {
        self.history.read().expect("no holder panics").known_until()
    }

    /// What the robot did from the step on that begins at `from`, for a copy in another process. The last step
    /// has only begun: whoever wants to go on from here begins with it.
    pub fn steps_from(&self, from: SimTime) -> Vec<VehicleStep> {
        let history = self.history.read().expect("no holder panics");
        let told = |step: &Step| VehicleStep {
            at: step.at,
            from: step.from,
            rates: step.rates,
            setpoint_m_s: step.setpoint_m_s,
            steering_rad: step.steering_rad,
            terrain_m: step.terrain_m,
            shown: step.shown,
        };
        history.steps_from(from).map(told).collect()
    }

    /// Does what the robot did of which this is a copy: steps in their order.
    pub fn repeat(&self, steps: impl IntoIterator<Item = VehicleStep>) {
        let mut history = self.history.write().expect("no holder panics");
        for step in steps {
            let VehicleStep { at, from, rates, setpoint_m_s, steering_rad, terrain_m, shown } =
                step;
            history.take(Step { at, from, rates, setpoint_m_s, steering_rad, terrain_m, shown });
        }
    }

    /// Position, orientation and their rates at `t`, which is not after [`Driven::known_until`].
    pub fn state(&self, t: SimTime) -> BodyState {
        self.history.read().expect("no holder panics").state(t)
    }

    /// State of the wheels at `t`.
    pub fn wheels(&self, t: SimTime) -> WheelState {
        self.history.read().expect("no holder panics").wheels(t)
    }

    /// Height of the ground right under each wheel (front left, front right, rear left, rear right) in the
    /// millisecond of `t`, World, metres: a wheel is in a ditch whose ground is far below that of the others.
    /// NaN where there is no ground.
    pub fn wheel_heights_m(&self, t: SimTime) -> [f64; 4] {
        self.history.read().expect("no holder panics").terrain_m(t)
    }

    /// The order that holds at `t`; `None` before the first.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        self.history.read().expect("no holder panics").shown_at(t)
    }

    /// Takes the events that nobody has taken yet, in their order.
    pub fn take_events(&self) -> Vec<DriveEvent> {
        self.vehicle.lock().expect("no holder panics").events.drain(..).collect()
    }

    /// Number of times the robot has run into something since the start of the run.
    pub fn contacts(&self) -> u64 {
        self.vehicle.lock().expect("no holder panics").contacts
    }
}

impl fmt::Debug for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Vehicle {
    fn note(&mut self, at: SimTime, incident: &Incident) {
        let what = match incident {
            Incident::IsFree => DriveEventKind::IsFree,
            Incident::Touches(ahead) => {
                let name = self.name_of(ahead);
                if self.contacts == 0 {
                    tracing::warn!(
                        at_s = at.as_secs_f64(),
                        "the robot has run into {name}; its body stands, its wheels turn on. Further \
                         contacts are counted"
                    );
                }
                self.contacts += 1;
                DriveEventKind::Touches { name, point_m: ahead.point_m }
            }
        };
        if self.events.len() == MOST_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(DriveEvent { at, what });
    }

    fn name_of(&self, ahead: &Ahead) -> String {
        let unknown = || "something".to_owned();
        let Some(Names { scene, objects }) = &self.names else { return unknown() };
        let Some(instance) = scene.instances.get(ahead.instance as usize) else {
            let object = objects.get(ahead.instance as usize - scene.instances.len());
            return object.cloned().unwrap_or_else(unknown);
        };
        let mesh = &scene.meshes[instance.mesh as usize].name;
        match scene.materials.get(ahead.material as usize) {
            Some(material) if material.name != *mesh => format!("{mesh} ({})", material.name),
            _ => mesh.clone(),
        }
    }
}

/// Whether a material is one of those `named`, by its own name or by that of its entry in the table of
/// materials.
fn is_among(material: &str, named: &[String]) -> bool {
    let known = materials::typical(material).map(|entry| entry.name);
    named.iter().any(|name| name == material || known == Some(name.as_str()))
}

#[cfg(test)]
mod tests;
