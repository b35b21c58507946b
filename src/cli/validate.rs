//! `menura validate`: the experiments of [`validation`](crate::validation).

use std::path::Path;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::experiments::{EXPERIMENTS, Experiment};
use super::out_file::{write_file, write_plot};
use super::validation_page::{Outcome, validation_page};
use super::{CliError, all, console};
use crate::links::part_file::OutPath;
use crate::plot::PlotFile;
use crate::validation::{ExperimentError, Findings, Plot, Scope};

/// Arguments of `menura validate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Cmd {
    #[command(subcommand)]
    chosen: Option<Chosen>,
    /// Run every experiment and write one page of results
    #[arg(long, requires = "out")]
    all: bool,
    /// Write NAME.json, NAME.svg and NAME.png of each experiment, and index.html, into this folder
    #[arg(long, value_name = "DIR", requires = "all")]
    out: Option<OutPath>,
    /// Run the short versions, which take seconds
    #[arg(long, requires = "all")]
    short: bool,
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
    /// Write the numbers (.json) and all plots (.svg, .png) into this folder, named after the
    /// experiment
    #[arg(long, value_name = "DIR")]
    out: Option<OutPath>,
    /// Run the short version, which takes seconds
    #[arg(long)]
    short: bool,
}

/// The selected experiment with its options.
#[derive(Debug)]
struct Chosen {
    experiment: &'static Experiment,
    options: ArgMatches,
    output: Output,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match (self.chosen, &self.out) {
            (Some(chosen), _) => chosen.run(),
            (None, Some(folder)) => run_all(folder, &Scope { short: self.short }),
            (None, None) => {
                let text = "error: name an experiment, or give --all --out DIR; see `menura validate --help`";
                Err(CliError::Input(text.to_owned()))
            }
        }
    }
}

impl Chosen {
    fn run(self) -> Result<(), CliError> {
        let Self { experiment, options, output } = self;
        if let Some(folder) = &output.out {
            create(folder)?;
        }
        let findings = (experiment.run)(&options, &Scope { short: output.short })?;
        let drawn = match (&output.plot, findings.plots.first()) {
            (Some(file), Some(plot)) => write_plot(&plot.figure, file, experiment.name),
            _ => Ok(()),
        };
        let written = output.out.as_ref().map_or(Ok(()), |folder| {
            write(experiment, &findings, folder)?;
            console::say(format_args!("wrote {} to {}", experiment.name, folder.display()));
            Ok(())
        });
        let printed = if output.json {
            console::print(format_args!("{}\n", findings.json()))
        } else {
            console::print(findings.tables())
        };
        let verdict = findings.verdict();
        let verdict = match verdict.holds {
            true => {
                console::say(verdict.line);
                Ok(())
            }
            false => Err(CliError::Failed(verdict.line)),
        };
        all([drawn, written, printed, verdict])
    }
}

/// Runs every experiment, even if another one fails.
fn run_all(folder: &Path, scope: &Scope) -> Result<(), CliError> {
    create(folder)?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut written = Vec::new();
    let mut broken = Vec::new();
    for experiment in EXPERIMENTS {
        let outcome = experiment.run_as_one_of_all(scope);
        let (holds, line) = match &outcome {
            Ok(findings) => {
                written.push(write(experiment, findings, folder));
                let verdict = findings.verdict();
                (verdict.holds, verdict.line)
            }
            Err(error) => (false, format!("failed: {error}")),
        };
        console::say(format_args!("{}: {line}", experiment.name));
        if !holds {
            broken.push(experiment.name);
        }
        outcomes.push((experiment, outcome));
    }
    let page = folder.join("index.html");
    written.push(write_file(&page, validation_page(&outcomes, scope.short).as_bytes()));
    console::say(format_args!("wrote {}", page.display()));
    let verdict = match broken.len() {
        0 => Ok(()),
        _ => Err(CliError::Failed(format!("experiments that do not hold: {}", broken.join(", ")))),
    };
    all(written.into_iter().chain([verdict]))
}

fn create(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        CliError::Input(format!("error: cannot create the folder {}: {error}", folder.display()))
    })
}

/// Writes the numbers and all plots of an experiment.
fn write(experiment: &Experiment, findings: &Findings, folder: &Path) -> Result<(), CliError> {
    let path = |stem: &str, extension: &str| {
        let dash = if stem.is_empty() { "" } else { "-" };
        folder.join(format!("{}{dash}{stem}.{extension}", experiment.name))
    };
    let numbers = path("", "json");
    let text = serde_json::to_string_pretty(&findings.json())
        .map_err(|error| CliError::failed(numbers.display(), &error))?;
    write_file(&numbers, format!("{text}\n").as_bytes())?;
    for Plot { stem, figure } in &findings.plots {
        write_file(&path(stem, "svg"), figure.svg().as_bytes())?;
        write_file(&path(stem, "png"), &figure.png())?;
    }
    Ok(())
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
            // Set last, because clap would use the doc comments of flattened option types as the
            // command's help.
            command.about(experiment.about).long_about(None)
        });
        command.subcommands(subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        EXPERIMENTS.iter().any(|experiment| experiment.name == name)
    }
}
