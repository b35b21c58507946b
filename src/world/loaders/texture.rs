//! Images: textures, opacity masks and heightmaps from BMP, PNG and JPEG.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageReader};

use super::error::{Fault, Place, Problem};
use super::{MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE};
use crate::world::scene::Texture;

/// The channel of an image that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Channel {
    /// Red, or grey.
    First,
    /// Alpha; opaque in images without.
    Alpha,
}

/// No valid image has more pixels per byte: deflate packs at most 1032 bytes into one, and a byte
/// holds 8 pixels of one bit.
const MAX_PIXELS_PER_BYTE: u64 = 8 * 1032;

/// Decodes an image by its content, not its name, within [`MAX_IMAGE_SIDE`] and
/// [`MAX_IMAGE_PIXELS`].
pub(super) fn decode(bytes: &[u8], place: &Place) -> Result<DynamicImage, Fault> {
    let fault = |problem| Fault::new(place.clone(), problem);
    let broken = |error: image::ImageError| {
        fault(Problem::Syntax(format!("is no image this program can read: {error}")))
    };
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| broken(error.into()))?;
    if reader.format().is_none() {
        return Err(fault(Problem::Syntax("is no BMP, PNG or JPEG image".into())));
    }
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(MAX_IMAGE_SIDE);
    limits.max_image_height = Some(MAX_IMAGE_SIDE);
    // No decoder needs more than 16 bytes a pixel.
    limits.max_alloc = Some(16 * MAX_IMAGE_PIXELS);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(fault(Problem::Syntax("is an image without pixels".into())));
    }
    if width.max(height) > MAX_IMAGE_SIDE || pixels > MAX_IMAGE_PIXELS {
        let expected = format!(
            "an image of at most {MAX_IMAGE_SIDE} pixels a side and {MAX_IMAGE_PIXELS} in all"
        );
        return Err(fault(Problem::wrong(expected, format!("{width} x {height}"))));
    }
    if pixels > MAX_PIXELS_PER_BYTE * bytes.len() as u64 {
        return Err(fault(Problem::Truncated {
            what: format!("a {width} x {height} image"),
            announced: pixels.div_ceil(MAX_PIXELS_PER_BYTE),
            available: bytes.len() as u64,
        }));
    }
    DynamicImage::from_decoder(decoder).map_err(broken)
}

/// One channel of an image, 8 bits deep.
pub(super) fn channel(image: &DynamicImage, channel: Channel) -> Texture {
    let texels: Vec<u8> = match (channel, image) {
        (Channel::First, DynamicImage::ImageLuma8(grey)) => grey.as_raw().clone(),
        (Channel::First, _) => image.to_rgb8().pixels().map(|pixel| pixel[0]).collect(),
        (Channel::Alpha, _) => image.to_rgba8().pixels().map(|pixel| pixel[3]).collect(),
    };
    Texture { width: image.width(), height: image.height(), texels: texels.into() }
}

/// `texture` with `value` applied to every texel.
pub(super) fn mapped(texture: &Texture, value: impl Fn(u8) -> u8) -> Texture {
    let texels = texture.texels.iter().map(|&texel| value(texel)).collect();
    Texture { texels, ..*texture }
}

/// Test images, shared with the loaders' tests.
#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use image::{GrayImage, ImageFormat, Rgba, RgbaImage};

    use super::*;

    /// An encoded image.
    pub(in super::super) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// Two pixels: red 200 opaque, red 100 transparent.
    pub(in super::super) fn two_pixels() -> DynamicImage {
        let mut image = RgbaImage::new(2, 1);
        image.put_pixel(0, 0, Rgba([200, 10, 20, 255]));
        image.put_pixel(1, 0, Rgba([100, 30, 40, 0]));
        DynamicImage::ImageRgba8(image)
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
        let png = encoded(&two_pixels(), ImageFormat::Png);
        assert_eq!(texels(&png, Channel::First), [200, 100]);
        assert_eq!(texels(&png, Channel::Alpha), [255, 0]);
        let rgb = DynamicImage::ImageRgb8(two_pixels().to_rgb8());
        let bmp = encoded(&rgb, ImageFormat::Bmp);
        assert_eq!(texels(&bmp, Channel::First), [200, 100]);
        assert_eq!(texels(&bmp, Channel::Alpha), [255, 255]);
        // The encoder writes grey as 8 bits with a palette, as masks often are.
        let grey = GrayImage::from_raw(3, 1, vec![0, 128, 255]).unwrap();
        let palette = encoded(&DynamicImage::ImageLuma8(grey), ImageFormat::Bmp);
        assert_eq!(texels(&palette, Channel::First), [0, 128, 255]);
    }

    #[test]
    fn jpeg_is_read() {
        let grey = GrayImage::from_pixel(8, 8, image::Luma([77]));
        let jpeg = encoded(&DynamicImage::ImageLuma8(grey), ImageFormat::Jpeg);
        assert!(texels(&jpeg, Channel::First).iter().all(|t| t.abs_diff(77) <= 2));
    }

    #[test]
    fn hostile_sizes_are_refused_before_they_are_allocated() {
        let rgb = DynamicImage::ImageRgb8(two_pixels().to_rgb8());
        let mut bmp = encoded(&rgb, ImageFormat::Bmp);
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
        assert_eq!(problem(b"hello"), "is no BMP, PNG or JPEG image");
        assert_eq!(problem(b""), "is no BMP, PNG or JPEG image");
        let png = encoded(&two_pixels(), ImageFormat::Png);
        assert!(problem(&png[..png.len() - 20]).starts_with("is no image this program can read"));
    }
}
