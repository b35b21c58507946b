//! Description of a RoboSense for `menura profiles`.

use super::profile::{DifopPorts, RobosenseProfile};
use crate::describe::{self, Rows, Section, lidar_sections, shortest};

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &RobosenseProfile) -> Vec<Section> {
    lidar_sections(device_rows(driver), &driver.network, &driver.defaults.beam)
}

fn device_rows(driver: &RobosenseProfile) -> Rows {
    let lasers = driver.lasers.len();
    let [over, under] = driver.period_ns.map(|ns| ns as f64);
    let period_us = (over / under / 10.0).round() / 100.0;
    let modes: Vec<_> = driver.return_modes.iter().map(|(mode, _)| mode.word()).collect();
    let syncs: Vec<_> = driver.sync_modes.iter().map(|mode| mode.word()).collect();
    let DifopPorts { source_port: source, destination_port: destination } = driver.difop;
    let mut rows = vec![("packets", driver.packet.layout.word().to_string())];
    match &driver.raster {
        Some(raster) => {
            let (rows_count, columns) = (raster.rows, raster.columns);
            rows.push(("channels", format!("{lasers}, {rows_count} rows of {columns} firings")));
            let frames: Vec<_> =
                driver.rates_rpm.iter().map(|rpm| (rpm / 60).to_string()).collect();
            rows.push(("frames", format!("{} a second", frames.join(", "))));
        }
        None => {
            let elevations = driver.lasers.iter().map(|laser| laser.elevation_deg);
            rows.push(("lasers", describe::lasers(elevations)));
            let rates: Vec<_> = driver.rates_rpm.iter().map(u32::to_string).collect();
            rows.push(("rotation", format!("{} rpm", rates.join(", "))));
        }
    }
    rows.extend([
        ("return modes", modes.join(", ")),
        ("rate", format!("{:.0} points/s a return", 1e9 * under / over * lasers as f64)),
        ("firings", format!("every {} us", shortest(period_us))),
        ("state", format!("UDP port {destination} from {source}")),
        ("clock", syncs.join(", ")),
        ("UCWP", if driver.interface.has_ucwp { "yes" } else { "no" }.to_string()),
    ]);
    if let Some(imu) = &driver.imu {
        rows.push((
            "IMU",
            format!("{} samples/s at UDP port {}", imu.rate_hz, imu.destination_port),
        ));
    }
    rows
}
