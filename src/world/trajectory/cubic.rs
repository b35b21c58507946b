//! Cubic splines through points, and the arc length of curves.

use glam::DVec3;

/// A cubic spline through points, twice continuously differentiable, over centripetal knots (intervals are the square
/// roots of distances). These knots prevent overshoot at short intervals.
pub(super) struct Cubic {
    knots: Vec<f64>,
    points: Vec<DVec3>,
    second: Vec<DVec3>,
    /// Index of the first point of the curve in `points`. It is not 0 for a closed spline, which has copies of points
    /// before and after its lap.
    first: usize,
    /// Number of spans of the curve; spans between copies of points are not counted.
    pub(super) corners: usize,
}

/// Number of equal pieces into which a span is divided; the length of each piece is integrated separately.
const PIECES: usize = 16;

impl Cubic {
    /// Number of copies of points beyond each end of a lap. Each copy reduces the influence of the end conditions on
    /// the lap to about a quarter.
    const COPIES: usize = 26;

    pub(super) fn through(corners: &[DVec3], closed: bool) -> Self {
        let n = corners.len();
        let copies = if closed { Self::COPIES } else { 0 };
        let count = if closed { n + 1 + 2 * copies } else { n };
        let points: Vec<DVec3> =
            (0..count).map(|i| corners[(i + n * (copies / n + 1) - copies) % n]).collect();
        let mut knots = vec![0.0];
        for pair in points.windows(2) {
            knots.push(knots[knots.len() - 1] + pair[0].distance(pair[1]).sqrt());
        }
        let second = second_derivatives(&knots, &points);
        Self { knots, points, second, first: copies, corners: if closed { n } else { n - 1 } }
    }

    pub(super) fn breaks(&self) -> Vec<f64> {
        let mut breaks = vec![self.knots[self.first]];
        for span in self.first..self.first + self.corners {
            let (a, b) = (self.knots[span], self.knots[span + 1]);
            breaks.extend((1..=PIECES).map(|i| a + (b - a) * i as f64 / PIECES as f64));
        }
        breaks
    }

    pub(super) fn break_of_corner(&self, k: usize) -> usize {
        k.min(self.corners) * PIECES
    }

    /// Position, and its first derivative with respect to the parameter, at `u`.
    pub(super) fn at(&self, u: f64) -> [DVec3; 2] {
        let i = self.knots.partition_point(|k| *k <= u).clamp(1, self.knots.len() - 1) - 1;
        let h = self.knots[i + 1] - self.knots[i];
        let b = (u - self.knots[i]) / h;
        let a = 1.0 - b;
        let (p, q) = (self.points[i], self.points[i + 1]);
        let (pp, qq) = (self.second[i] * (h * h / 6.0), self.second[i + 1] * (h * h / 6.0));
        [
            p * a + q * b + pp * (a * a * a - a) + qq * (b * b * b - b),
            (q - p - pp * (3.0 * a * a - 1.0) + qq * (3.0 * b * b - 1.0)) / h,
        ]
    }
}

/// Second derivatives at the knots of the natural cubic spline.
fn second_derivatives(knots: &[f64], points: &[DVec3]) -> Vec<DVec3> {
    let n = points.len();
    let mut second = vec![DVec3::ZERO; n];
    let mut upper = vec![0.0; n];
    for i in 1..n.saturating_sub(1) {
        let (h0, h1) = (knots[i] - knots[i - 1], knots[i + 1] - knots[i]);
        let right = ((points[i + 1] - points[i]) / h1 - (points[i] - points[i - 1]) / h0) * 6.0;
        let pivot = 2.0 * (h0 + h1) - h0 * upper[i - 1];
        upper[i] = h1 / pivot;
        second[i] = (right - second[i - 1] * h0) / pivot;
    }
    for i in (1..n.saturating_sub(1)).rev() {
        let next = second[i + 1];
        second[i] -= next * upper[i];
    }
    second
}

/// Tabulated arc length of a curve.
pub(super) struct ArcLength {
    breaks: Vec<f64>,
    lengths: Vec<f64>,
}

impl ArcLength {
    pub(super) fn new(curve: &impl Fn(f64) -> [DVec3; 2], breaks: Vec<f64>) -> Self {
        let mut lengths = vec![0.0];
        for pair in breaks.windows(2) {
            lengths.push(lengths[lengths.len() - 1] + integrate_speed(curve, pair[0], pair[1]));
        }
        Self { breaks, lengths }
    }

    pub(super) fn length(&self) -> f64 {
        self.lengths[self.lengths.len() - 1]
    }

    pub(super) fn length_at_break(&self, index: usize) -> f64 {
        self.lengths[index.min(self.lengths.len() - 1)]
    }

    /// The parameter at arc length `s`, by Newton's method bounded to a piece.
    pub(super) fn parameter(&self, curve: &impl Fn(f64) -> [DVec3; 2], s: f64) -> f64 {
        let last = self.breaks.len() - 1;
        let piece = self.lengths.partition_point(|l| *l <= s).clamp(1, last) - 1;
        let (mut low, mut high) = (self.breaks[piece], self.breaks[piece + 1]);
        let wanted = s - self.lengths[piece];
        let whole = self.lengths[piece + 1] - self.lengths[piece];
        let start = low;
        let mut u = low + (high - low) * (wanted / whole.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        for _ in 0..20 {
            let error = integrate_speed(curve, start, u) - wanted;
            if error.abs() <= 1e-13 * self.length() {
                break;
            }
            if error > 0.0 {
                high = u;
            } else {
                low = u;
            }
            let step = u - error / curve(u)[1].length().max(f64::MIN_POSITIVE);
            u = if step > low && step < high { step } else { 0.5 * (low + high) };
        }
        u
    }
}

/// Arc length between two parameters, by Gauss-Legendre quadrature with five points.
fn integrate_speed(curve: &impl Fn(f64) -> [DVec3; 2], from: f64, to: f64) -> f64 {
    const NODES: [(f64, f64); 5] = [
        (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    NODES.iter().map(|(x, w)| w * curve(middle + half * x)[1].length()).sum::<f64>() * half
}
