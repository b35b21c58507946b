//! Description of an HDL-64E for `menura profiles`.

use super::profile::{Hdl64eGeneration, Hdl64eProfile, PacketTiming};
use crate::describe::{Rows, Section, lidar_sections};

/// Sections that `menura profiles NAME` prints between the product's name and its sources.
pub(super) fn sections(driver: &Hdl64eProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &Hdl64eProfile) -> Rows {
    let order = match driver.generation {
        Hdl64eGeneration::S1 => "S1: three upper blocks, then one lower",
        Hdl64eGeneration::S2 => "S2: upper and lower alternate, calibration in the status bytes",
        Hdl64eGeneration::S3 => "S3: as S2, with CRC and dual return",
    };
    let two_point = driver.defaults.calibration.two_point_correction;
    let mut rows = vec![
        ("generation", order.to_string()),
        (
            "rotation",
            format!("{} to {} rpm", driver.rotation_rates.min_rpm, driver.rotation_rates.max_rpm),
        ),
        ("rate", rate(&driver.timing, 384)),
    ];
    if let Some(dual) = &driver.dual_timing {
        rows.push(("rate, dual return", rate(dual, 384)));
    }
    let corrections = if two_point { "with two-point correction" } else { "one-point correction" };
    rows.push((
        "calibration",
        format!("64 lasers, {corrections}; --calibration FILE.yaml or FILE.xml writes it"),
    ));
    rows
}

fn rate(timing: &PacketTiming, points: u32) -> String {
    let packets = timing.packets_per_second;
    format!("{packets:.2} packets/s, {:.0} points/s", packets * f64::from(points))
}
