//! `menura inspect`: decodes and summarises the packets of a capture.
//!
//! `src/analysis/report/mod.rs` documents the keys of the JSON report.

mod plot;
mod scan_plot;

use std::fmt::Display;
use std::path::PathBuf;

use super::console::{LongResult, say};
use super::out_file::{write_file, write_plot};
use super::{CliError, all};
use crate::analysis::ReportError;
use crate::analysis::capture::{Source, is_capture};
use crate::analysis::flows::Analysis;
use crate::analysis::pictures;
use crate::analysis::report::{Options, report};
use crate::analysis::rotation::Rotation;
use crate::analysis::stream::{RecordedStream, sends_streams};
use crate::config::profile::Profile;
use crate::devices::decoder::Hints;
use crate::devices::decoder::picture::Picture;
use crate::devices::families::catalogue;
use crate::plot::{PlotFile, picture as image_file};

/// Arguments of `menura inspect`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// A capture (pcap or pcapng), a ROS 2 bag with raw packets (.db3 or .mcap), or the recorded bytes of a serial device (.bin, with --profile)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON lines: an object for each packet, then a summary
    #[arg(long)]
    json: bool,
    /// Print at most N packets; the summary covers all
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Profile of the device [default: guessed]; a recording of another product is rejected
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Decode with --profile even if the recording is of another product
    #[arg(long, requires = "profile")]
    anyway: bool,
    /// Draw one rotation or scan, from above and as seen from the sensor, or write one image of a
    /// camera (.png); packets are then printed only with --packets
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
    /// Number of the rotation, scan or image to draw; 1 is the first complete one
    #[arg(long, value_name = "N", requires = "plot", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    rotation: u64,
    /// Calibration for drawing, in the YAML format of the ROS driver [default: that of the stream,
    /// or of the profile]
    #[arg(long, value_name = "FILE.yaml", requires = "plot")]
    calibration: Option<PathBuf>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let profile = self.profile.as_deref().map(|name| catalogue().profile(name)).transpose()?;
        let profile = profile.as_deref();
        let extension = self.file.extension().unwrap_or_default();
        if extension == "bin" || !is_capture(&self.file) && profile.is_some_and(sends_streams) {
            return self.run_stream(profile);
        }
        self.run_capture(profile)
    }

    /// Reports on the bytes of a serial line or a TCP connection.
    fn run_stream(&self, profile: Option<&Profile>) -> Result<(), CliError> {
        let opened = RecordedStream::open(&self.file, profile, self.anyway);
        let mut stream = opened.map_err(|error| self.unreadable(error))?;
        if let Some(doubt) = stream.doubt() {
            say(format_args!("warning: {}: {doubt}", self.file.display()));
        }
        if self.plot.is_some() && !stream.has_scans() {
            let title = stream.title();
            let what = format!("error: `--plot` cannot draw {title}: it has no scans");
            return Err(CliError::Input(what));
        }
        let mut out = LongResult::new(self.plot.is_some());
        let reported = stream.report(self.json, self.most_shown(), &mut out);
        let printed = out.finish();
        match reported {
            Err(ReportError::Output(_)) => return printed,
            reported => reported.map_err(|error| self.unreadable(error))?,
        }
        let drawn = self.plot.as_ref().map(|path| self.draw_scan(&mut stream, path));
        all([drawn.unwrap_or(Ok(())), printed])
    }

    fn draw_scan(&self, stream: &mut RecordedStream<'_>, path: &PlotFile) -> Result<(), CliError> {
        let number = self.rotation;
        let scan =
            stream.scan(number).map_err(|error| self.unreadable(error))?.map_err(|count| {
                self.wrong(&format!("there is no scan {number}; number of scans: {count}"))
            })?;
        let name = self.file.display().to_string();
        let figure = scan_plot::draw(&name, stream.title(), number, &scan);
        write_plot(&figure, path, &format!("scan {number}"))
    }

    /// Largest number of packets or frames to print: the value of `--packets`. Default: 0 if a plot is written without
    /// `--json`, otherwise unlimited.
    fn most_shown(&self) -> u64 {
        let default = if self.plot.is_some() && !self.json { 0 } else { u64::MAX };
        self.packets.unwrap_or(default)
    }

    /// Reports on a capture of network traffic.
    fn run_capture(&self, profile: Option<&Profile>) -> Result<(), CliError> {
        if let Some(profile) = profile.filter(|profile| sends_streams(profile)) {
            let name = &profile.name;
            let why = format!(
                "{name} sends no datagrams, but Menura reads only datagrams from a capture"
            );
            return Err(self.wrong(&why));
        }
        let calibration = self.calibration.as_deref();
        let hints = Hints { profile, anyway: self.anyway, calibration };
        let analysis = Analysis::new(&hints)?;
        let options = Options {
            name: self.file.display().to_string(),
            json: self.json,
            packets: self.most_shown(),
            anyway: self.anyway,
        };
        let source = Source::File(&self.file);
        let mut out = LongResult::new(self.plot.is_some());
        let reported = report(source, &options, analysis, &mut out);
        let printed = out.finish();
        let reported = match reported {
            Err(ReportError::Output(_)) => return printed,
            reported => reported.map_err(|error| self.unreadable(error))?,
        };
        let draw = |path: &PlotFile| {
            let picture = pictures::collect(source, &reported.analysis, self.rotation)
                .map_err(|error| self.wrong(&error))?;
            if let Some(picture) = picture {
                return self.write_picture(picture, path);
            }
            let rotation = Rotation::collect(source, &reported.analysis, self.rotation)
                .map_err(|error| self.wrong(&error))?;
            let figure = plot::Drawing(&rotation).draw(&options.name);
            write_plot(&figure, path, &format!("rotation {}", self.rotation))
        };
        let drawn = self.plot.as_ref().map_or(Ok(()), draw);
        let whole = reported.fault.map_or(Ok(()), |fault| Err(self.wrong(&fault)));
        all([drawn, whole, printed])
    }

    /// Writes a camera image to a file without changing its pixels.
    fn write_picture(
        &self,
        picture: Result<Picture, u64>,
        path: &PlotFile,
    ) -> Result<(), CliError> {
        let number = self.rotation;
        let picture = picture.map_err(|whole| {
            self.wrong(&format!("it has {whole} complete images, fewer than {number}"))
        })?;
        if path.path().extension().is_none_or(|extension| extension != "png") {
            return Err(CliError::Input("error: --plot writes images as .png".into()));
        }
        write_file(path.path(), &image_file(picture.size, &picture.pixels().rgb()))?;
        say(format_args!("wrote image {number} to {}", path.path().display()));
        Ok(())
    }

    /// Error for a file that cannot be analysed.
    fn unreadable(&self, error: ReportError) -> CliError {
        match error {
            ReportError::Output(error) => CliError::failed("cannot write the report", &error),
            ReportError::Input(what) => self.wrong(&what),
            ReportError::OtherProduct(why) => {
                let profile = self.profile.as_deref().unwrap_or_default();
                self.wrong(&format!(
                    "this is not a recording of {profile}: {why}\n  Omit --profile to detect the \
                     device, or add --anyway to read it as {profile}"
                ))
            }
        }
    }

    fn wrong(&self, what: &dyn Display) -> CliError {
        CliError::Input(format!("error: {}: {what}", self.file.display()))
    }
}
