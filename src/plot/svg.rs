//! Shapes as SVG.

use std::fmt::Write;

use super::colour::{Colour, WHITE};
use super::shape::{Anchor, Shape, Style};

/// Font whose characters have the width [`CHARACTER_PX`](super::shape::CHARACTER_PX), 0.6 of its size.
const FONT: &str =
    "font-family=\"'Noto Sans Mono','DejaVu Sans Mono',monospace\" font-size=\"11.67\"";

/// Returns the SVG document.
pub(super) fn write((width, height): (f64, f64), shapes: &[Shape]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" {FONT}>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        hex(WHITE),
    );
    for shape in shapes {
        write_shape(shape, &mut svg);
    }
    svg + "</svg>\n"
}

fn write_shape(shape: &Shape, svg: &mut String) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Fill { area: [left, top, width, height], colour } => writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{}\"/>",
            hex(*colour),
        ),
        Shape::Line { points, colour, width, is_dashed } => writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{}/>",
            path(points),
            hex(*colour),
            if *is_dashed { " stroke-dasharray=\"4 3\"" } else { "" },
        ),
        Shape::Outline { points, colour, opacity } => writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{opacity}\"/>",
            path(points),
            hex(*colour),
        ),
        Shape::Dots { middles, size: (width, height), colour } => {
            let _ = write!(svg, "<path fill=\"{}\" d=\"", hex(*colour));
            for (x, y) in middles {
                let (left, top) = (x - width / 2.0, y - height / 2.0);
                let _ = write!(svg, "M{left:.1} {top:.1}h{width}v{height}h-{width}z");
            }
            writeln!(svg, "\"/>")
        }
        Shape::Text { at, text, style } => {
            writeln!(svg, "<text {}>{}</text>", text_attributes(*at, style), escape(text))
        }
    };
}

fn text_attributes((x, y): (f64, f64), style: &Style) -> String {
    // Distance from the middle of the letters to their baseline, pixels.
    const DOWN: f64 = 4.2;
    let mut text = match style.is_upright {
        true => format!("transform=\"translate({:.1} {y:.1}) rotate(-90)\"", x + DOWN),
        false => format!("x=\"{x:.1}\" y=\"{:.1}\"", y + DOWN),
    };
    match style.anchor {
        Anchor::Start => {}
        Anchor::Middle => text += " text-anchor=\"middle\"",
        Anchor::End => text += " text-anchor=\"end\"",
    }
    if style.is_bold {
        text += " font-weight=\"bold\"";
    }
    if style.has_halo {
        text += " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";
    }
    let _ = write!(text, " fill=\"{}\"", hex(style.colour));
    text
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{x:.1},{y:.1} ");
    }
    path
}

fn hex(Colour([red, green, blue]): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Escapes text for HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("<a b='\"&'>"), "&lt;a b=&#39;&quot;&amp;&#39;&gt;");
    }
}
