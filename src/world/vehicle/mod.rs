//! A robot that its computer drives. Input: commands; output: poses and wheel travel.
//!
//! ```text
//! drivetrain.rs   set points, motors with their time constants, the body's motion on firm ground
//! patches.rs      centres of rotation that vary with the ground
//! ride.rs         height, roll and pitch on four wheels, smoothed or with suspension
//! obstacles.rs    obstacles that the body collides with
//! plant.rs        combines these, in steps of a millisecond
//! history.rs      motion of the last minute, at any instant
//! ```
//!
//! One thread integrates the vehicle ([`Driven::advance`]). The motion of the last minute is stored, so that any
//! thread can query the pose at a firing ([`Driven::state`]). A command takes effect at the first whole millisecond
//! at or after its [`Command::at`], which is never before the integrated motion. The motion therefore depends only on
//! the commands and their times.
//!
//! docs/DRIVING.md has the equations and lists the reasons for which the robot stops.

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

/// Largest number of stored events; the oldest ones are dropped.
const MOST_EVENTS: usize = 10_000;

/// A robot driven by commands. One thread writes, all threads read.
pub struct Driven {
    config: DriveConfig,
    vehicle: Mutex<Vehicle>,
    history: RwLock<History>,
}

/// A millisecond of the vehicle's motion, for a copy in another process: x, y, z (World, metres), roll, pitch and yaw
/// (radians), the travel of the left and right wheels (metres), and the rates of all these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VehicleStep {
    /// Start of the step.
    pub at: SimTime,
    /// Values at the step's start.
    pub from: Course,
    /// Rates at the step's start, middle and end.
    pub rates: [Course; 3],
    /// Set points of the left and right side, m/s.
    pub setpoint_m_s: [f64; 2],
    /// Steering angles at the step's start and end, radians.
    pub steering_rad: [f64; 2],
    /// Height of the ground under each wheel at the step's start, World, metres; NaN for a wheel without ground below
    /// it.
    pub terrain_m: [f64; 4],
    /// The command in effect during the step; `None` before the first.
    pub shown: Option<ShownPose>,
}

/// State that only the thread that integrates the vehicle changes.
struct Vehicle {
    plant: Plant,
    passable: Passable,
    names: Option<Names>,
    events: VecDeque<DriveEvent>,
    /// Contacts since the start of the run.
    contacts: u64,
    /// Number of commands that were rejected because too many were waiting.
    refused: u64,
}

/// The scene and the moving objects, from which obstacles get their names.
struct Names {
    scene: Arc<Scene>,
    /// Names of moving objects, in the rig's order.
    objects: Vec<String>,
}

/// An event that happened to the robot.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveEvent {
    /// Time of the event.
    pub at: SimTime,
    /// Kind of the event.
    pub what: DriveEventKind,
}

/// Kinds of [`DriveEvent`].
#[derive(Clone, Debug, PartialEq)]
pub enum DriveEventKind {
    /// The body touches an obstacle, which stops it; the wheels keep turning.
    Touches {
        /// Name of the moving object, or mesh and material of the scene.
        name: String,
        /// Point of contact, World, metres.
        point_m: DVec3,
    },
    /// The robot no longer touches the obstacle.
    IsFree,
}

impl Driven {
    /// A robot at the start position of `config`, with wheels at the corners of a `footprint_m` (length,
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

    /// Configuration from the rig.
    pub fn config(&self) -> &DriveConfig {
        &self.config
    }

    /// Puts the robot on `ground`, which then determines its height, roll and pitch. Must be called before the run.
    /// Returns false if none of the wheels has ground below it at the start position.
    pub fn stand_on(&self, ground: Arc<dyn GroundHeight>) -> bool {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        let stands = vehicle.plant.stand_on(ground);
        self.begin_history(&vehicle.plant);
        stands
    }

    /// Sets the scene and the names of the moving `objects`. They determine which materials the robot drives through
    /// and the names of contacts.
    pub fn look_around(&self, scene: Arc<Scene>, objects: Vec<String>) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        let through = &self.config.body.drives_through;
        vehicle.passable = Passable {
            materials: scene.materials.iter().map(|m| is_among(&m.name, through)).collect(),
            instances: scene.instances.len() as u32,
        };
        vehicle.names = Some(Names { scene, objects });
    }

    /// Accepts a command for `command.at`, which must not be before [`Driven::known_until`]. Commands of the same instant
    /// apply in the order of their serial numbers. Drops the command if too many are waiting.
    pub fn command(&self, command: Command) {
        let mut vehicle = self.vehicle.lock().expect("no holder panics");
        if !vehicle.plant.command(command) {
            if vehicle.refused == 0 {
                tracing::warn!(
                    "too many commands to the robot are waiting: further ones are dropped"
                );
            }
            vehicle.refused += 1;
        }
    }

    /// Resets the robot to its start position, and the time to the start of the run.
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

    /// Steps from the one that begins at `from`, for a copy in another process. The last step is incomplete, so the
    /// next call must start with it again.
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

    /// Applies the motion of the original robot to this copy. Steps must be in order.
    pub fn repeat(&self, steps: impl IntoIterator<Item = VehicleStep>) {
        let mut history = self.history.write().expect("no holder panics");
        for step in steps {
            let VehicleStep { at, from, rates, setpoint_m_s, steering_rad, terrain_m, shown } =
                step;
            history.take(Step { at, from, rates, setpoint_m_s, steering_rad, terrain_m, shown });
        }
    }

    /// Position, orientation and their rates at `t`, which must not be after [`Driven::known_until`].
    pub fn state(&self, t: SimTime) -> BodyState {
        self.history.read().expect("no holder panics").state(t)
    }

    /// State of the wheels at `t`.
    pub fn wheels(&self, t: SimTime) -> WheelState {
        self.history.read().expect("no holder panics").wheels(t)
    }

    /// Height of the ground directly under each wheel (front left, front right, rear left, rear right) in the
    /// millisecond of `t`, World, metres. A wheel is in a ditch if its ground is far below that of the others. NaN for
    /// a wheel without ground below it.
    pub fn wheel_heights_m(&self, t: SimTime) -> [f64; 4] {
        self.history.read().expect("no holder panics").terrain_m(t)
    }

    /// The command in effect at `t`; `None` before the first.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        self.history.read().expect("no holder panics").shown_at(t)
    }

    /// Removes and returns the events since the last call, in order.
    pub fn take_events(&self) -> Vec<DriveEvent> {
        self.vehicle.lock().expect("no holder panics").events.drain(..).collect()
    }

    /// Number of contacts with obstacles since the start of the run.
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
                        "the robot has hit {name}: its body has stopped, its wheels keep turning. \
                         Further contacts are only counted"
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

/// Whether `named` contains the name of a material, or the name of its entry in the table of materials.
fn is_among(material: &str, named: &[String]) -> bool {
    let known = materials::typical(material).map(|entry| entry.name);
    named.iter().any(|name| name == material || known == Some(name.as_str()))
}

#[cfg(test)]
mod tests;
