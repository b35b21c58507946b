//! Description of a Livox for `menura profiles`.

use super::profile::LivoxProfile;
use crate::describe::{Rows, Section, lidar_sections};
use crate::wire::livox::command::SEARCH_PORT;

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &LivoxProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &LivoxProfile) -> Rows {
    let version = |parts: [u8; 4]| parts.map(|part| format!("{part:02}")).join(".");
    let command = driver.ports.command;
    vec![
        ("device type", driver.identity.device_type.to_string()),
        ("firmware", version(driver.identity.version)),
        ("loader", version(driver.identity.loader_version)),
        (
            "lines",
            format!("{} that fire together, non-repetitive pattern", driver.pattern.form.lines()),
        ),
        ("rate", format!("{} points/s", driver.pattern.point_rate_hz)),
        ("IMU", format!("{} samples/s", driver.imu.rate_hz)),
        ("commands", format!("UDP port {command}, searches at {SEARCH_PORT}")),
        ("keys", driver.interface.keys.len().to_string()),
    ]
}
