//! `menura join`: labels each point of a recording with ground truth.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CliError;
use super::console::{LongResult, say};
use super::out_file::OutFile;
use crate::analysis::ReportError;
use crate::analysis::truth::file::{Names, profile_of};
use crate::analysis::truth::table::{
    Frame, JoinCounts, PointRow, PointTable, each_point, incidence_deg,
};
use crate::analysis::truth::write::{CloudFormat, write_cloud};
use crate::config::profile::Profile;
use crate::devices::families::catalogue;
use crate::links::part_file::OutPath;

/// Arguments of `menura join`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// A capture of a lidar (pcap, pcapng or a ROS 2 bag with raw packets), or the recorded bytes of a scanner (.bin)
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Ground truth of the same run: the file of `--truth`
    #[arg(value_name = "TRUTH.mcap")]
    truth: PathBuf,
    /// Profile of the device [default: looked up in the ground truth by the recording's name,
    /// otherwise guessed]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Write to this file: CSV, or NumPy arrays if its name ends with .npz [default: CSV on standard
    /// output]
    #[arg(long, value_name = "FILE.csv|npz")]
    out: Option<OutPath>,
}

/// Columns of the CSV table.
const COLUMNS: &str = "packet,time_s,laser,x_m,y_m,z_m,intensity,range_m,true_range_m,label,object,material,\
instance,incidence_deg,share,why,is_mirrored,world_x_m,world_y_m,world_z_m";

/// Words for the values of `sensors::truth::Why`, in the order of their numbers.
const WHY: [&str; 8] =
    ["nearest", "merged", "other-echo", "threshold", "noise", "weather", "fault", "nothing"];

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let profile = named(self.profile.as_deref(), &self.recording, Some(&self.truth))?;
        let profile = profile.as_deref();
        let counts = match &self.out {
            Some(path) if path.extension().is_some_and(|extension| extension == "npz") => {
                let file = OutFile::create("points", path)?;
                let truth = Some(self.truth.as_path());
                let collected = PointTable::collect(&self.recording, profile, truth, Frame::Sensor);
                let (table, counts) = collected.map_err(|error| wrong(&self.recording, error))?;
                file.write_with(|mut out| write_cloud(&table, CloudFormat::Npz, &mut out))?;
                counts
            }
            Some(path) => {
                let mut input = None;
                let mut counts = JoinCounts::default();
                let written = OutFile::create("points", path)?.write_with(|out| {
                    match self.write_csv(profile, out) {
                        Ok(joined) => counts = joined,
                        Err(JoinFailure::Output(error)) => return Err(error),
                        Err(JoinFailure::Input(error)) => {
                            input = Some(error);
                            return Err(std::io::ErrorKind::InvalidInput.into());
                        }
                    }
                    Ok(())
                });
                input.map_or(written, Err)?;
                counts
            }
            None => {
                let mut out = LongResult::new(false);
                let counts = self.write_csv(profile, &mut out);
                let printed = out.finish();
                match counts {
                    // The reader may have closed the pipe.
                    Err(JoinFailure::Output(_)) => return printed,
                    counts => counts?,
                }
            }
        };
        tell(&counts);
        whole(&self.recording, &counts)
    }

    fn write_csv(
        &self,
        profile: Option<&Profile>,
        out: &mut dyn Write,
    ) -> Result<JoinCounts, JoinFailure> {
        let mut failure = None;
        writeln!(out, "{COLUMNS}").map_err(JoinFailure::Output)?;
        let joined = each_point(&self.recording, profile, Some(&self.truth), &mut |row, names| {
            write_row(out, row, names).map_err(|error| {
                let text = error.to_string();
                failure = Some(error);
                text
            })
        });
        match failure {
            Some(error) => Err(JoinFailure::Output(error)),
            None => joined
                .map(|(counts, _)| counts)
                .map_err(|error| JoinFailure::Input(wrong(&self.recording, error))),
        }
    }
}

/// Reason why not all points were written.
enum JoinFailure {
    /// The output cannot be written.
    Output(std::io::Error),
    /// The input cannot be read.
    Input(CliError),
}

impl From<JoinFailure> for CliError {
    fn from(failure: JoinFailure) -> Self {
        match failure {
            JoinFailure::Output(error) => Self::failed("cannot write the points", &error),
            JoinFailure::Input(error) => error,
        }
    }
}

fn write_row(out: &mut dyn Write, row: &PointRow, names: &Names) -> std::io::Result<()> {
    let PointRow { packet, time_s, point, truth } = row;
    let [x, y, z] = point.position_m.to_array();
    let intensity = match point.intensity.is_nan() {
        true => String::new(),
        false => format!("{:.1}", point.intensity),
    };
    let (laser, range_m) = (point.laser, point.range_m);
    write!(out, "{packet},{time_s:.9},{laser},{x:.4},{y:.4},{z:.4},{intensity},{range_m:.4}")?;
    let Some(truth) = truth else { return writeln!(out, ",,,,,,,,,,,,") };
    let seen = &truth.seen;
    let of = names.of(seen);
    let instance = match seen.instance {
        u32::MAX => String::new(),
        instance => instance.to_string(),
    };
    let share = f64::from(seen.share) / 65_535.0;
    let why = WHY.get(usize::from(seen.why)).copied().unwrap_or_default();
    let world = truth.in_world(point.position_m);
    writeln!(
        out,
        ",{:.4},{},{},{},{instance},{:.2},{share:.3},{why},{},{:.4},{:.4},{:.4}",
        seen.true_m,
        quoted(of.label),
        quoted(of.object),
        quoted(of.material),
        incidence_deg(truth),
        u8::from(truth.is_mirrored()),
        world.x,
        world.y,
        world.z,
    )
}

/// Quotes a CSV cell if necessary.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The profile called `name`. Without a name, the embedded profile that the ground truth names for the recording, if
/// any.
pub fn named(
    name: Option<&str>,
    recording: &Path,
    truth: Option<&Path>,
) -> Result<Option<Arc<Profile>>, CliError> {
    if name.is_some() {
        return Ok(name.map(|name| catalogue().profile(name)).transpose()?);
    }
    let Some(truth) = truth else { return Ok(None) };
    let found = profile_of(recording, truth)
        .map_err(|error| CliError::Input(format!("error: {}: {error}", truth.display())))?;
    Ok(found.and_then(|name| catalogue().profile(&name).ok()))
}

/// Error for a recording that cannot be labelled.
pub fn wrong(recording: &Path, error: ReportError) -> CliError {
    CliError::Input(format!("error: {}: {error}", recording.display()))
}

/// Returns an error if a part of a recording was not usable. Call this after all usable points were processed.
pub fn whole(recording: &Path, counts: &JoinCounts) -> Result<(), CliError> {
    let lost = |lost: &String| Err(wrong(recording, ReportError::Input(lost.clone())));
    counts.lost.as_ref().map_or(Ok(()), lost)
}

/// Prints the numbers of points and packets, and how many of them have no ground truth.
pub fn tell(counts: &JoinCounts) {
    let JoinCounts { packets, unknown_packets, points, unknown_points, .. } = counts;
    say(format_args!(
        "{points} points of {packets} packets; {unknown_points} points have no ground truth, \
         {unknown_packets} packets are not in the ground truth"
    ));
}
