//! Statistics of a quantity's values.

/// Values of a quantity.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    values: Vec<f64>,
}

impl Spread {
    /// Adds a value.
    pub fn see(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Mean; NaN without values.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Standard deviation, with the number of values as the divisor; NaN without values.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / self.values.len() as f64).sqrt()
    }

    /// Quantile for the fraction `share`: 0 is the smallest value, 0.5 the median, 1 the largest. Between values, the
    /// nearest one in sorted order is returned. NaN without values.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((share * last).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// Fraction of all values, 0 to 1, in each of `bins` equal bins from `low` to `high`. Values outside this range
    /// count in the first or the last bin.
    pub fn histogram(&self, low: f64, high: f64, bins: usize) -> Vec<f64> {
        let mut counts = vec![0.0; bins];
        for value in &self.values {
            let bin = ((value - low) / (high - low) * bins as f64).floor();
            counts[(bin.max(0.0) as usize).min(bins - 1)] += 1.0;
        }
        counts.iter().map(|count| count / self.values.len().max(1) as f64).collect()
    }
}
