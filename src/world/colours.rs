//! Colour images on surfaces, for cameras.
//!
//! An image includes smaller versions (mipmap levels), each half as wide as the one before. A pixel that covers many
//! texels therefore shows their mean.

use std::sync::{Arc, LazyLock};

/// Red, green and blue, linear, 0..=1.
pub type Rgb = [f32; 3];

/// Wavelengths of red, green and blue, micrometres.
pub const WAVES_UM: [f64; 3] = [0.61, 0.55, 0.465];

/// A colour image, 8 bits per channel, sRGB.
#[derive(Clone, Debug)]
pub struct ColourMap {
    /// The image, then its smaller versions down to one texel.
    levels: Arc<[Level]>,
}

#[derive(Debug)]
struct Level {
    width: u32,
    height: u32,
    /// Texels row by row from the top left.
    texels: Vec<[u8; 3]>,
}

/// The point where a ray hits a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureSpot {
    /// Texture coordinates.
    pub uv: [f32; 2],
    /// Change of the texture coordinates per metre on the surface: the square root of the ratio of the areas.
    pub per_m: f32,
}

/// Linear intensity, 0..=1, of each sRGB byte (IEC 61966-2-1).
pub static LINEAR_FROM_SRGB: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let encoded = byte as f64 / 255.0;
        let linear = if encoded <= 0.040_45 {
            encoded / 12.92
        } else {
            libm::pow((encoded + 0.055) / 1.055, 2.4)
        };
        linear as f32
    })
});

/// The sRGB byte with the nearest intensity.
fn srgb_of(linear: f32) -> u8 {
    let table = &*LINEAR_FROM_SRGB;
    let above = table.partition_point(|known| *known < linear).clamp(1, 255);
    let is_nearer_below = linear - table[above - 1] < table[above] - linear;
    (above - usize::from(is_nearer_below)) as u8
}

impl ColourMap {
    /// Creates an image of `width` x `height` texels, row by row from the top left. `None` if there are no texels or
    /// their number is wrong.
    pub fn new(width: u32, height: u32, texels: Vec<[u8; 3]>) -> Option<Self> {
        if texels.is_empty() || texels.len() != width as usize * height as usize {
            return None;
        }
        let mut levels = vec![Level { width, height, texels }];
        while let Some(last) = levels.last().filter(|last| last.width.max(last.height) > 1) {
            let half = last.halved();
            levels.push(half);
        }
        Some(Self { levels: levels.into() })
    }

    /// Width, height, and texels row by row from the top left.
    pub fn image(&self) -> (u32, u32, &[[u8; 3]]) {
        let Level { width, height, texels } = &self.levels[0];
        (*width, *height, texels)
    }

    /// Approximate number of texels of an image with `pixels` pixels, including its smaller versions.
    pub fn texels(pixels: usize) -> usize {
        pixels + pixels / 3
    }

    /// Width and height, texels.
    pub fn size(&self) -> [u32; 2] {
        [self.levels[0].width, self.levels[0].height]
    }

    /// Approximate mean colour of a square around `uv`, from the version of the image with a suitable size. `span` is
    /// the square's side as a share of the image's longer side. Coordinates repeat; `v` runs up from the bottom edge.
    pub fn sample(&self, uv: [f32; 2], span: f32) -> Rgb {
        let texels = span * self.levels[0].width.max(self.levels[0].height) as f32;
        let mut level = 0;
        while level + 1 < self.levels.len() && texels >= (2 << level) as f32 {
            level += 1;
        }
        self.levels[level].at(uv)
    }
}

impl Level {
    fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let table = &*LINEAR_FROM_SRGB;
        let places = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
        let texels = places.map(|(column, row)| {
            let of = |right: u32, down: u32| {
                let x = (2 * column + right).min(self.width - 1);
                let y = (2 * row + down).min(self.height - 1);
                self.texels[(y * self.width + x) as usize]
            };
            let four = [of(0, 0), of(1, 0), of(0, 1), of(1, 1)];
            std::array::from_fn(|c| {
                srgb_of(four.iter().map(|texel| table[usize::from(texel[c])]).sum::<f32>() / 4.0)
            })
        });
        Self { width, height, texels: texels.collect() }
    }

    /// Interpolates between the four texels around `uv`.
    fn at(&self, [u, v]: [f32; 2]) -> Rgb {
        let place = |coordinate: f32, size: u32| {
            let at = (coordinate - coordinate.floor()) * size as f32 - 0.5;
            let (low, part) = (at.floor(), at - at.floor());
            let wrap = |index: f32| (index as i64).rem_euclid(i64::from(size)) as u32;
            (wrap(low), wrap(low + 1.0), part)
        };
        let (left, right, x) = place(u, self.width);
        let (upper, lower, y) = place(1.0 - v, self.height);
        let table = &*LINEAR_FROM_SRGB;
        let of = |column: u32, row: u32| self.texels[(row * self.width + column) as usize];
        let four = [of(left, upper), of(right, upper), of(left, lower), of(right, lower)];
        std::array::from_fn(|c| {
            let [a, b, d, e] = four.map(|texel| table[usize::from(texel[c])]);
            (a + (b - a) * x) * (1.0 - y) + (d + (e - d) * x) * y
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_srgb_are_found_again() {
        for byte in 0..=255 {
            assert_eq!(srgb_of(LINEAR_FROM_SRGB[usize::from(byte)]), byte);
        }
        assert!((LINEAR_FROM_SRGB[188] - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_wide_pixel_sees_the_mean() {
        let texels = (0..16u8).map(|at| if (at % 4 + at / 4) % 2 == 0 { [255; 3] } else { [0; 3] });
        let board = ColourMap::new(4, 4, texels.collect()).unwrap();
        assert_eq!(board.sample([0.125, 0.875], 0.1), [1.0; 3]);
        assert_eq!(board.sample([0.375, 0.875], 0.1), [0.0; 3]);
        assert_eq!(board.sample([1.125, -0.125], 0.1), [1.0; 3], "they repeat");
        let [grey, ..] = board.sample([0.2, 0.3], 1.0);
        assert!((grey - 0.5).abs() < 0.01, "{grey}");
        assert!(ColourMap::new(2, 2, vec![[0; 3]; 3]).is_none());
    }
}
