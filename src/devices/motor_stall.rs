//! Fault: the rotor or mirror of a lidar is stalled.

use std::sync::Arc;

use crate::config::profile::DeviceFaultKind;
use crate::config::profile::FamilyData;
use crate::config::profile::Profile;
use crate::config::rig::faults::{FORMAT, STOPS_WITHIN_S};
use crate::config::toml::reader::{Limit, TableReader};
use crate::time::SimTime;

/// Fault: the rotor or mirror is stalled, and released at the end of the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MotorStall {
    /// Time from full speed to rest, nanoseconds; `None`: the motor's own deceleration.
    pub stops_within_ns: Option<u64>,
}

/// One nanosecond before `at`; `at` itself if it is the start of the run.
pub fn before(at: SimTime) -> SimTime {
    SimTime(at.0.saturating_sub(1))
}

/// Fault kind `motor-stall`.
pub const MOTOR_STALL: DeviceFaultKind = DeviceFaultKind { word: "motor-stall", read };

fn read(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let longest = Limit::new(0.001..=3600.0, "s", FORMAT);
    let field = table.optional("stops_within_s").meaning(STOPS_WITHIN_S);
    let stops_within_s = field.number(&longest);
    let stops_within_ns = stops_within_s.map(|s| (s * 1e9).round() as u64);
    Some(Arc::new(MotorStall { stops_within_ns }))
}
