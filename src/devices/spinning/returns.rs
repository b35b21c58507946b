//! Conversion of echoes to points, common to several families.

use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::Limit;
use crate::sensors::Return;

/// Index of the strongest echo other than the echo with index `but`; of equally strong echoes, the nearest. `None` if
/// there is no other echo.
#[inline]
pub fn strongest_but(echoes: &[Return], but: Option<usize>) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (place, echo) in echoes.iter().enumerate() {
        let is_better = best.is_none_or(|(_, signal)| echo.signal > signal);
        if is_better && Some(place) != but {
            best = Some((place, echo.signal));
        }
    }
    best.map(|(place, _)| place)
}

/// Converts reflectance to intensity bytes: linearly up to a white diffuse surface (1), logarithmically above.
#[derive(Clone, Copy, Debug)]
pub struct Intensities {
    full_scale: f32,
    /// Increase of the intensity when the reflectance grows by a factor of e.
    retro_scale: f32,
}

impl Intensities {
    /// A converter that gives a white diffuse target the intensity `diffuse_full_scale`. A retroreflector that returns
    /// `retro_full_gain` times as much light gets the intensity 255.
    pub fn new(diffuse_full_scale: u8, retro_full_gain: f64) -> Self {
        let full_scale = f64::from(diffuse_full_scale);
        let retro_scale = (255.0 - full_scale) / libm::log(retro_full_gain);
        Self { full_scale: full_scale as f32, retro_scale: retro_scale as f32 }
    }

    /// Intensity of an echo with this reflectance.
    #[inline]
    pub fn of(&self, reflectance: f32) -> u8 {
        let intensity = if reflectance <= 1.0 {
            reflectance * self.full_scale
        } else {
            self.full_scale + libm::logf(reflectance) * self.retro_scale
        };
        // A cast saturates at 0 and 255.
        (intensity + 0.5) as u8
    }
}

/// Allowed ratios of the light from a retroreflector of intensity 255 to the light from a white target.
pub(crate) fn retro_gain() -> Limit<f64> {
    Limit::new(1.1..=1e6, "times a white target", PROFILES)
}
