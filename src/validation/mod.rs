//! Experiments: each compares Menura's simulation with expected results and gives a verdict.
//!
//! An experiment is one folder with a type that implements [`Run`]; `cli/experiments.rs` lists all of them for the
//! command line. An experiment decodes the bytes that devices send ([`recording`]), like a driver.

#[macro_use]
mod choices;

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

pub use self::allan::Allan;
pub use self::andabata::Andabata;
pub use self::courtyard_costmaps::{CourtyardCostmaps, SixtyFour};
pub use self::experiment::{ExperimentError, Run};
pub use self::findings::{Comparison, Findings, Plot, Verdict};
pub use self::grass::Grass;
pub use self::mixed_pixels::MixedPixels;
pub use self::point_versus_beam::PointVersusBeam;
pub use self::scaling::{Scaling, Size};
pub use self::scan_distortion::ScanDistortion;
pub use self::scope::Scope;
pub use self::shrub::Shrub;
pub use self::vepd::{Course, JudgeOn, Preset, Stated, Variant, Vepd};
