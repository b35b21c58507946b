//! The picture of `menura validate vepd`: the first drive's speeds, and histograms of all drives.

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::text::Alignment;
use image::RgbImage;

use super::metrics::Series;
use super::{Comparison, Drives, Group, Vepd, recorded, table};
use crate::plot::canvas::{Canvas, LARGE, MEDIUM, SMALL};

const WIDTH: i32 = 1320;
const LEFT: i32 = 60;
const HEAD: i32 = 140;
const SPEEDS: (i32, i32) = (370, 240);
const BARS: (i32, i32) = (520, 70);
const GAP: i32 = 50;
const LABEL: i32 = 160;
const PAPER: Rgb888 = Rgb888::new(250, 250, 247);
const INK: Rgb888 = Rgb888::new(40, 40, 45);
const GRID: Rgb888 = Rgb888::new(220, 222, 226);
const TRUTH: Rgb888 = Rgb888::new(150, 150, 155);
const COLOURS: [Rgb888; 7] = [
    Rgb888::new(50, 140, 70),
    Rgb888::new(220, 120, 40),
    Rgb888::new(130, 90, 180),
    Rgb888::new(60, 120, 200),
    Rgb888::new(200, 50, 60),
    Rgb888::new(110, 80, 50),
    Rgb888::new(30, 160, 160),
];
const REFERENCE: Rgb888 = Rgb888::new(30, 30, 35);
const BINS: usize = 48;

/// One number of each drive.
type Measure = fn(&Drives) -> Vec<f64>;

/// A rectangle with scales of its own.
struct Frame {
    at: (i32, i32),
    size: (i32, i32),
    x: [f64; 2],
    y: [f64; 2],
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> (i32, i32) {
        let share = |v: f64, [low, high]: [f64; 2]| ((v - low) / (high - low)).clamp(0.0, 1.0);
        let right = (share(x, self.x) * f64::from(self.size.0)).round() as i32;
        let up = (share(y, self.y) * f64::from(self.size.1)).round() as i32;
        (self.at.0 + right, self.at.1 + self.size.1 - up)
    }

    fn axes(&self, canvas: &mut Canvas, digits: usize) {
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let x = self.x[0] + (self.x[1] - self.x[0]) * share;
            let (place, bottom) = self.place(x, self.y[0]);
            canvas.line((place, self.at.1), (place, bottom), GRID);
            let text = format!("{x:.digits$}");
            canvas.text(&text, (place, bottom + 9), SMALL, INK, Alignment::Center);
        }
        let bottom = self.at.1 + self.size.1;
        canvas.line((self.at.0, bottom), (self.at.0 + self.size.0, bottom), INK);
    }
}

/// Draws everything.
pub fn draw(options: &Vepd, comparison: &Comparison) -> RgbImage {
    let groups: Vec<(&Group, Rgb888)> =
        comparison.groups.iter().zip(COLOURS).chain([(&comparison.reference, REFERENCE)]).collect();
    let rows_from = HEAD + SPEEDS.1 + 90;
    let height = rows_from + groups.len() as i32 * (BARS.1 + GAP);
    let mut canvas = Canvas::new(WIDTH as u32, height as u32, PAPER);
    canvas.text("Speed as the judge estimates it", (LEFT, 20), LARGE, INK, Alignment::Left);
    for (line, text) in (0..).zip(table::preamble(options, comparison)) {
        canvas.text(&text, (LEFT, 44 + line * 14), MEDIUM, INK, Alignment::Left);
    }
    speeds(&mut canvas, comparison, &groups);
    let columns: [(&str, Measure); 2] = [
        ("RMSE of the speed, m/s: drives of all courses", Drives::rmse_m_s),
        ("difference of Wiener entropies: drives of all courses", Drives::flatness_differences),
    ];
    for (column, (title, of)) in (0..).zip(columns) {
        let left = LABEL + column * (BARS.0 + GAP);
        canvas.text(title, (left, rows_from - 16), MEDIUM, INK, Alignment::Left);
        histograms(&mut canvas, (left, rows_from), comparison, &groups, of);
    }
    for (row, (group, colour)) in (0..).zip(&groups) {
        let y = rows_from + row * (BARS.1 + GAP) + BARS.1 / 2;
        let name = group.name.rsplit('/').find(|part| !part.is_empty()).unwrap_or("");
        let name: String = name.chars().take(17).collect();
        canvas.text(&name, (12, y), MEDIUM, *colour, Alignment::Left);
    }
    canvas.0
}

fn speeds(canvas: &mut Canvas, comparison: &Comparison, groups: &[(&Group, Rgb888)]) {
    for (column, course) in (0..).zip(&comparison.courses) {
        let left = LEFT + column * (SPEEDS.0 + GAP);
        let examples: Vec<_> =
            groups.iter().map(|(group, colour)| (&group.courses[course].example, colour)).collect();
        let top = |series: &Series| series.values.iter().copied().fold(0.0, f64::max);
        let end = |series: &Series| series.times_s.last().copied().unwrap_or(0.0);
        let all = || examples.iter().flat_map(|(drive, _)| [&drive.estimated, &drive.truth]);
        let frame = Frame {
            at: (left, HEAD + 24),
            size: SPEEDS,
            x: [0.0, all().map(end).fold(1.0, f64::max)],
            y: [0.0, all().map(top).fold(0.1, f64::max) * 1.05],
        };
        let title = format!("{}, first drive: speed, m/s, over s", recorded::name_of(*course));
        canvas.text(&title, (left, HEAD + 10), MEDIUM, INK, Alignment::Left);
        frame.axes(canvas, 0);
        for step in 0..=4 {
            let speed = frame.y[1] * f64::from(step) / 4.0;
            let (_, y) = frame.place(0.0, speed);
            canvas.text(&format!("{speed:.2}"), (left - 4, y), SMALL, INK, Alignment::Right);
        }
        // The reference's truth is the first groups' too, unless it was recorded.
        for (drive, colour) in examples.iter().rev() {
            curve(canvas, &frame, &drive.truth, TRUTH);
            curve(canvas, &frame, &drive.estimated, **colour);
        }
    }
}

fn curve(canvas: &mut Canvas, frame: &Frame, series: &Series, colour: Rgb888) {
    let places: Vec<_> =
        series.times_s.iter().zip(&series.values).map(|(t, v)| frame.place(*t, *v)).collect();
    for pair in places.windows(2) {
        canvas.line(pair[0], pair[1], colour);
    }
}

fn histograms(
    canvas: &mut Canvas,
    (left, top): (i32, i32),
    comparison: &Comparison,
    groups: &[(&Group, Rgb888)],
    of: Measure,
) {
    let values: Vec<Vec<f64>> =
        groups.iter().map(|(group, _)| group.all(&comparison.courses, of)).collect();
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let high = (most * 1.02).max(1e-6);
    let digits = (1.5 - libm::log10(high)).ceil().clamp(0.0, 6.0) as usize;
    for (row, (values, (_, colour))) in (0..).zip(values.iter().zip(groups)) {
        let mut counts = [0u32; BINS];
        for value in values {
            counts[((value / high * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        let tallest = counts.iter().copied().max().unwrap_or(1).max(1);
        let frame = Frame {
            at: (left, top + row * (BARS.1 + GAP)),
            size: BARS,
            x: [0.0, high],
            y: [0.0, f64::from(tallest)],
        };
        frame.axes(canvas, digits);
        let text = format!("{tallest}");
        canvas.text(&text, (left - 4, frame.at.1 + 4), SMALL, INK, Alignment::Right);
        for (bin, count) in (0..).zip(counts) {
            let from = frame.place(high * f64::from(bin) / BINS as f64, f64::from(count));
            let to = frame.place(high * f64::from(bin + 1) / BINS as f64, 0.0);
            let size = ((to.0 - from.0 - 1).max(1) as u32, (to.1 - from.1) as u32);
            canvas.fill(from, size, *colour);
        }
    }
}
