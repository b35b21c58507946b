//! Shapes as PNG.

use std::collections::BTreeMap;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};
use tiny_skia::{
    ColorU8, FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::colour::{Colour, WHITE};
use super::shape::{Anchor, CHARACTER_PX, Shape, Style};

/// Height of a character, pixels.
const CHARACTER_HEIGHT_PX: f64 = 16.0;

/// Returns the bytes of the PNG file.
pub(super) fn write((width, height): (f64, f64), shapes: &[Shape]) -> Vec<u8> {
    let mut pixmap = Pixmap::new(width as u32, height as u32).expect("figures have a size");
    pixmap.fill(tiny_skia::Color::WHITE);
    for shape in shapes {
        draw(shape, &mut pixmap);
    }
    // All pixels are opaque.
    let pixels: Vec<_> = pixmap.data().chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect();
    picture([pixmap.width(), pixmap.height()], &pixels)
}

/// A PNG file from pixels: red, green, blue, row by row from the top left; `size` is width and height.
pub fn picture(size: [u32; 2], pixels: &[[u8; 3]]) -> Vec<u8> {
    encode(size, pixels).expect("memory takes every file")
}

fn draw(shape: &Shape, pixmap: &mut Pixmap) {
    let unmoved = Transform::identity();
    match shape {
        Shape::Fill { area, colour } => fill(pixmap, *area, *colour),
        Shape::Dots { middles, size: (width, height), colour } => {
            for (x, y) in middles {
                fill(pixmap, [x - width / 2.0, y - height / 2.0, *width, *height], *colour);
            }
        }
        Shape::Line { points, colour, width, is_dashed } => {
            // Thin horizontal and vertical lines lie on pixel centres, so that they do not blur over two pixels.
            let grid = *width == 1.0;
            let place = |v: f64| if grid { v.floor() + 0.5 } else { v };
            let points = points.iter().map(|(x, y)| (place(*x), place(*y)));
            let Some(path) = path(points, false) else { return };
            let dash = is_dashed.then(|| StrokeDash::new(vec![4.0, 3.0], 0.0)).flatten();
            let stroke = Stroke { width: *width as f32, dash, ..Stroke::default() };
            pixmap.stroke_path(&path, &paint(*colour, 1.0), &stroke, unmoved, None);
        }
        Shape::Outline { points, colour, opacity } => {
            let Some(path) = path(points.iter().copied(), true) else { return };
            let paint = paint(*colour, *opacity);
            pixmap.fill_path(&path, &paint, FillRule::Winding, unmoved, None);
        }
        Shape::Text { at, text, style } => write_text(pixmap, *at, text, style),
    }
}

/// Fills a rectangle of whole pixels without blending at its edges, so that figures with many points have few colours
/// and fit a palette.
fn fill(pixmap: &mut Pixmap, [left, top, width, height]: [f64; 4], colour: Colour) {
    let pixels = |from: f64, length: f64, limit: usize| {
        let begin = from.round();
        let end = (from + length).round().max(begin + 1.0);
        (begin as usize).min(limit)..(end as usize).min(limit)
    };
    let (row_len, rows) = (pixmap.width() as usize, pixmap.height() as usize);
    let columns = pixels(left, width, row_len);
    let Colour([red, green, blue]) = colour;
    let colour = ColorU8::from_rgba(red, green, blue, u8::MAX).premultiply();
    for row in pixels(top, height, rows) {
        pixmap.pixels_mut()[row * row_len..][columns.clone()].fill(colour);
    }
}

fn paint(Colour([red, green, blue]): Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn path(points: impl Iterator<Item = (f64, f64)>, is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.enumerate() {
        match index {
            0 => path.move_to(x as f32, y as f32),
            _ => path.line_to(x as f32, y as f32),
        }
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

fn write_text(pixmap: &mut Pixmap, (x, y): (f64, f64), text: &str, style: &Style) {
    let length = text.chars().count() as f64 * CHARACTER_PX;
    let before = match style.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => length / 2.0,
        Anchor::End => length,
    };
    let weight = if style.is_bold { FontWeight::Bold } else { FontWeight::Regular };
    if style.has_halo {
        let area = [x - before - 2.0, y - 7.0, length + 4.0, 14.0];
        fill(pixmap, area, WHITE);
    }
    for (index, character) in text.chars().enumerate() {
        let Some(raster) = get_raster(character, weight, RasterHeight::Size16)
            .or_else(|| get_raster('?', weight, RasterHeight::Size16))
        else {
            continue;
        };
        let along = (index as f64 * CHARACTER_PX - before).round() as i64;
        let across = (-CHARACTER_HEIGHT_PX / 2.0) as i64;
        for (row, pixels) in raster.rows().enumerate() {
            for (column, cover) in pixels.iter().enumerate().filter(|(_, cover)| **cover > 0) {
                let (along, across) = (along + column as i64, across + row as i64);
                let (right, down) =
                    if style.is_upright { (across, -along) } else { (along, across) };
                blend(
                    pixmap,
                    (x.round() as i64 + right, y.round() as i64 + down),
                    *cover,
                    style.colour,
                );
            }
        }
    }
}

fn blend(pixmap: &mut Pixmap, (x, y): (i64, i64), cover: u8, colour: Colour) {
    let (width, height) = (i64::from(pixmap.width()), i64::from(pixmap.height()));
    if !(0..width).contains(&x) || !(0..height).contains(&y) {
        return;
    }
    let at = ((y * width + x) * 4) as usize;
    for (below, above) in pixmap.data_mut()[at..].iter_mut().zip(colour.0) {
        let mixed =
            u16::from(*below) * u16::from(255 - cover) + u16::from(above) * u16::from(cover);
        *below = (mixed / 255) as u8;
    }
}

/// Encodes with a palette if there are at most 256 colours, otherwise with three bytes per pixel.
fn encode([width, height]: [u32; 2], pixels: &[[u8; 3]]) -> Result<Vec<u8>, png::EncodingError> {
    let mut palette: BTreeMap<[u8; 3], u8> = BTreeMap::new();
    for pixel in pixels {
        let next = palette.len();
        if next > 255 && !palette.contains_key(pixel) {
            palette.clear();
            break;
        }
        palette.entry(*pixel).or_insert(next as u8);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_depth(png::BitDepth::Eight);
    let data: Vec<u8> = if palette.is_empty() {
        encoder.set_color(png::ColorType::Rgb);
        pixels.as_flattened().to_vec()
    } else {
        let mut colours: Vec<_> = palette.iter().map(|(colour, index)| (*index, *colour)).collect();
        colours.sort_unstable();
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(colours.iter().flat_map(|(_, colour)| *colour).collect::<Vec<u8>>());
        pixels.iter().map(|pixel| palette[pixel]).collect()
    };
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(file)
}
