//! Detection of a pulse's returned light.
//!
//! The signal of a surface is its reflectance divided by the square of its distance. The datasheet's range for a
//! given reflectance determines the detection threshold. `docs/PHYSICS.md` has the equations with their sources.

mod errors;
mod gathered;
mod selection;
mod waveform;

pub(super) use self::errors::{Errors, laser_bias};
pub(super) use self::gathered::Gathered;
pub use self::selection::EchoSelection;
pub(super) use self::selection::of_one;

use std::cell::RefCell;

use self::selection::Candidates;
use self::waveform::{Arrival, Peak};
use super::noise::{Quantity, RequestNoise};
use super::{Echoes, PulseReturns, Return};
use crate::config::profile::lidar::{BeamSettings, EchoRule};
use crate::world::raycast::Hit;

/// Light that returns to the receiver from one point along the beam.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backscatter {
    /// Distance of the point, metres; for specularly reflected light, the one-way length of the whole path.
    pub range_m: f32,
    /// Reflectance of a diffuse surface that would give the same return if the whole pulse hit it at normal incidence
    /// in clear air. It is the product of the share of the pulse's energy at the point, the reflectance, the cosine of
    /// incidence, and the transmissions out and back. Retroreflectors exceed 1.
    pub reflectance: f32,
}

impl Backscatter {
    /// Light that returns from the first hits of a pulse's rays. The shares of the rays in the pulse's energy are
    /// `weights`.
    #[inline]
    pub fn of_hits(hits: &[Hit], weights: &[f32]) -> impl Iterator<Item = Self> {
        hits.iter().zip(weights).filter_map(|(hit, weight)| {
            let reflectance = weight * hit.reflectance * hit.cos_incidence;
            let range_m = hit.range_m;
            (range_m != f32::INFINITY).then_some(Self { range_m, reflectance })
        })
    }
}

/// Receiver settings of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSetting {
    /// Detection threshold divided by the datasheet's.
    pub threshold_factor: f32,
    /// Blanking distance, metres: nearer echoes are not reported.
    pub blanked_m: f32,
}

impl Default for ReceiverSetting {
    /// The datasheet's threshold, without a blanking distance.
    fn default() -> Self {
        Self { threshold_factor: 1.0, blanked_m: 0.0 }
    }
}

/// The circumstances of one firing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception<'a> {
    pub setting: ReceiverSetting,
    /// Share of the light that remains after passing the window twice, out and back, 0..=1.
    pub light: f32,
    /// Random numbers of the request.
    pub noise: &'a RequestNoise,
    /// Index of the firing in the measurement request.
    pub firing: usize,
    pub buffers: &'a RefCell<Buffers>,
}

/// The receiver of one lidar.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    rule: EchoRule,
    width_m: f32,
    min_range_m: f32,
    max_range_m: f32,
    /// Detection limit: the signal at which half of the pulses are detected (without noise: all), relative to the
    /// signal of a white surface at 1 m.
    threshold: f32,
    /// Threshold divided by the standard deviation of the signal's noise; 0 without noise.
    signal_to_noise: f32,
}

/// Smallest distance for computing the signal, metres. A real signal does not grow without limit.
const NEAREST_M: f32 = 0.1;

/// Distance of a signal from the detection threshold, in standard deviations of the noise, beyond which noise is
/// ignored and no random number is sampled.
const CERTAIN: f32 = 6.0;

/// Reusable buffers of one thread.
#[derive(Debug, Default)]
pub struct Buffers {
    arrivals: Vec<Arrival>,
    waveform: waveform::Buffers,
}

impl Receiver {
    /// The receiver for `beam`. `signal_to_noise` is the signal-to-noise ratio at the threshold.
    pub fn new(beam: &BeamSettings, signal_to_noise: f64) -> Self {
        Self {
            rule: beam.echoes,
            // A pulse of zero width would have an echo for each point; a millimetre has the same effect.
            width_m: (beam.signal_cutoff_m as f32).max(1e-3),
            min_range_m: beam.min_range_m as f32,
            max_range_m: beam.max_range_m as f32,
            threshold: beam.threshold() as f32,
            signal_to_noise: signal_to_noise as f32,
        }
    }

    /// Largest difference between the range of an echo and the ranges of the points whose light contributes to it,
    /// metres.
    pub fn width_m(&self) -> f32 {
        self.width_m
    }

    /// Whether the receiver would report a signal from `range_m` if it had no noise.
    pub fn reports(&self, range_m: f32, signal: f32, setting: ReceiverSetting) -> bool {
        range_m >= self.min_range_m.max(setting.blanked_m)
            && range_m <= self.max_range_m
            && signal > 0.0
            && signal >= self.threshold * setting.threshold_factor
    }

    /// The returns that `selection` reports for the returning light. `scatter` may be in any order.
    pub fn returns(
        &self,
        scatter: &[Backscatter],
        selection: EchoSelection,
        reception: &Reception<'_>,
    ) -> PulseReturns {
        let mut candidates = Candidates::default();
        let mut heard = 0;
        self.each_peak(scatter, reception, |peak| {
            if let Some(echo) = self.detect(peak, heard, reception) {
                candidates.take(echo);
            }
            heard += 1;
        });
        candidates.select(selection)
    }

    /// All detected echoes, nearest first.
    pub fn echoes(&self, scatter: &[Backscatter], reception: &Reception<'_>) -> Echoes {
        let mut all = Echoes::default();
        let mut heard = 0;
        self.each_peak(scatter, reception, |peak| {
            if let Some(echo) = self.detect(peak, heard, reception) {
                all.push(echo);
            }
            heard += 1;
        });
        all
    }

    /// Echo of `peak`, the pulse's peak number `place`, if the receiver detects it.
    #[inline(always)]
    pub fn detect(&self, peak: Peak, place: u32, reception: &Reception<'_>) -> Option<Return> {
        let Reception { setting, light, noise, firing, .. } = *reception;
        let signal = peak.signal * light;
        let is_within = peak.range_m >= self.min_range_m.max(setting.blanked_m)
            && peak.range_m <= self.max_range_m;
        if !is_within || signal <= 0.0 {
            return None;
        }
        let threshold = self.threshold * setting.threshold_factor;
        if self.signal_to_noise > 0.0 && threshold > 0.0 {
            let above = (signal / threshold - 1.0) * self.signal_to_noise;
            let noise = if above.abs() < CERTAIN {
                noise.standard_normal_of(firing, Quantity::Detection, place) as f32
            } else {
                0.0
            };
            if above + noise < 0.0 {
                return None;
            }
        } else if signal < threshold {
            return None;
        }
        let intensity = signal * peak.range_m * peak.range_m;
        Some(Return { range_m: peak.range_m, intensity, signal })
    }

    /// Calls `seen` with all echoes of a pulse, nearest first, including those below the detection threshold.
    fn each_peak(
        &self,
        scatter: &[Backscatter],
        reception: &Reception<'_>,
        mut seen: impl FnMut(Peak),
    ) {
        // Most pulses hit one surface; their light needs no sorting.
        let (mut nearest_m, mut farthest_m) = (f32::INFINITY, 0.0f32);
        for light in scatter {
            nearest_m = nearest_m.min(light.range_m);
            farthest_m = farthest_m.max(light.range_m);
        }
        if nearest_m == f32::INFINITY {
            return;
        }
        let Buffers { arrivals, waveform } = &mut *reception.buffers.borrow_mut();
        arrivals.clear();
        arrivals.extend(scatter.iter().map(|light| {
            let range_m = light.range_m.max(NEAREST_M);
            let signal = light.reflectance / (range_m * range_m);
            Arrival { range_m: light.range_m, signal }
        }));
        let span_m = farthest_m - nearest_m;
        if self.rule == EchoRule::Waveform && span_m <= self.width_m {
            let peak = waveform::single_peak(arrivals, nearest_m, span_m, self.width_m);
            peak.into_iter().for_each(seen);
            return;
        }
        arrivals.sort_unstable_by(|a, b| {
            a.range_m.total_cmp(&b.range_m).then(a.signal.total_cmp(&b.signal))
        });
        match self.rule {
            EchoRule::Waveform => waveform::peaks(arrivals, self.width_m, waveform, seen),
            EchoRule::Ray => {
                let peaks = arrivals.iter().filter(|arrival| arrival.signal > 0.0);
                peaks.for_each(|&Arrival { range_m, signal }| seen(Peak { range_m, signal }));
            }
            EchoRule::Window => windows(arrivals, self.width_m, |arrival| arrival.signal, seen),
            EchoRule::WindowMean => windows(arrivals, self.width_m, |_| 1.0, seen),
        }
    }
}

/// Calls `seen` with one echo for each group of points, nearest first. A group contains all points up to `cutoff_m`
/// behind its nearest point. The range of the echo is the mean of their ranges, weighted by `weight`; its signal is the
/// sum of their signals.
fn windows(
    arrivals: &[Arrival],
    cutoff_m: f32,
    weight: impl Fn(&Arrival) -> f32,
    mut seen: impl FnMut(Peak),
) {
    let mut rest = arrivals;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|a| a.range_m - first.range_m <= cutoff_m).count();
        let (group, farther) = rest.split_at(count);
        let (mut moment, mut weights, mut signal) = (0.0f32, 0.0f32, 0.0f32);
        for arrival in group {
            moment += weight(arrival) * (arrival.range_m - first.range_m);
            weights += weight(arrival);
            signal += arrival.signal;
        }
        if signal > 0.0 {
            seen(Peak { range_m: first.range_m + moment / weights, signal });
        }
        rest = farther;
    }
}

#[cfg(test)]
mod tests;
