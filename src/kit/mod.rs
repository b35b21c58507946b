//! The driver test kit: it tests a driver with the faults and the behaviour of real sensors, case by case.
//!
//! [`suite`] has the cases, which are data. [`adapter`] defines how a driver reports its observations. [`runner`] runs
//! the cases, each with its own rig and driver, and [`judge`] compares the observations with the expectations of each
//! case and with the ground [`truth`]. [`report`] writes the verdicts.
//!
//! ```text
//! suite, adapter --> runner --> bench (the rig as a child process)      --> sensor's bytes
//!                       |                                                        |
//!                       +-----> driver (the command, its process group) <--------+
//!                                  |  lines, datagrams, files
//!                                  v
//!                       observations --> judge (with truth) --> verdict, evidence
//! ```

pub(crate) mod adapter;
pub(crate) mod adapter_read;
mod bench;
pub(crate) mod case;
mod case_actions;
mod case_parts_read;
mod case_run;
#[allow(clippy::disallowed_methods)] // rigs and drivers are processes in real time
pub(crate) mod clock;
pub mod clouds;
mod driver;
mod evidence;
pub(crate) mod expectation;
mod group;
mod host_clock;
pub(crate) mod judge;
pub mod library;
mod links;
mod listener;
pub(crate) mod observation;
mod placeholders;
mod python;
pub(crate) mod report;
pub(crate) mod rig_source;
pub(crate) mod runner;
pub mod stranger;
pub mod suite;
mod suite_read;
mod toml_fields;
pub(crate) mod truth;
pub(crate) mod verdict;
mod web;
