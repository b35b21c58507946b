//! Description of an Ouster for `menura profiles`.

use super::profile::OusterProfile;
use crate::describe::{Rows, Section, lasers, lidar_sections};

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &OusterProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &OusterProfile) -> Rows {
    let altitudes = driver.beams.iter().map(|beam| beam.altitude_deg);
    let beams = driver.beams.len();
    let modes: Vec<_> = driver.modes.iter().map(|mode| mode.word()).collect();
    let formats: Vec<_> = driver.packet.formats.iter().map(|format| format.name()).collect();
    let most = driver.modes.iter().map(|mode| mode.columns_per_s()).max().unwrap_or_default();
    vec![
        ("product line", driver.identity.product_line.clone()),
        ("image", driver.identity.image.clone()),
        ("beams", lasers(altitudes)),
        ("lidar modes", modes.join(", ")),
        ("lidar profiles", formats.join(", ")),
        ("rate", format!("up to {} points/s a return", most as usize * beams)),
        ("IMU", format!("{} packets/s", driver.imu.rate_hz)),
    ]
}
