//! The simulated world: scenes, the robot's motion, and the ray caster.

pub mod actuation;
pub mod body_state;
pub mod builtin;
pub mod colours;
pub mod ground;
pub mod joints;
pub mod loaders;
pub mod materials;
pub mod moving;
pub mod random;
pub mod raycast;
pub mod scene;
pub mod survey;
pub mod trajectory;
pub mod vehicle;
