//! Description of an LMS1xx or LMS5xx for `menura profiles`.

use super::profile::{ScanMode, SickLms1xxProfile};
use crate::describe::{Rows, Section, detection_row, shortest};

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &SickLms1xxProfile) -> Vec<Section> {
    vec![("device", device_rows(driver))]
}

/// Scan rate and resolution as text.
pub(super) fn mode_words(mode: &ScanMode) -> String {
    let (hz, deg) = (f64::from(mode.frequency_centihz) / 100.0, degrees(mode.resolution as i32));
    format!("{hz} Hz at {deg} deg")
}

fn degrees(wire: i32) -> String {
    shortest(f64::from(wire) / 10_000.0)
}

fn device_rows(driver: &SickLms1xxProfile) -> Rows {
    let modes: Vec<_> = driver.scan.modes.iter().map(mode_words).collect();
    let [first, last] = driver.scan.field.map(degrees);
    let seconds = |ns: u64| shortest(ns as f64 / 1e9);
    let filter = if driver.echoes.has_filter { ", FREchoFilter" } else { "" };
    vec![
        ("ident", format!("{} {}", driver.identity.name, driver.identity.version)),
        ("firmware", driver.identity.firmware_version.trim().to_string()),
        ("link", "TCP, CoLa-A and CoLa-B; the real one listens at 2111 and 2112".to_string()),
        ("field", format!("{first} to {last} deg, counter-clockwise, 90 is forward")),
        ("scans", modes.join(", ")),
        ("echoes", format!("{}{filter}", driver.echoes.count)),
        (
            "motor",
            format!(
                "starts in {} s, from standby {} s, another scan {} s",
                seconds(driver.motor.start_ns),
                seconds(driver.motor.leave_standby_ns),
                seconds(driver.motor.settle_ns)
            ),
        ),
        detection_row(&driver.defaults.beam),
    ]
}
