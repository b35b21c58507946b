//! Images from datagrams, and their conversion to 8-bit pixels.

use crate::wire::gige::gvsp::PixelFormat;

/// An image as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Number of the image, from the sender.
    pub number: u64,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Offset of the image on the sensor: columns from the left, rows from the top.
    pub offset: [u32; 2],
    /// Format of the pixels.
    pub format: PixelFormat,
    /// Pixel data in the format `format`, row by row.
    pub bytes: Vec<u8>,
}

/// Pixels with 8 bits per channel, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// One byte per pixel: brightness.
    Grey(Vec<u8>),
    /// Three bytes per pixel: red, green and blue.
    Colour(Vec<u8>),
}

impl Picture {
    /// 8-bit pixels of the image. Mosaics are demosaiced: each channel is the mean of the nearest pixels of its colour.
    pub fn pixels(&self) -> Pixels {
        let [width, height] = self.size.map(|size| size as usize);
        let upper = |shift: u32| {
            let pairs = self.bytes.as_chunks::<2>().0.iter();
            Pixels::Grey(pairs.map(|pair| (u16::from_le_bytes(*pair) >> shift) as u8).collect())
        };
        match self.format {
            PixelFormat::Mono8 => Pixels::Grey(self.bytes.clone()),
            PixelFormat::Mono12 => upper(4),
            PixelFormat::Mono16 => upper(8),
            PixelFormat::Rgb8 => Pixels::Colour(self.bytes.clone()),
            PixelFormat::BayerRg8 => Pixels::Colour(demosaic(&self.bytes, width, height)),
            PixelFormat::BayerRg12p => {
                // Three bytes hold two pixels; the upper eight bits of each are used.
                let chunks = self.bytes.chunks(3);
                let mosaic = chunks.flat_map(|chunk| {
                    let at = |place: usize| chunk.get(place).copied().unwrap_or(0);
                    [at(0) >> 4 | at(1) << 4, at(2)]
                });
                let mosaic: Vec<u8> = mosaic.take(width * height).collect();
                Pixels::Colour(demosaic(&mosaic, width, height))
            }
        }
    }
}

impl Pixels {
    /// Red, green and blue of each pixel.
    pub fn rgb(&self) -> Vec<[u8; 3]> {
        match self {
            Self::Grey(grey) => grey.iter().map(|grey| [*grey; 3]).collect(),
            Self::Colour(colour) => colour.as_chunks().0.to_vec(),
        }
    }

    /// Pixels as Y, Cb, Y, Cr with 8 bits (ITU-R BT.601, black 16, white 235), row by row. If the width is odd, the
    /// last pixel of a row counts twice.
    pub fn yuyv(&self, width: usize) -> Vec<u8> {
        let luma = |[r, g, b]: [i32; 3]| ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16;
        let pair = |one: [u8; 3], other: [u8; 3]| {
            let (one, other) = (one.map(i32::from), other.map(i32::from));
            let [r, g, b] = [0, 1, 2].map(|c| one[c] + other[c]);
            let cb = ((-38 * r - 74 * g + 112 * b + 256) >> 9) + 128;
            let cr = ((112 * r - 94 * g - 18 * b + 256) >> 9) + 128;
            [luma(one), cb, luma(other), cr].map(|part| part as u8)
        };
        let rgb = self.rgb();
        let rows = rgb.chunks(width.max(1));
        let pairs = rows.flat_map(|row| row.chunks(2));
        pairs.flat_map(|two| pair(two[0], two[two.len() - 1])).collect()
    }
}

/// Demosaics a mosaic whose rows alternate between red/green and green/blue; returns red, green, blue. The mosaic is
/// mirrored at its borders, which keeps its colours.
fn demosaic(mosaic: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut colour = Vec::with_capacity(3 * width * height);
    if width < 2 || height < 2 || mosaic.len() < width * height {
        return mosaic.iter().flat_map(|value| [*value; 3]).collect();
    }
    let row_at = |row: usize| &mosaic[row * width..][..width];
    for y in 0..height {
        let above = row_at(if y == 0 { 1 } else { y - 1 });
        let below = row_at(if y + 1 == height { y - 1 } else { y + 1 });
        let row = row_at(y);
        for x in 0..width {
            let left = if x == 0 { 1 } else { x - 1 };
            let right = if x + 1 == width { x - 1 } else { x + 1 };
            let of = |row: &[u8], x: usize| u32::from(row[x]);
            let (own, beside) = (of(row, x), of(row, left) + of(row, right));
            let over = of(above, x) + of(below, x);
            let across = of(above, left) + of(above, right) + of(below, left) + of(below, right);
            let (four, two) = (|sum: u32| (sum + 2) / 4, |sum: u32| sum.div_ceil(2));
            let pixel = match (y % 2, x % 2) {
                (0, 0) => [own, four(beside + over), four(across)],
                (0, _) => [two(beside), own, two(over)],
                (_, 0) => [two(over), own, two(beside)],
                _ => [four(across), four(beside + over), own],
            };
            colour.extend(pixel.map(|part| part as u8));
        }
    }
    colour
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(format: PixelFormat, size: [u32; 2], bytes: Vec<u8>) -> Picture {
        Picture { number: 1, size, offset: [0, 0], format, bytes }
    }

    #[test]
    fn an_even_colour_comes_back_from_its_mosaic() {
        let (width, height) = (6, 4);
        let at = |x: usize, y: usize| [200u8, 90, 30][(x & 1) + (y & 1)];
        let mosaic: Vec<u8> = (0..height).flat_map(|y| (0..width).map(move |x| at(x, y))).collect();
        let size = [width as u32, height as u32];
        let even = Pixels::Colour([200, 90, 30].repeat(width * height));
        assert_eq!(picture(PixelFormat::BayerRg8, size, mosaic.clone()).pixels(), even);
        // Twelve-bit values whose lower four bits differ from the upper bits.
        let packed = mosaic.chunks(2).flat_map(|pair| {
            let [a, b] = [u16::from(pair[0]) << 4 | 7, u16::from(pair[1]) << 4 | 2];
            [a as u8, (a >> 8) as u8 | (b << 4) as u8, (b >> 4) as u8]
        });
        let packed = picture(PixelFormat::BayerRg12p, size, packed.collect());
        assert_eq!(packed.pixels(), even);
    }

    #[test]
    fn a_slope_keeps_its_values_between_pixels_of_a_colour() {
        let mosaic: Vec<u8> = (0..4u8).flat_map(|_| (0..8u8).map(|x| 10 * x)).collect();
        let Pixels::Colour(colour) = picture(PixelFormat::BayerRg8, [8, 4], mosaic).pixels() else {
            panic!("a mosaic has colours");
        };
        for x in 1..7 {
            assert_eq!(colour[3 * (8 + x)..][..3], [10 * x as u8; 3], "{x}");
        }
    }

    #[test]
    fn brightness_keeps_its_upper_bits() {
        let of = |format, value: u16| picture(format, [1, 1], value.to_le_bytes().to_vec());
        assert_eq!(of(PixelFormat::Mono12, 0xabc).pixels(), Pixels::Grey(vec![0xab]));
        assert_eq!(of(PixelFormat::Mono16, 0xabcd).pixels(), Pixels::Grey(vec![0xab]));
    }

    /// Colours of 100 % bars according to ITU-R BT.601, to within one unit of rounding.
    #[test]
    fn colours_are_those_of_bt_601() {
        for (rgb, [y, cb, cr]) in [
            ([255, 255, 255], [235, 128, 128]),
            ([255, 255, 0], [210, 16, 146]),
            ([0, 255, 255], [170, 166, 16]),
            ([0, 255, 0], [145, 54, 34]),
            ([255, 0, 255], [106, 202, 222]),
            ([255, 0, 0], [81, 90, 240]),
            ([0, 0, 255], [41, 240, 110]),
            ([0, 0, 0], [16, 128, 128]),
        ] {
            let found = Pixels::Colour(rgb.repeat(2)).yuyv(2);
            let differ = |a: u8, b: u8| a.abs_diff(b) > 1;
            assert_eq!(found.len(), 4);
            let is_off = differ(found[0], y) || differ(found[1], cb) || differ(found[3], cr);
            assert!(!is_off && found[0] == found[2], "{rgb:?}: {found:?}");
        }
        assert_eq!(Pixels::Grey(vec![0; 3 * 2]).yuyv(3).len(), 16);
    }
}
