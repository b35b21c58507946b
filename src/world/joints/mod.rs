//! Joints: parts that rotate or slide between the robot's body and its devices.
//!
//! ```text
//! position over time      motion.rs     constant rate, sine, table; held by a fault
//!                         commanded.rs  commanded by a device: integrated, with a history
//! pose and motion of the part that a chain of joints carries     here
//! ```
//!
//! # Frames
//!
//! A joint has the pose `parent_from_joint` on its parent, which is the body or the moving part of another joint. At
//! position zero, the moving part's axes are those of the joint. The moving part rotates about the joint's axis,
//! right-handed, or slides along it.
//!
//! # Motion
//!
//! Positions, rates and accelerations are analytic functions of time; those of a commanded joint have one piece per
//! millisecond. [`Carrier::motion`] propagates them along the chain. In the equations, `u` is the joint's unit axis
//! and `q` its position. `w` and `a` are the parent's angular rate and angular acceleration, `v` and `b` the velocity
//! and acceleration of the joint's origin on the parent. A prime marks the joint's moving part:
//!
//! ```text
//! turning:  w' = w + u dq                   a' = a + u ddq + w x u dq
//! sliding:  v' = v + w x (u q) + u dq       b' = b + a x (u q) + w x (w x (u q)) + 2 w x u dq + u ddq
//! ```
//!
//! All motions are relative to the body and in the body's axes.

mod commanded;
mod motion;

use glam::DVec3;

use self::commanded::Commanded;
use self::motion::Scheduled;
use crate::config::rig::joints::{Jam, JointConfig, JointKind, JointMotion};
use crate::frames::{Body, Transform, quat_about};
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};

/// Position and motion of a joint at an instant, in radians for rotation and in metres for sliding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointState {
    /// Position of the joint.
    pub position: f64,
    /// Rate of the joint, rad/s or m/s.
    pub rate: f64,
    /// Acceleration of the joint, rad/s² or m/s².
    pub acceleration: f64,
}

/// The joints of a rig, in the rig's order. All threads may query them.
#[derive(Debug, Default)]
pub struct Joints {
    all: Vec<Joint>,
}

#[derive(Debug)]
struct Joint {
    parent: Option<usize>,
    parent_from_joint: Transform<Body, Body>,
    axis: DVec3,
    kind: JointKind,
    motion: Motion,
    jam: Option<Jam>,
}

#[derive(Debug)]
enum Motion {
    Scheduled(Scheduled),
    Commanded(Commanded),
}

impl Joints {
    /// Creates the joints of `configs`. Each entry of `jams` is the index of a joint and a fault that holds this
    /// joint.
    pub fn new<'c>(
        configs: impl IntoIterator<Item = &'c JointConfig>,
        jams: &[(usize, Jam)],
    ) -> Self {
        let all = configs.into_iter().enumerate().map(|(index, config)| {
            let jam = jams.iter().find(|(joint, _)| *joint == index).map(|(_, jam)| *jam);
            let motion = match &config.motion {
                JointMotion::Commanded { max_rate, max_acceleration } => {
                    let most = [*max_rate, *max_acceleration];
                    Motion::Commanded(Commanded::new(config.start, most, config.limits, jam))
                }
                scheduled => Motion::Scheduled(Scheduled::new(config.start, scheduled, jam)),
            };
            Joint {
                parent: config.parent,
                parent_from_joint: config.parent_from_joint,
                axis: DVec3::from_array(config.axis),
                kind: config.kind,
                motion,
                jam,
            }
        });
        Self { all: all.collect() }
    }

    /// Whether there are no joints.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// State of a joint at `t`. After its known motion, a commanded joint keeps its last position.
    pub fn state(&self, joint: usize, t: SimTime) -> JointState {
        match &self.all[joint].motion {
            Motion::Scheduled(scheduled) => scheduled.state(t),
            Motion::Commanded(commanded) => commanded.state(t),
        }
    }

    /// Index of the fault that holds a joint at `t`, and the number of the fault's window; `None` if no fault holds
    /// the joint.
    pub fn jammed_by(&self, joint: usize, t: SimTime) -> Option<(usize, u64)> {
        let jam = self.all[joint].jam?;
        jam.schedule.window_at(t).map(|window| (jam.fault, window))
    }

    /// Access to the motion of the moving part of `joint`, for the devices on this part.
    pub fn carrier(&self, joint: usize) -> Carrier<'_> {
        Carrier { joints: self, joint }
    }

    /// Accepts a command for one of the joints; ignores commands for the drive. The command takes effect at the first
    /// whole millisecond at or after both `command.at` and [`Joints::known_until`].
    pub fn command(&self, command: Command) {
        let joint = match command.actuation {
            Actuation::JointRate { joint, .. } | Actuation::JointAngle { joint, .. } => joint,
            _ => return,
        };
        if let Some(Joint { motion: Motion::Commanded(commanded), .. }) = self.all.get(joint) {
            commanded.command(command);
        }
    }

    /// Resets commanded joints to their start positions, at rest, and drops all commands.
    pub fn restart(&self) {
        self.commanded().for_each(Commanded::restart);
    }

    /// Integrates the commanded joints up to `until`, in whole milliseconds.
    pub fn advance(&self, until: SimTime) {
        self.commanded().for_each(|joint| joint.advance(until));
    }

    /// Time up to which the motion of all joints is known; `SimTime(u64::MAX)` if no joint is commanded.
    pub fn known_until(&self) -> SimTime {
        self.commanded().map(Commanded::known_until).min().unwrap_or(SimTime(u64::MAX))
    }

    /// Stored motion of the commanded joints from millisecond `from` on, for a copy of the joints in another process.
    /// For each commanded joint: the number of the first millisecond, then position (rad or m) and rate (rad/s or m/s)
    /// at each whole millisecond.
    pub fn knots_from(&self, from: u64) -> Vec<(u64, Vec<[f64; 2]>)> {
        self.commanded().map(|joint| joint.knots_from(from)).collect()
    }

    /// Appends `knots` to the motion of this copy. They are the result of [`Joints::knots_from`] for the original
    /// joints, in another process.
    pub fn repeat(&self, knots: &[(u64, Vec<[f64; 2]>)]) {
        for (joint, (first, knots)) in self.commanded().zip(knots) {
            joint.repeat(*first, knots);
        }
    }

    fn commanded(&self) -> impl Iterator<Item = &Commanded> {
        self.all.iter().filter_map(|joint| match &joint.motion {
            Motion::Commanded(commanded) => Some(commanded),
            Motion::Scheduled(_) => None,
        })
    }
}

/// Access to the motion of the part that a joint moves, for the devices on this part.
#[derive(Clone, Copy, Debug)]
pub struct Carrier<'a> {
    joints: &'a Joints,
    joint: usize,
}

/// Pose and motion of the part that a joint moves, relative to the robot's body and in the body's axes.
#[derive(Clone, Copy, Debug)]
pub struct CarrierMotion {
    /// Pose of the part.
    pub body_from_carrier: Transform<Body, Body>,
    /// Velocity of the part's origin, m/s.
    pub velocity_m_s: DVec3,
    /// Acceleration of the part's origin, m/s².
    pub acceleration_m_s2: DVec3,
    /// Angular rate, rad/s.
    pub angular_rate_rad_s: DVec3,
    /// Angular acceleration, rad/s².
    pub angular_acceleration_rad_s2: DVec3,
}

impl CarrierMotion {
    /// Motion of the body itself as a carrier, that is, no relative motion.
    const BODY: Self = Self {
        body_from_carrier: Transform::IDENTITY,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        angular_rate_rad_s: DVec3::ZERO,
        angular_acceleration_rad_s2: DVec3::ZERO,
    };

    /// Motion of a point on the part, relative to the body and in the body's axes; `carrier_from_point` is the
    /// point's pose on the part.
    #[must_use]
    pub fn of_point<C>(&self, carrier_from_point: Transform<Body, C>) -> PointMotion<C> {
        let arm = self.body_from_carrier.direction(carrier_from_point.translation);
        let (rate, change) = (self.angular_rate_rad_s, self.angular_acceleration_rad_s2);
        PointMotion {
            body_from_point: self.body_from_carrier * carrier_from_point,
            velocity_m_s: self.velocity_m_s + rate.cross(arm),
            acceleration_m_s2: self.acceleration_m_s2
                + change.cross(arm)
                + rate.cross(rate.cross(arm)),
            angular_rate_rad_s: rate,
        }
    }

    /// Motion of the part that `joint` moves in the state `state`. `self` is the motion of the part that carries
    /// `joint`.
    fn moved(&self, joint: &Joint, state: &JointState) -> Self {
        let base = self.of_point(joint.parent_from_joint);
        let axis = base.body_from_point.direction(joint.axis);
        let (rate, change) = (self.angular_rate_rad_s, self.angular_acceleration_rad_s2);
        match joint.kind {
            JointKind::Revolute => {
                let turn = axis * state.rate;
                Self {
                    body_from_carrier: base.body_from_point * joint.moved(state.position),
                    velocity_m_s: base.velocity_m_s,
                    acceleration_m_s2: base.acceleration_m_s2,
                    angular_rate_rad_s: rate + turn,
                    angular_acceleration_rad_s2: change
                        + axis * state.acceleration
                        + rate.cross(turn),
                }
            }
            JointKind::Prismatic => {
                let (way, slide) = (axis * state.position, axis * state.rate);
                Self {
                    body_from_carrier: base.body_from_point * joint.moved(state.position),
                    velocity_m_s: base.velocity_m_s + rate.cross(way) + slide,
                    acceleration_m_s2: base.acceleration_m_s2
                        + change.cross(way)
                        + rate.cross(rate.cross(way))
                        + 2.0 * rate.cross(slide)
                        + axis * state.acceleration,
                    ..*self
                }
            }
        }
    }
}

/// Motion of a point that a joint carries, relative to the robot's body and in the body's axes.
#[derive(Clone, Copy, Debug)]
pub struct PointMotion<C> {
    /// Pose of the point.
    pub body_from_point: Transform<Body, C>,
    /// Velocity, m/s.
    pub velocity_m_s: DVec3,
    /// Acceleration, m/s².
    pub acceleration_m_s2: DVec3,
    /// Angular rate, rad/s.
    pub angular_rate_rad_s: DVec3,
}

impl Joint {
    /// Pose of the moving part at `position`, in the joint's axes.
    fn moved(&self, position: f64) -> Transform<Body, Body> {
        match self.kind {
            JointKind::Revolute => Transform::new(DVec3::ZERO, quat_about(self.axis, position)),
            JointKind::Prismatic => Transform::from_rpy(self.axis * position, 0.0, 0.0, 0.0),
        }
    }
}

impl Carrier<'_> {
    /// Position and motion of the carrying joint at `t`.
    pub fn state(&self, t: SimTime) -> JointState {
        self.joints.state(self.joint, t)
    }

    /// The fault that holds the carrying joint at `t`, as [`Joints::jammed_by`].
    pub fn jammed_by(&self, t: SimTime) -> Option<(usize, u64)> {
        self.joints.jammed_by(self.joint, t)
    }

    /// Pose of the moving part relative to the body at `t`.
    pub fn pose(&self, t: SimTime) -> Transform<Body, Body> {
        let joint = &self.joints.all[self.joint];
        let own = joint.parent_from_joint * joint.moved(self.state(t).position);
        match joint.parent {
            Some(parent) => Self { joint: parent, ..*self }.pose(t) * own,
            None => own,
        }
    }

    /// Pose and motion of the moving part relative to the body at `t`.
    pub fn motion(&self, t: SimTime) -> CarrierMotion {
        let joint = &self.joints.all[self.joint];
        let base = match joint.parent {
            Some(parent) => Self { joint: parent, ..*self }.motion(t),
            None => CarrierMotion::BODY,
        };
        base.moved(joint, &self.state(t))
    }
}

#[cfg(test)]
mod tests;
