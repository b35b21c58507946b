//! What a user writes: rigs and firmware profiles, read, checked and typed.
//!
//! Everything to the right of this layer works on values that were checked here. All faults of a
//! file are told at once, as [`toml::diagnostic::Diagnostics`].

#[macro_use]
pub mod toml;

pub mod almanac;
pub mod calibration;
mod calibration_xml;
pub mod gnss;
mod gnss_errors_read;
mod gnss_read;
pub mod hdl64e;
mod hdl64e_read;
pub mod hdl64e_serial;
pub mod imu;
pub mod imu_answers;
mod imu_read;
pub mod profile;
pub mod rig;
pub mod sick_lms1xx;
mod sick_lms1xx_read;
pub mod sick_lms2xx;
mod sick_lms2xx_read;
pub mod velodyne;
pub mod velodyne_clock;
pub mod velodyne_motor;
pub mod velodyne_position;
mod velodyne_read;
pub mod velodyne_web;
