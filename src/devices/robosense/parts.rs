//! Splits the blocks of a packet into firings, for models with a rotor.

use crate::wire::robosense::layout::Slot;
use crate::wire::robosense::msop::{FULL_TURN_CENTIDEG, Packet};

/// Largest azimuth step between adjacent firings, hundredths of a degree; larger steps skip a sector without firings.
const LARGEST_STEP_CENTIDEG: i32 = 100;
/// Points of one return of a firing, and the rotor's angle at the start of the firing.
pub struct Part {
    pub slots: Vec<Slot>,
    pub centideg: f64,
    pub firing: usize,
    pub is_second: bool,
}

/// Properties of the stream that determine how blocks are split into firings.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub is_dual: bool,
    /// Rotation of the rotor between firings, hundredths of a degree.
    pub step_centideg: f64,
}

/// The parts of a packet in order, for models with a rotor: one for each return of each firing. The two blocks of an
/// Airy's firing form one part.
pub fn parts(packet: &Packet<'_>, reading: Reading) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for slot in packet.slots(reading.is_dual) {
        let before = parts.last_mut();
        if let Some(part) = before.filter(|_| slot.first_laser > 0) {
            part.slots.push(slot);
            continue;
        }
        let late = slot.point > 0 && !slot.is_second && !reading.is_dual;
        let ahead = if late { reading.step_centideg } else { 0.0 };
        parts.push(Part {
            slots: vec![slot],
            centideg: f64::from(packet.azimuth(slot.block)) + ahead,
            firing: slot.firing,
            is_second: slot.is_second,
        });
    }
    parts
}

/// Mean azimuth step between adjacent firings, hundredths of a degree. Steps that skip a sector do not count; `None` if no
/// other steps are in the packet.
pub fn own_step(packet: &Packet<'_>, is_dual: bool) -> Option<f64> {
    let shape = packet.layout().shape();
    let full = i32::from(FULL_TURN_CENTIDEG);
    let azimuth = |block: usize| i32::from(packet.azimuth(block));
    let mut sum = (0, 0);
    for slots in packet.slots(is_dual).windows(2) {
        let [one, other] = [slots[0], slots[1]];
        if other.firing == one.firing || other.block == one.block {
            continue;
        }
        let step = (azimuth(other.block) - azimuth(one.block)).rem_euclid(full);
        if step <= LARGEST_STEP_CENTIDEG {
            sum = (sum.0 + step, sum.1 + 1);
        }
    }
    let per_block = packet.layout().firings(is_dual) / shape.blocks;
    // If a block has two firings, the azimuth step between blocks spans both of them.
    let share = if per_block == 2 { 0.5 } else { 1.0 };
    (sum.1 > 0).then(|| f64::from(sum.0) / f64::from(sum.1) * share)
}
