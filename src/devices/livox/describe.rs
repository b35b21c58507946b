//! What `menura profiles` shows of a Livox.

use super::profile::LivoxProfile;
use crate::describe::{Rows, Section, lidar_sections, shortest};
use crate::wire::livox::command::SEARCH_PORT;

/// The sections between name and sources.
pub(super) fn sections(driver: &LivoxProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &LivoxProfile) -> Rows {
    let [application, loader, _] = driver.identity.versions;
    let version = |parts: [u8; 4]| parts.map(|part| format!("{part:02}")).join(".");
    let command = driver.ports.command;
    vec![
        ("driver", "livox".to_string()),
        ("device type", driver.identity.device_type.to_string()),
        ("firmware", version(application)),
        ("loader", version(loader)),
        ("lines", format!("{} that fire together, non-repetitive pattern", driver.form.lines())),
        ("rate", format!("{} points/s", driver.point_rate_hz)),
        ("IMU", format!("{} samples/s", driver.imu.rate_hz)),
        ("commands", format!("UDP port {command}, searches at {SEARCH_PORT}")),
        ("keys", driver.interface.keys.len().to_string()),
    ]
}

fn settings_rows(driver: &LivoxProfile) -> Rows {
    let d = &driver.defaults;
    vec![
        ("serial", d.serial.clone()),
        ("target_state", d.target_state.word().to_string()),
        ("data_type", d.data_type.word().to_string()),
        ("imu_enable", d.imu_enable.to_string()),
        ("stored_destination", d.stored_destination.to_string()),
        ("push_period_s", shortest(d.push_period_ns as f64 / 1e9)),
        ("spin_hz", shortest(d.spin_hz)),
        ("swing_hz", shortest(d.swing_hz)),
        ("echo", d.echo.word().to_string()),
        ("tags", d.tags.word().to_string()),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
    ]
}
