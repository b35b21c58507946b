//! Uniform quintic B-splines, fitted by penalised least squares.
//!
//! The spline is quintic, because a path's heading is its first derivative and an IMU's angular acceleration its
//! third. Four continuous derivatives keep every simulated signal smooth. The spline is uniform, so that each
//! evaluation has the same cost, without search or allocation.
//!
//! A fit minimises the squared distance to the samples plus a penalty on the third derivative (P-spline: Eilers and
//! Marx 1996, with B-splines of degree 5). On dense samples it acts as a low-pass filter of third order without lag.
//! [`Fit::cutoff`] is the period at which its gain is one half.

/// Number of control points that determine one span.
const ORDER: usize = 6;
/// Largest number of spans. It limits the memory of a fit, however long the trajectory file is.
pub const MAX_SPANS: usize = 1 << 20;
/// Longest cutoff period in spans. It keeps the normal equations well conditioned.
const MAX_CUTOFF_SPANS: f64 = 64.0;

/// A value with its first and second derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet<const D: usize> {
    pub value: [f64; D],
    pub first: [f64; D],
    pub second: [f64; D],
}

/// Uniform knots: `spans` spans of `spacing`, from parameter 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Length of a span, in units of the parameter.
    pub spacing: f64,
    /// Number of spans, 1 or more.
    pub spans: usize,
    /// `Some` for a closed curve. Values are multiplied by this factor after each lap: 1, or -1 for quaternions that
    /// return with the opposite sign.
    pub lap_factor: Option<f64>,
}

impl Grid {
    /// The parameter of the last knot.
    pub fn length(&self) -> f64 {
        self.spacing * self.spans as f64
    }
}

/// A curve in `D` dimensions over a parameter.
#[derive(Clone, Debug)]
pub struct BSpline<const D: usize> {
    grid: Grid,
    /// Control points, `spans + 5`; those of a closed curve repeat at the end.
    control: Vec<[f64; D]>,
}

/// A fitting problem: samples, and the spline that is fitted to them.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a, const D: usize> {
    /// Knots of the resulting spline.
    pub grid: Grid,
    /// Samples: parameter, which must be within the grid, and value.
    pub samples: &'a [(f64, [f64; D])],
    /// Waves of this period, in units of the parameter, lose half of their amplitude. Shorter ones lose nearly all. 0
    /// fits as closely as the knots permit and needs two samples per span.
    pub cutoff: f64,
}

/// Deviation of a curve from its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// Root mean square.
    pub rms: f64,
    pub max: f64,
}

impl<const D: usize> BSpline<D> {
    /// The curve at `u`: clamped to the ends of an open curve, wrapped for a closed one.
    pub fn at(&self, u: f64) -> Jet<D> {
        let (span, t, sign) = self.locate(u);
        let [basis, basis_1, basis_2] = basis_with_derivatives(t);
        let scale = sign / self.grid.spacing;
        let mut jet = Jet { value: [0.0; D], first: [0.0; D], second: [0.0; D] };
        for (k, point) in self.control[span..span + ORDER].iter().enumerate() {
            for (d, x) in point.iter().enumerate() {
                jet.value[d] += basis[k] * x;
                jet.first[d] += basis_1[k] * x;
                jet.second[d] += basis_2[k] * x;
            }
        }
        for d in 0..D {
            jet.value[d] *= sign;
            jet.first[d] *= scale;
            jet.second[d] *= scale / self.grid.spacing;
        }
        jet
    }

    /// The knots of the curve.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Distance of the curve from `samples` at their parameters.
    pub fn deviation(&self, samples: &[(f64, [f64; D])]) -> Deviation {
        let mut sum = 0.0;
        let mut max: f64 = 0.0;
        for (u, wanted) in samples {
            let value = self.at(*u).value;
            let squared: f64 = value.iter().zip(wanted).map(|(a, b)| (a - b) * (a - b)).sum();
            sum += squared;
            max = max.max(squared);
        }
        Deviation { rms: (sum / samples.len().max(1) as f64).sqrt(), max: max.sqrt() }
    }

    /// Changes the end of the curve: its last five spans lead smoothly to its last value, where the derivatives are
    /// zero.
    pub fn hold_end(&mut self) {
        let points = self.control.len();
        let held = self.at(self.grid.length()).value;
        for point in &mut self.control[points.saturating_sub(ORDER)..] {
            *point = held;
        }
    }

    /// The span at `u`, the position in this span (0..=1), and the sign by which the values of the present lap are
    /// multiplied (1 or -1).
    fn locate(&self, u: f64) -> (usize, f64, f64) {
        let length = self.grid.length();
        let (u, sign) = match self.grid.lap_factor {
            None => (u.clamp(0.0, length), 1.0),
            Some(factor) => {
                let lap = (u / length).floor();
                let odd = factor < 0.0 && lap.rem_euclid(2.0) != 0.0;
                ((u - lap * length).clamp(0.0, length), if odd { -1.0 } else { 1.0 })
            }
        };
        let place = u / self.grid.spacing;
        let span = (place as usize).min(self.grid.spans - 1);
        (span, place - span as f64, sign)
    }
}

impl<const D: usize> Fit<'_, D> {
    /// Solves the fit.
    ///
    /// # Panics
    /// If the grid has no spans or more than [`MAX_SPANS`].
    pub fn solve(&self) -> BSpline<D> {
        let Grid { spacing, spans, lap_factor } = self.grid;
        assert!((1..=MAX_SPANS).contains(&spans));
        let cutoff_spans = (self.cutoff / spacing).clamp(0.0, MAX_CUTOFF_SPANS);
        // A closed curve is fitted over more than one lap. Far enough from the ends of that range, their influence is
        // below rounding.
        let margin = match lap_factor {
            Some(_) => 24 + (6.0 * cutoff_spans) as usize,
            None => 0,
        };
        let points = spans + 2 * margin + ORDER - 1;
        let mut normal = BandedNormal::<D>::new(points);
        // Values relative to their centre lose fewer digits.
        let centre = match lap_factor {
            Some(factor) if factor < 0.0 => [0.0; D],
            _ => self.mean(),
        };
        let density = (self.samples.len() as f64 / spans as f64).max(1e-9);
        let mut add = |place: f64, value: &[f64; D], sign: f64| {
            let span = (place as usize).min(spans + 2 * margin - 1);
            let [basis, _, _] = basis_with_derivatives(place - span as f64);
            let centred = std::array::from_fn(|d| (value[d] - centre[d]) * sign);
            normal.add_sample(span, &basis, &centred, density.recip());
        };
        let end = (spans + 2 * margin) as f64;
        for (u, value) in self.samples {
            let place = u / spacing + margin as f64;
            let Some(factor) = lap_factor else {
                add(place.clamp(0.0, end), value, 1.0);
                continue;
            };
            let first_lap = -((place / spans as f64).floor());
            let mut lap = first_lap;
            loop {
                let tiled = place + lap * spans as f64;
                if tiled > end {
                    break;
                }
                let odd = factor < 0.0 && lap.rem_euclid(2.0) != 0.0;
                add(tiled.max(0.0), value, if odd { -1.0 } else { 1.0 });
                lap += 1.0;
            }
        }
        let r = cutoff_spans / std::f64::consts::TAU;
        // A small weight of the second derivative keeps the curve straight between two samples where they determine
        // nothing else.
        let trace = if self.cutoff > 0.0 { 1e-9 } else { 1e-13 };
        normal.add_penalty(&[-1.0, 3.0, -3.0, 1.0], (r * r * r * r * r * r).max(trace));
        normal.add_penalty(&[1.0, -2.0, 1.0], trace);
        let solution = normal.solve();
        let mut control: Vec<[f64; D]> = solution[margin..margin + spans + ORDER - 1]
            .iter()
            .map(|point| std::array::from_fn(|d| point[d] + centre[d]))
            .collect();
        if let Some(factor) = lap_factor {
            for i in spans..control.len() {
                control[i] = control[i - spans].map(|x| x * factor);
            }
        }
        BSpline { grid: self.grid, control }
    }

    /// The smoothest curve whose deviation is within `allowed`, with its cutoff and deviation. If no cutoff achieves
    /// this deviation, the closest curve is returned.
    pub fn solve_within(&self, allowed: Deviation) -> (BSpline<D>, f64, Deviation) {
        let attempt = |cutoff: f64| {
            let curve = Self { cutoff, ..*self }.solve();
            let deviation = curve.deviation(self.samples);
            (curve, cutoff, deviation)
        };
        let passes = |d: &Deviation| d.rms <= allowed.rms && d.max <= allowed.max;
        let mut too_smooth = MAX_CUTOFF_SPANS * self.grid.spacing;
        let smoothest = attempt(too_smooth);
        if passes(&smoothest.2) {
            return smoothest;
        }
        let mut best = attempt(0.5 * self.grid.spacing);
        if !passes(&best.2) {
            return best;
        }
        while too_smooth > 1.1 * best.1 {
            let middle = attempt((too_smooth * best.1).sqrt());
            if passes(&middle.2) {
                best = middle;
            } else {
                too_smooth = middle.1;
            }
        }
        best
    }

    fn mean(&self) -> [f64; D] {
        let n = self.samples.len().max(1) as f64;
        std::array::from_fn(|d| self.samples.iter().map(|(_, value)| value[d] / n).sum())
    }
}

/// The six basis functions of a span at `t`, 0..=1, with their derivatives per span.
fn basis_with_derivatives(t: f64) -> [[f64; ORDER]; 3] {
    /// For each basis function, the coefficients of 1, t, … t^5, times 120.
    const C: [[f64; 6]; ORDER] = [
        [1.0, -5.0, 10.0, -10.0, 5.0, -1.0],
        [26.0, -50.0, 20.0, 20.0, -20.0, 5.0],
        [66.0, 0.0, -60.0, 0.0, 30.0, -10.0],
        [26.0, 50.0, 20.0, -20.0, -20.0, 10.0],
        [1.0, 5.0, 10.0, 10.0, 5.0, -5.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ];
    let mut basis = [[0.0; ORDER]; 3];
    for (k, [a, b, c, d, e, f]) in C.into_iter().enumerate() {
        basis[0][k] = (((((f * t + e) * t + d) * t + c) * t + b) * t + a) / 120.0;
        basis[1][k] = ((((5.0 * f * t + 4.0 * e) * t + 3.0 * d) * t + 2.0 * c) * t + b) / 120.0;
        basis[2][k] = (((20.0 * f * t + 12.0 * e) * t + 6.0 * d) * t + 2.0 * c) / 120.0;
    }
    basis
}

/// Symmetric banded normal equations: `rows[i][k]` couples `i` and `i + k`.
struct BandedNormal<const D: usize> {
    rows: Vec<[f64; ORDER]>,
    right: Vec<[f64; D]>,
}

impl<const D: usize> BandedNormal<D> {
    fn new(points: usize) -> Self {
        Self { rows: vec![[0.0; ORDER]; points], right: vec![[0.0; D]; points] }
    }

    fn add_sample(&mut self, span: usize, basis: &[f64; ORDER], value: &[f64; D], weight: f64) {
        for i in 0..ORDER {
            for j in i..ORDER {
                self.rows[span + i][j - i] += weight * basis[i] * basis[j];
            }
            for (sum, x) in self.right[span + i].iter_mut().zip(value) {
                *sum += weight * basis[i] * x;
            }
        }
    }

    fn add_penalty(&mut self, difference: &[f64], weight: f64) {
        for row in 0..(self.rows.len() + 1).saturating_sub(difference.len()) {
            for (i, a) in difference.iter().enumerate() {
                for (j, b) in difference.iter().enumerate().skip(i) {
                    self.rows[row + i][j - i] += weight * a * b;
                }
            }
        }
    }

    /// Solves the system by `L D L^T` in place.
    fn solve(mut self) -> Vec<[f64; D]> {
        let n = self.rows.len();
        for i in 0..n {
            // Rounding may make the pivot of an undetermined direction negative.
            let pivot = self.rows[i][0].max(1e-30);
            self.rows[i][0] = pivot;
            let row = self.rows[i];
            let reach = ORDER.min(n - i);
            for k in 1..reach {
                let factor = row[k] / pivot;
                for (x, y) in self.rows[i + k].iter_mut().zip(&row[k..reach]) {
                    *x -= factor * y;
                }
                let (done, rest) = self.right.split_at_mut(i + k);
                for (x, y) in rest[0].iter_mut().zip(&done[i]) {
                    *x -= factor * y;
                }
            }
        }
        for i in (0..n).rev() {
            let row = self.rows[i];
            let (head, known) = self.right.split_at_mut(i + 1);
            for (d, x) in head[i].iter_mut().enumerate() {
                let carried: f64 = row[1..].iter().zip(known.iter()).map(|(a, y)| a * y[d]).sum();
                *x = (*x - carried) / row[0];
            }
        }
        self.right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(spacing: f64, spans: usize, lap_factor: Option<f64>) -> Grid {
        Grid { spacing, spans, lap_factor }
    }

    #[test]
    fn a_quintic_is_reproduced_with_its_derivatives() {
        let poly = |u: f64| 1.0 + u * (0.5 - u * (0.3 - u * (0.2 - u * (0.05 - 0.01 * u))));
        let samples: Vec<_> =
            (0..=400).map(|i| f64::from(i) * 0.01).map(|u| (u, [poly(u)])).collect();
        let curve = Fit { grid: grid(0.5, 8, None), samples: &samples, cutoff: 0.0 }.solve();
        for i in 0..100 {
            let u = f64::from(i) * 0.04;
            let jet = curve.at(u);
            let first = 0.5 - 0.6 * u + 0.6 * u * u - 0.2 * u * u * u + 0.05 * u * u * u * u;
            let second = -0.6 + 1.2 * u - 0.6 * u * u + 0.2 * u * u * u;
            assert!((jet.value[0] - poly(u)).abs() < 1e-7, "{u} {jet:?}");
            assert!((jet.first[0] - first).abs() < 1e-5, "{u} {jet:?} {first}");
            assert!((jet.second[0] - second).abs() < 1e-4, "{u} {jet:?} {second}");
        }
    }

    #[test]
    fn two_samples_make_a_straight_line() {
        let samples = [(0.0, [3.0]), (10.0, [5.0])];
        let curve = Fit { grid: grid(1.0, 10, None), samples: &samples, cutoff: 0.5 }.solve();
        for i in 0..=10 {
            let jet = curve.at(f64::from(i));
            assert!((jet.value[0] - 3.0 - 0.2 * f64::from(i)).abs() < 1e-4, "{i} {jet:?}");
            assert!((jet.first[0] - 0.2).abs() < 1e-4 && jet.second[0].abs() < 1e-4, "{jet:?}");
        }
    }

    #[test]
    fn the_cutoff_period_loses_half_its_height() {
        let period = 2.0;
        let samples: Vec<_> = (0..=2000)
            .map(|i| f64::from(i) * 0.01)
            .map(|u| (u, [libm::sin(std::f64::consts::TAU * u / period)]))
            .collect();
        let curve = Fit { grid: grid(0.1, 200, None), samples: &samples, cutoff: period }.solve();
        let crest = curve.at(10.5).value[0];
        assert!((crest - 0.5).abs() < 0.02, "{crest}");
    }

    #[test]
    fn a_closed_curve_joins_itself_in_every_derivative() {
        let samples: Vec<_> = (0..40)
            .map(|i| f64::from(i) * 0.25)
            .map(|u| (u, [libm::cos(std::f64::consts::TAU * u / 10.0), u * (10.0 - u)]))
            .collect();
        let curve = Fit { grid: grid(0.5, 20, Some(1.0)), samples: &samples, cutoff: 0.0 }.solve();
        let (before, after) = (curve.at(10.0 - 1e-9), curve.at(1e-9));
        for d in 0..2 {
            assert!((before.value[d] - after.value[d]).abs() < 1e-6);
            assert!((before.first[d] - after.first[d]).abs() < 1e-6);
            assert!((before.second[d] - after.second[d]).abs() < 1e-5);
        }
        assert_eq!(curve.at(3.0), curve.at(13.0));
        assert!((curve.at(2.5).value[0]).abs() < 1e-4);
    }

    #[test]
    fn an_antiperiodic_curve_changes_sign_every_lap() {
        let samples: Vec<_> = (0..100)
            .map(|i| f64::from(i) * 0.1)
            .map(|u| (u, [libm::cos(std::f64::consts::PI * u / 10.0)]))
            .collect();
        let curve = Fit { grid: grid(0.5, 20, Some(-1.0)), samples: &samples, cutoff: 0.0 }.solve();
        for u in [0.0, 0.01, 4.0, 9.99, 10.01, 17.0, 23.0] {
            let wanted = libm::cos(std::f64::consts::PI * u / 10.0);
            assert!((curve.at(u).value[0] - wanted).abs() < 1e-6, "{u}");
        }
    }

    #[test]
    fn smoothing_stays_within_the_tolerance_and_uses_it() {
        // A square wave of 1 cm height on a slow ramp.
        let samples: Vec<_> = (0..400)
            .map(|i| (f64::from(i) * 0.05, [f64::from(i) * 0.05 + f64::from(i % 2) * 0.01]))
            .collect();
        let fit = Fit { grid: grid(0.05, 400, None), samples: &samples, cutoff: 0.0 };
        let (curve, cutoff, deviation) = fit.solve_within(Deviation { rms: 0.02, max: 0.1 });
        assert!(deviation.rms <= 0.02 && cutoff > 1.0, "{deviation:?} {cutoff}");
        assert!(curve.at(10.0).second[0].abs() < 1e-3);
        let (_, cutoff, deviation) = fit.solve_within(Deviation { rms: 0.001, max: 0.1 });
        assert!(deviation.rms <= 0.001 && cutoff < 0.2, "{deviation:?} {cutoff}");
    }
}
