//! The `[[fault]]` tables of a GNSS receiver.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::FORMAT;
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::gnss::faults::GnssFault;

/// The kinds of a [`GnssFault`].
pub const FAULTS: [DeviceFaultKind; 4] = [
    DeviceFaultKind { word: "gnss-outage", read: |_, _| Some(Arc::new(GnssFault::Outage)) },
    DeviceFaultKind { word: "gnss-jump", read: jump },
    DeviceFaultKind { word: "gnss-frozen", read: frozen },
    DeviceFaultKind {
        word: "gnss-week-rollover",
        read: |_, _| Some(Arc::new(GnssFault::WeekRollover)),
    },
];

fn jump(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let far = Limit::new(-100_000.0..=100_000.0, "m", FORMAT);
    let field = table.required("offset_m").such_as("[east, north, up]");
    let offset_enu_m = field.numbers(&far)?;
    Some(Arc::new(GnssFault::Jump { offset_enu_m }))
}

fn frozen(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let time_goes_on = table.optional("time_goes_on").boolean_or(true);
    Some(Arc::new(GnssFault::Frozen { time_goes_on }))
}
