//! The states of a unit of SDK 2 over time.

use super::faults::Hms;
use super::profile::InterfaceProfile;
use super::timeline::Timeline;
use super::unit_states::{OFF, UnitStates};
use crate::time::SimTime;
use crate::wire::livox::key::state;

/// The states of a unit.
pub type States = UnitStates<Hms, Motor>;

/// Durations of the state changes, and the times of the latest self-check and motor start.
#[derive(Clone, Debug)]
pub struct Motor {
    /// End of the self-check after the latest power-up, as a function of time; a planned restart adds an entry.
    checked_at: Timeline<SimTime>,
    /// Time of the latest motor start, as a function of time.
    started_at: Timeline<SimTime>,
    boot_ns: u64,
    self_check_ns: u64,
    start_ns: u64,
    stop_ns: u64,
}

impl States {
    /// A unit that is already in the state `target` at the start of the run.
    pub fn new(profile: &InterfaceProfile, target: u8) -> Self {
        let &InterfaceProfile { boot_ns, self_check_ns, motor_start_ns, motor_stop_ns, .. } =
            profile;
        let motor = Motor {
            checked_at: Timeline::new(SimTime::ZERO),
            started_at: Timeline::new(SimTime::ZERO),
            boot_ns,
            self_check_ns,
            start_ns: motor_start_ns,
            stop_ns: motor_stop_ns,
        };
        Self::in_state(target, motor)
    }

    /// Switches the power off and on at `at`; afterwards the unit starts and changes to `target`. Returns the time from
    /// which the unit answers.
    pub fn restart(&mut self, at: SimTime, target: u8) -> SimTime {
        let up_at = SimTime(at.0 + self.motor.boot_ns);
        let checked_at = SimTime(up_at.0 + self.motor.self_check_ns);
        self.line.set(at, OFF);
        self.line.push(up_at, state::SELF_CHECK);
        self.motor.checked_at.set(at, checked_at);
        self.change(checked_at, state::IDLE, target);
        up_at
    }

    /// Starts a change to the state `target` at `at`, and cancels a planned restart.
    pub fn drive(&mut self, at: SimTime, target: u8) {
        let checked_at = *self.motor.checked_at.at(at);
        self.motor.checked_at.forget(at);
        self.motor.started_at.forget(at);
        // During the self-check, the change is postponed until the self-check ends. The motor is then at rest.
        match at < checked_at {
            true => self.change(checked_at, state::IDLE, target),
            false => self.change(at, *self.line.at(at), target),
        }
    }

    fn change(&mut self, begins: SimTime, from: u8, target: u8) {
        use state::{IDLE, READY, SAMPLING, STARTING};
        let after = |ns: u64| SimTime(begins.0 + ns);
        let (first, then) = match (from, target) {
            (IDLE, SAMPLING | READY) => {
                self.motor.started_at.set(begins, begins);
                (STARTING, Some((after(self.motor.start_ns), target)))
            }
            (STARTING, SAMPLING | READY) => {
                let started_at = *self.motor.started_at.at(begins);
                (STARTING, Some((SimTime(started_at.0 + self.motor.start_ns), target)))
            }
            (SAMPLING | READY, IDLE) => (READY, Some((after(self.motor.stop_ns), IDLE))),
            (_, target) => (target, None),
        };
        self.line.set(begins, first);
        if let Some((at, state)) = then {
            self.line.push(at, state);
        }
    }

    /// Changes the pattern at `at`. A running motor starts up again to reach the state `target`.
    pub fn change_pattern(&mut self, at: SimTime, target: u8) {
        let is_running = matches!(*self.line.at(at), state::SAMPLING | state::READY);
        if is_running && at >= *self.motor.checked_at.at(at) {
            self.line.set(at, state::IDLE);
            self.drive(at, target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state::{IDLE, READY, SAMPLING, SELF_CHECK, STARTING};

    fn states() -> States {
        let profile = InterfaceProfile {
            boot_ns: 10,
            self_check_ns: 20,
            motor_start_ns: 30,
            motor_stop_ns: 40,
            ..InterfaceProfile::default()
        };
        States::new(&profile, SAMPLING)
    }

    fn seen(states: &States, at: &[u64]) -> Vec<u8> {
        at.iter().map(|at| states.at(SimTime(*at))).collect()
    }

    #[test]
    fn to_rest_and_back() {
        let mut states = states();
        states.drive(SimTime(100), IDLE);
        assert_eq!(seen(&states, &[99, 100, 139, 140]), [SAMPLING, READY, READY, IDLE]);
        states.drive(SimTime(200), READY);
        states.drive(SimTime(210), SAMPLING);
        assert_eq!(seen(&states, &[199, 200, 229, 230]), [IDLE, STARTING, STARTING, SAMPLING]);
    }

    #[test]
    fn a_restart_takes_its_time_and_can_be_told_otherwise_meanwhile() {
        let mut states = states();
        assert_eq!(states.restart(SimTime(100), SAMPLING), SimTime(110));
        assert!(states.is_off(SimTime(105)));
        let told = [OFF, SELF_CHECK, STARTING, SAMPLING];
        assert_eq!(seen(&states, &[100, 129, 130, 160]), told);
        states.drive(SimTime(115), IDLE);
        assert_eq!(seen(&states, &[115, 129, 130, 200]), [SELF_CHECK, SELF_CHECK, IDLE, IDLE]);
    }

    #[test]
    fn states_change_until_a_restart_that_is_to_come() {
        let mut states = states();
        states.restart(SimTime(500), SAMPLING);
        states.drive(SimTime(100), IDLE);
        states.restart(SimTime(500), IDLE);
        assert_eq!(seen(&states, &[99, 100, 140, 499]), [SAMPLING, READY, IDLE, IDLE]);
        assert_eq!(seen(&states, &[500, 510, 530]), [OFF, SELF_CHECK, IDLE]);
        // This motor start is independent of the start after the planned restart.
        states.drive(SimTime(200), READY);
        states.restart(SimTime(500), READY);
        states.drive(SimTime(210), SAMPLING);
        states.restart(SimTime(500), SAMPLING);
        assert_eq!(seen(&states, &[229, 230, 500]), [STARTING, SAMPLING, OFF]);
        assert_eq!(seen(&states, &[530, 559, 560]), [STARTING, STARTING, SAMPLING]);
    }
}
