//! What moves the robot and its joints: orders that devices and hosts give, each with the instant from
//! which it holds.

use crate::time::SimTime;

/// Command to the robot's drive, or to one of its joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actuation {
    /// Set points of the ground speed of both sides' treads or wheels, forward positive.
    Treads {
        /// Left, m/s.
        left_m_s: f64,
        /// Right, m/s.
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
    /// Power is cut (`true`): the drive brakes to rest whatever it was told; or power is back.
    EmergencyStop(bool),
    /// A joint is to turn at a rate.
    JointRate {
        /// Place in the rig's order.
        joint: usize,
        /// Set point, rad/s; m/s of a joint that slides.
        rate_rad_s: f64,
    },
    /// A joint is to go to an angle.
    JointAngle {
        /// Place in the rig's order.
        joint: usize,
        /// Set point, radians; metres of a joint that slides.
        angle_rad: f64,
        /// Largest rate on the way, rad/s or m/s.
        max_rate_rad_s: f64,
    },
    /// The robot is put back to its initial pose, at rest.
    Reset,
}

/// An [`Actuation`] on its way to what it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    /// From when on it holds.
    pub at: SimTime,
    /// Counts the commands of a run, from 1.
    pub serial: u64,
    /// Time when what the host said arrived, on the run's clock.
    pub arrived: SimTime,
    /// The actuation.
    pub actuation: Actuation,
}
