//! What `menura profiles NAME` shows of a drive base, in the units and with the keys a rig uses.

use super::profile::BaseProfile;
use crate::describe::{Rows, Section, shortest};

/// Headings with their rows.
pub(super) fn sections(driver: &BaseProfile) -> Vec<Section> {
    vec![
        ("device", device(driver)),
        ("settings of a rig, with their defaults", settings(driver)),
        ("settings.wheels", wheels(driver)),
        ("settings.power", power(driver)),
        driver.defaults.dialect.describe(),
    ]
}

fn device(driver: &BaseProfile) -> Rows {
    let identity = &driver.identity;
    let bauds: Vec<String> = driver.baud_rates.iter().map(u32::to_string).collect();
    vec![
        ("driver", driver.family.key.to_owned()),
        ("model", format!("{}, serial number {}", identity.model, identity.serial)),
        ("firmware", identity.firmware.clone()),
        ("line", format!("8N1, {} baud", bauds.join(", "))),
    ]
}

/// Milliseconds as keys have them.
pub(crate) fn ms(ns: u64) -> String {
    shortest(ns as f64 / 1e6)
}

fn settings(driver: &BaseProfile) -> Rows {
    let d = &driver.defaults;
    vec![
        ("baud_rate", d.baud_rate.to_string()),
        ("reply_delay_ms", ms(d.reply_delay_ns)),
        ("paced_input", d.is_input_paced.to_string()),
    ]
}

fn wheels(driver: &BaseProfile) -> Rows {
    let w = &driver.defaults.wheels;
    vec![
        ("counts_per_m", shortest(w.counts_per_m)),
        ("max_speed_m_s", shortest(w.max_speed_m_s)),
        ("swapped", w.is_swapped.to_string()),
        ("left_reversed", w.is_left_reversed.to_string()),
        ("right_reversed", w.is_right_reversed.to_string()),
    ]
}

fn power(driver: &BaseProfile) -> Rows {
    let p = &driver.defaults.power;
    vec![
        ("battery_v", shortest(p.battery_v)),
        ("logic_v", shortest(p.logic_v)),
        ("low_battery_v", shortest(p.low_battery_v)),
        ("charge_percent", shortest(p.charge_percent)),
        ("capacity_wh", shortest(p.capacity_wh)),
        ("idle_current_a", shortest(p.idle_current_a)),
        ("motor_current_a_s_m", shortest(p.motor_current_a_s_m)),
        ("temperature_c", shortest(p.temperature_c)),
    ]
}
