//! A satellite as a receiver has it.

use super::constellation::Satellite;

/// Source of a satellite's corrections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CorrectionSource {
    /// It has none.
    #[default]
    None,
    /// Satellites of an SBAS.
    Sbas,
    /// RTCM 3 messages of a base.
    Rtcm,
}

/// Corrections that a solution uses for a satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SatelliteCorrection {
    /// Source.
    pub source: CorrectionSource,
    /// Whether its carrier is corrected in addition to its code.
    pub has_carrier: bool,
    /// Whether its second signal is corrected in addition to its first.
    pub has_second: bool,
}

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
    /// Corrections that the solution uses for it.
    pub correction: SatelliteCorrection,
}
