//! Content of a figure after its layout: shapes in pixels from the upper left corner.

use super::colour::Colour;

/// Width of a character, pixels.
pub(super) const CHARACTER_PX: f64 = 7.0;

/// A shape of a figure; later shapes cover earlier ones.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A filled rectangle: left edge, upper edge, width, height.
    Fill { area: [f64; 4], colour: Colour },
    /// A line through points.
    Line { points: Vec<(f64, f64)>, colour: Colour, width: f64, is_dashed: bool },
    /// A filled polygon; `opacity` is 0..=1.
    Outline { points: Vec<(f64, f64)>, colour: Colour, opacity: f64 },
    /// Rectangles of one size and colour; `middles` are their centres.
    Dots { middles: Vec<(f64, f64)>, size: (f64, f64), colour: Colour },
    /// A line of text, vertically centred.
    Text { at: (f64, f64), text: String, style: Style },
}

/// Style of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) anchor: Anchor,
    pub(super) colour: Colour,
    pub(super) is_bold: bool,
    /// Whether the text is rotated, to be read from bottom to top.
    pub(super) is_upright: bool,
    /// Whether the letters have a white outline, for text on lines.
    pub(super) has_halo: bool,
}

impl Style {
    pub(super) fn new(anchor: Anchor, colour: Colour) -> Self {
        Self { anchor, colour, is_bold: false, is_upright: false, has_halo: false }
    }
}

/// Part of a text that is placed at the text's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle in pixels. The upper edge of a panel's area is measured from the lower end of the figure's title and
/// legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge, pixels.
    pub left: f64,
    /// Upper edge, pixels.
    pub top: f64,
    /// Width, pixels.
    pub width: f64,
    /// Height, pixels.
    pub height: f64,
}
