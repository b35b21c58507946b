//! Lasers of one unit: their angles differ slightly from the model's, depending on the serial number.

use super::profile_read::{self, Column};
use crate::config::profile::read::PROFILES;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::noise::{NoiseSource, Quantity};

fn spread() -> Limit<f64> {
    Limit::new(0.0..=1.0, "degrees", PROFILES)
}

keys! {
    /// Spread of the laser angles between units of a model.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct UnitSpread {
        /// Standard deviation of the difference in elevation.
        pub elevation_std_deg: f64, spread();
        /// Standard deviation of the difference in azimuth.
        pub azimuth_std_deg: f64, spread();
    }
}

/// A laser of a model, or of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitLaser {
    /// Elevation, degrees.
    pub elevation_deg: f64,
    /// Azimuth at the start of the firing, degrees clockwise from the rotor's direction; without a rotor, from forward.
    pub azimuth_deg: f64,
    /// Delay of this laser's pulse after the start of the firing, nanoseconds.
    pub firing_ns: u32,
}

/// Lasers of the unit with this serial number; `rounded` rounds an angle to the resolution of the unit's calibration
/// table.
pub fn of_unit(
    model: &[UnitLaser],
    spread: UnitSpread,
    serial: &str,
    rounded: impl Fn(f64) -> f64,
) -> Vec<UnitLaser> {
    let noise = NoiseSource::new(0, serial).request(0);
    let own = |(index, laser): (usize, &UnitLaser)| {
        let draw = |quantity| noise.standard_normal(index, quantity);
        let up = spread.elevation_std_deg * draw(Quantity::LaserElevation);
        let across = spread.azimuth_std_deg * draw(Quantity::LaserAzimuth);
        UnitLaser {
            elevation_deg: rounded(laser.elevation_deg + up),
            azimuth_deg: rounded(laser.azimuth_deg + across),
            ..*laser
        }
    };
    model.iter().enumerate().map(own).collect()
}

/// Reads `[spread]` of a profile.
pub(crate) fn profile_spread(root: &mut Keys<'_>) -> Option<UnitSpread> {
    let says = "Differences between the angles of a unit's own lasers and those of `lasers.rows`.";
    root.section("spread", says)
}

/// Reads `[lasers]` of a profile. The number of rows must be one of `counts`; `many` describes them in messages.
pub(crate) fn lasers(
    mut table: TableReader<'_>,
    counts: &[usize],
    many: &str,
) -> Option<Vec<UnitLaser>> {
    let columns = [
        Column::whole("id", 127, PROFILES),
        Column::number("elevation_deg", -90.0..=90.0, "degrees", PROFILES),
        Column::number("azimuth_deg", -180.0..=180.0, "degrees", PROFILES),
        Column::number("firing_us", 0.0..=1000.0, "us", PROFILES),
    ];
    let field = profile_read::laser_rows(&mut table);
    let rows = profile_read::lasers(&field, counts, many, &columns, |_| None);
    table.finish();
    let laser = |[_, elevation_deg, azimuth_deg, firing_us]: [f64; 4]| UnitLaser {
        elevation_deg,
        azimuth_deg,
        firing_ns: (firing_us * 1000.0).round() as u32,
    };
    Some(rows?.into_iter().map(laser).collect())
}
