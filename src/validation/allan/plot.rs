//! The plot of `menura validate allan`: a panel a sensor, both axes logarithmic; the line is what
//! was asked for, the marks are what was found, the bars one standard error.

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::text::Alignment;
use image::RgbImage;

use super::Compared;
use crate::plot::canvas::{Canvas, LARGE, MEDIUM, SMALL};

const WIDTH: u32 = 900;
const PANEL_HEIGHT: u32 = 420;
const HEAD: i32 = 40;
const LEFT: i32 = 90;
const RIGHT: i32 = 30;
const TOP: i32 = 40;
const BOTTOM: i32 = 50;
const INK: Rgb888 = Rgb888::new(40, 40, 45);
const GRID: Rgb888 = Rgb888::new(220, 222, 226);
const ASKED: Rgb888 = Rgb888::new(40, 100, 200);
const FOUND: Rgb888 = Rgb888::new(210, 60, 40);

/// A panel's place and scales.
struct Panel {
    top: i32,
    decades_x: [i32; 2],
    decades_y: [i32; 2],
}

impl Panel {
    fn x(&self, tau_s: f64) -> i32 {
        let [low, high] = self.decades_x.map(f64::from);
        let share = (libm::log10(tau_s) - low) / (high - low);
        LEFT + (share * f64::from(WIDTH as i32 - LEFT - RIGHT)).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        let [low, high] = self.decades_y.map(f64::from);
        let share = (libm::log10(value.max(1e-300)) - low) / (high - low);
        let height = PANEL_HEIGHT as i32 - TOP - BOTTOM;
        self.top + TOP + height - (share * f64::from(height)).round() as i32
    }
}

/// Draws all sensors, one below the other.
pub fn draw(title: &str, compared: &[Compared]) -> RgbImage {
    let height = HEAD as u32 + PANEL_HEIGHT * compared.len() as u32;
    let mut canvas = Canvas::new(WIDTH, height, Rgb888::WHITE);
    let text = format!("Allan deviation of {title}");
    canvas.text(&text, (LEFT, HEAD / 2), LARGE, INK, Alignment::Left);
    for (place, sensor) in compared.iter().enumerate() {
        panel(&mut canvas, HEAD + place as i32 * PANEL_HEIGHT as i32, sensor);
    }
    canvas.0
}

fn decades(values: impl Iterator<Item = f64> + Clone) -> [i32; 2] {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(0.0, f64::max);
    let low = libm::floor(libm::log10(low.max(1e-300))) as i32;
    [low, (libm::ceil(libm::log10(high.max(1e-300))) as i32).max(low + 1)]
}

fn panel(canvas: &mut Canvas, top: i32, sensor: &Compared) {
    let values =
        sensor.rows.iter().flat_map(|r| [r.asked / sensor.scale, r.point.deviation / sensor.scale]);
    let panel = Panel {
        top,
        decades_x: decades(sensor.rows.iter().map(|r| r.point.tau_s)),
        decades_y: decades(values),
    };
    let label = format!("{}, {}", sensor.name, sensor.unit);
    canvas.text(&label, (LEFT, top + TOP / 2), MEDIUM, INK, Alignment::Left);
    let legend = "line: asked for   squares: found, with one standard error";
    canvas.text(legend, (WIDTH as i32 - RIGHT, top + TOP / 2), SMALL, INK, Alignment::Right);
    let [x0, x1] = panel.decades_x.map(|d| panel.x(libm::pow(10.0, d.into())));
    let [y0, y1] = panel.decades_y.map(|d| panel.y(libm::pow(10.0, d.into())));
    for decade in panel.decades_x[0]..=panel.decades_x[1] {
        let x = panel.x(libm::pow(10.0, decade.into()));
        canvas.line((x, y0), (x, y1), GRID);
        canvas.text(&format!("1e{decade}"), (x, y0 + 14), SMALL, INK, Alignment::Center);
    }
    for decade in panel.decades_y[0]..=panel.decades_y[1] {
        let y = panel.y(libm::pow(10.0, decade.into()));
        canvas.line((x0, y), (x1, y), GRID);
        canvas.text(&format!("1e{decade}"), (x0 - 6, y), SMALL, INK, Alignment::Right);
    }
    canvas.text("averaging time, s", ((x0 + x1) / 2, y0 + 32), SMALL, INK, Alignment::Center);
    for pair in sensor.rows.windows(2) {
        let at = |i: usize| (panel.x(pair[i].point.tau_s), panel.y(pair[i].asked / sensor.scale));
        canvas.line(at(0), at(1), ASKED);
    }
    for row in &sensor.rows {
        let (x, value) = (panel.x(row.point.tau_s), row.point.deviation / sensor.scale);
        let low = value * (1.0 - row.point.relative_error).max(0.01);
        let high = value * (1.0 + row.point.relative_error);
        canvas.line((x, panel.y(low)), (x, panel.y(high)), FOUND);
        canvas.fill((x - 2, panel.y(value) - 2), (5, 5), FOUND);
    }
}
