//! Selection of the next packet's firing sequences.

use std::sync::Arc;

use super::control::Mode;
use super::layout::Layout;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, Sweep};
use crate::spinning::backlog;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::planned::Planned;
use crate::spinning::program::Program;
use crate::spinning::return_mode::ReturnMode;
use crate::spinning::stream::{self, Undone};
use crate::time::SimTime;
use crate::velodyne::profile::VelodyneLaser;

/// How far beyond the horizon the planner searches for the sequences that complete a packet, nanoseconds: five
/// rotations at the lowest speed. With a narrow sector, a packet consists of sequences from several rotations.
const HOLD_NS: u64 = 1_000_000_000;

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    pub number: u64,
    /// Mode at the first firing.
    pub mode: Mode,
    /// Start times of the packet's sequences.
    pub starts: Starts,
    sequence_ns: u64,
}

/// Start times of a packet's sequences: equally spaced, except for gaps outside the sector.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    first: SimTime,
    period_ns: u64,
    /// Number of sequences before the first gap.
    even: usize,
    /// Starts after the first gap.
    others: Vec<SimTime>,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.starts.first
    }

    /// Start of the last sequence.
    fn last(&self) -> SimTime {
        self.starts.last()
    }

    fn ends(&self) -> SimTime {
        SimTime(self.last().0 + self.sequence_ns)
    }
}

impl Starts {
    fn new(first: SimTime, period_ns: u64) -> Self {
        Self { first, period_ns, even: 1, others: Vec::new() }
    }

    /// `count` sequences without a gap from the start of the run.
    fn even(count: usize, period_ns: u64) -> Self {
        Self { even: count, ..Self::new(SimTime::ZERO, period_ns) }
    }

    fn push(&mut self, start: SimTime) {
        if self.others.is_empty() && start == self.at(self.even) {
            self.even += 1;
        } else {
            self.others.push(start);
        }
    }

    fn len(&self) -> usize {
        self.even + self.others.len()
    }

    /// Start of sequence `index` of the packet.
    pub fn at(&self, index: usize) -> SimTime {
        let late = index.checked_sub(self.even).and_then(|late| self.others.get(late));
        late.copied().unwrap_or(SimTime(self.first.0 + index as u64 * self.period_ns))
    }

    fn last(&self) -> SimTime {
        self.at(self.len() - 1)
    }

    pub fn iter(&self) -> impl Iterator<Item = SimTime> {
        (0..self.len()).map(|index| self.at(index))
    }
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    lasers: Vec<VelodyneLaser>,
    sequence_ns: u64,
    motor: MotorSettings,
    single: Packing,
    dual: Packing,
    /// Number of the first unplanned sequence.
    next_sequence: u64,
    next_number: u64,
    /// Incomplete packet: number of its first sequence, and the starts so far.
    begun: Option<(u64, Starts)>,
    /// Planned packets, each with the number of its first sequence.
    planned: Planned<u64>,
}

/// Packet layout of a return mode.
#[derive(Debug)]
struct Packing {
    layout: Layout,
    /// Firing slots of packets without a gap; nearly all packets have no gap.
    even_firings: Arc<[FiringSlot]>,
}

impl Planner {
    /// A planner that starts with sequence 0.
    pub fn new(lasers: Vec<VelodyneLaser>, sequence_ns: u64, motor: &MotorSettings) -> Self {
        let packing = |is_dual| {
            let layout = Layout::new(lasers.len(), is_dual);
            let starts = Starts::even(layout.sequences, sequence_ns);
            Packing { layout, even_firings: firings(&lasers, &starts) }
        };
        Self {
            single: packing(false),
            dual: packing(true),
            lasers,
            sequence_ns,
            motor: motor.clone(),
            next_sequence: 0,
            next_number: 0,
            begun: None,
            planned: Planned::default(),
        }
    }

    /// Packet layout of a return mode.
    pub fn layout(&self, returns: ReturnMode) -> &Layout {
        &self.packing(returns).layout
    }

    fn packing(&self, returns: ReturnMode) -> &Packing {
        if returns == ReturnMode::Dual { &self.dual } else { &self.single }
    }

    /// Start of the next sequence that is sent, if it is before `limit`. A sequence is sent if the unit is up, the
    /// rotor is in the sector, and the lasers fire or the unit also sends packets without firing.
    fn next_in_view(&mut self, program: &Program<Mode>, limit: SimTime) -> Option<SimTime> {
        loop {
            let start = SimTime(self.next_sequence * self.sequence_ns);
            if start >= limit {
                return None;
            }
            self.next_sequence += 1;
            let mode = program.mode(start);
            let is_sent = mode.is_up
                && mode.view.contains(program.rotor().turn(start))
                && (self.motor.sends_when_dark || self.is_lit(program, start));
            if is_sent {
                return Some(start);
            }
        }
    }

    fn is_lit(&self, program: &Program<Mode>, at: SimTime) -> bool {
        program.mode(at).laser_on && self.motor.lasers_fire_at(program.rotor().rpm(at))
    }

    fn sweep(&self, program: &Program<Mode>, plan: &PacketPlan) -> Sweep {
        let packing = self.packing(plan.mode.returns);
        let (first, last) = (plan.starts.first, plan.starts.last());
        Sweep {
            number: plan.number,
            rotor: program.rotor().motion(first, SimTime(last.0 + self.sequence_ns)),
            selection: match plan.mode.returns {
                ReturnMode::Strongest => EchoSelection::Strongest,
                ReturnMode::Last => EchoSelection::Last,
                ReturnMode::Dual => EchoSelection::OtherAndLast,
            },
            receiver: ReceiverSetting::default(),
            firings: if !self.is_lit(program, first) {
                Arc::default() // lasers that do not fire have no returns
            } else if plan.starts.others.is_empty() {
                packing.even_firings.clone()
            } else {
                firings(&self.lasers, &plan.starts)
            },
        }
    }
}

impl stream::Planner for Planner {
    type Mode = Mode;
    type Plan = PacketPlan;

    fn next(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
        let (mut first_sequence, mut starts) = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let start = self.next_in_view(program, horizon)?;
                (self.next_sequence - 1, Starts::new(start, self.sequence_ns))
            }
        };
        let limit = SimTime(horizon.0.saturating_add(HOLD_NS));
        let mode = loop {
            let mode = *program.mode(starts.first);
            if starts.len() == self.packing(mode.returns).layout.sequences {
                break mode;
            }
            let Some(start) = self.next_in_view(program, limit) else {
                self.begun = Some((first_sequence, starts));
                return None;
            };
            if program.modes_between(starts.last(), start).any(|mode| !mode.is_up) {
                // A restart discards the incomplete packet.
                first_sequence = self.next_sequence - 1;
                starts = Starts::new(start, self.sequence_ns);
            } else {
                starts.push(start);
            }
        };
        let number = self.next_number;
        let plan = PacketPlan { number, mode, starts, sequence_ns: self.sequence_ns };
        self.next_number += 1;
        self.planned.push(number, plan.starts.last(), first_sequence);
        let sweep = self.sweep(program, &plan);
        Some((plan, sweep))
    }

    fn undo(&mut self, from: SimTime) -> Option<Undone> {
        // The change can bring sequences into the sector that had been left out.
        let changed = from.0.div_ceil(self.sequence_ns);
        let begun = self.begun.take().map_or(self.next_sequence, |(first, _)| first);
        self.next_sequence = begun.min(changed);
        let first = self.planned.undo(from)?;
        (self.next_number, self.next_sequence) = (first.number, first.before.min(changed));
        Some(Undone { number: first.number, ends: SimTime(first.last.0 + self.sequence_ns) })
    }

    fn forget(&mut self, before: SimTime) {
        self.planned.forget(before);
    }

    fn position(&self) -> SimTime {
        let begun = self.begun.as_ref().map(|(_, starts)| starts.first);
        begun.unwrap_or(SimTime(self.next_sequence * self.sequence_ns))
    }
}

/// Firing slots of the sequences that start at `starts`, in order of lasers within each sequence.
fn firings(lasers: &[VelodyneLaser], starts: &Starts) -> Arc<[FiringSlot]> {
    let firings_of = |start: SimTime| {
        let after_ns = (start.0 - starts.first.0) as u32;
        lasers.iter().enumerate().map(move |(index, laser)| FiringSlot {
            offset_ns: after_ns + laser.firing_offset_ns,
            laser: index as u16,
        })
    };
    starts.iter().flat_map(firings_of).collect()
}
