//! `[[joint]]`: what turns or slides between the robot's body and its devices.

use super::joint_table::JointTable;
use crate::frames::{Body, Transform};
use crate::rig::schedule::Schedule;
use crate::toml::diagnostic::Place;

/// Origin of a joint's limits where no product sets them.
pub const FORMAT: &str = "the rig format, [[joint]]";

/// One joint of a rig. Positions are radians of a joint that turns and metres of one that slides; at
/// zero the axes of what it moves are those in which its own axis is written.
#[derive(Clone, Debug)]
pub struct JointConfig {
    /// Unique among the rig's joints.
    pub name: String,
    /// The joint that carries it, by its place in the rig; `None` for the body.
    pub parent: Option<usize>,
    /// Where it stands on what carries it.
    pub parent_from_joint: Transform<Body, Body>,
    /// The direction of its axis there, of length 1.
    pub axis: [f64; 3],
    /// Kind of the joint.
    pub kind: JointKind,
    /// The lowest and the highest position; `None` for a joint without end stops.
    pub limits: Option<[f64; 2]>,
    /// Its position at the first instant; the middle of a sine.
    pub start: f64,
    /// How the joint is moved.
    pub motion: JointMotion,
    /// Where its name is written.
    pub place: Place,
}

words!(JointKind: "revolute" => Revolute, "prismatic" => Prismatic);
/// Kind of a joint's motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// It turns about its axis, right-handed.
    Revolute,
    /// It slides along its axis.
    Prismatic,
}

/// How a joint moves, in radians or metres and seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum JointMotion {
    /// From its start at one rate, for ever.
    ConstantRate {
        /// Positive turns right-handed about the axis, or slides along it.
        rate: f64,
    },
    /// A sine about its start.
    Sine {
        /// From the middle to either end.
        amplitude: f64,
        /// Period of a whole swing, seconds.
        period_s: f64,
        /// Phase of the sine at the start of the run, radians.
        phase_rad: f64,
    },
    /// Along a smooth curve through the rows of a table.
    Table(JointTable),
    /// Motion from rest, as a device that sits on the joint commands it.
    Commanded {
        /// Largest rate.
        max_rate: f64,
        /// Largest acceleration and deceleration.
        max_acceleration: f64,
    },
}

/// A fault of a device: the joint on which it sits is held, and let go when the window closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointJam {
    /// Time from its speed to rest, and after the window back to its speed, nanoseconds.
    pub stops_within_ns: u64,
}

/// When and how a joint is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jam {
    /// The fault's place in the rig.
    pub fault: usize,
    /// When.
    pub schedule: Schedule,
    /// How.
    pub jam: JointJam,
}

impl JointConfig {
    /// Whether a device moves it.
    pub fn is_commanded(&self) -> bool {
        matches!(self.motion, JointMotion::Commanded { .. })
    }

    /// Describes the joint for people, in the units of a rig.
    pub fn describe(&self) -> String {
        let (does, unit, scale) = match self.kind {
            JointKind::Revolute => ("turns", "degrees", 180.0 / std::f64::consts::PI),
            JointKind::Prismatic => ("slides", "m", 1.0),
        };
        let told = |x: f64| (x * scale * 1e6).round() / 1e6;
        match &self.motion {
            JointMotion::ConstantRate { rate } => {
                format!("{does} by {} {unit}/s for ever", told(*rate))
            }
            JointMotion::Sine { amplitude, period_s, .. } => format!(
                "{does} to and fro by {} {unit} about {}, in {period_s} s",
                told(*amplitude),
                told(self.start)
            ),
            JointMotion::Table(table) => match table.reach() {
                Some([low, high]) => {
                    format!("{does} by a table, from {} to {} {unit}", told(low), told(high))
                }
                None => format!("{does} by a table, on and on"),
            },
            JointMotion::Commanded { max_rate, max_acceleration } => format!(
                "{does} as a device is told, up to {} {unit}/s and {} {unit}/s^2",
                told(*max_rate),
                told(*max_acceleration)
            ),
        }
    }

    /// The lowest and the highest position that its motion leads to, if it does not go on for ever.
    pub fn reach(&self) -> Option<[f64; 2]> {
        match &self.motion {
            JointMotion::ConstantRate { rate } => (*rate == 0.0).then_some([self.start; 2]),
            JointMotion::Sine { amplitude, .. } => {
                Some([self.start - amplitude.abs(), self.start + amplitude.abs()])
            }
            JointMotion::Table(table) => table.reach(),
            JointMotion::Commanded { .. } => self.limits,
        }
    }
}
