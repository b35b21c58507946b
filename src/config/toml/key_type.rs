//! What is known of the type of a key.

use serde_json::Value as Json;

use super::reader::Field;

/// How a value of type `T` is written in TOML.
pub trait KeyType<T> {
    /// Reads the value, or reports what is wrong with it.
    fn read(&self, field: &Field<'_>) -> Option<T>;

    /// `value` as it is written, for descriptions of the format; null if it cannot be.
    fn written(&self, _value: &T) -> Json {
        Json::Null
    }
}

/// A number whose unit was converted, without the digits that brought about.
pub fn shortest(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}
