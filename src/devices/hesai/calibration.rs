//! The angles of a unit's lasers, which are a little off those of its model, and their table.

use std::fmt::Write as _;

use super::profile::{HesaiLaser, HesaiProfile};
use crate::sensors::noise::{NoiseSource, Quantity};

/// The lasers of the unit with this serial number, in thousandths of a degree as its table has them.
pub fn lasers_of(profile: &HesaiProfile, serial: &str) -> Vec<HesaiLaser> {
    let noise = NoiseSource::new(0, serial).request(0);
    let thousandths = |deg: f64| (deg * 1000.0).round() / 1000.0;
    let own = |(index, laser): (usize, &HesaiLaser)| {
        let draw = |quantity| noise.standard_normal(index, quantity);
        let up = profile.spread.elevation_std_deg * draw(Quantity::LaserElevation);
        let across = profile.spread.azimuth_std_deg * draw(Quantity::LaserAzimuth);
        HesaiLaser {
            elevation_deg: thousandths(laser.elevation_deg + up),
            azimuth_deg: thousandths(laser.azimuth_deg + across),
            ..*laser
        }
    };
    profile.lasers.iter().enumerate().map(own).collect()
}

/// The table as units serve it, lines end in LF.
pub fn table(lasers: &[HesaiLaser]) -> String {
    let mut text = "Channel,Elevation,Azimuth\n".to_owned();
    for (index, laser) in lasers.iter().enumerate() {
        let HesaiLaser { elevation_deg, azimuth_deg, .. } = laser;
        let _ = writeln!(text, "{},{elevation_deg:.3},{azimuth_deg:.3}", index + 1);
    }
    text
}
