//! The simulated world: what is there, where the robot is, and what a pulse hits.

pub mod raycast;
pub mod scene;
