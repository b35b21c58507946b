//! `baud_rate` of a rig, for a unit whose serial line runs at some rates only.

use super::Profile;
use crate::toml::reader::{Limit, TableReader};

/// Reads the key into `baud_rate`, or leaves it unchanged. `of_unit` has the rates of the profile's `[line]`.
pub fn read(table: &mut TableReader<'_>, profile: &Profile, of_unit: &[u32], baud_rate: &mut u32) {
    let field = table.optional("baud_rate");
    field.defaults_to(*baud_rate);
    let any = Limit::new(1..=4_000_000, "baud", "UARTs");
    let listed: Vec<i128> = of_unit.iter().copied().map(i128::from).collect();
    let Some(rate) = field.integer_among::<u32>(&any, &listed) else { return };
    match field.place() {
        Some(place) if !of_unit.contains(&rate) => {
            let bauds: Vec<String> = of_unit.iter().map(u32::to_string).collect();
            let label = format!("allowed: {}", bauds.join(", "));
            let fault = place.fault(format!("the unit does not run at {rate} baud"), label);
            table.fault(fault.note(format!("limit from {}, [line]", profile.file)));
        }
        _ => *baud_rate = rate,
    }
}
