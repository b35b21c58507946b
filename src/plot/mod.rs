//! Plots: what commands draw, as pictures and as SVG.

pub mod canvas;
pub mod chart;
