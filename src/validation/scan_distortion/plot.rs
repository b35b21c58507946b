//! The figure: one scan of a moving lidar from above with the true cylinders, and the measured lengths of the
//! cylinders.

use std::f64::consts::TAU;

use super::measure::{RADIUS_M, axis_of};
use super::{MOUNTS, Pass, SPACING_M, expected};
use crate::plot::{Area, Axis, BLUE, Colour, Figure, GREY, ORANGE, Panel};

const WIDTH: f64 = 1000.0;
const SCAN_HEIGHT: f64 = 420.0;
const RATIO: (f64, f64) = (500.0, 330.0);
const REACH_M: f64 = 7.0;

/// Draws all drives.
pub(super) fn draw(moving: &[Pass]) -> Figure {
    let mut figure = Figure::new(WIDTH, "An HDL-32E at 20 Hz drives past cylinders at 20 m/s");
    figure.legend("points of one scan, as a driver reports them", BLUE);
    figure.legend("the cylinders in the middle of the scan", GREY);
    figure.legend("length on the left", ORANGE);
    figure.legend("length on the right", BLUE);
    let Some(first) = moving.first() else { return figure };
    figure.panel_below(SCAN_HEIGHT, scan(first));
    for (row, pass) in moving.iter().enumerate() {
        for (mount, (name, _)) in MOUNTS.iter().enumerate() {
            let area = Area {
                left: mount as f64 * RATIO.0,
                top: SCAN_HEIGHT + row as f64 * RATIO.1,
                width: RATIO.0,
                height: RATIO.1,
            };
            figure.panel(area, ratios(pass, mount, name));
        }
    }
    figure
}

fn scan(pass: &Pass) -> Panel {
    let mut panel = Panel::new(
        "One scan of the lidar that turns clockwise, its axis east",
        Axis::linear("forward, m", -REACH_M, REACH_M),
        Axis::linear("left, m", -0.4 * REACH_M, 0.4 * REACH_M),
    );
    for sign in [-1.0, 1.0] {
        let first = ((pass.picture_at_m - REACH_M) / SPACING_M).ceil() as i64;
        let last = ((pass.picture_at_m + REACH_M) / SPACING_M).floor() as i64;
        for number in first..=last {
            let x = number as f64 * SPACING_M - pass.picture_at_m;
            let y = sign * axis_of(pass.edge_m);
            let circle = (0..=64).map(|k| {
                let (sin, cos) = libm::sincos(f64::from(k) / 64.0 * TAU);
                (x + RADIUS_M * cos, y + RADIUS_M * sin)
            });
            panel.line(circle, GREY);
        }
    }
    panel.dots(pass.picture.iter().map(|p| (p.x, p.y, BLUE)).collect(), (2.5, 2.5));
    panel
}

fn ratios(pass: &Pass, mount: usize, name: &str) -> Panel {
    let most = pass.shown.iter().flatten().count().div_ceil(4).max(2) as f64 + 1.0;
    let mut panel = Panel::new(
        format!("{name}, edges at {} m", pass.edge_m),
        Axis::linear("number of the cylinder along the path", 0.0, most),
        Axis::linear("length over true length", 0.88, 1.14),
    );
    let sides: [(bool, Colour); 2] = [(true, ORANGE), (false, BLUE)];
    for (is_left, colour) in sides {
        let expected = expected(mount, is_left, pass.edge_m);
        panel.line([(0.0, expected), (most, expected)], colour);
        let own = pass.shown[mount].iter().filter(|shown| shown.is_left == is_left);
        let dots = own.enumerate().map(|(k, shown)| (k as f64 + 1.0, shown.ratio, colour));
        panel.dots(dots.collect(), (6.0, 6.0));
    }
    panel
}
