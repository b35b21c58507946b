//! Clocks ([`clock`], [`clock_state`]) and statistics of timing errors: their distribution, their largest values and
//! their trend.

#[allow(clippy::disallowed_methods)] // the one place that asks for the time and sleeps
pub mod clock;
pub(crate) mod clock_state;
pub(crate) mod drift;
pub(crate) mod errors;

pub use drift::{Timeline, Window};
pub use errors::{ErrorFigures, ErrorRecord, Worst, is_maximum};
