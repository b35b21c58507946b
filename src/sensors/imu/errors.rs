//! Errors of a three-axis sensor.
//!
//! ```text
//! y = clamp(quantise(lowpass(A x + b0 + b(t) + c (T - 25 °C) + g f + n)))
//! ```
//!
//! `A`: scale factors and misalignments; `b0`: turn-on bias, sampled once; `n`: white noise with the standard
//! deviation `N / √dt`; `g f`: acceleration sensitivity, gyros only. `b(t)` is the sum of
//!
//! - bias instability `B`: a Gauss-Markov process, `b' = e^(-dt/T) b + σ √(1 - e^(-2dt/T)) n`. Its Allan deviation is
//!   highest at 1.89 T, where it is 0.617 σ. With `σ = 0.664 B / 0.617`, the flat part of the plot is at 0.664 B, as
//!   defined in IEEE Std 952;
//! - random walk `K`: `b += K √dt n`. With `K = b0 / √t_b` this is Chrono's `b += N(0, b0 √(dt/t_b))`
//!   (projectchrono/chrono, `ChNoiseNormalDrift`).

use glam::{DMat3, DVec3};

use super::settings::TriadErrors;
use crate::sensors::noise::{NoiseSource, Quantity};

/// Maximum of the Allan deviation of a Gauss-Markov process with standard deviation 1.
const GAUSS_MARKOV_PEAK: f64 = 0.617_364;
/// Allan deviation of the flat part for a bias instability of 1 (IEEE Std 952): √(2 ln 2 / π).
pub const FLAT_PART: f64 = 0.664_282;
/// Temperature at which the temperature-dependent bias is zero, degrees C.
const REFERENCE_TEMPERATURE_C: f64 = 25.0;
/// Sample index of random numbers that are sampled once per run.
const ONCE: u64 = u64::MAX;

/// Standard deviation of the Gauss-Markov process that models a bias instability.
pub fn gauss_markov_std(bias_instability: f64) -> f64 {
    bias_instability * FLAT_PART / GAUSS_MARKOV_PEAK
}

/// A first-order Gauss-Markov process, stationary from the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct GaussMarkov {
    value: Option<f64>,
}

impl GaussMarkov {
    /// Advances by `dt_s` and returns the new value. `draw` is a sample of the standard normal distribution.
    pub fn step(&mut self, std: f64, correlation_s: f64, dt_s: f64, draw: f64) -> f64 {
        let kept = if correlation_s > 0.0 { libm::exp(-dt_s / correlation_s) } else { 0.0 };
        let next = match self.value {
            None => std * draw,
            Some(value) => kept * value + std * (1.0 - kept * kept).sqrt() * draw,
        };
        self.value = Some(next);
        next
    }
}

/// A reading of a three-axis sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Value in the sensor's axes, in the unit of the quantity.
    pub value: DVec3,
    /// For each axis of the sensor (x, y, z), whether the value is at a limit of the measuring range.
    pub is_clipped: [bool; 3],
}

/// Quantities that disturb a three-axis sensor.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Specific force in sensor axes, m/s². It affects gyros with an acceleration sensitivity.
    pub specific_force_m_s2: DVec3,
    /// Temperature of the sensor, degrees C.
    pub temperature_c: f64,
}

/// The error model of a three-axis sensor. Must be stepped once per sample, in order.
#[derive(Clone, Debug)]
pub struct Triad {
    settings: TriadErrors,
    noise: NoiseSource,
    dt_s: f64,
    scale_and_misalignment: DMat3,
    fixed_bias: DVec3,
    instability: [GaussMarkov; 3],
    walk: DVec3,
    filters: Option<[LowPass; 3]>,
}

impl Triad {
    /// A sensor sampled every `dt_s`. `noise` must not be shared with other models.
    pub fn new(settings: &TriadErrors, noise: NoiseSource, dt_s: f64) -> Self {
        let once = noise.request(ONCE);
        let draw = |place: usize, quantity| once.standard_normal(place, quantity);
        let mut matrix = DMat3::IDENTITY;
        for row in 0..3 {
            for column in 0..3 {
                let place = 3 * row + column;
                matrix.col_mut(column)[row] += if row == column {
                    settings.scale_factor_std * draw(place, Quantity::ScaleFactor)
                } else {
                    settings.misalignment_std_rad * draw(place, Quantity::Misalignment)
                };
            }
        }
        let turn_on = DVec3::from_array([0, 1, 2].map(|axis| draw(axis, Quantity::TurnOnBias)));
        // No filter above 0.45 times the sample rate: near half the sample rate, a digital filter of this kind passes
        // everything.
        let has_filter = settings.bandwidth_hz > 0.0 && settings.bandwidth_hz * dt_s < 0.45;
        Self {
            settings: *settings,
            noise,
            dt_s,
            scale_and_misalignment: matrix,
            fixed_bias: DVec3::from_array(settings.bias) + turn_on * settings.turn_on_bias_std,
            instability: [GaussMarkov::default(); 3],
            walk: DVec3::ZERO,
            filters: has_filter.then(|| [LowPass::new(settings.bandwidth_hz * dt_s); 3]),
        }
    }

    /// The reading of sample `index` for the true value `truth`.
    pub fn step(&mut self, index: u64, truth: DVec3, around: &Circumstances) -> Reading {
        let s = &self.settings;
        let draws = self.noise.request(index);
        let warmth = around.temperature_c - REFERENCE_TEMPERATURE_C;
        let white = s.white_density() / self.dt_s.sqrt();
        let step = s.walk_density() * self.dt_s.sqrt();
        let instability_std = gauss_markov_std(s.bias_instability);
        let straight = self.scale_and_misalignment * truth
            + self.fixed_bias
            + around.specific_force_m_s2 * s.g_sensitivity
            + DVec3::splat(s.temperature_coefficient * warmth);
        let mut reading = Reading::default();
        for axis in 0..3 {
            // An error that is switched off needs no random number.
            let draw = |std: f64, quantity| {
                if std == 0.0 { 0.0 } else { draws.standard_normal(axis, quantity) }
            };
            let bias = self.instability[axis].step(
                instability_std,
                s.bias_correlation_s,
                self.dt_s,
                draw(instability_std, Quantity::BiasInstability),
            );
            self.walk[axis] += step * draw(step, Quantity::BiasWalk);
            let noisy =
                straight[axis] + bias + self.walk[axis] + white * draw(white, Quantity::White);
            let passed = match &mut self.filters {
                Some(filters) => filters[axis].step(noisy),
                None => noisy,
            };
            let (value, is_clipped) = digits(passed, s.resolution, s.range);
            reading.value[axis] = value;
            reading.is_clipped[axis] = is_clipped;
        }
        reading
    }
}

/// Rounds to the resolution, then clamps to plus or minus the range; 0 disables either. Returns the value, and whether it
/// is at a limit of the range.
fn digits(value: f64, resolution: f64, range: f64) -> (f64, bool) {
    let rounded = if resolution > 0.0 { (value / resolution).round() * resolution } else { value };
    if range > 0.0 && rounded.abs() >= range {
        (range.copysign(rounded), true)
    } else {
        (rounded, false)
    }
}

/// A second-order Butterworth low-pass filter, by the bilinear transform.
#[derive(Clone, Copy, Debug)]
struct LowPass {
    gain: f64,
    a1: f64,
    a2: f64,
    /// State of the two delays; `None` before the first value, which passes unchanged.
    state: Option<[f64; 2]>,
}

impl LowPass {
    /// `cutoff` is the -3 dB frequency divided by the sample rate, below 0.5.
    fn new(cutoff: f64) -> Self {
        let k = libm::tan(std::f64::consts::PI * cutoff);
        let norm = 1.0 / (1.0 + std::f64::consts::SQRT_2 * k + k * k);
        Self {
            gain: k * k * norm,
            a1: 2.0 * (k * k - 1.0) * norm,
            a2: (1.0 - std::f64::consts::SQRT_2 * k + k * k) * norm,
            state: None,
        }
    }

    fn step(&mut self, x: f64) -> f64 {
        let b = self.gain;
        // The filter starts in the steady state for `x`.
        let [z1, z2] = self.state.unwrap_or([x * (1.0 - b), x * (b - self.a2)]);
        let y = b * x + z1;
        self.state = Some([2.0 * b * x - self.a1 * y + z2, b * x - self.a2 * y]);
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Circumstances =
        Circumstances { specific_force_m_s2: DVec3::ZERO, temperature_c: REFERENCE_TEMPERATURE_C };

    fn triad(settings: TriadErrors, rate_hz: f64) -> Triad {
        Triad::new(&settings, NoiseSource::new(7, "imu/gyro"), 1.0 / rate_hz)
    }

    #[test]
    fn without_errors_the_truth_is_read() {
        let mut triad = triad(TriadErrors::NONE, 100.0);
        let truth = DVec3::new(0.1, -0.2, 9.81);
        for index in 0..5 {
            let reading = triad.step(index, truth, &STILL);
            assert_eq!((reading.value, reading.is_clipped), (truth, [false; 3]));
        }
    }

    #[test]
    fn white_noise_has_its_density() {
        let settings = TriadErrors { noise_density: 0.01, ..TriadErrors::NONE };
        let mut triad = triad(settings, 400.0);
        let n = 40_000;
        let squares: f64 =
            (0..n).map(|i| triad.step(i, DVec3::ZERO, &STILL).value.length_squared() / 3.0).sum();
        // 0.01 * sqrt(400). Four standard errors of a deviation from 120 000 values are 0.8 %.
        let std = (squares / n as f64).sqrt();
        assert!((std / 0.2 - 1.0).abs() < 0.009, "{std}");
    }

    #[test]
    fn chronos_model_gives_chronos_samples() {
        let settings = TriadErrors {
            chrono_std: 0.001,
            chrono_rate_hz: 100.0,
            chrono_drift: 1e-4,
            chrono_drift_time_s: 0.1,
            ..TriadErrors::NONE
        };
        assert!((settings.white_density() / 0.01f64.sqrt() - 0.001).abs() < 1e-12);
        // After 1 s the standard deviation of the bias is b0 * sqrt(t / t_b).
        let ends: Vec<f64> = (0..400)
            .map(|run| {
                let noise = NoiseSource::new(run, "imu/accel");
                let no_white = TriadErrors { chrono_std: 0.0, ..settings };
                let mut triad = Triad::new(&no_white, noise, 0.01);
                let last = (0..100).map(|i| triad.step(i, DVec3::ZERO, &STILL).value).last();
                last.unwrap().length_squared() / 3.0
            })
            .collect();
        let std = (ends.iter().sum::<f64>() / 400.0).sqrt();
        let expected = 1e-4 * 10f64.sqrt();
        assert!((std / expected - 1.0).abs() < 0.1, "{std} {expected}");
    }

    #[test]
    fn digits_have_steps_and_an_end() {
        let settings = TriadErrors { resolution: 0.5, range: 2.0, ..TriadErrors::NONE };
        let mut triad = triad(settings, 100.0);
        let reading = triad.step(0, DVec3::new(0.7, -3.0, 1.2), &STILL);
        assert_eq!(reading.value, DVec3::new(0.5, -2.0, 1.0));
        assert_eq!(reading.is_clipped, [false, true, false]);
    }

    #[test]
    fn the_low_pass_has_its_bandwidth() {
        let settings = TriadErrors { bandwidth_hz: 10.0, ..TriadErrors::NONE };
        let rate = 1000.0;
        for (frequency_hz, gain) in [(1.0, 1.0), (10.0, std::f64::consts::FRAC_1_SQRT_2)] {
            let mut triad = triad(settings, rate);
            let mut highest: f64 = 0.0;
            for i in 0..4000u32 {
                let t = f64::from(i) / rate;
                let x = libm::sin(std::f64::consts::TAU * frequency_hz * t);
                let y = triad.step(i.into(), DVec3::splat(x), &STILL).value.x;
                if i > 2000 {
                    highest = highest.max(y.abs());
                }
            }
            assert!((highest - gain).abs() < 0.01, "{frequency_hz} Hz: {highest}");
        }
        // The filter has no transient at the start.
        let first = triad(settings, rate).step(0, DVec3::splat(9.8), &STILL).value;
        assert!((first.x - 9.8).abs() < 1e-9, "{first}");
    }

    #[test]
    fn what_is_drawn_once_stays() {
        let settings = TriadErrors {
            turn_on_bias_std: 0.1,
            scale_factor_std: 0.01,
            misalignment_std_rad: 0.01,
            bias: [1.0, 0.0, 0.0],
            g_sensitivity: 0.1,
            temperature_coefficient: 0.01,
            ..TriadErrors::NONE
        };
        let mut triad = triad(settings, 100.0);
        let at_zero = triad.step(0, DVec3::ZERO, &STILL).value;
        assert_eq!(triad.step(1, DVec3::ZERO, &STILL).value, at_zero);
        assert!(at_zero.x > 0.5 && at_zero.y != 0.0);
        let along_x = triad.step(2, DVec3::X, &STILL).value - at_zero;
        assert!((along_x.x - 1.0).abs() < 0.05 && along_x.y != 0.0);
        let warm = Circumstances { specific_force_m_s2: DVec3::Z, temperature_c: 35.0 };
        let moved = triad.step(3, DVec3::ZERO, &warm).value - at_zero;
        assert!((moved - DVec3::new(0.1, 0.1, 0.2)).length() < 1e-12, "{moved}");
    }
}
