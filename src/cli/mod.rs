//! The command line: one file per command, each with a `Cmd` and its `run`.
//!
//! Results go to standard output and messages to standard error, both through [`console`]. Files are written before
//! results are printed. Exit codes: 0 success; 1 failure during the work; 2 wrong input; 3 success, but requirements
//! are not met.

mod access;
mod bench;
mod certificate_page;
mod certify;
mod check;
mod console;
mod convert;
mod doctor;
mod experiments;
mod export;
mod fault;
mod fit;
mod foxglove;
pub(crate) mod inspect;
mod join;
mod new;
mod onlookers;
mod out_file;
mod out_paths;
#[cfg(feature = "packaging")]
mod packaging;
mod page;
mod percentiles;
mod probe;
pub mod profiles;
mod ranks;
mod record;
mod replay;
mod replay_serial;
mod rig_args;
mod run;
mod scenes;
pub mod schema;
mod setup;
mod status;
mod stop;
mod summary;
mod test;
mod truth_target;
mod twin;
mod validate;
mod validation_page;
mod video;
mod view;
mod watch;
mod weather_summary;
mod world_summary;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Emulate a robot's sensors on the wire: ray-traced lidar as the bytes real drivers expect.
#[derive(Debug, Parser)]
#[command(name = "menura", version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a rig in real time and send its devices' bytes
    Run(run::Cmd),
    /// Write the bytes of a rig to files, as fast as the machine allows
    Record(record::Cmd),
    /// Validate a rig and all files that it refers to, without sending data
    Check(check::Cmd),
    /// Benchmark a rig: real-time factor and cost per device
    Bench(bench::Cmd),
    /// List the firmware profiles, or show one with its settings and sources
    Profiles(profiles::Cmd),
    /// Print the packets of a capture, or the frames of a recorded serial line
    Inspect(inspect::Cmd),
    /// Send the datagrams of a capture again with their original timing
    Replay(replay::Cmd),
    /// Convert a capture to pcap, MCAP or a ROS 2 bag in SQLite
    Convert(convert::Cmd),
    /// Receive on the robot's computer and measure jitter, gaps and losses
    Probe(probe::Cmd),
    /// Compare an emulated stream with a capture of a real device
    Twin(twin::Cmd),
    /// Inject and clear faults in a running rig, or convert a fault log to [[fault]] sections
    Fault(fault::Cmd),
    /// Label the points of a recording from its ground truth
    Join(join::Cmd),
    /// Export the points of a recording as PCD, LAS, PLY or NumPy; --truth adds labels
    Export(export::Cmd),
    /// Fit error models to logs of real units at standstill
    Fit(fit::Cmd),
    /// List the built-in scenes and their parameters
    Scenes(scenes::Cmd),
    /// Write a commented rig for the devices that you name
    New(new::Cmd),
    /// Print every key of a rig as a JSON Schema for editors, or as a Markdown page
    Schema(schema::Cmd),
    /// Reproduce published experiments and compare the results
    Validate(validate::Cmd),
    /// Test a driver against sensor faults and edge cases
    Test(test::Cmd),
    /// Find causes of late packets on this host, and their remedies
    Doctor(doctor::Cmd),
    /// Write completions for shells and man pages
    #[cfg(feature = "packaging")]
    #[command(hide = true)]
    Packaging(packaging::Cmd),
}

/// Error of a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The input is wrong; the text is complete and ready to print. Exit code 2.
    #[error("{0}")]
    Input(String),
    /// The work is done, but a requirement is not met. Exit code 3.
    #[error("{0}")]
    Unmet(String),
    /// A command failed during its work. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Several errors. The exit code is the highest of their codes.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<CliError>),
}

impl CliError {
    /// [`CliError::Failed`] with the text `what`, followed by `error` and its causes.
    pub fn failed(what: impl std::fmt::Display, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{what}: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self::Failed(text)
    }

    /// Prints the error on standard error; returns the exit code.
    fn tell(&self) -> u8 {
        match self {
            Self::Input(text) => {
                console::say(text.trim_end());
                2
            }
            Self::Unmet(text) => {
                console::say(text.trim_end());
                3
            }
            Self::Failed(text) => {
                console::say(format_args!("error: {}", text.trim_end()));
                1
            }
            Self::Several(errors) => errors.iter().map(Self::tell).max().unwrap_or(1),
        }
    }
}

/// Combines the results of several steps, all of which were executed.
fn all(outcomes: impl IntoIterator<Item = Result<(), CliError>>) -> Result<(), CliError> {
    let mut errors: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(CliError::Several(errors)),
    }
}

/// The program: parses the command line, runs the command, and converts its result to an exit code.
pub fn main() -> ExitCode {
    console::start_log();
    let mut command = Cli::command();
    let parsed = command.try_get_matches_from_mut(std::env::args_os()).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok((cli, matches))
    });
    match parsed {
        Ok((cli, matches)) => match out_paths::check(&command, &matches) {
            Ok(()) => cli.run(),
            Err(error) => ExitCode::from(error.tell()),
        },
        Err(answer) => match console::print_answer(&answer) {
            Ok(()) => ExitCode::from(answer.exit_code() as u8),
            Err(error) => ExitCode::from(error.tell()),
        },
    }
}

/// Like [`main`], for a program that can run as several processes (ranks); `connect` connects them.
pub fn main_of_ranks(connect: ranks::Connect) -> ExitCode {
    ranks::CONNECT.set(connect).expect("a program has one main function");
    main()
}

impl Cli {
    /// Runs the selected command and prints its error, if any.
    pub fn run(self) -> ExitCode {
        let outcome = match self.verb {
            Verb::Run(cmd) => cmd.run(),
            Verb::Record(cmd) => cmd.run(),
            Verb::Check(cmd) => cmd.run(),
            Verb::Bench(cmd) => cmd.run(),
            Verb::Profiles(cmd) => cmd.run(),
            Verb::Inspect(cmd) => cmd.run(),
            Verb::Replay(cmd) => cmd.run(),
            Verb::Convert(cmd) => cmd.run(),
            Verb::Probe(cmd) => cmd.run(),
            Verb::Twin(cmd) => cmd.run(),
            Verb::Fault(cmd) => cmd.run(),
            Verb::Join(cmd) => cmd.run(),
            Verb::Export(cmd) => cmd.run(),
            Verb::Fit(cmd) => cmd.run(),
            Verb::Scenes(cmd) => cmd.run(),
            Verb::New(cmd) => cmd.run(),
            Verb::Schema(cmd) => cmd.run(),
            Verb::Validate(cmd) => cmd.run(),
            Verb::Test(cmd) => cmd.run(),
            Verb::Doctor(cmd) => cmd.run(),
            #[cfg(feature = "packaging")]
            Verb::Packaging(cmd) => cmd.run(),
        };
        outcome.map_or_else(|error| ExitCode::from(error.tell()), |()| ExitCode::SUCCESS)
    }
}
