//! Files that users write: rigs and firmware profiles. This crate reads and checks them and converts them to types.
//!
//! All later layers use values that were checked here. All errors of a file are reported together, as
//! [`toml::diagnostic::Diagnostics`].

#[macro_use]
extern crate menura_wire as wire;

#[macro_use]
pub mod toml;
pub mod profile;
pub mod rig;

use wire::{frames, time};
