//! Selection of the next packet's columns.
//!
//! The encoder fires a column at equal steps of the rotation, and sixteen columns form a packet. A rotation
//! begins when the rotor points at the connector, which is angle 0 here.

use std::sync::Arc;

use super::faults::{self, OusterFaults};
use super::window::ColumnWindow;
use super::words::{LidarMode, ReturnOrder, TimestampMode};
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, Sweep};
use crate::spinning::backlog;
use crate::spinning::planned::Planned;
use crate::spinning::program::Program;
use crate::spinning::stream::{self, Undone};
use crate::spinning::turns::{begin, fires_at, is_at_speed};
use crate::time::SimTime;
use crate::wire::ouster::format::{COLUMNS, LidarFormat};

/// Mode of the unit from a given time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Whether lidar packets are sent.
    pub is_on: bool,
    /// Time from which the mode is in effect.
    pub since: SimTime,
    pub lidar_mode: LidarMode,
    pub format: LidarFormat,
    pub window: ColumnWindow,
    pub timestamp_mode: TimestampMode,
    pub order: ReturnOrder,
    pub signal_multiplier: f32,
    /// Smallest reported range from the beam's origin, metres.
    pub blanked_m: f32,
    /// Initialization id in the packets of this mode.
    pub initialization_id: u32,
}

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    pub number: u64,
    /// Mode at the first column of the packet.
    pub mode: Mode,
    /// Number of the rotation since the unit was initialised.
    pub frame: u32,
    /// Number, within the rotation, of the packet's first column.
    pub first: u16,
    /// Firing times of the columns.
    pub at: [SimTime; COLUMNS],
    /// Time between columns, nanoseconds.
    period_ns: u64,
}

impl PacketPlan {
    /// Whether the packet's column with this `index` (0 to 15) is measured, because it is in the window.
    pub fn is_valid(&self, index: usize) -> bool {
        self.mode.window.contains(self.first + index as u16)
    }
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.at[0]
    }

    fn last(&self) -> SimTime {
        self.at[COLUMNS - 1]
    }

    fn ends(&self) -> SimTime {
        SimTime(self.last().0 + self.period_ns)
    }

    fn clock_needed_to(&self) -> SimTime {
        self.last()
    }
}

/// State of the planner, from which the next packet follows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cursor {
    /// Start of the rotation of the next packet; `None` until this rotation is found.
    turn: Option<SimTime>,
    /// While `turn` is `None`: the time after which the next rotation begins.
    after: SimTime,
    /// First column of the next packet.
    column: u16,
    /// Number of the present or next rotation.
    frame: u32,
    /// Initialization id for which `frame` counts rotations, from 0.
    initialization_id: u32,
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    pixels: u16,
    cursor: Cursor,
    next_number: u64,
    /// Planned packets, each with the planner's state before it and the time between its columns.
    planned: Planned<(Cursor, u64)>,
    faults: OusterFaults,
    /// Column offsets (nanoseconds from the first column) and firing slots of the last packet; the next packet usually has
    /// the same ones.
    usual: (Vec<Option<u32>>, Arc<[FiringSlot]>),
}

impl Planner {
    /// A planner for a unit with this number of pixels per column.
    pub fn new(pixels: usize) -> Self {
        Self {
            pixels: pixels as u16,
            cursor: Cursor {
                turn: None,
                after: SimTime::ZERO,
                column: 0,
                frame: 0,
                initialization_id: 0,
            },
            next_number: 0,
            planned: Planned::default(),
            faults: OusterFaults::default(),
            usual: Default::default(),
        }
    }

    /// Replaces the faults. For planned packets, the old and the new faults must have the same effect.
    pub fn set_faults(&mut self, faults: OusterFaults) {
        self.faults = faults;
    }

    /// Ends the present rotation. The next packet belongs to the first rotation that begins after `after`.
    fn leave_turn(&mut self, after: SimTime) {
        self.cursor = Cursor { turn: None, after, column: 0, ..self.cursor };
    }

    /// Start of the rotation to which the next packet belongs; `None` if no rotation starts before `horizon`.
    fn turn(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<SimTime> {
        if let Some(turn) = self.cursor.turn {
            return Some(turn);
        }
        loop {
            let after = self.cursor.after;
            if after >= horizon {
                return None;
            }
            let Some(turn) = begin(program.rotor(), after) else {
                // The rotor is at rest as far as its schedule is known.
                self.cursor.after = horizon;
                return None;
            };
            if turn >= horizon {
                return None;
            }
            let mode = program.mode(turn);
            if !self.is_sending(program, mode, turn) {
                // At the start of the run, `begin` would return the same rotation again.
                self.cursor.after = turn.max(SimTime(1));
                continue;
            }
            if self.cursor.initialization_id != mode.initialization_id {
                (self.cursor.initialization_id, self.cursor.frame) = (mode.initialization_id, 0);
            }
            self.cursor.turn = Some(turn);
            return Some(turn);
        }
    }

    /// Whether the unit is sending packets at `at`: mode and faults permit it, and the rotor is at its speed.
    fn is_sending(&self, program: &Program<Mode>, mode: &Mode, at: SimTime) -> bool {
        mode.is_on
            && !self.faults.is_shut_down(at)
            && is_at_speed(program.rotor(), mode.lidar_mode.rpm(), at)
    }

    fn firings(&mut self, offsets_ns: Vec<Option<u32>>) -> Arc<[FiringSlot]> {
        if self.usual.0 != offsets_ns {
            let pixels = self.pixels;
            let column = |offset_ns| (0..pixels).map(move |laser| FiringSlot { offset_ns, laser });
            let all =
                offsets_ns.iter().flatten().flat_map(|offset_ns| column(*offset_ns)).collect();
            self.usual = (offsets_ns, all);
        }
        self.usual.1.clone()
    }

    fn sweep(&mut self, program: &Program<Mode>, plan: &PacketPlan) -> Sweep {
        let start = plan.at[0];
        let offset_ns =
            |index: usize| plan.is_valid(index).then(|| (plan.at[index].0 - start.0) as u32);
        let fired = faults::share_fired(&self.faults.limits, start) as f32;
        Sweep {
            number: plan.number,
            rotor: program.rotor().motion(start, SimTime(plan.at[COLUMNS - 1].0 + 1)),
            // The sensor model returns all echoes; the device selects among them.
            selection: EchoSelection::Strongest,
            receiver: ReceiverSetting {
                threshold_factor: 1.0 / (plan.mode.signal_multiplier * fired),
                blanked_m: plan.mode.blanked_m,
            },
            firings: self.firings((0..COLUMNS).map(offset_ns).collect()),
        }
    }
}

impl stream::Planner for Planner {
    type Mode = Mode;
    type Plan = PacketPlan;

    fn next(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
        loop {
            let turn = self.turn(program, horizon)?;
            let before = self.cursor;
            let mode = *program.mode(turn);
            let columns = mode.lidar_mode.columns();
            let first = self.cursor.column;
            let share = |column: u16| f64::from(column) / f64::from(columns);
            let fires =
                |column: u16| fires_at(program.rotor(), mode.lidar_mode.rpm(), turn, share(column));
            if first >= columns {
                self.cursor.frame = self.cursor.frame.wrapping_add(1);
                self.leave_turn(fires(columns - 1));
                continue;
            }
            let start = fires(first);
            if start >= horizon {
                return None;
            }
            // A change of mode ends the rotation.
            if program.mode(start) != &mode || !self.is_sending(program, &mode, start) {
                self.cursor.frame = self.cursor.frame.wrapping_add(1);
                self.leave_turn(start);
                continue;
            }
            self.cursor.column += COLUMNS as u16;
            if !(0..COLUMNS as u16).any(|place| mode.window.contains(first + place)) {
                continue;
            }
            let plan = PacketPlan {
                number: self.next_number,
                mode,
                frame: self.cursor.frame,
                first,
                at: std::array::from_fn(|place| match place {
                    0 => start,
                    place => fires(first + place as u16),
                }),
                period_ns: (1e9 / f64::from(mode.lidar_mode.columns_per_s())).round() as u64,
            };
            self.next_number += 1;
            self.planned.push(plan.number, plan.at[COLUMNS - 1], (before, plan.period_ns));
            let sweep = self.sweep(program, &plan);
            return Some((plan, sweep));
        }
    }

    fn undo(&mut self, from: SimTime) -> Option<Undone> {
        // A rotation can begin exactly at `from`.
        let before = SimTime(from.0.saturating_sub(1));
        match self.cursor.turn {
            Some(turn) if turn >= from => self.leave_turn(before),
            Some(_) => {}
            None => self.cursor.after = self.cursor.after.min(before),
        }
        let first = self.planned.undo(from)?;
        let (cursor, period_ns) = first.before;
        (self.next_number, self.cursor) = (first.number, cursor);
        Some(Undone { number: first.number, ends: SimTime(first.last.0 + period_ns) })
    }

    fn forget(&mut self, before: SimTime) {
        self.planned.forget(before);
    }

    fn position(&self) -> SimTime {
        self.cursor.turn.unwrap_or(self.cursor.after)
    }
}
