//! Snow: flakes and their extinction.

use super::particles::Particles;
use crate::config::rig::weather::SnowConfig;

/// Diameter of the largest simulated flake, mm (Hahner et al. 2022).
const MOST_MM: f64 = 20.0;
/// Diameter of the smallest simulated flake, mm (an assumption).
const LEAST_MM: f64 = 0.05;

/// Flakes of a snowfall. Sekhon and Srivastava 1970 give their number by the diameter of the melted drop, `N(D) = 2500
/// R^-0.94 exp(-2.29 R^-0.45 D)`. The diameter of a flake with the density d, g/cm³, is `d^(-1/3)` times that of its
/// drop.
pub(super) fn flakes(snow: &SnowConfig) -> Particles {
    let thicker = 1.0 / libm::cbrt(snow.density_g_cm3);
    Particles {
        n0_per_m3_mm: 2500.0 * libm::pow(snow.rate_mm_h, -0.94) / thicker,
        slope_per_mm: 2.29 * libm::pow(snow.rate_mm_h, -0.45) / thicker,
        least_mm: LEAST_MM,
        most_mm: MOST_MM,
        reflectance: snow.reflectance,
    }
}
