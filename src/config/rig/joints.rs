//! `[[joint]]`: parts that rotate or slide between the robot's body and its devices.

use super::joint_table::JointTable;
use crate::frames::{Body, Transform};
use crate::rig::schedule::Schedule;
use crate::toml::diagnostic::Place;

/// Text that error messages print as the source of joint limits that are the same for all products.
pub const FORMAT: &str = "the rig format, [[joint]]";

/// One joint of a rig. Positions are radians for a revolute joint and metres for a prismatic joint. At position zero,
/// the axes of the moving part coincide with those of the joint.
#[derive(Clone, Debug)]
pub struct JointConfig {
    /// Name of the joint, unique among the rig's joints.
    pub name: String,
    /// Index of the joint whose moving part carries this joint; `None` if the robot's body carries it.
    pub parent: Option<usize>,
    /// Pose of the joint on its parent: the moving part of another joint, or the robot's body.
    pub parent_from_joint: Transform<Body, Body>,
    /// Unit vector of the joint's axis, in the joint's frame.
    pub axis: [f64; 3],
    /// Kind of the joint.
    pub kind: JointKind,
    /// Lowest and highest position; `None` for a joint without end stops.
    pub limits: Option<[f64; 2]>,
    /// Position at the start of the run; for a sine, the middle of its range instead, whatever its phase.
    pub start: f64,
    /// Motion of the joint.
    pub motion: JointMotion,
    /// Position of the joint's name in the file.
    pub place: Place,
}

words!(JointKind: "revolute" => Revolute, "prismatic" => Prismatic);
/// Whether a joint rotates or slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// The joint rotates about its axis, right-handed.
    Revolute,
    /// The joint slides along its axis.
    Prismatic,
}

/// Motion of a joint, in radians or metres and seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum JointMotion {
    /// Constant rate from the start position, without end.
    ConstantRate {
        /// Rate, radians or metres per second; positive is right-handed about the axis, or along it.
        rate: f64,
    },
    /// A sine around the start position.
    Sine {
        /// Amplitude, radians or metres.
        amplitude: f64,
        /// Period, seconds.
        period_s: f64,
        /// Phase of the sine at the start of the run, radians.
        phase_rad: f64,
    },
    /// A smooth curve through the rows of a table.
    Table(JointTable),
    /// A device on the joint commands the motion, which starts at rest.
    Commanded {
        /// Largest rate, radians or metres per second.
        max_rate: f64,
        /// Largest acceleration and deceleration, radians or metres per second squared.
        max_acceleration: f64,
    },
}

/// A device fault that holds the device's joint during each window of the fault's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointJam {
    /// Time in which the joint stops from its full rate, nanoseconds. A joint whose motion the rig defines takes the
    /// same time to return to its rate, and reaches it at the end of the window.
    pub stops_within_ns: u64,
}

/// A fault that holds a joint, with the fault's index in the rig and the fault's schedule.
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

    /// Description of the joint for users, in the units of a rig.
    pub fn describe(&self) -> String {
        let (does, unit, scale) = match self.kind {
            JointKind::Revolute => ("turns", "degrees", 180.0 / std::f64::consts::PI),
            JointKind::Prismatic => ("slides", "m", 1.0),
        };
        let told = |x: f64| (x * scale * 1e6).round() / 1e6;
        match &self.motion {
            JointMotion::ConstantRate { rate } => {
                format!("{does} at {} {unit}/s without end", told(*rate))
            }
            JointMotion::Sine { amplitude, period_s, .. } => format!(
                "{does} to and fro by {} {unit} about {}, with a period of {period_s} s",
                told(*amplitude),
                told(self.start)
            ),
            JointMotion::Table(table) => match table.reach() {
                Some([low, high]) => {
                    format!("{does} by a table, from {} to {} {unit}", told(low), told(high))
                }
                None => format!("{does} by a table, without end"),
            },
            JointMotion::Commanded { max_rate, max_acceleration } => format!(
                "{does} as commanded, up to {} {unit}/s and {} {unit}/s^2",
                told(*max_rate),
                told(*max_acceleration)
            ),
        }
    }

    /// Lowest and highest position that the motion reaches; for a commanded joint, the joint's limits. `None` if the
    /// position is unlimited.
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
