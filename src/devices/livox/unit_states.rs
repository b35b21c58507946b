//! States of a unit over time, and the faults that stop it; for both Livox protocols.

use super::timeline::Timeline;
use crate::config::rig::faults::Timed;
use crate::time::SimTime;

/// State number of a unit without power or during boot, when it does not answer. No protocol sends this number.
pub const OFF: u8 = 255;

/// A fault that a unit reports.
pub trait Alert {
    /// Number of the state that the unit reports while a fault stops it.
    const ERROR: u8;

    /// Whether the fault stops the unit.
    fn is_stop(&self) -> bool;
}

/// The faults in effect at `at`.
pub fn on<K>(faults: &[Timed<K>], at: SimTime) -> impl Iterator<Item = &K> {
    faults.iter().filter(move |fault| fault.is_on(at)).map(|fault| &fault.kind)
}

/// Whether a fault has stopped the unit at `at`.
pub fn is_stopped<K: Alert>(faults: &[Timed<K>], at: SimTime) -> bool {
    on(faults, at).any(|fault| fault.is_stop())
}

/// The states of a unit with faults of type `K`. Each protocol determines how the states change.
#[derive(Clone, Debug)]
pub struct UnitStates<K, M> {
    /// The states of the unit as they would be without faults.
    pub line: Timeline<u8>,
    /// State of the motor as the protocol needs it: durations of state changes, and the latest motor start.
    pub motor: M,
    faults: Vec<Timed<K>>,
}

impl<K: Alert, M> UnitStates<K, M> {
    /// A unit that is already in `state` at the start of the run.
    pub fn in_state(state: u8, motor: M) -> Self {
        Self { line: Timeline::new(state), motor, faults: Vec::new() }
    }

    /// Replaces the faults of the unit.
    pub fn set_faults(&mut self, faults: Vec<Timed<K>>) {
        self.faults = faults;
    }

    /// The faults of the unit, in effect or not.
    pub fn faults(&self) -> &[Timed<K>] {
        &self.faults
    }

    /// State that the unit reports at `at`.
    pub fn at(&self, at: SimTime) -> u8 {
        let state = *self.line.at(at);
        if state != OFF && self.is_stopped(at) { K::ERROR } else { state }
    }

    /// Whether a fault stops the unit at `at`, and with it the output of points and IMU samples.
    pub fn is_stopped(&self, at: SimTime) -> bool {
        is_stopped(&self.faults, at)
    }

    /// Whether the unit has no power or does not answer yet.
    pub fn is_off(&self, at: SimTime) -> bool {
        *self.line.at(at) == OFF
    }

    /// The states from `from` on, as they would be without faults, each with its start; the first one has the time
    /// `from`.
    pub fn from(&self, from: SimTime) -> Vec<(SimTime, u8)> {
        let changes = std::iter::successors(Some(from), |at| self.line.next_change(*at));
        changes.map(|at| (at, *self.line.at(at))).collect()
    }

    /// Drops states that ended at or before `before`.
    pub fn forget(&mut self, before: SimTime) {
        self.line.forget(before);
    }
}
