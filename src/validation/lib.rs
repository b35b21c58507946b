//! Experiments that compare the simulation with expected results.
//!
//! The public items are the experiments, types that implement [`validation::Run`], and their arguments and
//! results: [`validation::Scope`], [`validation::Findings`], [`validation::ExperimentError`].

extern crate menura_wire as wire;

#[path = "mod.rs"]
pub mod validation;

use menura_config as config;
use menura_devices as devices;
use menura_engine::{analysis, engine, links, plot, timing};
use menura_world::{sensors, world};
use wire::{frames, time};
