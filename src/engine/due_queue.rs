//! A queue that sorts items by due time.

use std::collections::BTreeMap;

use crate::time::SimTime;

/// A queue ordered by due time, then rank, then arrival.
#[derive(Debug)]
pub struct DueQueue<T> {
    waiting: BTreeMap<(SimTime, u8, u64), T>,
    count: u64,
}

impl<T> Default for DueQueue<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), count: 0 }
    }
}

impl<T> DueQueue<T> {
    /// Adds an item that is due at `due`.
    pub fn push(&mut self, due: SimTime, item: T) {
        self.push_ranked(due, 0, item);
    }

    /// Adds an item that is due at `due`. Among items with the same due time, those with a lower rank come first, then
    /// those that were added earlier.
    pub fn push_ranked(&mut self, due: SimTime, rank: u8, item: T) {
        self.count += 1;
        self.waiting.insert((due, rank, self.count), item);
    }

    /// Removes and returns the first item, if it is due at or before `limit`.
    pub fn pop_until(&mut self, limit: SimTime) -> Option<(SimTime, T)> {
        let first = self.waiting.first_entry()?;
        let (due, ..) = *first.key();
        (due <= limit).then(|| (due, first.remove()))
    }

    /// Due time of the first item; `None` if the queue is empty.
    pub fn first_due(&self) -> Option<SimTime> {
        self.waiting.first_key_value().map(|((due, ..), _)| *due)
    }

    /// Removes all items for which `keep` returns false. `keep` gets the due time and the item.
    pub fn retain(&mut self, keep: impl Fn(SimTime, &T) -> bool) {
        self.waiting.retain(|(due, ..), item| keep(*due, item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_due_time_decides_and_then_who_came_first() {
        let mut queue = DueQueue::default();
        for (due, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (9, 'd'), (4, 'e')] {
            queue.push(SimTime(due), name);
        }
        queue.retain(|due, name| due < SimTime(4) || *name != 'e');
        let order: String =
            std::iter::from_fn(|| queue.pop_until(SimTime(8))).map(|(_, name)| name).collect();
        assert_eq!(order, "bac");
        assert_eq!(queue.first_due(), Some(SimTime(9)));
        assert_eq!(queue.pop_until(SimTime(9)), Some((SimTime(9), 'd')));
        assert_eq!(queue.first_due(), None);
        for (rank, name) in [(2, 'b'), (1, 'a'), (2, 'c')] {
            queue.push_ranked(SimTime(9), rank, name);
        }
        let order: String =
            std::iter::from_fn(|| queue.pop_until(SimTime(9))).map(|(_, name)| name).collect();
        assert_eq!(order, "abc");
    }
}
