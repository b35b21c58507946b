//! Plots of the experiment: histograms with both laws, and the distance from the gamma law over the footprint's width.

use super::law::{CAST_SHARE, DEPTH_M, PRINTED_SHARE};
use super::{CAST, Case, Width};
use crate::plot::{Area, Axis, BLUE, Colour, Figure, GREY, ORANGE, Panel};
use crate::validation::statistics::histogram;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 230.0;
const BIN_M: f64 = 0.1;
const BARS: Colour = Colour([200, 212, 224]);

/// Figure like figure 5 of Goodin et al. 2018: one row per distance and density, one column per diameter.
pub(super) fn histograms(cases: &[Case]) -> Figure {
    let mut figure =
        Figure::new(WIDTH, "Depth in stands of stems, beam of 1 mrad as MAVS casts it");
    figure.legend("decoded ranges", BARS);
    figure.legend("gamma law (Goodin et al. 2018)", BLUE);
    figure.legend("exponential law (Macedo et al. 2001)", ORANGE);
    for (place, case) in cases.iter().enumerate() {
        let area = Area {
            left: (place % 2) as f64 * WIDTH / 2.0,
            top: (place / 2) as f64 * HEIGHT,
            width: WIDTH / 2.0,
            height: HEIGHT,
        };
        figure.panel(area, panel(case));
    }
    figure
}

fn panel(case: &Case) -> Panel {
    let bins = (DEPTH_M / BIN_M).round() as usize;
    let depths = case.depths(CAST);
    let counts = histogram(depths, 0.0, BIN_M, bins);
    let density = |count: u64| count as f64 / depths.len().max(1) as f64 / BIN_M;
    let edge = |bin: usize| bin as f64 * BIN_M;
    let of_law = |law: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let fine = BIN_M / 5.0;
        let places = (0..bins * 5).map(|n| (n as f64 + 0.5) * fine);
        places.map(|x| (x, (law(x + fine / 2.0) - law(x - fine / 2.0)) / fine)).collect()
    };
    let stand = &case.stand;
    let (gamma, exponential) = (of_law(&|x| stand.gamma(x)), of_law(&|x| stand.exponential(x)));
    let bars: Vec<(f64, f64, f64)> = counts
        .iter()
        .enumerate()
        .map(|(n, count)| (edge(n), edge(n + 1), density(*count)))
        .collect();
    let highest = gamma.iter().chain(&exponential).map(|point| point.1);
    let highest = highest.chain(bars.iter().map(|bar| bar.2)).fold(0.0, f64::max);
    let reach_m = (6.0 / stand.rate_per_m()).min(DEPTH_M);
    let mut panel = Panel::new(
        format!(
            "D = {:.0} m, {:.0} stems/m2, {:.0} mm",
            stand.distance_m,
            stand.stems_per_m2,
            1e3 * stand.diameter_m
        ),
        Axis::linear("depth in the stand, m", 0.0, reach_m),
        Axis::linear("density, 1/m", 0.0, 1.05 * highest),
    );
    let within = |points: Vec<(f64, f64)>| points.into_iter().filter(move |p| p.0 <= reach_m);
    panel.bars(bars.into_iter().filter(|bar| bar.1 <= reach_m + 1e-9).collect(), BARS);
    panel.line(within(exponential), ORANGE);
    panel.line(within(gamma), BLUE);
    panel
}

/// Plot of the Kolmogorov distance between the depths and the gamma law, against the width of the footprint relative to
/// a beam of 1 mrad.
pub(super) fn widths(widths: &[Width]) -> Figure {
    let mut figure = Figure::new(
        700.0,
        "Distance from the gamma law over the footprint's width, 20 m, 50 stems/m2",
    );
    figure.legend("10 mm stems", BLUE);
    figure.legend("20 mm stems", ORANGE);
    let most = widths.iter().flat_map(|width| width.to_gamma).fold(0.0, f64::max);
    let widest = widths.iter().map(|width| width.mrad * CAST_SHARE).fold(0.0, f64::max);
    let mut panel = Panel::new(
        "",
        Axis::linear("ratio of footprint to beam width", 0.0, widest),
        Axis::linear("Kolmogorov distance", 0.0, 1.05 * most),
    );
    panel.rule(PRINTED_SHARE, "printed", 0, GREY);
    panel.rule(CAST_SHARE, "cast by MAVS", 1, GREY);
    for (row, colour) in [(0, BLUE), (1, ORANGE)] {
        let points: Vec<(f64, f64)> =
            widths.iter().map(|width| (width.mrad * CAST_SHARE, width.to_gamma[row])).collect();
        panel.dots(points.iter().map(|(x, y)| (*x, *y, colour)).collect(), (6.0, 6.0));
        panel.line(points, colour);
    }
    figure.panel_below(360.0, panel);
    figure
}
