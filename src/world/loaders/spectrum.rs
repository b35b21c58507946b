//! Reflectance spectra (`.spec`): two numbers a line, wavelength in micrometres and reflectance.

use std::path::Path;

use super::error::{Fault, Place, Problem};

/// The wavelength of the lasers, micrometres.
pub(super) const LASER_WAVELENGTH_UM: f64 = 0.905;

/// The reflectance at [`LASER_WAVELENGTH_UM`], not yet limited to 0..=1, interpolated linearly between the file's
/// wavelengths, which may ascend or descend, and constant beyond them.
pub(super) fn reflectance(bytes: &[u8], file: &Path) -> Result<f64, Fault> {
    let text = String::from_utf8_lossy(bytes);
    // The nearest samples on either side.
    let mut below: Option<(f64, f64)> = None;
    let mut above: Option<(f64, f64)> = None;
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
        if wavelength <= LASER_WAVELENGTH_UM && below.is_none_or(|(w, _)| wavelength > w) {
            below = Some((wavelength, value));
        }
        if wavelength >= LASER_WAVELENGTH_UM && above.is_none_or(|(w, _)| wavelength < w) {
            above = Some((wavelength, value));
        }
    }
    let value = match (below, above) {
        (Some((w0, r0)), Some((w1, r1))) if w1 > w0 => {
            r0 + (r1 - r0) * (LASER_WAVELENGTH_UM - w0) / (w1 - w0)
        }
        (Some((_, r)), _) | (None, Some((_, r))) => r,
        (None, None) => {
            let problem = Problem::Syntax("holds no wavelength".into());
            return Err(Fault::new(Place::of(file), problem));
        }
    };
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_laser(text: &str) -> Result<f32, String> {
        let value = reflectance(text.as_bytes(), Path::new("s.spec"));
        value.map(|value| value as f32).map_err(|fault| fault.to_string())
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
