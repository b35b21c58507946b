//! What `menura profiles` shows of an LMS1xx or LMS5xx.

use super::profile::{EchoFilter, ScanMode, SickLms1xxProfile};
use crate::describe::{Rows, Section, beam_rows, noise_rows, shortest};

/// The sections between name and sources.
pub(super) fn sections(driver: &SickLms1xxProfile) -> Vec<Section> {
    vec![
        ("device", device_rows(driver)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
        ("settings.beam", beam_rows(&driver.defaults.beam)),
        ("settings.noise", noise_rows(&driver.defaults.noise)),
    ]
}

/// Frequency and resolution for people.
pub(super) fn mode_words(mode: &ScanMode) -> String {
    let (hz, deg) = (f64::from(mode.frequency_centihz) / 100.0, degrees(mode.resolution as i32));
    format!("{hz} Hz at {deg} deg")
}

fn degrees(wire: i32) -> String {
    shortest(f64::from(wire) / 10_000.0)
}

fn device_rows(driver: &SickLms1xxProfile) -> Rows {
    let modes: Vec<_> = driver.modes.iter().map(mode_words).collect();
    let [first, last] = driver.field.map(degrees);
    let seconds = |ns: u64| shortest(ns as f64 / 1e9);
    let filter = if driver.has_echo_filter { ", FREchoFilter" } else { "" };
    vec![
        ("driver", "sick-lms1xx".to_string()),
        ("ident", driver.ident.join(" ")),
        ("firmware", driver.firmware_version.trim().to_string()),
        ("link", "TCP, CoLa-A and CoLa-B; the real one listens at 2111 and 2112".to_string()),
        ("field", format!("{first} to {last} deg, counter-clockwise, 90 is forward")),
        ("scans", modes.join(", ")),
        ("echoes", format!("{}{filter}", driver.echoes)),
        (
            "motor",
            format!(
                "starts in {} s, from standby {} s, another scan {} s",
                seconds(driver.start_ns),
                seconds(driver.leave_standby_ns),
                seconds(driver.settle_ns)
            ),
        ),
    ]
}

fn settings_rows(driver: &SickLms1xxProfile) -> Rows {
    let d = &driver.defaults;
    let [first, last] = d.output_range.map(degrees);
    let hz = f64::from(d.mode.frequency_centihz) / 100.0;
    let yes_no = |is: bool| format!("{is}, allowed true, false");
    let mut rows = vec![
        ("scan_frequency_hz", shortest(hz)),
        ("angular_resolution_deg", degrees(d.mode.resolution as i32)),
        ("sector_deg", format!("[{first}, {last}]")),
        ("channels", format!("{}, a bit an echo, up to {}", d.channels, (1 << driver.echoes) - 1)),
    ];
    if driver.has_echo_filter {
        let words: Vec<_> = EchoFilter::WORDS.iter().map(|(word, _)| *word).collect();
        rows.push((
            "echo_filter",
            format!("{}, allowed {}", d.echo_filter.word(), words.join(", ")),
        ));
    }
    let bits = if d.remission_16_bit { 16 } else { 8 };
    let stream = d.power_on_stream.map_or("off", |dialect| dialect.word());
    let seconds = |ns: u64| shortest(ns as f64 / 1e9);
    rows.extend([
        ("remission", yes_no(d.remission)),
        ("remission_bits", format!("{bits}, allowed 8, 16")),
        ("timestamp", yes_no(d.timestamp)),
        ("output_interval", format!("{}, in scans", d.output_interval)),
        ("power_on_stream", format!("{stream}, allowed off, cola-a, cola-b")),
        ("dialects", format!("{}, allowed both, configured", d.accepted_dialects.word())),
        ("host_dialect", format!("{}, allowed cola-a, cola-b", d.host_dialect.word())),
        (
            "status",
            format!("{}, allowed ok, error, pollution-warning, pollution-error", d.status.word()),
        ),
        ("clock", format!("{}, allowed since-power-on, utc", d.clock.word())),
        ("start_up_s", seconds(d.start_up_ns)),
        ("uptime_s", seconds(d.uptime_ns)),
        ("lag_ms", shortest(d.lag_ns as f64 / 1e6)),
        ("serial_number", d.serial_number.to_string()),
        ("location_name", d.location_name.clone()),
        ("scale_factor", format!("{} mm, allowed 1, 2", d.scale_factor)),
    ]);
    rows
}
