//! The report as text: a summary of the capture, then a line for each packet.

use std::io::{self, Write};

use super::words;
use crate::analysis::capture::Captured;
use crate::analysis::data_flow::DataFlow;
use crate::analysis::flows::{Analysis, Flow};
use crate::devices::decoder::datagram::{DATA, DatagramDecoder, Lines};
use crate::devices::decoder::facts::plural;
use crate::time::duration::describe_us_to;
use crate::wire::ethernet::{Content, UdpChecksum};

/// Writes the summary of the capture.
pub fn summary(
    out: &mut dyn Write,
    name: &str,
    format: &str,
    analysis: &Analysis,
    fault: Option<&str>,
) -> io::Result<()> {
    let link = analysis.link.map_or_else(|| "no packets".to_owned(), words::link);
    write!(out, "{name}: {format}, {link}")?;
    if let Some((first, last)) = analysis.span_unix_ns {
        let packets = plural(analysis.packets, "packet");
        let span_s = (last - first) as f64 * 1e-9;
        write!(out, ", {packets} in {span_s:.6} s from {}", words::instant(first))?;
    }
    writeln!(out)?;
    if let Some(fault) = fault {
        writeln!(out, "  fault           {fault}")?;
    }
    for flow in &analysis.flows {
        write_flow(out, flow)?;
    }
    if analysis.crowded_out > 0 {
        writeln!(out, "\n{} of further flows", plural(analysis.crowded_out, "datagram"))?;
    }
    if !analysis.others.is_empty() || analysis.broken > 0 {
        let others = analysis.others.iter().map(|(name, count)| format!("{count} {name}"));
        let broken =
            (analysis.broken > 0).then(|| format!("{} with invalid headers", analysis.broken));
        let all: Vec<String> = others.chain(broken).collect();
        writeln!(out, "\nnot UDP: {}", all.join(", "))?;
    }
    Ok(())
}

/// Writes the line of one packet, and further lines about its errors.
pub fn packet(
    out: &mut dyn Write,
    analysis: &Analysis,
    captured: &Captured<'_>,
    first_unix_ns: i128,
) -> io::Result<()> {
    let time_s = (captured.unix_ns - first_unix_ns) as f64 * 1e-9;
    write!(out, "{:>7} {time_s:>12.6}  ", captured.number)?;
    let datagram = match Content::find(captured.link, captured.frame) {
        Ok(Content::Udp(datagram)) => datagram,
        Ok(Content::Other(name)) => return writeln!(out, "{name}, {} bytes", captured.frame.len()),
        Err(error) => return writeln!(out, "broken: {error}"),
    };
    write!(out, "{} -> {}  ", datagram.source, datagram.destination)?;
    match analysis.sender(&datagram) {
        Some((sender, head)) => {
            writeln!(out, "{}", sender.text(datagram.payload))?;
            if head.kind == DATA {
                for issue in sender.sweep(datagram.payload).issues {
                    writeln!(out, "{:>22}{issue}", "! ")?;
                }
            }
        }
        None => writeln!(out, "UDP, {} bytes", datagram.payload.len())?,
    }
    if datagram.missing > 0 {
        writeln!(out, "{:>22}the capture left out the last {} bytes", "! ", datagram.missing)?;
    }
    if datagram.udp_checksum == UdpChecksum::Bad && datagram.missing == 0 {
        writeln!(out, "{:>22}the UDP checksum is wrong", "! ")?;
    }
    if datagram.ipv4.is_some_and(|fields| !fields.checksum_ok) {
        writeln!(out, "{:>22}the IP header checksum is wrong", "! ")?;
    }
    Ok(())
}

fn write_flow(out: &mut dyn Write, flow: &Flow) -> io::Result<()> {
    writeln!(out, "\n{} -> {}", flow.source, flow.destination)?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    // The line about missing packets is the flow's first line.
    let of_data = flow.data.as_ref().zip(flow.senders.likeliest());
    if let Some((data, sender)) = of_data.filter(|(_, sender)| !sender.sends_images()) {
        let found = data.gaps(sender.has_stamps());
        let (missing, gaps) = (plural(found.missing, "packet"), plural(found.gaps, "gap"));
        let longest = describe_us_to(found.longest_us, 5);
        if found.missing > 0 && data.field_edges > 0 {
            let why = "missing packets, or a restricted field of view";
            line("gaps", format!("{gaps}, the longest {longest}: {why}"))?;
        } else if found.missing > 0 {
            line("missing", format!("{missing} in {gaps}, the longest {longest}"))?;
        }
    }
    let rate = flow.rate_hz().map_or_else(String::new, |rate| format!(", {rate:.2} a second"));
    line("packets", format!("{}{rate}", flow.packets))?;
    line("IP", ip_words(flow))?;
    if let Some((source, destination)) = flow.macs {
        line("MAC", format!("{} -> {}", words::mac(source), words::mac(destination)))?;
    }
    let Some(sender) = flow.senders.likeliest() else { return Ok(()) };
    for misfit in flow.misfits() {
        writeln!(out, "  {:<16}! it does not fit: {}", "profile", misfit.text)?;
    }
    if let Some(data) = &flow.data {
        write_data(out, sender, data)?;
    }
    for (kind, packets) in &flow.other_kinds {
        write_lines(out, sender.other_lines(kind, *packets))?;
    }
    Ok(())
}

fn ip_words(flow: &Flow) -> String {
    let mut parts = vec![format!("TTL {}{}", flow.ttl.first, varies(flow.ttl.changes))];
    if let Some(dont_fragment) = flow.dont_fragment.first {
        let text = if dont_fragment { "don't fragment" } else { "may fragment" };
        parts.push(format!("{text}{}", varies(flow.dont_fragment.changes)));
    }
    if let Some(identification) = flow.identification.first {
        let text = match flow.identification.changes {
            0 => format!("identification {identification}"),
            _ => format!("identification from {identification} on"),
        };
        parts.push(text);
    }
    let checksum = words::udp_checksum(flow.udp_checksum.first);
    parts.push(format!("UDP checksum {checksum}{}", varies(flow.udp_checksum.changes)));
    if flow.bad_ip_checksums > 0 {
        parts.push(format!("{} wrong IP header checksums", flow.bad_ip_checksums));
    }
    if flow.bad_udp_checksums > 0 {
        parts.push(format!("{} wrong UDP checksums", flow.bad_udp_checksums));
    }
    if flow.cut_short > 0 {
        parts.push(format!("{} datagrams cut short", flow.cut_short));
    }
    parts.join(", ")
}

/// Text of a period: in microseconds below 10 ms, as for lidars, otherwise in a suitable unit.
fn period(us: f64) -> String {
    if us < 10_000.0 { format!("{us:.1} us") } else { describe_us_to(us, 6) }
}

fn varies(changes: u64) -> &'static str {
    if changes > 0 { " (changes)" } else { "" }
}

fn write_lines(out: &mut dyn Write, lines: Lines) -> io::Result<()> {
    lines.iter().try_for_each(|(name, text)| writeln!(out, "  {name:<16}{text}"))
}

fn write_data(
    out: &mut dyn Write,
    sender: &dyn DatagramDecoder,
    data: &DataFlow,
) -> io::Result<()> {
    let has_stamps = sender.has_stamps();
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    line("model", sender.model_text())?;
    if sender.sends_images() {
        return write_lines(out, sender.status_lines());
    }

    let clock = if has_stamps { "device's" } else { "capture's" };
    let found = data.gaps(has_stamps);
    if let Some(period_us) = found.period_us {
        let gaps = if found.gaps == 0 { ", no gap" } else { "" };
        line("period", format!("{} by the {clock} clock{gaps}", period(period_us)))?;
    }
    if let Some((first, last)) = data.stamps.filter(|_| has_stamps) {
        let back = match data.stamps_back {
            0 => String::new(),
            times => format!(", goes back {}", plural(times, "time")),
        };
        let (first, last) = (first.us, last.us);
        line("timestamps", format!("{first} to {last} us, modulo one hour{back}"))?;
    }
    if let Some(rpm) = data.rotation_rate_rpm() {
        line("rotation", format!("{rpm:.2} rpm, zero passed {}", plural(data.turns, "time")))?;
    }
    if let Some(mean) = data.azimuth_step.mean() {
        let back = match data.azimuth_back {
            0 => String::new(),
            times => format!(", goes back {}", plural(times, "time")),
        };
        let (min, max) = (data.azimuth_step.min, data.azimuth_step.max);
        let degrees = |centideg: f64| centideg / 100.0;
        let (min, max) = (degrees(min.into()), degrees(max.into()));
        let mean = degrees(mean);
        line("azimuth step", format!("{mean:.4} deg ({min:.2} to {max:.2}){back}"))?;
    }
    let share = 100.0 * data.zero_points as f64 / data.points.max(1) as f64;
    line("points", format!("{}, {share:.1} % without return", data.points))?;
    write_lines(out, sender.status_lines())?;
    if data.issues > 0 {
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<16}{text}");
        line("issues", &data.issues.to_string())?;
        for example in &data.issue_examples {
            line("", example)?;
        }
    }
    Ok(())
}
