//! `lag_ms`, which means the same for every product: output latency in addition to the product's own delay.
//!
//! Documents and captures determine a product's own delay: none after a Velodyne's last firing and after a
//! scan of an LMS 2xx, `transmission_delay_ms` after the last direction of an LMS1xx, `latency_ms` after a
//! GNSS receiver's epoch, `output_delay_ms` after an IMU's sample. `lag_ms` is added to it. It delays bytes
//! and changes no time in them, except a time of transmission; answers to a host and PPS pulses are not
//! delayed.

use crate::toml::key_types::Time;
use crate::toml::keys::Keys;
use crate::toml::reader::Limit;

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
