//! Plots of fits.

use crate::analysis::allan::{Fitted, Point};
use crate::analysis::fit::inertial::InertialFit;
use crate::analysis::fit::position::PositionFit;
use crate::analysis::fit::ranges::RangeFit;
use crate::plot::{Axis, BLUE, Figure, ORANGE, Panel};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 360.0;

/// Figure with one panel per sensor: measured and fitted Allan deviations.
pub(super) fn inertial(title: &str, fit: &InertialFit) -> Figure {
    let mut figure = figure(&format!("Allan deviation of {title}"));
    for triad in &fit.triads {
        let (unit, scale) = triad.unit;
        let label = format!("Allan deviation, {unit}");
        let panel = curve(triad.name, &label, scale, &triad.points, Some(&triad.fitted));
        figure.panel_below(HEIGHT, panel);
    }
    figure
}

/// Figure with one panel per axis: measured and fitted Allan deviations.
pub(super) fn position(title: &str, fit: &PositionFit) -> Figure {
    let mut figure = figure(&format!("Positions of {title}"));
    for ((points, fitted), axis) in fit.curves.iter().zip(["east", "north", "up"]) {
        if !points.is_empty() {
            let panel = curve(axis, "Allan deviation, m", 1.0, points, fitted.as_ref());
            figure.panel_below(HEIGHT, panel);
        }
    }
    figure
}

/// Figure with a bar for the range noise of each laser.
pub(super) fn ranges(title: &str, fit: &RangeFit) -> Figure {
    let mut figure = Figure::new(WIDTH, format!("Range noise of {title}"));
    figure.legend("each laser", BLUE);
    figure.legend("median", ORANGE);
    let last = fit.lasers.iter().map(|laser| f64::from(laser.laser)).fold(1.0, f64::max);
    let most = fit.lasers.iter().map(|laser| laser.range_std_m).fold(1e-6, f64::max);
    let mut panel = Panel::new(
        "standard deviation of ranges of the same direction",
        Axis::linear("laser", -0.5, last + 0.5),
        Axis::linear("mm", 0.0, most * 1.15e3),
    );
    let bar =
        |laser: u16, std_m: f64| (f64::from(laser) - 0.4, f64::from(laser) + 0.4, std_m * 1e3);
    panel.bars(fit.lasers.iter().map(|l| bar(l.laser, l.range_std_m)).collect(), BLUE);
    let middle = fit.range_std_m * 1e3;
    panel.line([(-0.5, middle), (last + 0.5, middle)], ORANGE);
    figure.panel_below(HEIGHT, panel);
    figure
}

fn figure(title: &str) -> Figure {
    let mut figure = Figure::new(WIDTH, title);
    figure.legend("the log, with one standard error", ORANGE);
    figure.legend("fitted", BLUE);
    figure
}

fn curve(name: &str, label: &str, scale: f64, points: &[Point], fitted: Option<&Fitted>) -> Panel {
    let model = |p: &Point| fitted.map(|fitted| fitted.deviation(p.tau_s) / scale);
    let spread = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)))
    };
    let (shortest, longest) = spread(&mut points.iter().map(|p| p.tau_s));
    let (least, most) =
        spread(&mut points.iter().flat_map(|p| [Some(p.deviation / scale), model(p)]).flatten());
    let mut panel = Panel::new(
        name,
        Axis::logarithmic("averaging time, s", shortest * 0.9, longest * 1.1),
        Axis::logarithmic(label, least * 0.9, most * 1.1),
    );
    panel.line(points.iter().filter_map(|p| Some((p.tau_s, model(p)?))), BLUE);
    for p in points {
        let found = p.deviation / scale;
        let low = found * (1.0 - p.relative_error).max(0.01);
        let high = found * (1.0 + p.relative_error);
        panel.line([(p.tau_s, low), (p.tau_s, high)], ORANGE);
        panel.dots(vec![(p.tau_s, found, ORANGE)], (5.0, 5.0));
    }
    panel
}
