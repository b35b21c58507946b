//! Faults on the wire: what lies between a device and its link, in a run and in a recording alike.
//!
//! [`WireFaults`] takes what devices give out, in their order, and hands on what becomes of it,
//! perhaps with other due times; whoever sends or records puts it in the order of due times again.
//! What a fault does to a packet depends on the fault's seed and name and on the packet's number
//! alone, so a recording and a run of the same seed suffer alike.

pub mod log;
mod strike;
#[cfg(test)]
mod tests;
mod uart;

use std::collections::VecDeque;

use crate::config::faults::{FaultConfig, FaultKind};
use crate::config::profile::Interface;
use crate::config::rig::Rig;
use crate::config::schedule::Schedule;
use crate::devices::Transmit;
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;

/// What a fault did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It came.
    Begins,
    /// It went.
    Ends,
    /// The packet, or the edge of a time pulse, never arrived.
    Lost,
    /// A copy followed.
    Copied {
        /// So much later.
        after_ns: u64,
    },
    /// Others went before it.
    HeldBack {
        /// So many.
        packets: u64,
    },
    /// It left later.
    Delayed {
        /// So much.
        by_ns: u64,
    },
    /// Its end was cut off.
    Cut {
        /// What was left.
        to_bytes: u64,
    },
    /// Bits were flipped.
    Flipped {
        /// So many.
        bits: u64,
    },
    /// Bytes within it were lost.
    Dropped {
        /// So many.
        bytes: u64,
    },
    /// The line was held low.
    Broken {
        /// So many times.
        times: u64,
    },
}

impl Effect {
    /// The word for it in the log, and how much.
    fn words(self) -> (&'static str, Option<u64>) {
        match self {
            Self::Begins => ("begins", None),
            Self::Ends => ("ends", None),
            Self::Lost => ("lost", None),
            Self::Copied { after_ns } => ("copied_after_ns", Some(after_ns)),
            Self::HeldBack { packets } => ("held_back_packets", Some(packets)),
            Self::Delayed { by_ns } => ("delayed_ns", Some(by_ns)),
            Self::Cut { to_bytes } => ("cut_to_bytes", Some(to_bytes)),
            Self::Flipped { bits } => ("flipped_bits", Some(bits)),
            Self::Dropped { bytes } => ("lost_bytes", Some(bytes)),
            Self::Broken { times } => ("breaks", Some(times)),
        }
    }
}

/// A line of the truth about faults. Ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// When the packet was due without faults.
    pub at: SimTime,
    /// The fault's place in the rig.
    pub fault: usize,
    /// The packet, counted from zero as the device gave it out.
    pub packet: Option<u64>,
    /// Which of the fault's windows.
    pub window: u64,
    /// What it did.
    pub effect: Effect,
}

/// The faults of a rig's links.
pub struct WireFaults {
    units: Vec<Unit>,
    rows: Vec<Row>,
}

/// A device's way to its link.
#[derive(Default)]
struct Unit {
    /// Counts what the device gave out.
    packet: u64,
    faults: Vec<Active>,
}

/// A fault and what it remembers.
struct Active {
    index: usize,
    kind: FaultKind,
    schedule: Schedule,
    interface: Interface,
    draws: NoiseSource,
    /// Held back, the oldest first, each with how many are still to go before it.
    held: VecDeque<(u32, Transmit)>,
    /// What was delayed without jitter keeps its order.
    latest_due: SimTime,
}

/// A packet on its way through the faults of its device.
struct Passage<'a> {
    packet: u64,
    at: SimTime,
    rows: &'a mut Vec<Row>,
}

impl WireFaults {
    /// The faults of `rig`.
    pub fn new(rig: &Rig) -> Self {
        let mut units: Vec<_> = rig.devices.iter().map(|_| Unit::default()).collect();
        for (index, fault) in rig.faults.iter().enumerate() {
            let interface = rig.devices[fault.device].profile.interface();
            units[fault.device].faults.push(Active::new(index, fault, interface));
        }
        Self { units, rows: Vec::new() }
    }

    /// Takes the next of what the device with the place `unit` gives out, and hands on to `out` what
    /// leaves because of it.
    pub fn pass(&mut self, unit: usize, transmit: Transmit, out: &mut dyn FnMut(Transmit)) {
        let unit = &mut self.units[unit];
        if unit.faults.is_empty() {
            return out(transmit);
        }
        let mut passage = Passage { packet: unit.packet, at: transmit.due, rows: &mut self.rows };
        if transmit.output.bytes().is_some() {
            unit.packet += 1;
        }
        let mut batch = vec![transmit];
        for fault in &mut unit.faults {
            batch = fault.apply(batch, &mut passage);
        }
        batch.into_iter().for_each(out);
    }

    /// Counts a packet of a device that was given up before it was made.
    pub fn skip(&mut self, unit: usize) {
        self.units[unit].packet += 1;
    }

    /// Hands on what is still held back when nothing more comes.
    pub fn finish(&mut self, out: &mut dyn FnMut(usize, Transmit)) {
        for (index, unit) in self.units.iter_mut().enumerate() {
            for fault in &mut unit.faults {
                fault.held.drain(..).for_each(|(_, transmit)| out(index, transmit));
            }
        }
    }

    /// What faults did since the last call, for the log.
    pub fn rows(&mut self) -> std::vec::Drain<'_, Row> {
        self.rows.drain(..)
    }
}

impl Active {
    fn new(index: usize, fault: &FaultConfig, interface: Interface) -> Self {
        Self {
            index,
            kind: fault.kind.clone(),
            schedule: fault.schedule,
            interface,
            draws: NoiseSource::new(fault.seed, &fault.name),
            held: VecDeque::new(),
            latest_due: SimTime::ZERO,
        }
    }

    fn apply(&mut self, batch: Vec<Transmit>, passage: &mut Passage<'_>) -> Vec<Transmit> {
        let mut after = Vec::with_capacity(batch.len());
        let window = self.schedule.window_at(passage.at);
        let mut draws = self.draws.request(passage.packet).generator();
        for transmit in batch {
            let has_bytes = transmit.output.bytes().is_some();
            let overtaken = if has_bytes { self.overtaken_by(transmit.due) } else { Vec::new() };
            match window {
                Some(window) => {
                    let (at, fault) = (passage.at, self.index);
                    let packet = has_bytes.then_some(passage.packet);
                    let mut tell = |effect| {
                        passage.rows.push(Row { at, fault, packet, window, effect });
                    };
                    self.strike(transmit, window, &mut draws, &mut tell, &mut after);
                }
                None => after.push(transmit),
            }
            after.extend(overtaken);
        }
        after
    }

    /// What was held back long enough once another packet, due at `due`, has gone before it.
    fn overtaken_by(&mut self, due: SimTime) -> Vec<Transmit> {
        for (left, _) in &mut self.held {
            *left -= 1;
        }
        let released = self.held.iter().take_while(|(left, _)| *left == 0).count();
        let late =
            |(_, transmit): (u32, Transmit)| Transmit { due: transmit.due.max(due), ..transmit };
        self.held.drain(..released).map(late).collect()
    }
}
