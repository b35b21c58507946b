//! A scan from above.

use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::text::Alignment;
use image::RgbImage;

use super::super::canvas::{Canvas, LARGE, MEDIUM, SMALL};
use super::{ranges_m, values_of};
use crate::wire::sick_lms2xx::Variant;
use crate::wire::sick_lms2xx::data::MeasuringMode;
use crate::wire::sick_lms2xx::reply::Body;

const SIDE: i32 = 900;
/// Left and upper edge of the panel.
const PANEL_AT: (i32, i32) = (60, 80);
const BACKGROUND: Rgb888 = Rgb888::new(16, 18, 22);
const PANEL: Rgb888 = Rgb888::new(24, 27, 33);
const GRID: Rgb888 = Rgb888::new(44, 49, 58);
const LABEL: Rgb888 = Rgb888::new(150, 158, 170);
const RAY: Rgb888 = Rgb888::new(36, 60, 70);
const POINT: Rgb888 = Rgb888::new(255, 196, 84);

/// Forward and left of the scanner, metres.
pub(super) type Point = [f64; 2];

/// Where the echoes of a scan are. Without `variant` angle and resolution are those that have so
/// many values.
pub(super) fn points(body: &Body, mode: MeasuringMode, variant: Option<Variant>) -> Vec<Point> {
    let Some(values) = values_of(body) else { return Vec::new() };
    let guessed = match (body, values.values.len()) {
        (Body::Reflectivity { .. }, _) => (90.0, 0.5),
        (_, 361) => (180.0, 0.5),
        (_, 101) => (100.0, 1.0),
        (_, 201) => (100.0, 0.5),
        (_, 401) => (100.0, 0.25),
        _ => (180.0, 1.0),
    };
    let (angle_deg, step_deg) = match variant {
        Some(variant) if !values.is_partial => {
            (f64::from(variant.angle_deg), f64::from(variant.resolution_centideg) / 100.0)
        }
        _ => guessed,
    };
    let first = match body {
        Body::Subrange { part, .. } | Body::MeanSubrange { part, .. } => part.first,
        _ => 1,
    };
    let right_deg = 90.0 - angle_deg / 2.0 + f64::from(values.quarters) * 0.25;
    let point = |(index, range_m): (usize, Option<f64>)| {
        let place = index as f64 + f64::from(first) - 1.0;
        let (sin, cos) = libm::sincos((right_deg + place * step_deg - 90.0).to_radians());
        range_m.map(|range_m| [range_m * cos, range_m * sin])
    };
    ranges_m(values, mode).enumerate().filter_map(point).collect()
}

/// The picture; `name` is the recording's.
pub(super) fn draw(name: &str, number: u64, body: &Body, points: &[Point]) -> RgbImage {
    let (left, upper) = PANEL_AT;
    let mut canvas = Canvas::new((left * 2 + SIDE) as u32, (upper + SIDE + 50) as u32, BACKGROUND);
    let file = name.rsplit('/').next().unwrap_or(name);
    let title = format!("{file}   SICK LMS 2xx   scan {number}");
    canvas.text(&title, (left, 28), LARGE, Rgb888::WHITE, Alignment::Left);
    let count = values_of(body).map_or(0, |values| values.values.len());
    let subtitle = format!("{} echoes of {count} values", points.len());
    canvas.text(&subtitle, (left + SIDE, 28), MEDIUM, LABEL, Alignment::Right);
    let caption = "from above, metres; x forward is up, y left is left";
    canvas.text(caption, (left, upper - 14), MEDIUM, LABEL, Alignment::Left);
    canvas.fill((left, upper), (SIDE as u32, SIDE as u32), PANEL);

    let reach_m = reach_m(points);
    let centre = (left + SIDE / 2, upper + SIDE / 2);
    let px = |metres: f64| (metres / reach_m * f64::from(SIDE / 2)).round() as i32;
    for index in -5..=5 {
        let metres = reach_m / 5.0 * f64::from(index);
        let (x, y) = (centre.0 - px(metres), centre.1 - px(metres));
        canvas.line((x, upper), (x, upper + SIDE - 1), GRID);
        canvas.line((left, y), (left + SIDE - 1, y), GRID);
        let label = format!("{}", (metres * 10.0).round() / 10.0);
        canvas.text(&label, (x, upper + SIDE + 12), SMALL, LABEL, Alignment::Center);
        canvas.text(&label, (left - 8, y), SMALL, LABEL, Alignment::Right);
    }
    let place = |point: &Point| (centre.0 - px(point[1]), centre.1 - px(point[0]));
    let shown = || points.iter().filter(|p| p[0].abs() < reach_m && p[1].abs() < reach_m);
    for point in shown() {
        canvas.line(centre, place(point), RAY);
    }
    for point in shown() {
        let (x, y) = place(point);
        canvas.fill((x - 1, y - 1), (3, 3), POINT);
    }
    canvas.0
}

/// Half the side of a square that holds nearly all points, metres: a round number whose fifth is
/// round too.
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
    use crate::wire::sick_lms2xx::data::{Unit, Values};

    #[test]
    fn values_run_from_right_to_left() {
        let values = Values {
            quarters: 0,
            is_partial: false,
            unit: Unit::Centimetres,
            values: (0..181).map(|index| if index % 180 == 0 { 100 } else { 200 }).collect(),
        };
        let scan = Body::Scan { values, indices: None };
        let points = points(&scan, MeasuringMode::FACTORY, None);
        let near =
            |point: Point, x: f64, y: f64| (point[0] - x).abs() + (point[1] - y).abs() < 1e-9;
        assert!(near(points[0], 0.0, -1.0), "{:?}", points[0]);
        assert!(near(points[90], 2.0, 0.0), "{:?}", points[90]);
        assert!(near(points[180], 0.0, 1.0), "{:?}", points[180]);
        let picture = draw("scan", 1, &scan, &points);
        let centre = (PANEL_AT.0 + SIDE / 2, PANEL_AT.1 + SIDE / 2);
        // Two metres ahead, in a square of 2.5 m either way.
        let ahead = picture.get_pixel(centre.0 as u32, (centre.1 - SIDE / 2 * 4 / 5) as u32);
        assert_eq!(ahead.0, [255, 196, 84]);
    }
}
