//! The `[[fault]]` tables of a camera's optics, pixels, exposure and electronics. `sensors::camera::faults` has their
//! effects on the picture.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, PROBABILITY, TRANSMISSION};
use crate::config::toml::reader::{Limit, TableReader};
use crate::ptp::faults::PTP_LOST;
use crate::sensors::camera::faults::CameraFault;

/// Fault kinds of a camera.
pub(super) const KINDS: [DeviceFaultKind; 9] = [
    DeviceFaultKind { word: "stuck-pixels", read: stuck_pixels },
    DeviceFaultKind { word: "lens-dirt", read: dirt },
    DeviceFaultKind { word: "lens-drops", read: drops },
    DeviceFaultKind { word: "lens-flare", read: flare },
    DeviceFaultKind { word: "defocus", read: defocus },
    DeviceFaultKind { word: "exposure-hunts", read: hunting },
    DeviceFaultKind { word: "frames-dropped", read: frames_dropped },
    DeviceFaultKind {
        word: "heartbeat-lost",
        read: |_, _| Some(Arc::new(CameraFault::HeartbeatLost)),
    },
    PTP_LOST,
];

/// Largest number of spots on a lens.
const MOST_SPOTS: i128 = 200;

fn share() -> Limit<f64> {
    Limit::new(0.0..=1.0, "", FORMAT)
}

/// Width of the largest spot or drop, as a fraction of the image's width.
fn size(table: &mut TableReader<'_>, default: f64) -> f64 {
    let says = "Width of the largest spot or drop, as a share of the image's width.";
    let field = table.optional("size").meaning(says);
    field.number_or(&Limit::new(0.001..=1.0, "", FORMAT), default)
}

fn stuck_pixels(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let says = "Value of the stuck pixels as a share of full scale (default: half of them are dark \
        and half are at full scale).";
    let level = table.optional("brightness").meaning(says);
    let level = level.is_written().then(|| level.number(&share())).flatten();
    let says = "Share of all pixels that are stuck.";
    let share = table.required("share").meaning(says).number(&share())?;
    Some(Arc::new(CameraFault::StuckPixels { share, level }))
}

fn dirt(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let spots = table.optional("spots").meaning("Number of spots of dirt.");
    let size = size(table, 0.08);
    let spots = spots.integer_or(&Limit::new(1..=MOST_SPOTS, "", FORMAT), 12);
    let transmission = table.required("transmission").meaning(TRANSMISSION).number(&share())?;
    Some(Arc::new(CameraFault::Dirt { spots, size, transmission }))
}

fn drops(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let drops = table.optional("drops").meaning("Number of drops on the lens.");
    let size = size(table, 0.06);
    let drops = drops.integer_or(&Limit::new(1..=MOST_SPOTS, "", FORMAT), 12);
    Some(Arc::new(CameraFault::Drops { drops, size }))
}

fn flare(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let says = "Brightness of the flare; 1 scatters as much light as a human eye.";
    let strength = table.optional("strength").meaning(says);
    let strength = strength.number_or(&Limit::new(0.01..=100.0, "", FORMAT), 1.0);
    Some(Arc::new(CameraFault::Flare { strength }))
}

fn defocus(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let blur = Limit::new(1.0..=100.0, "pixels", FORMAT);
    let says = "Diameter of the blur disc of a point, in pixels of the sensor.";
    let blur_px = table.required("blur_px").meaning(says).number(&blur)?;
    Some(Arc::new(CameraFault::Defocus { blur_px }))
}

fn frames_dropped(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let probability = table.required("probability").meaning(PROBABILITY).number(&share())?;
    Some(Arc::new(CameraFault::FramesDropped { probability }))
}

fn hunting(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let says = "Largest change of the exposure time, in powers of two.";
    let swing = table.optional("swing_ev").meaning(says);
    let swing_ev = swing.number_or(&Limit::new(0.01..=8.0, "EV", FORMAT), 1.0);
    let cycle = Limit::new(0.01..=3600.0, "s", FORMAT);
    let says = "Time from one longest exposure to the next.";
    let cycle_s = table.optional("cycle_s").meaning(says).number_or(&cycle, 1.0);
    let cycle_ns = (cycle_s * 1e9).round() as u64;
    Some(Arc::new(CameraFault::ExposureHunts { swing_ev, cycle_ns }))
}
