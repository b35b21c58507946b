//! TOML values with their positions in the file, and messages that show these positions.
//!
//! [`keys_macro`] defines tables of keys, [`keys`] reads them. [`field`] checks a value's type and limits, [`reader`]
//! rejects unknown keys at the end of a table.

mod defaults;
pub mod diagnostic;
pub mod explore;
mod field;
pub mod key_types;
pub mod keys;
#[macro_use]
mod keys_macro;
mod limit;
mod nearest;
pub mod noted;
pub mod overrides;
pub mod read_files;
pub mod reader;
pub mod spec;
pub mod survey;
mod tree;
pub mod write;
