//! `lag_ms`, with the same meaning for every product: output latency in addition to the product's own delay.
//!
//! Documents and captures determine a product's own delay. It is 0 after the last firing of a Velodyne and after a scan
//! of an LMS 2xx, `transmission_delay_ms` after the last direction of an LMS1xx, `latency_ms` after a GNSS receiver's
//! epoch, and `output_delay_ms` after an IMU's sample. `lag_ms` delays the bytes further. It changes none of the times
//! in the bytes, except times of transmission. Replies to a host and PPS pulses are not delayed.

use crate::toml::key_types::Time;
use crate::toml::reader::Limit;

/// Key type of `lag_ms`, in profiles and in rigs.
pub fn key() -> Time {
    let why = "Menura: bytes are held in memory until they are due";
    Time(Limit::new(0.0..=10_000.0, "ms", why), 1e6)
}
