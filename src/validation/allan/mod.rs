//! `menura validate allan`: simulates hours of an IMU at rest.
//!
//! The unit's error model runs at its internal sample rate. As in the device, an output is the mean or the last of
//! several samples. The overlapping Allan deviation of three axes is compared with the one that follows from the
//! coefficients, at averaging times from 3 / bandwidth to a ninth of the recording. The tolerance is 3 % plus four
//! standard errors of the estimate. The temperature stays at 25 °C.

mod plot;

use std::fmt::Write;

use crate::devices::families::catalogue;
use std::path::PathBuf;
use std::time::Duration;

use glam::DVec3;
use serde_json::json;

use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope};
use crate::analysis::allan::{Coefficients, Point, averaging_samples, expected, fit, of_axes};
use crate::config::rig::Rig;
use crate::devices::imu::profile::{Decimation, ImuProfile, ImuSettings};
use crate::sensors::imu::errors::{Circumstances, Triad};
use crate::sensors::imu::settings::TriadErrors;
use crate::sensors::noise::NoiseSource;

/// Relative tolerance in addition to the error of the estimate.
const ALLOWED: f64 = 0.03;
/// Tolerance in standard errors of the estimate.
const SIGMAS: f64 = 4.0;
/// Number of averaging times per decade.
const PER_DECADE: u32 = 3;
/// Duration of the short form.
const SHORT: Duration = Duration::from_secs(300);
/// Largest number of samples of a simulation; they need some gigabytes of memory.
const MAX_SAMPLES: u64 = 200_000_000;

/// Options of the experiment.
#[derive(Debug)]
pub struct Allan {
    /// Name of the IMU's profile; with `rig`, name of a device in that rig
    pub name: String,
    /// Rig with the errors of the device; `None` for the errors of the profile
    pub rig: Option<PathBuf>,
    /// Duration of the simulation
    pub duration: Duration,
    /// Seed of the random numbers
    pub seed: u64,
}

/// One of the unit's sensors, with expected and simulated values.
pub(super) struct Compared {
    /// Name of the sensor: `gyro`, `accelerometer` or `magnetometer`.
    pub name: &'static str,
    /// Unit of the printed numbers.
    pub unit: &'static str,
    /// Factor from the printed unit to the SI unit.
    pub scale: f64,
    /// Configured errors.
    pub asked: TriadErrors,
    /// Averaging times with expected and simulated deviations, and tolerances.
    pub rows: Vec<Row>,
    /// Coefficients fitted to the simulated curve.
    pub found: Coefficients,
}

/// Comparison at one averaging time.
pub(super) struct Row {
    /// Simulated Allan deviation: root mean square over the three axes.
    pub point: Point,
    /// Allan deviation that follows from the configured errors, in SI units.
    pub asked: f64,
    /// Tolerance of the relative difference; `None` if the averaging time is too short to compare.
    pub allowed: Option<f64>,
}

impl Row {
    fn off(&self) -> f64 {
        self.point.deviation / self.asked - 1.0
    }

    fn is_good(&self) -> bool {
        self.allowed.is_none_or(|allowed| self.off().abs() <= allowed)
    }
}

impl Run for Allan {
    const NAME: &'static str = "allan";
    const ABOUT: &'static str =
        "Compare the Allan deviation of an IMU's simulated output with that of its error model";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let (driver, settings) = self.unit()?;
        let duration = scope.of(self.duration, self.duration.min(SHORT));
        let samples = duration.as_secs_f64() * f64::from(driver.output.sample_rate_hz);
        if samples > MAX_SAMPLES as f64 || samples < 1000.0 {
            let most = MAX_SAMPLES / u64::from(driver.output.sample_rate_hz);
            let text = format!("`--duration` must be 1 s to {most} s for this unit");
            return Err(ExperimentError::Input(text));
        }
        let compared = self.compare(&driver, &settings, duration);
        if compared.is_empty() {
            return Err(ExperimentError::Input(format!("{} has no configured errors", self.name)));
        }
        let title = format!("{}, {} Hz, seed {}", self.name, settings.rate_hz, self.seed);
        Ok(Findings {
            text: self.text(&settings, &compared, duration),
            report: self.report(&settings, &compared, duration),
            plots: vec![Plot::main(plot::draw(&title, &compared))],
            comparisons: compared.iter().map(Compared::comparison).collect(),
        })
    }
}

impl Allan {
    fn unit(&self) -> Result<(ImuProfile, ImuSettings), ExperimentError> {
        let none = || ExperimentError::Input(format!("{} is not an IMU", self.name));
        let Some(path) = &self.rig else {
            let profile = catalogue().profile(&self.name)?;
            let Some(driver) = profile.data::<ImuProfile>() else { return Err(none()) };
            return Ok((driver.clone(), driver.defaults.clone()));
        };
        let rig = Rig::load(path, &[], catalogue())?;
        let device = rig.devices.iter().find(|device| device.name == self.name);
        let device = device.ok_or_else(|| {
            let names: Vec<_> = rig.devices.iter().map(|d| d.name.as_str()).collect();
            let text = format!("{} has no device `{}`", path.display(), self.name);
            ExperimentError::Input(format!("{text}; allowed: {}", names.join(", ")))
        })?;
        let settings = device.settings::<ImuSettings>();
        let found = device.profile.data::<ImuProfile>().zip(settings).ok_or_else(none)?;
        Ok((found.0.clone(), found.1.clone()))
    }

    fn compare(
        &self,
        driver: &ImuProfile,
        settings: &ImuSettings,
        duration: Duration,
    ) -> Vec<Compared> {
        let degrees_per_hour = 1f64.to_radians() / 3600.0;
        let parts = [
            ("gyro", "deg/h", degrees_per_hour, settings.model.gyro),
            ("accelerometer", "ug", 9.806_65e-6, settings.model.accel),
            ("magnetometer", "ugauss", 1e-6, settings.model.mag),
        ];
        let has_errors = |e: &TriadErrors| {
            e.white_density() > 0.0 || e.bias_instability > 0.0 || e.walk_density() > 0.0
        };
        parts
            .into_iter()
            .filter(|(.., errors)| has_errors(errors))
            .map(|(name, unit, scale, asked)| {
                let rows = self.rows(name, &asked, driver, settings, duration);
                let points: Vec<Point> = rows.iter().map(|row| row.point).collect();
                let found = fit(&points, asked.bias_correlation_s);
                Compared { name, unit, scale, asked, rows, found }
            })
            .collect()
    }

    fn rows(
        &self,
        part: &str,
        asked: &TriadErrors,
        driver: &ImuProfile,
        settings: &ImuSettings,
        duration: Duration,
    ) -> Vec<Row> {
        let outputs = simulate(self.seed, part, asked, driver, settings, duration);
        let dt_s = f64::from(settings.rate_hz).recip();
        let averages = averaging_samples(outputs.len(), PER_DECADE);
        let points = of_axes(&outputs, dt_s, &averages);
        let shortest_s = if asked.bandwidth_hz > 0.0 { 3.0 / asked.bandwidth_hz } else { 0.0 };
        points
            .into_iter()
            .map(|point| {
                let is_compared = point.tau_s >= shortest_s;
                Row {
                    point,
                    asked: expected(asked, driver.output.sample_rate_hz.into(), point.tau_s),
                    allowed: is_compared.then_some(ALLOWED + SIGMAS * point.relative_error),
                }
            })
            .collect()
    }

    fn text(&self, settings: &ImuSettings, compared: &[Compared], duration: Duration) -> String {
        let mut text = String::new();
        for c in compared {
            let hours = duration.as_secs_f64() / 3600.0;
            let _ = writeln!(
                text,
                "{}, {}: {hours:.2} h at {} Hz, seed {}",
                self.name, c.name, settings.rate_hz, self.seed
            );
            let _ = writeln!(
                text,
                "  {:>12}  {:>14}  {:>14}  {:>8}  {:>8}",
                "time, s", "asked", "found", "off", "allowed"
            );
            for row in &c.rows {
                let allowed = match row.allowed {
                    Some(allowed) if row.is_good() => format!("{:7.1} %", allowed * 100.0),
                    Some(allowed) => format!("{:7.1} %  <-- out of tolerance", allowed * 100.0),
                    None => "not compared (bandwidth)".to_owned(),
                };
                let _ = writeln!(
                    text,
                    "  {:12.4}  {:14.6}  {:14.6}  {:+6.1} %  {allowed}",
                    row.point.tau_s,
                    row.asked / c.scale,
                    row.point.deviation / c.scale,
                    row.off() * 100.0,
                );
            }
            let _ =
                writeln!(text, "  coefficients in {}: configured, and fitted to the curve", c.unit);
            for (what, asked, found) in c.coefficients() {
                let _ = writeln!(text, "    {what:24}  {asked:14.6}  {found:14.6}");
            }
            text.push('\n');
        }
        text
    }

    fn report(
        &self,
        settings: &ImuSettings,
        compared: &[Compared],
        duration: Duration,
    ) -> serde_json::Value {
        let sensors: Vec<_> = compared
            .iter()
            .map(|c| {
                let points: Vec<_> = c
                    .rows
                    .iter()
                    .map(|row| {
                        json!({
                            "tau_s": row.point.tau_s, "asked": row.asked / c.scale,
                            "found": row.point.deviation / c.scale, "allowed": row.allowed,
                            "good": row.is_good(),
                        })
                    })
                    .collect();
                let coefficients: serde_json::Map<_, _> = c
                    .coefficients()
                    .map(|(what, asked, found)| {
                        (what.to_owned(), json!({ "asked": asked, "found": found }))
                    })
                    .into_iter()
                    .collect();
                json!({ "sensor": c.name, "unit": c.unit, "points": points,
                        "coefficients": coefficients })
            })
            .collect();
        json!({ "unit": self.name, "rate_hz": settings.rate_hz, "seed": self.seed,
                "duration_s": duration.as_secs_f64(), "sensors": sensors })
    }
}

impl Compared {
    /// Compares all averaging times with their tolerances; names the deviation that is largest relative to its
    /// tolerance.
    fn comparison(&self) -> Comparison {
        let judged: Vec<_> = self.rows.iter().filter_map(|row| Some((row, row.allowed?))).collect();
        let good = judged.iter().filter(|(row, _)| row.is_good()).count();
        let share = |(row, allowed): &(&Row, f64)| row.off().abs() / allowed;
        let worst = judged.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        let ours = worst.map_or_else(String::new, |(row, _)| {
            format!(
                "{good} of {} within tolerance; largest error {:+.1} % at {:.3} s",
                judged.len(),
                row.off() * 100.0,
                row.point.tau_s
            )
        });
        let allowed = worst.map_or(0.0, |(_, allowed)| allowed * 100.0);
        Comparison::judged(
            format!("Allan deviation of the {}", self.name),
            "deviation from the configured errors",
            ours,
            format!(
                "{allowed:.1} % there: {:.0} % plus {SIGMAS} standard errors of the estimate",
                ALLOWED * 100.0
            ),
            good == judged.len(),
        )
    }

    /// Name, configured value and fitted value of each coefficient. Values are in [`Compared::unit`], to which the name
    /// adds `/sqrt(Hz)` or `/sqrt(s)`.
    fn coefficients(&self) -> [(&'static str, f64, f64); 3] {
        let shown = |x: f64| x / self.scale;
        [
            (
                "noise density, /sqrt(Hz)",
                shown(self.asked.white_density()),
                shown(self.found.noise_density),
            ),
            (
                "bias instability",
                shown(self.asked.bias_instability),
                shown(self.found.bias_instability),
            ),
            (
                "random walk, /sqrt(s)",
                shown(self.asked.walk_density()),
                shown(self.found.random_walk),
            ),
        ]
    }
}

/// Outputs of a unit at rest, at its output rate: the mean or the last of several samples, as in the device.
fn simulate(
    seed: u64,
    part: &str,
    errors: &TriadErrors,
    driver: &ImuProfile,
    settings: &ImuSettings,
    duration: Duration,
) -> Vec<DVec3> {
    let sample_rate_hz = f64::from(driver.output.sample_rate_hz);
    let mut triad = Triad::new(errors, NoiseSource::new(seed, part), sample_rate_hz.recip());
    let still = Circumstances { specific_force_m_s2: DVec3::ZERO, temperature_c: 25.0 };
    let divisor = u64::from(driver.output.sample_rate_hz / settings.rate_hz.max(1)).max(1);
    let outputs = (duration.as_secs_f64() * sample_rate_hz) as u64 / divisor;
    (0..outputs)
        .map(|output| {
            let mut sum = DVec3::ZERO;
            let mut last = DVec3::ZERO;
            for sample in 0..divisor {
                last = triad.step(output * divisor + sample, DVec3::ZERO, &still).value;
                sum += last;
            }
            match driver.output.decimation {
                Decimation::Mean => sum / divisor as f64,
                Decimation::Last => last,
            }
        })
        .collect()
}
