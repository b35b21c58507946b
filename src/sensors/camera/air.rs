//! Effect of weather on a camera: the air removes light from the path and adds scattered light.
//!
//! Koschmieder's law with the optical depth d: `L = L0 exp(-d) + La (1 - exp(-d))`. The extinction is that for lidars
//! (`docs/PHYSICS.md`), because drops, flakes and dust are large compared with both wavelengths.

use glam::DVec3;

use super::sky::{Colour, Daylight};
use crate::sensors::weather::{AirScratch, Weather};
use crate::time::SimTime;

/// Height above the camera at which fog, rain and snow end, metres.
const TOP_M: f64 = 500.0;
/// Share of the light that dust scatters instead of absorbing: the albedo of pale soil in red, green and blue.
const DUST: Colour = [0.75, 0.63, 0.48];

/// The air while a camera takes one image.
pub(super) struct PictureAir<'w> {
    weather: Option<&'w Weather>,
    scratch: AirScratch,
    /// Luminance of fog, rain and snow of infinite depth, cd/m².
    bright: Colour,
}

impl<'w> PictureAir<'w> {
    pub(super) fn new(
        weather: Option<&'w Weather>,
        day: &Daylight,
        start: SimTime,
        end: SimTime,
    ) -> Self {
        let mut scratch = AirScratch::default();
        if let Some(weather) = weather {
            weather.prepare_dust(start, end, &mut scratch);
        }
        let (above, below) = (day.ambient(DVec3::Z), day.ambient(-DVec3::Z));
        // Light arrives from all sides and is scattered to all sides. Pi times the luminance is therefore the mean of
        // the illuminances from above and below, plus a quarter of the sun's.
        let bright = std::array::from_fn(|c| {
            (0.5 * (above[c] + below[c]) + 0.25 * day.sun_lx[c]) / std::f64::consts::PI
        });
        Self { weather, scratch, bright }
    }

    /// Whether the air is clear.
    pub(super) fn is_clear(&self) -> bool {
        self.weather.is_none()
    }

    /// Depth of the water film on surfaces, as a share of the depth of their texture, 0 to 1.
    pub(super) fn film(&self) -> f32 {
        self.weather.map_or(0.0, Weather::film)
    }

    /// Share of light that the air transmits over `range_m` (infinite for the sky), and the luminance that the air
    /// adds, cd/m².
    pub(super) fn between(
        &mut self,
        origin: DVec3,
        direction: DVec3,
        at: SimTime,
        range_m: f32,
    ) -> (f64, Colour) {
        let Some(weather) = self.weather else { return (1.0, [0.0; 3]) };
        let sky_m = TOP_M / direction.z.max(1e-3);
        let way_m = f64::from(range_m).min(sky_m);
        let [even, dust] =
            weather.optical_depths(origin, direction, at, way_m as f32, &mut self.scratch);
        let passes = libm::exp(-even - dust);
        let lost = (1.0 - passes) / (even + dust).max(1e-12);
        let added = |c: usize| self.bright[c] * lost * (even + dust * DUST[c]);
        (passes, std::array::from_fn(added))
    }
}
