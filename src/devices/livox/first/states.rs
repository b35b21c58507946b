//! Which state the unit is in when.

use super::super::timeline::Timeline;
use super::faults::{Abnormal, is_stopped};
use super::profile::InterfaceProfile;
use crate::config::rig::faults::Timed;
use crate::time::SimTime;
use crate::wire::livox::first::command::state;

/// Without power, or starting so early that nobody is answered.
const OFF: u8 = 255;

/// The states of a unit.
#[derive(Clone, Debug)]
pub struct States {
    line: Timeline<u8>,
    /// When the motor started last.
    started_at: SimTime,
    boot_ns: u64,
    motor_start_ns: u64,
    faults: Vec<Timed<Abnormal>>,
}

impl States {
    /// A unit that has been working since before the first instant.
    pub fn new(profile: &InterfaceProfile) -> Self {
        let &InterfaceProfile { boot_ns, motor_start_ns, .. } = profile;
        Self {
            line: Timeline::new(state::NORMAL),
            started_at: SimTime::ZERO,
            boot_ns,
            motor_start_ns,
            faults: Vec::new(),
        }
    }

    /// What stops it from now on.
    pub fn set_faults(&mut self, faults: Vec<Timed<Abnormal>>) {
        self.faults = faults;
    }

    /// What is wrong with it.
    pub fn faults(&self) -> &[Timed<Abnormal>] {
        &self.faults
    }

    /// The state at an instant, as the unit reports it.
    pub fn at(&self, at: SimTime) -> u8 {
        let state = *self.line.at(at);
        if state != OFF && is_stopped(&self.faults, at) { state::ERROR } else { state }
    }

    /// Whether a fault stops points at an instant.
    pub fn is_stopped(&self, at: SimTime) -> bool {
        is_stopped(&self.faults, at)
    }

    /// Whether the unit is without power or answers nobody yet.
    pub fn is_off(&self, at: SimTime) -> bool {
        *self.line.at(at) == OFF
    }

    /// The part of the start that is over at an instant, per cent.
    pub fn progress(&self, at: SimTime) -> u32 {
        let passed = u128::from(at.0.saturating_sub(self.started_at.0)) * 100;
        passed.checked_div(self.motor_start_ns.into()).map_or(100, |percent| percent.min(100))
            as u32
    }

    /// The states from `from` on, faults left aside: since when, and which.
    pub fn from(&self, from: SimTime) -> Vec<(SimTime, u8)> {
        let changes = std::iter::successors(Some(from), |at| self.line.next_change(*at));
        changes.map(|at| (at, *self.line.at(at))).collect()
    }

    /// The unit loses its power at `at` and starts again, to work; when it answers.
    pub fn restart(&mut self, at: SimTime) -> SimTime {
        let up_at = SimTime(at.0 + self.boot_ns);
        self.line.set(at, OFF);
        self.start_motor(up_at);
        up_at
    }

    fn start_motor(&mut self, at: SimTime) {
        self.started_at = at;
        self.line.set(at, state::STARTING);
        self.line.push(SimTime(at.0 + self.motor_start_ns), state::NORMAL);
    }

    /// From `at` on the unit is to be in the state `target`; whether that takes a while.
    pub fn drive(&mut self, at: SimTime, target: u8) -> bool {
        match (*self.line.at(at), target) {
            (state::STARTING, state::NORMAL) => true,
            (state::POWER_SAVING, state::NORMAL) => {
                self.start_motor(at);
                true
            }
            (_, target) => {
                self.line.set(at, target);
                false
            }
        }
    }

    /// From `at` on the prisms have other speeds, if they turn: they start again.
    pub fn change_pattern(&mut self, at: SimTime) {
        if *self.line.at(at) == state::NORMAL {
            self.start_motor(at);
        }
    }

    /// Nobody asks for what was before `before` any more.
    pub fn forget(&mut self, before: SimTime) {
        self.line.forget(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::{NORMAL, POWER_SAVING, STANDBY, STARTING};

    #[test]
    fn the_motor_takes_its_time_from_power_saving_and_not_from_standby() {
        let profile =
            InterfaceProfile { boot_ns: 10, motor_start_ns: 40, ..InterfaceProfile::default() };
        let mut states = States::new(&profile);
        let at = |states: &States, at| states.at(SimTime(at));
        assert!(!states.drive(SimTime(100), STANDBY));
        assert!(!states.drive(SimTime(110), NORMAL));
        assert!(!states.drive(SimTime(120), POWER_SAVING));
        assert!(states.drive(SimTime(200), NORMAL));
        let seen = [100, 110, 120, 200, 239, 240].map(|then| at(&states, then));
        assert_eq!(seen, [STANDBY, NORMAL, POWER_SAVING, STARTING, STARTING, NORMAL]);
        assert_eq!(states.progress(SimTime(210)), 25);
        assert!(states.drive(SimTime(210), NORMAL), "it goes on");
        assert_eq!(at(&states, 240), NORMAL);
        assert_eq!(states.restart(SimTime(300)), SimTime(310));
        assert!(states.is_off(SimTime(309)) && at(&states, 310) == STARTING);
        assert_eq!(at(&states, 350), NORMAL);
    }
}
