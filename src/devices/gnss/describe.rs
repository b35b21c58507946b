//! Description of a GNSS receiver's profile.

use super::profile::{GnssProfile, GnssSettings};
use crate::describe::{Rows, Section, shortest};
use crate::sensors::gnss::settings::{BestFix, ErrorKind, ErrorModel};

pub(super) fn sections(driver: &GnssProfile) -> Vec<Section> {
    vec![
        ("device", device_rows(driver)),
        (
            "accuracy by kind of fix (overridden by settings errors, uere_m, velocity_std_m_s)",
            grade_rows(&driver.defaults),
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
        ("dialect", driver.receiver.dialect.word().to_string()),
        ("nmea", driver.nmea.version.word().to_string()),
        ("systems (signals)", signals.collect::<Vec<_>>().join(", ")),
        ("transmit buffer", format!("{} bytes", driver.receiver.tx_buffer_bytes)),
    ];
    if !identity.software.is_empty() {
        rows.push(("identity", format!("{} {}", identity.software, identity.hardware)));
    }
    rows
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
