//! Curves in space over arc length: the geometry of a drive, without its timing.

use glam::DVec3;

use super::cubic::{ArcLength, Cubic};
use super::spline::{BSpline, Deviation, Fit, Grid};

/// Wanted limit of a fitted path's speed ripple, the largest relative error of the speed. Knots are refined until the
/// ripple is below the limit.
const WANTED_RIPPLE: f64 = 1e-4;
/// Speed ripple above which a path is rejected as having a cusp, even with the finest knots.
const LARGEST_RIPPLE: f64 = 1e-2;
/// Least horizontal part of a unit tangent that determines a heading.
const LEAST_HORIZONTAL: f64 = 0.05;
/// Largest number of spans of a path.
const MAX_SPANS: usize = 1 << 17;

/// A curve over arc length in metres, starting at 0.
#[derive(Clone, Debug)]
pub enum Path {
    /// An endless straight line. `travel` is a unit vector; the robot faces along `yaw_rad`.
    Line { start_m: DVec3, travel: DVec3, yaw_rad: f64 },
    /// A circle; `turn` is 1 for counter-clockwise, -1 for clockwise.
    Circle { center_m: DVec3, radius_m: f64, start_angle_rad: f64, turn: f64 },
    /// An endless sine curve.
    Sine(SinePath),
    /// A spline through points, over arc length.
    Spline(BSpline<3>),
}

/// Range of a path's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// The path never ends.
    Unbounded,
    /// The path ends at this value of the parameter.
    Open(f64),
    /// The path repeats after this length of the parameter.
    Closed(f64),
}

/// A position with its derivatives with respect to the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionJet {
    /// Position in World, metres.
    pub value: DVec3,
    /// First derivative of the position by the parameter, metres per unit.
    pub first: DVec3,
    /// Second derivative of the position by the parameter, metres per unit squared.
    pub second: DVec3,
}

/// An angle, radians, and its derivative by the parameter, radians per unit.
pub type AngleJet = [f64; 2];

impl Path {
    /// Position at arc length `s`, metres, 0 or more.
    pub fn at(&self, s: f64) -> PositionJet {
        match self {
            Self::Line { start_m, travel, .. } => {
                PositionJet { value: *start_m + *travel * s, first: *travel, second: DVec3::ZERO }
            }
            Self::Circle { center_m, radius_m, start_angle_rad, turn } => {
                // The arc length is first reduced to one lap. Otherwise the angle would lose digits after days of
                // driving.
                let lap = std::f64::consts::TAU * radius_m;
                let angle = start_angle_rad + turn * (s % lap) / radius_m;
                let (sin, cos) = libm::sincos(angle);
                let out = DVec3::new(cos, sin, 0.0);
                PositionJet {
                    value: *center_m + out * *radius_m,
                    first: DVec3::new(-sin, cos, 0.0) * *turn,
                    second: out * -radius_m.recip(),
                }
            }
            Self::Sine(sine) => sine.at(s),
            Self::Spline(spline) => position_jet(spline, s),
        }
    }

    /// Yaw and pitch (positive downward) of the tangent at `position`, which [`Path::at`] has returned. For a line: its
    /// `yaw_rad`, and a pitch of 0.
    pub fn heading(&self, position: &PositionJet) -> (AngleJet, AngleJet) {
        if let Self::Line { yaw_rad, .. } = self {
            return ([*yaw_rad, 0.0], [0.0, 0.0]);
        }
        let (d, dd) = (position.first, position.second);
        let squared = d.x * d.x + d.y * d.y;
        let horizontal = squared.sqrt();
        let yaw = [libm::atan2(d.y, d.x), (d.x * dd.y - d.y * dd.x) / squared];
        let horizontal_rate = (d.x * dd.x + d.y * dd.y) / horizontal;
        let pitch = [
            -libm::atan2(d.z, horizontal),
            (d.z * horizontal_rate - dd.z * horizontal) / (squared + d.z * d.z),
        ];
        (yaw, pitch)
    }

    /// Number of spans of the path's spline, or 0.
    pub fn spans(&self) -> usize {
        match self {
            Self::Line { .. } | Self::Circle { .. } => 0,
            Self::Sine(sine) => sine.ahead.grid().spans,
            Self::Spline(spline) => spline.grid().spans,
        }
    }

    /// Range of the path's arc length, metres.
    pub fn extent(&self) -> Extent {
        match self {
            Self::Line { .. } | Self::Sine(_) => Extent::Unbounded,
            Self::Circle { radius_m, .. } => Extent::Closed(std::f64::consts::TAU * radius_m),
            Self::Spline(spline) => match spline.grid().lap_factor {
                Some(_) => Extent::Closed(spline.grid().length()),
                None => Extent::Open(spline.grid().length()),
            },
        }
    }
}

/// Position and derivatives of a position spline at `u`.
pub fn position_jet(spline: &BSpline<3>, u: f64) -> PositionJet {
    let jet = spline.at(u);
    PositionJet {
        value: DVec3::from_array(jet.value),
        first: DVec3::from_array(jet.first),
        second: DVec3::from_array(jet.second),
    }
}

/// The curve `y = amplitude * sin(pi x / length)` over arc length. All values are computed exactly from x; x comes from
/// a table with an error of about a nanometre.
#[derive(Clone, Debug)]
pub struct SinePath {
    start_m: DVec3,
    along: DVec3,
    across: DVec3,
    length_m: f64,
    amplitude_m: f64,
    /// x minus `length_m` times the share of the half wave's arc length that has passed, as a function of arc length.
    /// The function repeats every half wave.
    ahead: BSpline<1>,
}

impl SinePath {
    /// Half waves of `length_m` and `amplitude_m` around the ray from `start_m` in the direction of `yaw_rad`. The
    /// first is to the left if the amplitude is positive.
    pub fn new(start_m: DVec3, yaw_rad: f64, length_m: f64, amplitude_m: f64) -> Self {
        let (sin, cos) = libm::sincos(yaw_rad);
        let k = std::f64::consts::PI / length_m;
        let curve = |x: f64| {
            let (s, c) = libm::sincos(k * x);
            [DVec3::new(x, amplitude_m * s, 0.0), DVec3::new(1.0, amplitude_m * k * c, 0.0)]
        };
        // Steep waves have tight crests, which need a finer table.
        let steep = (amplitude_m * k).abs();
        let spans = ((128.0 * (1.0 + steep * steep)).min(16384.0)) as usize;
        let breaks: Vec<f64> =
            (0..=2 * spans).map(|i| length_m * i as f64 / (2 * spans) as f64).collect();
        let table = ArcLength::new(&curve, breaks);
        let half_wave_m = table.length();
        let samples: Vec<_> = (0..2 * spans)
            .map(|i| {
                let share = i as f64 / (2 * spans) as f64;
                (
                    share * half_wave_m,
                    [table.parameter(&curve, share * half_wave_m) - share * length_m],
                )
            })
            .collect();
        let grid = Grid { spacing: half_wave_m / spans as f64, spans, lap_factor: Some(1.0) };
        let ahead = Fit { grid, samples: &samples, cutoff: 0.0 }.solve();
        Self {
            start_m,
            along: DVec3::new(cos, sin, 0.0),
            across: DVec3::new(-sin, cos, 0.0),
            length_m,
            amplitude_m,
            ahead,
        }
    }

    fn at(&self, s: f64) -> PositionJet {
        let half_wave_m = self.ahead.grid().length();
        let waves = (s / (2.0 * half_wave_m)).floor();
        let s = s - waves * 2.0 * half_wave_m;
        let x = s * self.length_m / half_wave_m + self.ahead.at(s).value[0];
        let k = std::f64::consts::PI / self.length_m;
        let (sin, cos) = libm::sincos(k * x);
        let slope = self.amplitude_m * k * cos;
        let bend = -self.amplitude_m * k * k * sin;
        let stretch = 1.0 + slope * slope;
        let x_1 = stretch.sqrt().recip();
        let x_2 = -slope * bend / (stretch * stretch);
        let place = |x: f64, y: f64| self.along * x + self.across * y;
        PositionJet {
            value: self.start_m + place(x + waves * 2.0 * self.length_m, self.amplitude_m * sin),
            first: place(x_1, slope * x_1),
            second: place(x_2, slope * x_2 + bend * x_1 * x_1),
        }
    }
}

/// Reason why points do not form a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathFault {
    /// A path needs more distinct points.
    TooFew { found: usize, least: usize },
    /// A point is almost exactly above or below the previous one, so that the path has no heading.
    Vertical {
        /// Index of the point, from 0.
        index: usize,
    },
    /// The path turns on the spot, or is too steep to have a heading.
    Cusp { near_m: DVec3 },
}

/// A smooth path through given points, with the path's deviation from the points.
#[derive(Clone, Debug)]
pub struct FittedPath {
    /// Position over arc length.
    pub spline: BSpline<3>,
    /// Deviation from the interpolating curve, metres.
    pub deviation_m: Deviation,
    /// Largest distance of a given point from the path, metres.
    pub farthest_point_m: f64,
    /// Largest relative error of the speed, which should be constant.
    pub speed_ripple: f64,
}

/// Fits a path to points (metres, World). The path stays within `allowed_m` of the curve that interpolates them, unless
/// that needs too many spans; [`FittedPath::deviation_m`] states the deviation. Points nearer than `thin_m` to the
/// previous one are skipped. The error is the reason why the points do not form a path.
pub fn fit_path(
    points: &[DVec3],
    closed: bool,
    thin_m: f64,
    allowed_m: Deviation,
) -> Result<FittedPath, PathFault> {
    let kept = thin(points, closed, thin_m);
    for pair in kept.windows(2) {
        let step = points[pair[1]] - points[pair[0]];
        if step.truncate().length() < LEAST_HORIZONTAL * step.length() {
            return Err(PathFault::Vertical { index: pair[1] });
        }
    }
    let least = if closed { 3 } else { 2 };
    if kept.len() < least {
        return Err(PathFault::TooFew { found: kept.len(), least });
    }
    let corners: Vec<DVec3> = kept.iter().map(|&i| points[i]).collect();
    let cubic = Cubic::through(&corners, closed);
    let cubic_curve = |u: f64| cubic.at(u);
    let table = ArcLength::new(&cubic_curve, cubic.breaks());
    let length = table.length();

    let nearest = corners.windows(2).map(|w| w[0].distance(w[1])).fold(length, f64::min);
    let mut spans = ((length / (nearest / 4.0)) as usize).clamp(16, MAX_SPANS / 4);
    let lap_factor = closed.then_some(1.0);
    let (smooth, deviation_m) = loop {
        let grid = Grid { spacing: length / spans as f64, spans, lap_factor };
        let samples = samples_over(&grid, |s| cubic_curve(table.parameter(&cubic_curve, s))[0]);
        let (smooth, _, deviation_m) =
            Fit { grid, samples: &samples, cutoff: 0.0 }.solve_within(allowed_m);
        let within = deviation_m.rms <= allowed_m.rms && deviation_m.max <= allowed_m.max;
        if within || spans * 4 > MAX_SPANS {
            break (smooth, deviation_m);
        }
        spans *= 2;
    };
    loop {
        // Smoothing shortens bends. The length is therefore measured twice more.
        let spline = over_arc_length(&over_arc_length(&smooth, spans), spans);
        let (speed_ripple, near_m) = speed_ripple(&spline);
        if speed_ripple > WANTED_RIPPLE && spans * 2 <= MAX_SPANS {
            spans *= 2;
            continue;
        }
        if speed_ripple > LARGEST_RIPPLE {
            return Err(PathFault::Cusp { near_m });
        }
        let farthest_point_m = farthest_point(&spline, points, &kept, &cubic, &table);
        return Ok(FittedPath { spline, deviation_m, farthest_point_m, speed_ripple });
    }
}

/// Indices of the points that are kept: each is at least `distance_m` from the previous one. The last point of an open
/// path is kept too; it replaces a kept point that is too near to it. In a closed path, points at the end that are too
/// near to the first point are dropped.
pub fn thin(points: &[DVec3], closed: bool, distance_m: f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for (i, point) in points.iter().enumerate() {
        if kept.last().is_none_or(|&last| points[last].distance(*point) >= distance_m) {
            kept.push(i);
        }
    }
    let Some(end) = points.len().checked_sub(1) else { return kept };
    if closed {
        while kept.len() > 1 && points[kept[kept.len() - 1]].distance(points[0]) < distance_m {
            kept.pop();
        }
    } else if kept[kept.len() - 1] != end {
        if kept.len() > 1 {
            kept.pop();
            kept.push(end);
        } else if points[0].distance(points[end]) > 1e-3 {
            kept.push(end);
        }
    }
    kept
}

/// Two samples per span, including the end of an open grid.
fn samples_over(grid: &Grid, at: impl Fn(f64) -> DVec3) -> Vec<(f64, [f64; 3])> {
    let count = 2 * grid.spans + usize::from(grid.lap_factor.is_none());
    (0..count)
        .map(|i| {
            let s = grid.length() * i as f64 / (2 * grid.spans) as f64;
            (s, at(s).to_array())
        })
        .collect()
}

/// The same curve parameterised by arc length, with `spans` spans.
fn over_arc_length(spline: &BSpline<3>, spans: usize) -> BSpline<3> {
    let old = spline.grid();
    let curve = |u: f64| {
        let jet = position_jet(spline, u);
        [jet.value, jet.first]
    };
    let breaks = (0..=old.spans).map(|i| old.spacing * i as f64).collect();
    let table = ArcLength::new(&curve, breaks);
    let grid = Grid { spacing: table.length() / spans as f64, spans, ..old };
    let samples = samples_over(&grid, |s| curve(table.parameter(&curve, s))[0]);
    Fit { grid, samples: &samples, cutoff: 0.0 }.solve()
}

/// The largest relative error of the speed (infinite where the path has no heading) and its position.
fn speed_ripple(spline: &BSpline<3>) -> (f64, DVec3) {
    let grid = spline.grid();
    let mut worst = (0.0, DVec3::ZERO);
    for i in 0..=4 * grid.spans {
        let jet = position_jet(spline, grid.spacing * i as f64 / 4.0);
        let mut ripple = (jet.first.length() - 1.0).abs();
        if jet.first.truncate().length() < LEAST_HORIZONTAL {
            ripple = f64::INFINITY;
        }
        if ripple > worst.0 {
            worst = (ripple, jet.value);
        }
    }
    worst
}

/// The largest distance of a point from the nearby piece of the path.
fn farthest_point(
    spline: &BSpline<3>,
    points: &[DVec3],
    kept: &[usize],
    cubic: &Cubic,
    table: &ArcLength,
) -> f64 {
    let grid = spline.grid();
    let scale = grid.length() / table.length();
    let corner_s = |k: usize| scale * table.length_at_break(cubic.break_of_corner(k));
    let mut farthest: f64 = 0.0;
    let mut k = 0;
    for (i, point) in points.iter().enumerate() {
        while k + 1 < kept.len() && kept[k + 1] <= i {
            k += 1;
        }
        let from = corner_s(k.saturating_sub(1)) / grid.spacing;
        let to = corner_s((k + 2).min(cubic.corners)) / grid.spacing;
        // Search in steps of a quarter span, then project onto the tangent.
        let mut nearest = f64::INFINITY;
        for j in (4.0 * from) as usize..=(4.0 * to).ceil() as usize {
            let jet = position_jet(spline, grid.spacing * j as f64 / 4.0);
            let toward = *point - jet.value;
            let along = toward.dot(jet.first).clamp(-grid.spacing, grid.spacing);
            nearest = nearest.min((toward - jet.first * along).length());
        }
        farthest = farthest.max(nearest);
    }
    farthest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: Deviation = Deviation { rms: 1e-3, max: 4e-3 };

    fn points(xy: &[(f64, f64)]) -> Vec<DVec3> {
        xy.iter().map(|&(x, y)| DVec3::new(x, y, 0.0)).collect()
    }

    #[test]
    fn a_path_through_points_on_a_circle_has_the_circles_length_and_bend() {
        let corners: Vec<DVec3> = (0..16)
            .map(|i| libm::sincos(std::f64::consts::TAU * f64::from(i) / 16.0))
            .map(|(s, c)| DVec3::new(10.0 * c, 10.0 * s, 0.0))
            .collect();
        let path = fit_path(&corners, true, 1e-3, TIGHT).unwrap();
        let length = path.spline.grid().length();
        assert!((length - std::f64::consts::TAU * 10.0).abs() < 0.01, "{length}");
        assert!(path.speed_ripple <= WANTED_RIPPLE && path.farthest_point_m < 4e-3, "{path:?}");
        for i in 0..100 {
            let jet = position_jet(&path.spline, length * f64::from(i) / 100.0);
            assert!((jet.second.length() - 0.1).abs() < 0.01, "{jet:?}");
        }
    }

    #[test]
    fn arc_length_of_a_sine_is_the_elliptic_integral() {
        // y = sin(x) over one half wave is 3.820 197 789 027 712 m long.
        let sine = SinePath::new(DVec3::ZERO, 0.0, std::f64::consts::PI, 1.0);
        let half_wave = sine.ahead.grid().length();
        assert!((half_wave - 3.820_197_789_027_712).abs() < 1e-12, "{half_wave}");
        let crest = sine.at(half_wave / 2.0);
        assert!((crest.value - DVec3::new(std::f64::consts::FRAC_PI_2, 1.0, 0.0)).length() < 1e-9);
        let trough = sine.at(1.5 * half_wave);
        assert!((trough.value.y + 1.0).abs() < 1e-9, "{trough:?}");
    }

    #[test]
    fn turning_back_on_the_spot_is_refused() {
        let there_and_back = points(&[(0.0, 0.0), (10.0, 0.0), (0.0, 0.0)]);
        let fault = fit_path(&there_and_back, false, 1e-3, TIGHT).unwrap_err();
        let PathFault::Cusp { near_m } = fault else { panic!("{fault:?}") };
        assert!(near_m.distance(DVec3::new(10.0, 0.0, 0.0)) < 1.0, "{near_m}");
    }

    #[test]
    fn a_lift_is_refused() {
        let lift = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 0.0, 3.0)];
        assert_eq!(
            fit_path(&lift, false, 1e-3, TIGHT).unwrap_err(),
            PathFault::Vertical { index: 2 }
        );
    }

    #[test]
    fn thinning_keeps_both_ends() {
        let dense: Vec<DVec3> = (0..=105).map(|i| DVec3::X * f64::from(i) * 0.1).collect();
        let kept = thin(&dense, false, 1.0);
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, 105));
        assert!(kept.windows(2).all(|w| dense[w[0]].distance(dense[w[1]]) > 0.99));
        assert_eq!(thin(&[DVec3::ONE, DVec3::ONE], false, 1e-3), [0]);
    }
}
