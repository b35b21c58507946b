//! Clocks ([`clock`], [`clock_state`]) and figures of punctuality: how far instants are from where they should be, how
//! that is spread, when it was worst and whether it grows.

#[allow(clippy::disallowed_methods)] // the one place that asks for the time and sleeps
pub mod clock;
pub(crate) mod clock_state;
pub(crate) mod drift;
pub(crate) mod errors;

pub use drift::{Timeline, Window};
pub use errors::{ErrorFigures, ErrorRecord, Worst, is_maximum};
