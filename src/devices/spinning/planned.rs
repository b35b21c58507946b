//! Planned packets that can be planned again.
//!
//! Packets are requested ahead of time. If a change takes effect before all of them have left, the planner
//! returns to the first affected packet and plans again with the same packet numbers. So the output depends
//! on the commands and their times, not on how far ahead packets were planned.

use std::collections::VecDeque;

use crate::time::SimTime;

/// Planned packets, oldest first, each with the planner's state `S` before it.
#[derive(Debug)]
pub struct Planned<S>(VecDeque<Entry<S>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<S> {
    /// The packet's number.
    pub number: u64,
    /// Last time at which a change still affects the packet.
    pub last: SimTime,
    /// State of the planner before the packet.
    pub before: S,
}

impl<S> Planned<S> {
    pub fn push(&mut self, number: u64, last: SimTime, before: S) {
        self.0.push_back(Entry { number, last, before });
    }

    /// Drops all packets that a change at `from` affects; returns the first of them.
    pub fn undo(&mut self, from: SimTime) -> Option<Entry<S>> {
        let mut first = None;
        while let Some(entry) = self.0.pop_back_if(|entry| entry.last >= from) {
            first = Some(entry);
        }
        first
    }

    /// Drops entries that are needed only for changes before `before`.
    pub fn forget(&mut self, before: SimTime) {
        while self.0.pop_front_if(|entry| entry.last < before).is_some() {}
    }
}

impl<S> Default for Planned<S> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_undoes_what_it_concerns_and_returns_the_first_of_it() {
        let mut planned = Planned::default();
        for number in 0..5 {
            planned.push(number, SimTime(number * 10), "state");
        }
        planned.forget(SimTime(10));
        assert_eq!(planned.undo(SimTime(41)), None);
        let first = Entry { number: 2, last: SimTime(20), before: "state" };
        assert_eq!(planned.undo(SimTime(20)), Some(first));
        assert_eq!(planned.undo(SimTime(0)).map(|entry| entry.number), Some(1));
        assert_eq!(planned.undo(SimTime(0)), None);
    }
}
