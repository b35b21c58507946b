//! What a user writes: rigs and firmware profiles, read, checked and typed.
//!
//! Everything to the right of this layer works on values that were checked here. All faults of a
//! file are told at once, as [`toml::diagnostic::Diagnostics`].

#[macro_use]
extern crate menura_wire as wire;

#[macro_use]
pub mod toml;
pub mod profile;
pub mod rig;

use wire::{frames, time};
