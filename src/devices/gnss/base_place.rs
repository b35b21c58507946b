//! True position of a base station, from its own observations.
//!
//! The observations determine the vector between the antennas of rover and base, not their positions. An error of the
//! base's reported position is therefore also an error of the rover's position. The rover computes the true position of
//! the base from the base's observations; the difference to the reported position is the rover's own position error.
//!
//! **By code.** Least squares over pseudoranges, with a clock error for each system.
//!
//! **By phase.** A phase gives the range except for a whole number of wavelengths. Differences between satellites of
//! one system contain no clock error. At the true position, each measured difference deviates from the computed one by
//! a whole number of wavelengths. The reported position is tested first. If it fails, positions near the code solution
//! are tried, first by the wide lane (the difference of both signals, wavelength 0.8 m), then by the first signal. This
//! is the ambiguity function method (Counselman and Gourevitch, 1981, IEEE Transactions on Geoscience and Remote
//! Sensing GE-19). GLONASS is left out, because its satellites have different wavelengths.

use std::f64::consts::TAU;

use glam::{DMat3, DVec3};

use crate::sensors::gnss::constellation::{LIGHT_M_S, Satellite};
use crate::sensors::gnss::observations::modelled;
use crate::sensors::gnss::settings::GnssSystem;

/// One satellite's observations.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The observed satellite.
    pub satellite: Satellite,
    /// Pseudorange of the first signal.
    pub code_m: f64,
    /// Frequency (Hz) and phase (metres) of the first and of the second signal; `None` if one of the phases is missing,
    /// and for GLONASS.
    pub phases: Option<[(f64, f64); 2]>,
}

/// A base's observations of one epoch.
#[derive(Clone, Debug)]
pub struct Epoch<'a> {
    /// GPS time since the GPS epoch.
    pub gps_s: f64,
    /// One observation per satellite.
    pub observations: &'a [Observation],
}

/// A position from code measurements.
#[derive(Clone, Copy, Debug)]
pub struct ByCode {
    /// Position, Earth-centred and Earth-fixed (ECEF).
    pub ecef_m: DVec3,
    /// Root mean square of the pseudorange residuals.
    pub rms_m: f64,
}

/// Half the edge of the cube that is searched around a code position.
pub const AROUND_CODE_M: f64 = 2.4;
/// Distance between tested positions: a fifth of the wide-lane wavelength.
const STEP_M: f64 = 0.16;
/// Number of tested positions that are refined: those with the highest scores.
const CANDIDATES: usize = 8;
/// Smallest number of phase differences between satellites from which a position is accepted. Fewer differences can
/// agree with a wrong position by chance.
const LEAST_DIFFERENCES: usize = 8;
/// Mean cosine of the phase residuals above which the phases agree with a position. Residuals of a fourteenth of a
/// wavelength have this cosine.
const AGREED: f64 = 0.9;

/// Phase difference between two satellites, and the gradient of the difference with respect to the antenna position.
#[derive(Clone, Copy)]
struct Difference {
    /// Measured minus computed range difference, metres.
    off_m: f64,
    /// Gradient of the range difference, metres per metre.
    slope: DVec3,
    wavelength_m: f64,
}

impl Difference {
    /// Difference minus the nearest whole number, in wavelengths: -0.5 to 0.5. `from` is the position at which it is
    /// evaluated, relative to the position for which the difference was computed, metres.
    fn rest(&self, from: DVec3) -> f64 {
        let waves = (self.off_m - self.slope.dot(from)) / self.wavelength_m;
        waves - waves.round()
    }
}

impl Epoch<'_> {
    /// Code position, iterated from the position `from` near the Earth's surface; `None` with too few satellites.
    pub fn by_code(&self, from: DVec3) -> Option<ByCode> {
        let mut here = from;
        let mut last = None;
        for _ in 0..8 {
            let rows: Vec<_> = self
                .observations
                .iter()
                .map(|o| {
                    let slope = self.slope(o, here);
                    (
                        o.satellite.system,
                        o.code_m - modelled(&o.satellite, self.gps_s, here).0,
                        slope,
                    )
                })
                .collect();
            let centred = centred(&rows);
            let (step, rms_m) = least_squares(&centred)?;
            here += step;
            last = Some(ByCode { ecef_m: here, rms_m });
            if step.length() < 1e-4 {
                break;
            }
        }
        last.filter(|_| here.is_finite())
    }

    /// Whether the observed phases agree with the antenna position `here` (ECEF, metres).
    pub fn is_at(&self, here: DVec3) -> bool {
        let wide = self.differences(here, true);
        let narrow = self.differences(here, false);
        narrow.len() >= LEAST_DIFFERENCES
            && score(&wide, DVec3::ZERO) > AGREED
            && score(&narrow, DVec3::ZERO) > AGREED
    }

    /// Phase position (ECEF, metres), searched in a cube that extends `within_m` from `near` along each axis; `None` if
    /// the phases agree with no position in it.
    pub fn by_phase(&self, near: DVec3, within_m: f64) -> Option<DVec3> {
        let wide = self.differences(near, true);
        if wide.len() < LEAST_DIFFERENCES {
            return None;
        }
        let steps = (within_m / STEP_M).round() as i32;
        let axis = || (-steps..=steps).map(|n| f64::from(n) * STEP_M);
        let mut best: Vec<(f64, DVec3)> = Vec::new();
        for x in axis() {
            for y in axis() {
                for z in axis() {
                    let from = DVec3::new(x, y, z);
                    let score = score(&wide, from);
                    if best.len() < CANDIDATES || score > best[CANDIDATES - 1].0 {
                        let place = best.partition_point(|(other, _)| *other >= score);
                        best.insert(place, (score, from));
                        best.truncate(CANDIDATES);
                    }
                }
            }
        }
        best.into_iter().find_map(|(_, from)| {
            let by_wide = near + from + solved(&self.differences(near + from, true))?;
            let here = by_wide + solved(&self.differences(by_wide, false))?;
            self.is_at(here).then_some(here)
        })
    }

    /// Gradient of a satellite's range by position: the unit vector from the satellite.
    fn slope(&self, o: &Observation, here: DVec3) -> DVec3 {
        -(o.satellite.orbit.ecef_m(self.gps_s) - here).normalize()
    }

    /// Phase differences between each satellite and the first satellite of the same system and frequency. `is_wide`
    /// selects the wide lane instead of the first signal.
    fn differences(&self, here: DVec3, is_wide: bool) -> Vec<Difference> {
        let mut first: Vec<(GnssSystem, f64, f64, DVec3)> = Vec::new();
        let mut all = Vec::new();
        for o in self.observations {
            let Some([(f1, phase_1), (f2, phase_2)]) = o.phases else { continue };
            let (_, modelled_m) = modelled(&o.satellite, self.gps_s, here);
            let off_m = [phase_1 - modelled_m[0], phase_2 - modelled_m[1]];
            let (frequency, off_m) = match is_wide {
                true => (f1 - f2, (f1 * off_m[0] - f2 * off_m[1]) / (f1 - f2)),
                false => (f1, off_m[0]),
            };
            let slope = self.slope(o, here);
            let system = o.satellite.system;
            match first.iter().find(|(other, f, ..)| *other == system && *f == frequency) {
                Some((_, _, first_off_m, first_slope)) => all.push(Difference {
                    off_m: off_m - first_off_m,
                    slope: slope - *first_slope,
                    wavelength_m: LIGHT_M_S / frequency,
                }),
                None => first.push((system, frequency, off_m, slope)),
            }
        }
        all
    }
}

/// Mean cosine of the residuals of `differences`; 1 at a position where all differences are whole numbers of
/// wavelengths.
fn score(differences: &[Difference], from: DVec3) -> f64 {
    let sum: f64 = differences.iter().map(|d| libm::cos(TAU * d.rest(from))).sum();
    sum / differences.len().max(1) as f64
}

/// Step of the position that minimises the residuals of `differences`, metres; `None` if they do not determine it.
fn solved(differences: &[Difference]) -> Option<DVec3> {
    let rows: Vec<_> =
        differences.iter().map(|d| (d.rest(DVec3::ZERO) * d.wavelength_m, d.slope)).collect();
    least_squares(&rows).map(|(step, _)| step)
}

/// Each row minus the mean over all rows of its system; this removes the receiver clock error of that system.
fn centred<S: PartialEq + Copy>(rows: &[(S, f64, DVec3)]) -> Vec<(f64, DVec3)> {
    let mean = |system: S| {
        let of = || rows.iter().filter(|(other, ..)| *other == system);
        let count = of().count() as f64;
        let (off, slope) =
            of().fold((0.0, DVec3::ZERO), |(off, slope), row| (off + row.1, slope + row.2));
        (off / count, slope / count)
    };
    rows.iter()
        .map(|(system, off, slope)| {
            let (mean_off, mean_slope) = mean(*system);
            (off - mean_off, *slope - mean_slope)
        })
        .collect()
}

/// The least-squares step for rows of (offset, slope), and the root mean square of the residuals; `None` if the rows do
/// not determine the step.
fn least_squares(rows: &[(f64, DVec3)]) -> Option<(DVec3, f64)> {
    let mut normal = DMat3::ZERO;
    let mut right = DVec3::ZERO;
    for (off, slope) in rows {
        normal += DMat3::from_cols(*slope * slope.x, *slope * slope.y, *slope * slope.z);
        right += *slope * *off;
    }
    if normal.determinant().abs() < 1e-6 {
        return None;
    }
    let step = normal.inverse() * right;
    let left: f64 = rows.iter().map(|(off, slope)| (off - slope.dot(step)).powi(2)).sum();
    Some((step, (left / rows.len() as f64).sqrt()))
}
