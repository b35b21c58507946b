//! The faults that only a camera can have.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, Timed};
use crate::config::toml::reader::{Limit, TableReader};
use crate::time::SimTime;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraFault {
    /// Frames are lost within the camera, each with this probability.
    FramesDropped {
        /// For each frame.
        probability: f64,
    },
    /// The exposure swings about its set value.
    ExposureHunts {
        /// Greatest exposure by that set, and that set by the least.
        factor: f64,
        /// Time of a swing, seconds.
        swing_s: f64,
    },
    /// The camera does not notice commands as signs of life of its host.
    HeartbeatLost,
}

/// The faults of a camera.
pub const FAULTS: [DeviceFaultKind; 3] = [
    DeviceFaultKind { word: "frames-dropped", read: frames_dropped },
    DeviceFaultKind { word: "exposure-hunts", read: exposure_hunts },
    DeviceFaultKind {
        word: "heartbeat-lost",
        read: |_, _| Some(Arc::new(CameraFault::HeartbeatLost)),
    },
];

fn frames_dropped(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let share = Limit::new(0.0..=1.0, "", "a probability");
    let probability = table.required("probability").number(&share)?;
    Some(Arc::new(CameraFault::FramesDropped { probability }))
}

fn exposure_hunts(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let factor = table.optional("factor").number_or(&Limit::new(1.0..=100.0, "", FORMAT), 4.0);
    let swing_s = table.optional("swing_s").number_or(&Limit::new(0.01..=3600.0, "s", FORMAT), 1.0);
    Some(Arc::new(CameraFault::ExposureHunts { factor, swing_s }))
}

/// Those that are on at `at`, with their window.
pub(super) fn on(
    faults: &[Timed<CameraFault>],
    at: SimTime,
) -> impl Iterator<Item = (&Timed<CameraFault>, u64)> {
    faults.iter().filter_map(move |fault| Some((fault, fault.schedule.window_at(at)?)))
}

/// By how much the exposure of a frame that starts at `at` differs from that set.
pub(super) fn exposure_factor(faults: &[Timed<CameraFault>], at: SimTime) -> f64 {
    on(faults, at)
        .filter_map(|(fault, window)| match fault.kind {
            CameraFault::ExposureHunts { factor, swing_s } => {
                let since_s = (at.0 - fault.schedule.window(window).0.0) as f64 / 1e9;
                Some(libm::pow(factor, libm::sin(TAU * since_s / swing_s)))
            }
            _ => None,
        })
        .product()
}
