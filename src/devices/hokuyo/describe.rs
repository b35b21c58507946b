//! What `menura profiles` shows of one of Hokuyo's scanners.

use super::profile::{HokuyoProfile, HostInterface};
use crate::describe::{Rows, Section, beam_rows, noise_rows, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &HokuyoProfile) -> Vec<Section> {
    vec![
        ("device", device_rows(driver)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
        ("settings.beam", beam_rows(&driver.defaults.beam)),
        ("settings.noise", noise_rows(&driver.defaults.noise)),
    ]
}

/// Frequency and resolution for people.
pub(super) fn scan_words(driver: &HokuyoProfile) -> String {
    let hz = f64::from(driver.motor.speed_rpm) / 60.0;
    let step_deg = 360.0 / f64::from(driver.steps.per_turn);
    format!("{} Hz at {} deg", shortest(hz), (step_deg * 1e4).round() / 1e4)
}

fn device_rows(driver: &HokuyoProfile) -> Rows {
    let steps = &driver.steps;
    let deg = |step: u32| {
        let from_front = f64::from(step) - f64::from(steps.front);
        (from_front * 360e2 / f64::from(steps.per_turn)).round() / 1e2
    };
    let rates: Vec<_> = driver.connection.bit_rates.iter().map(u32::to_string).collect();
    let link = match driver.connection.interface {
        HostInterface::Ethernet => {
            "TCP, SCIP; the real one listens at 192.168.0.10:10940".to_owned()
        }
        HostInterface::Usb => "USB, SCIP".into(),
        HostInterface::Serial => format!("a serial line, SCIP, {} baud", rates.join(", ")),
    };
    let commands: Vec<_> = driver.protocol.commands.iter().map(|name| name.word()).collect();
    vec![
        ("driver", "hokuyo".to_owned()),
        ("model", driver.identity.model.clone()),
        ("firmware", format!("{}, {}", driver.identity.firmware, driver.identity.protocol)),
        ("link", link),
        (
            "field",
            format!(
                "{} to {} deg, counter-clockwise, 0 is forward; steps {} to {}",
                deg(steps.first),
                deg(steps.last),
                steps.first,
                steps.last
            ),
        ),
        ("scans", scan_words(driver)),
        ("distances", format!("{} to {} mm", driver.distances.min_mm, driver.distances.max_mm)),
        ("echoes", driver.echoes.count.to_string()),
        ("commands", commands.join(" ")),
    ]
}

fn settings_rows(driver: &HokuyoProfile) -> Rows {
    let d = &driver.defaults;
    let seconds = |ns: u64| shortest(ns as f64 / 1e9);
    let streams = driver.protocol.commands.iter();
    let streams: Vec<_> = streams
        .filter(|name| name.scan().is_some_and(|scan| scan.is_stream))
        .map(|name| name.word())
        .collect();
    let mut rows = vec![("power_on_stream", format!("off, allowed off, {}", streams.join(", ")))];
    if driver.connection.interface == HostInterface::Serial
        && let Some((first, others)) = driver.connection.bit_rates.split_first()
    {
        let others: Vec<_> = others.iter().map(|rate| format!(", {rate}")).collect();
        rows.push(("baud_rate", format!("{}, allowed {first}{}", d.bit_rate, others.concat())));
    }
    rows.extend([
        ("start_up_s", seconds(d.start_up_ns)),
        ("uptime_s", seconds(d.uptime_ns)),
        ("clock.drift_ppm", shortest(d.drift_ppb as f64 / 1e3)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
        ("serial_number", d.serial_number.clone()),
        ("high_sensitivity", format!("{}, allowed true, false", d.is_sensitive)),
    ]);
    rows
}
