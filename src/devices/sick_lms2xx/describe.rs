//! Description of an LMS 2xx for `menura profiles`.

use super::profile::{SickLms2xxProfile, SpoiltTelegram, TransmissionStart};
use crate::describe::{Rows, Section, detection_row, shortest};
use crate::wire::sick_lms2xx::Variant;

/// Sections that `menura profiles NAME` prints between the product's name and the profile's sources.
pub(super) fn sections(driver: &SickLms2xxProfile) -> Vec<Section> {
    vec![("device", device_rows(driver)), ("line", line_rows(driver))]
}

/// Angle and resolution as text.
pub(super) fn variant_words(variant: &Variant) -> String {
    let resolution = f64::from(variant.resolution_centideg) / 100.0;
    format!("{} deg at {resolution} deg", variant.angle_deg)
}

fn device_rows(driver: &SickLms2xxProfile) -> Rows {
    let variants: Vec<_> = driver.scan.variants.iter().map(variant_words).collect();
    let modes: Vec<_> = driver
        .configuration
        .measuring_modes
        .iter()
        .map(|mode| format!("{:#04x}", mode.code()))
        .collect();
    let fixed = if driver.scan.can_switch_variant { "" } else { ", fixed" };
    let mirror_hz = shortest(driver.scan.mirror_millihertz as f64 / 1000.0);
    let interlaced = match driver.scan.is_interlaced {
        true => "; below 1 deg a scan takes 2 or 4 revolutions",
        false => "; a scan takes one revolution",
    };
    let range = driver.configuration.sensitivity_range_m.map(shortest).join(", ");
    vec![
        ("type", driver.identity.type_text.clone()),
        ("mirror", format!("{mirror_hz} revolutions/s{interlaced}")),
        ("scans", format!("{}{fixed}", variants.join(", "))),
        ("measuring modes", modes.join(", ")),
        (
            "reflectivity",
            if driver.reflectivity.telegrams { "modes 0x2b and 0x50" } else { "mode 0x2b" }.into(),
        ),
        ("range at 10 %", format!("{range} m for sensitivity 0, 1, 2, 3")),
        ("configuration", format!("{} bytes", driver.configuration.length)),
        detection_row(&driver.defaults.beam),
    ]
}

fn line_rows(driver: &SickLms2xxProfile) -> Rows {
    let ms = |ns: u64| format!("{} ms", shortest(ns as f64 / 1e6));
    let timing = &driver.line;
    let spoilt = match driver.line.spoilt_telegram {
        SpoiltTelegram::Nak => "NAK",
        SpoiltTelegram::Silence => "no answer",
    };
    let start = match driver.line.transmission_start {
        TransmissionStart::ScanEnd => "at the end of the next scan",
        TransmissionStart::LineFree => "at once, with the newest scan",
    };
    vec![
        ("ACK", ms(timing.ack_ns)),
        (
            "reply",
            format!(
                "{} after the ACK, new configuration {}",
                ms(timing.reply_ns),
                ms(timing.configure_ns)
            ),
        ),
        ("wrong CRC", spoilt.to_string()),
        ("line free again", format!("sends {start}")),
    ]
}
