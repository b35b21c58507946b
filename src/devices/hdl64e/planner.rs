//! Schedules packets: number, start, and settings in effect.

use std::sync::Arc;

use super::schedule::{BlockSource, Schedule};
use crate::hdl64e::profile::{Hdl64eProfile, Hdl64eSettings};
use crate::sensors::Sweep;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::spinning::backlog;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::planned::Planned;
use crate::spinning::program::Program;
use crate::spinning::return_mode::ReturnMode;
use crate::spinning::stream::{self, Undone};
use crate::spinning::view::View;
use crate::time::SimTime;
use crate::wire::velodyne::BLOCKS;

/// Return mode, sector and laser power, which can change during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub returns: ReturnMode,
    /// First and last degree of the field of view as a command gives them, 0 to 360.
    pub view_deg: [u16; 2],
    /// Laser power in the status bytes.
    pub power_level: u8,
}

impl Mode {
    /// Field of view of a unit that received no command for it, degrees.
    pub const FULL_VIEW_DEG: [u16; 2] = [0, 360];

    /// Sector in which lasers fire.
    pub fn view(self) -> View {
        match self.view_deg {
            Self::FULL_VIEW_DEG => View::ALL,
            view_deg => View(view_deg.map(|degree| degree % 360)),
        }
    }
}

/// A packet to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketPlan {
    pub number: u64,
    /// Time of the packet's first firing.
    pub start: SimTime,
    /// Time at which the packet leaves, without output latency.
    pub leaves: SimTime,
    /// Mode at the first firing.
    pub mode: Mode,
    /// Speed at the first firing.
    pub rpm: u16,
    place: Place,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.start
    }

    fn last(&self) -> SimTime {
        self.leaves
    }

    fn ends(&self) -> SimTime {
        self.leaves
    }
}

/// Position of a packet in the firing pattern for single return or in the one for dual return.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    is_dual: bool,
    /// Index of the packet since the start of the pattern, from 0.
    index: u64,
}

/// A firing pattern: whether it is the pattern for dual return, the number of its first packet, and its start time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Base {
    is_dual: bool,
    /// Number of the pattern's first packet.
    number: u64,
    start: SimTime,
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    single: Schedule,
    dual: Option<Schedule>,
    motor: MotorSettings,
    base: Base,
    next_number: u64,
    /// Planned packets, each with the firing pattern that was in effect before the packet was planned; `undo` restores
    /// that pattern.
    planned: Planned<Base>,
}

impl Planner {
    /// A planner that starts with packet 0 at the start of the run.
    pub fn new(profile: &Hdl64eProfile, settings: &Hdl64eSettings) -> Self {
        let is_dual = settings.return_mode == ReturnMode::Dual;
        Self {
            single: Schedule::new(profile, settings, false),
            dual: profile.dual_timing.is_some().then(|| Schedule::new(profile, settings, true)),
            motor: settings.motor.clone(),
            base: Base { is_dual, number: 0, start: SimTime::ZERO },
            next_number: 0,
            planned: Planned::default(),
        }
    }

    /// Packets per second in a return mode.
    pub fn packets_per_second(&self, returns: ReturnMode) -> f64 {
        self.schedule(returns == ReturnMode::Dual).packets_per_second()
    }

    /// Lasers and firings of each block of a packet.
    pub fn layout(&self, plan: &PacketPlan) -> [BlockSource; BLOCKS] {
        self.schedule(plan.place.is_dual).layout(plan.place.index)
    }

    fn schedule(&self, is_dual: bool) -> &Schedule {
        self.dual.as_ref().filter(|_| is_dual).unwrap_or(&self.single)
    }

    fn sweep(&self, program: &Program<Mode>, plan: &PacketPlan, is_lit: bool) -> Sweep {
        Sweep {
            number: plan.number,
            rotor: program.rotor().motion(plan.start, plan.leaves),
            selection: match plan.mode.returns {
                ReturnMode::Strongest => EchoSelection::Strongest,
                ReturnMode::Last => EchoSelection::Last,
                ReturnMode::Dual => EchoSelection::StrongestAndLast,
            },
            receiver: ReceiverSetting::default(),
            firings: match is_lit {
                true => self.schedule(plan.place.is_dual).firings_of(plan.place.index),
                false => Arc::default(), // lasers that do not fire have no returns
            },
        }
    }
}

impl stream::Planner for Planner {
    type Mode = Mode;
    type Plan = PacketPlan;

    fn next(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
        loop {
            let start = self.position();
            if start >= horizon {
                return None;
            }
            let before = self.base;
            let mode = *program.mode(start);
            let is_dual = mode.returns == ReturnMode::Dual && self.dual.is_some();
            if is_dual != self.base.is_dual {
                self.base = Base { is_dual, number: self.next_number, start };
            }
            let place = Place { is_dual, index: self.next_number - self.base.number };
            let schedule = self.schedule(is_dual);
            let since_base = |at: SimTime| SimTime(self.base.start.0 + at.0);
            let leaves = since_base(schedule.leaves(place.index));
            let next_start = since_base(schedule.start(place.index + 1));
            self.planned.push(self.next_number, leaves, before);
            let rpm = program.rotor().rpm(start);
            let is_lit = self.motor.lasers_fire_at(rpm);
            if !is_lit && !self.motor.sends_when_dark {
                // The rotor is too slow for the lasers, so no packet is sent.
                self.base = Base { is_dual, number: self.next_number, start: next_start };
                continue;
            }
            let rpm = rpm.round() as u16;
            let plan = PacketPlan { number: self.next_number, start, leaves, mode, rpm, place };
            self.next_number += 1;
            return Some((plan, self.sweep(program, &plan, is_lit)));
        }
    }

    /// Goes back to the first packet that leaves after `from`; `None` if no planned packet does. A change exactly at
    /// the departure of a packet does not affect the packet.
    fn undo(&mut self, from: SimTime) -> Option<Undone> {
        let first = self.planned.undo(SimTime(from.0 + 1))?;
        (self.next_number, self.base) = (first.number, first.before);
        Some(Undone { number: first.number, ends: first.last })
    }

    fn forget(&mut self, before: SimTime) {
        self.planned.forget(before);
    }

    fn position(&self) -> SimTime {
        let index = self.next_number - self.base.number;
        SimTime(self.base.start.0 + self.schedule(self.base.is_dual).start(index).0)
    }
}
