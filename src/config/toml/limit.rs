//! Limits of numbers.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Limits of a number.
#[derive(Clone, Debug)]
pub struct Limit<T> {
    pub(super) range: RangeInclusive<T>,
    pub(super) unit: &'static str,
    pub(super) origin: String,
}

impl<T: PartialOrd + Display> Limit<T> {
    /// A limit that includes both ends. `unit` may be empty; `origin` is the source of the limit.
    pub fn new(range: RangeInclusive<T>, unit: &'static str, origin: impl Into<String>) -> Self {
        Self { range, unit, origin: origin.into() }
    }

    /// The range and its unit as text, such as `1 to 10 Hz`.
    pub(crate) fn allowed(&self) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        format!("{} to {}{space}{}", self.range.start(), self.range.end(), self.unit)
    }

    /// Note for messages with the origin of the limit.
    pub(super) fn note(&self) -> String {
        limit_note(&self.origin)
    }
}

/// Note for messages with the origin of a limit; empty without an origin.
pub(super) fn limit_note(origin: &str) -> String {
    if origin.is_empty() { String::new() } else { format!("limit from {origin}") }
}
