//! Rain: drops, their extinction, and models from papers.

use super::particles::Particles;
use crate::config::rig::weather::{RainConfig, RainLaw};

/// Drops per cubic metre of air and millimetre of diameter, at a diameter of zero (Marshall and Palmer 1948).
const N0: f64 = 8000.0;
/// Diameter of the smallest simulated drop, mm (Goodin et al. 2019, as in LISA).
const LEAST_MM: f64 = 0.05;
/// Diameter above which drops break up, mm (Pruppacher and Klett 1997).
const MOST_MM: f64 = 8.0;
/// Reflectance of water at normal incidence: `((n - 1) / (n + 1))²` with n = 1.33.
const REFLECTANCE: f64 = 0.02;

/// The drops of a rain.
pub(super) fn drops(rain: &RainConfig) -> Particles {
    Particles {
        n0_per_m3_mm: N0,
        slope_per_mm: 4.1 * libm::pow(rain.rate_mm_h, -0.21),
        least_mm: LEAST_MM,
        most_mm: MOST_MM,
        reflectance: REFLECTANCE,
    }
}

/// Extinction coefficient, one way, 1/m.
pub(super) fn extinction_per_m(rain: &RainConfig) -> f64 {
    match rain.law {
        RainLaw::MarshallPalmer => drops(rain).extinction_per_m(),
        RainLaw::Goodin2019 => 0.01 * libm::pow(rain.rate_mm_h, 0.6),
    }
}

/// Standard deviation of ranges divided by the range; `None` if the model has no range error.
pub(super) fn range_error(rain: &RainConfig) -> Option<f64> {
    match rain.law {
        RainLaw::MarshallPalmer => None,
        RainLaw::Goodin2019 => {
            let wet = 1.0 - libm::exp(-rain.rate_mm_h);
            Some(0.02 * wet * wet)
        }
    }
}

/// Depth of a surface's texture, mm (Hahner et al. 2022); a water film of this depth fills it.
const TEXTURE_MM: f64 = 1.2;

/// Depth of the water film as a share of the depth of a surface's texture, 0..=1. If the rig does not set the depth of
/// the film, it depends on the rain law. With Marshall-Palmer, it follows from the rain rate as for a road where water
/// flows 5 m down a slope of 2 % (Gallaway et al. 1979). With Goodin 2019, it is 0.
pub(super) fn film(rain: &RainConfig) -> f64 {
    let from_rate_mm = match rain.law {
        RainLaw::MarshallPalmer => 0.157 * libm::pow(rain.rate_mm_h, 0.59),
        RainLaw::Goodin2019 => 0.0,
    };
    (rain.film_mm.unwrap_or(from_rate_mm) / TEXTURE_MM).min(1.0)
}
