//! Both streams' distributions, one above the other.

use crate::analysis::spread::Spread;
use crate::analysis::twin::Figures;
use crate::plot::{Axis, BLUE, Figure, ORANGE, Panel};

const BINS: usize = 80;

/// Draws five quantities of both streams.
pub fn draw(title: &str, real: &Figures, ours: &Figures) -> Figure {
    let panels = [
        (
            "Time between packets by the device's clock",
            "microseconds",
            [&real.device_spacing_us, &ours.device_spacing_us],
        ),
        (
            "Time between packets as they arrive",
            "microseconds",
            [&real.arrival_spacing_us, &ours.arrival_spacing_us],
        ),
        (
            "Azimuth from block to block",
            "0.01 degrees",
            [&real.azimuth_step_centideg, &ours.azimuth_step_centideg],
        ),
        (
            "Intensity of points without a return",
            "intensity, 0 to 255",
            [&real.intensity[1], &ours.intensity[1]],
        ),
        ("Intensity of returns", "intensity, 0 to 255", [&real.intensity[0], &ours.intensity[0]]),
    ];
    let mut figure = Figure::new(1000.0, title);
    figure.legend("real", BLUE);
    figure.legend("menura", ORANGE);
    for (name, unit, pair) in panels {
        figure.panel_below(210.0, panel(name, unit, pair));
    }
    figure
}

fn panel(name: &str, unit: &str, pair: [&Spread; 2]) -> Panel {
    let low = pair.map(|spread| spread.quantile(0.001)).into_iter().fold(f64::MAX, f64::min);
    let high = pair.map(|spread| spread.quantile(0.999)).into_iter().fold(f64::MIN, f64::max);
    let (low, high) = (low.floor() - 0.5, high.ceil() + 0.5);
    // Nothing seen: both are NaN.
    if !high.is_finite() || high <= low {
        let (x, y) = (Axis::linear(unit, 0.0, 1.0), Axis::linear("share, %", 0.0, 1.0));
        return Panel::new(format!("{name}: nothing seen"), x, y);
    }
    let percent =
        pair.map(|spread| spread.histogram(low, high, BINS).into_iter().map(|s| s * 100.0));
    let percent: Vec<Vec<f64>> = percent.into_iter().map(Iterator::collect).collect();
    let most = percent.iter().flatten().copied().fold(0.0, f64::max).max(1e-6);
    let mut panel =
        Panel::new(name, Axis::linear(unit, low, high), Axis::linear("share, %", 0.0, most));
    let width = (high - low) / BINS as f64;
    for (series, (percent, colour)) in percent.iter().zip([BLUE, ORANGE]).enumerate() {
        // Side by side within a bin.
        let from = |bin: usize| low + (bin as f64 + series as f64 * 0.5) * width;
        let bars = percent.iter().enumerate();
        let bars = bars.map(|(bin, share)| (from(bin), from(bin) + width / 2.0, *share));
        panel.bars(bars.collect(), colour);
    }
    panel
}
