//! A picture to draw on: pixels, text, colours of a scale.

use std::convert::Infallible;

use embedded_graphics::Pixel;
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle, iso_8859_1};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Line, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use image::{Rgb, RgbImage};

/// Titles.
pub const LARGE: &MonoFont<'static> = &iso_8859_1::FONT_10X20;
/// Captions.
pub const MEDIUM: &MonoFont<'static> = &iso_8859_1::FONT_8X13;
/// Scales.
pub const SMALL: &MonoFont<'static> = &iso_8859_1::FONT_6X10;

/// A picture.
pub struct Canvas(pub RgbImage);

impl Canvas {
    /// All of one colour.
    pub fn new(width: u32, height: u32, colour: Rgb888) -> Self {
        Self(RgbImage::from_pixel(width, height, rgb(colour)))
    }

    /// Writes `text` beside or around `at`, centred on its height.
    pub fn text(
        &mut self,
        text: &str,
        at: (i32, i32),
        font: &MonoFont<'static>,
        colour: Rgb888,
        alignment: Alignment,
    ) {
        let style = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Middle).build();
        let font = MonoTextStyle::new(font, colour);
        // The canvas cannot fail.
        let _ = Text::with_text_style(text, Point::new(at.0, at.1), font, style).draw(self);
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, (x, y): (i32, i32), (width, height): (u32, u32), colour: Rgb888) {
        let _ = Rectangle::new(Point::new(x, y), Size::new(width, height))
            .into_styled(PrimitiveStyle::with_fill(colour))
            .draw(self);
    }

    /// Draws a thin line.
    pub fn line(&mut self, from: (i32, i32), to: (i32, i32), colour: Rgb888) {
        let _ = Line::new(Point::new(from.0, from.1), Point::new(to.0, to.1))
            .into_styled(PrimitiveStyle::with_stroke(colour, 1))
            .draw(self);
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.0.width(), self.0.height())
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<Rgb888>>,
    {
        for Pixel(point, colour) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(point.x), u32::try_from(point.y))
                && let Some(pixel) = self.0.get_pixel_mut_checked(x, y)
            {
                *pixel = rgb(colour);
            }
        }
        Ok(())
    }
}

fn rgb(colour: Rgb888) -> Rgb<u8> {
    Rgb([colour.r(), colour.g(), colour.b()])
}

/// A scale of colours, evenly spaced.
#[derive(Clone, Copy, Debug)]
pub struct Scale(pub &'static [[u8; 3]]);

/// Near is warm, far is cold.
pub const WARM_TO_COLD: Scale = Scale(&[
    [255, 70, 50],
    [255, 140, 40],
    [255, 215, 60],
    [150, 225, 80],
    [60, 205, 160],
    [60, 160, 235],
    [90, 105, 230],
    [120, 75, 190],
]);
/// Dark to bright, for brightness.
pub const BRIGHTNESS: Scale = Scale(&[
    [60, 25, 90],
    [120, 30, 110],
    [185, 50, 95],
    [235, 95, 60],
    [250, 165, 45],
    [252, 240, 160],
]);
/// Low to high, for height.
pub const HEIGHT: Scale = Scale(&[
    [85, 60, 140],
    [62, 95, 155],
    [45, 130, 150],
    [60, 170, 125],
    [130, 205, 85],
    [240, 230, 75],
]);

impl Scale {
    /// The colour at `t`, 0..=1; clamped.
    pub fn at(self, t: f64) -> Rgb888 {
        let last = self.0.len() - 1;
        let place = t.clamp(0.0, 1.0) * last as f64;
        let index = (place as usize).min(last.saturating_sub(1));
        let (from, to) = (self.0[index], self.0[(index + 1).min(last)]);
        let share = place - index as f64;
        let mix = |channel: usize| {
            let (from, to) = (f64::from(from[channel]), f64::from(to[channel]));
            (from + (to - from) * share).round() as u8
        };
        Rgb888::new(mix(0), mix(1), mix(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_runs_from_end_to_end() {
        let scale = Scale(&[[0, 0, 0], [100, 200, 50]]);
        assert_eq!(scale.at(-1.0), Rgb888::new(0, 0, 0));
        assert_eq!(scale.at(0.5), Rgb888::new(50, 100, 25));
        assert_eq!(scale.at(7.0), Rgb888::new(100, 200, 50));
        assert_eq!(scale.at(f64::NAN), Rgb888::new(0, 0, 0));
    }

    #[test]
    fn drawing_beyond_the_edge_is_cut() {
        let mut canvas = Canvas::new(4, 4, Rgb888::BLACK);
        canvas.fill((-2, -2), (4, 4), Rgb888::WHITE);
        canvas.line((0, 3), (900, 3), Rgb888::RED);
        let white = canvas.0.pixels().filter(|pixel| pixel.0 == [255; 3]).count();
        assert_eq!(white, 4);
    }
}
