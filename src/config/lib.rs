//! Files that users write: rigs and firmware profiles, read, checked and typed.
//!
//! All later layers work on values that were checked here. All errors of a file are reported together, as
//! [`toml::diagnostic::Diagnostics`].

#[macro_use]
extern crate menura_wire as wire;

#[macro_use]
pub mod toml;
pub mod profile;
pub mod rig;

use wire::{frames, time};
