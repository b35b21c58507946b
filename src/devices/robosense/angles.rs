//! The angles of a unit's lasers, which are a little off those of its model.

use super::profile::{Exit, RobosenseProfile, UnitLaser};
use crate::sensors::pattern::LaserGeometry;
use crate::spinning::unit_lasers;

/// The serial number as people write it.
pub fn serial_text(serial: [u8; 6]) -> String {
    serial.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// The lasers of the unit with this serial number, in steps of the angles that packets of state have.
pub fn lasers_of(profile: &RobosenseProfile, serial: [u8; 6]) -> Vec<UnitLaser> {
    let unit_deg = profile.packet.layout.angle_unit_deg();
    let steps = |deg: f64| (deg / unit_deg).round() * unit_deg;
    unit_lasers::of_unit(&profile.lasers, profile.spread, &serial_text(serial), steps)
}

/// Where the beam of a laser goes. All leave from one point that turns with the rotor.
pub fn geometry(profile: &RobosenseProfile, laser: &UnitLaser) -> LaserGeometry {
    if profile.raster.is_some() {
        // Each firing has its own direction.
        return LaserGeometry::default();
    }
    let Exit { out_m, up_m } = profile.exit;
    let azimuth_offset_rad = laser.azimuth_deg.to_radians();
    let (sin, cos) = libm::sincos(azimuth_offset_rad);
    LaserGeometry {
        elevation_rad: laser.elevation_deg.to_radians(),
        azimuth_offset_rad,
        // The rotor looks so far to the left of the beam.
        exit_forward_m: out_m * cos,
        exit_left_m: out_m * sin,
        exit_up_m: up_m,
    }
}
