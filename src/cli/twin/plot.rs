//! Plot that compares a captured stream with an emulated one: distributions of five quantities, one above the other.

use crate::analysis::spread::Spread;
use crate::analysis::twin::Figures;
use crate::plot::{Axis, BLUE, Figure, ORANGE, Panel};

const BINS: usize = 80;
/// Largest number of successive whole numbers for which bins are narrower than 1. Each number then appears as a narrow
/// bar, several bins apart from the next.
const FEW: usize = 10;

/// Draws the distributions of five quantities of the real and the emulated stream; `title` names profile and capture.
pub fn draw(title: &str, real: &Figures, ours: &Figures) -> Figure {
    let panels = [
        (
            "Time between packets by the device's clock",
            Quantity::TimeUs { is_whole: true },
            [&real.device_spacing_us, &ours.device_spacing_us],
        ),
        (
            "Time between packets as they arrive",
            Quantity::TimeUs { is_whole: false },
            [&real.arrival_spacing_us, &ours.arrival_spacing_us],
        ),
        (
            "Azimuth from block to block",
            Quantity::Centidegrees,
            [&real.azimuth_step_centideg, &ours.azimuth_step_centideg],
        ),
        (
            "Intensity of points without a return",
            Quantity::Intensity,
            [&real.intensity[1], &ours.intensity[1]],
        ),
        ("Intensity of returns", Quantity::Intensity, [&real.intensity[0], &ours.intensity[0]]),
    ];
    let mut figure = Figure::new(1000.0, title);
    figure.legend("real", BLUE);
    figure.legend("menura", ORANGE);
    for (name, quantity, pair) in panels {
        figure.panel_below(210.0, panel(name, quantity, pair));
    }
    figure
}

/// Quantity of a panel.
#[derive(Clone, Copy)]
enum Quantity {
    TimeUs { is_whole: bool },
    Centidegrees,
    Intensity,
}

impl Quantity {
    /// Label of the axis for values up to `most`, and the divisor that converts the values to the unit in the label.
    fn axis(self, most: f64) -> (&'static str, f64) {
        match self {
            Self::TimeUs { .. } if most >= 1000.0 => ("time, ms", 1000.0),
            Self::TimeUs { .. } => ("time, us", 1.0),
            Self::Centidegrees => ("angle, degrees", 100.0),
            Self::Intensity => ("intensity, 0 to 255", 1.0),
        }
    }

    fn is_whole(self) -> bool {
        !matches!(self, Self::TimeUs { is_whole: false })
    }
}

/// Lower end of the first bin, bin width and number of bins for values from `least` to `most`. For more than [`FEW`]
/// whole numbers, the bin width is a whole number, so that all bins cover equally many numbers.
fn bins(least: f64, most: f64, is_whole: bool) -> (f64, f64, usize) {
    let (low, high) = (least.floor() - 0.5, most.ceil() + 0.5);
    let width = (high - low) / BINS as f64;
    if is_whole && high - low > BINS as f64 {
        return (low, width.ceil(), ((high - low) / width.ceil()).ceil() as usize);
    }
    if is_whole && high - low > FEW as f64 {
        return (low, 1.0, (high - low).round() as usize);
    }
    (low, width, BINS)
}

fn panel(name: &str, quantity: Quantity, pair: [&Spread; 2]) -> Panel {
    let least = pair.map(|spread| spread.quantile(0.001)).into_iter().fold(f64::MAX, f64::min);
    let most = pair.map(|spread| spread.quantile(0.999)).into_iter().fold(f64::MIN, f64::max);
    let (unit, scale) = quantity.axis(most);
    // If neither stream has values, `most` is less than `least`.
    if !least.is_finite() || !most.is_finite() || most < least {
        let (x, y) = (Axis::linear(unit, 0.0, 1.0), Axis::linear("share, %", 0.0, 1.0));
        return Panel::new(format!("{name}: nothing seen"), x, y);
    }
    let (low, width, count) = bins(least, most, quantity.is_whole());
    let high = low + width * count as f64;
    let percent =
        pair.map(|spread| spread.histogram(low, high, count).into_iter().map(|s| s * 100.0));
    let percent: Vec<Vec<f64>> = percent.into_iter().map(Iterator::collect).collect();
    let most = percent.iter().flatten().copied().fold(0.0, f64::max).max(1e-6);
    let x = Axis::linear(unit, low / scale, high / scale);
    let mut panel = Panel::new(name, x, Axis::linear("share, %", 0.0, most));
    for (series, (percent, colour)) in percent.iter().zip([BLUE, ORANGE]).enumerate() {
        // The bars of both streams are side by side within a bin.
        let from = |bin: usize| low + (bin as f64 + series as f64 * 0.5) * width;
        let bars = percent
            .iter()
            .enumerate()
            .map(|(bin, share)| (from(bin) / scale, (from(bin) + width / 2.0) / scale, *share));
        panel.bars(bars.collect(), colour);
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_bins_of_their_own() {
        assert_eq!(bins(0.0, 52.0, true), (-0.5, 1.0, 53));
        // Two whole numbers per bin.
        assert_eq!(bins(0.0, 159.0, true), (-0.5, 2.0, 80));
        assert_eq!(bins(1327.0, 1328.0, true), (1326.5, 2.0 / 80.0, 80));
        assert_eq!(bins(0.0, 39.0, false), (-0.5, 0.5, 80));
    }

    #[test]
    fn units_fit() {
        let time = Quantity::TimeUs { is_whole: true };
        assert_eq!(time.axis(288.0), ("time, us", 1.0));
        assert_eq!(time.axis(1327.1), ("time, ms", 1000.0));
        assert_eq!(Quantity::Centidegrees.axis(40.0), ("angle, degrees", 100.0));
    }
}
