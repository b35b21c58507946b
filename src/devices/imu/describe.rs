//! What `menura profiles NAME` shows of an IMU, in the units and with the keys a rig uses.

use super::profile::ImuProfile;
use crate::describe::{Rows, Section, shortest};
use crate::sensors::imu::settings::TriadErrors;

const DEG: f64 = std::f64::consts::PI / 180.0;
const G: f64 = 9.806_65;

/// Headings with their rows.
pub(super) fn sections(driver: &ImuProfile) -> Vec<Section> {
    let d = &driver.defaults;
    vec![
        ("device", device(driver)),
        ("settings of a rig, with their defaults", settings(driver)),
        (
            "settings.gyro",
            triad(
                &d.model.gyro,
                [
                    ("noise_density_deg_s_sqrt_hz", DEG),
                    ("bias_instability_deg_h", DEG / 3600.0),
                    ("turn_on_bias_std_deg_s", DEG),
                    ("range_deg_s", DEG),
                ],
            ),
        ),
        (
            "settings.accelerometer",
            triad(
                &d.model.accel,
                [
                    ("noise_density_ug_sqrt_hz", G * 1e-6),
                    ("bias_instability_ug", G * 1e-6),
                    ("turn_on_bias_std_mg", G * 1e-3),
                    ("range_g", G),
                ],
            ),
        ),
        (
            "settings.magnetometer",
            triad(
                &d.model.mag,
                [
                    ("noise_density_ugauss_sqrt_hz", 1e-6),
                    ("bias_instability_ugauss", 1e-6),
                    ("turn_on_bias_std_gauss", 1.0),
                    ("range_gauss", 1.0),
                ],
            ),
        ),
        ("settings.attitude", attitude(driver)),
    ]
}

fn list(values: &[u32]) -> String {
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn device(driver: &ImuProfile) -> Rows {
    let identity = &driver.identity;
    vec![
        ("driver", driver.family.key.to_owned()),
        ("model", format!("{}, serial number {}", identity.model, identity.serial)),
        ("firmware", format!("{}, hardware {}", identity.firmware, identity.hardware)),
        ("line", format!("8N1, {} baud", list(&driver.baud_rates))),
        (
            "samples",
            format!(
                "{} Hz inside, {} between outputs",
                driver.sample_rate_hz,
                driver.decimation.word()
            ),
        ),
        ("messages", driver.defaults.messages.join(", ")),
    ]
}

fn settings(driver: &ImuProfile) -> Rows {
    let d = &driver.defaults;
    vec![
        (
            "rate_hz",
            format!(
                "{}, up to {}, a divisor of {}",
                d.rate_hz, driver.max_rate_hz, driver.sample_rate_hz
            ),
        ),
        ("baud_rate", d.baud_rate.to_string()),
        ("streaming", d.is_streaming.to_string()),
        ("uptime_s", shortest(d.on_for_ns as f64 / 1e9)),
        ("window_ms", shortest(d.model.window_ns as f64 / 1e6)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
        ("earth_rate", d.model.earth_rate.to_string()),
        ("magnetic_field_gauss", "world-model, or [north, east, down]".to_string()),
        ("errors", "profile, allowed profile, none".to_string()),
    ]
}

fn triad(errors: &TriadErrors, keys: [(&'static str, f64); 4]) -> Rows {
    let values =
        [errors.noise_density, errors.bias_instability, errors.turn_on_bias_std, errors.range];
    let mut rows: Rows =
        keys.iter().zip(values).map(|((key, unit), x)| (*key, shortest(x / unit))).collect();
    rows.push(("bias_correlation_s", shortest(errors.bias_correlation_s)));
    rows.push(("scale_factor_std_percent", shortest(errors.scale_factor_std * 100.0)));
    rows.push(("misalignment_std_deg", shortest(errors.misalignment_std_rad / DEG)));
    rows.push(("bandwidth_hz", shortest(errors.bandwidth_hz)));
    rows
}

fn attitude(driver: &ImuProfile) -> Rows {
    let a = &driver.defaults.model.attitude;
    let from = if a.heading_is_magnetic { "magnetic-north" } else { "true-north" };
    vec![
        ("roll_pitch_std_deg", shortest(a.roll_pitch_std_rad / DEG)),
        ("roll_pitch_correlation_s", shortest(a.roll_pitch_correlation_s)),
        ("heading_std_deg", shortest(a.heading_std_rad / DEG)),
        ("heading_correlation_s", shortest(a.heading_correlation_s)),
        ("heading_from", format!("{from}, allowed true-north, magnetic-north")),
    ]
}
