//! Images: textures, opacity masks and heightmaps from BMP, PNG and JPEG.

use std::io::Cursor;

use zune_bmp::BmpDecoder;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::error::{Fault, Place, Problem};
use super::{MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE};
use crate::world::colours::ColourMap;
use crate::world::scene::Texture;

/// Channel of an image that becomes a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Channel {
    /// Red or, in a grey image, grey.
    First,
    /// Alpha; images without alpha are opaque.
    Alpha,
}

/// A decoded image with 8 bits per channel: grey, grey with alpha, RGB or RGBA.
#[derive(Clone, Debug)]
pub(super) struct Image {
    width: u32,
    height: u32,
    channels: usize,
    samples: Vec<u8>,
}

impl Image {
    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }
}

/// Largest number of pixels per byte of a valid image. Deflate compresses up to 1032 bytes into one, and a byte holds
/// 8 pixels of one bit.
const MAX_PIXELS_PER_BYTE: u64 = 8 * 1032;

/// Length of the file header and the longest image header of a BMP, bytes.
const LONGEST_BMP_HEADER: usize = 14 + 124;

/// Decodes an image; its content determines its format, not its name. Rejects images larger than [`MAX_IMAGE_SIDE`] or
/// [`MAX_IMAGE_PIXELS`].
pub(super) fn decode(bytes: &[u8], place: &Place) -> Result<Image, Fault> {
    let fault = |problem| Fault::new(place.clone(), problem);
    let decoded = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png(bytes),
        [0xff, 0xd8, 0xff, ..] => jpeg(bytes),
        [b'B', b'M', ..] => bmp(bytes),
        _ => return Err(fault(Problem::Syntax("is not a BMP, PNG or JPEG image".into()))),
    };
    decoded.map_err(|unread| {
        fault(match unread {
            Unread::Size(problem) => problem,
            Unread::Broken(error) => {
                Problem::Syntax(format!("cannot be decoded as an image: {error}"))
            }
        })
    })
}

/// Reason why an image cannot be decoded.
enum Unread {
    Size(Problem),
    Broken(String),
}

impl Unread {
    fn broken(error: impl std::fmt::Debug + std::fmt::Display) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Rejects sizes that are too large before any memory is allocated.
fn check_size(width: usize, height: usize, bytes: &[u8]) -> Result<(u32, u32), Unread> {
    let pixels = (width as u64).saturating_mul(height as u64);
    if pixels == 0 {
        return Err(Unread::Size(Problem::Syntax("is an image without pixels".into())));
    }
    if width.max(height) > MAX_IMAGE_SIDE as usize || pixels > MAX_IMAGE_PIXELS {
        let expected = format!(
            "an image of at most {MAX_IMAGE_SIDE} pixels a side and {MAX_IMAGE_PIXELS} in all"
        );
        return Err(Unread::Size(Problem::wrong(expected, format!("{width} x {height}"))));
    }
    if pixels > MAX_PIXELS_PER_BYTE * bytes.len() as u64 {
        return Err(Unread::Size(Problem::Truncated {
            what: format!("a {width} x {height} image"),
            announced: pixels.div_ceil(MAX_PIXELS_PER_BYTE),
            available: bytes.len() as u64,
        }));
    }
    Ok((width as u32, height as u32))
}

fn png(bytes: &[u8]) -> Result<Image, Unread> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    // No decoder needs more than 16 bytes per pixel.
    decoder.set_limits(png::Limits { bytes: (16 * MAX_IMAGE_PIXELS) as usize });
    // Palettes become RGB, samples of less than 8 bits become 8 bits, transparent colours become alpha.
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(Unread::broken)?;
    let (width, height) = reader.info().size();
    let (width, height) = check_size(width as usize, height as usize, bytes)?;
    let (colour, depth) = reader.output_color_type();
    let size = reader.output_buffer_size().unwrap_or(usize::MAX);
    let mut samples = vec![0; size];
    reader.next_frame(&mut samples).map_err(Unread::broken)?;
    if depth == png::BitDepth::Sixteen {
        let pairs = samples.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        // Rounds to 8 bits: 257 is 65535 / 255.
        samples = pairs.map(|value| ((u32::from(value) + 128) / 257) as u8).collect();
    }
    Ok(Image { width, height, channels: colour.samples(), samples })
}

fn jpeg(bytes: &[u8]) -> Result<Image, Unread> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(Unread::broken)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let (width, height) = check_size(width, height, bytes)?;
    let colours = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(colours));
    let samples = decoder.decode().map_err(Unread::broken)?;
    Ok(Image { width, height, channels: colours.num_components(), samples })
}

fn bmp(bytes: &[u8]) -> Result<Image, Unread> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    // The decoder reads the bit masks of long headers in every file, and fails if a file of a few pixels ends before
    // them.
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().max(LONGEST_BMP_HEADER), 0);
    let mut decoder = BmpDecoder::new_with_options(ZCursor::new(&padded[..]), options);
    decoder.decode_headers().map_err(|error| Unread::Broken(format!("{error:?}")))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let (width, height) = check_size(width, height, bytes)?;
    check_rows(width, height, bytes)?;
    let channels = decoder.colorspace().map_or(3, |colours| colours.num_components());
    let mut samples = decoder.decode().map_err(|error| Unread::Broken(format!("{error:?}")))?;
    // Without bit masks, the fourth byte of a pixel is padding.
    let is_plain = bytes.get(30..34) == Some(&[0; 4]);
    if channels == 4 && is_plain {
        samples.iter_mut().skip(3).step_by(4).for_each(|alpha| *alpha = 255);
    }
    Ok(Image { width, height, channels, samples })
}

/// Rejects a BMP with incomplete rows. The decoder would continue with zeros.
fn check_rows(width: u32, height: u32, bytes: &[u8]) -> Result<(), Unread> {
    let word = |at: usize| {
        bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    // The short header of OS/2 has 16 bits for each side, and no compression.
    let (bits, compression) = match word(14) {
        12 => (word(24) & 0xffff, 0),
        _ => (word(28) & 0xffff, word(30)),
    };
    // With run-length encoding, the number of bytes is unknown.
    if matches!(compression, 1 | 2) {
        return Ok(());
    }
    let stride = (u64::from(width) * u64::from(bits)).div_ceil(32) * 4;
    let announced = u64::from(word(10)) + stride * u64::from(height);
    if announced <= bytes.len() as u64 {
        return Ok(());
    }
    let what = format!("a {width} x {height} image");
    Err(Unread::Size(Problem::Truncated { what, announced, available: bytes.len() as u64 }))
}

/// One channel of an image.
pub(super) fn channel(image: &Image, channel: Channel) -> Texture {
    let pixels = image.samples.chunks_exact(image.channels);
    let texels: Vec<u8> = match (channel, image.channels) {
        (Channel::First, _) => pixels.map(|pixel| pixel[0]).collect(),
        (Channel::Alpha, 2 | 4) => pixels.map(|pixel| pixel[image.channels - 1]).collect(),
        (Channel::Alpha, _) => vec![255; pixels.len()],
    };
    Texture { width: image.width, height: image.height, texels: texels.into() }
}

/// The colours of an image; in a grey image red, green and blue are equal.
pub(super) fn colours(image: &Image) -> Option<ColourMap> {
    let pixels = image.samples.chunks_exact(image.channels);
    let texels = match image.channels {
        1 | 2 => pixels.map(|pixel| [pixel[0]; 3]).collect(),
        _ => pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
    };
    ColourMap::new(image.width, image.height, texels)
}

/// Applies `value` to every texel of `texture`.
pub(super) fn mapped(texture: &Texture, value: impl Fn(u8) -> u8) -> Texture {
    let texels = texture.texels.iter().map(|&texel| value(texel)).collect();
    Texture { texels, ..*texture }
}

/// Test images for the loaders' tests.
#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;

    /// A PNG with `channels` channels per pixel.
    pub(in super::super) fn png_of(
        width: u32,
        height: u32,
        channels: u8,
        samples: &[u8],
    ) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(match channels {
            1 => png::ColorType::Grayscale,
            3 => png::ColorType::Rgb,
            _ => png::ColorType::Rgba,
        });
        encoder.write_header().unwrap().write_image_data(samples).unwrap();
        file
    }

    /// A BMP with 24 bits per pixel, or with 8 bits and a grey palette, which is common for masks.
    pub(in super::super) fn bmp_of(
        width: u32,
        height: u32,
        channels: u32,
        samples: &[u8],
    ) -> Vec<u8> {
        let palette: Vec<u8> = match channels {
            1 => (0..=255).flat_map(|grey| [grey, grey, grey, 0]).collect(),
            _ => Vec::new(),
        };
        let start = 54 + palette.len() as u32;
        let stride = (width * channels).next_multiple_of(4);
        let words = [start + stride * height, 0, start, 40, width, height];
        let mut file = b"BM".to_vec();
        file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        file.extend([1, 0, (channels * 8) as u8, 0]);
        file.extend([0; 24]);
        file.extend(palette);
        // Rows run from the bottom up, with blue first.
        for row in samples.chunks_exact((width * channels) as usize).rev() {
            let before = file.len();
            for pixel in row.chunks_exact(channels as usize) {
                file.extend(pixel.iter().rev());
            }
            file.resize(before + stride as usize, 0);
        }
        file
    }

    /// Two pixels: opaque with red 200, transparent with red 100.
    pub(in super::super) const TWO_PIXELS: [u8; 8] = [200, 10, 20, 255, 100, 30, 40, 0];
    /// The two pixels without alpha.
    pub(in super::super) const TWO_OPAQUE_PIXELS: [u8; 6] = [200, 10, 20, 100, 30, 40];

    /// A JPEG of 8 x 8 pixels of grey 77, written by hand: one coefficient of (77 - 128) times 8, in quantisation
    /// steps of 8, with codes of one bit.
    fn grey_jpeg() -> Vec<u8> {
        let table = |class: u8, symbol: u8| {
            let mut table = vec![0xff, 0xc4, 0, 20, class, 1];
            table.extend([0; 15]);
            table.push(symbol);
            table
        };
        let mut file = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        file.extend([8; 64]);
        file.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
        file.extend(table(0x00, 6));
        file.extend(table(0x10, 0));
        file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        // The code for six bits, -51 in these bits, and the end of the block.
        file.push(0b0001_1000);
        file.extend([0xff, 0xd9]);
        file
    }

    fn texels(bytes: &[u8], which: Channel) -> Vec<u8> {
        let place = Place::of(Path::new("t"));
        channel(&decode(bytes, &place).unwrap(), which).texels.to_vec()
    }

    fn problem(bytes: &[u8]) -> String {
        decode(bytes, &Place::of(Path::new("t"))).unwrap_err().problem.to_string()
    }

    #[test]
    fn channels_of_png_and_bmp() {
        let png = png_of(2, 1, 4, &TWO_PIXELS);
        assert_eq!(texels(&png, Channel::First), [200, 100]);
        assert_eq!(texels(&png, Channel::Alpha), [255, 0]);
        let bmp = bmp_of(2, 1, 3, &TWO_OPAQUE_PIXELS);
        assert_eq!(texels(&bmp, Channel::First), [200, 100]);
        assert_eq!(texels(&bmp, Channel::Alpha), [255, 255]);
        let palette = bmp_of(3, 2, 1, &[0, 128, 255, 1, 2, 3]);
        assert_eq!(texels(&palette, Channel::First), [0, 128, 255, 1, 2, 3]);
    }

    #[test]
    fn sixteen_bits_are_rounded_to_eight() {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 3, 1);
        encoder.set_depth(png::BitDepth::Sixteen);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0, 200, 0xff, 0xff, 0x80, 0x00]).unwrap();
        writer.finish().unwrap();
        assert_eq!(texels(&file, Channel::First), [1, 255, 128]);
    }

    #[test]
    fn jpeg_is_read() {
        let texels = texels(&grey_jpeg(), Channel::First);
        assert!(texels.len() == 64 && texels.iter().all(|t| t.abs_diff(77) <= 2), "{texels:?}");
    }

    #[test]
    fn hostile_sizes_are_refused_before_they_are_allocated() {
        let mut bmp = bmp_of(2, 1, 3, &TWO_OPAQUE_PIXELS);
        // Width and height of the BITMAPINFOHEADER.
        bmp[18..22].copy_from_slice(&8000u32.to_le_bytes());
        bmp[22..26].copy_from_slice(&8000u32.to_le_bytes());
        assert!(problem(&bmp).contains("8000 x 8000"), "{}", problem(&bmp));
        bmp[18..22].copy_from_slice(&16_000u32.to_le_bytes());
        bmp[22..26].copy_from_slice(&16_000u32.to_le_bytes());
        assert!(problem(&bmp).contains("at most 16384 pixels a side"), "{}", problem(&bmp));
        bmp[18..22].copy_from_slice(&100_000u32.to_le_bytes());
        assert!(!problem(&bmp).is_empty());
    }

    #[test]
    fn no_image_is_told() {
        assert_eq!(problem(b"hello"), "is not a BMP, PNG or JPEG image");
        assert_eq!(problem(b""), "is not a BMP, PNG or JPEG image");
        let png = png_of(2, 1, 4, &TWO_PIXELS);
        assert!(problem(&png[..png.len() - 20]).starts_with("cannot be decoded as an image"));
        let bmp = bmp_of(20, 10, 3, &[7; 600]);
        assert!(problem(&bmp[..300]).contains("20 x 10"), "{}", problem(&bmp[..300]));
    }
}
