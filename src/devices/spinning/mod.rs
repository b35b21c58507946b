//! Common parts of spinning lidars.
//!
//! [`rotor`] has the angle of the head, and the modes in [`program`] determine the firings. A family's
//! [`stream::Planner`] makes packets from both; [`planned`] and [`backlog`] queue them. [`clock`] or a [`master`]'s
//! time provides timestamps. [`unit_lasers`] has the differences between the lasers of units.

pub(crate) mod backlog;
pub mod clock;
pub mod clock_settings;
pub(crate) mod data_packet;
pub mod master;
pub mod motor_settings;
pub(crate) mod planned;
pub(crate) mod profile_read;
pub(crate) mod program;
pub mod return_mode;
pub(crate) mod returns;
pub(crate) mod rotor;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod turns;
pub mod unit_lasers;
pub(crate) mod view;
