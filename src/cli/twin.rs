//! `menura twin`: compares the stream of an emulated unit with that of a real one.
//!
//! Rotation rate and return mode are taken from the real unit's capture. The emulated unit runs with them in a chosen
//! scene for the same time, at most ten seconds. Spacing, steps and headers must agree in any scene; the share of empty
//! points and the intensities also depend on the scene.

mod plot;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::out_file::write_plot;
use super::setup;
use super::{CliError, all, console};
use crate::analysis::capture::{CaptureError, CaptureReader, Source};
use crate::analysis::damage::Damage;
use crate::analysis::twin::{Figures, table};
use crate::config::rig::Rig;
use crate::devices::decoder::Hints;
use crate::devices::decoder::datagram::DatagramDecoder;
use crate::devices::families::{catalogue, family_of};
use crate::engine::hosts::NoHosts;
use crate::engine::record::{Framer, Stretch, render};
use crate::plot::PlotFile;
use crate::wire::ethernet::LinkType;

/// Longest duration of the emulated stream. The whole capture is compared with this stream, even if the capture is
/// longer.
const LONGEST: Duration = Duration::from_secs(10);

/// Arguments of `menura twin`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Capture of the real device: pcap, pcapng, or a ROS 2 bag with raw packets (.db3 or .mcap)
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,
    /// Profile of the emulated device
    #[arg(long, value_name = "NAME")]
    profile: String,
    /// Scene around the emulated device: a built-in scene or a file
    #[arg(long, value_name = "SCENE", default_value = "courtyard")]
    scene: String,
    /// Draw the distributions of both streams
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let profile = catalogue().profile(&self.profile)?;
        let hints = Hints { profile: Some(&profile), ..Hints::default() };
        let decoder = family_of(&profile).datagram_decoder(&hints, catalogue().profiles())?;
        let Some(decoder) = decoder else {
            let text = format!(
                "error: {}: captures of this product family cannot be compared",
                profile.name
            );
            return Err(CliError::Input(text));
        };
        let capture = self.capture.display();
        let (real, lost) = read(&self.capture, decoder.boxed_clone())?;
        let Some(span) = real.span_unix_ns else {
            let text = format!("error: {capture} has no data packets of this product's family");
            return Err(CliError::Input(text));
        };
        let twin = real
            .decoder
            .twin(&profile, real.rotation_rate_rpm())
            .map_err(|why| CliError::Input(format!("error: {capture} {why}")))?;
        let start = jiff::Timestamp::from_nanosecond(span.0).unwrap_or_default();
        let rig = format!(
            "start_utc = {start}\n[world]\nscene = {:?}\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"twin\"\nprofile = {:?}\n\
             mount = {{ translation_m = [0.0, 0.0, 1.5] }}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
             settings = {}\n",
            self.scene, self.profile, twin.settings,
        );
        let rig = Rig::parse("the twin's rig", &rig, Path::new(""), &[], catalogue())?;
        let duration = Duration::from_nanos((span.1 - span.0).unsigned_abs() as u64).min(LONGEST);
        let ours = emulate(&rig, duration, decoder)?;
        let file = self.capture.file_name().unwrap_or_default().to_string_lossy();
        let title = format!("{file}, and {} as Menura emulates it", profile.name);
        let draw = |file| write_plot(&plot::draw(&title, &real, &ours), file, "both streams");
        let drawn = self.plot.as_ref().map_or(Ok(()), draw);
        let text = format!("{title}, {}\n{}", twin.title, table(&real, &ours));
        let whole =
            lost.map_or(Ok(()), |lost| Err(CliError::Input(format!("error: {capture}: {lost}"))));
        all([drawn, console::print(text), whole])
    }
}

fn read(
    path: &Path,
    decoder: Box<dyn DatagramDecoder>,
) -> Result<(Figures, Option<CaptureError>), CliError> {
    let told = |error| CliError::Input(format!("error: {}: {error}", path.display()));
    let mut reader = CaptureReader::open(Source::File(path)).map_err(told)?;
    let mut figures = Figures::new(decoder);
    let mut damage = Damage::default();
    while let Some(frame) = reader.next_frame() {
        let frame = frame.map_err(told)?;
        if damage.datagram(&frame).is_some() {
            figures.see(frame.unix_ns, frame.link, frame.frame);
        }
    }
    damage.warn(path, reader.others_told());
    // A message about missing parts of the capture is printed with the figures.
    Ok((figures, reader.lost()))
}

fn emulate(
    rig: &Rig,
    duration: Duration,
    decoder: Box<dyn DatagramDecoder>,
) -> Result<Figures, CliError> {
    let world = setup::load_world(rig)?;
    let mut frames = Framer::new(&rig.devices[0].profile).expect("a device with datagrams");
    let mut frame = Vec::new();
    let mut figures = Figures::new(decoder);
    let never = AtomicBool::new(false);
    let stretch = Stretch { rig, world: &world, duration, start: rig.start_utc, stop: &never };
    render(stretch, &mut NoHosts, &mut |_| {}, |_, unix_ns, _, output| {
        frame.clear();
        let payload = output.bytes().unwrap_or_default();
        let Some(header) = frames.header(output) else { return Ok(()) };
        header.emit(payload, &mut frame).map_err(std::io::Error::other)?;
        figures.see(unix_ns, LinkType::ETHERNET, &frame);
        Ok(())
    })
    .map_err(|error: std::io::Error| CliError::failed("cannot emulate the unit", &error))?;
    Ok(figures)
}
