//! Charts as SVG, to stand in a page or alone.

use std::fmt::Write;

/// Colours that people who see few colours tell apart, and printers too.
pub const BLUE: &str = "#1f6fb4";
/// Second of a chart.
pub const ORANGE: &str = "#d9730d";
const GREY: &str = "#8a8f98";

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// A direction of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Where it starts and ends, in the scale's steps.
    least: f64,
    most: f64,
    scale: Scale,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear,
    Logarithmic,
    /// Powers of ten on either side of 0.
    Signed,
}

impl Scale {
    fn steps(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => libm::log10(value.max(1e-9)),
            Self::Signed => libm::log10(1.0 + value.abs()).copysign(value),
        }
    }
}

impl Axis {
    /// Powers of ten, from one that is no more than `least` to one that is no less than `most`.
    pub fn logarithmic(least: f64, most: f64) -> Self {
        let least = libm::floor(libm::log10(least.max(1e-3)));
        let most = libm::ceil(libm::log10(most.max(1e-3))).max(least + 1.0);
        Self { least, most, scale: Scale::Logarithmic }
    }

    /// Powers of ten and 0, from 0 or below to 1 or above: nearly linear within 1 of 0. Reaches to
    /// the power beyond `least` and beyond `most`.
    pub fn signed(least: f64, most: f64) -> Self {
        let reach = |size: f64| libm::pow(10.0, libm::ceil(libm::log10(size.max(1.0))));
        let steps = |value: f64| Scale::Signed.steps(value);
        let least = if least < 0.0 { steps(-reach(-least)) } else { 0.0 };
        Self { least, most: steps(reach(most)), scale: Scale::Signed }
    }

    /// Equal steps from 0 to `most`.
    pub fn linear(most: f64) -> Self {
        Self { least: 0.0, most: most.max(1e-9), scale: Scale::Linear }
    }

    /// 0 at the axis' start, 1 at its end.
    fn share(self, value: f64) -> f64 {
        ((self.scale.steps(value) - self.least) / (self.most - self.least)).clamp(0.0, 1.0)
    }

    fn ticks(self) -> Vec<f64> {
        let power = |n: i32| libm::pow(10.0, n.into());
        match self.scale {
            Scale::Linear => {
                let rough = self.most / 8.0;
                let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
                let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
                let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power);
                (0..=(self.most / step) as i32).map(|n| f64::from(n) * step).collect()
            }
            Scale::Logarithmic => (self.least as i32..=self.most as i32).map(power).collect(),
            Scale::Signed => {
                let down = (0..=(-self.least) as i32).rev().map(|n| -power(n));
                let down = down.filter(|_| self.least < 0.0);
                down.chain([0.0]).chain((0..=self.most as i32).map(power)).collect()
            }
        }
    }
}

/// An SVG drawing with two axes.
pub struct Chart {
    across: Axis,
    up: Axis,
    svg: String,
}

impl Chart {
    /// Empty, with its axes named.
    pub fn new(across: Axis, across_name: &str, up: Axis, up_name: &str) -> Self {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        let mut chart = Self { across, up, svg: String::new() };
        for tick in across.ticks() {
            let x = chart.x(tick);
            let bottom = HEIGHT - BOTTOM;
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#e3e6ea\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{GREY}\">{}</text>",
                bottom + 14.0,
                plain(tick),
            );
        }
        for tick in up.ticks() {
            let y = chart.y(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#e3e6ea\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{GREY}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                plain(tick),
            );
        }
        let middle = TOP + (HEIGHT - TOP - BOTTOM) / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
            HEIGHT - 10.0,
            escape(across_name),
            escape(up_name),
        );
        chart.svg = svg;
        chart
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.across.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.up.share(value) * (HEIGHT - TOP - BOTTOM)
    }

    /// A line through points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, colour: &str) {
        let path = self.path(points);
        let _ = writeln!(
            self.svg,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        );
    }

    /// The area between two lines over the same places: (across, lower, upper).
    pub fn band(&mut self, points: &[(f64, f64, f64)], colour: &str) {
        let upper = points.iter().map(|(x, _, y)| (*x, *y));
        let lower = points.iter().rev().map(|(x, y, _)| (*x, *y));
        let path = self.path(upper.chain(lower));
        let _ = writeln!(
            self.svg,
            "<polygon points=\"{path}\" fill=\"{colour}\" fill-opacity=\"0.25\" stroke=\"none\"/>"
        );
    }

    /// A line from bottom to top with a word beside it; `row` keeps words apart.
    pub fn mark(&mut self, across: f64, word: &str, row: usize, colour: &str) {
        let x = self.x(across);
        let y = TOP + 10.0 + row as f64 * 13.0;
        // Where there is no room on the right, on the left.
        let (beside, anchor) = match x > 0.8 * WIDTH {
            true => (x - 4.0, "end"),
            false => (x + 4.0, "start"),
        };
        let _ = writeln!(
            self.svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-dasharray=\"4 3\"/><text x=\"{beside:.1}\" y=\"{y:.1}\" \
             text-anchor=\"{anchor}\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"3\" \
             paint-order=\"stroke\">{}</text>",
            HEIGHT - BOTTOM,
            escape(word),
        );
    }

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (across, up) in points {
            let _ = write!(path, "{:.1},{:.1} ", self.x(across), self.y(up));
        }
        path
    }

    /// The drawing.
    pub fn finish(self) -> String {
        self.svg + "</svg>\n"
    }
}

/// A histogram as steps: for each of ten parts of a power of ten that holds something, its bounds
/// and its count. Takes upper bounds in nanoseconds and counts; bounds come in microseconds.
pub fn decades(histogram: &[(u64, u64)]) -> Vec<(f64, f64, u64)> {
    let mut parts: Vec<(i32, u64)> = Vec::new();
    for (size_ns, count) in histogram {
        let part = libm::floor(libm::log10(*size_ns as f64 / 1e3) * 10.0) as i32;
        match parts.last_mut() {
            Some((last, sum)) if *last == part => *sum += count,
            _ => parts.push((part, *count)),
        }
    }
    let bound = |part: i32| libm::pow(10.0, f64::from(part) / 10.0);
    parts.into_iter().map(|(part, count)| (bound(part), bound(part + 1), count)).collect()
}

/// Text that stands in HTML and SVG as it is.
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

/// A number of a scale.
fn plain(value: f64) -> String {
    for (from, scale, letter) in [(1e6, 1e6, "M"), (1e4, 1e3, "k")] {
        if value >= from {
            return format!("{}{letter}", (value / scale * 1e3).round() / 1e3);
        }
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_ticks_where_people_expect_them() {
        assert_eq!(
            Axis::logarithmic(0.3, 2500.0).ticks(),
            [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0]
        );
        assert_eq!(Axis::linear(10.0).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis::linear(600.0).ticks().len(), 7);
        assert!(Axis::logarithmic(0.0, 0.0).ticks().len() >= 2);
        assert_eq!(Axis::signed(0.0, 30.0).ticks(), [0.0, 1.0, 10.0, 100.0]);
        let signed = Axis::signed(-3.0, 0.5);
        assert_eq!(signed.ticks(), [-10.0, -1.0, 0.0, 1.0]);
        assert_eq!((signed.share(-10.0), signed.share(1.0)), (0.0, 1.0));
        assert!(signed.share(-1.0) < signed.share(0.0));
    }

    #[test]
    fn histograms_are_gathered_by_tenths_of_decades() {
        let parts = decades(&[(1000, 5), (1100, 2), (10_000, 1)]);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].2, 7);
        assert!((parts[0].0 - 1.0).abs() < 1e-9 && (parts[1].0 - 10.0).abs() < 1e-9);
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("<a b='\"&'>"), "&lt;a b=&#39;&quot;&amp;&#39;&gt;");
    }
}
