//! A satellite in a receiver's solution.

use super::constellation::Satellite;

/// Source of a satellite's corrections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CorrectionSource {
    /// No corrections.
    #[default]
    None,
    /// SBAS satellites.
    Sbas,
    /// RTCM 3 messages of a base.
    Rtcm,
}

/// Corrections that a solution uses for a satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SatelliteCorrection {
    /// Source of the corrections.
    pub source: CorrectionSource,
    /// Whether corrections include the carrier as well as the code.
    pub has_carrier: bool,
    /// Whether corrections include the second signal as well as the first.
    pub has_second: bool,
}

/// A satellite in the receiver's view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedSatellite {
    /// The satellite, with its system, number and orbit.
    pub satellite: Satellite,
    /// Elevation above the horizon, degrees.
    pub elevation_deg: f64,
    /// Azimuth, degrees clockwise from north, 0 to 360.
    pub azimuth_deg: f64,
    /// Carrier-to-noise ratio of the first and second signal, dB-Hz; `None` if not tracked.
    pub cno_dbhz: [Option<f64>; 2],
    /// Whether the satellite is part of the solution.
    pub is_used: bool,
    /// Residual of the pseudorange, metres.
    pub residual_m: f64,
    /// Corrections in use for the satellite.
    pub correction: SatelliteCorrection,
}
