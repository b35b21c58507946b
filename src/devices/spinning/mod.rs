//! What spinning lidars of all families share.
//!
//! The head turns as [`rotor`] says and the lasers fire as the modes in [`program`] say. A family's
//! [`stream::Planner`] makes packets of both; [`planned`] and [`backlog`] keep those on their way.
//! [`clock`] stamps them, or a [`master`]'s time. A unit's own lasers are in [`unit_lasers`].

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
