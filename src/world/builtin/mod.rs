//! Scenes that need no file; their parameters and limits are in [`crate::config::rig::scenes`].

pub mod andabata_field;
pub mod bodies;
pub mod courtyard;
pub mod fort_drum;
pub(crate) mod grass_stand;
pub mod meadow_wall;
pub mod rods;
pub mod room;
pub(crate) mod root_step;
pub(crate) mod shrub;
pub mod street;

mod grass;
mod heights;
mod planting;
mod solids;
mod tree;

pub use crate::config::rig::scenes::{BUILTIN, BuiltinScene};
