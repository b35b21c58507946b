//! GPS time in IMUs' messages.

/// GPS time of week of a POSIX time. GPS time has been 18 s ahead of UTC since 2017. GPS weeks begin on Sunday and are
/// counted from 1980-01-06.
pub fn gps_time_of_week_ms(unix_ms: i128) -> u32 {
    const GPS_EPOCH_UNIX_MS: i128 = 315_964_800_000;
    const LEAP_MS: i128 = 18_000;
    (unix_ms - GPS_EPOCH_UNIX_MS + LEAP_MS).rem_euclid(604_800_000) as u32
}
