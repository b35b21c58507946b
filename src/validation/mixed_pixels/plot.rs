//! Plan views of two scans of rods, with the wall behind them near and far, and a plot of the number of mixed pixels
//! against the distance from the rods to the wall.

use super::bench::{Beam, ROW_M, is_mixed};
use super::{FAR_M, NEAR_M, Row, at};
use crate::plot::{Area, Axis, BLUE, Figure, GREY, ORANGE, PALETTE, Panel};

const WIDTH: f64 = 1000.0;
const SCAN_HEIGHT: f64 = 420.0;
const CURVE_HEIGHT: f64 = 320.0;
/// Half-width of the drawn area, metres.
const ACROSS_M: f64 = 1.4;

/// Draws scans of `beam`, and counts of all beams.
pub(super) fn overview(rows: &[Row], beam: Beam) -> Figure {
    let curves = [Beam::Cast, Beam::Printed, Beam::Wide, Beam::Today];
    let mut figure = Figure::new(
        WIDTH,
        format!("Nine rods 0.80 m before an LMS 291, and a wall behind them: {}", beam.name()),
    );
    figure.legend("on rods and wall", BLUE);
    figure.legend("mixed pixels", ORANGE);
    for (place, offset_m) in [NEAR_M, FAR_M].into_iter().enumerate() {
        let Some(row) = at(rows, offset_m) else { continue };
        let (left, width) = (place as f64 * WIDTH / 2.0, WIDTH / 2.0);
        figure.panel(Area { left, top: 0.0, width, height: SCAN_HEIGHT }, from_above(row, beam));
    }
    let most = rows.iter().flat_map(|row| curves.map(|beam| row.count(beam))).fold(1.0, f64::max);
    let mut panel = Panel::new(
        format!(
            "Mixed pixels of a scan: {}",
            [
                "blue as MAVS casts it",
                "orange printed spot",
                "green 20 mm at the window",
                "red today's default"
            ]
            .join(", ")
        ),
        Axis::linear("from the rods to the wall, m", 0.0, FAR_M),
        Axis::linear("points", 0.0, 1.05 * most),
    );
    panel.rule(1.6, "cutoff", 0, GREY);
    for (beam, colour) in curves.into_iter().zip(PALETTE) {
        panel.line(rows.iter().map(|row| (row.offset_m, row.count(beam))), colour);
    }
    figure.panel_below(CURVE_HEIGHT, panel);
    figure
}

fn from_above(row: &Row, beam: Beam) -> Panel {
    let mut panel = Panel::new(
        format!("Wall {:.1} m behind the rods", row.offset_m),
        Axis::linear("left, m", ACROSS_M, -ACROSS_M),
        Axis::linear("forward, m", 0.0, ROW_M + row.offset_m + 0.1),
    );
    let points = row.scans[beam as usize].first().into_iter().flatten();
    let dots = points.map(|point| {
        let colour = if is_mixed(*point, row.offset_m) { ORANGE } else { BLUE };
        (point.y, point.x, colour)
    });
    panel.dots(dots.collect(), (4.0, 4.0));
    panel
}
