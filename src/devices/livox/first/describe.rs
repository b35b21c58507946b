//! What `menura profiles` shows of a Livox of SDK 1.

use super::profile::FirstProfile;
use crate::describe::{Rows, Section, lidar_sections, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &FirstProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &FirstProfile) -> Rows {
    let version = driver.identity.version.map(|part| format!("{part:02}")).join(".");
    let lines = match driver.form.lines() {
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
        ("driver", "livox-sdk1".to_string()),
        ("device type", driver.identity.device_type.to_string()),
        ("firmware", version),
        ("lines", lines),
        ("rate", format!("{} pulses/s", driver.pulse_rate_hz)),
        ("returns", modes),
        ("IMU", imu),
        ("commands", format!("UDP port {}", FirstProfile::COMMANDS)),
    ]
}

fn settings_rows(driver: &FirstProfile) -> Rows {
    let d = &driver.defaults;
    let mut rows = vec![
        ("serial", d.serial.clone()),
        ("slot", d.slot.to_string()),
        ("coordinates", d.coordinates.word().to_string()),
        ("return_mode", d.return_mode.word().to_string()),
        ("streams_alone", d.streams_alone.to_string()),
        ("broadcast_period_s", shortest(d.broadcast_period_ns as f64 / 1e9)),
        ("prism_rpm", format!("{:?}", d.prism_rpm)),
        ("with_tags", d.with_tags.to_string()),
        ("judged_tags", d.judged_tags.to_string()),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
    ];
    if driver.imu.is_some() {
        rows.insert(4, ("imu_enable", d.imu_enable.to_string()));
    }
    rows
}
