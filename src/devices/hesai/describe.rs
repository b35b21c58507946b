//! Description of a Hesai for `menura profiles`.

use super::profile::HesaiProfile;
use crate::describe::{self, Rows, Section, lidar_sections, shortest};

/// Sections of `menura profiles NAME` between name and sources.
pub(super) fn sections(driver: &HesaiProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &HesaiProfile) -> Rows {
    let elevations = driver.lasers.iter().map(|laser| laser.elevation_deg);
    let lasers = driver.lasers.len();
    let rates: Vec<_> = driver.rates_rpm.iter().map(u32::to_string).collect();
    let modes: Vec<_> = driver.return_modes.iter().map(|mode| mode.name()).collect();
    let firings = f64::from(driver.steps_at_600_rpm) * 10.0;
    vec![
        ("packets", driver.packet.format.name().to_string()),
        ("lasers", describe::lasers(elevations)),
        ("rotation", format!("{} rpm", rates.join(", "))),
        ("return modes", modes.join(", ")),
        ("rate", format!("{:.0} points/s a return", firings * lasers as f64)),
        ("firings", format!("every {} us", shortest((driver.period_ns() / 10.0).round() / 100.0))),
        ("years", format!("from {} on", driver.packet.year_base)),
    ]
}
