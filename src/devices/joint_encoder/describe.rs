//! What `menura profiles NAME` shows of an encoder or a turning head, with the keys that a rig uses.

use super::profile::{JointEncoderProfile, OutputWay};
use crate::describe::{Rows, Section, network_rows, shortest};

/// Headings with their rows.
pub(super) fn sections(profile: &JointEncoderProfile) -> Vec<Section> {
    let mut all = vec![("device", device(profile))];
    if profile.output == OutputWay::Udp {
        all.push(("network", network_rows(&profile.network)));
    }
    all.push(("settings of a rig, with their defaults", settings(profile)));
    all
}

fn device(profile: &JointEncoderProfile) -> Rows {
    let lines = match profile.output {
        OutputWay::Udp => "a datagram for each line".to_owned(),
        OutputWay::Serial => "on a serial line, 8N1".to_owned(),
    };
    let rpm = profile.speed_unit_rad_s * 60.0 / std::f64::consts::TAU;
    let commands = match profile.takes_commands {
        true => format!(
            "PS3D, TC, SC; speeds 1 to 63 of {} rpm or {} mm/s; a pass is {}",
            shortest(rpm),
            shortest(profile.speed_unit_m_s * 1e3),
            profile.pass.word()
        ),
        false => "none".to_owned(),
    };
    vec![("lines", lines), ("commands", commands)]
}

fn settings(profile: &JointEncoderProfile) -> Rows {
    let d = &profile.defaults;
    let word = if d.index_word.is_empty() { "none" } else { &d.index_word };
    vec![
        ("rate_hz", format!("{} Hz, a divisor of 1000", d.rate_hz)),
        ("steps_per_turn", d.steps_per_turn.to_string()),
        ("steps_per_m", d.steps_per_m.to_string()),
        ("zero_count", d.zero_count.to_string()),
        ("reversed", d.is_reversed.to_string()),
        ("counting", format!("{}, allowed total, turn", d.counting.word())),
        ("index_count", d.index_count.to_string()),
        ("index_word", word.to_owned()),
        ("time_decimals", d.time_decimals.to_string()),
        ("time_bits", d.time_bits.to_string()),
        (
            "clock",
            format!(
                "offset {} ms, drift {} ppm, jitter {} ms",
                shortest(d.clock_offset_ns as f64 * 1e-6),
                shortest(d.clock_drift_ppm),
                shortest(d.clock_jitter_s * 1e3)
            ),
        ),
        ("lag_ms", shortest(d.lag_ns as f64 * 1e-6)),
        ("baud_rate", d.baud.to_string()),
    ]
}
