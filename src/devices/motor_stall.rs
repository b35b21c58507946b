//! The fault that a lidar's rotor or mirror is held.

use std::sync::Arc;

use crate::config::profile::DeviceFaultKind;
use crate::config::profile::FamilyData;
use crate::config::profile::Profile;
use crate::config::rig::faults::FORMAT;
use crate::config::toml::reader::{Limit, TableReader};
use crate::time::SimTime;

/// A rotor or mirror is held, and let go when the window closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MotorStall {
    /// Time from full speed to rest, nanoseconds; as the motor itself slows down when left out.
    pub stops_within_ns: Option<u64>,
}

/// The last instant before `at`.
pub fn before(at: SimTime) -> SimTime {
    SimTime(at.0.saturating_sub(1))
}

/// `motor-stall`.
pub const MOTOR_STALL: DeviceFaultKind = DeviceFaultKind { word: "motor-stall", read };

fn read(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let longest = Limit::new(0.001..=3600.0, "s", FORMAT);
    let stops_within_s = table.optional("stops_within_s").number(&longest);
    let stops_within_ns = stops_within_s.map(|s| (s * 1e9).round() as u64);
    Some(Arc::new(MotorStall { stops_within_ns }))
}
