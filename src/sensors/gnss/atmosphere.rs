//! Delays of signals in the atmosphere, as functions of position, direction and time. Two antennas near each other
//! have nearly equal delays.
//!
//! The ionospheric delay follows the broadcast model (IS-GPS-200, 20.3.3.5.2.5) with the broadcast coefficients. A host
//! that applies this model therefore corrects the whole ionospheric delay. The tropospheric delay is that of
//! Saastamoinen's model in the standard atmosphere, mapped to the elevation by Black and Eisner (1984).

use crate::frames::Geodetic;
use crate::sensors::gnss::constellation::LIGHT_M_S;

/// Coefficients of the ionosphere as broadcast by GPS on 1 January 2004, in the units of subframe 4: alpha in 2^-30,
/// 2^-27, 2^-24, 2^-24, beta in 2^11, 2^14, 2^16, 2^16.
pub const IONOSPHERE: [[i8; 4]; 2] = [[12, -1, -1, 2], [57, -14, -2, 16]];
const ALPHA_UNITS: [f64; 4] = [1.0 / 1_073_741_824.0, 1.0 / 134_217_728.0, EXP_24, EXP_24];
const BETA_UNITS: [f64; 4] = [2048.0, 16_384.0, 65_536.0, 65_536.0];
const EXP_24: f64 = 1.0 / 16_777_216.0;
const DAY_S: f64 = 86_400.0;
/// Relative humidity of the air, 0 to 1 (an assumption).
const HUMIDITY: f64 = 0.7;

/// Ionospheric delay of a code on 1575.42 MHz, metres. The delay is proportional to 1/f². The carrier phase is
/// advanced by the same amount. The azimuth is clockwise from north; `tow_s` is GPS time of the week, seconds.
pub fn ionosphere_m(at: &Geodetic, azimuth_rad: f64, elevation_rad: f64, tow_s: f64) -> f64 {
    let half_circles = |rad: f64| rad / std::f64::consts::PI;
    let elevation = half_circles(elevation_rad);
    let psi = 0.0137 / (elevation + 0.11) - 0.022;
    let (sin, cos) = libm::sincos(azimuth_rad);
    let latitude = (at.latitude_deg / 180.0 + psi * cos).clamp(-0.416, 0.416);
    let longitude =
        at.longitude_deg / 180.0 + psi * sin / libm::cos(latitude * std::f64::consts::PI);
    let magnetic = latitude + 0.064 * libm::cos((longitude - 1.617) * std::f64::consts::PI);
    let local_s = (43_200.0 * longitude + tow_s).rem_euclid(DAY_S);
    let sum = |numbers: [i8; 4], units: [f64; 4]| {
        let terms = numbers.into_iter().zip(units).rev();
        terms.fold(0.0, |sum, (number, unit)| sum * magnetic + f64::from(number) * unit)
    };
    let amplitude_s = sum(IONOSPHERE[0], ALPHA_UNITS).max(0.0);
    let period_s = sum(IONOSPHERE[1], BETA_UNITS).max(72_000.0);
    let x = std::f64::consts::TAU * (local_s - 50_400.0) / period_s;
    let day_s = if x.abs() < 1.57 { 1.0 - x * x / 2.0 + x.powi(4) / 24.0 } else { 0.0 };
    let slant = 1.0 + 16.0 * (0.53 - elevation).powi(3);
    slant * (5e-9 + amplitude_s * day_s) * LIGHT_M_S
}

/// Tropospheric delay of code and carrier, metres.
pub fn troposphere_m(at: &Geodetic, elevation_rad: f64) -> f64 {
    let height_m = at.altitude_m.clamp(0.0, 10_000.0);
    let pressure_hpa = 1013.25 * libm::pow(1.0 - 2.2557e-5 * height_m, 5.2568);
    let temperature_k = 288.16 - 6.5e-3 * height_m;
    let vapour_hpa =
        6.108 * HUMIDITY * libm::exp((17.15 * temperature_k - 4684.0) / (temperature_k - 38.45));
    let gravity =
        1.0 - 0.00266 * libm::cos(2.0 * at.latitude_deg.to_radians()) - 0.00028 * height_m * 1e-3;
    let zenith_m = 0.002_276_8 * pressure_hpa / gravity
        + 0.002_277 * (1255.0 / temperature_k + 0.05) * vapour_hpa;
    let sin = libm::sin(elevation_rad.max(0.0));
    zenith_m * 1.001 / (0.002_001 + sin * sin).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Geodetic =
        Geodetic { latitude_deg: 47.285, longitude_deg: 8.565, altitude_m: 547.6 };

    #[test]
    fn delays_have_the_sizes_of_textbooks() {
        let zenith = std::f64::consts::FRAC_PI_2;
        // The delay is five nanoseconds at night, and several times as much after noon.
        let night_m = ionosphere_m(&HERE, 0.0, zenith, 0.0);
        assert!((night_m - 1.5).abs() < 0.05, "{night_m}");
        let noon_m = ionosphere_m(&HERE, 0.0, zenith, 48_000.0);
        assert!((2.0..10.0).contains(&noon_m), "{noon_m}");
        assert!(ionosphere_m(&HERE, 0.0, 0.2, 48_000.0) > 2.0 * noon_m);
        let tropo_m = troposphere_m(&HERE, zenith);
        assert!((2.1..2.4).contains(&tropo_m), "{tropo_m}");
        assert!((troposphere_m(&HERE, 0.174_533) / tropo_m - 5.6).abs() < 0.1);
    }

    #[test]
    fn neighbours_have_the_same_delays() {
        let there = Geodetic { latitude_deg: 47.294, ..HERE };
        let difference = |f: &dyn Fn(&Geodetic) -> f64| (f(&HERE) - f(&there)).abs();
        assert!(difference(&|at| ionosphere_m(at, 1.0, 0.5, 40_000.0)) < 0.01);
        assert!(difference(&|at| troposphere_m(at, 0.5)) < 0.001);
    }
}
