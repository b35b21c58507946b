//! Conversion of ADC counts to images, and test patterns.

use crate::sensors::camera::lens::Mirror;
use crate::wire::gige::gvsp::PixelFormat;

/// Settings for the conversion of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Making {
    pub format: PixelFormat,
    pub width: u32,
    pub height: u32,
    pub gamma: f64,
    pub mirror: Mirror,
}

const FULL: f64 = 4095.0;

impl Making {
    /// Pixel data of the image from 12-bit counts, row by row.
    pub fn image(&self, counts: &[u16]) -> Vec<u8> {
        let table: Vec<u16> = (0..=4095u16)
            .map(|count| match self.gamma {
                1.0 => count,
                gamma => (libm::pow(f64::from(count) / FULL, gamma) * FULL).round() as u16,
            })
            .collect();
        let (width, height) = (self.width as usize, self.height as usize);
        let at = |x: usize, y: usize| {
            let (x, y) = (self.mirror.source(0, x, width), self.mirror.source(1, y, height));
            table[usize::from(counts[y * width + x].min(4095))]
        };
        let places = || (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)));
        let mosaic = || places().map(|(x, y)| at(x, y));
        let colour = |x: usize, y: usize| self.colour(x, y, &at);
        let grey = |x: usize, y: usize| {
            if !self.mirror.is_colour {
                return at(x, y);
            }
            let [r, g, b] = colour(x, y).map(u32::from);
            ((r * 299 + g * 587 + b * 114 + 500) / 1000) as u16
        };
        match self.format {
            PixelFormat::Mono8 => places().map(|(x, y)| (grey(x, y) >> 4) as u8).collect(),
            PixelFormat::Mono12 => places().flat_map(|(x, y)| grey(x, y).to_le_bytes()).collect(),
            PixelFormat::Mono16 => {
                places().flat_map(|(x, y)| (grey(x, y) << 4).to_le_bytes()).collect()
            }
            PixelFormat::BayerRg8 => mosaic().map(|count| (count >> 4) as u8).collect(),
            PixelFormat::BayerRg12p => {
                let all: Vec<u16> = mosaic().collect();
                let pairs = all.chunks(2).flat_map(|pair| {
                    let [a, b] = [pair[0], pair.get(1).copied().unwrap_or(0)];
                    [a as u8, (a >> 8) as u8 | (b << 4) as u8, (b >> 4) as u8]
                });
                pairs.take(self.format.image_len(self.width, self.height)).collect()
            }
            PixelFormat::Rgb8 => {
                places().flat_map(|(x, y)| colour(x, y).map(|count| (count >> 4) as u8)).collect()
            }
        }
    }

    /// Demosaiced red, green and blue at a pixel: the mean of the nearest pixels of each colour.
    fn colour(&self, x: usize, y: usize, at: &impl Fn(usize, usize) -> u16) -> [u16; 3] {
        if !self.mirror.is_colour {
            return [at(x, y); 3];
        }
        let (width, height) = (self.width as usize, self.height as usize);
        let (mut sums, mut counts) = ([0u32; 3], [0u32; 3]);
        let channel_of = |x: usize, y: usize| (x & 1) + (y & 1);
        let own = channel_of(x, y);
        for down in y.saturating_sub(1)..=(y + 1).min(height - 1) {
            for right in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                let channel = channel_of(right, down);
                if channel != own || (right, down) == (x, y) {
                    sums[channel] += u32::from(at(right, down));
                    counts[channel] += 1;
                }
            }
        }
        std::array::from_fn(|channel| (sums[channel] / counts[channel].max(1)) as u16)
    }
}

/// 12-bit counts of a test pattern: `kind` 1 is a ramp, 2 a moving ramp and 3 colour bars; `None` for other kinds. The
/// moving ramp is shifted by the frame's `number`.
pub(super) fn pattern(
    kind: u32,
    width: u32,
    height: u32,
    is_colour: bool,
    number: u64,
) -> Option<Vec<u16>> {
    let shift = match kind {
        1 | 3 => 0,
        2 => number as u32,
        _ => return None,
    };
    let bars: [[u16; 3]; 8] = std::array::from_fn(|bar| {
        let on = |bit: usize| if (7 - bar) & bit != 0 { 4095 } else { 0 };
        [on(2), on(4), on(1)]
    });
    let count = |x: u32, y: u32| match kind {
        3 => {
            let [r, g, b] = bars[(u64::from(x) * 8 / u64::from(width)) as usize];
            match (is_colour, (x & 1) + (y & 1)) {
                (true, 0) => r,
                (true, 2) => b,
                (true, _) => g,
                (false, _) => {
                    ((u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1000) as u16
                }
            }
        }
        _ => (((x + shift) & 0xff) << 4) as u16,
    };
    Some(
        (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .map(|(x, y)| count(x, y))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirrored_mosaic_starts_with_the_same_colour() {
        let (width, height) = (64, 8);
        let counts = pattern(3, width, height, true, 0).unwrap();
        for axes in [[false, false], [true, false], [false, true], [true, true]] {
            let mirror = Mirror { axes, is_colour: true };
            let image =
                |format| Making { format, width, height, gamma: 1.0, mirror }.image(&counts);
            let (mosaic, rgb) = (image(PixelFormat::BayerRg8), image(PixelFormat::Rgb8));
            for bar in 0..8 {
                // A place within each of the eight bars.
                let place = 2 * 64 + 8 * bar + 2;
                let shown = if axes[0] { bar } else { 7 - bar };
                let wanted = [2, 4, 1].map(|bit| if shown & bit == 0 { 0 } else { 255 });
                let cell = [mosaic[place], mosaic[place + 1], mosaic[place + 65]];
                assert_eq!(cell, wanted, "{axes:?} {bar}");
                assert_eq!(rgb[3 * place..][..3], wanted, "{axes:?} {bar}");
            }
        }
    }
}
