//! Light of pulses that hit one surface, computed for many pulses at once.

use std::f32::consts::PI;

use fearless_simd::{Level, dispatch};

use super::waveform::{self, Peak};
use super::{NEAREST_M, Receiver};
use crate::config::profile::lidar::EchoRule;
use crate::world::raycast::{Hit, MAX_RAYS};

/// Number of pulses that are computed together.
const PULSES: usize = 16;
/// One value for each pulse.
type Lanes = [f32; PULSES];

/// Light that returns from the first hits of a pulse's rays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::sensors) enum Gathered {
    /// No light returns.
    Dark,
    /// All light returns from distances that differ by at most half of the pulse's width, and forms one
    /// echo.
    One(Peak),
    /// The light may form several echoes.
    #[default]
    Unknown,
}

impl Gathered {
    /// The only peak, or `Some(None)` if there is none; `None` if there may be several.
    #[inline(always)]
    pub fn peak(self) -> Option<Option<Peak>> {
        match self {
            Self::Dark => Some(None),
            Self::One(peak) => Some(Some(peak)),
            Self::Unknown => None,
        }
    }
}

impl Receiver {
    /// Writes the light of each pulse to `all`, given the hits of the pulses' rays, pulse by pulse. The shares of the
    /// rays in a pulse's energy are `weights`. The arithmetic is that of [`waveform::single_peak`]. Rules other than
    /// [`EchoRule::Waveform`] leave `all` as it is.
    pub fn gather(&self, hits: &[Hit], weights: &[f32], all: &mut [Gathered]) {
        if self.rule != EchoRule::Waveform {
            return;
        }
        let level = Level::new();
        for (hits, all) in hits.chunks(PULSES * weights.len()).zip(all.chunks_mut(PULSES)) {
            dispatch!(level, _simd => self.gather_some(hits, weights, all));
        }
    }

    #[inline(always)]
    fn gather_some(&self, hits: &[Hit], weights: &[f32], all: &mut [Gathered]) {
        let rays = weights.len().min(MAX_RAYS);
        let mut range_m = [[f32::INFINITY; PULSES]; MAX_RAYS];
        let mut reflectance = [[0.0; PULSES]; MAX_RAYS];
        let mut cos_incidence = [[0.0; PULSES]; MAX_RAYS];
        for (k, hits) in hits.chunks_exact(rays).take(PULSES).enumerate() {
            for (ray, hit) in hits.iter().enumerate() {
                range_m[ray][k] = hit.range_m;
                reflectance[ray][k] = hit.reflectance;
                cos_incidence[ray][k] = hit.cos_incidence;
            }
        }
        let (mut nearest_m, mut farthest_m) = ([f32::INFINITY; PULSES], [0.0; PULSES]);
        for range_m in &range_m[..rays] {
            for k in 0..PULSES {
                let met_m = if range_m[k] == f32::INFINITY { 0.0 } else { range_m[k] };
                nearest_m[k] = if range_m[k] < nearest_m[k] { range_m[k] } else { nearest_m[k] };
                farthest_m[k] = if met_m > farthest_m[k] { met_m } else { farthest_m[k] };
            }
        }
        let zeros: Lanes = [0.0; PULSES];
        let (mut sum, mut moment, mut square) = (zeros, zeros, zeros);
        let mut signals = [zeros; MAX_RAYS];
        for (ray, weight) in weights.iter().enumerate().take(rays) {
            for k in 0..PULSES {
                let is_hit = range_m[ray][k] != f32::INFINITY;
                let near_m = if range_m[ray][k] > NEAREST_M { range_m[ray][k] } else { NEAREST_M };
                let light = weight * reflectance[ray][k] * cos_incidence[ray][k];
                let signal = light / (near_m * near_m);
                let signal = if is_hit { signal } else { 0.0 };
                let behind = range_m[ray][k] - nearest_m[k];
                let behind = if is_hit { behind } else { 0.0 };
                signals[ray][k] = signal;
                sum[k] += signal;
                moment[k] += signal * behind;
                square[k] += signal * behind * behind;
            }
        }
        let mut peak = [zeros; 2];
        for k in 0..PULSES {
            let sums = [sum[k], moment[k], square[k]];
            [peak[0][k], peak[1][k]] = waveform::narrow_peak(nearest_m[k], sums, self.width_m);
        }
        let within = |share: f32, k: usize| farthest_m[k] - nearest_m[k] <= share * self.width_m;
        let is_short = |k: usize| within(waveform::SHORT, k) && !within(waveform::NARROW, k);
        let (mut re, mut im) = (zeros, zeros);
        if (0..PULSES).any(is_short) {
            for ray in 0..rays {
                for k in 0..PULSES {
                    let mean = moment[k] / sum[k];
                    let angle = (range_m[ray][k] - nearest_m[k] - mean) * (PI / self.width_m);
                    let is_hit = range_m[ray][k] != f32::INFINITY;
                    let (sin, cos) = waveform::short_sincos(if is_hit { angle } else { 0.0 });
                    re[k] += signals[ray][k] * cos;
                    im[k] += signals[ray][k] * sin;
                }
            }
        }
        for (k, gathered) in all.iter_mut().enumerate().take(PULSES) {
            *gathered = if nearest_m[k] == f32::INFINITY {
                Gathered::Dark
            } else if !within(waveform::SHORT, k) {
                Gathered::Unknown
            } else if sum[k] <= 0.0 {
                Gathered::Dark
            } else if within(waveform::NARROW, k) {
                Gathered::One(Peak { range_m: peak[0][k], signal: peak[1][k] })
            } else {
                let mean_m = nearest_m[k] + moment[k] / sum[k];
                Gathered::One(waveform::spread_peak(mean_m, sum[k], [re[k], im[k]], self.width_m))
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::super::{Backscatter, Buffers, ReceiverSetting, Reception};
    use super::*;
    use crate::config::profile::lidar::{BeamSettings, Target};
    use crate::sensors::noise::NoiseSource;

    /// A hit with a small deviation from one of some distances, or a miss. The distances near 12 m differ by less than
    /// a tenth, less than half and more than half of the pulse's width.
    fn hit() -> impl Strategy<Value = Hit> {
        let places = prop::sample::select(vec![
            0.0,
            0.05,
            12.0,
            12.0,
            12.02,
            12.02,
            12.2,
            12.2,
            12.3,
            12.6,
            40.0,
            f32::INFINITY,
            f32::INFINITY,
        ]);
        (places, 0.0f32..0.04, prop::sample::select(vec![0.0, 0.1, 0.9]), 0.0f32..1.0).prop_map(
            |(place_m, aside_m, reflectance, cos_incidence)| {
                let range_m = place_m + aside_m;
                Hit { range_m, reflectance, cos_incidence, ..Hit::MISS }
            },
        )
    }

    proptest! {
        #[test]
        fn echoes_are_those_of_a_search(
            rays in prop::sample::select(vec![1usize, 5, 9, 16]),
            hits in prop::collection::vec(hit(), 16..700),
        ) {
            let beam = BeamSettings {
                signal_cutoff_m: 0.75,
                max_range_m: 120.0,
                sees: Target { reflectance: 0.1, at_m: 50.0 },
                ..BeamSettings::default()
            };
            let receiver = Receiver::new(&beam, 3.0);
            let weights: Vec<f32> = (1..=rays).map(|ray| 0.5 / ray as f32).collect();
            let hits = &hits[..hits.len() / rays * rays];
            let mut all = vec![Gathered::Unknown; hits.len() / rays];
            receiver.gather(hits, &weights, &mut all);
            let (noise, buffers) = (NoiseSource::new(3, "a").request(0), RefCell::<Buffers>::default());
            for (hits, gathered) in hits.chunks(rays).zip(all) {
                let scatter: Vec<_> = Backscatter::of_hits(hits, &weights).collect();
                let setting = ReceiverSetting::default();
                let (firing, light, noise, buffers) = (0, 1.0, &noise, &buffers);
                let reception = Reception { setting, light, noise, firing, buffers };
                let found = receiver.echoes(&scatter, &reception);
                if let Some(peak) = gathered.peak() {
                    let echo = peak.and_then(|peak| receiver.detect(peak, 0, &reception));
                    prop_assert_eq!(echo.as_slice(), found.as_slice(), "{:?} {:?}", gathered, hits);
                }
                let ranges = scatter.iter().map(|light| light.range_m);
                let (low, high) = ranges.fold((f32::MAX, 0.0f32), |(l, h), r| (l.min(r), h.max(r)));
                prop_assert_eq!(gathered.peak().is_some(), high - low <= 0.5 * 0.75, "{:?}", hits);
            }
        }
    }
}
