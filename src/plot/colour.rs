//! Colours that stand out on white.

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Colour(pub [u8; 3]);

pub(crate) const WHITE: Colour = Colour([255, 255, 255]);
/// Titles and axes.
pub(crate) const INK: Colour = Colour([40, 44, 52]);
/// Numbers of axes.
pub(crate) const LABEL: Colour = Colour([90, 96, 106]);
/// Lines of the grid.
pub(crate) const GRID: Colour = Colour([226, 229, 233]);

/// First of two series; with [`ORANGE`] told apart by people who see few colours, and by printers.
pub(crate) const BLUE: Colour = Colour([31, 111, 180]);
/// Second of two series.
pub(crate) const ORANGE: Colour = Colour([217, 115, 13]);
/// What others are compared with.
pub(crate) const GREY: Colour = Colour([150, 153, 160]);
/// Series of which there may be many.
pub(crate) const PALETTE: [Colour; 8] = [
    BLUE,
    ORANGE,
    Colour([34, 139, 87]),
    Colour([200, 50, 60]),
    Colour([130, 90, 180]),
    Colour([125, 90, 50]),
    Colour([20, 150, 160]),
    Colour([205, 90, 160]),
];

/// A scale of colours, evenly spaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColourScale(&'static [[u8; 3]]);

/// Near is warm, far is cold.
pub(crate) const RANGE: ColourScale = ColourScale(&[
    [200, 30, 30],
    [235, 110, 20],
    [220, 170, 0],
    [110, 170, 40],
    [20, 150, 120],
    [30, 120, 200],
    [70, 70, 190],
    [90, 40, 130],
]);
/// Weak is pale, strong is dark.
pub(crate) const INTENSITY: ColourScale = ColourScale(&[
    [246, 200, 140],
    [240, 150, 70],
    [220, 80, 60],
    [165, 35, 95],
    [95, 20, 105],
    [35, 10, 60],
]);
/// Low is violet, high is ochre.
pub(crate) const HEIGHT: ColourScale = ColourScale(&[
    [85, 60, 150],
    [55, 95, 165],
    [30, 135, 150],
    [50, 155, 90],
    [130, 165, 30],
    [215, 150, 0],
]);

impl ColourScale {
    /// Colours that are told apart: few, so that pictures of many points stay small.
    const STEPS: f64 = 48.0;

    /// The colour at `share`, 0..=1; clamped.
    pub(crate) fn at(self, share: f64) -> Colour {
        let last = self.0.len() - 1;
        let share = (share.clamp(0.0, 1.0) * Self::STEPS).round() / Self::STEPS;
        let place = share * last as f64;
        let index = (place as usize).min(last - 1);
        let (from, to) = (self.0[index], self.0[index + 1]);
        let share = place - index as f64;
        let mix = |channel: usize| {
            let (from, to) = (f64::from(from[channel]), f64::from(to[channel]));
            (from + (to - from) * share).round() as u8
        };
        Colour([mix(0), mix(1), mix(2)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_runs_from_end_to_end() {
        let scale = ColourScale(&[[0, 0, 0], [100, 200, 50]]);
        assert_eq!(scale.at(-1.0), Colour([0, 0, 0]));
        assert_eq!(scale.at(0.5), Colour([50, 100, 25]));
        assert_eq!(scale.at(7.0), Colour([100, 200, 50]));
        assert_eq!(scale.at(f64::NAN), Colour([0, 0, 0]));
    }
}
