//! The experiments of [`validation`], and their options on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, value_parser};

use crate::links::part_file::OutPath;
use crate::time::duration::parse_duration;
use crate::validation::{
    self, Course, ExperimentError, Findings, JudgeOn, Preset, Run, Scope, SixtyFour, Size, Stated,
    Variant,
};

/// All experiments, in the order of `menura validate --help`.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment::of::<Grass>(&[]),
    Experiment::of::<MixedPixels>(&[]),
    Experiment::of::<Shrub>(&[]),
    Experiment::of::<Allan>(&["wheeltec-n100"]),
    Experiment::of::<Vepd>(&[]),
    Experiment::of::<Andabata>(&[]),
    Experiment::of::<PointVersusBeam>(&[]),
    Experiment::of::<CourtyardCostmaps>(&[]),
    Experiment::of::<ScanDistortion>(&[]),
    Experiment::of::<Scaling>(&[]),
];

/// An experiment on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Subcommand of the experiment.
    pub name: &'static str,
    /// One line about what the experiment compares.
    pub about: &'static str,
    /// Adds the experiment's options to a command.
    pub arguments: fn(Command) -> Command,
    /// Runs the experiment with the given options.
    pub run: fn(&ArgMatches, &Scope) -> Result<Findings, ExperimentError>,
    /// Arguments for `menura validate --all`, if the experiment has required ones.
    arguments_of_all: &'static [&'static str],
}

impl Experiment {
    const fn of<O: Options>(arguments_of_all: &'static [&'static str]) -> Self {
        Self {
            name: O::Run::NAME,
            about: O::Run::ABOUT,
            arguments: O::augment_args,
            run: |matches, scope| O::from_arg_matches(matches).map_err(input)?.read().run(scope),
            arguments_of_all,
        }
    }

    /// Runs the experiment as `menura validate --all` does: all options have their defaults, required arguments fixed
    /// values.
    pub fn run_as_one_of_all(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let arguments = [&self.name].into_iter().chain(self.arguments_of_all);
        let command = (self.arguments)(Command::new(self.name));
        (self.run)(&command.try_get_matches_from(arguments).map_err(input)?, scope)
    }
}

fn input(error: clap::Error) -> ExperimentError {
    ExperimentError::Input(error.to_string())
}

/// Options of an experiment.
trait Options: Args {
    type Run: Run;

    fn read(self) -> Self::Run;
}

/// Generates the command-line options from an experiment's fields.
macro_rules! options {
    ($type:ident { $($(#[$meta:meta])* $field:ident: $of:ty,)* }) => {
        #[derive(Debug, Args)]
        struct $type {
            $($(#[$meta])* $field: $of,)*
        }

        impl Options for $type {
            type Run = validation::$type;

            fn read(self) -> validation::$type {
                validation::$type { $($field: self.$field,)* }
            }
        }
    };
}

/// Parser for the words in `all`. An entry of `all` has the value, the word and the help text of one choice.
fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [(T, &'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let words = all.iter().map(|(_, word, help)| match help.is_empty() {
        true => PossibleValue::new(*word),
        false => PossibleValue::new(*word).help(*help),
    });
    PossibleValuesParser::new(words).map(|said| {
        let chosen = all.iter().find(|(_, word, _)| *word == said);
        chosen.expect("a possible value is one of all").0
    })
}

/// Parses a number from `LOW` to `HIGH`; these limits are in thousandths.
fn in_range<const LOW: u32, const HIGH: u32>(text: &str) -> Result<f64, String> {
    let (low, high) = (f64::from(LOW) / 1000.0, f64::from(HIGH) / 1000.0);
    let number = text.parse::<f64>().ok().filter(|x| (low..=high).contains(x));
    number.ok_or_else(|| format!("allowed: {low} to {high}"))
}

/// Default options of the experiment `vepd`.
fn vepd() -> validation::Vepd {
    validation::Vepd::default()
}

options! {
    Grass {
        /// Number of grass stands of each kind; each stand gets about 200 pulses
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(2..=10_000))]
        stands: u32,
        /// Seed of the stems' positions
        #[arg(long, default_value_t = 1, value_parser = value_parser!(u32))]
        seed: u32,
    }
}

options! {
    MixedPixels {
        /// Number of offsets of the beam directions within an angular step; counts are averaged
        /// over them
        #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..=50))]
        phases: u32,
        /// Seed of the range errors
        #[arg(long, default_value_t = 1, value_parser = value_parser!(u32))]
        seed: u32,
    }
}

options! {
    Shrub {
        /// Number of positions on the quarter circle, with one rotation from each
        #[arg(long, default_value_t = 91, value_parser = value_parser!(u32).range(2..=10_000))]
        places: u32,
        /// Number of rotations of the single laser
        #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(2..=10_000))]
        turns: u32,
        /// Run only the part with the single laser and a bush (Durst et al. 2011)
        #[arg(long)]
        single_laser: bool,
        /// Seed of the shrub's leaves and the range errors
        #[arg(long, default_value_t = 1, value_parser = value_parser!(u32))]
        seed: u32,
    }
}

options! {
    Allan {
        /// The IMU's profile, or with --rig the name of a device of that rig
        #[arg(value_name = "PROFILE|DEVICE")]
        name: String,
        /// Take the device's errors from this rig
        #[arg(long, value_name = "RIG.toml")]
        rig: Option<PathBuf>,
        /// Simulated time: 30min, 2h
        #[arg(long, value_parser = parse_duration, default_value = "2h")]
        duration: Duration,
        /// Seed of the random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
    }
}

options! {
    Vepd {
        /// Courses to drive
        #[arg(
            long,
            value_parser = choice(Course::CHOICES), value_delimiter = ',', default_values_t = vepd().trajectory,
        )]
        trajectory: Vec<Course>,
        /// Error models of the GNSS receiver to compare
        #[arg(
            long,
            value_parser = choice(Variant::CHOICES), value_delimiter = ',', default_values_t = vepd().variants,
        )]
        variants: Vec<Variant>,
        /// The error model with which the others are compared
        #[arg(long, value_parser = choice(Variant::CHOICES), default_value_t = vepd().reference)]
        reference: Variant,
        /// Compare with recorded drives instead
        ///
        /// One CSV file, or a folder of CSV files called line_1.csv, half-sine_2.csv, circle_3.csv
        /// and so on. Columns: se_time, se_vel (estimated) and gt_time, gt_vel (true), in seconds
        /// and m/s. The published data of Mahajan et al. 2024 have this format.
        #[arg(long, value_name = "DIR|FILE", conflicts_with = "reference")]
        recorded: Option<PathBuf>,
        /// Read the drives of the variants from this folder, with a subfolder for each, instead of
        /// simulating them
        ///
        /// The folder has the format of --write-drives. With --recorded nothing is simulated, and distances
        /// are compared with the paper's tables.
        #[arg(long, value_name = "DIR", requires = "recorded")]
        recorded_variants: Option<PathBuf>,
        /// Input of the state estimator: data that a driver reads from the devices' bytes, or
        /// output of the devices' models
        #[arg(long, value_parser = choice(JudgeOn::CHOICES), default_value_t = vepd().judge)]
        judge: JudgeOn,
        /// Final value and time constant of AirSim's HDOP
        #[arg(long, value_parser = choice(Preset::CHOICES), default_value_t = vepd().preset)]
        preset: Preset,
        /// Accuracy that the GNSS receiver reports if its error model has none (ch-gauss, ch-rw)
        #[arg(long, value_parser = choice(Stated::CHOICES), default_value_t = vepd().stated)]
        stated: Stated,
        /// Number of drives of each course
        #[arg(long, default_value_t = vepd().runs, value_parser = value_parser!(u32).range(1..=10_000))]
        runs: u32,
        /// Seed of the random numbers
        #[arg(long, default_value_t = vepd().seed)]
        seed: u64,
        /// Duration of a drive, from the moment the vehicle moves
        #[arg(long, value_parser = parse_duration, default_value = "20s")]
        duration: Duration,
        /// The vehicle's speed, m/s
        #[arg(long, default_value_t = vepd().speed, value_parser = in_range::<1, 20_000>)]
        speed: f64,
        /// Length of the half-sine, m
        #[arg(long, default_value_t = vepd().length, value_parser = in_range::<100, 1_000_000>)]
        length: f64,
        /// Height of the half-sine, m
        #[arg(long, default_value_t = vepd().height, value_parser = in_range::<10, 1_000_000>)]
        height: f64,
        /// Radius of the circle, m
        #[arg(long, default_value_t = vepd().radius, value_parser = in_range::<100, 1_000_000>)]
        radius: f64,
        /// Root mean square of the grass's height, m
        #[arg(long, default_value_t = vepd().rough, value_parser = in_range::<0, 1_000>)]
        rough: f64,
        /// Time at rest after power-on, s; AirSim's HDOP is 100 at its start
        #[arg(long, default_value_t = vepd().still, value_parser = in_range::<0, 3_600_000>)]
        still: f64,
        /// Time from rest to full speed, s
        #[arg(long, default_value_t = vepd().ramp, value_parser = in_range::<100, 60_000>)]
        ramp: f64,
        /// Write the simulated drives to this folder, in the format of --recorded, with a subfolder
        /// for each error model
        #[arg(long, value_name = "DIR")]
        write_drives: Option<OutPath>,
    }
}

options! {
    Andabata {
        /// Number of runs; each has its own seed for field and noise
        #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..=1000))]
        runs: u32,
        /// Seed of the first run
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Time limit of a run
        #[arg(long, value_parser = parse_duration, default_value = "900s")]
        duration: Duration,
        /// Also drive with a puddle on the path, once of clear water and once of diffuse paint (C3)
        #[arg(long)]
        puddle: bool,
        /// Steer by the latest scan alone, as the paper's robot does
        #[arg(long)]
        without_memory: bool,
    }
}

options! {
    PointVersusBeam {
        /// Seed of scene and noise
        #[arg(long, default_value_t = 1)]
        seed: u64,
    }
}

options! {
    CourtyardCostmaps {
        /// Seed of the courtyard and the noise
        #[arg(long, default_value_t = 3)]
        seed: u64,
        /// Use two million blades of grass and trees of 3.5 million triangles: 191 million
        /// triangles in total, as in the paper; requires 1 GB of memory
        #[arg(long)]
        dense: bool,
        /// Unit of the HDL-64E. The beams of S1 and S3 end at +2.0 degrees, as in the paper; those
        /// of S2 end at +5.0 degrees, and with it the order of heights is reported without a
        /// verdict
        #[arg(long = "hdl64e", value_parser = choice(SixtyFour::CHOICES), default_value_t = SixtyFour::S3)]
        sixty_four: SixtyFour,
    }
}

options! {
    ScanDistortion {
        /// Seed of the noise
        #[arg(long, default_value_t = 1)]
        seed: u64,
    }
}

options! {
    Scaling {
        /// Scenes to measure, by their number of triangles
        #[arg(long, value_parser = choice(Size::CHOICES), value_delimiter = ',', default_values_t = Size::ALL)]
        triangles: Vec<Size>,
        /// Numbers of threads [default: 1, 2, 4, … up to the processors]
        #[arg(long, value_delimiter = ',', value_parser = value_parser!(u32).range(1..=256))]
        threads: Vec<u32>,
        /// Skip Embree
        #[arg(long)]
        no_embree: bool,
        /// Skip the GPU
        #[arg(long)]
        no_gpu: bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_experiment_cannot_do_is_refused() {
        let vepd = EXPERIMENTS.iter().find(|experiment| experiment.name == "vepd").unwrap();
        for wrong in
            ["--radius=0", "--speed=nan", "--runs=0", "--variants=best", "--recorded-variants=."]
        {
            let command = (vepd.arguments)(Command::new("vepd"));
            assert!(command.try_get_matches_from(["vepd", wrong]).is_err(), "{wrong}");
        }
    }
}
