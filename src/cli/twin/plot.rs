//! Both streams' distributions, one above the other.

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::text::Alignment;
use image::RgbImage;

use crate::analysis::twin::figures::{Figures, Spread};
use crate::plot::canvas::{Canvas, LARGE, MEDIUM, SMALL};

const WIDTH: u32 = 1000;
const PANEL_HEIGHT: i32 = 170;
const TOP: i32 = 70;
const LEFT: i32 = 60;
const PLOT_WIDTH: i32 = 880;
const PLOT_HEIGHT: i32 = 100;
const PAPER: Rgb888 = Rgb888::new(250, 250, 247);
const INK: Rgb888 = Rgb888::new(40, 40, 45);
const REAL: Rgb888 = Rgb888::new(70, 110, 160);
const OURS: Rgb888 = Rgb888::new(200, 110, 40);
const BINS: usize = 80;

/// Draws five quantities of both streams.
pub fn draw(title: &str, real: &Figures, ours: &Figures) -> RgbImage {
    let panels = [
        ("device spacing, us", [&real.device_spacing_us, &ours.device_spacing_us]),
        ("arrival spacing, us", [&real.arrival_spacing_us, &ours.arrival_spacing_us]),
        ("azimuth step, 0.01 deg", [&real.azimuth_step_centideg, &ours.azimuth_step_centideg]),
        ("intensity of points without return", [&real.intensity[1], &ours.intensity[1]]),
        ("intensity of returns", [&real.intensity[0], &ours.intensity[0]]),
    ];
    let height = TOP + PANEL_HEIGHT * panels.len() as i32;
    let mut canvas = Canvas::new(WIDTH, height as u32, PAPER);
    canvas.text(title, (LEFT, 22), LARGE, INK, Alignment::Left);
    canvas.text("real", (LEFT, 48), MEDIUM, REAL, Alignment::Left);
    canvas.text("menura", (LEFT + 60, 48), MEDIUM, OURS, Alignment::Left);
    for (index, (name, pair)) in panels.into_iter().enumerate() {
        panel(&mut canvas, TOP + PANEL_HEIGHT * index as i32, name, pair);
    }
    canvas.0
}

fn panel(canvas: &mut Canvas, top: i32, name: &str, pair: [&Spread; 2]) {
    canvas.text(name, (LEFT, top + 10), MEDIUM, INK, Alignment::Left);
    let low = pair.map(|spread| spread.quantile(0.001)).into_iter().fold(f64::MAX, f64::min);
    let high = pair.map(|spread| spread.quantile(0.999)).into_iter().fold(f64::MIN, f64::max);
    let (low, high) = (low.floor() - 0.5, high.ceil() + 0.5);
    // Nothing seen: both are NaN.
    if !high.is_finite() || high <= low {
        return;
    }
    let shares = pair.map(|spread| spread.histogram(low, high, BINS));
    let most = shares.iter().flatten().copied().fold(0.0, f64::max).max(1e-9);
    let base = top + 25 + PLOT_HEIGHT;
    let bin_width = PLOT_WIDTH / BINS as i32;
    for (which, shares) in shares.iter().enumerate() {
        for (bin, share) in shares.iter().enumerate() {
            let tall = (share / most * f64::from(PLOT_HEIGHT)).round() as i32;
            let x = LEFT + bin as i32 * bin_width + which as i32 * (bin_width / 2);
            let colour = [REAL, OURS][which];
            canvas.fill((x, base - tall), (bin_width as u32 / 2, tall.max(0) as u32), colour);
        }
    }
    canvas.line((LEFT, base), (LEFT + PLOT_WIDTH, base), INK);
    for step in 0..=4 {
        let value = low + (high - low) * f64::from(step) / 4.0;
        let x = LEFT + PLOT_WIDTH * step / 4;
        canvas.line((x, base), (x, base + 4), INK);
        canvas.text(&format!("{value:.1}"), (x, base + 12), SMALL, INK, Alignment::Center);
    }
}
