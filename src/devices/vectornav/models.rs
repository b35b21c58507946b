//! Models of the Earth's magnetic field and gravity in the unit.

use glam::DVec3;

use crate::frames::Geodetic;
use crate::sensors::imu::earth;

/// Magnetic field (gauss) and specific force at rest (m/s²), both north, east, down. The height is above the ellipsoid; the
/// fraction of `year` is the part of the year that has passed.
pub fn models_at(latitude_deg: f64, longitude_deg: f64, altitude_m: f64, year: f64) -> [DVec3; 2] {
    let place = Geodetic { latitude_deg, longitude_deg, altitude_m };
    let whole = (year as i16).clamp(1, 9999);
    let first =
        jiff::civil::Date::new(whole, 1, 1).unwrap_or(jiff::civil::Date::constant(2026, 1, 1));
    let days = ((year - f64::from(whole)) * 365.0).clamp(0.0, 364.0) as i64;
    let date = first.saturating_add(jiff::Span::new().days(days));
    [
        earth::world_magnetic_field_gauss(&place, date),
        -DVec3::Z * earth::normal_gravity_m_s2(&place),
    ]
}
