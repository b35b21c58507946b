//! The simulated world and its measurement: [`world`] contains scenes, motion and the ray caster, [`sensors`]
//! contains the physics.

#[macro_use]
extern crate menura_wire as wire;

#[path = "../sensors/mod.rs"]
pub mod sensors;
#[path = "mod.rs"]
pub mod world;

use menura_config as config;
use wire::{frames, time};
