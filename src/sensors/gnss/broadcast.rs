//! Broadcast orbits and clocks of satellites, and their true clocks.
//!
//! Broadcast orbits equal the true ones up to the resolution of the messages, some centimetres. A true clock has a
//! constant drift; its offset and drift are multiples of the steps in GPS's message. Satellites issue new data every
//! two hours. The reference time of the data is the end of these two hours; for Galileo, it is their beginning. GLONASS
//! broadcasts position and velocity every half hour, in steps of half a metre and a millimetre per second. The steps of
//! its clock are coarser than those of GPS.

use super::constellation::{Satellite, SatelliteOrbit};
use super::settings::GnssSystem;

/// BeiDou time is this much behind GPS time, seconds.
pub const BEIDOU_BEHIND_S: i64 = 14;
/// Interval at which new data is issued, seconds.
const ISSUE_S: i64 = 7200;
/// Step of clock offsets in GPS's message: 2^-31 s.
const OFFSET_STEP_S: f64 = 1.0 / 2_147_483_648.0;
/// Step of clock drifts in GPS's message: 2^-43 s/s.
const DRIFT_STEP: f64 = OFFSET_STEP_S / 4096.0;
/// GPS time, seconds, from which clock drift accumulates, in November 2026. At this time, the clock offset of each
/// satellite is the one in [`steps`].
const CLOCKS_FROM_GPS_S: i64 = 2445 * 604_800;

/// Broadcast orbit and clock of a satellite in Keplerian elements. GLONASS satellites broadcast no such elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broadcast {
    /// Reference time within the week of the satellite system, in units of two hours, 0 to 83; it identifies the issue.
    pub issue: u8,
    /// Reference time of orbit and clock, GPS seconds.
    pub toe_gps_s: i64,
    /// Orbital elements at the reference time.
    pub orbit: SatelliteOrbit,
    /// Clock offset at the reference time, seconds.
    pub clock_s: f64,
    /// Clock drift, s/s.
    pub drift: f64,
}

impl Broadcast {
    /// The navigation data that `satellite` broadcasts at the GPS time `gps_s`.
    pub fn new(satellite: &Satellite, gps_s: i64) -> Self {
        // Two-hour intervals begin at full hours of the system's own time.
        let behind_s = if satellite.system == GnssSystem::Beidou { BEIDOU_BEHIND_S } else { 0 };
        let issue = (gps_s - behind_s).div_euclid(ISSUE_S);
        // The reference time of Galileo's data is never in the future.
        let ahead = i64::from(satellite.system != GnssSystem::Galileo);
        let toe_s = (issue + ahead) * ISSUE_S;
        let toe_gps_s = toe_s + behind_s;
        Self {
            issue: (toe_s.rem_euclid(604_800) / ISSUE_S) as u8,
            toe_gps_s,
            orbit: satellite.orbit.at(toe_gps_s),
            clock_s: clock_s(satellite, toe_gps_s, 0.0),
            drift: drift(satellite),
        }
    }
}

/// Offset of a satellite's true clock `after_s` seconds after a GPS time, seconds.
pub fn clock_s(satellite: &Satellite, gps_s: i64, after_s: f64) -> f64 {
    let [offset, _] = steps(satellite);
    let since_s = (gps_s - CLOCKS_FROM_GPS_S) as f64 + after_s;
    f64::from(offset) * OFFSET_STEP_S + drift(satellite) * since_s
}

/// Drift of a satellite's true clock, s/s.
pub fn drift(satellite: &Satellite) -> f64 {
    f64::from(steps(satellite)[1]) * DRIFT_STEP
}

/// Offset and drift in steps; they are within ±0.3 ms and ±4e-13 s/s.
fn steps(satellite: &Satellite) -> [i32; 2] {
    let number = satellite.system as i32 * 64 + i32::from(satellite.svid);
    [number * 104_729 % 1_200_001 - 600_000, number * 5 % 7 - 3]
}
