//! Faults inside a drive base.

use std::sync::Arc;

use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{FORMAT, Timed};
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::time::SimTime;

/// A fault inside a drive base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseFault {
    /// A counter does not change while its wheel turns.
    EncoderStuck(Sides),
    /// A counter counts in the wrong direction.
    EncoderReversed(Sides),
    /// Each counter counts the other side's wheel.
    EncodersSwapped,
    /// A counter jumps by a number of counts.
    CounterJump {
        /// The affected sides.
        sides: Sides,
        /// Counts that are added to the counter; negative counts are subtracted.
        counts: i32,
    },
    /// The motor power is cut.
    EmergencyStop,
    /// The main battery is nearly empty.
    LowBattery {
        /// Voltage of the battery, volts.
        battery_v: f64,
        /// Charge of the battery, percent.
        charge_percent: f64,
    },
    /// The unit has no power, and restarts when the fault ends.
    PowerCycle,
    /// All messages of the base are delayed.
    LateReplies {
        /// Delay of each message, nanoseconds.
        by_ns: u64,
    },
}

/// The sides of a robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The left side.
    Left,
    /// The right side.
    Right,
    /// Both sides.
    Both,
}

words!(Sides: "left" => Left, "right" => Right, "both" => Both);

impl Sides {
    /// Whether `side` (0: left, 1: right) is one of these sides.
    fn has(self, side: usize) -> bool {
        match self {
            Self::Left => side == 0,
            Self::Right => side == 1,
            Self::Both => true,
        }
    }
}

/// Fault kinds of bases with encoders.
pub const FAULTS: [DeviceFaultKind; 8] = [
    DeviceFaultKind { word: "encoder-stuck", read: stuck },
    DeviceFaultKind { word: "encoder-reversed", read: reversed },
    DeviceFaultKind {
        word: "encoders-swapped",
        read: |_, _| Some(Arc::new(BaseFault::EncodersSwapped)),
    },
    DeviceFaultKind { word: "counter-jump", read: jump },
    DeviceFaultKind { word: "low-battery", read: low_battery },
    DeviceFaultKind { word: "late-replies", read: late_replies },
    EMERGENCY_STOP,
    POWER_CYCLE,
];

/// Fault kinds of a motor driver that never sends anything.
pub const FAULTS_OF_MUTE: [DeviceFaultKind; 2] = [EMERGENCY_STOP, POWER_CYCLE];

const EMERGENCY_STOP: DeviceFaultKind = DeviceFaultKind {
    word: "emergency-stop",
    read: |_, _| Some(Arc::new(BaseFault::EmergencyStop)),
};
const POWER_CYCLE: DeviceFaultKind =
    DeviceFaultKind { word: "power-cycle", read: |_, _| Some(Arc::new(BaseFault::PowerCycle)) };

type Read = Option<Arc<dyn FamilyData>>;

fn sides(table: &mut TableReader<'_>) -> Sides {
    let side = table.optional("side").meaning("Side whose counter is affected.");
    side.choice_or(&Sides::WORDS, FORMAT, Sides::Both)
}

fn stuck(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    Some(Arc::new(BaseFault::EncoderStuck(sides(table))))
}

fn reversed(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    Some(Arc::new(BaseFault::EncoderReversed(sides(table))))
}

fn jump(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let sides = sides(table);
    let far = Limit::new(-1_000_000_000..=1_000_000_000, "counts", FORMAT);
    let says = "Counts by which a counter jumps.";
    let counts = table.required("counts").meaning(says).integer(&far)?;
    Some(Arc::new(BaseFault::CounterJump { sides, counts }))
}

fn low_battery(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let says = "Voltage of a battery that is nearly empty.";
    let battery = table.required("battery_v").meaning(says);
    let battery_v = battery.number(&Limit::new(0.0..=320.0, "V", FORMAT));
    let says = "Charge of a battery that is nearly empty.";
    let charge = table.optional("charge_percent").meaning(says);
    let charge_percent = charge.number_or(&Limit::new(0.0..=100.0, "%", FORMAT), 5.0);
    Some(Arc::new(BaseFault::LowBattery { battery_v: battery_v?, charge_percent }))
}

fn late_replies(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let late = Limit::new(0.001..=10_000.0, "ms", FORMAT);
    let says = "Delay of each datagram, telegram or byte.";
    let delay_ms = table.required("delay_ms").meaning(says).number(&late)?;
    Some(Arc::new(BaseFault::LateReplies { by_ns: (delay_ms * 1e6).round() as u64 }))
}

/// Assignment of a counter to a wheel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Index of the wheel: 0 left, 1 right.
    pub wheel: usize,
    /// Factor of the count: 1, -1 (wrong direction) or 0 (stuck).
    pub sign: f64,
}

/// Combined effect of all faults of a base at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Whether the base has power.
    pub is_powered: bool,
    /// Whether the motor power is cut.
    pub is_stopped: bool,
    /// Voltage (V) and charge (percent) of a nearly empty battery; `None` without this fault.
    pub low_battery: Option<(f64, f64)>,
    /// Delay of all messages of the base, nanoseconds.
    pub late_ns: u64,
    /// Routes of the left and the right counter.
    pub routes: [Route; 2],
    /// Jumps of the left and the right counter since the last call of [`condition`], counts.
    pub jumps: [i64; 2],
    /// Effects of the faults that are active at this instant.
    pub effects: Vec<FaultEffect>,
}

impl Default for Condition {
    fn default() -> Self {
        Self {
            is_powered: true,
            is_stopped: false,
            low_battery: None,
            late_ns: 0,
            routes: [0, 1].map(|wheel| Route { wheel, sign: 1.0 }),
            jumps: [0; 2],
            effects: Vec::new(),
        }
    }
}

/// Combined effect of `faults` at `at`. Counter jumps since `since`, the time of the previous call, are included;
/// `since` is `None` on the first call.
pub fn condition(faults: &[Timed<BaseFault>], since: Option<SimTime>, at: SimTime) -> Condition {
    let mut all = Condition::default();
    for fault in faults {
        if let BaseFault::CounterJump { sides, counts } = fault.kind {
            let from = since.map_or(SimTime::ZERO, |since| SimTime(since.0 + 1));
            let opening = fault.schedule.next_opening(from).filter(|opens| *opens <= at);
            for side in (0..2).filter(|side| opening.is_some() && sides.has(*side)) {
                all.jumps[side] += i64::from(counts);
            }
        }
        let Some(window) = fault.schedule.window_at(at) else { continue };
        let kind = match fault.kind {
            BaseFault::EncoderStuck(sides) => {
                (0..2).filter(|s| sides.has(*s)).for_each(|s| all.routes[s].sign = 0.0);
                EffectKind::EncoderStuck
            }
            BaseFault::EncoderReversed(sides) => {
                (0..2).filter(|s| sides.has(*s)).for_each(|s| all.routes[s].sign *= -1.0);
                EffectKind::EncoderReversed
            }
            BaseFault::EncodersSwapped => {
                all.routes.swap(0, 1);
                EffectKind::EncodersSwapped
            }
            BaseFault::CounterJump { counts, .. } => {
                EffectKind::CounterJumped { counts: u64::from(counts.unsigned_abs()) }
            }
            BaseFault::EmergencyStop => {
                all.is_stopped = true;
                EffectKind::EmergencyStopped
            }
            BaseFault::LowBattery { battery_v, charge_percent } => {
                all.low_battery = Some((battery_v, charge_percent));
                EffectKind::LowBattery { millivolts: (battery_v * 1e3).round() as u64 }
            }
            BaseFault::PowerCycle => {
                all.is_powered = false;
                continue;
            }
            BaseFault::LateReplies { by_ns } => {
                all.late_ns += by_ns;
                EffectKind::LateReply { by_ns }
            }
        };
        all.effects.push(FaultEffect { fault: fault.fault, window, kind });
    }
    all
}
