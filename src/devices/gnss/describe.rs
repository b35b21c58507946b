//! A GNSS receiver's profile for people.

use super::profile::{GnssDialect, GnssProfile, GnssSettings, UBX_OUTPUTS};
use super::settings_read::BEST_FIXES;
use crate::describe::{Rows, Section, shortest};
use crate::sensors::gnss::settings::{BestFix, ErrorKind, ErrorModel, ErrorPreset};

/// Headings with their rows.
pub(super) fn sections(driver: &GnssProfile) -> Vec<Section> {
    let d = &driver.defaults;
    vec![
        ("device", device_rows(driver)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
        ("settings.acquisition", acquisition_rows(d, driver.dialect == GnssDialect::Ublox9)),
        ("settings.sky", sky_rows(d)),
        ("settings.pulse", pulse_rows(d)),
        (
            "accuracy by kind of fix (settings errors, uere_m, velocity_std_m_s replace all)",
            grade_rows(d),
        ),
    ]
}

fn device_rows(driver: &GnssProfile) -> Rows {
    let identity = &driver.identity;
    let signals = driver
        .nmea
        .signals
        .iter()
        .map(|(system, signals)| format!("{} ({})", system.word(), signals.join(", ")));
    let mut rows = vec![
        ("driver", "gnss".to_string()),
        ("dialect", driver.dialect.word().to_string()),
        ("nmea", driver.nmea.version.word().to_string()),
        ("systems (signals)", signals.collect::<Vec<_>>().join(", ")),
        ("transmit buffer", format!("{} bytes", driver.tx_buffer_bytes)),
    ];
    if !identity.software.is_empty() {
        rows.push(("identity", format!("{} {}", identity.software, identity.hardware)));
    }
    rows
}

fn settings_rows(driver: &GnssProfile) -> Rows {
    let d = &driver.defaults;
    let words = |words: &mut dyn Iterator<Item = &'static str>| {
        words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
    };
    let sentences = words(&mut d.sentences.iter().map(|kind| kind.word()));
    let order = words(&mut driver.nmea.order.iter().map(|kind| kind.word()));
    let max_hz = shortest(1e9 / driver.min_period_ns as f64);
    let mut rows = vec![
        ("rate_hz", format!("{}, allowed 0.1 to {max_hz}", shortest(1e9 / d.period_ns as f64))),
        ("baud_rate", d.baud.to_string()),
        ("sentences", format!("[{sentences}], allowed {order}")),
    ];
    if driver.dialect.is_ublox() {
        let names = UBX_OUTPUTS.iter().map(|(name, _)| *name);
        let allowed = words(&mut names.filter(|name| driver.has_message(name)));
        rows.push(("messages", format!("[{}], allowed {allowed}", d.messages.join(", "))));
        rows.push(("high_precision", d.high_precision.to_string()));
    }
    if driver.dialect == GnssDialect::Ublox9 {
        rows.push(("base_station", "none; a rig may name a survey or a place".to_string()));
    }
    let presets = words(&mut ErrorPreset::WORDS.iter().map(|(word, _)| *word));
    rows.extend([
        (
            "systems",
            format!("[{}]", words(&mut d.receiver.systems.iter().map(|system| system.word()))),
        ),
        ("mask_deg", shortest(d.receiver.mask_rad.to_degrees())),
        ("almanac", "none: synthetic; a rig may name a YUMA file for GPS".to_string()),
        ("geoid_separation_m", "EGM2008's at the place".to_string()),
        ("window_ms", ms(d.receiver.window_ns)),
        ("latency_ms", ms(d.latency_ns)),
        ("lag_ms", ms(d.lag_ns)),
        ("min_course_speed_m_s", shortest(d.min_course_speed_m_s)),
        ("coast_s", seconds(d.receiver.coast_ns)),
        ("firmware_leap_s", d.firmware_leap_s.to_string()),
        ("leap_known_after_s", seconds(d.receiver.leap_known_after_ns)),
        ("leap_second_on", "none; a rig may name a day".to_string()),
        ("week_base", "the firmware's; a rig may name a GPS week".to_string()),
        ("errors", format!("by kind of fix, see below; allowed {presets}, or an array of models")),
    ]);
    rows
}

fn acquisition_rows(d: &GnssSettings, is_rover: bool) -> Rows {
    let a = &d.receiver.acquisition;
    let fixes: Vec<_> = BEST_FIXES
        .iter()
        .filter(|(_, fix)| is_rover || fix.is_some())
        .map(|(word, _)| *word)
        .collect();
    let best_fix = a.best_fix.map_or("corrections", BestFix::word);
    vec![
        ("startup_s", seconds(a.startup_ns)),
        ("filtered", a.is_filtered.to_string()),
        ("hdop_initial", shortest(a.hdop_initial)),
        ("time_constant_s", shortest(a.time_constant_s)),
        ("hdop_final", a.hdop_final.map_or("sky".to_string(), shortest)),
        ("hdop_3d", shortest(a.hdop_3d)),
        ("hdop_2d", shortest(a.hdop_2d)),
        ("best_fix", format!("{best_fix}, allowed {}", fixes.join(", "))),
        ("differential_after_s", seconds(a.differential_after_ns)),
        ("rtk_float_after_s", seconds(a.rtk_float_after_ns)),
        ("rtk_fixed_after_s", seconds(a.rtk_fixed_after_ns)),
    ]
}

fn sky_rows(d: &GnssSettings) -> Rows {
    vec![
        ("ray_spread_deg", shortest(d.receiver.sky.ray_spread_rad.to_degrees())),
        ("min_cno_dbhz", shortest(d.receiver.sky.min_cno_dbhz)),
        ("cno_std_db", shortest(d.receiver.sky.cno_std_db)),
    ]
}

fn pulse_rows(d: &GnssSettings) -> Rows {
    vec![
        ("enabled", d.pulse.is_enabled.to_string()),
        ("width_ms", ms(d.pulse.width_ns)),
        ("after_fix_s", seconds(d.pulse.after_fix_ns)),
        ("jitter_std_ns", shortest(d.pulse.jitter_std_ns)),
        ("quantum_ns", shortest(d.pulse.quantum_ns)),
    ]
}

fn grade_rows(d: &GnssSettings) -> Rows {
    let grade = |(word, fix): (&'static str, BestFix)| {
        let grade = d.receiver.grade(fix);
        let errors: Vec<_> = grade.errors.iter().map(model).collect();
        let speed = shortest(grade.velocity_std_m_s);
        let uere = shortest(grade.uere_m);
        (word, format!("uere {uere} m, velocity {speed} m/s, {}", errors.join(" + ")))
    };
    BestFix::WORDS.into_iter().map(grade).collect()
}

fn model(model: &ErrorModel) -> String {
    let axes = |values: &[f64; 3]| values.map(shortest).join("/");
    let text = match &model.kind {
        ErrorKind::Gaussian { std_m, .. } => format!("gaussian {} m", axes(std_m)),
        ErrorKind::GaussMarkov { std_m, time_constant_s } => {
            format!("gauss-markov {} m over {} s", axes(std_m), shortest(*time_constant_s))
        }
        ErrorKind::RandomWalk { std_m_s2, .. } => {
            format!("random-walk {} m/s2", shortest(*std_m_s2))
        }
    };
    if model.times_dop { format!("{text} times DOP") } else { text }
}

fn ms(ns: u64) -> String {
    shortest(ns as f64 / 1e6)
}

fn seconds(ns: u64) -> String {
    shortest(ns as f64 / 1e9)
}
