//! Description of a Hokuyo scanner for `menura profiles`.

use super::profile::{HokuyoProfile, HostInterface};
use crate::describe::{Rows, Section, detection_row, shortest};

/// Sections of the description between the product's name and its sources.
pub(super) fn sections(driver: &HokuyoProfile) -> Vec<Section> {
    vec![("device", device_rows(driver))]
}

/// Scan rate and resolution as text.
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
        detection_row(&driver.defaults.beam),
    ]
}
