//! A certificate as one HTML page without external files: tables and charts.

use std::fmt::Write;

use serde_json::Value;

use super::percentiles;
use crate::engine::certificate::{Certificate, DeviceTiming};
use crate::engine::ptp_figures::PtpFigures;
use crate::plot::{Axis, BLUE, Colour, Figure, ORANGE, Panel, escape};
use crate::time::duration::describe_us;
use crate::timing::{ErrorFigures, Window, is_maximum};

/// The whole page as HTML.
pub fn page(certificate: &Certificate) -> String {
    let mut html = format!(
        "<h1>Timing certificate</h1>\n<p>{rig}, {:.1} s{} from {}, menura {}. {}</p>\n",
        certificate.run_s,
        shortfall(certificate),
        escape(&certificate.host_start_utc),
        escape(&certificate.menura),
        verdict(certificate),
        rig = escape(&certificate.rig),
    );
    requirements(certificate, &mut html);
    let threshold = describe_us(certificate.sending.miss_threshold_us);
    for device in &certificate.devices {
        section(device, &threshold, &mut html);
    }
    circumstances(certificate, &mut html);
    super::page::page(&format!("Timing certificate: {}", certificate.rig), "", &html)
}

/// HTML with the simulated time of a run; empty unless a device was behind real time by 50 ms or more at the end.
fn shortfall(certificate: &Certificate) -> String {
    let behind_s = certificate.devices.iter().map(|device| device.behind_s).fold(0.0, f64::max);
    match behind_s >= 0.05 {
        true => format!(" (of which {:.1} s were simulated)", certificate.simulated_s),
        false => String::new(),
    }
}

fn verdict(certificate: &Certificate) -> &'static str {
    match (certificate.requirements.is_empty(), certificate.is_met()) {
        (true, _) => "No requirements were set.",
        (_, true) => "<span class=\"met\">All requirements are met.</span>",
        (_, false) => "<span class=\"unmet\">Not all requirements are met.</span>",
    }
}

fn requirements(certificate: &Certificate, html: &mut String) {
    if certificate.requirements.is_empty() {
        return;
    }
    html.push_str("<table><tr><th>required</th><th>device</th><th>measured</th><th></th></tr>\n");
    for verdict in &certificate.requirements {
        let word = if verdict.is_met {
            "<td class=\"met\">met</td>"
        } else {
            "<td class=\"unmet\">not met</td>"
        };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td>{word}</tr>",
            escape(&verdict.requirement),
            escape(&verdict.device),
            escape(&verdict.measured_text()),
        );
    }
    html.push_str("</table>\n");
}

/// HTML about packets that were refused, late or dropped; empty if there were none.
fn missed(device: &DeviceTiming, threshold: &str) -> String {
    let mut lines = Vec::new();
    let all = device.packets + device.dropped + device.refused;
    if device.refused > 0 {
        let reasons = device.refused_because.join("; ");
        lines.push(format!("{} of {all} packets were refused: {reasons}", device.refused));
    }
    if device.sent_late > 0 {
        let latest = describe_us(device.handed.max_us);
        let late = device.sent_late;
        lines.push(format!(
            "{late} of {all} packets were submitted to the kernel more than {threshold} late, at \
             most {latest}"
        ));
    }
    if device.dropped > 0 {
        lines.push(format!("{} of {all} packets were too late and dropped", device.dropped));
    }
    let row = |line: &String| format!("<p class=\"unmet\">{}.</p>", escape(line));
    lines.iter().map(row).collect()
}

fn section(device: &DeviceTiming, threshold: &str, html: &mut String) {
    let _ = writeln!(
        html,
        "<h2>{}</h2>{}<p>{} on {}: {} packets, {} late, {} dropped, {} thinned, {} refused.</p>",
        escape(&device.name),
        missed(device, threshold),
        escape(&device.profile),
        escape(&device.link),
        device.packets,
        device.sent_late,
        device.dropped,
        device.thinned,
        device.refused,
    );
    let stamp = match device.stamps.as_str() {
        "card" => "card's timestamp",
        _ => "kernel timestamp",
    };
    let rows = [
        ("due to submitted".to_owned(), &device.handed),
        (format!("due to {stamp}"), &device.departed),
        (format!("submitted to {stamp}"), &device.in_kernel),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, figures)| figures.count > 0).collect();
    if rows.is_empty() {
        html.push_str("<p class=\"note\">Nothing was sent.</p>\n");
        return;
    }
    html.push_str(
        "<table><tr><th></th><th>p50</th><th>p99</th><th>p99.9</th><th>p99.99</th>\
         <th>max</th><th>early</th><th>drift, us/s</th></tr>\n",
    );
    let mut notes_of_few = Vec::new();
    for (name, figures) in rows {
        let _ = writeln!(
            html,
            "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{:.4}</td></tr>",
            describe_us(figures.p50_us),
            describe_us(figures.p99_us),
            describe_us(figures.p99_9_us),
            describe_us(figures.p99_99_us),
            describe_us(figures.max_us),
            figures.early,
            figures.drift_us_per_s,
        );
        let few = percentiles::few(figures.count, ["50", "99", "99.9", "99.99"].into_iter());
        if !few.is_empty() {
            notes_of_few.push(format!("<p class=\"note\">{name}: {few}.</p>\n"));
        }
    }
    html.push_str("</table>\n");
    html.extend(notes_of_few);
    notes(device, html);
    html.push_str("<h3>Histogram: packets by size of the error</h3>\n");
    html.push_str(&match device.departed.count {
        0 => histogram(&[("submitted", &device.handed, BLUE)]),
        _ => histogram(&[("submitted", &device.handed, ORANGE), (stamp, device.evidence(), BLUE)]),
    });
    html.push_str("<h3>Error over time: least, mean and largest</h3>\n");
    html.push_str(&course(&device.evidence().timeline));
    worst(device.evidence(), html);
}

/// Text about a device's PTP clock.
pub fn ptp_line(ptp: &PtpFigures) -> String {
    let us = |ns: u64| describe_us(ns as f64 / 1e3);
    let error = match &ptp.error_ns {
        None => "never locked".to_owned(),
        Some(error) => format!(
            "locked for {} s, off by {} to {}, median {}",
            ptp.locked_s,
            us(error.least),
            us(error.worst),
            us(error.median)
        ),
    };
    format!(
        "PTP: {}, stamps by {}; {error}; {} changes of state",
        ptp.state, ptp.stamps, ptp.changes
    )
}

/// Adds notes about a device: lead, latency of host commands, PTP clock, packets of the standby sender, and timestamps
/// that are missing or not from the kernel.
fn notes(device: &DeviceTiming, html: &mut String) {
    let mut note = |text: String| {
        let _ = writeln!(html, "<p class=\"note\">{text}</p>");
    };
    if device.lead_us > 0.0 {
        note(format!(
            "Packets are submitted to the kernel {} before they are due.",
            describe_us(device.lead_us)
        ));
    }
    if let Some(loop_us) = device.order_to_wire_us {
        note(format!(
            "From the host's command to the first packet that shows the motion: p50 {}, p99 {}, \
             p99.9 {}, max {}.",
            describe_us(loop_us.p50),
            describe_us(loop_us.p99),
            describe_us(loop_us.p99_9),
            describe_us(loop_us.max),
        ));
    }
    if let Some(ptp) = &device.ptp {
        note(ptp_line(ptp));
    }
    if device.by_standby > 0 {
        note(format!("The standby sender sent {} packets.", device.by_standby));
    }
    if device.stamps == "none" {
        return note("This link has no transmit timestamps.".to_owned());
    }
    if device.stamps == "card" {
        note(format!(
            "{} of {} timestamps are the network card's, whose clock was read within {}; the others \
             are the kernel's.",
            device.stamped_by_card,
            device.departed.count,
            describe_us(device.card_comparison_us),
        ));
    }
    if device.unstamped + device.unrecorded > 0 {
        note(format!(
            "{} packets without a timestamp, {} not recorded.",
            device.unstamped, device.unrecorded,
        ));
    }
}

const CHART_WIDTH: f64 = 860.0;
const CHART_HEIGHT: f64 = 250.0;

/// Histogram of packets by error as SVG, one curve for each series (name, errors, colour); the percentiles of the last
/// series are marked.
pub fn histogram(series: &[(&str, &ErrorFigures, Colour)]) -> String {
    let steps: Vec<_> = series.iter().map(|(_, figures, _)| decades(&figures.histogram)).collect();
    let all = || steps.iter().flatten();
    let least = all().map(|s| s.0).fold(1.0, f64::min);
    let most = all().map(|s| s.1).fold(10.0, f64::max);
    let tallest = all().map(|s| s.2).max().unwrap_or(1);
    let mut panel = Panel::new(
        "",
        Axis::logarithmic("error, microseconds", least, most),
        // The axis starts below 1, so that a single packet is visible.
        Axis::logarithmic("packets", 0.5, tallest as f64),
    );
    let mut figure = Figure::new(CHART_WIDTH, "");
    for (steps, (name, _, colour)) in steps.iter().zip(series) {
        // Each step is drawn from zero up and back to zero, so that a range without packets stays empty.
        let mut points = Vec::new();
        for (low, high, count) in steps {
            let count = *count as f64 * 1.0001;
            points.extend([(*low, 0.0), (*low, count), (*high, count), (*high, 0.0)]);
        }
        panel.band(points.iter().map(|(x, y)| (*x, 0.0, *y)).collect(), *colour);
        panel.line(points, *colour);
        figure.legend(*name, *colour);
    }
    if let Some((_, figures, colour)) = series.last() {
        let marks = [
            ("p50", 0.5, figures.p50_us),
            ("p99", 0.99, figures.p99_us),
            ("p99.9", 0.999, figures.p99_9_us),
            ("max", 0.0, figures.max_us),
        ];
        // A percentile that equals the maximum, because there are few values, is not marked separately.
        let marks = marks.into_iter().filter(|(_, share, _)| !is_maximum(*share, figures.count));
        for (row, (name, _, value)) in marks.enumerate() {
            panel.rule(value, format!("{name} {value:.1}"), row, *colour);
        }
    }
    figure.panel_below(CHART_HEIGHT, panel);
    figure.svg()
}

/// Converts a histogram to steps: bounds (microseconds) and count of each non-empty tenth of a decade. The input has
/// upper bounds (nanoseconds) and counts.
fn decades(histogram: &[(u64, u64)]) -> Vec<(f64, f64, u64)> {
    let mut parts: Vec<(i32, u64)> = Vec::new();
    for (size_ns, count) in histogram {
        let part = libm::floor(libm::log10(*size_ns as f64 / 1e3) * 10.0) as i32;
        match parts.last_mut() {
            Some((last, sum)) if *last == part => *sum += count,
            _ => parts.push((part, *count)),
        }
    }
    let bound = |part: i32| libm::pow(10.0, f64::from(part) / 10.0);
    parts.into_iter().map(|(part, count)| (bound(part), bound(part + 1), count)).collect()
}

/// Chart of the smallest, mean and largest error over time, as SVG.
pub fn course(windows: &[Window]) -> String {
    let end = windows.last().map_or(1.0, |w| w.start_s);
    let step = windows.windows(2).map(|w| w[1].start_s - w[0].start_s).fold(f64::MAX, f64::min);
    let least = windows.iter().map(|w| w.least_us).fold(0.0, f64::min);
    let most = windows.iter().map(|w| w.largest_us).fold(10.0, f64::max);
    let mut panel = Panel::new(
        "",
        Axis::linear("time, seconds", 0.0, end + if step == f64::MAX { 0.1 } else { step }),
        Axis::signed("error, microseconds", least, most),
    );
    panel.band(windows.iter().map(|w| (w.start_s, w.least_us, w.largest_us)).collect(), BLUE);
    panel.line(windows.iter().map(|w| (w.start_s, w.mean_us)), BLUE);
    let mut figure = Figure::new(CHART_WIDTH, "");
    figure.panel_below(CHART_HEIGHT, panel);
    figure.svg()
}

fn worst(figures: &ErrorFigures, html: &mut String) {
    html.push_str(
        "<h3>Worst packets</h3><table><tr><th>packet</th><th>due, s</th><th>error</th></tr>\n",
    );
    for worst in figures.worst.iter().take(5) {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{:.6}</td><td>{}</td></tr>",
            worst.packet,
            worst.due_ns as f64 * 1e-9,
            describe_us(worst.error_ns as f64 / 1e3),
        );
    }
    html.push_str("</table>\n");
}

fn circumstances(certificate: &Certificate, html: &mut String) {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), escape(&value)));
    let sending = &certificate.sending;
    row("device time at the start", certificate.start_utc.clone());
    row("clock", certificate.clock.describe());
    row("scheduler", sending.scheduler.clone());
    row("spins before a packet for", describe_us(sending.spin_us));
    row(
        "submits datagrams early by",
        match sending.lead_us {
            Some(us) => describe_us(us),
            None => "the delay measured for each device".to_owned(),
        },
    );
    row("core of the sender", sending.send_core.map_or("any".into(), |core| core.to_string()));
    row("core of the standby", sending.standby_core.map_or("none".into(), |core| core.to_string()));
    row("launch times", sending.launch_time.to_string());
    row("timestamps requested from", sending.stamps.clone());
    row(
        "late packets",
        format!("{}, later than {}", sending.late, describe_us(sending.miss_threshold_us)),
    );
    if !sending.caster.is_empty() {
        row("rays cast by", sending.caster.clone());
    }
    for right in &certificate.rights {
        let answer = match &right.refused_because {
            None => "granted".to_owned(),
            Some(reason) => format!("refused: {reason}"),
        };
        row(&right.wish, answer);
    }
    for setting in &certificate.overrides {
        row("--set", setting.clone());
    }
    for (name, value) in certificate.host.as_object().into_iter().flatten() {
        if let Some((name, text)) = fact(name, value) {
            row(&name, text);
        }
    }
    html.push_str("<h2>Conditions of the run</h2><table class=\"facts\">\n");
    for (name, value) in rows {
        let _ = writeln!(html, "<tr><td>{}</td><td>{value}</td></tr>", escape(&name));
    }
    html.push_str("</table>\n<h2>Input files</h2><table class=\"facts\">\n");
    for hash in &certificate.hashes {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(&hash.part),
            escape(&hash.name),
            escape(&hash.sha256),
        );
    }
    html.push_str("</table>\n");
}

/// Unit suffixes of keys, each with the unit that the page prints after the number.
const UNITS: [(&str, &str); 5] =
    [("_mbit_s", "Mbit/s"), ("_bytes", "bytes"), ("_us", "us"), ("_ms", "ms"), ("_ns", "ns")];

/// Name and value of a fact about the host as text; `None` if unknown.
fn fact(key: &str, value: &Value) -> Option<(String, String)> {
    let text = plainly(value)?;
    let unit = UNITS.iter().find_map(|(suffix, unit)| Some((key.strip_suffix(suffix)?, unit)));
    let (key, text) = match unit {
        Some((key, unit)) => (key, format!("{text} {unit}")),
        None => (key, text),
    };
    let key = key.strip_prefix("has_").or(key.strip_prefix("is_")).unwrap_or(key);
    Some((key.replace('_', " "), text))
}

/// A value as text; `None` if unknown or an empty list.
fn plainly(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text.clone(),
        Value::Array(all) => joined(all.iter().filter_map(plainly), "; ")?,
        Value::Object(parts) => {
            let part = |(key, value): (&String, &Value)| {
                let (name, value) = fact(key, value)?;
                Some(if name == "name" { value } else { format!("{name} {value}") })
            };
            let (names, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|(key, _)| *key == "name");
            joined(names.into_iter().chain(rest).filter_map(part), ", ")?
        }
    })
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> Option<String> {
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(between))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::{HostFacts, InterfaceFacts};

    #[test]
    fn facts_of_a_host_are_words_and_no_json() {
        let interface = |name: &str| InterfaceFacts {
            name: name.into(),
            speed_mbit_s: Some(1000),
            has_clock: true,
        };
        let facts = HostFacts {
            governors: ["powersave".to_owned()].into(),
            interfaces: vec![interface("eth0"), interface("eth1")],
            ..HostFacts::default()
        };
        let facts = serde_json::to_value(&facts).unwrap();
        let shown = |key: &str| plainly(&facts[key]);
        let ports = "eth0, speed 1000 Mbit/s, clock yes; eth1, speed 1000 Mbit/s, clock yes";
        assert_eq!(shown("interfaces").as_deref(), Some(ports));
        assert_eq!(shown("governors").as_deref(), Some("powersave"));
        assert!(
            shown("rights").unwrap().starts_with("real time no, locked memory no, "),
            "{:?}",
            shown("rights")
        );
        assert_eq!((shown("adapters"), shown("load")), (None, None));
        for (key, value) in facts.as_object().unwrap() {
            let text = plainly(value).unwrap_or_default();
            assert!(!text.contains(['{', '[', '"']), "{key}: {text}");
        }
    }

    #[test]
    fn histograms_are_gathered_by_tenths_of_decades() {
        let parts = decades(&[(1000, 5), (1100, 2), (10_000, 1)]);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].2, 7);
        assert!((parts[0].0 - 1.0).abs() < 1e-9 && (parts[1].0 - 10.0).abs() < 1e-9);
    }
}
