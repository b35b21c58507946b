//! Which state a unit is in when, and the faults that stop it, alike for both protocols.

use super::timeline::Timeline;
use crate::config::rig::faults::Timed;
use crate::time::SimTime;

/// Without power, or starting so early that nobody is answered: no number of a protocol.
pub const OFF: u8 = 255;

/// Something wrong that a unit reports.
pub trait Alert {
    /// The state of a unit that has stopped.
    const ERROR: u8;

    /// Whether the unit stops.
    fn is_stop(&self) -> bool;
}

/// Those that are on at `at`.
pub fn on<K>(faults: &[Timed<K>], at: SimTime) -> impl Iterator<Item = &K> {
    faults.iter().filter(move |fault| fault.is_on(at)).map(|fault| &fault.kind)
}

/// Whether the unit has stopped because of one.
pub fn is_stopped<K: Alert>(faults: &[Timed<K>], at: SimTime) -> bool {
    on(faults, at).any(|fault| fault.is_stop())
}

/// The states of a unit whose faults are `K`. How they change is the protocol's own.
#[derive(Clone, Debug)]
pub struct UnitStates<K, M> {
    /// The states, faults left aside.
    pub line: Timeline<u8>,
    /// How long changes take, and when the latest began.
    pub motor: M,
    faults: Vec<Timed<K>>,
}

impl<K: Alert, M> UnitStates<K, M> {
    /// A unit that has been in the state `state` since before the first instant.
    pub fn in_state(state: u8, motor: M) -> Self {
        Self { line: Timeline::new(state), motor, faults: Vec::new() }
    }

    /// What stops it from now on.
    pub fn set_faults(&mut self, faults: Vec<Timed<K>>) {
        self.faults = faults;
    }

    /// What is wrong with it.
    pub fn faults(&self) -> &[Timed<K>] {
        &self.faults
    }

    /// The state at an instant, as the unit reports it.
    pub fn at(&self, at: SimTime) -> u8 {
        let state = *self.line.at(at);
        if state != OFF && self.is_stopped(at) { K::ERROR } else { state }
    }

    /// Whether a fault stops points at an instant.
    pub fn is_stopped(&self, at: SimTime) -> bool {
        is_stopped(&self.faults, at)
    }

    /// Whether the unit is without power or answers nobody yet.
    pub fn is_off(&self, at: SimTime) -> bool {
        *self.line.at(at) == OFF
    }

    /// The states from `from` on, faults left aside: since when, and which.
    pub fn from(&self, from: SimTime) -> Vec<(SimTime, u8)> {
        let changes = std::iter::successors(Some(from), |at| self.line.next_change(*at));
        changes.map(|at| (at, *self.line.at(at))).collect()
    }

    /// Nobody asks for what was before `before` any more.
    pub fn forget(&mut self, before: SimTime) {
        self.line.forget(before);
    }
}
