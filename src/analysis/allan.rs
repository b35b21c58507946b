//! Allan deviation: computed from samples, and expected from error terms.
//!
//! Source: IEEE Std 952-1997, annex C; the Gauss-Markov term is its equation C.21.

use glam::DVec3;

use crate::sensors::imu::errors::gauss_markov_std;
use crate::sensors::imu::settings::TriadErrors;

/// One point of an Allan deviation plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Averaging time, seconds.
    pub tau_s: f64,
    /// Allan deviation, in the unit of the samples.
    pub deviation: f64,
    /// Approximate relative standard error of the estimate.
    pub relative_error: f64,
}

/// Averaging times in samples, `per_decade` in each decade, without duplicates, up to a ninth of the recording;
/// estimates at longer times are too uncertain.
pub fn averaging_samples(samples: usize, per_decade: u32) -> Vec<usize> {
    let mut all: Vec<usize> = (0..)
        .map(|i| libm::pow(10.0, f64::from(i) / f64::from(per_decade)).round() as usize)
        .take_while(|m| *m <= samples / 9)
        .collect();
    all.dedup();
    all
}

/// Overlapping Allan deviation of rate samples at intervals of `dt_s`, for each averaging time in `averages` (in
/// samples). Averaging times longer than half of the recording are omitted.
pub fn overlapping(samples: &[f64], dt_s: f64, averages: &[usize]) -> Vec<Point> {
    // The mean is subtracted, because small sums lose fewer digits.
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    let mut integral = Vec::with_capacity(samples.len() + 1);
    let mut sum = 0.0;
    integral.push(0.0);
    for sample in samples {
        sum += (sample - mean) * dt_s;
        integral.push(sum);
    }
    let point = |&m: &usize| {
        let terms = integral.len().checked_sub(2 * m).filter(|n| *n > 0)?;
        let squares: f64 = (0..terms)
            .map(|k| integral[k + 2 * m] - 2.0 * integral[k + m] + integral[k])
            .map(|d| d * d)
            .sum();
        let tau_s = m as f64 * dt_s;
        let independent = (samples.len() as f64 / m as f64 - 1.0).max(1.0);
        Some(Point {
            tau_s,
            deviation: (squares / (2.0 * tau_s * tau_s * terms as f64)).sqrt(),
            relative_error: (2.0 * independent).sqrt().recip(),
        })
    };
    averages.iter().filter_map(point).collect()
}

/// Allan variances at the averaging time `tau_s` that the three terms of a [`TriadErrors`] cause with coefficients of
/// 1: white noise, bias instability with the correlation time `correlation_s`, random walk.
pub(crate) fn unit_variances(correlation_s: f64, tau_s: f64) -> [f64; 3] {
    let t = correlation_s.max(1e-9);
    let x = tau_s / t;
    // For short times the closed form loses all digits; its limit is 2 x / 3.
    let gauss_markov = if x < 1e-4 {
        2.0 * x / 3.0
    } else {
        let e = libm::exp(-x);
        2.0 / x * (1.0 - (3.0 - 4.0 * e + e * e) / (2.0 * x))
    };
    let std = gauss_markov_std(1.0);
    [tau_s.recip(), std * std * gauss_markov, tau_s / 3.0]
}

/// The Allan deviation of sensors with `errors`, which are sampled at `sample_rate_hz` and averaged to the output rate.
/// The effect of a limited bandwidth at short times is neglected.
pub fn expected(errors: &TriadErrors, sample_rate_hz: f64, tau_s: f64) -> f64 {
    let rounding = errors.resolution * errors.resolution / 12.0 / sample_rate_hz;
    let white = errors.white_density().powi(2) + rounding;
    let coefficients = [white, errors.bias_instability.powi(2), errors.walk_density().powi(2)];
    let units = unit_variances(errors.bias_correlation_s, tau_s);
    coefficients.iter().zip(units).map(|(c, u)| c * u).sum::<f64>().sqrt()
}

/// Coefficients of an Allan deviation plot; `u` is the unit of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// White noise, u/√Hz.
    pub noise_density: f64,
    /// Bias instability: the flat part of the curve, u.
    pub bias_instability: f64,
    /// Random walk of the bias, u/√s.
    pub random_walk: f64,
}

/// The Allan deviation of three axes: the root mean square of their deviations.
pub fn of_axes(samples: &[DVec3], dt_s: f64, averages: &[usize]) -> Vec<Point> {
    let axes = [0, 1, 2].map(|axis| {
        let of_axis: Vec<f64> = samples.iter().map(|v| v[axis]).collect();
        overlapping(&of_axis, dt_s, averages)
    });
    let mean = |i: usize| {
        let variance = axes.iter().map(|points| points[i].deviation.powi(2)).sum::<f64>();
        Point {
            deviation: (variance / 3.0).sqrt(),
            relative_error: axes[0][i].relative_error / 3f64.sqrt(),
            ..axes[0][i]
        }
    };
    (0..axes[0].len()).map(mean).collect()
}

/// Fits the three terms to a measured curve, by least squares of relative errors. A term that would be negative is
/// omitted. `correlation_s` is the correlation time of the bias instability.
pub fn fit(points: &[Point], correlation_s: f64) -> Coefficients {
    fit_terms(points, correlation_s, [true; 3]).found
}

/// Coefficients fitted to an Allan deviation, with standard errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fitted {
    /// The coefficients.
    pub found: Coefficients,
    /// Approximate standard error of each coefficient. [`fit_terms`] assumes that the deviations at different averaging
    /// times are independent.
    pub standard_error: Coefficients,
    /// Upper limit of each coefficient c: sqrt(c² + 2 e), where e is the standard error of c². In `fit::drift`, the
    /// limits of instability and walk come from separate fits, each without the other of these two terms.
    pub at_most: Coefficients,
    /// For noise, instability and walk: whether the term is significant. The squared coefficient must be larger than
    /// twice its own standard error in [`fit_terms`], and larger than three times this error in `fit::drift`.
    pub is_seen: [bool; 3],
    /// Correlation time of the bias instability, s.
    pub correlation_s: f64,
    /// Mean square of the differences between the measured and the fitted curve. Each difference is divided by the
    /// standard error of the measured value. The misfit is about 1 if the model is right.
    pub misfit: f64,
}

impl Fitted {
    /// The Allan deviation of the fitted terms.
    pub fn deviation(&self, tau_s: f64) -> f64 {
        let c = &self.found;
        let squares = [c.noise_density, c.bias_instability, c.random_walk].map(|x| x * x);
        let units = unit_variances(self.correlation_s, tau_s);
        squares.iter().zip(units).map(|(c, u)| c * u).sum::<f64>().sqrt()
    }
}

/// Like [`fit`], but also returns uncertainties. `used` selects the terms to fit: noise, instability, walk.
pub fn fit_terms(points: &[Point], correlation_s: f64, mut used: [bool; 3]) -> Fitted {
    let (squares, variances) = loop {
        let (squares, variances) = solve(points, correlation_s, used);
        match (0..3).find(|i| used[*i] && squares[*i] < 0.0) {
            Some(negative) => used[negative] = false,
            None => break (squares.map(|x| x.max(0.0)), variances),
        }
    };
    let of = |values: [f64; 3]| {
        let [noise_density, bias_instability, random_walk] = values;
        Coefficients { noise_density, bias_instability, random_walk }
    };
    let doubts = variances.map(|x| x.max(0.0).sqrt());
    let each = |f: &dyn Fn(usize) -> f64| of(std::array::from_fn(f));
    let off = points.iter().map(|p| {
        let units = unit_variances(correlation_s, p.tau_s);
        let model: f64 = squares.iter().zip(units).map(|(c, u)| c * u).sum();
        (model / (p.deviation * p.deviation) - 1.0) / (2.0 * p.relative_error)
    });
    let misfit = off.map(|x| x * x).sum::<f64>() / points.len().max(1) as f64;
    Fitted {
        found: of(squares.map(f64::sqrt)),
        standard_error: each(&|i| match squares[i] > 0.0 {
            true => doubts[i] / (2.0 * squares[i].sqrt()),
            false => doubts[i].sqrt(),
        }),
        at_most: each(&|i| (squares[i] + 2.0 * doubts[i]).sqrt()),
        is_seen: std::array::from_fn(|i| used[i] && squares[i] > 2.0 * doubts[i]),
        correlation_s,
        misfit,
    }
}

/// Correlation times to try in a fit, between `shortest_s` and `longest_s`: 24 per decade.
pub fn correlation_times_s(shortest_s: f64, longest_s: f64) -> Vec<f64> {
    let steps = (libm::log10(longest_s / shortest_s) * 24.0).max(0.0) as u32;
    (0..=steps).map(|i| shortest_s * libm::pow(10.0, f64::from(i) / 24.0)).collect()
}

/// Fits the squares of the coefficients; also returns the variances of these squares. For a term that is not `used`,
/// the square is 0, and the variance is that of a fit of this term alone.
fn solve(points: &[Point], correlation_s: f64, used: [bool; 3]) -> ([f64; 3], [f64; 3]) {
    // The terms differ by many orders of magnitude, so each column is scaled by its largest value.
    let rows: Vec<[f64; 3]> = points
        .iter()
        .map(|p| {
            let weight = (p.deviation * p.deviation * p.relative_error).recip();
            unit_variances(correlation_s, p.tau_s).map(|u| u * weight)
        })
        .collect();
    let scale: [f64; 3] = std::array::from_fn(|i| {
        rows.iter().map(|row| row[i]).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
    });
    let mut matrix = glam::DMat3::ZERO;
    let mut right = glam::DVec3::ZERO;
    let mut alone = [0.0; 3];
    for (row, point) in rows.iter().zip(points) {
        for i in 0..3 {
            alone[i] += row[i] / scale[i] * row[i] / scale[i];
        }
        for i in (0..3).filter(|i| used[*i]) {
            for j in (0..3).filter(|j| used[*j]) {
                matrix.col_mut(j)[i] += row[i] / scale[i] * row[j] / scale[j];
            }
            right[i] += row[i] / scale[i] / point.relative_error;
        }
    }
    for i in (0..3).filter(|i| !used[*i]) {
        matrix.col_mut(i)[i] = 1.0;
    }
    let inverse = matrix.inverse();
    let solution = inverse * right;
    // The relative error of a variance is twice that of a standard deviation.
    let variance = |i: usize| {
        let scaled = if used[i] { inverse.col(i)[i] } else { alone[i].recip() };
        4.0 * scaled / (scale[i] * scale[i])
    };
    (std::array::from_fn(|i| solution[i] / scale[i]), std::array::from_fn(variance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::imu::errors::{Circumstances, Triad};
    use crate::sensors::noise::NoiseSource;

    #[test]
    fn the_deviation_of_a_ramp_is_exact() {
        // A drift of r per second has the deviation r tau / sqrt 2 (IEEE Std 952, C.1.4).
        let samples: Vec<f64> = (0..10_000).map(|i| 0.01 * f64::from(i)).collect();
        for point in overlapping(&samples, 0.01, &[1, 10, 100]) {
            let exact = point.tau_s / std::f64::consts::SQRT_2;
            assert!((point.deviation / exact - 1.0).abs() < 1e-9, "{point:?}");
        }
    }

    #[test]
    fn nbs_test_suite() {
        // Riley, Handbook of Frequency Stability Analysis (NIST SP 1065), table 30: nine values,
        // overlapping deviation at 1 and 2 samples, from normalised frequency data.
        let data = [892.0, 809.0, 823.0, 798.0, 671.0, 644.0, 883.0, 903.0, 677.0];
        let points = overlapping(&data, 1.0, &[1, 2]);
        assert!((points[0].deviation - 91.229_45).abs() < 1e-4, "{points:?}");
        assert!((points[1].deviation - 85.952_87).abs() < 1e-4, "{points:?}");
    }

    #[test]
    fn the_gauss_markov_term_peaks_where_it_should() {
        let (t, best) = (1..1000)
            .map(|i| f64::from(i) * 0.01)
            .map(|x| (x, unit_variances(1.0, x)[1].sqrt()))
            .fold((0.0, 0.0), |best, point| if point.1 > best.1 { point } else { best });
        assert!((t - 1.89).abs() < 0.02 && (best - 0.664).abs() < 1e-3, "{t} {best}");
        let (below, above) = (unit_variances(1.0, 0.99e-4)[1], unit_variances(1.0, 1.01e-4)[1]);
        assert!((above / below - 1.02).abs() < 0.01, "{below} {above}");
    }

    /// Three axes, 2000 s at 100 Hz: the deviation is as configured at every averaging time from 0.01 s to 200 s,
    /// within four standard errors of the estimate (mean of three axes).
    #[test]
    fn simulated_errors_have_the_deviation_that_was_asked_for() {
        let asked = TriadErrors {
            noise_density: 0.01,
            bias_instability: 0.02,
            bias_correlation_s: 5.0,
            random_walk: 0.001,
            resolution: 0.01,
            ..TriadErrors::NONE
        };
        let rate_hz = 100.0;
        let mut triad = Triad::new(&asked, NoiseSource::new(11, "imu/gyro"), 1.0 / rate_hz);
        let still = Circumstances { specific_force_m_s2: DVec3::ZERO, temperature_c: 25.0 };
        let readings: Vec<DVec3> =
            (0..200_000).map(|i| triad.step(i, DVec3::ZERO, &still).value).collect();
        let averages = averaging_samples(readings.len(), 4);
        let joined = of_axes(&readings, 1.0 / rate_hz, &averages);
        for point in &joined {
            let off = point.deviation / expected(&asked, rate_hz, point.tau_s) - 1.0;
            assert!(off.abs() < 0.01 + 4.0 * point.relative_error, "{point:?}: {off:+.3}");
        }
        let found = fit(&joined, asked.bias_correlation_s);
        assert!((found.noise_density / 0.01 - 1.0).abs() < 0.06, "{found:?}");
        assert!((found.bias_instability / 0.02 - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.random_walk / 0.001 - 1.0).abs() < 0.5, "{found:?}");

        // The fit also finds the correlation time, and the errors are within the stated standard errors.
        let times = correlation_times_s(0.1, 200.0);
        let best = times.iter().map(|t| fit_terms(&joined, *t, [true; 3]));
        let best = best.min_by(|a, b| a.misfit.total_cmp(&b.misfit)).unwrap();
        assert!((3.0..8.0).contains(&best.correlation_s), "{best:?}");
        assert!(best.misfit < 2.0 && best.is_seen == [true; 3], "{best:?}");
        let off = (best.found.noise_density - 0.01).abs();
        assert!(off < 4.0 * best.standard_error.noise_density + 1e-4, "{best:?}");
        // A term that is absent is not significant, and its upper limit is small.
        let quiet = TriadErrors { random_walk: 0.0, bias_instability: 0.0, ..asked };
        let mut triad = Triad::new(&quiet, NoiseSource::new(12, "imu/gyro"), 1.0 / rate_hz);
        let readings: Vec<DVec3> =
            (0..100_000).map(|i| triad.step(i, DVec3::ZERO, &still).value).collect();
        let points = of_axes(&readings, 1.0 / rate_hz, &averaging_samples(readings.len(), 4));
        let white = fit_terms(&points, 5.0, [true; 3]);
        assert!(white.is_seen[0] && white.at_most.bias_instability < 0.005, "{white:?}");
    }
}
