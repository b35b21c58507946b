//! A scan from above.

use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::text::Alignment;
use image::RgbImage;

use crate::devices::decoder::Scan;
use crate::plot::canvas::{Canvas, LARGE, MEDIUM, SMALL};

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
type Point = [f64; 2];

/// The picture; `name` is the recording's, `unit` the scanner's.
pub(super) fn draw(name: &str, unit: &str, number: u64, scan: &Scan) -> RgbImage {
    let points: Vec<Point> = scan.points().collect();
    let points = &points[..];
    let (left, upper) = PANEL_AT;
    let mut canvas = Canvas::new((left * 2 + SIDE) as u32, (upper + SIDE + 50) as u32, BACKGROUND);
    let file = name.rsplit('/').next().unwrap_or(name);
    let title = format!("{file}   {unit}   scan {number}");
    canvas.text(&title, (left, 28), LARGE, Rgb888::WHITE, Alignment::Left);
    let count = scan.ranges_m.len();
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

    #[test]
    fn an_echo_is_drawn_where_it_is() {
        let mut ranges_m = vec![Some(2.0); 181];
        (ranges_m[0], ranges_m[180]) = (Some(1.0), None);
        let scan = Scan { ranges_m, first_deg: -90.0, step_deg: 1.0 };
        let picture = draw("scan", "a scanner", 1, &scan);
        let centre = (PANEL_AT.0 + SIDE / 2, PANEL_AT.1 + SIDE / 2);
        // Two metres ahead, in a square of 2.5 m either way.
        let ahead = picture.get_pixel(centre.0 as u32, (centre.1 - SIDE / 2 * 4 / 5) as u32);
        assert_eq!(ahead.0, [255, 196, 84]);
    }
}
