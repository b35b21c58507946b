//! Laser angles of a unit, and its angle correction table. The angles differ slightly from those of the model.

use std::fmt::Write as _;

use super::profile::{HesaiProfile, UnitLaser};
use crate::spinning::unit_lasers;

/// Lasers of the unit with this serial number. Angles are rounded to 0.001 degrees, the resolution of the unit's angle
/// correction table.
pub fn lasers_of(profile: &HesaiProfile, serial: &str) -> Vec<UnitLaser> {
    let thousandths = |deg: f64| (deg * 1000.0).round() / 1000.0;
    unit_lasers::of_unit(&profile.lasers, profile.spread, serial, thousandths)
}

/// The angle correction table as units send it to hosts, with LF at the end of each line.
pub fn table(lasers: &[UnitLaser]) -> String {
    let mut text = "Channel,Elevation,Azimuth\n".to_owned();
    for (index, laser) in lasers.iter().enumerate() {
        let UnitLaser { elevation_deg, azimuth_deg, .. } = laser;
        let _ = writeln!(text, "{},{elevation_deg:.3},{azimuth_deg:.3}", index + 1);
    }
    text
}
