//! Description of a Velodyne with fixed optics for `menura profiles`.

use super::layout::Layout;
use super::profile::VelodyneProfile;
use crate::describe::{self, Rows, Section, lidar_sections, shortest};

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &VelodyneProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &VelodyneProfile) -> Rows {
    let lasers = driver.lasers.len();
    let elevations = driver.lasers.iter().map(|laser| laser.elevation_rad.to_degrees());
    let rate = |is_dual: bool| {
        let sequences = Layout::new(lasers, is_dual).sequences as f64;
        let packets = 1e9 / (sequences * driver.sequence_ns as f64);
        let returns = if is_dual { 2.0 } else { 1.0 };
        let points = packets * sequences * lasers as f64 * returns;
        format!("{packets:.2} packets/s, {points:.0} points/s")
    };
    let (min, max) = (driver.rotation_rates.min_rpm, driver.rotation_rates.max_rpm);
    let step = driver.rotation_rates.step_rpm;
    vec![
        ("lasers", describe::lasers(elevations)),
        ("rotation", format!("{min} to {max} rpm in steps of {step}")),
        ("rate", rate(false)),
        ("rate, dual return", rate(true)),
        ("distance", format!("{} mm a count", shortest(driver.packet.distance_unit_m * 1000.0))),
    ]
}
