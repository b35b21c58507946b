//! Commands to the robot's drive and joints, from devices and hosts, each with the instant at which it takes
//! effect.

use crate::time::SimTime;

/// Command to the robot's drive, or to one of its joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actuation {
    /// Set points of the ground speed of the tracks or wheels on each side, forward positive.
    Treads {
        /// Left side, m/s.
        left_m_s: f64,
        /// Right side, m/s.
        right_m_s: f64,
    },
    /// Set points of the body's motion.
    Twist {
        /// Forward speed, m/s.
        forward_m_s: f64,
        /// Turning rate, left positive, rad/s.
        turn_rad_s: f64,
    },
    /// Set points of a robot that steers.
    Steering {
        /// Forward speed, m/s.
        forward_m_s: f64,
        /// Angle of the wheel in the middle of the front axle, left positive, radians.
        steering_rad: f64,
    },
    /// Starts (`true`) or ends (`false`) an emergency stop. During the stop, the drive brakes to rest. The last set
    /// points that arrive during the stop take effect at its end.
    EmergencyStop(bool),
    /// Sets the rate of a joint.
    JointRate {
        /// Index of the joint in the rig.
        joint: usize,
        /// Set point, rad/s; for a sliding joint, m/s.
        rate_rad_s: f64,
    },
    /// Sets the target angle of a joint.
    JointAngle {
        /// Index of the joint in the rig.
        joint: usize,
        /// Set point, radians; for a sliding joint, metres.
        angle_rad: f64,
        /// Largest rate of the motion, rad/s; for a sliding joint, m/s.
        max_rate_rad_s: f64,
    },
    /// Resets the robot to its initial pose, at rest.
    Reset,
}

/// An [`Actuation`] with its arrival time and the time at which it takes effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    /// Time at which the command takes effect.
    pub at: SimTime,
    /// Number of the command in the run, from 1.
    pub serial: u64,
    /// Arrival time of the host's bytes, on the run's clock.
    pub arrived: SimTime,
    /// Content of the command.
    pub actuation: Actuation,
}
