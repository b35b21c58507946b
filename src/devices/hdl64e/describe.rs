//! What `menura profiles` shows of an HDL-64E.

use super::profile::{Hdl64eGeneration, Hdl64eProfile, PacketTiming};
use crate::describe::{Rows, Section, lidar_sections, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &Hdl64eProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &Hdl64eProfile) -> Rows {
    let order = match driver.generation {
        Hdl64eGeneration::S1 => "S1: three upper blocks, then one lower",
        Hdl64eGeneration::S2 => "S2: upper and lower alternate, calibration in the status bytes",
        Hdl64eGeneration::S3 => "S3: as S2, with CRC and dual return",
    };
    let two_point = driver.defaults.calibration.two_point_correction;
    let mut rows = vec![
        ("driver", "velodyne-hdl64e".to_string()),
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

fn settings_rows(driver: &Hdl64eProfile) -> Rows {
    let d = &driver.defaults;
    let modes: Vec<_> = driver.return_modes.iter().map(|mode| mode.word()).collect();
    let mut rows = vec![
        (
            "rotation_rate_rpm",
            format!(
                "{}, allowed {} to {}",
                d.rotation_rate_rpm, driver.rotation_rates.min_rpm, driver.rotation_rates.max_rpm
            ),
        ),
        ("return_mode", format!("{}, allowed {}", d.return_mode.word(), modes.join(", "))),
        ("start_azimuth_deg", shortest(d.start_azimuth_rad.to_degrees())),
        (
            "calibration_reading",
            format!("{}, allowed velodyne-decoder, ros", d.calibration_reading.word()),
        ),
        (
            "timestamp_marks",
            format!("{}, allowed first-firing, packet-end", d.timestamp_marks.word()),
        ),
    ];
    if driver.generation == Hdl64eGeneration::S1 {
        rows.push(("start_phase", format!("{}, allowed 0 to 3", d.s1_start_phase)));
        rows.push(("grouping", format!("{}, allowed block, datagram", d.s1_grouping.word())));
    } else {
        rows.push(("threshold_types", format!("{}, allowed f7-f6, 6-7", d.threshold_types.word())));
    }
    rows.push(("lag_ms", shortest(d.lag_ns as f64 / 1e6)));
    rows.push(("calibration", "the profile's; a rig may name a YAML file".to_string()));
    rows
}
