//! `menura validate`: the experiments of [`validation`](crate::validation).

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::out_file::write_plot;
use super::{CliError, all, console};
use crate::plot::PlotFile;
use crate::validation::{EXPERIMENTS, Experiment, ExperimentError};

/// Arguments of `menura validate`.
#[derive(Debug, Args)]
pub struct Cmd {
    #[command(subcommand)]
    chosen: Chosen,
}

/// Options that all experiments share.
#[derive(Debug, Args)]
struct Output {
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Draw the result
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
}

/// The experiment that was asked for, with its options.
#[derive(Debug)]
struct Chosen {
    experiment: &'static Experiment,
    options: ArgMatches,
    output: Output,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Chosen { experiment, options, output } = self.chosen;
        let findings = (experiment.run)(&options)?;
        let draw = |file| write_plot(&findings.plot, file, experiment.name);
        let drawn = output.plot.as_ref().map_or(Ok(()), draw);
        let printed = if output.json {
            console::print(format_args!("{}\n", findings.report))
        } else {
            console::print(findings.text)
        };
        let verdict = match findings.verdict.holds {
            true => {
                console::say(findings.verdict.line);
                Ok(())
            }
            false => Err(CliError::Failed(findings.verdict.line)),
        };
        all([drawn, printed, verdict])
    }
}

impl From<ExperimentError> for CliError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Input(text) => Self::Input(format!("error: {text}")),
            ExperimentError::Rig(faults) => faults.into(),
            ExperimentError::Write { .. } => Self::failed(&error, &error),
        }
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, options) = matches.subcommand().ok_or_else(missing)?;
        let experiment = EXPERIMENTS.iter().find(|e| e.name == name).ok_or_else(missing)?;
        let output = Output::from_arg_matches(options)?;
        Ok(Self { experiment, options: options.clone(), output })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        let subcommands = EXPERIMENTS.iter().map(|experiment| {
            let command =
                Output::augment_args((experiment.arguments)(Command::new(experiment.name)));
            // Last: clap takes the documentation of types with options for the command's.
            command.about(experiment.about).long_about(None)
        });
        command.subcommand_required(true).arg_required_else_help(true).subcommands(subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        EXPERIMENTS.iter().any(|experiment| experiment.name == name)
    }
}
