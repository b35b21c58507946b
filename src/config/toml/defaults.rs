//! Getters of values with a default. The code states each default only where it reads the key.

use super::reader::{Field, Limit};

impl Field<'_> {
    /// Like [`Field::number`], with a default.
    pub fn number_or(&self, limit: &Limit<f64>, default: f64) -> f64 {
        self.note_default(|| default.into());
        self.number(limit).unwrap_or(default)
    }

    /// Like [`Field::integer`], with a default.
    pub fn integer_or<T>(&self, limit: &Limit<i128>, default: T) -> T
    where
        T: TryFrom<i128> + Copy + Into<serde_json::Value>,
    {
        self.note_default(|| default.into());
        self.integer(limit).unwrap_or(default)
    }

    /// Like [`Field::boolean`], with a default.
    pub fn boolean_or(&self, default: bool) -> bool {
        self.note_default(|| default.into());
        self.boolean().unwrap_or(default)
    }

    /// Like [`Field::choice`], with a default.
    pub fn choice_or<T: Clone + PartialEq>(
        &self,
        words: &[(&str, T)],
        origin: &str,
        default: T,
    ) -> T {
        if let Some((word, _)) = words.iter().find(|(_, value)| *value == default) {
            self.note_default(|| (*word).into());
        }
        self.choice(words, origin).unwrap_or(default)
    }

    /// Like [`Field::numbers`], with a default.
    pub fn numbers_or<const N: usize>(&self, limit: &Limit<f64>, default: [f64; N]) -> [f64; N] {
        self.note_default(|| default.to_vec().into());
        self.numbers(limit).unwrap_or(default)
    }

    /// Records the default of a value for descriptions of the format. `default` is the value as it is written in a file.
    pub fn defaults_to(&self, default: impl Into<serde_json::Value>) {
        self.note_default(|| default.into());
    }

    /// Like [`Field::defaults_to`], for a default that takes time to compute.
    pub(super) fn note_default(&self, default: impl FnOnce() -> serde_json::Value) {
        if let Some(asked) = &self.asked {
            let default = default();
            if !default.is_null() {
                asked.defaults_to(default);
            }
        } else {
            self.note_default_here(default);
        }
    }

    /// Like [`Field::defaults_to`], for a default that depends on other values of the file. Descriptions of the format
    /// do not state it.
    pub fn defaults_here_to(&self, default: impl Into<serde_json::Value>) {
        if self.asked.is_none() {
            self.note_default_here(|| default.into());
        }
    }

    fn note_default_here(&self, default: impl FnOnce() -> serde_json::Value) {
        if let (Some(noted), None) = (&self.noted, &self.node) {
            noted.set_default(default());
        }
    }
}
