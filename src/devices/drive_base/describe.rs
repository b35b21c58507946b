//! What `menura profiles NAME` shows of a drive base, in the units and with the keys a rig uses.

use super::profile::{BaseProfile, Dialect};
use crate::describe::{Rows, Section, shortest};

/// Headings with their rows.
pub(super) fn sections(driver: &BaseProfile) -> Vec<Section> {
    vec![
        ("device", device(driver)),
        ("settings of a rig, with their defaults", settings(driver)),
        ("settings.wheels", wheels(driver)),
        ("settings.power", power(driver)),
        own(&driver.defaults.dialect),
    ]
}

fn device(driver: &BaseProfile) -> Rows {
    let identity = &driver.identity;
    let bauds: Vec<String> = driver.baud_rates.iter().map(u32::to_string).collect();
    vec![
        ("driver", driver.protocol.word().to_owned()),
        ("model", format!("{}, serial number {}", identity.model, identity.serial)),
        ("firmware", identity.firmware.clone()),
        ("line", format!("8N1, {} baud", bauds.join(", "))),
    ]
}

fn ms(ns: u64) -> String {
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

fn own(dialect: &Dialect) -> Section {
    match dialect {
        Dialect::RoboClaw(s) => {
            let gains: Vec<String> = s.velocity_gains.iter().map(|x| shortest(*x)).collect();
            let rows = vec![
                ("address", s.address.to_string()),
                ("all_addresses", s.answers_all_addresses.to_string()),
                ("packet_gap_ms", ms(s.packet_gap_ns)),
                ("timeout_ms", ms(s.timeout_ns)),
                ("status", s.status.word().to_owned()),
                ("signed_speeds", s.has_signed_speeds.to_string()),
                ("pid_order", s.pid_order.word().to_owned()),
                ("velocity_gains", gains.join(", ")),
                ("position_gain", shortest(s.position_gain)),
                ("layout", s.layout.word().to_owned()),
            ];
            ("settings.roboclaw", rows)
        }
        Dialect::CreateOi(s) => {
            let rows = vec![
                ("wheel_base_mm", shortest(s.wheel_base_m * 1e3)),
                ("stream_period_ms", ms(s.stream_period_ns)),
                ("sleep_after_s", shortest(s.sleep_after_ns as f64 / 1e9)),
                ("distance_scale", shortest(s.distance_scale)),
                ("angle_scale", shortest(s.angle_scale)),
                ("boot_text", format!("{:?}", s.boot_text)),
            ];
            ("settings.create", rows)
        }
        Dialect::Kangaroo(s) => {
            let rows = vec![
                ("address", s.address.to_string()),
                ("channels", s.channels.word().to_owned()),
                ("counts_per_unit", shortest(s.counts_per_unit)),
                ("serial_timeout_ms", ms(s.serial_timeout_ns)),
                ("stops_on_timeout", s.stops_on_timeout.to_string()),
                ("needs_home", s.needs_home.to_string()),
                ("turns_right", s.turns_right.to_string()),
                ("turn_share", shortest(s.turn_share)),
                ("position_gain_hz", shortest(s.position_gain_hz)),
            ];
            ("settings.kangaroo", rows)
        }
        Dialect::Sabertooth(s) => {
            let rows = vec![
                ("address", s.address.to_string()),
                ("mode", s.mode.word().to_owned()),
                ("timeout_ms", ms(s.timeout_ns)),
                ("restart_ms", ms(s.restart_ns)),
            ];
            ("settings.sabertooth", rows)
        }
        Dialect::Horizon(s) => {
            let rows = vec![
                ("revision", s.revision.to_string()),
                ("timeout_ms", ms(s.timeout_ns)),
                ("max_accel_m_s2", shortest(s.max_accel_m_s2)),
                ("track_mm", shortest(s.track_m * 1e3)),
                ("max_rate_hz", s.max_rate_hz.to_string()),
                ("max_subscriptions", s.max_subscriptions.to_string()),
            ];
            ("settings.horizon", rows)
        }
    }
}
