//! Figures of punctuality: how far instants are from where they should be, how that is spread,
//! when it was worst and whether it grows.

pub(crate) mod drift;
pub(crate) mod errors;

pub use drift::{Timeline, Window};
pub use errors::{ErrorFigures, ErrorRecord, Worst, is_maximum};
