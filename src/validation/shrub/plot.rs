//! Histograms of the ranges of a shrub, and of a single laser with fitted normal distributions.

use super::{Around, BIN_M, BINS, FROM_M, STEP_M, Single};
use crate::plot::{Area, Axis, BLUE, Colour, Figure, ORANGE, Panel};
use crate::validation::statistics::{histogram, mean, normal, std};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 230.0;
const BARS: Colour = Colour([150, 175, 200]);

/// Histograms of ranges: one panel for each item of `around`, and one for a flat wall.
pub(super) fn histograms(around: &[Around], wall: &Single) -> Figure {
    let mut figure = Figure::new(WIDTH, "Ranges of a potted shrub from 8 m, all positions");
    for (place, rule) in around.iter().enumerate() {
        let panel =
            bars(&format!("{}: {} returns", rule.name, rule.ranges_m.len()), &rule.ranges_m);
        figure.panel(area(place), panel);
    }
    let board = bars("one laser on a flat board", &wall.shots.ranges_m);
    figure.panel(area(around.len()), board);
    figure
}

fn area(place: usize) -> Area {
    let (left, top) = ((place % 2) as f64 * WIDTH / 2.0, (place / 2) as f64 * HEIGHT);
    Area { left, top, width: WIDTH / 2.0, height: HEIGHT }
}

fn bars(title: &str, ranges_m: &[f64]) -> Panel {
    let counts = histogram(ranges_m, FROM_M, BIN_M, BINS);
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let edge = |bin: usize| FROM_M + bin as f64 * BIN_M;
    let mut panel = Panel::new(
        title,
        Axis::linear("range, m", FROM_M, edge(BINS)),
        Axis::linear("returns", 0.0, 1.05 * most),
    );
    let bars = counts.iter().enumerate();
    panel.bars(bars.map(|(n, count)| (edge(n), edge(n + 1), *count as f64)).collect(), BARS);
    panel
}

/// Ranges of a single laser on bush and wall, with fitted normal distributions.
pub(super) fn single(bush: &Single, wall: &Single) -> Figure {
    let mut figure = Figure::new(WIDTH, "One laser over many rotations");
    figure.legend("decoded ranges", BLUE);
    figure.legend("fitted normal law", ORANGE);
    for (place, (name, single)) in [("bush", bush), ("wall", wall)].into_iter().enumerate() {
        figure.panel(Area { height: 320.0, ..area(place) }, fitted(name, &single.shots.ranges_m));
    }
    figure
}

fn fitted(name: &str, ranges_m: &[f64]) -> Panel {
    const COLUMNS: usize = 40;
    let (middle, spread) = (mean(ranges_m), std(ranges_m).max(1e-6));
    // The bin width is a whole number of range steps, so that every bin covers the same number of possible ranges.
    let width = (7.0 * spread / COLUMNS as f64 / STEP_M).ceil() * STEP_M;
    let from = ((middle - 3.5 * spread) / STEP_M).round() * STEP_M + STEP_M / 2.0;
    let counts = histogram(ranges_m, from, width, COLUMNS);
    let edge = |bin: usize| from + bin as f64 * width;
    let expected = |at: f64| {
        let share =
            normal(at + width / 2.0, middle, spread) - normal(at - width / 2.0, middle, spread);
        share * ranges_m.len() as f64
    };
    let most = counts.iter().map(|count| *count as f64).fold(expected(middle), f64::max);
    let mut panel = Panel::new(
        format!("{name}: {} shots, standard deviation {spread:.3} m", ranges_m.len()),
        Axis::linear("range, m", from, edge(COLUMNS)),
        Axis::linear("shots", 0.0, 1.05 * most),
    );
    let bars = counts.iter().enumerate();
    panel.bars(bars.map(|(n, count)| (edge(n), edge(n + 1), *count as f64)).collect(), BLUE);
    let places = (0..=4 * COLUMNS).map(|n| from + n as f64 * width / 4.0);
    panel.line(places.map(|at| (at, expected(at))), ORANGE);
    panel
}
