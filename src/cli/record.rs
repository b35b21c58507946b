//! `menura record`: the bytes of a run into files.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::out_paths::spare_with;
use super::rig_args::RigArgs;
use super::{CliError, all, console, ranks, setup};
use crate::config::rig::Rig;
use crate::engine::record::{Stretch, file_names, own_threads, record_by};
use crate::engine::workers::Casters;
use crate::links::part_file::{OutPath, part_of};
use crate::time::duration::parse_duration;

/// Arguments of `menura record`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// Simulated time to record: 10s, 1.5s, 500ms, 2min
    #[arg(long, value_parser = parse_duration)]
    duration: Duration,

    /// Folder for the files; it is created if necessary
    ///
    /// A file is called NAME.part until it is complete. A recording that is stopped keeps its data;
    /// one that fails leaves its .part files.
    ///
    /// A device that sends datagrams has <device>.pcap, with nanosecond timestamps and the
    /// product's own Ethernet, IP and UDP headers. Any other device has <device>.bin with
    /// <device>.idx.csv. truth.csv has the poses of the robot, truth-<object>.csv those of a moving
    /// object, and faults.csv the effects of each [[fault]]. Recordings have no host: a device that
    /// waits for one streams from power-on. `--host-log` replays the commands of a run.
    #[arg(long, value_name = "DIR")]
    out: OutPath,

    /// Overwrite a recording that the folder already contains
    #[arg(long)]
    force: bool,

    /// Also write the ground truth of every packet: truth.mcap
    ///
    /// Contains poses, error-free measurements of IMUs and antennas, faults, host commands, and the
    /// source of every return. docs/TRUTH.md describes the format.
    #[arg(long)]
    truth: bool,

    /// Replay the host commands of a run: the file of `menura run --host-log`
    ///
    /// The same rig with the same seed gives the bytes of that run again. Answers of a device with
    /// a TCP server are written to <device>-peer<connection>.bin.
    #[arg(long, value_name = "FILE")]
    host_log: Option<PathBuf>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        // In all ranks except rank 0, `join` does the work and then returns `None`.
        let Some(ranks) = ranks::join()? else { return Ok(()) };
        let mut rig = ranks.load(&self.rig)?;
        setup::refuse_feeds(&rig, "a recording")?;
        let hosts =
            self.host_log.as_ref().map(|path| setup::read_host_log(path, &rig)).transpose()?;
        if hosts.is_none() {
            // A recording without a host log has no host.
            setup::start_streams(&mut rig);
        }
        self.refuse_what_is_there(&rig)?;
        let mut world = setup::load_world(&ranks.for_own_rays(&rig))?;
        spare_with("--out", self.files(&rig))?;
        world.keeps_truth = self.truth;
        setup::warn_of_hidden_sky(&rig, &world);
        let stop = ranks.stop()?;
        ranks.gather(&rig, &world)?;
        let style = ProgressStyle::with_template(
            "recording {bar:40} {percent:>3}% {msg} of simulated time, {eta} left",
        )
        .expect("a constant template");
        let total_ms = self.duration.as_millis() as u64;
        let bar = ProgressBar::new(total_ms).with_style(style);
        let stretch = Stretch {
            rig: &rig,
            world: &world,
            duration: self.duration,
            start: rig.start_utc,
            stop: &stop,
        };
        let casters = ranks.workers().map_or_else(|| own_threads(&rig, &world), Casters::Elsewhere);
        let recording = record_by(casters, stretch, hosts.as_ref(), &self.out, |at| {
            bar.set_position(at.0 / 1_000_000);
            if !bar.is_hidden() {
                bar.set_message(format!("{:.2} s", at.as_secs_f64()));
            }
        });
        let recording = recording.map_err(|error| {
            let text = "the data written so far is in files whose names end with .part";
            CliError::Failed(format!("{error}; {text}"))
        })?;
        bar.finish_and_clear();
        if ranks.workers().is_some() {
            console::say(ranks.summary().trim_end());
        }
        let lines = recording.files.iter().map(|(path, count)| {
            let unit = match path.extension().and_then(|extension| extension.to_str()) {
                Some("csv") => "rows",
                Some("mcap") => "messages",
                _ => "packets",
            };
            format!("{}  {count} {unit}\n", path.display())
        });
        let printed = console::print(lines.collect::<String>());
        let whole = match recording.is_cut_short {
            true => Err(CliError::Failed(
                "stopped before the end; the files are shorter than requested".into(),
            )),
            false => Ok(()),
        };
        all([ranks.finish(), whole, printed])
    }

    /// The files that the command will write.
    fn files(&self, rig: &Rig) -> impl Iterator<Item = PathBuf> {
        file_names(rig, self.truth).into_iter().map(|name| self.out.join(name))
    }

    /// Returns an error if a recording, complete or not, would be replaced without `--force`.
    fn refuse_what_is_there(&self, rig: &Rig) -> Result<(), CliError> {
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let mut files = self.files(rig).flat_map(|path| [part_of(&path), path]);
        match files.find(is_there).filter(|_| !self.force) {
            None => Ok(()),
            Some(path) => Err(CliError::Input(format!(
                "error: `--out` already contains a recording: {}\n  help: name another folder, or \
                 add --force to replace its files",
                path.display()
            ))),
        }
    }
}
