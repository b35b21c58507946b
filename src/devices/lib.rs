//! Emulated products. They receive measurements and commands, and return bytes. They do no I/O. Their functions take
//! the time as an argument.
//!
//! [`device`] is the interface of a product to the rest of Menura, [`family`] the interface of a family of products,
//! [`families`] the table of all families. The engine decides where and when measurements run.
//!
//! A new firmware of a known family is a profile and needs no code. A new family is one folder here
//! and its entry in [`FAMILIES`].

#[macro_use]
extern crate menura_config as config;
#[macro_use]
extern crate menura_wire as wire;

mod clearpath_horizon;
pub mod commands;
mod create_oi;
pub mod decoder;
pub mod describe;
pub mod device;
pub mod drive_base;
pub mod families;
pub mod family;
pub mod fdilink;
pub mod gige_camera;
pub mod gnss;
pub mod hdl64e;
pub mod hesai;
pub mod hokuyo;
pub mod imu;
pub mod joint_encoder;
mod kangaroo;
pub mod livox;
pub mod mip;
pub mod motor_stall;
mod optics_fault;
pub mod ouster;
pub mod phone_imu;
mod power_cycle;
pub mod ptp;
mod roboclaw;
pub mod robosense;
mod sabertooth;
mod sample_series;
pub mod sbg_ecom;
mod serial;
pub mod sick_lms1xx;
pub mod sick_lms2xx;
pub mod spinning;
mod tcp_hosts;
pub mod vectornav;
pub mod velodyne;
mod waiting;
pub mod xbus;

use menura_world::{sensors, world};
use wire::{frames, time};

pub use self::device::{Built, CableSignal, Device, Output, PacketTruth, REACTION_NS, Transmit};
pub use self::families::{FAMILIES, build};
