//! A fault that only a Hesai can have: high temperature.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, Timed};
use crate::config::toml::reader::{Limit, TableReader};
use crate::time::SimTime;

/// Fault: the unit reports a high temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HighTemperature {
    /// Rise of the boards' temperatures, degrees Celsius.
    pub rise_c: f64,
}

/// Fault kind `high-temperature`.
pub const HIGH_TEMPERATURE: DeviceFaultKind =
    DeviceFaultKind { word: "high-temperature", read: high_temperature };

fn high_temperature(
    table: &mut TableReader<'_>,
    _: Option<&Profile>,
) -> Option<Arc<dyn FamilyData>> {
    let rise = Limit::new(0.0..=200.0, "degrees C", FORMAT);
    let says = "Rise of the boards' temperatures.";
    let rise_c = table.required("rise_c").meaning(says).number(&rise)?;
    Some(Arc::new(HighTemperature { rise_c }))
}

/// Rise of the boards' temperatures at `at`, degrees Celsius: the largest of all active faults; `None` without one.
pub fn rise_c(faults: &[Timed<HighTemperature>], at: SimTime) -> Option<f64> {
    let on = faults.iter().filter(|fault| fault.is_on(at));
    on.map(|fault| fault.kind.rise_c).reduce(f64::max)
}
