//! Laser angles of a unit, which differ slightly from its model's, and their angle correction table.

use std::fmt::Write as _;

use super::profile::{HesaiProfile, UnitLaser};
use crate::spinning::unit_lasers;

/// Lasers of the unit with this serial number, in steps of its table, 0.001 degrees.
pub fn lasers_of(profile: &HesaiProfile, serial: &str) -> Vec<UnitLaser> {
    let thousandths = |deg: f64| (deg * 1000.0).round() / 1000.0;
    unit_lasers::of_unit(&profile.lasers, profile.spread, serial, thousandths)
}

/// The table as units serve it, with LF as line end.
pub fn table(lasers: &[UnitLaser]) -> String {
    let mut text = "Channel,Elevation,Azimuth\n".to_owned();
    for (index, laser) in lasers.iter().enumerate() {
        let UnitLaser { elevation_deg, azimuth_deg, .. } = laser;
        let _ = writeln!(text, "{},{elevation_deg:.3},{azimuth_deg:.3}", index + 1);
    }
    text
}
