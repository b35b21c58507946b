//! What `menura profiles` shows of a Hesai.

use super::profile::HesaiProfile;
use crate::describe::{Rows, Section, lidar_sections, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &HesaiProfile) -> Vec<Section> {
    let (beam, noise) = (&driver.defaults.beam, &driver.defaults.noise);
    lidar_sections(device_rows(driver), &driver.network, settings_rows(driver), beam, noise)
}

fn device_rows(driver: &HesaiProfile) -> Rows {
    let elevations = driver.lasers.iter().map(|laser| laser.elevation_deg);
    let (low, high) =
        elevations.fold((f64::MAX, f64::MIN), |(low, high), deg| (low.min(deg), high.max(deg)));
    let lasers = driver.lasers.len();
    let rates: Vec<_> = driver.rates_rpm.iter().map(u32::to_string).collect();
    let modes: Vec<_> = driver.return_modes.iter().map(|mode| mode.name()).collect();
    let firings = f64::from(driver.steps_at_600_rpm) * 10.0;
    vec![
        ("driver", "hesai".to_string()),
        ("packets", driver.packet.format.name().to_string()),
        ("lasers", format!("{lasers}, {} to {} degrees", shortest(low), shortest(high))),
        ("rotation", format!("{} rpm", rates.join(", "))),
        ("return modes", modes.join(", ")),
        ("rate", format!("{:.0} points/s a return", firings * lasers as f64)),
        ("firings", format!("every {} us", shortest((driver.period_ns() / 10.0).round() / 100.0))),
        ("years", format!("from {} on", driver.packet.year_base)),
    ]
}

fn settings_rows(driver: &HesaiProfile) -> Rows {
    let d = &driver.defaults;
    let [first, last] = d.range_decideg.map(|end| shortest(f64::from(end) / 10.0));
    vec![
        ("serial", d.serial.clone()),
        ("rotation_rate_rpm", d.rotation_rate_rpm.to_string()),
        ("return_mode", d.return_mode.name().to_string()),
        ("dual_order", d.dual_order.word().to_string()),
        ("sector_deg", format!("[{first}, {last}]: the whole turn")),
        ("sync_enable", d.sync_enable.to_string()),
        ("udp_sequence", d.has_sequence.to_string()),
        ("clock_source", d.clock.source.word().to_string()),
        ("start_azimuth_deg", shortest(d.start_azimuth_rad.to_degrees())),
        ("azimuth_jitter_centideg", shortest(d.azimuth_jitter_centideg)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
    ]
}
