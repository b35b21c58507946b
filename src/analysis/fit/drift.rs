//! Fits noise, bias instability and random walk to an Allan deviation, with standard errors that take the length of the
//! log into account.
//!
//! Variances of neighbouring averaging times are computed from the same samples, so their errors are correlated. The
//! correlation time of the instability is fitted as well. The covariance of overlapping Allan variances follows from
//! the covariance of second differences of the integrated signal, for Gaussian noise by Isserlis' theorem. C.
//! Greenhall, W. Riley, "Uncertainty of stability variances based on finite differences", PTTI 2003, gives the
//! generalised covariances of white noise (`-|u|/2`) and of its integral (`|u|³/12`). A Gauss-Markov process with the
//! standard deviation 1 has `-T² (u/T - 1 + e^(-u/T))`.

use glam::{DMat4, DVec4};

use crate::analysis::allan::{Coefficients, Fitted, Point, correlation_times_s, unit_variances};
use crate::sensors::imu::errors::gauss_markov_std;

/// Length of the shortest log from which a bias instability can be determined, in correlation times. In a shorter log,
/// the maximum of the instability's curve is too uncertain to distinguish the instability from a random walk.
pub const LENGTHS_OF_INSTABILITY: f64 = 40.0;
/// Length of the shortest log, seconds, from which a random walk can be determined in addition to an instability with a
/// fitted correlation time. In a shorter log, errors of the instability's curve look like a random walk.
pub const SHORTEST_WALK_S: f64 = 3600.0;
/// Length of the shortest log, seconds, from which a random walk can be determined if the fit finds no correlation
/// time. In a shorter log, an instability with a long correlation time looks like a random walk.
pub const SHORTEST_LONE_WALK_S: f64 = 14_400.0;
/// Number of standard errors above which a term is significant.
const SEEN: f64 = 3.0;
/// The correlation time counts as found only if the standard error of its logarithm is below this.
const MOST_LOG_ERROR: f64 = 0.35;
/// Ratio of two averaging times above which their Allan variances are assumed to be independent.
const FAR: usize = 30;
/// Number of axes whose variances are averaged.
const AXES: f64 = 3.0;

/// Result for one term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermResult {
    /// The term is significant.
    Found,
    /// The log is long enough, but the term is not significant: it is at most [`Fitted::at_most`].
    NotSeen,
    /// The log is too short for this term; the value is the necessary length, seconds.
    TooShort(f64),
}

/// Coefficients fitted to an Allan deviation, with one result each for noise, instability and walk.
#[derive(Clone, Copy, Debug)]
pub struct Drift {
    /// Fitted coefficients with their errors.
    pub fitted: Fitted,
    /// Standard error of the logarithm of the correlation time.
    pub log_correlation_error: f64,
    /// Results for noise, instability and walk.
    pub results: [TermResult; 3],
}

/// Squares of the coefficients of noise, instability and walk, and the correlation time.
#[derive(Clone, Copy, Debug)]
struct Model {
    squares: [f64; 3],
    correlation_s: f64,
}

impl Model {
    fn variance(&self, tau_s: f64) -> f64 {
        let units = unit_variances(self.correlation_s, tau_s);
        self.squares.iter().zip(units).map(|(c, u)| c * u).sum()
    }

    /// Derivatives of the Allan variance with respect to the squares of the three coefficients and to the logarithm of
    /// the correlation time.
    fn slopes(&self, tau_s: f64) -> DVec4 {
        let [noise, instability, walk] = unit_variances(self.correlation_s, tau_s);
        let step = 0.01;
        let longer = unit_variances(self.correlation_s * (1.0 + step), tau_s)[1];
        let by_time = self.squares[1] * (longer - instability) / libm::log1p(step);
        DVec4::new(noise, instability, walk, by_time)
    }

    /// Generalised covariance of the integrated signal at a lag.
    fn covariance(&self, lag_s: f64) -> f64 {
        let u = lag_s.abs();
        let [noise, instability, walk] = self.squares;
        let std = gauss_markov_std(1.0);
        let x = u / self.correlation_s;
        // For short lags the closed form loses all digits.
        let bent = if x < 1e-3 { x * x / 2.0 - x * x * x / 6.0 } else { x + libm::expm1(-x) };
        let bent = std * std * self.correlation_s * self.correlation_s * bent;
        walk * u * u * u / 12.0 - noise * u / 2.0 - instability * bent
    }
}

/// Fits a curve that was computed from `samples` values per axis at intervals of `dt_s`. `usual_correlation_s` is the
/// product's correlation time: the upper limits of instability and walk always assume it, and so does the necessary
/// length of the log if the fit finds no correlation time. Returns `None` if `points` has fewer than four averaging
/// times.
pub fn fit(points: &[Point], samples: usize, dt_s: f64, usual_correlation_s: f64) -> Option<Drift> {
    let (first, last) = (points.first()?.tau_s, points.last()?.tau_s);
    if points.len() < 4 {
        return None;
    }
    let length_s = samples as f64 * dt_s;
    let times = correlation_times_s(10.0 * first, 0.6 * last);
    let of_time = |time_s: f64| solve(points, time_s, [true; 3]);
    let best = times.into_iter().map(of_time).min_by(|a, b| a.1.total_cmp(&b.1));
    let errors_of = |model: Model, used| Drift::of(points, samples, dt_s, model, used);
    let usual = || errors_of(of_time(usual_correlation_s).0, [true, true, true, false]);
    let found = best.map(|(model, _)| {
        let is_timed = model.squares[1] > 0.0;
        errors_of(model, [true, true, true, is_timed])
    });
    let needed_s = |time_s: f64| LENGTHS_OF_INSTABILITY * time_s;
    let is_found = |drift: &Drift| {
        drift.fitted.is_seen[1]
            && drift.log_correlation_error < MOST_LOG_ERROR
            && needed_s(drift.longest_correlation_s()) <= length_s
    };
    let is_timed = found.as_ref().is_some_and(is_found);
    let mut drift = found.unwrap_or_else(usual);
    let [_, is_instability_seen, _] = drift.fitted.is_seen;
    let (instability_needs_s, walk_needs_s) = if is_timed {
        let needed_s = needed_s(drift.fitted.correlation_s);
        (needed_s, needed_s.max(SHORTEST_WALK_S))
    } else {
        // The fit found no correlation time, so the usual one is assumed.
        let needed_s = needed_s(usual_correlation_s);
        let longer_s = if is_instability_seen { 2.0 * length_s } else { 0.0 };
        (needed_s.max(longer_s), needed_s.max(longer_s).max(SHORTEST_LONE_WALK_S))
    };
    let result = |i: usize, needed_s: f64| match drift.fitted.is_seen[i] {
        _ if length_s < needed_s => TermResult::TooShort(needed_s),
        true => TermResult::Found,
        false => TermResult::NotSeen,
    };
    // Upper limit of instability or walk: the fit with this term as the only cause of the drift.
    let most_alone = |term: usize| {
        let used = [true, term == 1, term == 2];
        let (model, _) = solve(points, usual_correlation_s, used);
        errors_of(model, [true, term == 1, term == 2, false]).fitted.at_most
    };
    let at_most = (most_alone(1).bias_instability, most_alone(2).random_walk);
    (drift.fitted.at_most.bias_instability, drift.fitted.at_most.random_walk) = at_most;
    drift.results = [result(0, 0.0), result(1, instability_needs_s), result(2, walk_needs_s)];
    Some(drift)
}

impl Drift {
    /// Fit with the coefficients of `model` and their standard errors. `used` marks the fitted parameters: noise,
    /// instability, walk and correlation time.
    fn of(points: &[Point], samples: usize, dt_s: f64, model: Model, used: [bool; 4]) -> Self {
        let (errors_here, log_error, misfit) = errors(points, samples, dt_s, &model, used);
        // The standard error of a term grows with the term, so an underestimated term has an underestimated error.
        // Errors are therefore also computed for larger terms.
        let larger = Model {
            squares: std::array::from_fn(|i| model.squares[i] + errors_here[i]),
            correlation_s: model.correlation_s * libm::exp(2.0 * log_error.min(1.0)),
        };
        let (errors_there, ..) = errors(points, samples, dt_s, &larger, used);
        // The noise is determined by short times, independent of the other terms.
        let errors = [
            errors_here[0],
            errors_here[1].max(errors_there[1]),
            errors_here[2].max(errors_there[2]),
        ];
        let squares = model.squares;
        let of = |f: &dyn Fn(usize) -> f64| Coefficients {
            noise_density: f(0),
            bias_instability: f(1),
            random_walk: f(2),
        };
        let fitted = Fitted {
            found: of(&|i| squares[i].sqrt()),
            standard_error: of(&|i| match squares[i] > errors[i] {
                true => errors[i] / (2.0 * squares[i].sqrt()),
                false => errors[i].sqrt(),
            }),
            at_most: of(&|i| (squares[i] + 2.0 * errors[i]).sqrt()),
            is_seen: std::array::from_fn(|i| squares[i] > SEEN * errors[i]),
            correlation_s: model.correlation_s,
            misfit,
        };
        Self { fitted, log_correlation_error: log_error, results: [TermResult::NotSeen; 3] }
    }

    /// Upper limit of the correlation time: the best value plus two standard errors, on a logarithmic scale.
    fn longest_correlation_s(&self) -> f64 {
        self.fitted.correlation_s * libm::exp(2.0 * self.log_correlation_error)
    }
}

/// Best model for a given correlation time, and -2 times the logarithm of the model's likelihood. An Allan variance has
/// approximately a chi-squared distribution. The weights are computed from the model, because weights from measured
/// values would give low values too much influence.
fn solve(points: &[Point], correlation_s: f64, mut used: [bool; 3]) -> (Model, f64) {
    let rows: Vec<[f64; 3]> =
        points.iter().map(|p| unit_variances(correlation_s, p.tau_s)).collect();
    let measured: Vec<f64> = points.iter().map(|p| p.deviation * p.deviation).collect();
    let mut squares = [0.0; 3];
    // The first weights are computed from the measured curve.
    let mut variances = measured.clone();
    for _ in 0..ROUNDS {
        loop {
            squares = weighted(points, &rows, &measured, &variances, used);
            match (0..3).find(|i| used[*i] && squares[*i] < 0.0) {
                Some(negative) => used[negative] = false,
                None => break,
            }
        }
        let model = Model { squares, correlation_s };
        for (variance, point) in variances.iter_mut().zip(points) {
            *variance = model.variance(point.tau_s).max(f64::MIN_POSITIVE);
        }
    }
    let unlikely = |((s, v), p): ((&f64, &f64), &Point)| {
        let freedom = freedom(p);
        freedom * (s / v - libm::log(s / v) - 1.0)
    };
    let sum = measured.iter().zip(&variances).zip(points).map(unlikely).sum();
    (Model { squares, correlation_s }, sum)
}

/// Number of rounds after which the weights have converged.
const ROUNDS: usize = 6;

/// Number of degrees of freedom of the Allan variance at `point`.
fn freedom(point: &Point) -> f64 {
    (2.0 * point.relative_error * point.relative_error).recip()
}

/// Weighted least-squares estimate of the squared coefficients of noise, instability and walk; 0 for unused terms. A
/// point's standard error follows from the point's entry in `variances` and the point's degrees of freedom.
fn weighted(
    points: &[Point],
    rows: &[[f64; 3]],
    measured: &[f64],
    variances: &[f64],
    used: [bool; 3],
) -> [f64; 3] {
    let weight = |at: usize| freedom(&points[at]).sqrt() / variances[at];
    let scale: [f64; 3] = std::array::from_fn(|i| {
        let all = rows.iter().enumerate().map(|(at, row)| row[i] * weight(at));
        all.fold(0.0, f64::max).max(f64::MIN_POSITIVE)
    });
    let (mut matrix, mut right) = (glam::DMat3::ZERO, glam::DVec3::ZERO);
    for (at, row) in rows.iter().enumerate() {
        let scaled = |i: usize| row[i] * weight(at) / scale[i];
        for i in (0..3).filter(|i| used[*i]) {
            for j in (0..3).filter(|j| used[*j]) {
                matrix.col_mut(j)[i] += scaled(i) * scaled(j);
            }
            right[i] += scaled(i) * measured[at] * weight(at);
        }
    }
    for i in (0..3).filter(|i| !used[*i]) {
        matrix.col_mut(i)[i] = 1.0;
    }
    let solution = matrix.inverse() * right;
    std::array::from_fn(|i| solution[i] / scale[i])
}

/// Standard errors of the three squared coefficients, standard error of the logarithm of the correlation time, and
/// misfit. The misfit is 1 on average for a correct model. A misfit above 1 increases the standard errors.
fn errors(
    points: &[Point],
    samples: usize,
    dt_s: f64,
    model: &Model,
    used: [bool; 4],
) -> ([f64; 3], f64, f64) {
    let variances: Vec<f64> = points.iter().map(|p| model.variance(p.tau_s)).collect();
    let weight = |at: usize| freedom(&points[at]).sqrt() / variances[at];
    let rows: Vec<DVec4> = points.iter().map(|p| model.slopes(p.tau_s)).collect();
    let scale = DVec4::from_array(std::array::from_fn(|i| {
        let all = rows.iter().enumerate().map(|(at, row)| (row[i] * weight(at)).abs());
        all.fold(0.0, f64::max).max(f64::MIN_POSITIVE)
    }));
    let keep = DVec4::from_array(used.map(|used| if used { 1.0 } else { 0.0 }));
    let scaled = |at: usize| rows[at] * weight(at) / scale * keep;
    let outer = |a: DVec4, b: DVec4| DMat4::from_cols(a * b.x, a * b.y, a * b.z, a * b.w);
    let mut matrix = DMat4::from_diagonal(DVec4::ONE - keep);
    let (mut spread, mut misfit) = (DMat4::ZERO, 0.0);
    for i in 0..points.len() {
        let own = scaled(i);
        matrix += outer(own, own);
        for j in 0..=i {
            let shared = covariance(points, samples, dt_s, model, i, j) * weight(i) * weight(j);
            let both = outer(own, scaled(j)) * shared;
            spread += if i == j { both } else { both + both.transpose() };
            if i == j {
                let off = (points[i].deviation.powi(2) - variances[i]) * weight(i);
                misfit += off * off / shared / points.len() as f64;
            }
        }
    }
    let inverse = matrix.inverse();
    let covariance = inverse * spread * inverse;
    let error = |i: usize| {
        let error = (covariance.col(i)[i].max(0.0) * misfit.max(1.0)).sqrt() / scale[i];
        if error.is_finite() { error } else { f64::INFINITY }
    };
    ([error(0), error(1), error(2)], error(3), misfit)
}

/// Covariance of two overlapping Allan variances, each the mean of three axes.
fn covariance(
    points: &[Point],
    samples: usize,
    dt_s: f64,
    model: &Model,
    i: usize,
    j: usize,
) -> f64 {
    let lengths = [i, j].map(|at| (points[at].tau_s / dt_s).round() as i64);
    let [most, least] = [lengths[0].max(lengths[1]), lengths[0].min(lengths[1])];
    if most > FAR as i64 * least {
        return 0.0;
    }
    let counts = lengths.map(|m| samples as i64 + 1 - 2 * m);
    let step = (least / 4).max(1);
    let tail = ((6.0 * model.correlation_s / dt_s) as i64).min(6 * most);
    let reach = (2 * most + tail) / step;
    let shared = |lag: i64| {
        let parts = [(0, 1.0), (1, -2.0), (2, 1.0)];
        let mut sum = 0.0;
        for (a, of_a) in parts {
            for (b, of_b) in parts {
                let lag = lag + a * lengths[0] - b * lengths[1];
                sum += of_a * of_b * model.covariance(lag as f64 * dt_s);
            }
        }
        sum
    };
    let sum: f64 = (-reach..=reach)
        .map(|k| k * step + lengths[1] - lengths[0])
        .map(|lag| {
            let pairs = (counts[0].min(counts[1] + lag) - lag.max(0)).max(0);
            pairs as f64 * shared(lag).powi(2)
        })
        .sum();
    let tau = [i, j].map(|at| points[at].tau_s * points[at].tau_s);
    let count = counts[0] as f64 * counts[1] as f64;
    sum * step as f64 / (2.0 * tau[0] * tau[1] * count) / AXES
}
