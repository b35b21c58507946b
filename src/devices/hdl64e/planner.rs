//! Which packet comes next, when it begins and what is in force then.
//!
//! Packets are asked for ahead of time; when something changes, the planner goes back to the first
//! one that it concerns, as [`crate::devices::velodyne::planner`] does.

use std::collections::VecDeque;
use std::sync::Arc;

use super::schedule::{BlockSource, Schedule};
use crate::config::hdl64e::{Hdl64eProfile, Hdl64eSettings, ReturnMode};
use crate::devices::velodyne::backlog;
use crate::devices::velodyne::planner::Undone;
use crate::devices::velodyne::program::{Mode, Program};
use crate::sensors::Sweep;
use crate::sensors::beam::EchoSelection;
use crate::time::SimTime;
use crate::wire::velodyne::BLOCKS;

/// A packet to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketPlan {
    /// Counts packets.
    pub number: u64,
    /// Its first firing.
    pub start: SimTime,
    /// When it leaves, lag aside.
    pub leaves: SimTime,
    /// What is in force at its first firing.
    pub mode: Mode,
    /// The speed then, rpm.
    pub rpm: u16,
    /// Where in the firing pattern it stands.
    place: Place,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.start
    }
}

/// A packet's place in a firing pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    is_dual: bool,
    /// Counts the pattern's packets.
    index: u64,
}

/// Since when a firing pattern holds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Base {
    is_dual: bool,
    /// Its first packet.
    number: u64,
    start: SimTime,
}

/// Plans packet after packet.
#[derive(Debug)]
pub struct Planner {
    single: Schedule,
    dual: Option<Schedule>,
    interlock_rpm: u32,
    sends_when_dark: bool,
    base: Base,
    next_number: u64,
    /// What may have to be planned anew, oldest first.
    asked: VecDeque<Asked>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    leaves: SimTime,
    /// What held before it.
    base: Base,
}

impl Planner {
    /// Starts with packet 0 at the first instant.
    pub fn new(profile: &Hdl64eProfile, settings: &Hdl64eSettings) -> Self {
        let is_dual = settings.return_mode == ReturnMode::Dual;
        Self {
            single: Schedule::new(profile, settings, false),
            dual: profile.dual_timing.is_some().then(|| Schedule::new(profile, settings, true)),
            interlock_rpm: settings.motor.interlock_rpm,
            sends_when_dark: settings.motor.sends_when_dark,
            base: Base { is_dual, number: 0, start: SimTime::ZERO },
            next_number: 0,
            asked: VecDeque::new(),
        }
    }

    /// Packets a second in a return mode.
    pub fn packets_per_second(&self, returns: ReturnMode) -> f64 {
        self.schedule(returns == ReturnMode::Dual).packets_per_second()
    }

    /// Where the blocks of a packet come from.
    pub fn layout(&self, plan: &PacketPlan) -> [BlockSource; BLOCKS] {
        self.schedule(plan.place.is_dual).layout(plan.place.index)
    }

    /// The next packet, if its first firing is before `horizon`, and what to measure for it.
    pub fn next(&mut self, program: &Program, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
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
            self.asked.push_back(Asked { number: self.next_number, leaves, base: before });
            let is_lit =
                mode.laser_on && program.rotor().rpm(start) >= f64::from(self.interlock_rpm);
            if !is_lit && !self.sends_when_dark {
                // The time passes without a packet.
                self.base = Base { is_dual, number: self.next_number, start: next_start };
                continue;
            }
            let rpm = program.rotor().rpm(start).round() as u16;
            let plan = PacketPlan { number: self.next_number, start, leaves, mode, rpm, place };
            self.next_number += 1;
            return Some((plan, self.sweep(program, &plan, is_lit)));
        }
    }

    /// Forgets all plans of packets that leave after `from`.
    pub fn undo(&mut self, from: SimTime) -> Option<Undone> {
        let mut undone = None;
        while let Some(asked) = self.asked.pop_back_if(|asked| asked.leaves > from) {
            (self.next_number, self.base) = (asked.number, asked.base);
            undone = Some(Undone { number: asked.number, last_start: asked.leaves });
        }
        undone
    }

    /// Nothing that leaves before `before` will be planned anew.
    pub fn forget(&mut self, before: SimTime) {
        while self.asked.pop_front_if(|asked| asked.leaves < before).is_some() {}
    }

    /// The first firing of the next packet.
    pub fn position(&self) -> SimTime {
        let index = self.next_number - self.base.number;
        SimTime(self.base.start.0 + self.schedule(self.base.is_dual).start(index).0)
    }

    fn schedule(&self, is_dual: bool) -> &Schedule {
        self.dual.as_ref().filter(|_| is_dual).unwrap_or(&self.single)
    }

    fn sweep(&self, program: &Program, plan: &PacketPlan, is_lit: bool) -> Sweep {
        Sweep {
            number: plan.number,
            rotor: program.rotor().motion(plan.start, plan.leaves),
            selection: match plan.mode.returns {
                ReturnMode::Strongest => EchoSelection::Strongest,
                ReturnMode::Last => EchoSelection::Last,
                ReturnMode::Dual => EchoSelection::StrongestAndLast,
            },
            firings: match is_lit {
                true => self.schedule(plan.place.is_dual).firings_of(plan.place.index),
                false => Arc::default(), // nothing comes back of what is not fired
            },
        }
    }
}
