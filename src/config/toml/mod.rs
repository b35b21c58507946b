//! TOML that remembers where every value was written, and messages that show it.

#[macro_use]
mod words;

pub mod diagnostic;
pub mod keys;
pub mod overrides;
pub mod reader;
