//! Fits the errors of a GNSS receiver at rest: white noise of each position, and a slow drift of all positions.
//!
//! The model is that of [`crate::sensors::gnss::errors`]: a Gauss-Markov process (the walk) plus white noise (the
//! spread), along east, north and up. Both are fitted to the Allan deviation of the positions. White noise with the
//! standard deviation s at the interval dt has the Allan variance s² dt / tau at the averaging time tau. The Allan
//! variance of the Gauss-Markov process is that of a bias instability.

use glam::DVec3;
use serde_json::{Value, json};

use super::fragment::{Fragment, Table, figure};
pub use super::position_log::PositionLog;
use super::{FitError, Log, median};
use crate::analysis::allan::{
    Fitted, Point, averaging_samples, correlation_times_s, fit_terms, overlapping,
};
use crate::sensors::imu::errors::gauss_markov_std;

/// Smallest number of positions for a fit.
const FEWEST: usize = 20;
/// Smallest number of positions for fitting a walk.
const FEWEST_FOR_WALK: usize = 200;
/// Number of averaging times per decade.
const PER_DECADE: u32 = 5;
/// Largest horizontal speed between successive ten-second mean positions of an antenna at rest, m/s.
const MOVED_M_S: f64 = 0.3;

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct PositionFit {
    /// Positions that were fitted.
    pub log: PositionLog,
    /// Standard deviation of the white noise: east, north, up, metres.
    pub spread_m: DVec3,
    /// Slow drift of the position; `None` if the log is too short for fitting it or shows no drift.
    pub walk: Option<Walk>,
    /// Standard deviation of each component of the velocity, m/s; `None` if the log has too few velocities.
    pub velocity_std_m_s: Option<f64>,
    /// Allan deviation of the position on each axis (east, north, up), and the fit to the deviation. The fit is `None`
    /// if the log is too short for the walk.
    pub curves: [(Vec<Point>, Option<Fitted>); 3],
    source: String,
}

/// Slow drift of the reported position, modelled as a Gauss-Markov process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// Standard deviation: east, north, up, metres.
    pub std_m: DVec3,
    /// Time constant, seconds.
    pub time_constant_s: f64,
}

/// Reads the log of a receiver at rest and fits its errors.
///
/// # Errors
/// The log cannot be read, is too short, or the antenna was moved.
pub fn fit(log: &Log<'_>) -> Result<PositionFit, FitError> {
    let found = super::position_log::read(log)?;
    let identity = log.identity()?;
    let mut fit = fit_positions(found)?;
    let duration_s = fit.log.positions_m.len() as f64 * fit.log.interval_s;
    let hz = fit.log.interval_s.recip();
    fit.source =
        format!("{identity}, {duration_s:.0} s at standstill, {} at {hz:.3} Hz", fit.log.message);
    Ok(fit)
}

/// Like [`fit`], for given positions.
///
/// # Errors
/// There are too few positions, or the antenna was moved.
pub fn fit_positions(log: PositionLog) -> Result<PositionFit, FitError> {
    let count = log.positions_m.len();
    if count < FEWEST {
        let text = format!(
            "it has {count} positions; a fit needs {FEWEST} for the spread and {FEWEST_FOR_WALK} \
             for the walk"
        );
        return Err(FitError::Log(text));
    }
    check_still(&log)?;
    let axis = |axis: usize| -> Vec<f64> { log.positions_m.iter().map(|p| p[axis]).collect() };
    let has_walk = count >= FEWEST_FOR_WALK;
    let averages = if has_walk { averaging_samples(count, PER_DECADE) } else { vec![1] };
    let curve = |i| {
        let mut points = overlapping(&axis(i), log.interval_s, &averages);
        points.retain(|point| point.deviation > 0.0);
        points
    };
    let curves = [0, 1, 2].map(curve);
    let fits = has_walk.then(|| best(&curves, log.interval_s)).flatten();
    let spread_of = |i: usize| match &fits {
        Some(fits) => fits[i].found.noise_density / log.interval_s.sqrt(),
        // For white noise, the Allan deviation at an averaging time of one interval equals the standard deviation.
        None => curves[i].first().map_or(0.0, |point| point.deviation),
    };
    let spread_m = DVec3::from_array([0, 1, 2].map(spread_of));
    let walk = fits.filter(|fits| fits.iter().any(|fit| fit.is_seen[1])).map(|fits| {
        let std = |i: usize| gauss_markov_std(fits[i].found.bias_instability);
        Walk {
            std_m: DVec3::from_array([0, 1, 2].map(std)),
            time_constant_s: fits[0].correlation_s,
        }
    });
    let velocity_std_m_s = velocity_std(&log.velocities_m_s);
    let [east, north, up] = curves;
    let of = |i: usize| fits.map(|fits| fits[i]);
    let curves = [(east, of(0)), (north, of(1)), (up, of(2))];
    Ok(PositionFit { spread_m, walk, velocity_std_m_s, curves, log, source: String::new() })
}

/// Fits of the three axes with one time constant, the one that fits all axes together best. `None` if an axis has no
/// points.
fn best(curves: &[Vec<Point>; 3], interval_s: f64) -> Option<[Fitted; 3]> {
    let last = curves.iter().filter_map(|points| points.last()).map(|point| point.tau_s);
    let longest_s = last.reduce(f64::min)?;
    if curves.iter().any(Vec::is_empty) {
        return None;
    }
    // The model of a position has no random walk, so that term is not used.
    let all = correlation_times_s(3.0 * interval_s, longest_s)
        .into_iter()
        .map(|time_s| [0, 1, 2].map(|i| fit_terms(&curves[i], time_s, [true, true, false])));
    let misfit = |fits: &[Fitted; 3]| fits.iter().map(|fit| fit.misfit).sum::<f64>();
    all.min_by(|a, b| misfit(a).total_cmp(&misfit(b)))
}

/// Standard deviation of a velocity component, m/s, from the median of the absolute values: half of the values of a
/// normal distribution are within 0.6745 standard deviations. `None` for fewer than [`FEWEST`] velocities.
fn velocity_std(velocities_m_s: &[DVec3]) -> Option<f64> {
    let mut sizes: Vec<f64> =
        velocities_m_s.iter().flat_map(|v| v.to_array()).map(f64::abs).collect();
    (sizes.len() >= 3 * FEWEST).then(|| median(&mut sizes) / 0.6745)
}

/// Returns an error if the antenna was moved.
fn check_still(log: &PositionLog) -> Result<(), FitError> {
    let ten = ((10.0 / log.interval_s).round() as usize).max(1);
    let means: Vec<DVec3> = log
        .positions_m
        .chunks_exact(ten)
        .map(|p| p.iter().sum::<DVec3>() / p.len() as f64)
        .collect();
    let seconds = ten as f64 * log.interval_s;
    let speed = |pair: &[DVec3]| (pair[1] - pair[0]).truncate().length() / seconds;
    match means.windows(2).position(|pair| speed(pair) > MOVED_M_S) {
        Some(at) => Err(FitError::Log(format!(
            "the antenna was moved: {:.1} m/s some {:.0} s after the start; a fit needs a log at \
             standstill (--from and --to choose a part)",
            speed(&means[at..at + 2]),
            (at + 1) as f64 * seconds
        ))),
        None => Ok(()),
    }
}

impl PositionFit {
    /// The fit as tables of a profile or a rig.
    pub fn fragment(&self) -> Fragment {
        let grade = self.log.grade.map(|grade| grade.word());
        let mut table = Table {
            in_profile: format!("settings.accuracy.{}", grade.unwrap_or("standalone")),
            ..Table::default()
        };
        match self.log.uere_m {
            Some(uere) => table.number("uere_m", uere, "stated accuracy over HDOP"),
            None => {
                table.remark("uere_m: no message has accuracy and HDOP; keep the profile's value")
            }
        }
        match self.velocity_std_m_s {
            Some(std) => table.number("velocity_std_m_s", std, ""),
            None => table
                .remark("velocity_std_m_s: no message has velocities; keep the profile's value"),
        }
        let axes = |v: DVec3| {
            let [east, north, up] = v.to_array().map(figure);
            format!("[{east}, {north}, {up}]")
        };
        let mut models = Vec::new();
        if let Some(walk) = self.walk {
            models.push(format!(
                "  {{ model = \"gauss-markov\", std_m = {}, time_constant_s = {} }},\n",
                axes(walk.std_m),
                figure(walk.time_constant_s)
            ));
        }
        if self.spread_m != DVec3::ZERO {
            let std_m = axes(self.spread_m);
            models.push(format!("  {{ model = \"gaussian\", std_m = {std_m} }},\n"));
        }
        table.raw("errors", format!("[\n{}]", models.concat()), "east, north, up");
        let mut remarks = Vec::new();
        if grade.is_none() {
            remarks
                .push("No message states the kind of fix; the fit assumes standalone.".to_owned());
        }
        if self.walk.is_none() {
            let text = "No walk was found: the log is too short, or the errors have none.";
            remarks.push(text.to_owned());
        }
        let hidden = self.log.quantum_m / 12f64.sqrt();
        if self.spread_m.truncate().max_element() < 2.0 * hidden {
            remarks.push(format!(
                "Positions are rounded to {} m, so a spread below {} m cannot be measured.",
                figure(self.log.quantum_m),
                figure(hidden)
            ));
        }
        if self.log.missing > 0 {
            remarks.push(format!("{} epochs have no position.", self.log.missing));
        }
        Fragment { source: self.source.clone(), remarks, tables: vec![table] }
    }

    /// The fit as JSON.
    pub fn report(&self) -> Value {
        let walk = self.walk.map(|walk| {
            json!({ "std_m": walk.std_m.to_array(), "time_constant_s": walk.time_constant_s })
        });
        let curves: Vec<Value> = self
            .curves
            .iter()
            .map(|(points, fitted)| {
                let row = |p: &Point| {
                    json!({ "tau_s": p.tau_s, "deviation_m": p.deviation,
                            "fitted_m": fitted.map(|fitted| fitted.deviation(p.tau_s)) })
                };
                points.iter().map(row).collect()
            })
            .collect();
        json!({ "log": self.source, "message": self.log.message,
                "interval_s": self.log.interval_s, "positions": self.log.positions_m.len(),
                "missing": self.log.missing, "grade": self.log.grade.map(|grade| grade.word()),
                "quantum_m": self.log.quantum_m, "spread_m": self.spread_m.to_array(),
                "walk": walk, "velocity_std_m_s": self.velocity_std_m_s,
                "uere_m": self.log.uere_m, "curves": curves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::gnss::errors::ErrorProcess;
    use crate::sensors::gnss::settings::{ErrorKind, ErrorModel};
    use crate::sensors::noise::NoiseSource;
    use crate::time::SimTime;

    fn log(kinds: &[ErrorKind], count: u64) -> PositionLog {
        let model = |kind: &ErrorKind| ErrorModel { kind: kind.clone(), times_dop: false };
        let models: Vec<_> = kinds.iter().map(model).collect();
        let mut process = ErrorProcess::new(&models, NoiseSource::new(5, "gnss"), 0);
        let at = |i: u64| process.step(SimTime(i * 100_000_000), i).position_m;
        PositionLog {
            message: "NAV-HPPOSLLH".into(),
            interval_s: 0.1,
            positions_m: (0..count).map(at).collect(),
            grade: None,
            quantum_m: 1e-4,
            velocities_m_s: Vec::new(),
            uere_m: None,
            missing: 0,
        }
    }

    /// An hour is 180 time constants, so the standard deviation of the walk is known to 5 to 10 %. White noise alone is
    /// known to less than 1 %. But here the walk causes a quarter of the variance between successive positions, so that
    /// an error of the time constant by a third changes the white noise by 4 %.
    #[test]
    fn walk_and_spread_come_back() {
        let kinds = [
            ErrorKind::GaussMarkov { std_m: [0.02, 0.03, 0.05], time_constant_s: 20.0 },
            ErrorKind::Gaussian { mean_m: [0.0; 3], std_m: [0.003, 0.004, 0.006] },
        ];
        let fit = fit_positions(log(&kinds, 36_000)).unwrap();
        for (axis, asked) in [0.003, 0.004, 0.006].into_iter().enumerate() {
            assert!((fit.spread_m[axis] / asked - 1.0).abs() < 0.08, "{}", fit.spread_m);
        }
        let walk = fit.walk.unwrap();
        for (axis, asked) in [0.02, 0.03, 0.05].into_iter().enumerate() {
            assert!((walk.std_m[axis] / asked - 1.0).abs() < 0.25, "{walk:?}");
        }
        assert!((10.0..40.0).contains(&walk.time_constant_s), "{walk:?}");
        let text = fit.fragment().text(super::super::Form::Profile);
        assert!(text.contains("[settings.accuracy.standalone]"), "{text}");
        text.parse::<toml::Table>().unwrap();
    }

    #[test]
    fn a_short_log_tells_the_spread_and_few_positions_nothing() {
        let white = [ErrorKind::Gaussian { mean_m: [0.0; 3], std_m: [0.01; 3] }];
        let fit = fit_positions(log(&white, 100)).unwrap();
        assert!((fit.spread_m.x / 0.01 - 1.0).abs() < 0.4 && fit.walk.is_none(), "{fit:?}");
        let refused = |log| fit_positions(log).unwrap_err().to_string();
        assert!(refused(log(&white, 10)).contains("10 positions"));
        let mut moved = log(&white, 400);
        for (i, position) in moved.positions_m.iter_mut().enumerate().skip(200) {
            position.x += 0.1 * (i - 200) as f64;
        }
        assert!(refused(moved).contains("the antenna was moved: 0."));
    }
}
