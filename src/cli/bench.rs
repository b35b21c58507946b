//! `menura bench`: measures the speed of a rig on this machine, as a multiple of real time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::rig_args::RigArgs;
use super::stop::stop_on_signal;
use super::{CliError, console, setup};
use crate::config::rig::Rig;
use crate::devices::families::is_camera;
use crate::engine::bench::{BenchFigures, Limit, Stages, bench};
use crate::time::duration::parse_duration;

/// Arguments of `menura bench`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    #[command(flatten)]
    rig: RigArgs,

    /// Simulated time to render: 500ms, 1s, 10s
    #[arg(long, value_parser = parse_duration, default_value = "1s")]
    duration: Duration,

    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let mut rig = self.rig.load()?;
        // A device that waits for a host sends nothing, so its cost would be missing. Here all devices stream.
        setup::start_streams(&mut rig);
        setup::refuse_feeds(&rig, "an estimate")?;
        if self.duration.is_zero() {
            return Err(CliError::Input("error: --duration must be more than 0".into()));
        }
        let world = setup::load_world(&rig)?;
        let stop = stop_on_signal()?;
        let style = ProgressStyle::with_template("measuring {bar:40} {percent:>3}%, {eta} left")
            .expect("a constant template");
        let bar = ProgressBar::new(self.duration.as_millis() as u64).with_style(style);
        let figures = bench(&rig, world, self.duration, &stop, |at| {
            bar.set_position(at.0 / 1_000_000);
        });
        bar.finish_and_clear();
        let figures =
            figures.map_err(|error| CliError::failed("cannot measure the sending", &error))?;
        if stop.load(Ordering::Relaxed) {
            return Err(CliError::Failed("stopped before the end; there are no results".into()));
        }
        if self.json {
            let text = serde_json::to_string_pretty(&figures)
                .map_err(|error| CliError::failed("cannot write the figures", &error))?;
            return console::print(format_args!("{text}\n"));
        }
        console::print(page(&rig, &figures))
    }
}

/// One line about the speed of a rig on this machine.
pub fn estimate(figures: &BenchFigures) -> String {
    let (processors, workers) = (figures.processors, figures.workers);
    match figures.real_time_factor {
        None => "no load: all devices send only on request".to_owned(),
        Some(factor) => format!(
            "{factor:.2} times real time on this machine ({processors} processors, {workers} workers; rays are \
             cast by: {})",
            figures.caster
        ),
    }
}

fn page(rig: &Rig, figures: &BenchFigures) -> String {
    let mut text = format!("{}: {}\n", rig.name, estimate(figures));
    if figures.real_time_factor.is_some() {
        let limit = match figures.limit {
            Limit::Workers => "the workers that cast rays",
            Limit::Packing => "the thread that encodes packets",
            Limit::Sending => "the thread that sends",
            Limit::Gpu => "the GPU",
            Limit::Processors => "the machine's processors",
        };
        let headroom = 100.0 * figures.headroom;
        text += &match headroom >= 0.0 {
            true => format!("in real time, {headroom:.0} % of the capacity of {limit} is free\n"),
            false => {
                format!("{limit} would have to be {:.2} times as fast\n", 1.0 - figures.headroom)
            }
        };
    }
    if figures.workers_factor > 0.0 {
        let (factor, workers) = (figures.workers_factor, figures.workers);
        text += &format!(
            "{workers} workers render {factor:.2} times real time (as in `menura run`; without \
             encoding and sending)\n"
        );
    }
    let width = figures.devices.iter().map(|device| device.name.len()).max().unwrap_or(0).max(6);
    text += &format!(
        "\n{:<width$}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  {:>10}\n",
        "device", "share", "cast", "physics", "packing", "sending", "packets/s"
    );
    let row = |name: &str, share: f64, stages: &Stages, packets: f64| {
        let Stages { cast_s, physics_s, packing_s, sending_s } = stages;
        format!(
            "{name:<width$}  {:>5.1} %  {cast_s:>8.4}  {physics_s:>8.4}  {packing_s:>8.4}  \
             {sending_s:>8.4}  {packets:>10.0}\n",
            100.0 * share
        )
    };
    for device in &figures.devices {
        text += &row(&device.name, device.share, &device.stages, device.packets_per_s);
    }
    let (all, packets) = (figures.devices.iter().map(|d| d.share).sum(), &figures.devices);
    let packets = packets.iter().map(|device| device.packets_per_s).sum();
    text += &row("all", all, &figures.stages, packets);
    text += "\nprocessor seconds per simulated second\n";
    if figures.moving_s >= 0.00005 {
        let moving_s = figures.moving_s;
        text +=
            &format!("moving the robot takes {moving_s:.4} on the thread that encodes packets\n");
    }
    for device in figures.devices.iter().filter(|device| device.packets_per_s == 0.0) {
        text += &format!(
            "{}: not measured, because it sends only on request and a benchmark has no hosts\n",
            device.name
        );
    }
    for advice in advice(rig, figures) {
        text += &format!("{advice}\n");
    }
    text
}

/// Advice for a rig that is too slow, the most effective first; empty for other rigs.
fn advice(rig: &Rig, figures: &BenchFigures) -> Vec<String> {
    let most = figures.devices.iter().max_by(|one, other| one.share.total_cmp(&other.share));
    let Some(most) = most.filter(|_| figures.headroom < 0.0) else { return Vec::new() };
    let Stages { cast_s, physics_s, packing_s, sending_s } = most.stages;
    let name = &most.name;
    let what = format!("to reduce the load: {name} takes {:.0} %", 100.0 * most.share);
    let sends_images = rig.devices.iter().any(|device| device.name == *name && is_camera(device));
    let settings = format!("device.{name}.settings");
    let mut all = if cast_s + physics_s > packing_s + sending_s {
        let fewer_rays = if sends_images {
            let size = "image_width, image_height or binning";
            format!("smaller images ({size} in {settings}) need fewer rays")
        } else {
            let ray = format!("--set {settings}.beam.shape=ray");
            format!("one ray a pulse instead of nine ({ray}) casts a ninth of the rays")
        };
        vec![
            format!("{what}; {fewer_rays}"),
            "fewer blades of grass, triangles of trees, or panes and water in the scene".to_owned(),
        ]
    } else {
        let fewer_packets = match sends_images {
            true => "a lower frame rate, or smaller images",
            false => "a lower rate, or one return instead of two",
        };
        vec![format!("{what}, most of it for its packets; use {fewer_packets}")]
    };
    if figures.limit == Limit::Workers && figures.workers < figures.processors {
        let (workers, processors) = (figures.workers, figures.processors);
        all.insert(
            0,
            format!(
                "raise engine.workers: it is {workers}, and this machine has {processors} \
                 processors"
            ),
        );
    }
    all.push(
        "docs/RIG.md has more advice, and explains `engine.late` for rigs that stay too slow"
            .to_owned(),
    );
    all
}
