//! Distance of an estimated speed from the true one, and distance between two sets of drives: the measures of Mahajan
//! et al. 2024, computed as in their published scripts (uwsbel/sbel-reproducibility, 2024/IROSImuGps, `computeEPD.py`).

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Rate at which both speeds are sampled for the comparison, Hz.
const RATE_HZ: f64 = 15.0;
/// Number of successive samples of the estimate in a moving average.
const AVERAGED: usize = 2;
/// Value that is added to each magnitude of a spectrum before its logarithm is taken.
const FLOOR: f64 = 1e-10;

/// A quantity over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Times, seconds, ascending.
    pub times_s: Vec<f64>,
    /// Values, one for each time.
    pub values: Vec<f64>,
}

impl Series {
    /// Adds a sample.
    pub fn push(&mut self, at_s: f64, value: f64) {
        self.times_s.push(at_s);
        self.values.push(value);
    }

    /// The value at `at_s`: linear between samples; the first or last value outside their range.
    fn at(&self, at_s: f64) -> f64 {
        let behind = self.times_s.partition_point(|t| *t <= at_s);
        if behind == 0 || behind == self.times_s.len() {
            return self.values[behind.saturating_sub(1)];
        }
        let (t0, t1) = (self.times_s[behind - 1], self.times_s[behind]);
        let (v0, v1) = (self.values[behind - 1], self.values[behind]);
        v0 + (v1 - v0) * (at_s - t0) / (t1 - t0)
    }

    /// Moving averages over `count` successive samples, of values and times.
    fn averaged(&self, count: usize) -> Self {
        let means = |all: &[f64]| {
            all.windows(count).map(|w| w.iter().sum::<f64>() / count as f64).collect()
        };
        Self { times_s: means(&self.times_s), values: means(&self.values) }
    }
}

/// Estimated and true speed of a drive, m/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drive {
    /// Estimated speed.
    pub estimated: Series,
    /// True speed.
    pub truth: Series,
}

/// Scores of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Root mean square of the speed's error, m/s.
    pub rmse_m_s: f64,
    /// Absolute difference between the Wiener entropies of the estimated and the true speed.
    pub flatness_difference: f64,
}

impl Drive {
    /// Compares both speeds at 15 Hz, from 0 s until the first of the two ends. `None` if this gives fewer than 15
    /// samples (about one second) or a speed has too few samples.
    pub fn score(&self) -> Option<Score> {
        let end_s = self.truth.times_s.last()?.min(*self.estimated.times_s.last()?);
        let count = (end_s * RATE_HZ).ceil();
        if count.is_nan() || count < RATE_HZ || self.estimated.times_s.len() < AVERAGED {
            return None;
        }
        let estimated = self.estimated.averaged(AVERAGED);
        let at = |series: &Series| -> Vec<f64> {
            (0..count as u64).map(|i| series.at(i as f64 / RATE_HZ)).collect()
        };
        let (estimated, truth) = (at(&estimated), at(&self.truth));
        let squares: f64 = estimated.iter().zip(&truth).map(|(e, t)| (e - t) * (e - t)).sum();
        Some(Score {
            rmse_m_s: (squares / count).sqrt(),
            flatness_difference: (wiener_entropy(&truth) - wiener_entropy(&estimated)).abs(),
        })
    }
}

/// Spectral flatness, also called Wiener entropy: the geometric mean of the magnitudes of the Fourier transform divided
/// by their arithmetic mean; 1 for an impulse, near 0 for a pure tone.
pub fn wiener_entropy(samples: &[f64]) -> f64 {
    let mut bins: Vec<_> = samples.iter().map(|x| Complex::new(*x, 0.0)).collect();
    FftPlanner::new().plan_fft_forward(bins.len()).process(&mut bins);
    let count = bins.len() as f64;
    let magnitudes = bins.iter().map(|bin| (bin.re * bin.re + bin.im * bin.im).sqrt());
    let logarithms = magnitudes.clone().map(|m| libm::log(m + FLOOR)).sum::<f64>() / count;
    let mean = magnitudes.sum::<f64>() / count;
    if mean == 0.0 { 0.0 } else { libm::exp(logarithms) / mean }
}

/// First Wasserstein distance of two sets of equally likely numbers: the area between their cumulative distributions,
/// in the unit of the numbers. NaN if one set is empty.
pub fn wasserstein(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return f64::NAN;
    }
    let sorted = |set: &[f64]| {
        let mut set = set.to_vec();
        set.sort_by(f64::total_cmp);
        set
    };
    let (a, b) = (sorted(a), sorted(b));
    let mut all = [a.as_slice(), b.as_slice()].concat();
    all.sort_by(f64::total_cmp);
    let below = |set: &[f64], x: f64| set.partition_point(|v| *v <= x) as f64 / set.len() as f64;
    all.windows(2)
        .map(|pair| (below(&a, pair[0]) - below(&b, pair[0])).abs() * (pair[1] - pair[0]))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::noise::{NoiseSource, Quantity};

    #[test]
    fn an_impulse_is_flat_a_tone_is_not_and_noise_is_in_between() {
        let mut impulse = vec![0.0; 300];
        impulse[7] = 2.0;
        assert!((wiener_entropy(&impulse) - 1.0).abs() < 1e-9);
        let tone: Vec<f64> = (0..300)
            .map(|i| libm::sin(f64::from(i) * 20.0 * std::f64::consts::TAU / 300.0))
            .collect();
        assert!(wiener_entropy(&tone) < 1e-9, "{}", wiener_entropy(&tone));
        assert!(wiener_entropy(&[1.5; 300]) < 1e-9);
        assert_eq!(wiener_entropy(&[0.0; 300]), 0.0);
        // The magnitudes of white noise have a Rayleigh distribution: e^(-γ/2) √2 over √(π/2).
        let noise = NoiseSource::new(1, "noise");
        let white: Vec<f64> =
            (0..30_000).map(|i| noise.request(i).standard_normal(0, Quantity::White)).collect();
        let expected = libm::exp(-0.577_215_664_9 / 2.0) * 2.0 / std::f64::consts::PI.sqrt();
        assert!((wiener_entropy(&white) - expected).abs() < 0.005, "{}", wiener_entropy(&white));
        // The entropy does not depend on the amplitude.
        let loud: Vec<f64> = white.iter().map(|x| 50.0 * x).collect();
        assert!((wiener_entropy(&white) - wiener_entropy(&loud)).abs() < 1e-6);
    }

    #[test]
    fn distances_of_shifted_and_scaled_sets() {
        let set = [0.3, 1.2, 0.7, 5.0, 2.2];
        let moved = |by: f64| set.map(|x| x + by);
        let mean = set.iter().sum::<f64>() / 5.0;
        assert_eq!(wasserstein(&set, &set), 0.0);
        assert!((wasserstein(&set, &moved(0.25)) - 0.25).abs() < 1e-12);
        assert!((wasserstein(&moved(-3.0), &set) - 3.0).abs() < 1e-12);
        assert!((wasserstein(&set, &set.map(|x| 3.0 * x)) - 2.0 * mean).abs() < 1e-12);
        // Example of SciPy's documentation.
        assert!((wasserstein(&[0.0, 1.0, 3.0], &[5.0, 6.0, 8.0]) - 5.0).abs() < 1e-12);
        // Sets of different sizes.
        assert_eq!(wasserstein(&[0.0, 1.0], &[1.0, 0.0, 0.0, 1.0]), 0.0);
        assert_eq!(wasserstein(&[0.0], &[1.0, 3.0]), 2.0);
        assert!(wasserstein(&[], &[1.0]).is_nan());
    }

    #[test]
    fn a_drives_error_is_that_of_its_speeds() {
        let series = |rate_hz: f64, f: &dyn Fn(f64) -> f64| {
            let mut series = Series::default();
            for i in 0..(20.0 * rate_hz) as u32 {
                let t = f64::from(i) / rate_hz;
                series.push(t, f(t));
            }
            series
        };
        let drive = Drive {
            truth: series(100.0, &|t| 1.0 + 0.1 * t),
            estimated: series(33.0, &|t| 1.0 + 0.1 * t + 0.2),
        };
        let score = drive.score().unwrap();
        // Before its first and after its last average, the estimate is constant.
        assert!((score.rmse_m_s - 0.2).abs() < 1e-3, "{score:?}");
        assert!(score.flatness_difference < 0.03, "{score:?}");
        let flat = Drive { truth: series(100.0, &|_| 1.0), estimated: series(33.0, &|_| 1.3) };
        assert!((flat.score().unwrap().rmse_m_s - 0.3).abs() < 1e-12);
        let short = Drive { truth: Series::default(), estimated: series(33.0, &|_| 1.0) };
        assert_eq!(short.score(), None);
    }
}
