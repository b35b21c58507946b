//! State of a moving body, and the pose or command that caused it.

use glam::DVec3;

use crate::frames::{Body, Transform, World};
use crate::time::SimTime;

/// Pose and motion of the body at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Pose of the body in World.
    pub world_from_body: Transform<World, Body>,
    /// Velocity of the body's origin, World.
    pub velocity_m_s: DVec3,
    /// Acceleration of the body's origin, World, without gravity, that is, zero for a body at rest.
    pub acceleration_m_s2: DVec3,
    /// Angular rate of the body relative to World, Body frame.
    pub angular_rate_rad_s: DVec3,
}

/// The latest external input whose effect a firing can show: an external pose, or a command to a driven robot. It
/// serves to measure latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPose {
    /// Serial number of the accepted pose or command.
    pub serial: u64,
    /// Arrival time of the input, on the run's clock.
    pub arrived: SimTime,
}
