//! What a rig says of a robot that is driven by its computer.

use std::net::SocketAddr;

/// `trajectory = { kind = "drive", … }`: see [`crate::world::vehicle`].
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// How set points become motion.
    pub model: DriveModel,
    /// Where the robot stands at the first instant: x, y, z, metres.
    pub position_m: [f64; 3],
    /// Its heading then, radians.
    pub yaw_rad: f64,
    /// Where twists are taken, if no device of the rig drives the robot.
    pub twist: Option<TwistInput>,
}

/// How set points become motion.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveModel {
    /// Treads, or wheels that cannot be steered, on both sides.
    SkidSteer {
        /// Lateral distance of each tread's instantaneous centre of rotation from the middle, metres.
        y_icr_m: f64,
        /// Highest ground speed of a tread, m/s.
        max_speed_m_s: f64,
        /// Time constant of a tread's response, seconds.
        lag_s: f64,
    },
}

/// Where twists are taken: see [`crate::wire::twist`].
#[derive(Clone, Debug, PartialEq)]
pub struct TwistInput {
    /// The UDP address.
    pub listen: SocketAddr,
    /// After this long without a datagram the robot is told to stand, nanoseconds.
    pub hold_ns: u64,
}
