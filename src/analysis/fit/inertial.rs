//! Fits the errors of an IMU from the Allan deviation of its output at rest (IEEE Std 952-1997).

use glam::DVec3;
use serde_json::{Value, json};

use super::drift::{self, Drift, TermResult};
use super::fragment::{Fragment, Table, figure};
pub use super::inertial_log::{InertialLog, parse_csv};
use super::{FitError, Log, median};
use crate::analysis::allan::{Coefficients, Fitted, Point, averaging_samples, of_axes};
use crate::devices::families::family_of;

const DEG: f64 = std::f64::consts::PI / 180.0;
const UG: f64 = 9.806_65e-6;
/// Number of averaging times per decade.
const PER_DECADE: u32 = 5;
/// Smallest length of a log, seconds.
const SHORTEST_S: f64 = 10.0;
/// The unit counts as moved if the mean angular rate of one second differs by more than this from the log's median,
/// rad/s.
const MOVED_RAD_S: f64 = 0.02;
/// The unit counts as moved if the magnitude of the mean specific force of one second differs by more than this from
/// the log's median, m/s².
const MOVED_M_S2: f64 = 0.3;
/// Correlation time of the bias instability, seconds, for products whose profile sets no correlation time.
pub const USUAL_CORRELATION_S: f64 = 100.0;
/// Averaging times below this multiple of 1 / bandwidth of the unit's low-pass filter are omitted. Above it, the filter
/// changes the deviation of white noise by less than half a percent.
const FILTERED: f64 = 40.0;

/// Fit of one of the unit's sensors.
#[derive(Clone, Debug)]
pub struct Triad {
    /// Name of the sensor: `gyro`, `accelerometer` or `magnetometer`.
    pub name: &'static str,
    /// Keys of a profile for noise density, bias instability and random walk. The number with each key is the factor
    /// that converts its value to SI units (magnetometer: gauss).
    keys: [(&'static str, f64); 3],
    /// Unit of the printed curves: its name, and the factor that converts it to SI units (magnetometer: gauss).
    pub unit: (&'static str, f64),
    /// Allan deviations of the log: rad/s, m/s² or gauss.
    pub points: Vec<Point>,
    /// Fitted coefficients, based on rad/s, m/s² or gauss; `results` states which of them the log determines.
    pub fitted: Fitted,
    /// Results for noise density, bias instability and random walk.
    pub results: [TermResult; 3],
    /// Correlation time that the upper limit of the bias instability assumes, seconds.
    usual_correlation_s: f64,
}

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct InertialFit {
    /// Fits of those sensors that have enough varying data in the log.
    pub triads: Vec<Triad>,
    /// Message rate of the log, Hz.
    pub rate_hz: f64,
    /// Duration of the log, seconds.
    pub duration_s: f64,
    source: String,
    missing: usize,
}

/// Fits a log. Omits averaging times below `shortest_s`, and those that the unit's low-pass filter affects according to
/// its profile.
///
/// # Errors
/// The log cannot be read, is too short, or has only constant values; or the unit was moved.
pub fn fit(log: &Log<'_>, shortest_s: f64) -> Result<InertialFit, FitError> {
    let found = super::inertial_log::read(log)?;
    let identity = log.identity()?;
    let triads = family_of(log.profile).inertial_errors(log.profile);
    let usual_s = triads.map_or([USUAL_CORRELATION_S; 3], |triads| {
        triads.map(|triad| match triad.bias_correlation_s {
            time_s if time_s > 0.0 => time_s,
            _ => USUAL_CORRELATION_S,
        })
    });
    let shortest_s = triads.map_or([shortest_s; 3], |triads| {
        triads.map(|triad| match triad.bandwidth_hz {
            bandwidth_hz if bandwidth_hz > 0.0 => shortest_s.max(FILTERED / bandwidth_hz),
            _ => shortest_s,
        })
    });
    let mut fit = fit_samples(&found, shortest_s, usual_s)?;
    fit.source =
        format!("{identity}, {:.0} s at standstill, {:.4} Hz", fit.duration_s, fit.rate_hz);
    Ok(fit)
}

/// Like [`fit`], for samples in memory. Both arrays are in the order gyro, accelerometer, magnetometer. Averaging times
/// below `shortest_s` are omitted; `usual_correlation_s`, the product's correlation time, determines the length that a
/// log needs.
///
/// # Errors
/// The log is too short, or has only constant values; or the unit was moved.
pub fn fit_samples(
    log: &InertialLog,
    shortest_s: [f64; 3],
    usual_correlation_s: [f64; 3],
) -> Result<InertialFit, FitError> {
    let duration_s = log.samples() as f64 / log.rate_hz;
    if duration_s < SHORTEST_S {
        let text = format!(
            "it has {duration_s:.1} s of samples; a fit needs {SHORTEST_S} s, and several hours \
             for bias instabilities"
        );
        return Err(FitError::Log(text));
    }
    check_still(log)?;
    let parts: [(&'static str, &[DVec3], _, _); 3] = [
        (
            "gyro",
            &log.gyro,
            ("deg/h", DEG / 3600.0),
            [
                ("noise_density_deg_s_sqrt_hz", DEG),
                ("bias_instability_deg_h", DEG / 3600.0),
                ("random_walk_deg_h_sqrt_h", DEG / 3600.0 / 60.0),
            ],
        ),
        (
            "accelerometer",
            &log.accel,
            ("ug", UG),
            [
                ("noise_density_ug_sqrt_hz", UG),
                ("bias_instability_ug", UG),
                ("random_walk_ug_sqrt_h", UG / 60.0),
            ],
        ),
        (
            "magnetometer",
            &log.mag,
            ("ugauss", 1e-6),
            [
                ("noise_density_ugauss_sqrt_hz", 1e-6),
                ("bias_instability_ugauss", 1e-6),
                ("random_walk_ugauss_sqrt_h", 1e-6 / 60.0),
            ],
        ),
    ];
    let triads: Vec<Triad> = parts
        .into_iter()
        .zip(shortest_s.into_iter().zip(usual_correlation_s))
        .filter(|((_, samples, ..), _)| samples.len() as f64 > SHORTEST_S * log.rate_hz / 2.0)
        .filter_map(|((name, samples, unit, keys), (shortest_s, usual_correlation_s))| {
            let (points, drift) = fit_triad(samples, log.rate_hz, shortest_s, usual_correlation_s)?;
            let Drift { fitted, results, .. } = drift;
            Some(Triad { name, keys, unit, points, fitted, results, usual_correlation_s })
        })
        .collect();
    if triads.is_empty() {
        return Err(FitError::log("all its values are constant: there is no noise to fit"));
    }
    let (rate_hz, missing) = (log.rate_hz, log.missing);
    Ok(InertialFit { triads, rate_hz, duration_s, source: String::new(), missing })
}

/// Curve and best fit of one sensor; `None` if fewer than four averaging times have a deviation above zero, for example
/// because its values do not vary.
fn fit_triad(
    samples: &[DVec3],
    rate_hz: f64,
    shortest_s: f64,
    usual_correlation_s: f64,
) -> Option<(Vec<Point>, Drift)> {
    let averages = averaging_samples(samples.len(), PER_DECADE);
    let mut points = of_axes(samples, rate_hz.recip(), &averages);
    points.retain(|point| point.tau_s >= shortest_s * 0.999 && point.deviation > 0.0);
    let drift = drift::fit(&points, samples.len(), rate_hz.recip(), usual_correlation_s)?;
    Some((points, drift))
}

/// Returns an error if the unit was moved while the log was recorded.
fn check_still(log: &InertialLog) -> Result<(), FitError> {
    let second = (log.rate_hz.round() as usize).max(1);
    let means = |samples: &[DVec3]| -> Vec<DVec3> {
        samples.chunks_exact(second).map(|s| s.iter().sum::<DVec3>() / s.len() as f64).collect()
    };
    let (rates, forces) = (means(&log.gyro), means(&log.accel));
    let usual = DVec3::from_array(
        [0, 1, 2].map(|axis| median(&mut rates.iter().map(|rate| rate[axis]).collect::<Vec<_>>())),
    );
    let moved = |what: &str, at: usize| {
        FitError::Log(format!(
            "the unit was moved: {what} {at} s after the start; a fit needs a log at standstill (--from and \
             --to choose a part)"
        ))
    };
    if let Some(at) = rates.iter().position(|rate| (*rate - usual).length() > MOVED_RAD_S) {
        let off = (rates[at] - usual).length() / DEG;
        return Err(moved(&format!("its rate differs by {off:.1} deg/s"), at));
    }
    let sizes: Vec<f64> = forces.iter().map(|force| force.length()).collect();
    let usual = median(&mut sizes.clone());
    if let Some(at) = sizes.iter().position(|size| (size - usual).abs() > MOVED_M_S2) {
        let off = (sizes[at] - usual).abs();
        return Err(moved(&format!("its acceleration differs by {off:.2} m/s2"), at));
    }
    Ok(())
}

impl InertialFit {
    /// The fit as tables of a profile or a rig.
    pub fn fragment(&self) -> Fragment {
        let mut remarks = vec![
            "After each number: one standard error, or the largest value of a term that this log \
             does not show."
                .to_owned(),
        ];
        let is_short = |result: &TermResult| matches!(result, TermResult::TooShort(_));
        if self.triads.iter().any(|triad| triad.results.iter().any(is_short)) {
            let text =
                "Terms that need a longer log are omitted; the profile's values stay in effect.";
            remarks.push(text.to_owned());
        }
        if self.missing > 0 {
            remarks.push(format!(
                "{} samples are missing, according to the timestamps.",
                self.missing
            ));
        }
        Fragment {
            source: self.source.clone(),
            remarks,
            tables: self.triads.iter().map(Triad::table).collect(),
        }
    }

    /// The fit as JSON.
    pub fn report(&self) -> Value {
        let sensors: Vec<Value> = self
            .triads
            .iter()
            .map(|triad| {
                let terms: serde_json::Map<String, Value> = triad
                    .terms()
                    .into_iter()
                    .map(|(key, term)| {
                        let (found, needed_s) = match term.result {
                            TermResult::Found => (Some((term.found, term.error)), None),
                            TermResult::NotSeen => (None, None),
                            TermResult::TooShort(needed_s) => (None, Some(needed_s)),
                        };
                        let value = json!({ "found": found.map(|of| of.0),
                                            "standard_error": found.map(|of| of.1),
                                            "at_most": term.at_most, "needs_s": needed_s });
                        (key.to_owned(), value)
                    })
                    .collect();
                let curve: Vec<Value> = triad
                    .points
                    .iter()
                    .map(|p| {
                        json!({ "tau_s": p.tau_s, "deviation": p.deviation / triad.unit.1,
                                "fitted": triad.fitted.deviation(p.tau_s) / triad.unit.1,
                                "relative_error": p.relative_error })
                    })
                    .collect();
                json!({ "sensor": triad.name, "unit": triad.unit.0, "terms": terms,
                        "bias_correlation_s": triad.fitted.correlation_s,
                        "misfit": triad.fitted.misfit, "curve": curve })
            })
            .collect();
        json!({ "log": self.source, "rate_hz": self.rate_hz, "duration_s": self.duration_s,
                "missing_samples": self.missing, "sensors": sensors })
    }
}

/// A fitted coefficient with standard error and upper limit, in the unit of the coefficient's key.
struct Term {
    found: f64,
    error: f64,
    at_most: f64,
    result: TermResult,
}

impl Triad {
    fn terms(&self) -> [(&'static str, Term); 3] {
        let of = |c: &Coefficients| [c.noise_density, c.bias_instability, c.random_walk];
        let fitted = &self.fitted;
        let [found, error, at_most] =
            [&fitted.found, &fitted.standard_error, &fitted.at_most].map(of);
        std::array::from_fn(|i| {
            let (key, scale) = self.keys[i];
            let term = Term {
                found: found[i] / scale,
                error: error[i] / scale,
                at_most: at_most[i] / scale,
                result: self.results[i],
            };
            (key, term)
        })
    }

    fn table(&self) -> Table {
        let name = self.name.to_owned();
        let mut table = Table { in_profile: name.clone(), in_rig: name, lines: Vec::new() };
        let usual_s = figure(self.usual_correlation_s);
        for (i, (key, term)) in self.terms().into_iter().enumerate() {
            let most = figure(term.at_most);
            match term.result {
                TermResult::Found => {
                    table.number(key, term.found, format!("± {}", figure(term.error)))
                }
                TermResult::NotSeen if i == 1 => {
                    let most = format!("at most {most} with a correlation time of {usual_s} s");
                    table.number(key, 0.0, format!("not seen in this log: {most}"));
                }
                TermResult::NotSeen => {
                    table.number(key, 0.0, format!("not seen in this log: at most {most}"));
                }
                TermResult::TooShort(needed_s) => {
                    table.remark(format!("{key}: needs a log of at least {}", duration(needed_s)));
                }
            }
        }
        if self.results[1] == TermResult::Found {
            let time_s = self.fitted.correlation_s;
            table.number("bias_correlation_s", time_s, "accurate to a factor of about 1.5");
        }
        table
    }
}

/// Text of a duration, such as `67 min` or `4.0 h`.
fn duration(time_s: f64) -> String {
    match time_s {
        time_s if time_s < 7200.0 => format!("{:.0} min", (time_s / 60.0).ceil()),
        time_s => format!("{:.1} h", (time_s / 360.0).ceil() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::imu::errors::{self, Circumstances};
    use crate::sensors::imu::settings::TriadErrors;
    use crate::sensors::noise::NoiseSource;

    const STILL: Circumstances =
        Circumstances { specific_force_m_s2: DVec3::ZERO, temperature_c: 25.0 };

    fn gyro(asked: &TriadErrors, seed: u64, samples: u64) -> InertialLog {
        let mut triad = errors::Triad::new(asked, NoiseSource::new(seed, "imu/gyro"), 0.02);
        let gyro = (0..samples).map(|i| triad.step(i, DVec3::ZERO, &STILL).value).collect();
        InertialLog { rate_hz: 50.0, gyro, ..InertialLog::default() }
    }

    /// Five units with the terms of a data sheet, 4000 s each: the fit finds the configured noise and bias instability
    /// within four standard errors.
    #[test]
    fn what_was_asked_for_comes_back() {
        let asked = TriadErrors {
            noise_density: 2e-4,
            bias_instability: 1e-4,
            bias_correlation_s: 20.0,
            ..TriadErrors::NONE
        };
        for seed in 0..5 {
            let fit = fit_samples(&gyro(&asked, seed, 200_000), [0.0; 3], [20.0; 3]).unwrap();
            let [triad] = &fit.triads[..] else { panic!("a gyro alone") };
            let (found, error) = (triad.fitted.found, triad.fitted.standard_error);
            let off = (found.noise_density - 2e-4).abs();
            assert!(off < 4.0 * error.noise_density + 1e-6, "{:?}", triad.fitted);
            // The correlation time is fitted as well; the standard error does not include its effect.
            let off = (found.bias_instability - 1e-4).abs();
            assert!(off < 4.0 * error.bias_instability + 1e-5, "{:?}", triad.fitted);
            assert!((8.0..50.0).contains(&triad.fitted.correlation_s), "{:?}", triad.fitted);
            let text = fit.fragment().text(super::super::Form::Profile);
            assert!(text.contains("[gyro]\nnoise_density_deg_s_sqrt_hz = 0.011"), "{text}");
        }
    }

    /// Terms of a VN-100's gyro in logs of several lengths: each estimate is within three standard errors, or the
    /// necessary length is printed instead.
    #[test]
    fn a_log_gives_no_term_that_it_is_too_short_for() {
        let asked = TriadErrors {
            noise_density: 6.1e-5,
            bias_instability: 4.85e-5,
            bias_correlation_s: 100.0,
            ..TriadErrors::NONE
        };
        for (minutes, seeds) in [(2, 8), (5, 8), (20, 4), (90, 2), (240, 2)] {
            for seed in 0..seeds {
                let name = NoiseSource::new(seed, "imu/gyro");
                let mut unit = errors::Triad::new(&asked, name, 0.1);
                let gyro = (0..minutes * 600).map(|i| unit.step(i, DVec3::ZERO, &STILL).value);
                let log = InertialLog { rate_hz: 10.0, gyro: gyro.collect(), ..Default::default() };
                let fit = fit_samples(&log, [0.0; 3], [100.0; 3]).unwrap();
                let [triad] = &fit.triads[..] else { panic!("a gyro alone") };
                let wanted = [asked.noise_density, asked.bias_instability, 0.0];
                for ((key, term), wanted) in triad.terms().into_iter().zip(wanted) {
                    let wanted = wanted / triad.keys.iter().find(|(k, _)| *k == key).unwrap().1;
                    if term.result == TermResult::Found {
                        let off = (term.found - wanted).abs() / term.error;
                        assert!(off < 3.0, "{minutes} min, {key}: {} is off by {off}", term.found);
                    }
                }
                let [noise, instability, walk] = triad.results;
                assert_eq!(noise, TermResult::Found);
                let text = fit.fragment().text(super::super::Form::Profile);
                if minutes < 60 {
                    let short = |result| matches!(result, TermResult::TooShort(_));
                    assert!(short(instability) && short(walk), "{minutes} min: {text}");
                    let said = "# bias_instability_deg_h: needs a log of at least 67 min";
                    assert!(minutes > 5 || text.contains(said), "{text}");
                    assert!(!text.contains("\nrandom_walk") && !text.contains("\nbias_"), "{text}");
                }
                assert!(minutes < 200 || instability == TermResult::Found, "{text}");
            }
        }
    }

    #[test]
    fn a_unit_that_moved_and_a_short_log_are_refused() {
        let asked = TriadErrors { noise_density: 2e-4, ..TriadErrors::NONE };
        let refused =
            |log: &InertialLog| fit_samples(log, [0.0; 3], [20.0; 3]).unwrap_err().to_string();
        let mut moved = gyro(&asked, 1, 5000);
        for sample in &mut moved.gyro[1000..1100] {
            sample.z += 0.3;
        }
        let text = refused(&moved);
        assert!(text.contains("moved") && text.contains(" 20 s after the start"), "{text}");
        assert!(refused(&gyro(&asked, 1, 100)).contains("2.0 s of samples"));
        let dead =
            InertialLog { rate_hz: 50.0, gyro: vec![DVec3::ZERO; 5000], ..Default::default() };
        assert!(refused(&dead).contains("all its values are constant"));
    }
}
