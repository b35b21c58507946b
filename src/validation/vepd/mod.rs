//! `menura validate vepd`: what a state estimator makes of simulated GNSS and IMU readings, after
//! Mahajan et al. 2024, "Quantifying the Sim2real Gap for GPS and IMU Sensors" (arXiv 2403.11000).
//!
//! Raw readings of two sensors can hardly be compared; what an estimator, the judge, makes of them
//! can. A small vehicle drives a line, a half-sine and a circle again and again; the judge estimates
//! its speed from a ZED-F9P at 10 Hz and an N100 at 100 Hz; of each drive are kept the root mean square
//! of the speed's error and the difference of the Wiener entropies of estimated and true speed. The
//! Wasserstein distance between the drives with one error model and those of the reference is `W1` for
//! the first, `W2` for the second, and VEPD is their mean: 0 if the estimator cannot tell them apart.
//!
//! # What differs from the paper
//!
//! - All is simulated unless `--recorded` names drives; the paper's reference are real drives.
//! - The judge is our own filter ([`judge`]), there robot_localization. Recorded drives bring the
//!   speed that their own judge estimated.
//! - Motion follows the curve exactly, from rest, at one speed; there a vehicle was simulated. Sizes and
//!   speeds are our choice and options, the paper gives none that we know of.
//! - All variants of a drive have the same IMU readings and the same random numbers.

mod drive;
mod judge;
mod metrics;
mod plot;
mod recorded;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::drive::{Bench, Course, Manner, Variant};
use self::metrics::{Drive, Score, wasserstein};
use super::{ExperimentError, Findings, Run, Verdict};
use crate::time::duration::parse_duration;

/// A progress bar appears after so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// No simulation is longer, seconds of all drives.
const MAX_TOTAL_S: f64 = 1e6;

/// Options of the experiment.
#[derive(Debug, clap::Args)]
pub(super) struct Vepd {
    /// Courses to drive
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Course::ALL)]
    trajectory: Vec<Course>,
    /// Error models of the receiver to compare
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Variant::PAPER)]
    variants: Vec<Variant>,
    /// The error model with which the others are compared
    #[arg(long, value_enum, default_value_t = Variant::Profile)]
    reference: Variant,
    /// Compare with recorded drives instead
    ///
    /// A folder of CSV files called line_1.csv, half-sine_2.csv, circle_3.csv and so on, or one
    /// file, with the columns se_time, se_vel (estimated) and gt_time, gt_vel (true), in seconds
    /// and m/s; the published data of Mahajan et al. 2024 have this form.
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "reference")]
    recorded: Option<PathBuf>,
    /// Drives of each course
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of a drive, from the moment the vehicle moves
    #[arg(long, value_parser = parse_duration, default_value = "20s")]
    duration: Duration,
    /// The vehicle's speed, m/s
    #[arg(long, default_value_t = 1.5, value_parser = in_range::<1, 20_000>)]
    speed: f64,
    /// Length of the half-sine, m
    #[arg(long, default_value_t = 25.0, value_parser = in_range::<100, 1_000_000>)]
    length: f64,
    /// Height of the half-sine, m
    #[arg(long, default_value_t = 5.0, value_parser = in_range::<10, 1_000_000>)]
    height: f64,
    /// Radius of the circle, m
    #[arg(long, default_value_t = 5.0, value_parser = in_range::<100, 1_000_000>)]
    radius: f64,
    /// Switched on and at rest before it moves, s; AirSim's HDOP allows a fix after about 3
    #[arg(long, default_value_t = 3.0, value_parser = in_range::<0, 3_600_000>)]
    still: f64,
    /// From rest to its speed, s
    #[arg(long, default_value_t = 2.0, value_parser = in_range::<100, 60_000>)]
    ramp: f64,
    /// Write the simulated drives, in the form that --recorded reads, a folder for each error model
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Reads a number of thousandths between two limits.
fn in_range<const LOW: u32, const HIGH: u32>(text: &str) -> Result<f64, String> {
    let (low, high) = (f64::from(LOW) / 1000.0, f64::from(HIGH) / 1000.0);
    let number = text.parse::<f64>().ok().filter(|x| (low..=high).contains(x));
    number.ok_or_else(|| format!("allowed: {low} to {high}"))
}

/// Drives with one receiver, or recorded ones.
struct Group {
    name: String,
    courses: BTreeMap<Course, Drives>,
}

/// The drives of a course.
#[derive(Default)]
struct Drives {
    scores: Vec<Score>,
    /// Mean NEES of the velocity of each; none of recorded drives.
    velocity_nees: Vec<f64>,
    /// The first.
    example: Drive,
}

impl Drives {
    fn rmse_m_s(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.rmse_m_s).collect()
    }

    fn flatness_differences(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.flatness_difference).collect()
    }
}

impl Group {
    fn all(&self, courses: &[Course], of: impl Fn(&Drives) -> Vec<f64>) -> Vec<f64> {
        courses.iter().filter_map(|course| self.courses.get(course)).flat_map(of).collect()
    }
}

/// Distances between drives.
#[derive(Clone, Copy, Debug)]
struct Distance {
    /// Of the errors' root mean squares, m/s.
    w1_m_s: f64,
    /// Of the differences of Wiener entropies.
    w2: f64,
}

impl Distance {
    /// Over the drives of some courses.
    fn between(group: &Group, reference: &Group, courses: &[Course]) -> Self {
        let distance = |of: fn(&Drives) -> Vec<f64>| {
            wasserstein(&group.all(courses, of), &reference.all(courses, of))
        };
        Self { w1_m_s: distance(Drives::rmse_m_s), w2: distance(Drives::flatness_differences) }
    }

    fn vepd(&self) -> f64 {
        0.5 * (self.w1_m_s + self.w2)
    }
}

/// All that was found.
struct Comparison {
    courses: Vec<Course>,
    groups: Vec<Group>,
    reference: Group,
}

impl Run for Vepd {
    const NAME: &'static str = "vepd";
    const ABOUT: &'static str =
        "Compare GNSS error models by what a state estimator makes of them and of an IMU";

    fn run(&self) -> Result<Findings, ExperimentError> {
        let comparison = self.compare()?;
        Ok(Findings {
            text: table::text(self, &comparison),
            report: table::report(self, &comparison),
            plot: plot::draw(self, &comparison),
            verdict: Verdict { holds: true, line: table::nearest(&comparison) },
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
        }
    }

    fn compare(&self) -> Result<Comparison, ExperimentError> {
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
                return Err(input(format!("{} has drives of other courses only", recorded.name)));
            }
        }
        let mut variants = self.variants.clone();
        variants.sort();
        variants.dedup();
        let mut simulated = variants.clone();
        if recorded.is_none() && !variants.contains(&self.reference) {
            simulated.push(self.reference);
        }
        let seconds = self.manner().duration_s + self.still;
        let total_s = seconds * f64::from(self.runs) * courses.len() as f64;
        if self.manner().duration_s < 2.0 || total_s > MAX_TOTAL_S {
            let text = "a drive takes 2 s or more, all drives of a receiver together 1e6 s at most";
            return Err(input(text.into()));
        }
        let mut groups = self.simulate(&courses, &simulated)?;
        let reference = match recorded {
            Some(recorded) => recorded,
            None => {
                let place = simulated.iter().position(|v| *v == self.reference).unwrap_or(0);
                let reference = groups.remove(place);
                variants.retain(|v| *v != self.reference);
                reference
            }
        };
        if groups.is_empty() {
            return Err(input("nothing is left to hold against the reference".into()));
        }
        Ok(Comparison { courses, groups, reference })
    }

    fn simulate(
        &self,
        courses: &[Course],
        variants: &[Variant],
    ) -> Result<Vec<Group>, ExperimentError> {
        let bench = Bench::new();
        let mut groups: Vec<Group> = variants
            .iter()
            .map(|variant| Group { name: table::name(*variant), courses: BTreeMap::new() })
            .collect();
        let bar = progress(courses.len() * self.runs as usize * variants.len());
        for course in courses {
            let truth = bench.truth(*course, &self.manner()).map_err(|why| {
                ExperimentError::Input(format!(
                    "{} cannot be driven so: {why}",
                    recorded::name_of(*course)
                ))
            })?;
            for run in 0..self.runs {
                let readings = bench.readings(&truth, self.seed, run);
                for (variant, group) in variants.iter().zip(&mut groups) {
                    let judged = bench.judge(&truth, &readings, *variant, self.seed, run);
                    self.write(&group.name, *course, run, &judged.drive)?;
                    let score = judged.drive.score().expect("drives last two seconds");
                    let drives = group.courses.entry(*course).or_default();
                    drives.scores.push(score);
                    drives.velocity_nees.push(judged.velocity_nees);
                    if run == 0 {
                        drives.example = judged.drive;
                    }
                    advance(&bar);
                }
            }
        }
        bar.finish_and_clear();
        Ok(groups)
    }

    fn write(
        &self,
        group: &str,
        course: Course,
        run: u32,
        drive: &Drive,
    ) -> Result<(), ExperimentError> {
        let Some(out) = &self.out else { return Ok(()) };
        let folder = out.join(group);
        let file = folder.join(format!("{}_{}.csv", recorded::name_of(course), run + 1));
        std::fs::create_dir_all(&folder)
            .and_then(|()| recorded::write(&file, drive))
            .map_err(|why| ExperimentError::Write { path: file.display().to_string(), why })
    }
}

fn read_recorded(path: &std::path::Path) -> Result<Group, String> {
    let mut group = Group { name: path.display().to_string(), courses: BTreeMap::new() };
    for (course, drive) in recorded::read(path)? {
        let score = drive.score().expect("read drives can be compared");
        let drives: &mut Drives = group.courses.entry(course).or_default();
        if drives.scores.is_empty() {
            drives.example = drive;
        }
        drives.scores.push(score);
    }
    Ok(group)
}

/// A bar that nobody sees before it is worth it.
fn progress(total: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("judging {bar:40} {percent:>3}% of drives, {eta} left")
            .expect("a constant template");
    ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden())
        .with_style(style)
}

fn advance(bar: &ProgressBar) {
    if bar.is_hidden() && bar.elapsed() > PATIENCE {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar.inc(1);
}

#[cfg(test)]
mod tests;
