//! How far the values of a quantity are spread.

/// A quantity's spread.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    values: Vec<f64>,
}

impl Spread {
    /// Takes a value.
    pub fn see(&mut self, value: f64) {
        self.values.push(value);
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The mean; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// The standard deviation; NaN of nothing.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / self.values.len() as f64).sqrt()
    }

    /// The value that `share` of all are below; NaN of nothing.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((share * last).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// Shares of all values in `bins` equal bins from `low` to `high`; what lies outside counts in
    /// the outermost.
    pub fn histogram(&self, low: f64, high: f64, bins: usize) -> Vec<f64> {
        let mut counts = vec![0.0; bins];
        for value in &self.values {
            let bin = ((value - low) / (high - low) * bins as f64).floor();
            counts[(bin.max(0.0) as usize).min(bins - 1)] += 1.0;
        }
        counts.iter().map(|count| count / self.values.len().max(1) as f64).collect()
    }
}
