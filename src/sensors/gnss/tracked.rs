//! A satellite as a receiver has it.

use super::constellation::Satellite;

/// A satellite in the receiver's view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedSatellite {
    /// Number, system and orbit.
    pub satellite: Satellite,
    /// Above the horizon.
    pub elevation_deg: f64,
    /// Clockwise from north, 0 to 360.
    pub azimuth_deg: f64,
    /// Carrier-to-noise ratio of the first and second signal; `None` if not tracked.
    pub cno_dbhz: [Option<f64>; 2],
    /// Whether it is part of the solution.
    pub is_used: bool,
    /// Residual of its pseudorange.
    pub residual_m: f64,
}
