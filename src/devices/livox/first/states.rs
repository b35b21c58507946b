//! The states of a unit of SDK 1 over time.

use super::super::timeline::Timeline;
use super::super::unit_states::{OFF, UnitStates};
use super::faults::Abnormal;
use super::profile::InterfaceProfile;
use crate::time::SimTime;
use crate::wire::livox::first::command::state;

/// The states of a unit.
pub type States = UnitStates<Abnormal, Motor>;

/// Durations of boot and motor start-up, and the time of the latest motor start.
#[derive(Clone, Debug)]
pub struct Motor {
    /// For each time, the latest motor start until then; a planned restart adds a start in the future.
    started_at: Timeline<SimTime>,
    boot_ns: u64,
    start_ns: u64,
}

impl States {
    /// A unit that is already working at the start of the run.
    pub fn new(profile: &InterfaceProfile) -> Self {
        let &InterfaceProfile { boot_ns, motor_start_ns, .. } = profile;
        let started_at = Timeline::new(SimTime::ZERO);
        let motor = Motor { started_at, boot_ns, start_ns: motor_start_ns };
        Self::in_state(state::NORMAL, motor)
    }

    /// Progress of the motor's start-up at a time, percent.
    pub fn progress(&self, at: SimTime) -> u32 {
        let Motor { started_at, start_ns, .. } = &self.motor;
        let passed = u128::from(at.0.saturating_sub(started_at.at(at).0)) * 100;
        passed.checked_div((*start_ns).into()).map_or(100, |percent| percent.min(100)) as u32
    }

    /// Switches the unit off at `at` and on again. Returns the time from which the unit answers.
    pub fn restart(&mut self, at: SimTime) -> SimTime {
        let up_at = SimTime(at.0 + self.motor.boot_ns);
        self.line.set(at, OFF);
        self.start_motor(up_at, state::NORMAL);
        up_at
    }

    fn start_motor(&mut self, at: SimTime, target: u8) {
        self.motor.started_at.set(at, at);
        self.end_start(at, target);
    }

    /// Sets the states from `at` on: the motor completes its latest start, and the unit is then in the state `target`.
    fn end_start(&mut self, at: SimTime, target: u8) {
        let started_at = *self.motor.started_at.at(at);
        self.line.set(at, state::STARTING);
        self.line.push(SimTime(started_at.0 + self.motor.start_ns), target);
    }

    /// Starts a change to the state `target` at `at`. Returns whether the change takes time; otherwise it is complete
    /// at once.
    pub fn drive(&mut self, at: SimTime, target: u8) -> bool {
        self.motor.started_at.forget(at);
        match (*self.line.at(at), target) {
            (state::STARTING, state::NORMAL | state::STANDBY) => {
                self.end_start(at, target);
                true
            }
            (state::POWER_SAVING, state::NORMAL | state::STANDBY) => {
                self.start_motor(at, target);
                true
            }
            (_, target) => {
                self.line.set(at, target);
                false
            }
        }
    }

    /// Reacts to a change of the prism speeds at `at`: if the unit is in the normal state then, its motor starts up
    /// again.
    pub fn change_pattern(&mut self, at: SimTime) {
        self.motor.started_at.forget(at);
        if *self.line.at(at) == state::NORMAL {
            self.start_motor(at, state::NORMAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::{NORMAL, POWER_SAVING, STANDBY, STARTING};

    fn states() -> States {
        let profile =
            InterfaceProfile { boot_ns: 10, motor_start_ns: 40, ..InterfaceProfile::default() };
        States::new(&profile)
    }

    #[test]
    fn standby_needs_a_running_motor() {
        let mut states = states();
        states.drive(SimTime(100), POWER_SAVING);
        assert!(states.drive(SimTime(200), STANDBY));
        // Another target leaves the start as it is.
        assert!(states.drive(SimTime(210), NORMAL));
        assert_eq!([239, 240].map(|at| states.at(SimTime(at))), [STARTING, NORMAL]);
        assert!(states.drive(SimTime(220), STANDBY));
        assert_eq!([239, 240].map(|at| states.at(SimTime(at))), [STARTING, STANDBY]);
        assert_eq!(states.progress(SimTime(230)), 75);
        assert!(!states.drive(SimTime(250), NORMAL));
        states.drive(SimTime(300), POWER_SAVING);
        states.drive(SimTime(400), STANDBY);
        assert!(!states.drive(SimTime(410), POWER_SAVING));
        assert_eq!([410, 500].map(|at| states.at(SimTime(at))), [POWER_SAVING; 2]);
    }

    #[test]
    fn the_motor_takes_its_time_from_power_saving_and_not_from_standby() {
        let mut states = states();
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
        // This motor start is independent of the start after the planned restart.
        states.drive(SimTime(400), POWER_SAVING);
        assert!(states.drive(SimTime(500), NORMAL));
        states.restart(SimTime(600));
        assert_eq!([510, 620].map(|then| states.progress(SimTime(then))), [25, 25]);
    }
}
