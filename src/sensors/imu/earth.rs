//! The Earth's gravity, rotation and magnetic field.

use glam::DVec3;
use world_magnetic_model::GeomagneticField;
use world_magnetic_model::time::Date;
use world_magnetic_model::uom::si::angle::degree;
use world_magnetic_model::uom::si::f32::{Angle, Length};
use world_magnetic_model::uom::si::length::meter;
use world_magnetic_model::uom::si::magnetic_flux_density::gauss;

use crate::frames::Geodetic;

/// WGS84 angular rate of the Earth, rad/s (NIMA TR8350.2).
pub const EARTH_RATE_RAD_S: f64 = 7.292_115e-5;
/// Standard gravity, the "g" of datasheets, m/s² (CGPM 1901).
pub const STANDARD_GRAVITY_M_S2: f64 = 9.806_65;
/// Mean radius of the Earth, for the change of the vertical along a robot's path, m.
const MEAN_RADIUS_M: f64 = 6_371_000.0;

/// Normal gravity, m/s²: Somigliana's formula on the ellipsoid, continued upwards by the
/// second-order series of NIMA TR8350.2, equation 4-3.
pub fn normal_gravity_m_s2(place: &Geodetic) -> f64 {
    const EQUATORIAL: f64 = 9.780_325_335_9;
    const K: f64 = 0.001_931_852_652_41;
    const E2: f64 = 0.006_694_379_990_14;
    const A_M: f64 = 6_378_137.0;
    const F: f64 = 1.0 / 298.257_223_563;
    const M: f64 = 0.003_449_786_506_84;
    let sin = libm::sin(place.latitude_deg.to_radians());
    let s2 = sin * sin;
    let on_ellipsoid = EQUATORIAL * (1.0 + K * s2) / (1.0 - E2 * s2).sqrt();
    let h = place.altitude_m / A_M;
    on_ellipsoid * (1.0 - 2.0 * (1.0 + F + M - 2.0 * F * s2) * h + 3.0 * h * h)
}

/// Gravity in World, m/s², at `position_m` in World; `place` is the same position on Earth.
pub fn gravity_in_world(position_m: DVec3, place: &Geodetic) -> DVec3 {
    // World's z is the vertical at the origin. Elsewhere the vertical leans away from the origin.
    let up = DVec3::new(position_m.x / MEAN_RADIUS_M, position_m.y / MEAN_RADIUS_M, 1.0);
    up.normalize() * -normal_gravity_m_s2(place)
}

/// The Earth's rotation in World (east, north, up), rad/s.
pub fn earth_rate_in_world(latitude_deg: f64) -> DVec3 {
    let (sin, cos) = libm::sincos(latitude_deg.to_radians());
    DVec3::new(0.0, cos, sin) * EARTH_RATE_RAD_S
}

/// The magnetic field of the World Magnetic Model: north, east, down, gauss.
///
/// The model covers 2020 to 2029 and heights from -1 to 850 km. Other dates and lower heights are clamped; no rig has
/// greater heights.
pub fn world_magnetic_field_gauss(place: &Geodetic, date: jiff::civil::Date) -> DVec3 {
    let year = i32::from(date.year());
    let day = date.day_of_year() as u16;
    let (year, day) = match year {
        ..2020 => (2020, 1),
        2020..=2029 => (year, day),
        _ => (2029, 365),
    };
    let height = Length::new::<meter>(place.altitude_m.max(-1000.0) as f32);
    let latitude = Angle::new::<degree>(place.latitude_deg as f32);
    let longitude = Angle::new::<degree>(place.longitude_deg as f32);
    let field = Date::from_ordinal_date(year, day)
        .ok()
        .and_then(|date| GeomagneticField::new(height, latitude, longitude, date).ok());
    // Every position that a rig may have is within the model's limits.
    field.map_or(DVec3::ZERO, |field| {
        let north = field.x().get::<gauss>();
        DVec3::new(north.into(), field.y().get::<gauss>().into(), field.z().get::<gauss>().into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(latitude_deg: f64, altitude_m: f64) -> Geodetic {
        Geodetic { latitude_deg, longitude_deg: -88.7933, altitude_m }
    }

    #[test]
    fn gravity_is_the_standards() {
        // Values at the equator and the poles from NIMA TR8350.2, table 3.4.
        assert!((normal_gravity_m_s2(&place(0.0, 0.0)) - 9.780_325_335_9).abs() < 1e-10);
        assert!((normal_gravity_m_s2(&place(90.0, 0.0)) - 9.832_184_937_8).abs() < 1e-9);
        // Near 45 degrees gravity decreases by 3.086e-6 m/s² per metre.
        let fall =
            normal_gravity_m_s2(&place(45.0, 0.0)) - normal_gravity_m_s2(&place(45.0, 100.0));
        assert!((fall / 100.0 - 3.086e-6).abs() < 2e-9, "{fall}");
        let leaning = gravity_in_world(DVec3::new(1000.0, 0.0, 0.0), &place(33.0, 0.0));
        assert!((leaning.x / leaning.z - 1000.0 / 6.371e6).abs() < 1e-9);
    }

    #[test]
    fn the_field_is_the_models() {
        // WMM2025 test values: 2025.0, height 28 km, latitude 89, longitude -121:
        // X 1497.7 nT, Y 146.9 nT, Z 56082.3 nT.
        let north = Geodetic { latitude_deg: 89.0, longitude_deg: -121.0, altitude_m: 28_000.0 };
        let field = world_magnetic_field_gauss(&north, jiff::civil::date(2025, 1, 1));
        assert!((field.length() - 0.561).abs() < 0.003, "{field}");
        // In Mississippi the field points north and down, about two degrees to the west.
        let here = world_magnetic_field_gauss(&place(33.4712, 92.0), jiff::civil::date(2026, 6, 1));
        assert!((0.45..0.52).contains(&here.length()), "{here}");
        let declination_deg = libm::atan2(here.y, here.x).to_degrees();
        assert!((-4.0..-1.0).contains(&declination_deg), "{declination_deg}");
        assert!(here.z > 0.35);
        let (early, late) = (jiff::civil::date(2001, 5, 5), jiff::civil::date(2200, 5, 5));
        assert!(world_magnetic_field_gauss(&north, early).length() > 0.5);
        assert!(world_magnetic_field_gauss(&north, late).length() > 0.5);
    }

    #[test]
    fn the_earth_turns_towards_the_east() {
        let rate = earth_rate_in_world(30.0);
        assert!((rate.z - 0.5 * EARTH_RATE_RAD_S).abs() < 1e-12 && rate.y > 0.0 && rate.x == 0.0);
    }
}
