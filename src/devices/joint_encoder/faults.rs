//! Faults of a joint and of its encoder.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, STOPS_WITHIN_S};
use crate::config::rig::joints::JointJam;
use crate::config::toml::reader::{Limit, TableReader};

/// Fault: the count keeps its value from the start of the fault, and no index mark is reported. Timestamps continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderStuck;

/// Fault kinds of a unit.
pub(super) const FAULTS: [DeviceFaultKind; 2] = [
    DeviceFaultKind { word: "joint-jam", read: jam },
    DeviceFaultKind { word: "joint-encoder-stuck", read: |_, _| Some(Arc::new(EncoderStuck)) },
];

fn jam(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let longest = Limit::new(0.001..=3600.0, "s", FORMAT);
    let field = table.optional("stops_within_s").meaning(STOPS_WITHIN_S);
    let stops_within_s = field.number_or(&longest, 0.05);
    Some(Arc::new(JointJam { stops_within_ns: (stops_within_s * 1e9).round() as u64 }))
}
