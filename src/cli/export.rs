//! `menura export`: the points of a recording as a file for other programs.

use std::path::PathBuf;

use super::console::say;
use super::out_file::OutFile;
use super::{CliError, join};
use crate::analysis::truth::table::{Frame, PointTable};
use crate::analysis::truth::write::{CloudFormat, write_cloud};
use crate::links::part_file::OutPath;

/// Arguments of `menura export`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// A capture of a lidar (pcap, pcapng or a ROS 2 bag with raw packets), or the recorded bytes of a scanner (.bin)
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Format of the file
    #[arg(long, value_enum)]
    to: CloudFormat,
    /// Output file
    #[arg(long, value_name = "FILE")]
    out: OutPath,
    /// Ground truth of the same run: adds labels, objects and true ranges
    #[arg(long, value_name = "TRUTH.mcap")]
    truth: Option<PathBuf>,
    /// Frame of x, y and z
    #[arg(long, value_enum, default_value_t)]
    frame: Frame,
    /// Profile of the device [default: looked up in the ground truth by the recording's name,
    /// otherwise guessed]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.frame == Frame::World && self.truth.is_none() {
            let text = "error: --frame world requires --truth, which has the poses of the sensor";
            return Err(CliError::Input(text.into()));
        }
        let truth = self.truth.as_deref();
        let profile = join::named(self.profile.as_deref(), &self.recording, truth)?;
        let file = OutFile::create("points", &self.out)?;
        let collected = PointTable::collect(&self.recording, profile.as_deref(), truth, self.frame);
        let (table, counts) = collected.map_err(|error| join::wrong(&self.recording, error))?;
        file.write_with(|mut out| write_cloud(&table, self.to, &mut out))?;
        if truth.is_some() {
            join::tell(&counts);
        }
        say(format_args!("wrote {} points to {}", table.len, self.out.display()));
        join::whole(&self.recording, &counts)
    }
}
