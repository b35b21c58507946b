//! What a user writes: rigs and firmware profiles, read, checked and typed.
//!
//! Everything to the right of this layer works on values that were checked here. All faults of a
//! file are told at once, as [`diagnostic::Diagnostics`].

#[macro_use]
mod words;

pub mod almanac;
mod cable_read;
pub mod calibration;
mod calibration_xml;
pub mod diagnostic;
mod fault_details;
mod fault_read;
pub mod faults;
pub mod gnss;
mod gnss_errors_read;
mod gnss_read;
pub mod hdl64e;
mod hdl64e_read;
pub mod hdl64e_serial;
pub mod imu;
pub mod imu_answers;
mod imu_read;
pub mod lidar;
mod lidar_read;
mod link_read;
pub mod network;
mod object_read;
pub mod objects;
pub mod overrides;
pub mod profile;
mod profile_read;
mod reader;
mod response_read;
pub mod responses;
pub mod rig;
mod rig_read;
pub mod scenes;
pub mod schedule;
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
mod world_read;
