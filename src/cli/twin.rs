//! `menura twin`: how the stream of an emulated unit differs from a real one's.
//!
//! The real unit's capture says how fast it turned and which return it sent; the emulated unit then
//! does the same in a scene of choice, for as long. Spacing, steps and headers must agree whatever the
//! scene; the share of empty points and the intensities depend on it too.

mod plot;

use crate::devices::family::catalogue;
use crate::devices::velodyne::profile::VelodyneProfile;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::CliError;
use super::out_file::write_plot;
use super::setup;
use crate::analysis::capture::{CaptureReader, Source};
use crate::analysis::twin::figures::{Figures, Headers, Spread};
use crate::analysis::twin::position;
use crate::config::rig::Rig;
use crate::engine::record::{Framer, render};
use crate::plot::PlotFile;
use crate::wire::ethernet::LinkType;
use crate::wire::velodyne::ReturnMode;
use crate::wire::velodyne::position::PpsStatus;

/// A capture tells enough in this time.
const LONGEST: Duration = Duration::from_secs(10);

/// Arguments of `menura twin`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Capture of the real device, pcap or pcapng
    #[arg(value_name = "CAPTURE.pcap")]
    capture: PathBuf,
    /// Profile of the emulated device
    #[arg(long, value_name = "NAME")]
    profile: String,
    /// Scene around the emulated device: a built-in scene or a file
    #[arg(long, value_name = "SCENE", default_value = "courtyard")]
    scene: String,
    /// Draw both streams' distributions
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PlotFile>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let profile = catalogue().profile(&self.profile)?;
        let Some(driver) = profile.data::<VelodyneProfile>() else {
            let text = format!(
                "error: {} has no twin: captures of this family are not compared",
                profile.name
            );
            return Err(CliError::Input(text));
        };
        let real = read(&self.capture)?;
        let (Some(span), Some([mode, product])) = (real.span_unix_ns, real.factory_bytes) else {
            let name = self.capture.display();
            return Err(CliError::Input(format!("error: {name} has no Velodyne data packets")));
        };
        if product != driver.packet.product_id {
            let text = format!(
                "error: {} is of another product: byte 1205 is {product:#04x}, that of {} is {:#04x}",
                self.capture.display(),
                profile.name,
                driver.packet.product_id,
            );
            return Err(CliError::Input(text));
        }
        let step = f64::from(driver.rotation_rate_step_rpm);
        let rate_rpm = ((real.rotation_rate_rpm() / step).round() * step)
            .clamp(driver.min_rotation_rate_rpm.into(), driver.max_rotation_rate_rpm.into());
        let mode = match ReturnMode::from_byte(mode) {
            Some(ReturnMode::Last) => "last",
            Some(ReturnMode::Dual) => "dual",
            _ => "strongest",
        };
        // A capture does not hold the minutes that its clock took to be set.
        let pps = real.position.last.as_ref().and_then(|packet| packet.pps_status());
        let clock = if pps == Some(PpsStatus::Locked) { "utc" } else { "free-running" };
        let start = jiff::Timestamp::from_nanosecond(span.0).unwrap_or_default();
        let rig = format!(
            "start_utc = {start}\n[world]\nscene = {:?}\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"twin\"\nprofile = {:?}\n\
             mount = {{ translation_m = [0.0, 0.0, 1.5] }}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
             settings = {{ rotation_rate_rpm = {rate_rpm}, return_mode = {mode:?}, \
             clock = {{ reference = {clock:?} }} }}\n",
            self.scene, self.profile,
        );
        let rig = Rig::parse("the twin's rig", &rig, Path::new(""), &[], catalogue())?;
        let duration = Duration::from_nanos((span.1 - span.0).unsigned_abs() as u64).min(LONGEST);
        let ours = emulate(&rig, duration)?;
        let title = format!("{} beside {}", profile.name, self.capture.display());
        print(&format!("{title}, {rate_rpm} rpm, {mode}\n{}", table(&real, &ours)))?;
        if let Some(file) = &self.plot {
            write_plot(&plot::draw(&title, &real, &ours), file, "both streams")?;
        }
        Ok(())
    }
}

fn print(text: &str) -> Result<(), CliError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| CliError::failed("cannot print", &error)),
    }
}

fn read(path: &Path) -> Result<Figures, CliError> {
    let told = |error| CliError::Input(format!("error: {}: {error}", path.display()));
    let mut reader = CaptureReader::open(Source::File(path)).map_err(told)?;
    let mut figures = Figures::default();
    while let Some(frame) = reader.next_frame() {
        let frame = frame.map_err(told)?;
        figures.see(frame.unix_ns, frame.link, frame.frame);
    }
    Ok(figures)
}

fn emulate(rig: &Rig, duration: Duration) -> Result<Figures, CliError> {
    let world = setup::load_world(rig)?;
    let mut frames = Framer::new(&rig.devices[0].profile).expect("a device with datagrams");
    let mut frame = Vec::new();
    let mut figures = Figures::default();
    render(rig, &world, duration, &AtomicBool::new(false), &mut |_| {}, |_, unix_ns, _, output| {
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

/// One line a quantity.
fn table(real: &Figures, ours: &Figures) -> String {
    let mut text = format!("{:34} {:>14} {:>14} {:>12}\n", "", "real", "menura", "difference");
    let mut row = |name: &str, real: f64, ours: f64, unit: &str| {
        let name = format!("{name}{}{unit}", if unit.is_empty() { "" } else { ", " });
        let _ = writeln!(text, "{name:34} {real:14.3} {ours:14.3} {:+12.3}", ours - real);
    };
    let spread =
        |name: &str, unit: &str, row: &mut dyn FnMut(&str, f64, f64, &str), pair: [&Spread; 2]| {
            let [real, ours] = pair;
            row(&format!("{name}, mean"), real.mean(), ours.mean(), unit);
            row(&format!("{name}, deviation"), real.deviation(), ours.deviation(), unit);
            row(&format!("{name}, 1 %"), real.quantile(0.01), ours.quantile(0.01), unit);
            row(&format!("{name}, 99 %"), real.quantile(0.99), ours.quantile(0.99), unit);
        };
    row("data packets", real.packets as f64, ours.packets as f64, "");
    spread("device spacing", "us", &mut row, [&real.device_spacing_us, &ours.device_spacing_us]);
    spread("arrival spacing", "us", &mut row, [&real.arrival_spacing_us, &ours.arrival_spacing_us]);
    let steps = [&real.azimuth_step_centideg, &ours.azimuth_step_centideg];
    spread("azimuth step", "0.01 deg", &mut row, steps);
    row("position packets", real.position.packets as f64, ours.position.packets as f64, "");
    if real.position.packets > 1 {
        let [real_position, our_position] = [&real.position, &ours.position];
        let spacing = [&real_position.device_spacing_us, &our_position.device_spacing_us];
        spread("position device spacing", "us", &mut row, spacing);
        let spacing = [&real_position.arrival_spacing_us, &our_position.arrival_spacing_us];
        spread("position arrival spacing", "us", &mut row, spacing);
        // Between a data packet's first firing and its arrival lie its firings.
        let ahead = |figures: &Figures| {
            figures.delay_us.quantile(0.5) - figures.position.delay_us.quantile(0.5)
        };
        row("position delay less than data's", ahead(real), ahead(ours), "us");
    }
    row("points without return", 100.0 * real.empty_share(), 100.0 * ours.empty_share(), "%");
    let [seen, dark] = [0, 1].map(|kind| [&real.intensity[kind], &ours.intensity[kind]]);
    spread("their intensity", "", &mut row, dark);
    spread("intensity of returns", "", &mut row, seen);
    text + &headers(real, ours) + &position::table(&real.position, &ours.position)
}

fn headers(real: &Figures, ours: &Figures) -> String {
    let (Some(real_headers), Some(our_headers)) = (&real.headers, &ours.headers) else {
        return String::new();
    };
    let mac = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
    let rows = |figures: &Figures, headers: &Headers| {
        let [mode, product] = figures.factory_bytes.unwrap_or_default();
        [
            ("from", headers.source.clone()),
            ("to", headers.destination.clone()),
            ("MAC from", headers.macs.map(|macs| mac(macs.0)).unwrap_or_default()),
            ("MAC to", headers.macs.map(|macs| mac(macs.1)).unwrap_or_default()),
            ("TTL", headers.ttl.to_string()),
            ("don't fragment", format!("{:?}", headers.dont_fragment.unwrap_or_default())),
            ("identification", headers.identification.unwrap_or_default().to_string()),
            ("UDP checksum", if headers.has_checksum { "computed" } else { "zero" }.to_string()),
            ("factory bytes", format!("{mode:02x} {product:02x}")),
        ]
    };
    let mut text = String::new();
    for ((name, real), (_, ours)) in
        rows(real, real_headers).into_iter().zip(rows(ours, our_headers))
    {
        let verdict = if real == ours { "same" } else { "differs" };
        let _ = writeln!(text, "{name:16} {real:>22} {ours:>22}  {verdict}");
    }
    text
}
