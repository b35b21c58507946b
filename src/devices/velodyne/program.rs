//! What a unit does from when on: what is in force now, and what has been asked for and is to come.
//!
//! A change takes effect when the rotor next comes to angle 0, so that a turn is of one piece; when
//! that is far, or the rotor stands, a second after it was asked for. It never takes effect sooner
//! than the unit's reaction time: what leaves until then has been decided.

use super::rotor::{Phase, Rotor};
use crate::config::hdl64e::ReturnMode;
use crate::config::rig::faults::{MotorStall, Timed};
use crate::devices::REACTION_NS;
use crate::time::SimTime;

/// No change waits longer than this for the rotor, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;
/// What is planned or asked for at an instant needs no later knowledge of the rotor than this,
/// nanoseconds.
const FORESIGHT_NS: u64 = 2 * PATIENCE_NS;

/// What the lasers and the packets do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Which echoes packets hold.
    pub returns: ReturnMode,
    /// Where lasers fire.
    pub view: View,
    /// Whether lasers fire at all, fast enough a rotor given.
    pub laser_on: bool,
    /// Whether the unit runs; it does not while it starts anew.
    pub is_up: bool,
    /// The laser power's status byte, of an HDL-64E.
    pub power_level: u8,
}

/// First and last whole degree in which lasers fire, each 0..=359; `[0, 359]` is the whole turn. Runs through 0
/// when the first is the greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View(pub [u16; 2]);

impl View {
    /// The whole turn.
    pub const ALL: Self = Self([0, 359]);

    /// Whether lasers fire at an angle, 0..1.
    pub fn contains(self, turn: f64) -> bool {
        let [first, last] = self.0.map(f64::from);
        let degree = turn * 360.0;
        if self.is_whole() {
            true
        } else if first <= last {
            (first..last).contains(&degree)
        } else {
            degree >= first || degree < last
        }
    }

    /// Whether it is the whole turn, wherever that begins.
    pub fn is_whole(self) -> bool {
        let [first, last] = self.0;
        last + 1 == first || (first, last) == (0, 359)
    }

    /// The share of a turn in which lasers fire.
    pub fn share(self) -> f64 {
        let [first, last] = self.0.map(f64::from);
        if self.is_whole() { 1.0 } else { (last - first).rem_euclid(360.0) / 360.0 }
    }
}

/// All that is in force and to come.
#[derive(Clone, Debug)]
pub struct Program {
    /// Since when; in the order of time, never empty.
    modes: Vec<(SimTime, Mode)>,
    rotor: Rotor,
}

impl Program {
    /// A unit that does `mode` while its rotor does what `rotor` says.
    pub fn new(mode: Mode, rotor: Rotor) -> Self {
        Self { modes: vec![(SimTime::ZERO, mode)], rotor }
    }

    /// What will hold the rotor, before anything is planned.
    pub fn suffer(&mut self, stalls: &[Timed<MotorStall>]) {
        self.rotor.suffer(stalls);
    }

    /// Has `plan` plan what begins before `horizon`, no farther than is known of the rotor, until
    /// it has planned something.
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

    /// What is in force at `at`.
    pub fn mode(&self, at: SimTime) -> &Mode {
        let in_force = self.modes.iter().rev().find(|(since, _)| *since <= at);
        &in_force.unwrap_or(&self.modes[0]).1
    }

    /// Whether the unit goes down after `from` and by `to`.
    pub fn is_down_between(&self, from: SimTime, to: SimTime) -> bool {
        self.modes.iter().any(|(since, mode)| !mode.is_up && (from < *since && *since <= to))
    }

    /// The head's motion.
    pub fn rotor(&self) -> &Rotor {
        &self.rotor
    }

    /// When something that is asked for at `now` takes effect.
    pub fn takes_effect(&self, now: SimTime) -> SimTime {
        let earliest = SimTime(now.0 + REACTION_NS);
        if self.rotor.is_still(earliest) {
            return earliest;
        }
        let latest = SimTime(earliest.0 + PATIENCE_NS);
        self.rotor.next_zero(earliest).unwrap_or(latest).min(latest)
    }

    /// Whether this is what is to be done for good already.
    pub fn is_to_do(&self, mode: &Mode, rpm: u32, phase: Option<Phase>) -> bool {
        self.modes.last().is_some_and(|(_, last)| last == mode)
            && self.rotor.drive() == (rpm, phase)
    }

    /// `mode` is in force from `at` on, whatever was to come.
    pub fn set_mode(&mut self, at: SimTime, mode: Mode) {
        self.modes.retain(|(since, _)| *since < at);
        self.modes.push((at, mode));
    }

    /// From `at` on the motor drives towards `rpm` and `phase`; nothing changes if it does already.
    pub fn set_drive(&mut self, at: SimTime, rpm: u32, phase: Option<Phase>) {
        if self.rotor.drive() != (rpm, phase) {
            self.rotor.schedule(at, rpm, phase);
        }
    }

    /// It is `now`: what is asked for comes into force soon.
    pub fn look_ahead(&mut self, now: SimTime) {
        self.rotor.look_ahead(SimTime(now.0.saturating_add(FORESIGHT_NS)));
    }

    /// Forgets what was in force before `before` only.
    pub fn forget(&mut self, before: SimTime) {
        let first = self.modes.iter().rposition(|(since, _)| *since <= before).unwrap_or(0);
        self.modes.drain(..first);
        self.rotor.forget(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: Mode = Mode {
        returns: ReturnMode::Strongest,
        view: View::ALL,
        laser_on: true,
        is_up: true,
        power_level: 0,
    };

    #[test]
    fn changes_wait_for_the_next_turn() {
        let rotor = Rotor::turning(600, 0.0, 200);
        let mut program = Program::new(MODE, rotor);
        let ms = |ms: u64| SimTime(ms * 1_000_000);
        assert_eq!(program.takes_effect(ms(10)), ms(100));
        assert_eq!(program.takes_effect(ms(90)), ms(200));
        program.set_mode(ms(100), Mode { laser_on: false, ..MODE });
        program.set_drive(ms(100), 0, None);
        assert!(program.mode(ms(99)).laser_on && !program.mode(ms(100)).laser_on);
        // 600 rpm fall by 200 a second.
        assert!(!program.rotor().is_still(ms(3099)));
        assert_eq!(program.takes_effect(ms(4000)), ms(4020));
        program.forget(ms(4000));
        assert!(!program.mode(ms(4000)).laser_on && program.rotor().is_still(ms(4000)));
    }

    #[test]
    fn a_slow_rotor_is_not_waited_for() {
        let program = Program::new(MODE, Rotor::turning(10, 0.0, 200));
        assert_eq!(program.takes_effect(SimTime(0)), SimTime(REACTION_NS + PATIENCE_NS));
    }

    #[test]
    fn a_view_may_run_through_zero() {
        assert!(View::ALL.contains(0.9999) && View::ALL.share() == 1.0);
        let back = View([270, 91]);
        assert!(back.contains(0.8) && back.contains(0.1) && !back.contains(0.5));
        assert!((back.share() - 181.0 / 360.0).abs() < 1e-12);
    }
}
