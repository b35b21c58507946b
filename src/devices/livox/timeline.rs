//! Values that change at known times.

use std::collections::VecDeque;

use crate::time::SimTime;

/// A value as a function of time.
#[derive(Clone, Debug)]
pub struct Timeline<T>(VecDeque<(SimTime, T)>);

impl<T: PartialEq> Timeline<T> {
    /// A constant value.
    pub fn new(value: T) -> Self {
        Self(VecDeque::from([(SimTime::ZERO, value)]))
    }

    /// The value at the time `at`; the oldest known value if `at` is before the start of that value.
    pub fn at(&self, at: SimTime) -> &T {
        let then = self.0.iter().rev().find(|(since, _)| *since <= at);
        &then.unwrap_or(&self.0[0]).1
    }

    /// The value after all known changes.
    pub fn last(&self) -> &T {
        &self.0[self.0.len() - 1].1
    }

    /// Sets the value from `from` on and cancels later changes; returns whether this changes anything.
    pub fn set(&mut self, from: SimTime, value: T) -> bool {
        let before = self.0.len();
        while self.0.len() > 1 && self.0.back().is_some_and(|(since, _)| *since >= from) {
            self.0.pop_back();
        }
        let is_other = *self.last() != value;
        if is_other {
            self.0.push_back((from, value));
        }
        is_other || self.0.len() != before
    }

    /// Adds the value from `from` on, which must be later than all known changes.
    pub fn push(&mut self, from: SimTime, value: T) {
        self.0.push_back((from, value));
    }

    /// Time of the first change after `after`; `None` if no change is known.
    pub fn next_change(&self, after: SimTime) -> Option<SimTime> {
        self.0.iter().map(|(since, _)| *since).find(|since| *since > after)
    }

    /// Drops values whose time ended at or before `before`.
    pub fn forget(&mut self, before: SimTime) {
        while self.0.get(1).is_some_and(|(since, _)| *since <= before) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_replace_what_was_to_come() {
        let mut line = Timeline::new('a');
        assert!(line.set(SimTime(10), 'b'));
        line.push(SimTime(20), 'c');
        assert!(line.set(SimTime(15), 'b'));
        assert!(!line.set(SimTime(16), 'b'));
        assert_eq!([9, 10, 30].map(|at| *line.at(SimTime(at))), ['a', 'b', 'b']);
        assert_eq!(line.next_change(SimTime(0)), Some(SimTime(10)));
        line.forget(SimTime(12));
        assert_eq!((*line.at(SimTime(0)), line.next_change(SimTime(10))), ('b', None));
    }
}
