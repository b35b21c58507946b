//! The fault in which the scanner refuses telegrams.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::Timed;
use crate::config::toml::reader::TableReader;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::time::SimTime;

/// Each telegram of a host is answered by NAK without an effect, as after damaged telegrams, or while the
/// scanner has no room for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal;

/// `nak`.
pub const NAK: DeviceFaultKind = DeviceFaultKind { word: "nak", read };

fn read(_: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(Refusal))
}

/// Faults that refuse a telegram at `at`; empty without one.
pub fn refusals(faults: &[Timed<Refusal>], at: SimTime) -> Vec<FaultEffect> {
    let effect = |fault: &Timed<Refusal>| {
        let window = fault.schedule.window_at(at)?;
        Some(FaultEffect { fault: fault.fault, window, kind: EffectKind::Refused })
    };
    faults.iter().filter_map(effect).collect()
}
