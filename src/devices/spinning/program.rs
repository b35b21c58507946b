//! Program of a lidar: present mode, future changes, and the rotor.
//!
//! A change takes effect when the rotor next reaches angle 0, so that a rotation has one mode. It never takes effect within
//! [`REACTION_NS`] after the command, because packets that are due earlier may have been sent. After [`REACTION_NS`], it
//! waits for the rotor for at most one second, and not at all if the rotor is at rest.

use super::rotor::{Phase, Rotor};
use crate::REACTION_NS;
use crate::config::profile::FamilyData;
use crate::config::rig::faults::Timed;
use crate::motor_stall::MotorStall;
use crate::time::SimTime;

/// Longest time that a change waits for the rotor, nanoseconds.
const MAX_WAIT_NS: u64 = 1_000_000_000;
/// The rotor's schedule must be known this long beyond the time up to which packets are planned, nanoseconds.
const FORESIGHT_NS: u64 = 2 * MAX_WAIT_NS;
/// Longest time from a command to its effect, nanoseconds. A stall must be known this long in advance, because the rotor's
/// angle at the time of effect must be known.
const STALL_NOTICE_NS: u64 = REACTION_NS + MAX_WAIT_NS;

/// Notice that a spinning lidar needs before a stall starts or ends, nanoseconds; 0 for other faults.
pub fn stall_notice_ns(kind: &dyn FamilyData) -> u64 {
    kind.get::<MotorStall>().map_or(0, |_| STALL_NOTICE_NS)
}

/// Program of a spinning lidar: modes, each with its start time, and the rotor's schedule. The device family defines
/// the mode type `M`.
#[derive(Clone, Debug)]
pub struct Program<M> {
    /// Modes in order of time, never empty.
    modes: Vec<(SimTime, M)>,
    rotor: Rotor,
}

impl<M: PartialEq> Program<M> {
    pub fn new(mode: M, rotor: Rotor) -> Self {
        Self { modes: vec![(SimTime::ZERO, mode)], rotor }
    }

    /// Replaces the rotor's stalls from `at` on. `at` may be the start of the run only while no packet is planned.
    pub fn change_stalls(&mut self, at: SimTime, stalls: &[Timed<MotorStall>]) {
        self.rotor.change_stalls(at, stalls);
    }

    /// Calls `plan` with a time limit for its packet: `horizon`, or an earlier time up to which the rotor's schedule is
    /// known. Extends the schedule until `plan` returns a packet or the limit is `horizon`.
    pub fn planned<T>(
        &mut self,
        horizon: SimTime,
        mut plan: impl FnMut(&Self, SimTime) -> Option<T>,
    ) -> Option<T> {
        let enough = SimTime(horizon.0.saturating_add(FORESIGHT_NS));
        loop {
            let known_to = self.rotor.known_to();
            if known_to >= enough {
                return plan(self, horizon);
            }
            let planned = plan(self, SimTime(known_to.0.saturating_sub(FORESIGHT_NS)));
            if planned.is_some() {
                return planned;
            }
            self.rotor.look_ahead(SimTime(known_to.0 + 1));
        }
    }

    /// The mode in effect at `at`.
    pub fn mode(&self, at: SimTime) -> &M {
        let in_force = self.modes.iter().rev().find(|(since, _)| *since <= at);
        &in_force.unwrap_or(&self.modes[0]).1
    }

    /// Modes that take effect after `from` and at or before `to`.
    pub fn modes_between(&self, from: SimTime, to: SimTime) -> impl Iterator<Item = &M> {
        let is_between = move |since: SimTime| from < since && since <= to;
        self.modes.iter().filter(move |(since, _)| is_between(*since)).map(|(_, mode)| mode)
    }

    pub fn rotor(&self) -> &Rotor {
        &self.rotor
    }

    /// Time at which a command given at `now` takes effect.
    pub fn takes_effect(&self, now: SimTime) -> SimTime {
        let earliest = SimTime(now.0 + REACTION_NS);
        if self.rotor.is_still(earliest) {
            return earliest;
        }
        let latest = SimTime(earliest.0 + MAX_WAIT_NS);
        self.rotor.next_zero(earliest).unwrap_or(latest).min(latest)
    }

    /// Whether `mode` is the last mode of the program, and `rpm` and `phase` are the last targets of the rotor.
    pub fn ends_with(&self, mode: &M, rpm: u32, phase: Option<Phase>) -> bool {
        self.modes.last().is_some_and(|(_, last)| last == mode)
            && self.rotor.drive() == (rpm, phase)
    }

    /// Sets `mode` from `at` on and drops later changes.
    pub fn set_mode(&mut self, at: SimTime, mode: M) {
        self.modes.retain(|(since, _)| *since < at);
        self.modes.push((at, mode));
    }

    /// Drives the rotor to `rpm` and `phase` from `at` on. Has no effect if the rotor is already driven to them.
    pub fn set_drive(&mut self, at: SimTime, rpm: u32, phase: Option<Phase>) {
        if self.rotor.drive() != (rpm, phase) {
            self.rotor.schedule(at, rpm, phase);
        }
    }

    /// Extends the rotor's schedule as far as commands at `now` need.
    pub fn look_ahead(&mut self, now: SimTime) {
        self.rotor.look_ahead(SimTime(now.0.saturating_add(FORESIGHT_NS)));
    }

    /// Drops modes, and parts of the rotor's schedule, that apply only before `before`.
    pub fn forget(&mut self, before: SimTime) {
        let first = self.modes.iter().rposition(|(since, _)| *since <= before).unwrap_or(0);
        self.modes.drain(..first);
        self.rotor.forget(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_wait_for_the_next_turn() {
        let rotor = Rotor::turning(600, 0.0, 200);
        let mut program = Program::new("on", rotor);
        let ms = |ms: u64| SimTime(ms * 1_000_000);
        assert_eq!(program.takes_effect(ms(10)), ms(100));
        assert_eq!(program.takes_effect(ms(90)), ms(200));
        program.set_mode(ms(100), "off");
        program.set_drive(ms(100), 0, None);
        assert_eq!((*program.mode(ms(99)), *program.mode(ms(100))), ("on", "off"));
        assert_eq!(program.modes_between(ms(99), ms(100)).collect::<Vec<_>>(), [&"off"]);
        assert_eq!(program.modes_between(ms(100), ms(200)).count(), 0);
        assert!(program.ends_with(&"off", 0, None) && !program.ends_with(&"on", 0, None));
        // The speed falls from 600 rpm by 200 rpm/s.
        assert!(!program.rotor().is_still(ms(3099)));
        assert_eq!(program.takes_effect(ms(4000)), ms(4020));
        program.forget(ms(4000));
        assert!(*program.mode(ms(4000)) == "off" && program.rotor().is_still(ms(4000)));
    }

    #[test]
    fn a_change_does_not_wait_for_a_slow_rotor() {
        let program = Program::new((), Rotor::turning(10, 0.0, 200));
        assert_eq!(program.takes_effect(SimTime(0)), SimTime(REACTION_NS + MAX_WAIT_NS));
    }
}
