//! Laser angles of an individual unit; they differ slightly from the nominal angles of its model.

use super::profile::{Exit, RobosenseProfile, UnitLaser};
use crate::sensors::pattern::LaserGeometry;
use crate::spinning::unit_lasers;

/// Serial number as text: twelve hexadecimal digits in upper case.
pub fn serial_text(serial: [u8; 6]) -> String {
    serial.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Lasers of the unit with this serial number; their angles are rounded to the steps of DIFOP packets.
pub fn lasers_of(profile: &RobosenseProfile, serial: [u8; 6]) -> Vec<UnitLaser> {
    let unit_deg = profile.packet.layout.angle_unit_deg();
    let steps = |deg: f64| (deg / unit_deg).round() * unit_deg;
    unit_lasers::of_unit(&profile.lasers, profile.spread, &serial_text(serial), steps)
}

/// Geometry of a laser's beam. All beams leave from one point that rotates with the rotor.
pub fn geometry(profile: &RobosenseProfile, laser: &UnitLaser) -> LaserGeometry {
    if profile.raster.is_some() {
        // In an M1 each firing has its own direction.
        return LaserGeometry::default();
    }
    let Exit { out_m, up_m } = profile.exit;
    let azimuth_offset_rad = laser.azimuth_deg.to_radians();
    let (sin, cos) = libm::sincos(azimuth_offset_rad);
    LaserGeometry {
        elevation_rad: laser.elevation_deg.to_radians(),
        azimuth_offset_rad,
        // The rotor's direction is to the left of the beam by the azimuth offset.
        exit_forward_m: out_m * cos,
        exit_left_m: out_m * sin,
        exit_up_m: up_m,
    }
}
