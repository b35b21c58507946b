//! Scenes that need no file; their parameters and limits are in [`crate::config::rig::scenes`].

pub mod bodies;
pub mod courtyard;
pub mod room;
pub(crate) mod root_step;

mod grass;
mod heights;
mod planting;
mod tree;

pub use crate::config::rig::scenes::{BUILTIN, BuiltinScene, ParameterHelp};
