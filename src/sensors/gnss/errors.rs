//! Position errors along east, north and up. Errors of several models are added.
//!
//! **Gaussian** (Chrono, `ChNoiseNormal`): `e ~ N(mean, std)`, independent in every epoch and axis.
//!
//! **Random walk** (Chrono, `ChNoiseRandomWalks`): integrated from the previous epoch to this one in steps of
//! `h = 1 / update_hz`; the last step is shorter. In each step and axis
//! ```text
//! a ~ N(-0.2 std p / radius, std)    a <- clamp(a, -a_max, a_max)
//! v <- v + a h                       if |v| > v_max: v <- v v_max / |v|    (all three axes)
//! p <- p + v h                       e = p
//! ```
//! The walk starts at p = v = 0. The standard deviation is not divided by `sqrt(h)`, so that results depend on
//! `update_hz`, as in Chrono. The velocity error is v.
//!
//! **AirSim** (`GpsSimple`): the position is the true one. Only the reported accuracy changes, see
//! [`super::navigator`].
//!
//! **Gauss-Markov** (Rankin 1994; Beard and McLain, Small Unmanned Aircraft):
//! ```text
//! x <- exp(-dt / tau) x + std sqrt(1 - exp(-2 dt / tau)) N(0, 1)
//! ```
//! The standard deviation is `std` at all times, and the autocorrelation is `exp(-t / tau)`. The start value is
//! sampled from the stationary distribution.
//!
//! Each of these models may describe range errors instead. Each axis is then multiplied by its DOP.

use glam::DVec3;

use super::settings::{ErrorKind, ErrorModel};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;

/// The error processes of one kind of fix, with their state.
#[derive(Clone, Debug)]
pub struct ErrorProcess {
    models: Vec<(ErrorModel, State)>,
    noise: NoiseSource,
    /// Identifier that separates the random numbers of a receiver's processes.
    stream: usize,
}

/// An error at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PositionError {
    /// Position error: east, north, up, metres.
    pub position_m: DVec3,
    /// Range error east, north, up, metres; the caller multiplies each axis by its DOP.
    pub range_m: DVec3,
    /// Velocity error: east, north, up, m/s.
    pub velocity_m_s: DVec3,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    last: Option<SimTime>,
    /// Number of steps of the random walk so far. It identifies the random samples.
    steps: u64,
    position_m: DVec3,
    velocity_m_s: DVec3,
}

impl ErrorProcess {
    /// A process that adds the errors of `models`. `stream` separates the random numbers of a device's processes.
    pub fn new(models: &[ErrorModel], noise: NoiseSource, stream: usize) -> Self {
        let models = models.iter().map(|model| (model.clone(), State::default())).collect();
        Self { models, noise, stream }
    }

    /// The error at `at`, which must be later than in the previous call. `index` counts epochs.
    pub fn step(&mut self, at: SimTime, index: u64) -> PositionError {
        let mut sum = PositionError::default();
        for (place, (model, state)) in self.models.iter_mut().enumerate() {
            let lane = self.stream << 8 | place << 4;
            let (error, velocity) = match &model.kind {
                ErrorKind::Gaussian { mean_m, std_m } => {
                    let draw = draw(&self.noise, index, lane, Quantity::GnssPosition);
                    (DVec3::from(*mean_m) + DVec3::from(*std_m) * draw, DVec3::ZERO)
                }
                ErrorKind::GaussMarkov { std_m, time_constant_s } => {
                    let draw = draw(&self.noise, index, lane, Quantity::GnssMarkov);
                    let std = DVec3::from(*std_m);
                    state.position_m = match state.last {
                        None => std * draw,
                        Some(last) => {
                            let dt = at.saturating_since(last).as_secs_f64();
                            let keep = libm::exp(-dt / time_constant_s);
                            state.position_m * keep + std * draw * (1.0 - keep * keep).sqrt()
                        }
                    };
                    (state.position_m, DVec3::ZERO)
                }
                ErrorKind::RandomWalk { .. } => {
                    walk(&model.kind, state, at, &self.noise, lane);
                    (state.position_m, state.velocity_m_s)
                }
            };
            state.last = Some(at);
            if model.times_dop {
                sum.range_m += error;
            } else {
                sum.position_m += error;
            }
            sum.velocity_m_s += velocity;
        }
        sum
    }
}

fn draw(noise: &NoiseSource, index: u64, lane: usize, quantity: Quantity) -> DVec3 {
    let noise = noise.request(index);
    let axis = |axis: usize| noise.standard_normal(lane | axis, quantity);
    DVec3::new(axis(0), axis(1), axis(2))
}

/// Chrono's random walk from the time of `state` to `at`.
fn walk(kind: &ErrorKind, state: &mut State, at: SimTime, noise: &NoiseSource, lane: usize) {
    let ErrorKind::RandomWalk {
        std_m_s2,
        update_hz,
        max_speed_m_s,
        max_acceleration_m_s2,
        radius_m,
    } = kind
    else {
        return;
    };
    let mut left_s = state.last.map_or(0.0, |last| at.saturating_since(last).as_secs_f64());
    let whole_s = update_hz.recip();
    while left_s > 1e-9 {
        let h = whole_s.min(left_s);
        left_s -= h;
        let draw = draw(noise, state.steps, lane, Quantity::GnssWalk);
        state.steps += 1;
        let mean = state.position_m * (-0.2 * std_m_s2 / radius_m);
        let limit = DVec3::splat(*max_acceleration_m_s2);
        let acceleration = (mean + draw * *std_m_s2).clamp(-limit, limit);
        state.velocity_m_s += acceleration * h;
        let speed = state.velocity_m_s.length();
        if speed > *max_speed_m_s {
            state.velocity_m_s *= max_speed_m_s / speed;
        }
        state.position_m += state.velocity_m_s * h;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCHS: u64 = 40_000;

    /// The east, north and up errors of `EPOCHS` epochs at 10 Hz.
    fn run(kind: ErrorKind) -> Vec<DVec3> {
        let model = ErrorModel { kind, times_dop: false };
        let mut process = ErrorProcess::new(&[model], NoiseSource::new(3, "gnss"), 1);
        (0..EPOCHS).map(|i| process.step(SimTime(i * 100_000_000), i).position_m).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    fn correlation(values: &[f64], lag: usize) -> f64 {
        let (mean, std) = moments(values);
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
            / ((values.len() - lag) as f64 * std * std)
    }

    #[test]
    fn gaussian_errors_have_their_moments_and_no_memory() {
        let errors = run(ErrorKind::Gaussian { mean_m: [1.0, 1.0, 1.0], std_m: [2.0, 3.0, 1.0] });
        for (axis, std) in [(0, 2.0), (1, 3.0), (2, 1.0)] {
            let values: Vec<f64> = errors.iter().map(|e| e[axis]).collect();
            let (mean, found) = moments(&values);
            // Four standard errors of 40 000 samples: std / 200 for the mean, std / 283 for the std.
            assert!((mean - 1.0).abs() < 4.0 * std / 200.0, "{mean}");
            assert!((found / std - 1.0).abs() < 4.0 / 283.0, "{found}");
            assert!(correlation(&values, 1).abs() < 4.0 / 200.0);
        }
    }

    #[test]
    fn gauss_markov_keeps_its_deviation_and_decays() {
        let errors = run(ErrorKind::GaussMarkov { std_m: [1.5, 1.5, 3.0], time_constant_s: 2.0 });
        let values: Vec<f64> = errors.iter().map(|e| e.x).collect();
        // 4000 s have about 1000 independent samples (2 tau each): std within 10 %, correlations within 0.12.
        let (_, std) = moments(&values);
        assert!((std / 1.5 - 1.0).abs() < 0.1, "{std}");
        for lag in [1_usize, 10, 20, 40] {
            let expected = libm::exp(-(lag as f64) * 0.1 / 2.0);
            let found = correlation(&values, lag);
            assert!((found - expected).abs() < 0.12, "lag {lag}: {found} not {expected}");
        }
    }

    #[test]
    fn gauss_markov_does_not_depend_on_the_rate() {
        let kind = ErrorKind::GaussMarkov { std_m: [1.0; 3], time_constant_s: 1.0 };
        let model = ErrorModel { kind, times_dop: false };
        let mut slow = ErrorProcess::new(&[model], NoiseSource::new(3, "gnss"), 0);
        let values: Vec<f64> =
            (0..EPOCHS).map(|i| slow.step(SimTime(i * 1_000_000_000), i).position_m.y).collect();
        let (_, std) = moments(&values);
        assert!((std - 1.0).abs() < 0.03, "{std}");
        assert!((correlation(&values, 1) - libm::exp(-1.0)).abs() < 0.03);
    }

    #[test]
    fn the_walk_keeps_chronos_limits_and_comes_back() {
        let kind = ErrorKind::RandomWalk {
            std_m_s2: 0.16,
            update_hz: 100.0,
            max_speed_m_s: 0.03,
            max_acceleration_m_s2: 0.05,
            radius_m: 1.0,
        };
        let errors = run(kind);
        for pair in errors.windows(2) {
            assert!((pair[1] - pair[0]).length() <= 0.03 * 0.1 + 1e-12);
        }
        assert_eq!(errors[0], DVec3::ZERO);
        let values: Vec<f64> = errors.iter().map(|e| e.x).collect();
        // Neighbouring errors are similar, and the restoring acceleration keeps errors below metres for an hour.
        assert!(correlation(&values, 1) > 0.99);
        let (_, std) = moments(&values);
        let most = errors.iter().map(|e| e.abs().max_element()).fold(0.0, f64::max);
        assert!(std > 0.01 && most < 5.0, "{std} {most}");
    }

    /// Two steps computed by hand; the second one is shorter.
    #[test]
    fn the_walk_integrates_as_chrono_does() {
        let kind = ErrorKind::RandomWalk {
            std_m_s2: 0.016,
            update_hz: 100.0,
            max_speed_m_s: 10.0,
            max_acceleration_m_s2: 1.0,
            radius_m: 1.0,
        };
        let noise = NoiseSource::new(3, "gnss");
        let model = ErrorModel { kind, times_dop: false };
        let mut process = ErrorProcess::new(&[model], noise, 0);
        process.step(SimTime(0), 0);
        let got = process.step(SimTime(15_000_000), 1);
        let a = |step: u64, p: f64| {
            -0.2 * 0.016 * p + 0.016 * noise.request(step).standard_normal(0, Quantity::GnssWalk)
        };
        let v1 = a(0, 0.0) * 0.01;
        let p1 = v1 * 0.01;
        let v2 = v1 + a(1, p1) * 0.005;
        let p2 = p1 + v2 * 0.005;
        assert!((got.position_m.x - p2).abs() < 1e-15 && (got.velocity_m_s.x - v2).abs() < 1e-15);
    }

    #[test]
    fn range_errors_are_kept_apart() {
        let kind = ErrorKind::Gaussian { mean_m: [0.0; 3], std_m: [1.0; 3] };
        let models = [
            ErrorModel { kind: kind.clone(), times_dop: true },
            ErrorModel { kind, times_dop: false },
        ];
        let error = ErrorProcess::new(&models, NoiseSource::new(1, "x"), 0).step(SimTime(0), 0);
        assert_ne!(error.range_m, DVec3::ZERO);
        assert_ne!(error.range_m, error.position_m);
    }
}
