//! A figure with title, legend and panels.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::colour::{Colour, INK, LABEL};
use super::panel::Panel;
use super::shape::{Anchor, Area, CHARACTER_PX, Shape, Style};
use super::{png, svg};

/// Distance of titles and legend from the left edge, pixels; half of it is their distance from the upper edge.
const MARGIN: f64 = 16.0;
/// Height of a line of text, pixels.
const LINE: f64 = 17.0;

/// Content of a figure.
#[derive(Clone, Debug)]
pub struct Figure {
    width: f64,
    title: String,
    notes: Vec<String>,
    legend: Vec<(String, Colour)>,
    panels: Vec<(Area, Panel)>,
}

/// Path and format of a figure's file.
#[derive(Clone, Debug)]
pub struct PlotFile {
    path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Svg,
    Png,
}

impl FromStr for PlotFile {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(name);
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let form = match extension.as_deref() {
            Some("svg") => Form::Svg,
            Some("png") => Form::Png,
            _ => return Err("the name of a plot must end in .svg or .png"),
        };
        Ok(Self { path, form })
    }
}

impl PlotFile {
    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Figure {
    /// A figure without panels; `width` is in pixels. An empty `title` takes no space.
    pub fn new(width: f64, title: impl Into<String>) -> Self {
        let (title, notes) = (title.into(), Vec::new());
        Self { width, title, notes, legend: Vec::new(), panels: Vec::new() }
    }

    /// Adds a line of text below the title.
    pub fn note(&mut self, line: impl Into<String>) {
        self.notes.push(line.into());
    }

    /// Adds an entry to the legend.
    pub fn legend(&mut self, name: impl Into<String>, colour: Colour) {
        self.legend.push((name.into(), colour));
    }

    /// Adds a panel at `area`, in pixels; the top of `area` is measured downward from the lower edge of the legend.
    pub fn panel(&mut self, area: Area, panel: Panel) {
        self.panels.push((area, panel));
    }

    /// Adds a panel as wide as the figure below all other panels; `height` is in pixels.
    pub fn panel_below(&mut self, height: f64, panel: Panel) {
        let (left, top) = (0.0, self.panels_height());
        self.panel(Area { left, top, width: self.width, height }, panel);
    }

    fn panels_height(&self) -> f64 {
        self.panels.iter().map(|(area, _)| area.top + area.height).fold(0.0, f64::max)
    }

    /// Content of `file`, in the format that its name selects.
    pub fn bytes(&self, file: &PlotFile) -> Vec<u8> {
        match file.form {
            Form::Svg => self.svg().into_bytes(),
            Form::Png => self.png(),
        }
    }

    /// The figure as SVG, for a page or as a file.
    pub fn svg(&self) -> String {
        let (size, shapes) = self.shapes();
        svg::write(size, &shapes)
    }

    /// The figure as PNG.
    pub fn png(&self) -> Vec<u8> {
        let (size, shapes) = self.shapes();
        png::write(size, &shapes)
    }

    /// Centres of all dots of one colour: x and y from the upper left corner of the figure, pixels.
    pub fn dots_of(&self, wanted: Colour) -> Vec<(f64, f64)> {
        let dots = self.shapes().1.into_iter().filter_map(|shape| match shape {
            Shape::Dots { middles, colour, .. } if colour == wanted => Some(middles),
            _ => None,
        });
        dots.flatten().collect()
    }

    /// Width and height in pixels, and all shapes.
    fn shapes(&self) -> ((f64, f64), Vec<Shape>) {
        let mut shapes = Vec::new();
        let mut top = MARGIN / 2.0;
        let mut line = |text: &str, style: Style| {
            let at = (MARGIN, top + LINE / 2.0);
            shapes.push(Shape::Text { at, text: text.to_owned(), style });
            top += LINE;
        };
        if !self.title.is_empty() {
            line(&self.title, Style { is_bold: true, ..Style::new(Anchor::Start, INK) });
        }
        for note in &self.notes {
            line(note, Style::new(Anchor::Start, LABEL));
        }
        if !self.legend.is_empty() {
            let mut left = MARGIN;
            top += 4.0;
            for (name, colour) in &self.legend {
                let width = name.chars().count() as f64 * CHARACTER_PX;
                if left + width + 24.0 > self.width && left > MARGIN {
                    (left, top) = (MARGIN, top + LINE);
                }
                let area = [left, top + 4.0, 14.0, 9.0];
                shapes.push(Shape::Fill { area, colour: *colour });
                let (at, text) = ((left + 20.0, top + LINE / 2.0), name.clone());
                shapes.push(Shape::Text { at, text, style: Style::new(Anchor::Start, INK) });
                left += width + 44.0;
            }
            top += LINE;
        }
        top += 6.0;
        for (area, panel) in &self.panels {
            panel.shapes(Area { top: area.top + top, ..*area }, &mut shapes);
        }
        ((self.width, (top + self.panels_height()).ceil()), shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, BLUE};

    fn figure() -> Figure {
        let (x, y) = (Axis::linear("time, s", 0.0, 10.0), Axis::linear("speed, m/s", 0.0, 1.0));
        let mut panel = Panel::new("a <drive>", x, y);
        panel.line([(0.0, 0.0), (10.0, 1.0)], BLUE);
        panel.dots(vec![(5.0, 0.5, BLUE), (20.0, 0.5, BLUE)], (3.0, 3.0));
        let mut figure = Figure::new(400.0, "title");
        figure.legend("a drive", BLUE);
        figure.panel_below(300.0, panel);
        figure
    }

    #[test]
    fn a_dot_is_where_its_axes_say() {
        let ((width, height), shapes) = figure().shapes();
        assert_eq!(width, 400.0);
        let dots = figure().dots_of(BLUE);
        let line = shapes.iter().find_map(|shape| match shape {
            Shape::Line { points, colour: BLUE, .. } => Some(points.clone()),
            _ => None,
        });
        let line = line.unwrap();
        // The dot outside the axes is omitted; the other one is at the middle of the line.
        assert_eq!(dots.len(), 1);
        assert!((dots[0].0 - (line[0].0 + line[1].0) / 2.0).abs() < 1e-9);
        assert!((dots[0].1 - (line[0].1 + line[1].1) / 2.0).abs() < 1e-9);
        assert!(line[1].0 < width && line[0].1 < height);
    }

    #[test]
    fn both_forms_show_the_same() {
        let svg = figure().svg();
        assert!(svg.contains("a &lt;drive&gt;") && svg.contains("time, s"), "{svg}");
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(figure().png()));
        reader.set_transformations(::png::Transformations::EXPAND);
        let mut reader = reader.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let ((width, height), _) = figure().shapes();
        assert_eq!((f64::from(info.width), f64::from(info.height)), (width, height));
        let blue = pixels.chunks_exact(3).filter(|p| **p == BLUE.0).count();
        // The colour sample of the legend has 14 by 9 pixels.
        assert!(blue > 126, "{blue}");
    }

    #[test]
    fn the_name_of_the_file_says_the_form() {
        let written = |name: &str| figure().bytes(&name.parse().unwrap());
        assert!(written("a.svg").starts_with(b"<svg"));
        assert!(written("a.PNG").starts_with(b"\x89PNG"));
        assert!("a.jpg".parse::<PlotFile>().is_err() && "png".parse::<PlotFile>().is_err());
    }
}
