//! Experiments that compare what is simulated with what it should be.
//!
//! Public are the experiments, types that implement [`validation::Run`], and what they take and return:
//! [`validation::Scope`], [`validation::Findings`], [`validation::ExperimentError`].

extern crate menura_wire as wire;

#[path = "mod.rs"]
pub mod validation;

use menura_config as config;
use menura_devices as devices;
use menura_engine::{analysis, engine, links, plot, timing};
use menura_world::{sensors, world};
use wire::{frames, time};
