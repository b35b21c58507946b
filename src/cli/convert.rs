//! `menura convert`: writes a capture in another format.

use std::path::PathBuf;

use super::{CliError, all, console};
use crate::analysis::convert::{ConvertError, convert};
use crate::links::part_file::OutPath;

/// Arguments of `menura convert`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// The capture: pcap, pcapng, or a ROS 2 bag (.db3 or .mcap)
    from: PathBuf,
    /// Output file, .pcap, .mcap or .db3; an existing file is never overwritten
    to: OutPath,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let converted = convert(&self.from, &self.to).map_err(|error| {
            let text = match &error {
                ConvertError::Output { .. } => format!("error: {error}"),
                _ => format!("error: {}: {error}", self.from.display()),
            };
            CliError::Input(text)
        })?;
        converted.damage.warn(&self.from, None);
        let (from, to) = (self.from.display(), self.to.display());
        let count = converted.written;
        let printed = console::print(format!("{to}: {count} packets or messages of {from}\n"));
        let left_out: Vec<_> =
            converted.left_out.iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
        let whole = match left_out.is_empty() {
            true => Ok(()),
            false => {
                let left_out = left_out.join(", ");
                Err(CliError::Input(format!("error: {from}: not converted: {left_out}")))
            }
        };
        all([printed, whole])
    }
}
