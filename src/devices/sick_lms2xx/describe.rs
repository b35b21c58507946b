//! What `menura profiles` shows of an LMS 2xx.

use super::profile::{
    PowerOnMode, RangeUnit, SickLms2xxProfile, SpoiltTelegram, TransmissionStart,
};
use crate::describe::{Rows, Section, beam_rows, noise_rows, shortest};
use crate::wire::sick_lms2xx::Variant;

/// The sections between name and sources.
pub(super) fn sections(driver: &SickLms2xxProfile) -> Vec<Section> {
    vec![
        ("device", device_rows(driver)),
        ("line", line_rows(driver)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
        ("settings.beam", beam_rows(&driver.defaults.beam)),
        ("settings.noise", noise_rows(&driver.defaults.noise)),
    ]
}

/// Angle and resolution for people.
pub(super) fn variant_words(variant: &Variant) -> String {
    let resolution = f64::from(variant.resolution_centideg) / 100.0;
    format!("{} deg at {resolution} deg", variant.angle_deg)
}

fn device_rows(driver: &SickLms2xxProfile) -> Rows {
    let variants: Vec<_> = driver.variants.iter().map(variant_words).collect();
    let modes: Vec<_> =
        driver.measuring_modes.iter().map(|mode| format!("{:#04x}", mode.code())).collect();
    let fixed = if driver.can_switch_variant { "" } else { ", fixed" };
    let mirror_hz = shortest(driver.mirror_millihertz as f64 / 1000.0);
    let interlaced = match driver.is_interlaced {
        true => "; below 1 deg a scan takes 2 or 4 revolutions",
        false => "; a scan takes one revolution",
    };
    let range = driver.sensitivity_range_m.map(shortest).join(", ");
    vec![
        ("driver", "sick-lms2xx".to_string()),
        ("type", driver.type_text.clone()),
        ("mirror", format!("{mirror_hz} revolutions/s{interlaced}")),
        ("scans", format!("{}{fixed}", variants.join(", "))),
        ("measuring modes", modes.join(", ")),
        (
            "reflectivity",
            if driver.has_reflectivity { "modes 0x2b and 0x50" } else { "mode 0x2b" }.into(),
        ),
        ("range at 10 %", format!("{range} m for sensitivity 0, 1, 2, 3")),
        ("configuration", format!("{} bytes", driver.configuration_len)),
    ]
}

fn line_rows(driver: &SickLms2xxProfile) -> Rows {
    let ms = |ns: u64| format!("{} ms", shortest(ns as f64 / 1e6));
    let timing = &driver.timing;
    let spoilt = match driver.spoilt_telegram {
        SpoiltTelegram::Nak => "NAK",
        SpoiltTelegram::Silence => "no answer",
    };
    let start = match driver.transmission_start {
        TransmissionStart::ScanEnd => "at the end of the next scan",
        TransmissionStart::LineFree => "at once, with the newest scan",
    };
    vec![
        ("ACK", ms(timing.ack_ns)),
        (
            "reply",
            format!(
                "{} after it, new configuration {}",
                ms(timing.reply_ns),
                ms(timing.configure_ns)
            ),
        ),
        ("wrong CRC", spoilt.to_string()),
        ("line free again", format!("sends {start}")),
    ]
}

fn settings_rows(driver: &SickLms2xxProfile) -> Rows {
    let d = &driver.defaults;
    let rates: Vec<_> = driver.rates.iter().map(|rate| rate.baud().to_string()).collect();
    let words = |words: &[&str]| words.join(", ");
    let modes: Vec<_> = PowerOnMode::WORDS
        .iter()
        .filter(|(_, mode)| *mode != PowerOnMode::Reflectivity || driver.has_reflectivity)
        .map(|(word, _)| *word)
        .collect();
    let seconds = |ns: u64| shortest(ns as f64 / 1e9);
    vec![
        ("angle_deg", d.variant.angle_deg.to_string()),
        ("resolution_deg", shortest(f64::from(d.variant.resolution_centideg) / 100.0)),
        ("baud_rate", format!("{}, allowed {}", d.rate.baud(), rates.join(", "))),
        ("unit", format!("{}, allowed {}", d.unit.word(), words(&RangeUnit::WORDS.map(|w| w.0)))),
        ("measuring_mode", format!("{:#04x}", d.measuring_mode.code())),
        ("power_on_mode", format!("{}, allowed {}", d.power_on_mode.word(), words(&modes))),
        ("real_time_indices", d.real_time_indices.to_string()),
        ("sensitivity", format!("{}, allowed 0 to 3", d.sensitivity)),
        ("password", String::from_utf8_lossy(&d.password).into_owned()),
        ("address", format!("{}, allowed 0 to 127", d.address)),
        ("start_up_s", format!("{}; 0 for a scanner that was on before", seconds(d.start_up_ns))),
        ("restart_s", seconds(d.restart_ns)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
        ("mirror_phase_deg", shortest(d.mirror_phase_rad.to_degrees())),
        ("error_level", "ok, allowed ok, info, warning, error, fatal".to_string()),
        ("error_list", "[], pairs [type, number]".to_string()),
        ("polluted", d.is_polluted.to_string()),
        ("implausible", d.is_implausible.to_string()),
    ]
}
