//! Plots a scan from above.

use crate::devices::decoder::Scan;
use crate::plot::{Area, Axis, BLUE, Colour, Figure, ORANGE, Panel};

const SIDE: f64 = 900.0;
/// Colour of the lines from the scanner to its points.
const RAY: Colour = Colour([214, 228, 240]);

/// A point in the scanner's axes: x forward, y left, metres.
type Point = [f64; 2];

/// Draws the figure; `name` is the path of the recording, `unit` the name of the scanner.
pub(super) fn draw(name: &str, unit: &str, number: u64, scan: &Scan) -> Figure {
    let points: Vec<Point> = scan.points().collect();
    let file = name.rsplit('/').next().unwrap_or(name);
    let mut figure = Figure::new(SIDE, format!("{file}: scan {number} of {unit}"));
    let count = scan.ranges_m.len();
    figure.note(format!("{} echoes of {count} values, seen from above", points.len()));
    figure.legend("echo", BLUE);
    figure.legend("scanner", ORANGE);
    let reach = reach_m(&points);
    let mut panel = Panel::new(
        "",
        Axis::linear("to the left, m", reach, -reach),
        Axis::linear("ahead, m", -reach, reach),
    );
    let shown = || points.iter().filter(|p| p[0].abs() < reach && p[1].abs() < reach);
    for point in shown() {
        panel.line([(0.0, 0.0), (point[1], point[0])], RAY);
    }
    panel.dots(shown().map(|point| (point[1], point[0], BLUE)).collect(), (3.0, 3.0));
    panel.dots(vec![(0.0, 0.0, ORANGE)], (9.0, 9.0));
    // Tick labels need more room below and on the left than above and on the right.
    figure.panel(Area { left: 0.0, top: 0.0, width: SIDE, height: SIDE - 8.0 }, panel);
    figure
}

/// Half-width of the drawn square, metres: a round number up to 100, chosen so that the square contains 98 % of the
/// points.
fn reach_m(points: &[Point]) -> f64 {
    const ROUND_M: [f64; 10] = [1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0];
    let mut far: Vec<f64> = points.iter().map(|p| p[0].abs().max(p[1].abs())).collect();
    far.sort_by(f64::total_cmp);
    let nearly_all = far.get(far.len().saturating_sub(1) * 98 / 100).copied().unwrap_or(0.0);
    ROUND_M.into_iter().find(|reach| *reach > nearly_all).unwrap_or(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_drawn_where_it_is() {
        let mut ranges_m = vec![Some(2.0); 181];
        (ranges_m[0], ranges_m[180]) = (Some(1.0), None);
        let scan = Scan { ranges_m, first_deg: -90.0, step_deg: 1.0 };
        let figure = draw("scan", "a scanner", 1, &scan);
        let dots = figure.dots_of(BLUE);
        assert_eq!(dots.len(), 180);
        let scanner = figure.dots_of(ORANGE)[0];
        // Two metres ahead and one to the right, in a square with a half-width of 2.5 m.
        let px_per_m = (scanner.1 - dots[90].1) / 2.0;
        assert!((dots[90].0 - scanner.0).abs() < 1e-6 && px_per_m > 100.0);
        assert!((dots[0].0 - scanner.0 - px_per_m).abs() < 0.01 * px_per_m, "{:?}", dots[0]);
        assert!((dots[0].1 - scanner.1).abs() < 1e-6);
    }
}
