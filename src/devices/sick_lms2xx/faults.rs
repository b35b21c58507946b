//! Fault: the scanner refuses telegrams.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::Timed;
use crate::config::toml::reader::TableReader;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::time::SimTime;

/// Fault: the scanner answers each telegram with NAK and does not execute it, as if the telegram were damaged or the
/// buffer full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal;

/// Fault kind `nak`.
pub const NAK: DeviceFaultKind = DeviceFaultKind { word: "nak", read };

fn read(_: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(Refusal))
}

/// Effects of refusals active at `at`; empty if telegrams are accepted.
pub fn refusals(faults: &[Timed<Refusal>], at: SimTime) -> Vec<FaultEffect> {
    let effect = |fault: &Timed<Refusal>| {
        let window = fault.schedule.window_at(at)?;
        Some(FaultEffect { fault: fault.fault, window, kind: EffectKind::Refused })
    };
    faults.iter().filter_map(effect).collect()
}
