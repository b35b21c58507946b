//! What `menura profiles` shows of a Velodyne with fixed optics.

use super::layout::Layout;
use super::profile::VelodyneProfile;
use crate::describe::{Rows, Section, lidar_sections, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &VelodyneProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &VelodyneProfile) -> Rows {
    let lasers = driver.lasers.len();
    let elevations = driver.lasers.iter().map(|laser| laser.elevation_rad.to_degrees());
    let (low, high) =
        elevations.fold((f64::MAX, f64::MIN), |(low, high), deg| (low.min(deg), high.max(deg)));
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
        ("driver", "velodyne".to_string()),
        ("lasers", format!("{lasers}, {} to {} degrees", shortest(low), shortest(high))),
        ("rotation", format!("{min} to {max} rpm in steps of {step}")),
        ("rate", rate(false)),
        ("rate, dual return", rate(true)),
        ("distance", format!("{} mm a count", shortest(driver.packet.distance_unit_m * 1000.0))),
    ]
}

fn settings_rows(driver: &VelodyneProfile) -> Rows {
    let d = &driver.defaults;
    let modes: Vec<_> = driver.return_modes.iter().map(|mode| mode.word()).collect();
    let [first, last] = d.sector_deg;
    vec![
        ("rotation_rate_rpm", d.rotation_rate_rpm.to_string()),
        ("return_mode", format!("{}, allowed {}", d.return_mode.word(), modes.join(", "))),
        ("start_azimuth_deg", shortest(d.start_azimuth_rad.to_degrees())),
        ("sector_deg", format!("[{first}, {last}]: the whole turn")),
        ("azimuth_jitter_centideg", shortest(d.azimuth_jitter_centideg)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
    ]
}
