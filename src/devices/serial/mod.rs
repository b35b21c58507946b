//! What families on a serial line share: the transmitter, and the reading of lines.
//!
//! [`uart`] sends bytes at the line's rate. [`line_read`] reads the keys that their profiles have in
//! common, [`decoder`] takes a recorded line apart into frames.

pub(crate) mod decoder;
pub(crate) mod line_read;
pub(crate) mod uart;
