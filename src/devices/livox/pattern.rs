//! Beam directions of a Mid-360; [`hap`](super::hap) has the directions of a HAP.
//!
//! Closed forms are fitted to the maker's table of the non-repetitive pattern. Four lines fire together every 20 us.
//! The deviation from the table is 0.026 degrees rms, 0.13 degrees at most. A mirror rotates 182.4 times per second, so
//! that the azimuth decreases; its tilt makes the elevation oscillate 10 times per second.

use fearless_simd::prelude::SimdFloat;
use fearless_simd::{Simd, f64x4};
use glam::{DVec2, DVec3};

use super::complex::{ClosedForm, Lanes, Motions, unit, write};
use super::hap::HapPattern;
use super::profile::{Form, LivoxProfile};

/// Number of lines, which fire together.
const LINES: usize = Form::Mid360.lines();

/// A term, `amplitude * exp(i (phase + harmonic * oscillation))`: amplitude, phase (radians), harmonic.
type Term = (f64, f64, i32);

/// Horizontal terms common to all lines. Their sum rotates with the mirror, towards decreasing azimuth.
const COMMON: [Term; 11] = [
    (0.84208, -1.5823, 0),
    (0.29500, 1.5687, -1),
    (0.14605, -1.5892, 1),
    (0.02147, 1.5687, -3),
    (0.00825, -1.5923, 3),
    (0.00318, 1.5788, -2),
    (0.00318, 1.5398, 2),
    (0.00089, 1.5685, -5),
    (0.00051, 1.5389, 4),
    (0.00051, 1.5797, -4),
    (0.00030, -1.5827, 5),
];
/// Horizontal terms that are multiplied by the line's position: 1.5 for the first line, decreasing by 1 per line. Their
/// sum rotates twice as fast as the mirror, towards decreasing azimuth.
const LINE_TWICE: [Term; 4] =
    [(0.02133, 1.5478, 0), (0.00869, 1.5379, 1), (0.00084, 1.5350, 3), (0.00067, -1.6142, 2)];
/// Horizontal terms that are multiplied by the line's position. Their sum does not rotate.
const LINE_STILL: [Term; 5] = [
    (0.00879, -1.5694, 0),
    (0.00869, 1.5808, -1),
    (0.00392, 1.5908, -2),
    (0.00084, 1.5841, -3),
    (0.00062, 1.5905, -4),
];
/// Horizontal terms that are multiplied by the square of the line's position. Their sum rotates with the mirror,
/// towards decreasing azimuth.
const SQUARE_ONCE: [Term; 2] = [(0.00080, 1.5593, 0), (0.00032, 1.5695, -1)];
/// Horizontal terms that are multiplied by the square of the line's position. Their sum rotates at the rate of the
/// mirror, towards increasing azimuth.
const SQUARE_FORWARD: [Term; 1] = [(0.00018, 1.6012, -2)];
/// Constant part of the vertical coordinate.
const HEIGHT: f64 = 0.33412;
/// Vertical terms common to all lines.
const HEIGHT_COMMON: [Term; 3] =
    [(0.37364, -0.0117, 1), (0.03156, -0.0080, 3), (0.00112, -0.0080, 5)];
/// Vertical terms that are multiplied by the line's position.
const HEIGHT_LINE: [Term; 4] =
    [(0.02828, 0.0109, 0), (0.00452, 0.0315, -2), (-0.00126, 0.0215, -1), (0.00068, 0.0302, -4)];
/// Vertical terms that are multiplied by the square of the line's position.
const HEIGHT_SQUARE: [Term; 1] = [(0.00024, -0.0117, 1)];

/// Number of harmonics of the oscillation, including harmonic 0.
const POWERS: usize = 6;

/// Sum of [`Term`]s that have at most `N` different harmonics in addition to harmonic 0.
#[derive(Clone, Debug)]
struct Sum<const N: usize> {
    /// Sum of the terms with harmonic 0.
    still: DVec2,
    /// For each harmonic: its number, and the factors of its cosine and of its sine.
    harmonics: [(usize, [DVec2; 2]); N],
}

impl<const N: usize> Sum<N> {
    fn of(terms: &[Term]) -> Self {
        let mut sum = Self { still: DVec2::ZERO, harmonics: [(0, [DVec2::ZERO; 2]); N] };
        for (amplitude, phase, harmonic) in terms {
            let factor = unit(*phase) * *amplitude;
            let own = harmonic.unsigned_abs() as usize;
            let known = sum.harmonics.iter_mut().find(|(known, _)| [0, own].contains(known));
            match known.filter(|_| own > 0) {
                Some((number, [cosine, sine])) => {
                    *number = own;
                    *cosine += factor;
                    *sine += factor.perp() * f64::from(harmonic.signum());
                }
                None => sum.still += factor,
            }
        }
        sum
    }

    #[inline(always)]
    fn at<S: Simd>(&self, swing: &[Lanes<S>; POWERS]) -> Lanes<S> {
        let mut sum = Lanes::all(swing[0].re.simd, self.still);
        for (harmonic, [cosine, sine]) in &self.harmonics {
            let Lanes { re: cos, im: sin } = swing[*harmonic];
            sum.re = sum.re + cos * cosine.x + sin * sine.x;
            sum.im = sum.im + cos * cosine.y + sin * sine.y;
        }
        sum
    }
}

/// Scan pattern of a unit: computes the beam directions of its points.
#[derive(Clone, Debug)]
pub struct Pattern {
    motions: Motions,
    form: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Mid360(Box<Dome>),
    Hap(HapPattern),
}

/// Terms of the closed form of a Mid-360.
#[derive(Clone, Debug)]
struct Dome {
    common: Sum<5>,
    line_twice: Sum<3>,
    line_still: Sum<4>,
    square_once: Sum<1>,
    square_forward: Sum<1>,
    height_common: Sum<3>,
    height_line: Sum<3>,
    height_square: Sum<1>,
}

impl Pattern {
    /// Pattern of `profile`. `hz` are the frequencies of the pattern's two rotations, which have run for `start_s`
    /// seconds at the start of the run.
    pub fn of(profile: &LivoxProfile, hz: [f64; 2], start_s: f64) -> Self {
        Self::new(profile.pattern.form, profile.pattern.point_rate_hz, hz, start_s)
    }

    /// Pattern of a form with this point rate (1/s); see [`Self::of`].
    pub(super) fn new(form: Form, point_rate_hz: u32, hz: [f64; 2], start_s: f64) -> Self {
        let group_s = form.lines() as f64 / f64::from(point_rate_hz);
        let turns = hz.map(|hz| hz * group_s);
        let form = match form {
            Form::Mid360 => Shape::Mid360(Box::new(Dome::new())),
            Form::Hap => Shape::Hap(HapPattern::new()),
        };
        Self { motions: Motions::new(turns, (start_s / group_s).round()), form }
    }

    /// Unit vectors (forward, left, up) of `count` groups from group `first` on. A group has one vector for each line;
    /// the vectors of a group are adjacent.
    pub fn aims(&self, first: u64, count: usize) -> Vec<DVec3> {
        match &self.form {
            Shape::Mid360(dome) => self.motions.aims(&**dome, first, count),
            Shape::Hap(hap) => self.motions.aims(hap, first, count),
        }
    }
}

impl Dome {
    fn new() -> Self {
        Self {
            common: Sum::of(&COMMON),
            line_twice: Sum::of(&LINE_TWICE),
            line_still: Sum::of(&LINE_STILL),
            square_once: Sum::of(&SQUARE_ONCE),
            square_forward: Sum::of(&SQUARE_FORWARD),
            height_common: Sum::of(&HEIGHT_COMMON),
            height_line: Sum::of(&HEIGHT_LINE),
            height_square: Sum::of(&HEIGHT_SQUARE),
        }
    }
}

impl ClosedForm for Dome {
    fn lines(&self) -> usize {
        LINES
    }

    #[inline(always)]
    fn groups<S: Simd>(&self, [spin, swing]: [Lanes<S>; 2], aims: &mut [DVec3]) {
        let swing = swing.powers();
        let back = spin.conjugate();
        let common = self.common.at(&swing).times(back);
        let by_line =
            self.line_twice.at(&swing).times(back.times(back)).plus(self.line_still.at(&swing));
        let by_square = self
            .square_once
            .at(&swing)
            .times(back)
            .plus(self.square_forward.at(&swing).times(spin));
        let height = self.height_common.at(&swing).re + HEIGHT;
        let height_by_line = self.height_line.at(&swing).times(spin).re;
        let height_by_square = self.height_square.at(&swing).re;
        for line in 0..LINES {
            let place = 1.5 - line as f64;
            let flat = common.plus(by_line.plus(by_square.scaled(place)).scaled(place));
            let up = height + (height_by_line + height_by_square * place) * place;
            let square = flat.re * flat.re + flat.im * flat.im + up * up;
            let by: f64x4<S> = 1.0 / square.sqrt();
            write([flat.re * by, flat.im * by, up * by], line, LINES, aims);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern() -> Pattern {
        Pattern::new(Form::Mid360, 200_000, [10945.0 / 60.0, 10.0], 0.0)
    }

    fn azimuth_deg(aim: DVec3) -> f64 {
        libm::atan2(aim.y, aim.x).to_degrees().rem_euclid(360.0)
    }

    fn elevation_deg(aim: DVec3) -> f64 {
        libm::asin(aim.z).to_degrees()
    }

    #[test]
    fn it_begins_as_the_makers_table_does() {
        let first = pattern().aims(0, 1);
        for (aim, (azimuth, zenith)) in
            first.iter().zip([(268.99, 37.838), (269.0, 40.825), (269.0, 43.581), (269.0, 46.152)])
        {
            assert!((azimuth_deg(*aim) - azimuth).abs() < 0.2, "{}", azimuth_deg(*aim));
            assert!((90.0 - elevation_deg(*aim) - zenith).abs() < 0.13, "{}", elevation_deg(*aim));
        }
    }

    #[test]
    fn a_tenth_of_a_second_is_a_swing_down_and_up() {
        let told = [49.2, 39.3, 24.9, 13.6, 2.2, -3.4, 3.1, 13.8, 24.3, 37.6, 47.8];
        for (step, told) in told.into_iter().enumerate() {
            let found = elevation_deg(pattern().aims(500 * step as u64, 1)[1]);
            assert!((found - told).abs() < 0.18, "{step}: {found}");
        }
    }

    #[test]
    fn shares_of_elevations_and_steps_of_azimuth_are_the_tables() {
        let aims = pattern().aims(0, 200_000);
        let mut bins = [0u32; 13];
        for aim in &aims {
            bins[((elevation_deg(*aim) + 10.0) / 5.0) as usize] += 1;
        }
        let told = [1.9, 13.2, 9.3, 8.5, 8.8, 9.2, 8.8, 8.0, 7.2, 7.1, 8.8, 8.3, 1.0];
        for (bin, told) in bins.iter().zip(told) {
            let share = 100.0 * f64::from(*bin) / aims.len() as f64;
            assert!((share - told).abs() < 0.15, "{share} instead of {told}");
        }
        let (low, high) = aims
            .iter()
            .map(|aim| elevation_deg(*aim))
            .fold((f64::MAX, f64::MIN), |(low, high), deg| (low.min(deg), high.max(deg)));
        assert!((low + 7.21).abs() < 0.13 && (high - 52.16).abs() < 0.13, "{low} to {high}");
        let steps = aims.chunks(LINES).map(|group| azimuth_deg(group[0])).collect::<Vec<_>>();
        let steps = steps.windows(2).map(|pair| (pair[0] - pair[1]).rem_euclid(360.0));
        let steps: Vec<_> = steps.collect();
        assert!(steps.iter().all(|step| (1.1..1.5).contains(step)));
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        assert!((mean - 1.3134).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn pieces_of_the_pattern_are_the_whole() {
        let whole = pattern().aims(1_000_000, 48);
        let later = Pattern::new(Form::Mid360, 200_000, [10945.0 / 60.0, 10.0], 20.0).aims(24, 24);
        for (one, other) in whole[24 * LINES..].iter().zip(&later) {
            assert!((*one - *other).length() < 1e-9);
        }
    }
}
