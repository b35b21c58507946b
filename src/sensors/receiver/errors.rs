//! Errors of range and intensity.

use super::super::Return;
use super::super::noise::{NoiseSource, Quantity, RequestNoise};
use crate::config::profile::lidar::NoiseSettings;
use crate::time::SimTime;

/// Errors of one lidar: random errors, biases of the lasers, drift, and range errors at extreme signals. The variance
/// of random errors is `sigma² = sigma_0² + sigma_weak² (T / A)^p` for a signal A and a detection threshold T.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    settings: NoiseSettings,
    threshold: f32,
    noise: NoiseSource,
    /// Range bias of each laser, metres.
    range_bias_m: Vec<f32>,
}

impl Errors {
    /// The errors of a lidar with `lasers` lasers and this detection threshold.
    pub fn new(
        settings: &NoiseSettings,
        threshold: f64,
        lasers: usize,
        noise: NoiseSource,
    ) -> Self {
        let bias = |laser| {
            let std_m = settings.laser_range_std_m;
            laser_bias(std_m, &noise, laser, Quantity::LaserRange) as f32
        };
        Self {
            settings: settings.clone(),
            threshold: threshold as f32,
            range_bias_m: (0..lasers).map(bias).collect(),
            noise,
        }
    }

    /// Common error of all ranges at `at`, metres: the warm-up drift plus the random error of the current scan
    /// interval.
    pub fn common_m(&self, at: SimTime) -> f32 {
        let all = &self.settings;
        let mut off_m = 0.0;
        if all.warm_up_drift_m != 0.0 {
            let left = if all.warm_up_s > 0.0 {
                libm::exp(-at.as_secs_f64() / all.warm_up_s)
            } else {
                0.0
            };
            off_m += all.warm_up_drift_m * (1.0 - left);
        }
        if all.scan_range_std_m > 0.0 {
            let interval_ns = ((all.scan_s * 1e9) as u64).max(1);
            let draws = self.noise.request(at.0 / interval_ns);
            off_m += all.scan_range_std_m * draws.standard_normal(0, Quantity::ScanRange);
        }
        off_m as f32
    }

    /// Adds the errors of `laser` to `echo`. `common_m` is [`Errors::common_m`].
    #[inline(always)]
    pub fn apply(
        &self,
        echo: Return,
        laser: usize,
        firing: usize,
        common_m: f32,
        draws: &RequestNoise,
        [range, intensity]: [Quantity; 2],
    ) -> Return {
        let all = &self.settings;
        let mut variance = all.range_std_m * all.range_std_m;
        let mut off_m = common_m + self.range_bias_m.get(laser).copied().unwrap_or(0.0);
        let (mut seen, mut signal) = (echo.intensity, echo.signal);
        if self.threshold > 0.0 && signal > 0.0 {
            let weakness = self.threshold / signal;
            if all.weak_range_std_m > 0.0 {
                let falls = match all.weak_range_power {
                    1.0 => f64::from(weakness),
                    2.0 => f64::from(weakness) * f64::from(weakness),
                    power => libm::pow(f64::from(weakness), power),
                };
                variance += all.weak_range_std_m * all.weak_range_std_m * falls;
            }
            if all.walk_m > 0.0 {
                off_m += all.walk_m as f32 * weakness.sqrt();
            }
            let over = weakness * all.saturation as f32;
            if all.saturation > 0.0 && over < 1.0 {
                off_m -= all.saturation_shift_m as f32 * (1.0 - over);
                (seen, signal) = (seen * over, signal * over);
            }
        }
        if variance > 0.0 {
            off_m += (variance.sqrt() * draws.standard_normal(firing, range)) as f32;
        }
        if all.intensity_std > 0.0 {
            seen += (all.intensity_std * draws.standard_normal(firing, intensity)) as f32;
        }
        Return { range_m: echo.range_m + off_m, intensity: seen.max(0.0), signal }
    }

    /// Range error that is practically never exceeded, metres: the largest systematic errors plus five standard
    /// deviations of the random errors and biases.
    pub fn likely_m(&self) -> f64 {
        let all = &self.settings;
        let fixed = all.walk_m + all.saturation_shift_m + all.warm_up_drift_m.abs();
        let drawn =
            [all.range_std_m, all.weak_range_std_m, all.scan_range_std_m, all.laser_range_std_m];
        fixed + 5.0 * drawn.iter().map(|std| std * std).sum::<f64>().sqrt()
    }
}

/// Random bias of `laser`, with the standard deviation `std` and in the unit of `std`; constant during a run.
pub(in crate::sensors) fn laser_bias(
    std: f64,
    noise: &NoiseSource,
    laser: usize,
    quantity: Quantity,
) -> f64 {
    // Requests are numbered from 0, so no request has this number.
    if std == 0.0 { 0.0 } else { std * noise.request(u64::MAX).standard_normal(laser, quantity) }
}
