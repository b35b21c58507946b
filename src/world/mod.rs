//! The simulated world: what is there, where the robot is, and what a pulse hits.

pub mod builtin;
pub mod ground;
pub mod loaders;
pub mod materials;
pub mod moving;
pub mod random;
pub mod raycast;
pub mod scene;
pub mod trajectory;
