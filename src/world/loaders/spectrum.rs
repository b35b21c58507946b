//! Reflectance spectra (`.spec`): each line has the wavelength in micrometres and the reflectance.

use std::path::Path;

use super::error::{Fault, Place, Problem};
use crate::world::colours::WAVES_UM;

/// The wavelength of the lasers, micrometres.
pub(super) const LASER_WAVELENGTH_UM: f64 = 0.905;

/// A spectrum has colours only if its shortest wavelength is below this, micrometres.
const VISIBLE_UM: f64 = 0.6;

/// Reads the reflectance at [`LASER_WAVELENGTH_UM`], and the reflectances of red, green and blue if the file covers
/// visible light. Values are not limited to 0..=1. Between the file's wavelengths, which can increase or decrease,
/// values are interpolated linearly; outside they are constant.
pub(super) fn read(bytes: &[u8], file: &Path) -> Result<(f64, Option<[f64; 3]>), Fault> {
    let text = String::from_utf8_lossy(bytes);
    let mut laser = Sample::new(LASER_WAVELENGTH_UM);
    let mut colours = WAVES_UM.map(Sample::new);
    let mut shortest_um = f64::INFINITY;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        let Some(&[wavelength, value]) = numbers.as_deref() else {
            let expected = "two numbers, wavelength in micrometres and reflectance";
            return Err(Fault::new(Place::line(file, index + 1), Problem::wrong(expected, line)));
        };
        if !(wavelength > 0.0 && wavelength.is_finite() && value.is_finite()) {
            let expected = "a positive wavelength and a finite reflectance";
            return Err(Fault::new(Place::line(file, index + 1), Problem::wrong(expected, line)));
        }
        shortest_um = shortest_um.min(wavelength);
        laser.add(wavelength, value);
        colours.iter_mut().for_each(|colour| colour.add(wavelength, value));
    }
    let Some(reflectance) = laser.value() else {
        let problem = Problem::Syntax("holds no wavelength".into());
        return Err(Fault::new(Place::of(file), problem));
    };
    let colour = colours.map(|colour| colour.value().unwrap_or(reflectance));
    Ok((reflectance, (shortest_um < VISIBLE_UM).then_some(colour)))
}

/// Interpolates a spectrum at the wavelength `at_um`, micrometres.
struct Sample {
    at_um: f64,
    /// The nearest wavelengths of the file on either side, with their values.
    below: Option<(f64, f64)>,
    above: Option<(f64, f64)>,
}

impl Sample {
    fn new(at_um: f64) -> Self {
        Self { at_um, below: None, above: None }
    }

    fn add(&mut self, wavelength: f64, value: f64) {
        if wavelength <= self.at_um && self.below.is_none_or(|(w, _)| wavelength > w) {
            self.below = Some((wavelength, value));
        }
        if wavelength >= self.at_um && self.above.is_none_or(|(w, _)| wavelength < w) {
            self.above = Some((wavelength, value));
        }
    }

    fn value(&self) -> Option<f64> {
        match (self.below, self.above) {
            (Some((w0, r0)), Some((w1, r1))) if w1 > w0 => {
                Some(r0 + (r1 - r0) * (self.at_um - w0) / (w1 - w0))
            }
            (Some((_, r)), _) | (None, Some((_, r))) => Some(r),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_laser(text: &str) -> Result<f32, String> {
        let value = read(text.as_bytes(), Path::new("s.spec"));
        value.map(|(value, _)| value as f32).map_err(|fault| fault.to_string())
    }

    #[test]
    fn interpolates_up_down_and_beyond_the_ends() {
        assert_eq!(at_laser("0.9 0.2\n0.91 0.4\n1.0 1.0\n"), Ok(0.3));
        assert_eq!(at_laser("1.0 1.0\n0.91 0.4\n0.9 0.2\n0.3 0"), Ok(0.3));
        assert_eq!(at_laser("0.905 0.7\n0.9 0.1\n"), Ok(0.7));
        assert_eq!(at_laser("0.4 0.25\n0.5 0.5"), Ok(0.5));
        assert_eq!(at_laser("2.0 0.25\n3.0 0.5"), Ok(0.25));
    }

    #[test]
    fn visible_light_gives_a_colour() {
        let colour = |text: &str| read(text.as_bytes(), Path::new("s.spec")).unwrap().1;
        assert_eq!(
            colour("0.4 0.1\n0.465 0.1\n0.55 0.5\n0.61 0.2\n1.0 0.6"),
            Some([0.2, 0.5, 0.1])
        );
        assert_eq!(colour("0.7 0.2\n1.0 0.6"), None);
    }

    #[test]
    fn wrong_lines_are_named() {
        assert_eq!(
            at_laser("0.9 0.2\n0.91 x\n").unwrap_err(),
            "s.spec:2: expected two numbers, wavelength in micrometres and reflectance, \
             got 0.91 x"
        );
        assert_eq!(at_laser("0.9 1.5"), Ok(1.5));
        assert!(at_laser("0.9 NaN").unwrap_err().contains("a finite reflectance"));
        assert_eq!(at_laser("0.3 -0.01\n0.9 0.5\n2.0 0.5"), Ok(0.5));
        assert_eq!(at_laser("").unwrap_err(), "s.spec: holds no wavelength");
    }
}
