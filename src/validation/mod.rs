//! Experiments: each compares what Menura simulates with what it should be, and judges it.
//!
//! An experiment is one folder with a type that implements [`Run`], and one line of
//! [`EXPERIMENTS`]; the command line lists and runs what stands there. What it measures it reads from
//! the bytes that devices send ([`recording`]), as a driver would.

mod allan;
mod andabata;
mod courtyard_costmaps;
mod experiment;
mod findings;
mod grass;
mod mixed_pixels;
mod point_versus_beam;
mod recording;
mod scaling;
mod scan_distortion;
mod scope;
mod shrub;
mod statistics;
mod vepd;

use self::experiment::Run;
pub use self::experiment::{Experiment, ExperimentError};
pub use self::findings::{Comparison, Findings, Plot, Verdict};
pub use self::scope::Scope;

/// All experiments, in the order of `menura validate --help`.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::of::<grass::Grass>(),
    Experiment::of::<mixed_pixels::MixedPixels>(),
    Experiment::of::<shrub::Shrub>(),
    Experiment::of::<allan::Allan>(),
    Experiment::of::<vepd::Vepd>(),
    Experiment::of::<andabata::Andabata>(),
    Experiment::of::<point_versus_beam::PointVersusBeam>(),
    Experiment::of::<courtyard_costmaps::CourtyardCostmaps>(),
    Experiment::of::<scan_distortion::ScanDistortion>(),
    Experiment::of::<scaling::Scaling>(),
];
