//! Common parts of families on a serial line: transmitter, profile keys, decoder.
//!
//! [`uart`] sends bytes at the line's rate. [`line_read`] reads common keys of profiles, [`decoder`] splits a
//! recorded line into frames.

pub(crate) mod decoder;
pub(crate) mod line_read;
pub(crate) mod uart;
