//! Plots: panels with axes, lines, areas, bars and points, drawn as SVG or PNG.
//!
//! A [`Figure`] describes the content. It is laid out once, as [`shape`]s in pixels; [`svg`] and [`png`] write these.
//! Text has a fixed-width font, so its width is known without the system's fonts, and every machine writes the same
//! bytes.

mod axis;
mod colour;
mod figure;
mod panel;
mod png;
mod shape;
mod svg;

pub use self::axis::Axis;
pub use self::colour::{BLUE, Colour, DIFFERENCE, GREY, HEIGHT, INTENSITY, ORANGE, PALETTE, RANGE};
pub use self::figure::{Figure, PlotFile};
pub use self::panel::{ColourBar, Panel};
pub use self::png::picture;
pub use self::shape::Area;
pub use self::svg::escape;
