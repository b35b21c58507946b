//! Colours with good contrast on white.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Colour(pub [u8; 3]);

pub const WHITE: Colour = Colour([255, 255, 255]);
/// Colour of titles and axes.
pub const INK: Colour = Colour([40, 44, 52]);
/// Colour of tick labels.
pub const LABEL: Colour = Colour([90, 96, 106]);
/// Colour of grid lines.
pub const GRID: Colour = Colour([226, 229, 233]);

/// Colour of the first of two series. Colour-blind people, and readers of grey prints, can distinguish it from
/// [`ORANGE`].
pub const BLUE: Colour = Colour([31, 111, 180]);
/// Colour of the second of two series.
pub const ORANGE: Colour = Colour([217, 115, 13]);
/// Colour of a reference series.
pub const GREY: Colour = Colour([150, 153, 160]);
/// Colours of many series.
pub const PALETTE: [Colour; 8] = [
    BLUE,
    ORANGE,
    Colour([34, 139, 87]),
    Colour([200, 50, 60]),
    Colour([130, 90, 180]),
    Colour([125, 90, 50]),
    Colour([20, 150, 160]),
    Colour([205, 90, 160]),
];

/// A colour scale, with its colours in equal steps.
#[derive(Clone, Copy, Debug)]
pub struct ColourScale(&'static [[u8; 3]]);

/// Colour scale of ranges: near is red, far is blue, as in lidar viewers. It is Turbo (Mikhailov 2019) from
/// red to blue, without the dark ends.
pub const RANGE: ColourScale = ColourScale(&[
    [208, 47, 5],
    [239, 88, 17],
    [254, 144, 41],
    [247, 193, 58],
    [215, 229, 53],
    [167, 252, 58],
    [101, 253, 105],
    [37, 236, 167],
    [28, 205, 216],
    [59, 160, 253],
    [71, 113, 233],
    [63, 62, 156],
]);
/// Colour scale of intensities, from dark (weak) to bright (strong): Plasma (Smith and van der Walt 2015), without its
/// brightest end.
pub const INTENSITY: ColourScale = ColourScale(&[
    [13, 8, 135],
    [72, 3, 159],
    [117, 1, 168],
    [160, 26, 156],
    [193, 59, 130],
    [220, 93, 103],
    [240, 128, 78],
    [252, 169, 52],
    [251, 215, 36],
]);
/// Colour scale of heights, from violet (low) to yellow (high): Viridis (Smith and van der Walt 2015), without its
/// brightest end.
pub const HEIGHT: ColourScale = ColourScale(&[
    [68, 1, 84],
    [71, 42, 122],
    [61, 78, 138],
    [46, 110, 142],
    [35, 138, 141],
    [34, 167, 133],
    [74, 193, 109],
    [142, 214, 69],
    [223, 227, 24],
]);

/// Colour scale of differences: negative is orange, positive is blue, zero is nearly white.
pub const DIFFERENCE: ColourScale = ColourScale(&[
    [166, 72, 4],
    [217, 115, 13],
    [244, 182, 110],
    [238, 238, 238],
    [128, 180, 222],
    [31, 111, 180],
    [12, 66, 118],
]);

impl ColourScale {
    /// Number of equal steps into which a whole scale is divided: small, so that files with many points stay small.
    const STEPS: f64 = 48.0;

    /// Colour at `share`, which is clamped to 0..=1.
    pub fn at(self, share: f64) -> Colour {
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

    fn along(scale: ColourScale) -> Vec<[f64; 3]> {
        (0..=48).map(|n| scale.at(f64::from(n) / 48.0).0.map(f64::from)).collect()
    }

    #[test]
    fn near_is_warm_far_is_cold_and_the_hue_goes_one_way() {
        let colours = along(RANGE);
        let (near, far) = (colours[0], colours[48]);
        assert!(near[0] > 3.0 * near[1] && near[0] > 3.0 * near[2], "{near:?}");
        assert!(far[2] > 2.0 * far[0] && far[2] > 2.0 * far[1], "{far:?}");
        // The order is red, yellow, green, blue: red minus blue falls from end to end.
        let warmth = |[red, _, blue]: [f64; 3]| red - blue;
        let quarters: Vec<f64> = colours.iter().step_by(12).map(|c| warmth(*c)).collect();
        assert!(quarters[0] > 100.0 && quarters[4] < -50.0, "{quarters:?}");
        assert!(quarters[1] > quarters[2] && quarters[2] > quarters[3], "{quarters:?}");
    }

    #[test]
    fn strong_and_high_are_brighter_all_along() {
        let brightness = |[red, green, blue]: [f64; 3]| 0.299 * red + 0.587 * green + 0.114 * blue;
        for scale in [INTENSITY, HEIGHT] {
            let along: Vec<f64> = along(scale).into_iter().map(brightness).collect();
            assert!(along.windows(2).all(|pair| pair[1] > pair[0] - 0.5), "{along:?}");
            assert!(along[48] > along[0] + 100.0, "{along:?}");
        }
    }

    #[test]
    fn a_scale_runs_from_end_to_end() {
        let scale = ColourScale(&[[0, 0, 0], [100, 200, 50]]);
        assert_eq!(scale.at(-1.0), Colour([0, 0, 0]));
        assert_eq!(scale.at(0.5), Colour([50, 100, 25]));
        assert_eq!(scale.at(7.0), Colour([100, 200, 50]));
        assert_eq!(scale.at(f64::NAN), Colour([0, 0, 0]));
    }
}
