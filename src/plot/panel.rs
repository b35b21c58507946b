//! A panel: two axes, and marks between them.

use super::axis::{Axis, linear_ticks};
use super::colour::{Colour, ColourScale, GREY, GRID, INK, LABEL};
use super::shape::{Anchor, Area, CHARACTER_PX, Shape, Style};

/// Smallest distance from the left edge of the panel to the plotted area, pixels.
const LEFT: f64 = 62.0;
/// Distance from the plotted area to the right edge of a panel without a colour bar, pixels.
const RIGHT: f64 = 16.0;
/// Distance from the upper edge of the panel to the plotted area, pixels.
const TITLE: f64 = 24.0;
/// Distance from the plotted area to the lower edge of the panel, pixels.
const BOTTOM: f64 = 46.0;
/// Distance from the plotted area to the right edge of a panel with a colour bar, pixels.
const BAR: f64 = 84.0;
/// Width of a colour bar without its labels and name, pixels.
const BAR_WIDTH: f64 = 12.0;
/// Approximate number of ticks of a colour bar.
const BAR_TICKS: usize = 8;
/// Space for a tick label: width and height, pixels.
const TICK_ROOM: (f64, f64) = (64.0, 26.0);

/// Two axes and the marks between them; later marks cover earlier ones.
#[derive(Clone, Debug)]
pub struct Panel {
    title: String,
    x: Axis,
    y: Axis,
    marks: Vec<Mark>,
    bar: Option<ColourBar>,
}

/// Meaning of the colours of dots.
#[derive(Clone, Debug)]
pub struct ColourBar {
    /// Name of the quantity, with the unit.
    pub name: &'static str,
    /// Colours from the lowest value to the highest.
    pub colours: ColourScale,
    /// Positions of ticks, from 0 to 1, with their labels.
    pub ticks: Vec<(f64, String)>,
}

impl ColourBar {
    /// A linear bar from `low` to `high`, with round numbers.
    pub fn linear(name: &'static str, colours: ColourScale, low: f64, high: f64) -> Self {
        let place = |(value, number): (f64, String)| ((value - low) / (high - low), number);
        let ticks = linear_ticks(low, high, BAR_TICKS).into_iter().map(place).collect();
        Self { name, colours, ticks }
    }
}

#[derive(Clone, Debug)]
enum Mark {
    Line { points: Vec<(f64, f64)>, colour: Colour },
    Band { points: Vec<(f64, f64, f64)>, colour: Colour },
    Bars { bars: Vec<(f64, f64, f64)>, colour: Colour },
    Dots { points: Vec<(f64, f64, Colour)>, size_px: (f64, f64) },
    Rule { x: f64, text: String, row: usize, colour: Colour },
}

impl Panel {
    /// An empty panel with a title.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, marks: Vec::new(), bar: None }
    }

    /// Adds a colour bar that explains the colours of dots.
    pub fn colour_bar(mut self, bar: ColourBar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// Adds a line through points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, colour: Colour) {
        let points = points.into_iter().collect();
        self.marks.push(Mark::Line { points, colour });
    }

    /// Adds the area between two lines: (x, lower y, upper y).
    pub fn band(&mut self, points: Vec<(f64, f64, f64)>, colour: Colour) {
        self.marks.push(Mark::Band { points, colour });
    }

    /// Adds bars from the lower edge: (start x, end x, y of the top), in values of the axes. Bars with a top at or
    /// below 0 are omitted.
    pub fn bars(&mut self, bars: Vec<(f64, f64, f64)>, colour: Colour) {
        self.marks.push(Mark::Bars { bars, colour });
    }

    /// Adds dots of one size (width and height, pixels), each with its colour; dots outside the axes are omitted.
    pub fn dots(&mut self, points: Vec<(f64, f64, Colour)>, size_px: (f64, f64)) {
        self.marks.push(Mark::Dots { points, size_px });
    }

    /// Adds a vertical line at `x` with text beside it; texts in different rows do not overlap.
    pub fn rule(&mut self, x: f64, text: impl Into<String>, row: usize, colour: Colour) {
        self.marks.push(Mark::Rule { x, text: text.into(), row, colour });
    }

    /// The area for marks within `outer`: without titles, tick labels and names.
    fn inner(&self, outer: Area) -> Area {
        // Requests as many ticks as there is room for, to find the widest label.
        let room = (outer.height / TICK_ROOM.1) as usize;
        let longest = self.y.ticks(room).iter().map(|(_, text)| text.chars().count()).max();
        let left = LEFT.max(longest.unwrap_or(0) as f64 * CHARACTER_PX + 32.0);
        let right = if self.bar.is_some() { BAR } else { RIGHT };
        Area {
            left: outer.left + left,
            top: outer.top + TITLE,
            width: outer.width - left - right,
            height: outer.height - TITLE - BOTTOM,
        }
    }

    pub(super) fn shapes(&self, outer: Area, shapes: &mut Vec<Shape>) {
        let area = self.inner(outer);
        self.axes(outer, area, shapes);
        for mark in &self.marks {
            self.mark(mark, area, shapes);
        }
        let (right, bottom) = (area.left + area.width, area.top + area.height);
        shapes.push(Shape::Line {
            points: vec![(area.left, area.top), (area.left, bottom), (right, bottom)],
            colour: GREY,
            width: 1.0,
            is_dashed: false,
        });
        if let Some(bar) = &self.bar {
            bar.shapes(area, shapes);
        }
    }

    fn axes(&self, outer: Area, area: Area, shapes: &mut Vec<Shape>) {
        let text = |at, text: &str, style| Shape::Text { at, text: text.to_owned(), style };
        let title = Style { is_bold: true, ..Style::new(Anchor::Start, INK) };
        shapes.push(text((area.left, outer.top + 11.0), &self.title, title));
        let (right, bottom) = (area.left + area.width, area.top + area.height);
        let grid = |points| Shape::Line { points, colour: GRID, width: 1.0, is_dashed: false };
        for (value, number) in self.x.ticks((area.width / TICK_ROOM.0) as usize) {
            let x = area.left + self.x.share(value) * area.width;
            shapes.push(grid(vec![(x, area.top), (x, bottom)]));
            shapes.push(text((x, bottom + 14.0), &number, Style::new(Anchor::Middle, LABEL)));
        }
        for (value, number) in self.y.ticks((area.height / TICK_ROOM.1) as usize) {
            let y = bottom - self.y.share(value) * area.height;
            shapes.push(grid(vec![(area.left, y), (right, y)]));
            shapes.push(text((area.left - 6.0, y), &number, Style::new(Anchor::End, LABEL)));
        }
        let name = Style::new(Anchor::Middle, INK);
        shapes.push(text((area.left + area.width / 2.0, bottom + 31.0), &self.x.name, name));
        let upright = Style { is_upright: true, ..name };
        shapes.push(text((outer.left + 10.0, area.top + area.height / 2.0), &self.y.name, upright));
    }

    fn mark(&self, mark: &Mark, area: Area, shapes: &mut Vec<Shape>) {
        let bottom = area.top + area.height;
        let x = |value: f64| area.left + self.x.share(value).clamp(0.0, 1.0) * area.width;
        let y = |value: f64| bottom - self.y.share(value).clamp(0.0, 1.0) * area.height;
        match mark {
            Mark::Line { points, colour } => shapes.push(Shape::Line {
                points: points.iter().map(|p| (x(p.0), y(p.1))).collect(),
                colour: *colour,
                width: 1.5,
                is_dashed: false,
            }),
            Mark::Band { points, colour } => {
                let upper = points.iter().map(|p| (x(p.0), y(p.2)));
                let lower = points.iter().rev().map(|p| (x(p.0), y(p.1)));
                let points = upper.chain(lower).collect();
                shapes.push(Shape::Outline { points, colour: *colour, opacity: 0.25 });
            }
            Mark::Bars { bars, colour } => {
                for (from, to, height) in bars.iter().filter(|bar| bar.2 > 0.0) {
                    let (left, top) = (x(*from), y(*height));
                    // A bar with any content is at least one pixel high.
                    let tall = (bottom - top).max(1.0);
                    let area = [left, bottom - tall, (x(*to) - left).max(1.0), tall];
                    shapes.push(Shape::Fill { area, colour: *colour });
                }
            }
            Mark::Dots { points, size_px } => {
                let inside = |share: f64| (0.0..=1.0).contains(&share);
                let shown = points
                    .iter()
                    .filter(|p| inside(self.x.share(p.0)) && inside(self.y.share(p.1)));
                for (px, py, colour) in shown {
                    let middle = (x(*px), y(*py));
                    match shapes.last_mut() {
                        Some(Shape::Dots { middles, size, colour: last })
                            if (*size, *last) == (*size_px, *colour) =>
                        {
                            middles.push(middle);
                        }
                        _ => shapes.push(Shape::Dots {
                            middles: vec![middle],
                            size: *size_px,
                            colour: *colour,
                        }),
                    }
                }
            }
            Mark::Rule { x: place, text, row, colour } => {
                let place = x(*place);
                let points = vec![(place, area.top), (place, bottom)];
                shapes.push(Shape::Line { points, colour: *colour, width: 1.0, is_dashed: true });
                let width = text.chars().count() as f64 * CHARACTER_PX;
                let (at, anchor) = match place + 5.0 + width > area.left + area.width {
                    true => (place - 5.0, Anchor::End),
                    false => (place + 5.0, Anchor::Start),
                };
                let style = Style { has_halo: true, ..Style::new(anchor, *colour) };
                let at = (at, area.top + 10.0 + *row as f64 * 15.0);
                shapes.push(Shape::Text { at, text: text.clone(), style });
            }
        }
    }
}

impl ColourBar {
    /// Adds the bar's shapes, to the right of `area`.
    fn shapes(&self, area: Area, shapes: &mut Vec<Shape>) {
        let (left, bottom) = (area.left + area.width + 12.0, area.top + area.height);
        let steps = area.height as usize;
        for step in 0..steps {
            let colour = self.colours.at(step as f64 / (steps - 1).max(1) as f64);
            let area = [left, bottom - step as f64 - 1.0, BAR_WIDTH, 1.0];
            shapes.push(Shape::Fill { area, colour });
        }
        for (share, number) in &self.ticks {
            let at = (left + BAR_WIDTH + 4.0, bottom - share * area.height);
            let style = Style::new(Anchor::Start, LABEL);
            shapes.push(Shape::Text { at, text: number.clone(), style });
        }
        let at = (left + 62.0, area.top + area.height / 2.0);
        let style = Style { is_upright: true, ..Style::new(Anchor::Middle, INK) };
        shapes.push(Shape::Text { at, text: self.name.to_owned(), style });
    }
}
