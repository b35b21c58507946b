//! Axes: scales and their tick labels.

/// One axis of a panel.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name of the axis, with the unit.
    pub(super) name: String,
    /// Value at the start of the axis, converted by `scale`, for example to a logarithm.
    start: f64,
    /// Value at the end of the axis, converted by `scale`; may be smaller than `start`.
    end: f64,
    scale: Scale,
    ticks: Option<Vec<(f64, String)>>,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear,
    Logarithmic,
    /// Logarithmic for positive and negative values, nearly linear around 0; see [`Axis::signed`].
    Signed,
}

impl Scale {
    fn steps(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => libm::log10(value.max(1e-300)),
            Self::Signed => libm::log10(1.0 + value.abs()).copysign(value),
        }
    }
}

impl Axis {
    /// A linear axis from `start` to `end`, which may be smaller than `start`. If `end` equals `start` or is not
    /// finite, the axis ends at `start` + 1.
    pub fn linear(name: &str, start: f64, end: f64) -> Self {
        let end = if start == end || !end.is_finite() { start + 1.0 } else { end };
        Self { name: name.to_owned(), start, end, scale: Scale::Linear, ticks: None }
    }

    /// A logarithmic axis whose ends are powers of ten: the first is at most `least`, the last at least `most`. The
    /// axis covers at least one decade.
    pub fn logarithmic(name: &str, least: f64, most: f64) -> Self {
        let start = libm::floor(Scale::Logarithmic.steps(least));
        let end = libm::ceil(Scale::Logarithmic.steps(most)).max(start + 1.0);
        Self { name: name.to_owned(), start, end, scale: Scale::Logarithmic, ticks: None }
    }

    /// A logarithmic axis for both signs: powers of ten and 0, nearly linear between -1 and 1. Its ends are powers of
    /// ten, or 0 as its start, and enclose `least` and `most`. It covers at least 0 to 1.
    pub fn signed(name: &str, least: f64, most: f64) -> Self {
        let reach = |size: f64| libm::pow(10.0, libm::ceil(libm::log10(size.max(1.0))));
        let start = if least < 0.0 { Scale::Signed.steps(-reach(-least)) } else { 0.0 };
        let end = Scale::Signed.steps(reach(most));
        Self { name: name.to_owned(), start, end, scale: Scale::Signed, ticks: None }
    }

    /// Replaces the ticks by the given values, each with its label.
    pub fn with_ticks(mut self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        self.ticks = Some(ticks.into_iter().collect());
        self
    }

    /// Position of a value on the axis: 0 at the start, 1 at the end, below 0 or above 1 outside.
    pub(super) fn share(&self, value: f64) -> f64 {
        (self.scale.steps(value) - self.start) / (self.end - self.start)
    }

    /// Ticks with their labels; `room` is their approximate number.
    pub(super) fn ticks(&self, room: usize) -> Vec<(f64, String)> {
        if let Some(ticks) = &self.ticks {
            return ticks.clone();
        }
        let power = |n: i32| libm::pow(10.0, n.into());
        let values = match self.scale {
            Scale::Linear => return linear_ticks(self.start, self.end, room),
            Scale::Logarithmic => {
                let (first, last) = (self.start as i32, self.end as i32);
                let every = ((last - first) as usize / room.max(1) + 1).min(9);
                (first..=last).step_by(every).map(power).collect::<Vec<_>>()
            }
            Scale::Signed => {
                let below = (0..=(-self.start) as i32).rev().map(|n| -power(n));
                let below = below.filter(|_| self.start < 0.0);
                below.chain([0.0]).chain((0..=self.end as i32).map(power)).collect()
            }
        };
        values.into_iter().map(|value| (value, shown(value))).collect()
    }
}

/// Round numbers between `start` and `end`; `room` is their approximate number.
pub(super) fn linear_ticks(start: f64, end: f64, room: usize) -> Vec<(f64, String)> {
    let (least, most) = (start.min(end), start.max(end));
    let rough = (most - least) / room.max(1) as f64;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let step = [1.0, 2.0, 2.5, 5.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let nearly = step * 1e-6;
    let first = libm::ceil((least - nearly) / step) as i64;
    let last = libm::floor((most + nearly) / step) as i64;
    // All labels have the number of decimals that the step needs.
    let decimals = (0..9).find(|n| {
        let scaled = step * libm::pow(10.0, f64::from(*n));
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    });
    let decimals = decimals.unwrap_or(9) as usize;
    (first..=last)
        .map(|n| {
            let value = n as f64 * step;
            let is_large = most.abs().max(least.abs()) >= 1e4;
            (value, if is_large { shown(value) } else { format!("{value:.decimals$}") })
        })
        .collect()
}

/// Text of a tick's value.
fn shown(value: f64) -> String {
    let size = value.abs();
    if size > 0.0 && size < 0.999e-3 {
        return format!("1e{}", libm::round(libm::log10(size)));
    }
    for (from, scale, letter) in [(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")] {
        if size >= from {
            return format!("{}{letter}", (value / scale * 1e3).round() / 1e3);
        }
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: &Axis, room: usize) -> Vec<f64> {
        axis.ticks(room).into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn axes_have_ticks_where_people_expect_them() {
        let axis = Axis::logarithmic("", 0.3, 2500.0);
        assert_eq!(values(&axis, 9), [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert!(Axis::logarithmic("", 0.0, 0.0).ticks(9).len() >= 2);
        assert_eq!(values(&Axis::linear("", 0.0, 10.0), 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        // Larger values on the left, as for the left side of a robot.
        assert_eq!(values(&Axis::linear("", 2.0, -2.0), 4), [-2.0, -1.0, 0.0, 1.0, 2.0]);
        assert_eq!(values(&Axis::signed("", 0.0, 30.0), 9), [0.0, 1.0, 10.0, 100.0]);
        let signed = Axis::signed("", -3.0, 0.5);
        assert_eq!(values(&signed, 9), [-10.0, -1.0, 0.0, 1.0]);
        assert_eq!((signed.share(-10.0), signed.share(1.0)), (0.0, 1.0));
        assert!(signed.share(-1.0) < signed.share(0.0));
    }

    #[test]
    fn numbers_have_the_decimals_that_their_step_needs() {
        let labels = |axis: Axis| axis.ticks(4).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels(Axis::linear("", 0.0, 1.0)), ["0.00", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(labels(Axis::linear("", 0.0, 40_000.0)), ["0", "10k", "20k", "30k", "40k"]);
        assert_eq!(labels(Axis::logarithmic("", 1e-5, 1e-2)), ["1e-5", "1e-4", "0.001", "0.01"]);
    }
}
