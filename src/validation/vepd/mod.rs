//! `menura validate vepd`: effect of simulated GNSS and IMU readings on a state estimator, after Mahajan et al. 2024,
//! "Quantifying the Sim2real Gap for GPS and IMU Sensors" (arXiv 2403.11000).
//!
//! Raw readings of two sensors are hard to compare; the results of an estimator, the judge, are not. A small vehicle
//! repeatedly drives a line, a half-sine and a circle. The judge estimates its speed from a ZED-F9P at 10 Hz and an
//! N100 at 100 Hz. Each drive gives two numbers: the root mean square of the speed error, and the difference of the
//! Wiener entropies of estimated and true speed. `W1` and `W2` are the Wasserstein distances of these numbers between
//! the drives with one error model and the drives of the reference. VEPD is the mean of `W1` and `W2`: 0 if the
//! estimator cannot distinguish them.
//!
//! The five error models of the receiver are used with the IMU that the paper models with them, and with a reported
//! covariance of zero where Chrono has zero. One more variant has the reference's receiver and the paper's IMU, so that
//! only the IMU differs.
//!
//! # What differs from the paper
//!
//! - All drives are simulated unless `--recorded` names drives; the paper's reference is real drives. Here the
//!   reference is the profile's model of a receiver with fixed RTK and true reported accuracy, with the profile's IMU;
//!   both have their own random numbers.
//! - The judge is our own filter ([`judge`]); the paper uses robot_localization. Recorded drives contain the speed that
//!   their own judge estimated. Like robot_localization, our judge treats variances as at least 1e-9 m², and reports
//!   the speed 35 times per second.
//! - The motion follows the curve at one speed, from rest, on rough ground (grass) or flat ground (concrete); the paper
//!   simulates a vehicle. Sizes and speeds are our choice and options, because the paper gives none that we know of.
//! - All variants of a drive use the same random numbers.

mod bytes;
mod course;
mod drive;
mod groups;
mod judge;
mod metrics;
mod paper;
mod plot;
mod recorded;
mod sweep;
mod table;
mod variant;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::course::Course;
use self::course::Manner;
use self::drive::{Bench, Draws};
use self::groups::{Comparison, Distance, Drives, Group, read_recorded, read_variants};
use self::metrics::Drive;
pub use self::variant::{Preset, Stated, Variant};
use super::{ExperimentError, Findings, Plot, Run, Scope};
use crate::links::part_file::OutPath;

/// Number of drives of each course in the short form.
const SHORT_RUNS: u32 = 1;
/// Duration of a drive in the short form.
const SHORT_DURATION: Duration = Duration::from_secs(5);
/// Largest total duration of all drives of one error model, seconds.
const MAX_TOTAL_S: f64 = 1e6;

/// Options of the experiment.
#[derive(Clone, Debug)]
pub struct Vepd {
    /// Courses to drive
    pub trajectory: Vec<Course>,
    /// Error models of the receiver to compare
    pub variants: Vec<Variant>,
    /// The error model with which the others are compared
    pub reference: Variant,
    /// Recorded drives to use as the reference
    ///
    /// A folder of CSV files called line_1.csv, half-sine_2.csv, circle_3.csv and so on, or one
    /// file, with the columns se_time, se_vel (estimated) and gt_time, gt_vel (true), in seconds
    /// and m/s; the published data of Mahajan et al. 2024 have this form.
    pub recorded: Option<PathBuf>,
    /// Folder with recorded drives of the variants, to use instead of simulated drives; one subfolder per variant
    ///
    /// The folder has the format of --write-drives. With --recorded nothing is simulated, and distances are
    /// compared with the paper's tables.
    pub recorded_variants: Option<PathBuf>,
    /// Input of the judge: data that a driver reads from the devices' bytes, or output of their models
    pub judge: JudgeOn,
    /// Final value and time constant of AirSim's HDOP
    pub preset: Preset,
    /// Accuracy that receivers report if their error model has none (ch-gauss, ch-rw)
    pub stated: Stated,
    /// Drives of each course
    pub runs: u32,
    /// Seed of the random numbers
    pub seed: u64,
    /// Duration of a drive from the start of its motion
    pub duration: Duration,
    /// The vehicle's speed, m/s
    pub speed: f64,
    /// Length of the half-sine, m
    pub length: f64,
    /// Height of the half-sine, m
    pub height: f64,
    /// Radius of the circle, m
    pub radius: f64,
    /// Root mean square of the grass's height, m
    pub rough: f64,
    /// Time at rest after power-on, s; AirSim's HDOP is 100 at its start
    pub still: f64,
    /// Time from rest to full speed, s
    pub ramp: f64,
    /// Write the simulated drives, in the form that --recorded reads, a folder for each error model
    pub write_drives: Option<OutPath>,
}

choices! {
    /// Input of the judge.
    JudgeOn {
        /// The data that a driver reads from the bytes of both devices
        Bytes = "bytes",
        /// The output of the models of both devices, unrounded and without delay
        Models = "models",
    }
}

impl Default for Vepd {
    fn default() -> Self {
        Self {
            trajectory: Course::ALL.to_vec(),
            variants: Variant::USUAL.to_vec(),
            reference: Variant::Profile,
            recorded: None,
            recorded_variants: None,
            judge: JudgeOn::Bytes,
            preset: Preset::Paper,
            stated: Stated::Zero,
            runs: 10,
            seed: 1,
            duration: Duration::from_secs(20),
            speed: 1.5,
            length: 25.0,
            height: 5.0,
            radius: 5.0,
            rough: 0.01,
            still: 1.0,
            ramp: 2.0,
            write_drives: None,
        }
    }
}

impl Run for Vepd {
    const NAME: &'static str = "vepd";
    const ABOUT: &'static str = "Compare GNSS error models by their effect on a state estimator";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let runs = scope.of(self.runs, self.runs.min(SHORT_RUNS));
        let duration = scope.of(self.duration, self.duration.min(SHORT_DURATION));
        let options = Self { runs, duration, ..self.clone() };
        let comparison = options.compare(scope)?;
        let swept = match scope.short || options.recorded.is_some() {
            true => Vec::new(),
            false => sweep::run(&options, scope)?,
        };
        let mut plots = vec![Plot::main(plot::draw(&options, &comparison))];
        plots.extend((!swept.is_empty()).then(|| Plot::further("sweep", sweep::draw(&swept))));
        let mut report = table::report(&options, &comparison);
        report["swept"] = sweep::report(&swept);
        let mut comparisons = paper::comparisons(&options, &comparison, scope);
        comparisons.extend(sweep::comparisons(&swept));
        Ok(Findings {
            text: table::text(&options, &comparison)
                + &paper::tables(&comparison)
                + &sweep::text(&swept),
            report,
            plots,
            comparisons,
        })
    }
}

impl Vepd {
    fn manner(&self) -> Manner {
        Manner {
            length_m: self.length,
            height_m: self.height,
            radius_m: self.radius,
            speed_m_s: self.speed,
            still_s: self.still,
            ramp_s: self.ramp,
            duration_s: self.duration.as_secs_f64(),
            rough_m: self.rough,
            seed: self.seed,
        }
    }

    fn compare(&self, scope: &Scope) -> Result<Comparison, ExperimentError> {
        let input = ExperimentError::Input;
        let distinct = |mut all: Vec<Course>| {
            all.sort();
            all.dedup();
            all
        };
        let mut courses = distinct(self.trajectory.clone());
        let recorded = match &self.recorded {
            None => None,
            Some(path) => Some(read_recorded(path).map_err(input)?),
        };
        if let Some(recorded) = &recorded {
            courses.retain(|course| recorded.courses.contains_key(course));
            if courses.is_empty() {
                return Err(input(format!("{} has no drive of these courses", recorded.name)));
            }
        }
        let mut variants = self.variants.clone();
        variants.sort();
        variants.dedup();
        variants.retain(|v| recorded.is_some() || *v != self.reference);
        let mut simulated = variants.clone();
        if recorded.is_none() {
            simulated.push(self.reference);
        }
        if variants.is_empty() {
            return Err(input("no error model is left to compare with the reference".into()));
        }
        let seconds = self.manner().duration_s + self.still;
        let total_s = seconds * f64::from(self.runs) * courses.len() as f64;
        if self.manner().duration_s < 2.0 || total_s > MAX_TOTAL_S {
            let text = "a drive must last at least 2 s, all drives of an error model at most 1e6 s \
                        in total";
            return Err(input(text.into()));
        }
        let mut groups = match &self.recorded_variants {
            Some(folder) => read_variants(folder, &variants, &courses).map_err(input)?,
            None => self.simulate(&courses, &simulated, scope)?,
        };
        let reference = match recorded {
            Some(recorded) => recorded,
            None => groups.pop().expect("the reference was simulated last"),
        };
        Ok(Comparison { courses, groups, reference })
    }

    fn simulate(
        &self,
        courses: &[Course],
        variants: &[Variant],
        scope: &Scope,
    ) -> Result<Vec<Group>, ExperimentError> {
        let bench = Bench::new(self.preset, self.stated);
        let mut world = match self.judge {
            JudgeOn::Bytes => Some(bytes::world(&bench)?),
            JudgeOn::Models => None,
        };
        let mut groups: Vec<Group> = variants
            .iter()
            .map(|variant| Group {
                name: variant.to_string(),
                variant: Some(*variant),
                courses: BTreeMap::new(),
            })
            .collect();
        let drives = courses.len() * self.runs as usize * variants.len();
        let progress = scope.progress("judging", drives as u64);
        for course in courses {
            let truth = bench.truth(*course, &self.manner()).map_err(|why| {
                ExperimentError::Input(format!(
                    "{} cannot be driven with these options: {why}",
                    recorded::name_of(*course)
                ))
            })?;
            for run in 0..self.runs {
                for (variant, group) in variants.iter().zip(&mut groups) {
                    let is_reference = self.recorded.is_none() && *variant == self.reference;
                    let draws = Draws { seed: self.seed, run, is_reference };
                    let seen = match &mut world {
                        Some(world) => bytes::read(&bench, world, &truth, *variant, draws),
                        None => bench.model_readings(&truth, *variant, draws),
                    };
                    let judged = bench.judge(&truth, &seen);
                    self.write(&group.name, *course, run, &judged.drive)?;
                    let score = judged.drive.score().expect("drives last two seconds");
                    let drives = group.courses.entry(*course).or_default();
                    drives.scores.push(score);
                    drives.velocity_nees.push(judged.velocity_nees);
                    if run == 0 {
                        drives.example = judged.drive;
                    }
                    progress.advance(1);
                }
            }
        }
        Ok(groups)
    }

    fn write(
        &self,
        group: &str,
        course: Course,
        run: u32,
        drive: &Drive,
    ) -> Result<(), ExperimentError> {
        let Some(out) = &self.write_drives else { return Ok(()) };
        let folder = out.join(group);
        let file = folder.join(format!("{}_{}.csv", recorded::name_of(course), run + 1));
        std::fs::create_dir_all(&folder)
            .and_then(|()| recorded::write(&file, drive))
            .map_err(|why| ExperimentError::Write { path: file.display().to_string(), why })
    }
}

#[cfg(test)]
mod tests;
