//! Plots: panels with axes, lines, areas, bars and points, drawn as SVG and as PNG alike.
//!
//! A [`Figure`] says what is to be seen. It is laid out once, into [`shape`]s in pixels; [`svg`] and
//! [`png`] write those. Text is set in a fixed-width font, so that its width is known without a font
//! of the system, and the same bytes come out on every machine.

mod axis;
mod colour;
mod figure;
mod panel;
mod png;
mod shape;
mod svg;

pub(crate) use self::axis::Axis;
pub(crate) use self::colour::{
    BLUE, Colour, DIFFERENCE, GREY, HEIGHT, INTENSITY, ORANGE, PALETTE, RANGE,
};
pub(crate) use self::figure::{Figure, PlotFile};
pub(crate) use self::panel::{ColourBar, Panel};
pub(crate) use self::png::picture;
pub(crate) use self::shape::Area;
pub(crate) use self::svg::escape;
