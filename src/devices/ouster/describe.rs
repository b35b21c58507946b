//! What `menura profiles` shows of an Ouster.

use super::profile::OusterProfile;
use crate::describe::{Rows, Section, lidar_sections, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &OusterProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &OusterProfile) -> Rows {
    let altitudes = driver.beams.iter().map(|beam| beam.altitude_deg);
    let (low, high) =
        altitudes.fold((f64::MAX, f64::MIN), |(low, high), deg| (low.min(deg), high.max(deg)));
    let beams = driver.beams.len();
    let modes: Vec<_> = driver.modes.iter().map(|mode| mode.word()).collect();
    let formats: Vec<_> = driver.packet.formats.iter().map(|format| format.name()).collect();
    let most = driver.modes.iter().map(|mode| mode.columns_per_s()).max().unwrap_or_default();
    vec![
        ("driver", "ouster".to_string()),
        ("product line", driver.identity.product_line.clone()),
        ("image", driver.identity.image.clone()),
        ("beams", format!("{beams}, {} to {} degrees", shortest(low), shortest(high))),
        ("lidar modes", modes.join(", ")),
        ("lidar profiles", formats.join(", ")),
        ("rate", format!("up to {} points/s a return", most as usize * beams)),
        ("IMU", format!("{} packets/s", driver.imu.rate_hz)),
    ]
}

fn settings_rows(driver: &OusterProfile) -> Rows {
    let d = &driver.defaults;
    let [from, to] = d.azimuth_window_mdeg;
    vec![
        ("lidar_mode", d.lidar_mode.word().to_string()),
        ("udp_profile_lidar", d.lidar_format.name().to_string()),
        ("sector_deg", format!("[{from}, {to}]: the whole turn")),
        ("timestamp_mode", d.timestamp_mode.word().to_string()),
        ("operating_mode", d.operating_mode.word().to_string()),
        ("signal_multiplier", shortest(d.signal_multiplier)),
        ("phase_lock_enable", d.phase_lock_enable.to_string()),
        ("start_azimuth_deg", shortest(d.start_azimuth_rad.to_degrees())),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
    ]
}
