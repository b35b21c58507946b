//! A fault that only a Livox can have: a code of its health management system (HMS).

use std::sync::Arc;

use super::unit_states::{Alert, on};
use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{ALERT_ID, ALERT_LEVEL, FORMAT, Timed};
use crate::config::toml::reader::{Limit, TableReader};
use crate::time::SimTime;
use crate::wire::livox::key::state;

/// Largest number of codes reported at a time.
const SLOTS: usize = 8;

words!(Level: "info" => Info, "warning" => Warning, "error" => Error, "fatal" => Fatal);

/// Severity of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Information; the unit continues.
    Info = 1,
    /// The unit continues.
    Warning = 2,
    /// The unit stops.
    Error = 3,
    /// The unit stops.
    Fatal = 4,
}

/// Fault that makes the unit report a diagnostic code of its health management system (HMS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hms {
    /// Number of the code, for example 0x0102: ambient temperature too high.
    pub id: u16,
    /// Severity.
    pub level: Level,
}

/// Fault kind `hms`: the unit reports a code of its health management system.
pub const HMS: DeviceFaultKind = DeviceFaultKind { word: "hms", read: hms };

fn hms(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let id = table.required("id").meaning(ALERT_ID);
    let id = id.integer(&Limit::new(1..=0xffff, "", "the format: 16 bits"));
    let level = table.required("level").meaning(ALERT_LEVEL).choice(&Level::WORDS, FORMAT);
    Some(Arc::new(Hms { id: id?, level: level? }))
}

impl Alert for Hms {
    const ERROR: u8 = state::ERROR;

    fn is_stop(&self) -> bool {
        self.level >= Level::Error
    }
}

/// Value of key 0x8011: up to eight active codes, four bytes each (severity, then id, 16 bits each); unused places are 0.
pub fn codes(faults: &[Timed<Hms>], at: SimTime) -> Vec<u8> {
    let mut codes: Vec<u32> =
        on(faults, at).map(|hms| u32::from(hms.id) << 16 | hms.level as u32).collect();
    codes.resize(SLOTS, 0);
    codes.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Value of key 0x800e: the worst severities of system, scan, ranging and communication, four bits each from bit 0 on: 0
/// none or information, 1 warning, 2 error, 3 fatal.
pub fn diagnosis(faults: &[Timed<Hms>], at: SimTime) -> u16 {
    on(faults, at).fold(0, |all, hms| {
        let part = match hms.id {
            0x0200..=0x02ff => 1,
            0x0300..=0x03ff => 2,
            0x0400..=0x04ff => 3,
            _ => 0,
        };
        let worst = (all >> (4 * part) & 0xf).max(hms.level as u16 - 1);
        all & !(0xf << (4 * part)) | worst << (4 * part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;
    use crate::livox::unit_states::is_stopped;

    #[test]
    fn codes_and_diagnosis_follow_the_faults() {
        let always = Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None };
        let fault = |id, level| Timed { fault: 0, schedule: always, kind: Hms { id, level } };
        let all = [fault(0x0102, Level::Warning), fault(0x0210, Level::Error)];
        let codes = codes(&all, SimTime(1));
        assert_eq!(codes[..8], [0x02, 0, 0x02, 0x01, 0x03, 0, 0x10, 0x02]);
        assert_eq!((codes.len(), diagnosis(&all, SimTime(1))), (32, 0x21));
        assert!(is_stopped(&all, SimTime(1)) && !is_stopped(&all[..1], SimTime(1)));
    }
}
