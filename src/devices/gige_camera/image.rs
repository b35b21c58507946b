//! Conversion of ADC counts to images, and test patterns.

use crate::wire::gige::gvsp::PixelFormat;

/// Settings for the conversion of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Making {
    pub format: PixelFormat,
    pub width: u32,
    pub height: u32,
    pub is_colour: bool,
    pub gamma: f64,
    /// Whether the image is mirrored: left-right, top-bottom.
    pub reverse: [bool; 2],
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
            let x = if self.reverse[0] { width - 1 - x } else { x };
            let y = if self.reverse[1] { height - 1 - y } else { y };
            table[usize::from(counts[y * width + x].min(4095))]
        };
        let places = || (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)));
        let mosaic = || places().map(|(x, y)| at(x, y));
        let colour = |x: usize, y: usize| self.colour(x, y, &at);
        let grey = |x: usize, y: usize| {
            if !self.is_colour {
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
        if !self.is_colour {
            return [at(x, y); 3];
        }
        let (width, height) = (self.width as usize, self.height as usize);
        let (mut sums, mut counts) = ([0u32; 3], [0u32; 3]);
        // A mirrored image has a mirrored mosaic. Its size is even, so the mosaic starts with another colour.
        let phase = self.reverse.map(usize::from);
        let channel_of = |x: usize, y: usize| ((x + phase[0]) & 1) + ((y + phase[1]) & 1);
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
