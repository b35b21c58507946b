//! The `[[fault]]` tables of a GNSS receiver.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::FORMAT;
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::gnss::faults::GnssFault;

/// Kinds of `[[fault]]` tables of a GNSS receiver; each table is read into a [`GnssFault`].
pub const FAULTS: [DeviceFaultKind; 8] = [
    DeviceFaultKind { word: "gnss-outage", read: |_, _| Some(Arc::new(GnssFault::Outage)) },
    DeviceFaultKind { word: "gnss-jump", read: jump },
    DeviceFaultKind { word: "gnss-frozen", read: frozen },
    DeviceFaultKind {
        word: "gnss-week-rollover",
        read: |_, _| Some(Arc::new(GnssFault::WeekRollover)),
    },
    DeviceFaultKind {
        word: "gnss-corrections-lost",
        read: |_, _| Some(Arc::new(GnssFault::CorrectionsLost)),
    },
    DeviceFaultKind {
        word: "gnss-corrections-damaged",
        read: |_, _| Some(Arc::new(GnssFault::CorrectionsDamaged)),
    },
    DeviceFaultKind { word: "gnss-corrections-late", read: late },
    DeviceFaultKind { word: "gnss-wrong-base", read: wrong_base },
];

fn offset_m(table: &mut TableReader<'_>) -> Option<[f64; 3]> {
    let far = Limit::new(-100_000.0..=100_000.0, "m", FORMAT);
    let says =
        "Error of every position, or of the base station's reported position: east, north and up.";
    table.required("offset_m").meaning(says).such_as("[east, north, up]").numbers(&far)
}

fn late(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let seconds = Limit::new(0.001..=600.0, "s", FORMAT);
    let delay = table.required("delay_s").meaning("Delay of the RTCM messages.");
    let delay_s: f64 = delay.number(&seconds)?;
    Some(Arc::new(GnssFault::CorrectionsLate { by_ns: (delay_s * 1e9).round() as u64 }))
}

fn wrong_base(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(GnssFault::WrongBase { offset_enu_m: offset_m(table)? }))
}

fn jump(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    Some(Arc::new(GnssFault::Jump { offset_enu_m: offset_m(table)? }))
}

fn frozen(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let says = "Whether the frozen fix is sent with the current time.";
    let time_goes_on = table.optional("time_goes_on").meaning(says).boolean_or(true);
    Some(Arc::new(GnssFault::Frozen { time_goes_on }))
}
