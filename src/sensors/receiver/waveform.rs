//! Echoes in the sum of the returning pulses.
//!
//! The shape of a laser pulse over range is a squared sine (Hahner et al. 2021). Each reflecting point returns a
//! copy: `y(x) = sum s_i cos²(pi (x - r_i) / (2 w))` for `|x - r_i| < w`. Here `w` is the pulse's width at half
//! height as a distance, c times its duration divided by two. In an interval where the same copies overlap, y is
//! again a cosine: `(S + |Z| cos(pi x / w - arg Z)) / 2` with `S = sum s_i` and `Z = sum s_i exp(i pi r_i / w)`.
//! Maxima and minima are therefore computed without sampling.

use std::f32::consts::PI;

use fearless_simd::{Level, dispatch};

use crate::sensors::sincos::sincos;

/// Light from one point that arrives at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Arrival {
    /// Distance of the point, metres.
    pub range_m: f32,
    /// Height of the point's pulse, relative to the return of a white surface at 1 m.
    pub signal: f32,
}

/// A maximum of the sum of pulses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sensors) struct Peak {
    /// Distance of the maximum, metres.
    pub range_m: f32,
    /// Height of the maximum, in the unit of [`Arrival::signal`].
    pub signal: f32,
}

/// Buffers for [`peaks`].
#[derive(Debug, Default)]
pub(super) struct Buffers {
    arrivals: Vec<Phased>,
    edges: Vec<Edge>,
}

/// Signal of an arrival, and real and imaginary part of the arrival's term in `Z` (see the module).
#[derive(Clone, Copy, Debug)]
struct Phased {
    signal: f64,
    re: f64,
    im: f64,
}

/// Start or end of an arrival's pulse.
#[derive(Clone, Copy, Debug)]
struct Edge {
    x_m: f64,
    /// `S` of the pulses that overlap between this edge and the next one; `re` and `im` are the real and the imaginary
    /// part of their `Z`.
    sum: f64,
    re: f64,
    im: f64,
    /// Signal of the arrival, and the slope of the sum at this edge times this signal, up to a constant factor.
    signal: f64,
    slope_by_signal: f64,
}

/// Two maxima form one echo if the sum between them does not fall below this share of the lower maximum. With pulses of
/// 6 ns, equal echoes are then separate from a distance of 1.02 m on; Velodyne's manuals state 1 m.
const VALLEY: f32 = 0.8;

/// If all arrivals are within this share of the pulse width, the mean of their ranges, weighted by their signals, is
/// used as the range of the echo. The error is less than 1/6000 of the pulse width.
pub(super) const NARROW: f32 = 0.1;

/// Number of phases that are computed together.
const PHASES: usize = 16;

/// If all arrivals are within this share of the pulse width, their phases relative to the mean are at most π/2.
pub(super) const SHORT: f32 = 0.5;

/// Echo of `arrivals`, which must all be within one pulse width `width_m`, a positive number. Their sum has only one
/// maximum: it increases until all pulses have begun, and decreases after the first has ended. `span_m` is the distance
/// between the nearest arrival, at `nearest_m`, and the farthest. `None` if no arrival has a signal.
#[inline]
pub(super) fn single_peak(
    arrivals: &[Arrival],
    nearest_m: f32,
    span_m: f32,
    width_m: f32,
) -> Option<Peak> {
    let (mut sum, mut moment, mut square) = (0.0f32, 0.0f32, 0.0f32);
    for arrival in arrivals {
        let behind = arrival.range_m - nearest_m;
        sum += arrival.signal;
        moment += arrival.signal * behind;
        square += arrival.signal * behind * behind;
    }
    if sum <= 0.0 {
        return None;
    }
    let mean = moment / sum;
    let scale = PI / width_m;
    if span_m <= NARROW * width_m {
        let [range_m, signal] = narrow_peak(nearest_m, [sum, moment, square], width_m);
        return Some(Peak { range_m, signal });
    }
    let (mut re, mut im) = (0.0f32, 0.0f32);
    for arrival in arrivals {
        let angle = (arrival.range_m - nearest_m - mean) * scale;
        let (sin, cos) =
            if span_m <= SHORT * width_m { short_sincos(angle) } else { libm::sincosf(angle) };
        re += arrival.signal * cos;
        im += arrival.signal * sin;
    }
    Some(spread_peak(nearest_m + mean, sum, [re, im], width_m))
}

/// Echo of arrivals whose signals add up to `sum`. `mean_m` is the mean of their ranges, weighted by the signals; `re`
/// and `im` are the parts of `Z`, with ranges relative to the mean.
#[inline]
pub(super) fn spread_peak(mean_m: f32, sum: f32, [re, im]: [f32; 2], width_m: f32) -> Peak {
    let height = (re * re + im * im).sqrt();
    // Two equal pulses with a distance of one width have a flat top; its middle is used.
    let aside = if height > 1e-4 * sum { libm::atan2f(im, re) / (PI / width_m) } else { 0.0 };
    Peak { range_m: mean_m + aside, signal: 0.5 * (sum + height) }
}

/// Range (metres) and signal of the echo if all arrivals are within [`NARROW`] of the pulse width `width_m`. The
/// nearest arrival is at `nearest_m`. `sum` is the sum of the signals, `moment` the sum of signal times distance behind
/// the nearest arrival, and `square` the sum of signal times this distance squared.
#[inline(always)]
pub(super) fn narrow_peak(
    nearest_m: f32,
    [sum, moment, square]: [f32; 3],
    width_m: f32,
) -> [f32; 2] {
    let mean = moment / sum;
    let scale = PI / width_m;
    let variance = square / sum - mean * mean;
    let variance = if variance > 0.0 { variance } else { 0.0 };
    // (S + |Z|) / 2, expanded to the second order of the spread.
    [nearest_m + mean, sum * (1.0 - 0.25 * scale * scale * variance)]
}

/// Sine and cosine of `angle`, radians, from -π/2 to π/2; error at most 2e-6.
#[inline(always)]
pub(super) fn short_sincos(angle: f32) -> (f32, f32) {
    let square = angle * angle;
    let sin = angle
        * (1.0
            - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))));
    let cos = 1.0
        - square / 2.0
            * (1.0
                - square / 12.0
                    * (1.0 - square / 30.0 * (1.0 - square / 56.0 * (1.0 - square / 90.0))));
    (sin, cos)
}

/// Calls `seen` with the echoes in the sum of `arrivals`, nearest first. Maxima of one echo are merged: the echo's
/// range is the mean of their ranges, weighted by their heights; its signal is the greatest height. `width_m` must be
/// positive, and `arrivals` sorted by range.
pub(super) fn peaks(
    arrivals: &[Arrival],
    width_m: f32,
    buffers: &mut Buffers,
    mut seen: impl FnMut(Peak),
) {
    // Pulses two widths apart do not overlap. Groups are therefore independent, and most are narrow.
    let mut rest = arrivals;
    while let Some(first) = rest.first() {
        let is_apart = |pair: &[Arrival]| pair[1].range_m - pair[0].range_m >= 2.0 * width_m;
        let count = rest.windows(2).position(is_apart).map_or(rest.len(), |place| place + 1);
        let (group, farther) = rest.split_at(count);
        let span_m = group[count - 1].range_m - first.range_m;
        if span_m <= width_m {
            single_peak(group, first.range_m, span_m, width_m).into_iter().for_each(&mut seen);
        } else {
            overlapping_peaks(group, width_m, buffers, &mut seen);
        }
        rest = farther;
    }
}

/// Implements [`peaks`] for arrivals that overlap.
fn overlapping_peaks(
    arrivals: &[Arrival],
    width_m: f32,
    buffers: &mut Buffers,
    seen: &mut impl FnMut(Peak),
) {
    let width = f64::from(width_m);
    let scale = std::f64::consts::PI / width;
    let Buffers { arrivals: phased, edges } = buffers;
    phased.clear();
    edges.clear();
    let Some(first) = arrivals.first() else { return };
    let origin = f64::from(first.range_m);
    let level = Level::new();
    for arrivals in arrivals.chunks(PHASES) {
        let (mut angles, mut sin, mut cos) = ([0.0; PHASES], [0.0; PHASES], [0.0; PHASES]);
        for (angle, arrival) in angles.iter_mut().zip(arrivals) {
            *angle = (f64::from(arrival.range_m) - origin) * scale;
        }
        dispatch!(level, _simd => sincos(&angles, &mut sin, &mut cos));
        for (arrival, (sin, cos)) in arrivals.iter().zip(sin.into_iter().zip(cos)) {
            let signal = f64::from(arrival.signal);
            phased.push(Phased { signal, re: signal * cos, im: signal * sin });
        }
    }
    let (mut sum, mut re, mut im) = (0.0f64, 0.0f64, 0.0f64);
    let (mut begun, mut ended) = (0, 0);
    while ended < arrivals.len() {
        let ends_m = f64::from(arrivals[ended].range_m) + width;
        // A pulse that begins where another one ends comes second.
        let begins_m = arrivals.get(begun).map(|next| f64::from(next.range_m) - width);
        let begins_m = begins_m.filter(|begins_m| *begins_m < ends_m);
        let place = if begins_m.is_some() { &mut begun } else { &mut ended };
        let Phased { signal, re: part_re, im: part_im } = phased[*place];
        *place += 1;
        let sign = if begins_m.is_some() { 1.0 } else { -1.0 };
        sum += sign * signal;
        re += sign * part_re;
        im += sign * part_im;
        // A pulse begins and ends at a phase of ±180 degrees from its middle, where sine and cosine are known.
        let slope_by_signal = re * part_im - im * part_re;
        let x_m = begins_m.unwrap_or(ends_m);
        edges.push(Edge { x_m, sum, re, im, signal, slope_by_signal });
    }

    let turn = 2.0 * width;
    let mut group: Option<Group> = None;
    for pair in edges.windows(2) {
        let (edge, next) = (&pair[0], &pair[1]);
        let (from, to) = (edge.x_m, next.x_m);
        let (sum, re, im) = (edge.sum, edge.re, edge.im);
        let (ends, flat) = ([edge, next], 1e-9 * sum);
        // In an interval shorter than a phase of 180 degrees, slopes of the same sign at both ends exclude an extreme.
        let is_steady = ends.iter().all(|end| end.slope_by_signal > flat * end.signal)
            || ends.iter().all(|end| end.slope_by_signal < -flat * end.signal);
        if to <= from || to - from < width && is_steady {
            continue;
        }
        let height = (re * re + im * im).sqrt();
        // The first maximum of the cosine at or after the interval's start; for a flat one, its middle.
        let phase = if height > 1e-9 * sum {
            libm::atan2(im, re) / scale
        } else {
            0.5 * (from + to) - origin
        };
        let top = origin + phase;
        let top = top + ((from - top) / turn).ceil() * turn;
        let bottom = if top - width >= from { top - width } else { top + width };
        let mut extreme = |x: f64, is_top: bool| {
            if x >= to {
                return;
            }
            let y = (0.5 * (sum + if is_top { height } else { -height })) as f32;
            if !is_top {
                group.iter_mut().for_each(|group| group.valley = group.valley.min(y));
                return;
            }
            let peak = Peak { range_m: x as f32, signal: y };
            match &mut group {
                Some(group) if group.holds(&peak) => group.add(peak),
                _ => {
                    let ended = group.replace(Group::of(peak));
                    ended.iter().for_each(|group| seen(group.peak()));
                }
            }
        };
        if top <= bottom {
            extreme(top, true);
            extreme(bottom, false);
        } else {
            extreme(bottom, false);
            extreme(top, true);
        }
    }
    group.iter().for_each(|group| seen(group.peak()));
}

/// Maxima of one echo.
struct Group {
    /// Sum of range times height of the maxima.
    moment: f64,
    sum: f64,
    highest: f32,
    /// Height of the latest maximum.
    latest: f32,
    /// Least height of the sum since the latest maximum.
    valley: f32,
}

impl Group {
    fn of(peak: Peak) -> Self {
        let mut group =
            Self { moment: 0.0, sum: 0.0, highest: 0.0, latest: 0.0, valley: f32::INFINITY };
        group.add(peak);
        group
    }

    fn holds(&self, next: &Peak) -> bool {
        self.valley >= VALLEY * self.latest.min(next.signal)
    }

    fn add(&mut self, peak: Peak) {
        self.moment += f64::from(peak.range_m) * f64::from(peak.signal);
        self.sum += f64::from(peak.signal);
        self.highest = self.highest.max(peak.signal);
        self.latest = peak.signal;
        self.valley = f32::INFINITY;
    }

    fn peak(&self) -> Peak {
        Peak { range_m: (self.moment / self.sum) as f32, signal: self.highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(arrivals: &[Arrival], width_m: f32) -> Vec<Peak> {
        let mut found = Vec::new();
        peaks(arrivals, width_m, &mut Buffers::default(), |peak| found.push(peak));
        found
    }

    fn at(range_m: f32, signal: f32) -> Arrival {
        Arrival { range_m, signal }
    }

    fn sum_at(arrivals: &[Arrival], width: f64, x: f64) -> f64 {
        let copy = |a: &Arrival| {
            let off = x - f64::from(a.range_m);
            let cos = libm::cos(std::f64::consts::PI * off / (2.0 * width));
            if off.abs() < width { f64::from(a.signal) * cos * cos } else { 0.0 }
        };
        arrivals.iter().map(copy).sum()
    }

    #[test]
    fn equal_echoes_part_beyond_the_width() {
        // At 0.6 widths apart, two pulses are one echo at their mean. At 1.11 widths the valley is 0.82 and they are
        // still one echo. At 1.2 widths the valley is 0.69 and they are two echoes, each at its own range.
        for (apart, expected) in [
            (0.6, vec![10.3]),
            (1.0, vec![10.5]),
            (1.05, vec![10.525]),
            (1.11, vec![10.555]),
            (1.2, vec![10.0, 11.2]),
        ] {
            let found = all(&[at(10.0, 1.0), at(10.0 + apart, 1.0)], 1.0);
            let ranges: Vec<f32> = found.iter().map(|peak| peak.range_m).collect();
            assert_eq!(ranges.len(), expected.len(), "{apart}: {ranges:?}");
            for (range, expected) in ranges.iter().zip(expected) {
                assert!((range - expected).abs() < 1e-4, "{apart}: {ranges:?}");
            }
        }
    }

    #[test]
    fn a_weak_echo_behind_a_strong_one_shows_farther_off_than_an_equal_one() {
        for (apart, count) in [(1.2, 1), (1.5, 2), (2.5, 2)] {
            let found = all(&[at(10.0, 1.0), at(10.0 + apart, 0.1)], 1.0);
            assert_eq!(found.len(), count, "{apart}: {found:?}");
        }
    }

    #[test]
    fn what_lies_apart_is_not_joined() {
        let found = all(&[at(5.0, 0.2), at(9.0, 0.3), at(9.1, 0.3), at(40.0, 0.1)], 0.75);
        let ranges: Vec<f32> = found.iter().map(|peak| peak.range_m).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!((ranges[0] - 5.0).abs() < 1e-5 && (ranges[1] - 9.05).abs() < 1e-4);
        assert!((found[2].signal - 0.1).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn maxima_are_where_sampling_finds_them(
            places in prop::collection::vec((10.0f32..14.0, 0.05f32..1.0), 1..10),
            width_m in 0.3f32..1.6,
        ) {
            let mut arrivals: Vec<Arrival> = places.into_iter().map(|(r, s)| at(r, s)).collect();
            arrivals.sort_by(|a, b| a.range_m.total_cmp(&b.range_m));
            let width = f64::from(width_m);
            let found = all(&arrivals, width_m);
            prop_assert!(!found.is_empty());
            let step = 1e-3;
            let samples: Vec<f64> =
                (0..8000).map(|i| sum_at(&arrivals, width, 8.0 + step * f64::from(i))).collect();
            let highest = samples.iter().copied().fold(0.0, f64::max);
            let strongest = found.iter().map(|peak| f64::from(peak.signal)).fold(0.0, f64::max);
            prop_assert!((highest - strongest).abs() < 1e-4 * highest, "{highest} {strongest}");
            // The reference: maxima of the sampled sum, merged by the same rule.
            let mut groups = 0;
            let mut latest: Option<(f64, f64)> = None;
            let mut close = false;
            for i in 1..samples.len() - 1 {
                let y = samples[i];
                if let Some((_, valley)) = &mut latest { *valley = valley.min(y); }
                if y > samples[i - 1] && y >= samples[i + 1] {
                    let share = latest.map_or(0.0, |(height, valley)| valley / y.min(height));
                    close |= (share - 0.8).abs() < 1e-3;
                    if share < 0.8 { groups += 1; }
                    latest = Some((y, y));
                }
            }
            prop_assert!(close || groups == found.len(), "{groups} {found:?} {arrivals:?}");
        }

        #[test]
        fn near_ones_have_the_same_maximum_by_the_short_way(
            places in prop::collection::vec((10.0f32..11.0, 0.05f32..1.0), 1..10),
            narrow in 0.01f32..1.0,
        ) {
            let arrivals: Vec<Arrival> =
                places.into_iter().map(|(r, s)| at(10.0 + (r - 10.0) * narrow, s)).collect();
            let ranges = arrivals.iter().map(|a| a.range_m);
            let (low, high) = ranges.fold((f32::MAX, 0.0f32), |(l, h), r| (l.min(r), h.max(r)));
            let short = single_peak(&arrivals, low, high - low, 1.0).unwrap();
            let mut sorted = arrivals.clone();
            sorted.sort_by(|a, b| a.range_m.total_cmp(&b.range_m));
            let (mut long, mut buffers) = (Vec::new(), Buffers::default());
            overlapping_peaks(&sorted, 1.0, &mut buffers, &mut |peak| long.push(peak));
            prop_assert_eq!(long.len(), 1);
            prop_assert!((short.range_m - long[0].range_m).abs() < 3e-4, "{short:?} {long:?}");
            prop_assert!((short.signal / long[0].signal - 1.0).abs() < 1e-3, "{short:?} {long:?}");
        }
    }
}
