//! `menura inspect`: what the packets of a capture say.
//!
//! # JSON
//!
//! With `--json`, standard output has one object a line. `"type": "packet"` lines come first, in
//! the order of the file; the last line is `"type": "summary"`. Keys are only ever added.
//!
//! Every packet: `number` (from 1), `time_s` (since the first), `unix_ns` and `kind`:
//! - `data`, `position`, `udp`: `source`, `destination` (`address:port`), `ttl`, `udp_checksum`
//!   (`absent`, `good`, `bad`), `length` (payload, bytes), `missing` (bytes the capture left out);
//!   IPv4 also `dont_fragment`, `identification`, `ip_checksum_ok`.
//! - `data`: `model`, `distance_unit_m`, `blocks` (each `flag`, `first_laser`,
//!   `azimuth_centideg`, `distance` and `intensity` of 32 slots, raw), `issues`; `timestamp_us`
//!   but for the HDL-64E S1; HDL-64E S2 and S3 `status` (`type`, `type_byte`, `value`, `name`,
//!   `text`) and `dual_return`; S1 `s1_status`; other models `return_mode`, `factory_bytes`.
//! - `position`: `timestamp_us`, `pps`, `pps_byte`, `nmea`, `imu` (three, raw).
//! - `other`: `protocol`. `broken`: `error`.
//!
//! Bytes of a serial line or a TCP connection (`.bin`, or `--profile`): an object for each frame, of
//! type `frame`, `message` (GNSS) or `telegram` (LMS1xx and LMS5xx), with `number` (from 1),
//! `offset`, `length` and `time_s` (when its first byte left, from the index beside the recording;
//! else null), and then what the frame says:
//! - LMS 2xx: `kind`; from a telegram `address` and `payload` or, of measured values, `unit`,
//!   `partial`, `shift_deg`, `values` (raw), `ranges_m` (null where there is none), `reflectivity`,
//!   `scan_index`, `telegram_index`, `status_byte`. Summary: `bytes`, `telegrams`, `frames` by kind,
//!   `bad_crc`, `skipped_bytes`, `measuring_mode` and `scans`.
//! - LMS1xx and LMS5xx: `dialect`, `name` (kind and name) and `content`; of a scan instead `status`,
//!   `telegram_counter`, `scan_counter`, `start_us`, `transmission_us`, `scan_frequency_hz`,
//!   `channels` (each `name`, `scale_factor`, `start_angle_deg`, `angular_step_deg`, `values`, raw),
//!   `ranges_m` of the first echo (null where there is none) and `time`. Summary: `telegrams`,
//!   `bytes`, `skipped_bytes`, `dialects`, `names`, `scans`, `broken_scans`, `counter_gaps` and
//!   `duration_s`.
//! - IMU: `kind` and the fields. Summary: `bytes`, `frames` by kind and `skipped_bytes`.
//! - GNSS: `kind`; `nmea`: `address`, `fields` (text) and, for known types, `values`, or `error`;
//!   `ubx`: `message` (its name), `class`, `id` and, for known messages, `values`, or `error`;
//!   `rtcm3`: `message_type`; `noise`: bytes that are none of these. Summary: `bytes`, `messages`
//!   (how many of each) and `noise_bytes`.
//!
//! The summary of a capture: `file`, `format`, `link`, `packets`, `start_unix_ns`, `duration_s`, `flows`,
//! `others`, `broken` and `fault` (null, or why the file could not be read to its end). A flow's
//! `data` has the model, rates, gaps and, under `status`, all that the status bytes say, the
//! calibration of the 64 lasers included.

mod json;
mod plot;
mod scan_plot;
mod text;
mod words;

use crate::config::profile::Profile;
use crate::devices::family::catalogue;
use crate::devices::hdl64e::profile::Hdl64eProfile;
use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use super::CliError;
use super::out_file::write_plot;
use crate::analysis::ReportError;
use crate::analysis::capture::CaptureReader;
pub use crate::analysis::capture::{CaptureError, Source};
use crate::analysis::data_flow::{Generation, Unit};
use crate::analysis::flows::Analysis;
use crate::analysis::stream::RecordedStream;
use crate::devices::decoder::sends_streams;
use crate::devices::hdl64e::profile::{Hdl64eGeneration, LaserTable};
use crate::plot::PlotFile;

/// Arguments of `menura inspect`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// A capture (pcap or pcapng), or the recorded bytes of a serial device (.bin, with --profile)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object a line: the packets, then a summary
    #[arg(long)]
    json: bool,
    /// Print at most N packets; the summary covers all
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Profile of the device; otherwise it is guessed
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Draw one rotation (or scan), from above and from the sensor; packets are then printed only
    /// with --packets
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
    /// Which rotation to draw; 1 is the first complete one
    #[arg(long, value_name = "N", requires = "plot", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    rotation: u64,
    /// Calibration for drawing, in the YAML form of the ROS driver [default: that of the stream, or
    /// of the profile]
    #[arg(long, value_name = "FILE.yaml", requires = "plot")]
    calibration: Option<PathBuf>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let profile = self.profile.as_deref().map(|name| catalogue().profile(name)).transpose()?;
        let profile = profile.as_deref();
        let extension = self.file.extension().unwrap_or_default();
        let is_capture = extension == "pcap" || extension == "pcapng";
        if extension == "bin" || !is_capture && profile.is_some_and(sends_streams) {
            return self.run_stream(profile);
        }
        self.run_capture()
    }

    /// Reports on the bytes of a serial line or a TCP connection.
    fn run_stream(&self, profile: Option<&Profile>) -> Result<(), CliError> {
        let wrong =
            |what: &dyn Display| CliError::Input(format!("error: {}: {what}", self.file.display()));
        let told = |error| match error {
            ReportError::Output(error) => CliError::failed("cannot write the report", &error),
            ReportError::Input(what) => wrong(&what),
        };
        let mut stream = RecordedStream::open(&self.file, profile).map_err(told)?;
        if self.plot.is_some() && !stream.has_scans() {
            let title = stream.title();
            let what = format!("error: there is nothing in {title} that `--plot` could draw");
            return Err(CliError::Input(what));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let report = stream.report(self.json, self.most_shown(), &mut out);
        match report.and_then(|()| Ok(out.flush()?)) {
            // Whoever read our output has seen enough.
            Err(ReportError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(());
            }
            outcome => outcome.map_err(told)?,
        }
        let Some(path) = &self.plot else { return Ok(()) };
        let number = self.rotation;
        let scan = stream.scan(number).map_err(told)?;
        let scan =
            scan.map_err(|count| wrong(&format!("there is no scan {number}: it has {count}")))?;
        let name = self.file.display().to_string();
        let figure = scan_plot::draw(&name, stream.title(), number, &scan);
        write_plot(&figure, path, &format!("scan {number}"))
    }

    /// How many packets or frames are printed: none beside a plot, unless asked for.
    fn most_shown(&self) -> u64 {
        let default = if self.plot.is_some() && !self.json { 0 } else { u64::MAX };
        self.packets.unwrap_or(default)
    }

    /// Reports on a capture of network traffic.
    fn run_capture(&self) -> Result<(), CliError> {
        let hints = Hints::load(self)?;
        let options = Options {
            name: self.file.display().to_string(),
            json: self.json,
            packets: self.most_shown(),
            unit: hints.unit,
        };
        let source = Source::File(&self.file);
        let mut out = BufWriter::new(io::stdout().lock());
        let inspected = inspect(source, &options, &mut out).and_then(|outcome| {
            out.flush()?;
            Ok(outcome)
        });
        let outcome = match inspected {
            // Whoever read our output has seen enough.
            Err(InspectError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(());
            }
            other => other,
        };
        let inspected = outcome.map_err(|error| match error {
            InspectError::Output(error) => CliError::failed("cannot write the report", &error),
            InspectError::Capture(error) => {
                CliError::Input(format!("error: {}: {error}", self.file.display()))
            }
        })?;
        if let Some(path) = &self.plot {
            let drawn = plot::rotation(source, &inspected.analysis, &hints, self.rotation)
                .map_err(|error| {
                    CliError::Input(format!("error: {}: {error}", self.file.display()))
                })?;
            let figure = drawn.draw(&options.name);
            write_plot(&figure, path, &format!("rotation {}", self.rotation))?;
        }
        match inspected.fault {
            None => Ok(()),
            Some(fault) => Err(CliError::Input(format!("error: {}: {fault}", self.file.display()))),
        }
    }
}

/// What the user knows about the lidar.
#[derive(Clone, Debug, Default)]
struct Hints {
    /// Who sends data packets.
    unit: Option<Unit>,
    /// The unit's own calibration, from a file.
    calibration: Option<LaserTable>,
    /// The profile's calibration, for want of a better one.
    profile_calibration: Option<LaserTable>,
}

/// How to report.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the capture is called in the report.
    pub name: String,
    /// For machines instead of people.
    pub json: bool,
    /// At most this many packets are printed.
    pub packets: u64,
    unit: Option<Unit>,
}

impl Hints {
    fn load(cmd: &Cmd) -> Result<Self, CliError> {
        let calibration = match &cmd.calibration {
            Some(path) => Some(LaserTable::load(&path.display().to_string(), path)?),
            None => None,
        };
        let Some(name) = &cmd.profile else {
            return Ok(Self { calibration, ..Self::default() });
        };
        let profile = catalogue().profile(name)?;
        let Some(driver) = profile.data::<Hdl64eProfile>() else {
            return Ok(Self { calibration, ..Self::default() });
        };
        let generation = match driver.generation {
            Hdl64eGeneration::S1 => Generation::S1,
            Hdl64eGeneration::S2 => Generation::S2,
            Hdl64eGeneration::S3 => Generation::S3,
        };
        Ok(Self {
            unit: Some(Unit::Hdl64e(generation)),
            calibration,
            profile_calibration: Some(driver.defaults.calibration.clone()),
        })
    }
}

impl Options {
    /// For a capture called `name`: all packets, nothing known about the lidar.
    pub fn new(name: &str, json: bool) -> Self {
        Self { name: name.to_owned(), json, packets: u64::MAX, unit: None }
    }
}

/// Why a report was not finished.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The capture cannot be read at all.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The report cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// What a report was made from.
#[derive(Debug)]
pub struct Inspected {
    analysis: Analysis,
    /// Why the capture was not read to its end.
    pub fault: Option<CaptureError>,
}

/// Writes the report on a capture to `out`. Reads the capture twice: packets are told by what the
/// whole says.
pub fn inspect(
    source: Source<'_>,
    options: &Options,
    out: &mut dyn Write,
) -> Result<Inspected, InspectError> {
    let mut analysis = Analysis::new(options.unit);
    let mut reader = CaptureReader::open(source)?;
    let format = reader.format();
    let mut fault = None;
    while let Some(packet) = reader.next_frame() {
        match packet {
            Ok(packet) => analysis.see(&packet),
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    let fault_text = fault.as_ref().map(ToString::to_string);
    let summary = if options.json { json::summary } else { text::summary };
    if !options.json {
        summary(out, &options.name, format, &analysis, fault_text.as_deref())?;
    }
    print_packets(source, options, &analysis, out)?;
    if options.json {
        summary(out, &options.name, format, &analysis, fault_text.as_deref())?;
    }
    Ok(Inspected { analysis, fault })
}

fn print_packets(
    source: Source<'_>,
    options: &Options,
    analysis: &Analysis,
    out: &mut dyn Write,
) -> Result<(), InspectError> {
    let Some((first_unix_ns, _)) = analysis.span_unix_ns.filter(|_| options.packets > 0) else {
        return Ok(());
    };
    if !options.json {
        writeln!(out)?;
    }
    let packet = if options.json { json::packet } else { text::packet };
    let mut reader = CaptureReader::open(source)?;
    let count = options.packets.min(analysis.packets);
    for _ in 0..count {
        // The fault at the end was found before.
        let Some(Ok(captured)) = reader.next_frame() else { break };
        packet(out, analysis, &captured, first_unix_ns)?;
    }
    if !options.json && count < analysis.packets {
        writeln!(out, "… and {} more", analysis.packets - count)?;
    }
    Ok(())
}
