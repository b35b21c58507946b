//! A fault that only a Livox of SDK 1 can have: an abnormal part in its status.

use std::sync::Arc;

use super::super::unit_states::{Alert, on};
use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{ALERT_LEVEL, FORMAT, Timed};
use crate::config::toml::reader::TableReader;
use crate::time::SimTime;
use crate::wire::livox::first::command::state;
use crate::wire::livox::first::data::status;

words!(Part:
    "temperature" => Temperature, "voltage" => Voltage, "motor" => Motor, "window" => Window,
    "firmware" => Firmware, "end-of-life" => EndOfLife, "fan" => Fan);
words!(Level: "warning" => Warning, "error" => Error);

/// Part of the unit that is abnormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Temperature.
    Temperature,
    /// Supply voltage.
    Voltage,
    /// Motor.
    Motor,
    /// The window is dirty or covered.
    Window,
    /// Firmware.
    Firmware,
    /// End of service life.
    EndOfLife,
    /// Fan.
    Fan,
}

impl Part {
    /// Position of the part's lowest bit in the status word.
    fn shift(self) -> u32 {
        match self {
            Self::Temperature => status::TEMPERATURE,
            Self::Voltage => status::VOLTAGE,
            Self::Motor => status::MOTOR,
            Self::Window => status::DIRTY,
            Self::Firmware => status::FIRMWARE,
            Self::EndOfLife => status::END_OF_LIFE,
            Self::Fan => status::FAN,
        }
    }

    /// Severities that the status can report for the part.
    fn levels(self) -> &'static [(&'static str, Level)] {
        match self {
            Self::Temperature | Self::Voltage | Self::Motor => &Level::WORDS,
            Self::Window | Self::EndOfLife | Self::Fan => &[("warning", Level::Warning)],
            Self::Firmware => &[("error", Level::Error)],
        }
    }
}

/// Severity of an abnormal part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The unit continues.
    Warning = 1,
    /// The unit stops.
    Error = 2,
}

/// An abnormal part that the unit reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abnormal {
    /// The abnormal part.
    pub part: Part,
    /// Severity.
    pub level: Level,
}

/// Fault kind `abnormal-status`.
pub const ABNORMAL: DeviceFaultKind = DeviceFaultKind { word: "abnormal-status", read: abnormal };

fn abnormal(table: &mut TableReader<'_>, _: Option<&Profile>) -> Option<Arc<dyn FamilyData>> {
    let part = table.required("part").meaning("The part that a Livox reports as abnormal.");
    let part = part.choice(&Part::WORDS, FORMAT);
    let levels = part.map_or(&Level::WORDS[..], Part::levels);
    let level = table.required("level").meaning(ALERT_LEVEL);
    let level = level.choice(levels, "the status: bits of this part");
    Some(Arc::new(Abnormal { part: part?, level: level? }))
}

impl Alert for Abnormal {
    const ERROR: u8 = state::ERROR;

    fn is_stop(&self) -> bool {
        self.level == Level::Error
    }
}

/// Status word of the faults that are active at `at`; its system bits have the worst severity of all.
pub fn bits(faults: &[Timed<Abnormal>], at: SimTime) -> u32 {
    let worst = |bits: u32, shift: u32, level: u32| {
        let before = bits >> shift & 3;
        bits & !(3 << shift) | before.max(level) << shift
    };
    on(faults, at).fold(0, |bits, Abnormal { part, level }| {
        let bits = match part {
            Part::Temperature | Part::Voltage | Part::Motor => {
                worst(bits, part.shift(), *level as u32)
            }
            Part::Window | Part::Firmware | Part::EndOfLife | Part::Fan => bits | 1 << part.shift(),
        };
        worst(bits, status::SYSTEM, *level as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;
    use crate::livox::unit_states::is_stopped;

    #[test]
    fn the_status_follows_the_faults() {
        let always = Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None };
        let fault =
            |part, level| Timed { fault: 0, schedule: always, kind: Abnormal { part, level } };
        let all = [
            fault(Part::Temperature, Level::Warning),
            fault(Part::Fan, Level::Warning),
            fault(Part::Motor, Level::Error),
            fault(Part::Motor, Level::Warning),
        ];
        let at = SimTime(1);
        assert_eq!(bits(&all[..2], at), 0x4000_0801);
        assert_eq!(bits(&all, at), 0x8000_0821);
        assert!(is_stopped(&all, at) && !is_stopped(&all[..2], at));
        assert_eq!(bits(&[fault(Part::Firmware, Level::Error)], at), 0x8000_0100);
    }
}
