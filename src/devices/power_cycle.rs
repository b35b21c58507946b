//! Fault: the device has no power, and restarts when the fault ends.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::Timed;
use crate::config::toml::reader::TableReader;
use crate::time::SimTime;

/// Fault: the device has no power while the fault is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCycle;

/// Fault kind `power-cycle`.
pub const POWER_CYCLE: DeviceFaultKind = DeviceFaultKind { word: "power-cycle", read };

fn read(_: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(PowerCycle))
}

/// Time of the next power cut at or after `from`: `from` itself if the power is cut at that time; `None` if no further
/// cut follows.
pub fn next_cut(cuts: &[Timed<PowerCycle>], from: SimTime) -> Option<SimTime> {
    let next = |cut: &Timed<PowerCycle>| match cut.is_on(from) {
        true => Some(from),
        false => cut.schedule.next_opening(from),
    };
    cuts.iter().filter_map(next).min()
}

/// End of the power cut that is active at `at`; the latest end if several are active. `None` if no cut is active at
/// `at`, or if an active one has no end.
pub fn back_at(cuts: &[Timed<PowerCycle>], at: SimTime) -> Option<SimTime> {
    let ends =
        cuts.iter().filter_map(|cut| Some(cut.schedule.window(cut.schedule.window_at(at)?).1));
    ends.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
}
