//! Streams read back: what arrived or was recorded, and what it says about its sender. One
//! implementation for live streams and recordings.

pub mod capture;
pub(crate) mod cloud;
pub(crate) mod data_flow;
pub(crate) mod flows;
pub(crate) mod gaps;
pub mod probe;
pub(crate) mod twin;
