//! `[[joint]]`: parts that turn or slide between the robot's body and its devices.

use super::joint_table::JointTable;
use crate::frames::{Body, Transform};
use crate::rig::schedule::Schedule;
use crate::toml::diagnostic::Place;

/// Origin of a joint's limits where no product sets them.
pub const FORMAT: &str = "the rig format, [[joint]]";

/// One joint of a rig. Positions are radians for a joint that turns and metres for one that slides. At
/// position zero the moved axes coincide with those in which the joint's axis is written.
#[derive(Clone, Debug)]
pub struct JointConfig {
    /// Name of the joint, unique among the rig's joints.
    pub name: String,
    /// Index of the joint that carries this joint; `None` for the body.
    pub parent: Option<usize>,
    /// Pose of the joint on its parent.
    pub parent_from_joint: Transform<Body, Body>,
    /// Direction of the joint's axis there, of length 1.
    pub axis: [f64; 3],
    /// Kind of the joint.
    pub kind: JointKind,
    /// The lowest and the highest position; `None` for a joint without end stops.
    pub limits: Option<[f64; 2]>,
    /// Position at the first instant; of a sine, its middle.
    pub start: f64,
    /// Motion of the joint.
    pub motion: JointMotion,
    /// Position of the joint's name in the file.
    pub place: Place,
}

words!(JointKind: "revolute" => Revolute, "prismatic" => Prismatic);
/// Kind of a joint's motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// The joint turns about its axis, right-handed.
    Revolute,
    /// The joint slides along its axis.
    Prismatic,
}

/// Motion of a joint, in radians or metres and seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum JointMotion {
    /// Constant rate from the start position, without end.
    ConstantRate {
        /// Rate; positive turns right-handed about the axis, or slides along it.
        rate: f64,
    },
    /// A sine around the start position.
    Sine {
        /// Amplitude: from the middle to either end.
        amplitude: f64,
        /// Period of a whole swing, seconds.
        period_s: f64,
        /// Phase of the sine at the start of the run, radians.
        phase_rad: f64,
    },
    /// Along a smooth curve through the rows of a table.
    Table(JointTable),
    /// Motion from rest that a device on the joint commands.
    Commanded {
        /// Largest rate.
        max_rate: f64,
        /// Largest acceleration and deceleration.
        max_acceleration: f64,
    },
}

/// A fault of a device that holds the joint which carries it, and releases it when the window closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointJam {
    /// Time from full rate to rest, and back after the window, nanoseconds.
    pub stops_within_ns: u64,
}

/// A fault that holds a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jam {
    /// Index of the fault in the rig.
    pub fault: usize,
    /// Schedule of the fault.
    pub schedule: Schedule,
    /// Details of the fault.
    pub jam: JointJam,
}

impl JointConfig {
    /// Whether a device commands the joint.
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

    /// Lowest and highest position of the motion; `None` if it continues without end.
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
