//! `lag_ms`, which means the same for every product: how much later than the product's own delay the
//! bytes of its measurements leave.
//!
//! A product's own delay is what its documents and captures say: none after a Velodyne's last firing and
//! after a scan of an LMS 2xx, `transmission_delay_ms` after the last direction of an LMS1xx,
//! `latency_ms` after a receiver's epoch, `output_delay_ms` after an IMU's sample. The lag is what a
//! user wants beyond it. It holds bytes back and changes no time that is written in them, except where
//! they say when they were sent; answers to a host and time pulses are not held back.

use crate::toml::key_types::{KeyType, Time};
use crate::toml::keys::Keys;
use crate::toml::reader::{Limit, TableReader};

fn limit() -> Limit<f64> {
    Limit::new(0.0..=10_000.0, "ms", "Menura: bytes are held in memory until they are due")
}

/// Reads `lag_ms` of a rig, or of a profile's table that a rig may override key by key.
pub fn read(keys: &mut Keys<'_>, lag_ns: &mut u64) {
    keys.time_ns("lag_ms", &limit(), 1e6, lag_ns);
}

/// The key of another table of a profile.
pub fn key() -> Time {
    Time(limit(), 1e6)
}

/// Reads `lag_ms` of another table of a profile, nanoseconds.
pub fn of_profile(table: &mut TableReader<'_>) -> Option<u64> {
    key().read(&table.required("lag_ms"))
}
