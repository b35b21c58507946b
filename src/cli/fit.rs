//! `menura fit`: parameters of error models from logs of real units at standstill.

mod plot;

use std::path::PathBuf;
use std::time::Duration;

use super::out_file::{OutFile, write_plot};
use super::{CliError, all, console};
use crate::analysis::fit::{FitError, Form, Fragment, Log, inertial, position, ranges};
use crate::devices::families::catalogue;
use crate::links::part_file::OutPath;
use crate::plot::{Figure, PlotFile};
use crate::time::duration::parse_duration;

/// Arguments of `menura fit`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Fit noise density, bias instability and random walk of an IMU to its Allan deviation
    Allan {
        #[command(flatten)]
        options: Options,
        /// Sample rate; required if neither the frames nor an index file of the log contain it
        #[arg(long, value_name = "HZ", value_parser = rate)]
        rate: Option<f64>,
        /// Leave out averaging times below this, which the unit's own filter affects [default: 0s]
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        shortest: Option<Duration>,
    },
    /// Fit the scatter and drift of a GNSS receiver's positions
    Gnss {
        #[command(flatten)]
        options: Options,
    },
    /// Fit the range noise of a lidar, laser by laser
    Lidar {
        #[command(flatten)]
        options: Options,
    },
}

/// Options of all fits.
#[derive(Debug, clap::Args)]
struct Options {
    /// Log of a unit at standstill: recorded bytes of its line (IMU, GNSS, serial lidar), a CSV file
    /// (IMU) or a capture (lidar)
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Profile of the unit
    #[arg(long, value_name = "NAME")]
    profile: String,
    /// Format of the output: tables that replace those of a profile, or settings of a device in a
    /// rig
    #[arg(long, value_enum, default_value_t = Form::Profile)]
    form: Form,
    /// Leave out the log before this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    from: Option<Duration>,
    /// Leave out the log from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    to: Option<Duration>,
    /// Print one JSON object instead, with curves and standard errors
    #[arg(long)]
    json: bool,
    /// Write the result to this file as well
    #[arg(long, value_name = "FILE")]
    out: Option<OutPath>,
    /// Draw the fit
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
}

/// Result of a fit.
struct Fitted {
    fragment: Fragment,
    report: serde_json::Value,
    figure: Figure,
    /// Message about unusable parts of the log.
    lost: Option<String>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|hz| (0.001..=1e6).contains(hz));
    rate.ok_or_else(|| "allowed: 0.001 to 1000000".to_owned())
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match &self.what {
            What::Allan { options, rate, shortest } => {
                let shortest_s = shortest.unwrap_or_default().as_secs_f64();
                options.run(*rate, |log| {
                    let fit = inertial::fit(log, shortest_s)?;
                    let figure = plot::inertial(&options.title(), &fit);
                    Ok(Fitted {
                        fragment: fit.fragment(),
                        report: fit.report(),
                        figure,
                        lost: None,
                    })
                })
            }
            What::Gnss { options } => options.run(None, |log| {
                let fit = position::fit(log)?;
                let figure = plot::position(&options.title(), &fit);
                Ok(Fitted { fragment: fit.fragment(), report: fit.report(), figure, lost: None })
            }),
            What::Lidar { options } => options.run(None, |log| {
                let fit = ranges::fit(log)?;
                let figure = plot::ranges(&options.title(), &fit);
                Ok(Fitted {
                    fragment: fit.fragment(),
                    report: fit.report(),
                    figure,
                    lost: fit.lost,
                })
            }),
        }
    }
}

impl Options {
    fn title(&self) -> String {
        let name = self.log.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}, {}", self.profile)
    }

    fn run(
        &self,
        rate_hz: Option<f64>,
        fit: impl FnOnce(&Log<'_>) -> Result<Fitted, FitError>,
    ) -> Result<(), CliError> {
        let profile = catalogue().profile(&self.profile)?;
        let log = Log {
            path: &self.log,
            profile: &profile,
            from_s: self.from.unwrap_or_default().as_secs_f64(),
            to_s: self.to.map_or(f64::INFINITY, |to| to.as_secs_f64()),
            rate_hz,
        };
        let out = self.out.as_ref().map(|path| OutFile::create("fit", path)).transpose()?;
        let fitted = fit(&log).map_err(|error| match error {
            FitError::Log(text) => {
                CliError::Input(format!("error: {}: {text}", self.log.display()))
            }
            FitError::Hints(faults) => faults.into(),
        })?;
        let text = match self.json {
            true => format!("{}\n", fitted.report),
            false => fitted.fragment.text(self.form),
        };
        let written = out.map_or(Ok(()), |out| out.write(&text));
        let draw = |file| write_plot(&fitted.figure, file, "the fit");
        let drawn = self.plot.as_ref().map_or(Ok(()), draw);
        let whole = fitted.lost.map_or(Ok(()), |lost| {
            Err(CliError::Input(format!("error: {}: {lost}", self.log.display())))
        });
        all([written, drawn, console::print(text), whole])
    }
}
