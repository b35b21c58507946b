//! Simulation of the vehicle in steps of a millisecond.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::DVec3;

use super::drivetrain::{Drivetrain, Twist};
use super::history::{Course, STEP_NS, STEP_S, Step};
use super::obstacles::{Ahead, Lookout, Passable, Surroundings};
use super::patches::Patches;
use super::ride::{AtWheels, Ride, Riding};
use crate::config::rig::drive::DriveConfig;
use crate::frames::Transform;
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};
use crate::world::body_state::ShownPose;
use crate::world::ground::{GroundHeight, OVERHEAD_M};
use crate::world::raycast::RayCaster;

/// Half of a step, seconds.
const HALF_S: f64 = 0.5 * STEP_S;
/// Period of the search for obstacles, nanoseconds.
const LOOK_NS: u64 = 10_000_000;
/// Time constant with which an obstacle stops the body, seconds.
const IMPACT_S: f64 = 0.01;
/// Duration that a search covers, seconds: the time until the next search, the time in which the body stops, and a
/// margin for acceleration.
const AHEAD_S: f64 = LOOK_NS as f64 * 1e-9 + IMPACT_S + 0.01;
/// Largest number of waiting commands. A robot's computer sends only a few at a time.
const MOST_PENDING: usize = 1 << 16;
/// Smallest cosine of the body's slope that the kinematics use.
const LEAST_COSINE: f64 = 0.2;

/// An event that happened to the vehicle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Incident {
    Touches(Ahead),
    IsFree,
}

/// A robot with its motors, wheels and body.
pub(super) struct Plant {
    drivetrain: Drivetrain,
    patches: Patches,
    ride: Ride,
    lookout: Lookout,
    ground: Option<Arc<dyn GroundHeight>>,
    /// State at the start and after a reset.
    start: Course,
    start_riding: Riding,
    now: SimTime,
    course: Course,
    /// Rates of the values of `course`, per second.
    rates: Course,
    riding: Riding,
    /// Last known height of the ground at the positions that the wheels reach after [`Ride::lead_s`], World, metres.
    terrain_m: AtWheels,
    /// Height of the ground directly under the wheels, World, metres; NaN for a wheel without ground below it.
    under_m: AtWheels,
    /// Mean distance travelled by the wheels, metres.
    way_m: f64,
    /// Factor of the body's motion: 1 without an obstacle, 0 when an obstacle has stopped the body.
    free: f64,
    /// Time from which an obstacle stops the body, if any.
    stops_at: Option<SimTime>,
    touches: bool,
    /// `None` without an emergency stop. During a stop: the last drive command that has arrived since the stop began,
    /// if any.
    stopped: Option<Option<Actuation>>,
    shown: Option<ShownPose>,
    /// Commands by time, then serial number.
    pending: VecDeque<Command>,
}

impl Plant {
    pub fn new(config: &DriveConfig, footprint_m: [f64; 2]) -> Self {
        let suspension = config.suspension.as_ref();
        let ride = Ride::new(footprint_m, config.body.height_m, suspension, HALF_S);
        let [x, y, z] = config.position_m;
        let start = [x, y, z, 0.0, 0.0, config.yaw_rad, 0.0, 0.0];
        let start_riding = ride.settled([z; 4]);
        Self {
            drivetrain: Drivetrain::new(config),
            patches: Patches::new(&config.model),
            ride,
            lookout: Lookout::new(footprint_m, &config.body),
            ground: None,
            start,
            start_riding,
            now: SimTime::ZERO,
            course: start,
            rates: [0.0; 8],
            riding: start_riding,
            terrain_m: [z; 4],
            under_m: [z; 4],
            way_m: 0.0,
            free: 1.0,
            stops_at: None,
            touches: false,
            stopped: None,
            shown: None,
            pending: VecDeque::new(),
        }
    }

    /// Puts the robot to rest at its start position on `ground`. Returns false if none of the wheels has ground below
    /// it.
    pub fn stand_on(&mut self, ground: Arc<dyn GroundHeight>) -> bool {
        let [x, y, z, _, _, yaw, ..] = self.start;
        let found = self.heights(ground.as_ref(), [x, y, yaw], [z; 4]);
        let known: Vec<f64> = found.into_iter().flatten().collect();
        if known.is_empty() {
            return false;
        }
        let mean_m = known.iter().sum::<f64>() / known.len() as f64;
        self.start_riding = self.ride.settled(found.map(|height| height.unwrap_or(mean_m)));
        let (roll, pitch) = angles(&self.start_riding.plane);
        self.start = [x, y, self.start_riding.plane[0], roll, pitch, yaw, 0.0, 0.0];
        self.ground = Some(ground);
        self.rest();
        true
    }

    /// Puts the vehicle to rest at its start position.
    fn rest(&mut self) {
        self.drivetrain.reset();
        self.course = self.start;
        self.rates = [0.0; 8];
        self.riding = self.start_riding;
        self.terrain_m = self.riding.wheels_m;
        self.under_m = self.terrain_now();
        self.way_m = 0.0;
        self.free = 1.0;
        self.stops_at = None;
    }

    /// Puts the robot to rest at its start position, resets the time to 0, and drops waiting commands.
    pub fn restart(&mut self) {
        self.rest();
        self.now = SimTime::ZERO;
        self.touches = false;
        self.stopped = None;
        self.shown = None;
        self.pending.clear();
    }

    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Accepts a command; false if too many are waiting.
    pub fn command(&mut self, command: Command) -> bool {
        if self.pending.len() >= MOST_PENDING {
            return false;
        }
        let key = |command: &Command| (command.at, command.serial);
        let place = self.pending.partition_point(|waiting| key(waiting) <= key(&command));
        self.pending.insert(place, command);
        true
    }

    /// A step with the current rates, used until the next step is known.
    pub fn coming_step(&self) -> Step {
        Step {
            rates: [self.rates; 3],
            setpoint_m_s: self.drivetrain.setpoint_m_s(),
            steering_rad: [self.drivetrain.steering_rad(); 2],
            shown: self.shown,
            ..Step::resting(self.now, self.course, self.under_m)
        }
    }

    /// Integrates one step. Commands take effect at the first step that begins at or after their time.
    pub fn step(
        &mut self,
        caster: &dyn RayCaster,
        passable: &Passable,
        tell: &mut dyn FnMut(Incident),
    ) -> Step {
        while let Some(command) = self.pending.pop_front_if(|first| first.at <= self.now) {
            self.obey(&command, tell);
        }
        if self.now.0.is_multiple_of(LOOK_NS) {
            self.look(caster, passable, tell);
        }
        let at = self.now;
        let from = self.course;
        let terrain_m = self.under_m;
        let steered_from = self.drivetrain.steering_rad();
        let start = self.rates;
        let [middle, end] = self.rates_after(&start);
        self.course =
            std::array::from_fn(|i| from[i] + STEP_S * (start[i] + 4.0 * middle[i] + end[i]) / 6.0);
        self.rates = end;
        let [_, _, z, roll, pitch, ..] = self.course;
        let ahead = -libm::tan(pitch);
        self.riding.plane = [z, ahead, libm::tan(roll) / libm::cos(pitch)];
        self.now = SimTime(at.0 + STEP_NS);
        self.under_m = self.terrain_now();
        Step {
            at,
            from,
            rates: [start, middle, end],
            setpoint_m_s: self.drivetrain.setpoint_m_s(),
            steering_rad: [steered_from, self.drivetrain.steering_rad()],
            terrain_m,
            shown: self.shown,
        }
    }

    /// Rates, per second, in the middle and at the end of a step; `start` has the rates at its beginning.
    fn rates_after(&mut self, start: &Course) -> [Course; 2] {
        let [x, y, _, roll, pitch, yaw, ..] = self.course;
        let mut rates = [*start; 2];
        let free_to = if self.stops_at.is_some_and(|at| at <= self.now) { 0.0 } else { 1.0 };
        let keeps = libm::exp(-HALF_S / IMPACT_S);
        let moves = rates.each_mut().map(|rates| {
            self.drivetrain.advance(HALF_S);
            let [left, right] = self.drivetrain.speed_m_s();
            [rates[6], rates[7]] = [left, right];
            self.way_m += 0.5 * (left.abs() + right.abs()) * HALF_S;
            self.free = free_to + (self.free - free_to) * keeps;
            let icr_scale = self.patches.icr_scale(self.way_m);
            self.drivetrain.twist(icr_scale).scaled(self.free)
        });
        // These angles result from the rates at the step's start.
        let tilts = [HALF_S, STEP_S].map(|dt| [roll + dt * start[3], pitch + dt * start[4]]);
        let turns = std::array::from_fn(|half| {
            let [roll, pitch] = tilts[half];
            let [sin_roll, cos_roll] = sin_cos(roll);
            let level = (cos_roll * libm::cos(pitch)).max(LEAST_COSINE);
            (moves[half].turn_rad_s + start[4] * sin_roll) / level
        });
        let ([middle, end], early) = (turns, start[5]);
        let yaws = [
            yaw + STEP_S * (5.0 * early + 8.0 * middle - end) / 24.0,
            yaw + STEP_S * (early + 4.0 * middle + end) / 6.0,
        ];
        for (half, rates) in rates.iter_mut().enumerate() {
            [rates[0], rates[1]] = over_ground(&moves[half], tilts[half], yaws[half]);
            rates[5] = turns[half];
        }
        let place = |i: usize| STEP_S * (start[i] + 4.0 * rates[0][i] + rates[1][i]) / 6.0;
        let speed_m_s = (rates[1][0] * rates[1][0] + rates[1][1] * rates[1][1]).sqrt();
        let to = self.wheels_at([x + place(0), y + place(1), yaws[1]], &rates[1], speed_m_s);
        let from = self.riding.wheels_m;
        let between: AtWheels = std::array::from_fn(|i| 0.5 * (from[i] + to[i]));
        for (rates, wheels_m) in rates.iter_mut().zip([between, to]) {
            self.riding = self.ride.advance(&self.riding, wheels_m);
            rates[2] = self.riding.rates[0];
            [rates[3], rates[4]] = angle_rates(&self.riding);
        }
        rates
    }

    /// Heights of the wheels after a step that moves the body to `place` (x, y, yaw); `rates` are the rates of the body
    /// there.
    fn wheels_at(&mut self, place: [f64; 3], rates: &Course, speed_m_s: f64) -> AtWheels {
        let from = self.riding.wheels_m;
        let Some(ground) = self.ground.clone() else { return from };
        let lead_s = self.ride.lead_s();
        let [x, y, yaw] = place;
        let later = [x + lead_s * rates[0], y + lead_s * rates[1], yaw + lead_s * rates[5]];
        let found = self.heights(ground.as_ref(), later, from);
        for (known, found) in self.terrain_m.iter_mut().zip(found) {
            *known = found.unwrap_or(*known);
        }
        Ride::reached(&from, &self.terrain_m, speed_m_s, STEP_S)
    }

    /// Heights of the ground under the wheels of a body at `place` (x, y, yaw), World, metres. `about_m` has the
    /// present heights of the wheels. A surface more than [`OVERHEAD_M`] above a wheel counts only if there is no lower
    /// one.
    fn heights(
        &self,
        ground: &dyn GroundHeight,
        [x, y, yaw]: [f64; 3],
        about_m: AtWheels,
    ) -> [Option<f64>; 4] {
        let [sin, cos] = sin_cos(yaw);
        std::array::from_fn(|i| {
            let [ahead, left] = self.ride.wheel_m(i);
            let (at_x, at_y) = (x + cos * ahead - sin * left, y + sin * ahead + cos * left);
            ground.height_under_m(at_x, at_y, about_m[i] + OVERHEAD_M)
        })
    }

    /// Heights of the ground directly under the wheels; NaN for a wheel without ground below it. If the vehicle drives
    /// on a plane without terrain, returns the heights of its wheels.
    fn terrain_now(&self) -> AtWheels {
        let Some(ground) = &self.ground else { return self.riding.wheels_m };
        let [x, y, _, _, _, yaw, ..] = self.course;
        self.heights(ground.as_ref(), [x, y, yaw], self.riding.wheels_m)
            .map(|height| height.unwrap_or(f64::NAN))
    }

    /// Searches for an obstacle along the present motion.
    fn look(
        &mut self,
        caster: &dyn RayCaster,
        passable: &Passable,
        tell: &mut dyn FnMut(Incident),
    ) {
        let twist = self.drivetrain.twist(self.patches.icr_scale(self.way_m));
        if twist == Twist::default() {
            return;
        }
        let [x, y, z, roll, pitch, yaw, ..] = self.course;
        let pose = Transform::from_rpy(DVec3::new(x, y, z), roll, pitch, yaw);
        let around = Surroundings { caster, ground: self.ground.as_deref(), passable };
        let Some(ahead) = self.lookout.look(&pose, twist, AHEAD_S, self.now, &around) else {
            self.stops_at = None;
            if self.touches {
                self.touches = false;
                tell(Incident::IsFree);
            }
            return;
        };
        let in_ns = ((ahead.in_s - IMPACT_S).max(0.0) * 1e9) as u64;
        self.stops_at = Some(SimTime(self.now.0 + in_ns));
        if !self.touches && in_ns < LOOK_NS {
            self.touches = true;
            tell(Incident::Touches(ahead));
        }
    }

    fn obey(&mut self, command: &Command, tell: &mut dyn FnMut(Incident)) {
        match command.actuation {
            Actuation::Treads { .. } | Actuation::Twist { .. } | Actuation::Steering { .. } => {
                match &mut self.stopped {
                    Some(meanwhile) => *meanwhile = Some(command.actuation),
                    None => self.drivetrain.obey(&command.actuation),
                }
            }
            Actuation::EmergencyStop(true) => {
                self.stopped.get_or_insert(None);
                self.drivetrain.halt();
            }
            Actuation::EmergencyStop(false) => {
                if let Some(Some(meanwhile)) = self.stopped.take() {
                    self.drivetrain.obey(&meanwhile);
                }
            }
            Actuation::Reset => {
                if std::mem::take(&mut self.touches) {
                    tell(Incident::IsFree);
                }
                self.rest();
            }
            Actuation::JointRate { .. } | Actuation::JointAngle { .. } => return,
        }
        self.shown = Some(ShownPose { serial: command.serial, arrived: command.arrived });
    }
}

fn sin_cos(angle_rad: f64) -> [f64; 2] {
    let (sin, cos) = libm::sincos(angle_rad);
    [sin, cos]
}

/// Roll and pitch of a body that lies in `plane`, radians.
fn angles(plane: &[f64; 3]) -> (f64, f64) {
    let pitch = -libm::atan(plane[1]);
    (libm::atan(plane[2] * libm::cos(pitch)), pitch)
}

/// Rates of roll and pitch, rad/s.
fn angle_rates(riding: &Riding) -> [f64; 2] {
    let [_, ahead, left] = riding.plane;
    let [_, ahead_rate, left_rate] = riding.rates;
    let pitch_rate = -ahead_rate / (1.0 + ahead * ahead);
    let [sin_pitch, cos_pitch] = sin_cos(-libm::atan(ahead));
    let slope = left * cos_pitch;
    let slope_rate = left_rate * cos_pitch - left * sin_pitch * pitch_rate;
    [slope_rate / (1.0 + slope * slope), pitch_rate]
}

/// Velocity to east and north, m/s, of a body that moves in the plane of its wheels. `[roll, pitch]` is the inclination
/// of this plane.
fn over_ground(moves: &Twist, [roll, pitch]: [f64; 2], yaw: f64) -> [f64; 2] {
    let ([sin_roll, cos_roll], [sin_pitch, cos_pitch]) = (sin_cos(roll), sin_cos(pitch));
    let [sin_yaw, cos_yaw] = sin_cos(yaw);
    let ahead = moves.forward_m_s * cos_pitch + moves.left_m_s * sin_pitch * sin_roll;
    let left = moves.left_m_s * cos_roll;
    [cos_yaw * ahead - sin_yaw * left, sin_yaw * ahead + cos_yaw * left]
}
