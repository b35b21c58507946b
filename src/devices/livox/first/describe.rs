//! Description of a Livox of SDK 1 for `menura profiles`.

use super::profile::FirstProfile;
use crate::describe::{Rows, Section, lidar_sections};

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &FirstProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &FirstProfile) -> Rows {
    let version = driver.identity.version.map(|part| format!("{part:02}")).join(".");
    let lines = match driver.pattern.form.lines() {
        1 => "one, non-repetitive pattern".to_owned(),
        lines => format!("{lines} that fire in turn, non-repetitive pattern"),
    };
    let modes = driver.interface.return_modes.iter().map(|mode| mode.word());
    let modes = match driver.interface.return_modes.len() {
        0 => driver.defaults.return_mode.word().to_owned(),
        _ => modes.collect::<Vec<_>>().join(", "),
    };
    let imu = driver.imu.map_or("none".to_owned(), |imu| format!("{} samples/s", imu.rate_hz));
    vec![
        ("device type", driver.identity.device_type.to_string()),
        ("firmware", version),
        ("lines", lines),
        ("rate", format!("{} pulses/s", driver.pattern.pulse_rate_hz)),
        ("returns", modes),
        ("IMU", imu),
        ("commands", format!("UDP port {}", FirstProfile::COMMANDS)),
    ]
}
