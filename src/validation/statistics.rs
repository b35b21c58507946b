//! Statistics of samples, and their distance from a distribution.

/// Arithmetic mean; 0 without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standard deviation about the mean, with the divisor n.
pub(super) fn std(values: &[f64]) -> f64 {
    central_moment(values, 2).sqrt()
}

/// Standard deviation with the divisor n - 1; 0 for one value.
pub(super) fn sample_std(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    std(values) * (count / (count - 1.0).max(1.0)).sqrt()
}

/// Skewness: the third standardised moment, 0 for symmetric values.
pub(super) fn skewness(values: &[f64]) -> f64 {
    central_moment(values, 3) / libm::pow(std(values), 3.0)
}

/// Excess kurtosis: the fourth standardised moment minus 3, its value for a normal distribution.
pub(super) fn excess_kurtosis(values: &[f64]) -> f64 {
    central_moment(values, 4) / libm::pow(std(values), 4.0) - 3.0
}

fn central_moment(values: &[f64], order: i32) -> f64 {
    let mean = mean(values);
    let powers = values.iter().map(|value| libm::pow(value - mean, f64::from(order)));
    powers.sum::<f64>() / values.len().max(1) as f64
}

/// Kolmogorov distance between samples and a distribution: the largest difference of their distribution functions.
///
/// The samples may be rounded to multiples of `step`; for exact samples, `step` is 0. Both distributions are compared
/// at the borders between the steps, because rounding moves no sample across a border. Without samples, the distance is
/// 1.
pub(super) fn kolmogorov(samples: &[f64], step: f64, law: impl Fn(f64) -> f64) -> f64 {
    if samples.is_empty() {
        return 1.0;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let mut largest: f64 = 0.0;
    let mut below = 0;
    while below < sorted.len() {
        let value = sorted[below];
        let above = below + sorted[below..].partition_point(|other| other - value < 1e-9);
        let [low, high] = [law(value - step / 2.0), law(value + step / 2.0)];
        largest = largest.max((below as f64 / count - low).abs());
        largest = largest.max((above as f64 / count - high).abs());
        below = above;
    }
    largest
}

/// Spreads samples that were rounded to multiples of `step`: evenly, and by at most half a step. The offset of a sample
/// depends on its index, not on its value.
pub(super) fn unrounded(samples: &[f64], step: f64) -> Vec<f64> {
    // Multiples of the golden ratio fill an interval evenly.
    let share = |place: usize| (place as f64 * 0.618_033_988_749_895) % 1.0;
    let spread = samples.iter().enumerate();
    spread.map(|(place, sample)| sample + (share(place) - 0.5) * step).collect()
}

/// Value that [`kolmogorov`] exceeds in only 1 % of cases, if `samples` independent samples really follow the
/// distribution (Smirnov's limit for many samples).
pub(super) fn kolmogorov_limit(samples: usize) -> f64 {
    1.628 / (samples.max(1) as f64).sqrt()
}

/// First Wasserstein distance between samples and a distribution on `from..=to`: the area between their distribution
/// functions.
pub(super) fn area_between(samples: &[f64], [from, to]: [f64; 2], law: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 2000;
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let width = (to - from) / f64::from(STEPS);
    let area = (0..STEPS).map(|step| {
        let at = from + (f64::from(step) + 0.5) * width;
        let below = sorted.partition_point(|value| *value <= at);
        (below as f64 / sorted.len().max(1) as f64 - law(at)).abs() * width
    });
    area.sum()
}

/// Correlation coefficient of pairs.
pub(super) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (mean(&first), mean(&second));
    let products = pairs.iter().map(|(x, y)| (x - a) * (y - b)).sum::<f64>();
    products / pairs.len().max(1) as f64 / (std(&first) * std(&second))
}

/// Distribution function of a normal distribution.
pub(super) fn normal(value: f64, mean: f64, std: f64) -> f64 {
    0.5 * libm::erfc((mean - value) / (std * std::f64::consts::SQRT_2))
}

/// Distribution function of a gamma distribution with this shape and rate: series of the incomplete gamma function
/// (Abramowitz & Stegun 6.5.29).
pub(super) fn gamma(value: f64, shape: f64, rate: f64) -> f64 {
    let x = value * rate;
    if x <= 0.0 {
        return 0.0;
    }
    let mut term = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape + 1.0));
    let (mut sum, mut n) = (term, 1.0);
    while term > sum * 1e-16 && n < 1e4 {
        term *= x / (shape + n);
        sum += term;
        n += 1.0;
    }
    sum.min(1.0)
}

/// Maximum-likelihood estimate of a gamma distribution's shape, from the positive samples (closed form of Minka 2002,
/// accurate to 1.5 %).
pub(super) fn gamma_shape(samples: &[f64]) -> f64 {
    let positive: Vec<f64> = samples.iter().copied().filter(|value| *value > 0.0).collect();
    let logs: Vec<f64> = positive.iter().map(|value| libm::log(*value)).collect();
    let s = libm::log(mean(&positive)) - mean(&logs);
    (3.0 - s + ((s - 3.0) * (s - 3.0) + 24.0 * s).sqrt()) / (12.0 * s)
}

/// Number of samples in each of `bins` bins of the width `width`, the first of which starts at `from`; samples outside
/// are ignored.
pub(super) fn histogram(samples: &[f64], from: f64, width: f64, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for sample in samples {
        let bin = libm::floor((sample - from) / width);
        if bin >= 0.0 && (bin as usize) < bins {
            counts[bin as usize] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` values that are distributed as evenly as possible, by the inverse distribution function `quantile`.
    fn evenly(count: usize, quantile: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..count).map(|n| quantile((n as f64 + 0.5) / count as f64)).collect()
    }

    #[test]
    fn samples_of_a_law_are_near_it_and_those_of_another_are_not() {
        let law = |x: f64| 1.0 - libm::exp(-x.max(0.0));
        let samples = evenly(1000, |share| -libm::log(1.0 - share));
        assert!((kolmogorov(&samples, 0.0, law) - 0.0005).abs() < 1e-9);
        // Rounding to wide steps does not change the distance if the step is given.
        let rounded: Vec<f64> = samples.iter().map(|x| (x / 0.5).round() * 0.5).collect();
        assert!(kolmogorov(&rounded, 0.5, law) < 0.001);
        assert!(kolmogorov(&rounded, 0.0, law) > 0.1);
        // For a distribution without an edge, `unrounded` reduces the distance of rounded samples.
        let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let exact = evenly(1000, |share| libm::log(share / (1.0 - share)));
        let steps: Vec<f64> = exact.iter().map(|x| (x / 0.5).round() * 0.5).collect();
        let (was, is) =
            (kolmogorov(&steps, 0.0, logistic), kolmogorov(&unrounded(&steps, 0.5), 0.0, logistic));
        assert!(was > 0.05 && is < 0.01, "{was} {is}");
        let twice = |x: f64| law(2.0 * x);
        // The difference exp(-x) - exp(-2 x) has its maximum of 0.25 at x = ln 2.
        assert!((kolmogorov(&samples, 0.0, twice) - 0.25).abs() < 1e-3);
        assert!((area_between(&samples, [0.0, 20.0], twice) - 0.5).abs() < 0.01);
        assert!((kolmogorov_limit(10_000) - 0.01628).abs() < 1e-12);
        assert_eq!(kolmogorov(&[], 0.0, law), 1.0);
    }

    #[test]
    fn gamma_laws_agree_with_closed_forms() {
        for x in [0.01, 0.5, 1.0, 4.0, 30.0] {
            assert!((gamma(x, 1.0, 2.0) - (1.0 - libm::exp(-2.0 * x))).abs() < 1e-13, "{x}");
            let second = 1.0 - libm::exp(-x) * (1.0 + x);
            assert!((gamma(x, 2.0, 1.0) - second).abs() < 1e-13, "{x}");
        }
        assert_eq!(gamma(-1.0, 1.4, 1.0), 0.0);
        let samples = evenly(20_000, |share| -libm::log(1.0 - share));
        assert!((gamma_shape(&samples) - 1.0).abs() < 0.02);
    }

    #[test]
    fn moments_tell_an_even_law_from_a_normal_one() {
        let even = evenly(10_000, |share| share);
        assert!(
            (mean(&even) - 0.5).abs() < 1e-9 && (std(&even) - (1.0f64 / 12.0).sqrt()).abs() < 1e-4
        );
        assert!(skewness(&even).abs() < 1e-9 && (excess_kurtosis(&even) + 1.2).abs() < 1e-3);
        assert!((sample_std(&[1.0, 2.0, 3.0, 4.0]) - (5f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(sample_std(&[7.0]), 0.0);
        let fitted = |x: f64| normal(x, mean(&even), std(&even));
        assert!((kolmogorov(&even, 0.0, fitted) - 0.0575).abs() < 2e-3);
        assert!((normal(1.0, 0.0, 1.0) - 0.841_344_746).abs() < 1e-9);
        let pairs: Vec<(f64, f64)> = even.iter().map(|x| (*x, 3.0 - 2.0 * x)).collect();
        assert!((correlation(&pairs) + 1.0).abs() < 1e-9);
        assert_eq!(histogram(&[-0.1, 0.0, 0.05, 0.11, 0.25, 0.31], 0.0, 0.1, 3), [2, 1, 1]);
    }
}
