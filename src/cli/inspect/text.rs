//! The report for people: what the capture holds, then a line a packet.

use std::io::{self, Write};

use super::words;
use crate::analysis::capture::Captured;
use crate::analysis::data_flow::{DataFlow, Generation, Unit};
use crate::analysis::flows::{Analysis, Flow, Payload, PositionFlow, Seen};
use crate::wire::ethernet::UdpChecksum;
use crate::wire::velodyne::hdl64e_status::S1Status;
use crate::wire::velodyne::position::PositionPacket;
use crate::wire::velodyne::{Bank, DataPacket, ReturnMode};

/// Writes what the capture says as a whole.
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
        write_flow(out, analysis, flow)?;
    }
    if analysis.crowded_out > 0 {
        writeln!(out, "\n{} of further flows", plural(analysis.crowded_out, "datagram"))?;
    }
    if !analysis.others.is_empty() || analysis.broken > 0 {
        let others = analysis.others.iter().map(|(name, count)| format!("{count} {name}"));
        let broken = (analysis.broken > 0)
            .then(|| format!("{} with headers that make no sense", analysis.broken));
        let all: Vec<String> = others.chain(broken).collect();
        writeln!(out, "\nnot UDP: {}", all.join(", "))?;
    }
    Ok(())
}

/// Writes one packet's line, and more lines for what is wrong with it.
pub fn packet(
    out: &mut dyn Write,
    analysis: &Analysis,
    captured: &Captured<'_>,
    first_unix_ns: i128,
) -> io::Result<()> {
    let time_s = (captured.unix_ns - first_unix_ns) as f64 * 1e-9;
    write!(out, "{:>7} {time_s:>12.6}  ", captured.number)?;
    let (datagram, payload) = match Seen::in_frame(captured.link, captured.frame) {
        Seen::Udp { datagram, payload } => (datagram, payload),
        Seen::Other(name) => return writeln!(out, "{name}, {} bytes", captured.frame.len()),
        Seen::Broken(error) => return writeln!(out, "broken: {error}"),
    };
    write!(out, "{} -> {}  ", datagram.source, datagram.destination)?;
    match payload {
        Payload::Data(packet) => {
            let unit = analysis.unit_of(&datagram);
            data_line(out, unit, &packet)?;
            for issue in packet.check() {
                writeln!(out, "{:>22}{issue}", "! ")?;
            }
        }
        Payload::Position(packet) => position_line(out, &packet)?,
        Payload::Unknown => writeln!(out, "UDP, {} bytes", datagram.payload.len())?,
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

fn data_line(out: &mut dyn Write, unit: Unit, packet: &DataPacket) -> io::Result<()> {
    let (first, last) = (packet.blocks[0], packet.blocks[packet.blocks.len() - 1]);
    let degrees = |centideg: u16| f64::from(centideg) / 100.0;
    let banks: String = packet
        .blocks
        .iter()
        .map(|block| match Bank::from_flag(block.flag) {
            Some(Bank::Upper) => 'U',
            Some(Bank::Lower) => 'L',
            Some(Bank::Third) => '3',
            Some(Bank::Fourth) => '4',
            None => '-',
        })
        .collect();
    let (mut points, mut returns) = (0, 0);
    for block in packet.blocks.iter().filter(|block| Bank::from_flag(block.flag).is_some()) {
        points += block.points.len();
        returns += block.points.iter().filter(|point| point.distance > 0).count();
    }
    write!(
        out,
        "{}  {:6.2}..{:6.2} deg  {banks}  {returns:>3}/{points} returns",
        unit.name(),
        degrees(first.azimuth_centideg),
        degrees(last.azimuth_centideg),
    )?;
    if unit.has_timestamp() {
        write!(out, "  t {:>10} us", packet.timestamp_us())?;
    }
    let [kind, value] = packet.status_bytes();
    match unit {
        Unit::Hdl64e(Generation::S1) => match S1Status::parse(packet.tail) {
            S1Status::Temperature { fraction, degrees_c } => {
                let degrees_c = f64::from(degrees_c) + f64::from(fraction) / 256.0;
                write!(out, "  temperature {degrees_c:.1} C")?;
            }
            S1Status::Version { counter, version, .. } => {
                write!(out, "  version {version:#06x}, counter {counter}")?;
            }
        },
        Unit::Hdl64e(_) => {
            let (name, kind_text) = (words::status_name(kind), words::status_type(kind));
            write!(out, "  {kind_text} {name} {}", words::status_value(kind, value))?;
        }
        Unit::Other(_) | Unit::Unknown => match ReturnMode::from_byte(kind) {
            Some(mode) => write!(out, "  {}", mode.name())?,
            None => write!(out, "  status {kind:#04x} {value:#04x}")?,
        },
    }
    if packet.is_dual_return() && matches!(unit, Unit::Hdl64e(_)) {
        write!(out, "  dual")?;
    }
    writeln!(out)
}

fn position_line(out: &mut dyn Write, packet: &PositionPacket) -> io::Result<()> {
    let pps = packet.pps_status().map_or("unknown", |pps| pps.name());
    let nmea = packet.nmea().map_or_else(|| "no NMEA".to_owned(), words::printable);
    writeln!(out, "position  t {:>10} us  PPS {pps}  {nmea}", packet.timestamp_us)
}

fn write_flow(out: &mut dyn Write, analysis: &Analysis, flow: &Flow) -> io::Result<()> {
    writeln!(out, "\n{} -> {}", flow.source, flow.destination)?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    let rate = flow.rate_hz().map_or_else(String::new, |rate| format!(", {rate:.2} a second"));
    line("packets", format!("{}{rate}", flow.packets))?;
    line("IP", ip_words(flow))?;
    if let Some((source, destination)) = flow.macs {
        line("MAC", format!("{} -> {}", words::mac(source), words::mac(destination)))?;
    }
    if let Some(data) = &flow.data {
        write_data(out, analysis.unit(data), data)?;
    }
    if let Some(position) = &flow.position {
        write_position(out, position)?;
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
    parts.join(", ")
}

fn varies(changes: u64) -> &'static str {
    if changes > 0 { " (changes)" } else { "" }
}

fn write_data(out: &mut dyn Write, unit: Unit, data: &DataFlow) -> io::Result<()> {
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    let mut model = unit.name().to_owned();
    let [mode, _] = data.last_status;
    match unit {
        Unit::Hdl64e(_) if data.dual_packets > 0 => {
            model.push_str(&format!(", dual return in {} packets", data.dual_packets));
        }
        Unit::Hdl64e(_) => {}
        _ => {
            let mode = ReturnMode::from_byte(mode).map_or("unknown", |mode| mode.name());
            model.push_str(&format!(", return mode {mode}"));
        }
    }
    line("model", model)?;

    let found = data.gaps().found();
    if let Some(period_us) = found.period_us {
        let clock = if unit.has_timestamp() { "device's" } else { "capture's" };
        let gaps = match found.gaps {
            0 => "no gap".to_owned(),
            gaps => format!(
                "{}, {} missing, longest {:.3} ms",
                plural(gaps, "gap"),
                plural(found.missing, "packet"),
                found.longest_us / 1000.0
            ),
        };
        line("period", format!("{period_us:.1} us by the {clock} clock, {gaps}"))?;
    }
    if let Some((first, last)) = data.timestamps_us.filter(|_| unit.has_timestamp()) {
        let back = match data.timestamps_back {
            0 => String::new(),
            times => format!(", goes back {}", plural(times, "time")),
        };
        line("timestamps", format!("{first} to {last} us past the hour{back}"))?;
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
    if let Unit::Hdl64e(generation) = unit {
        write_status(out, generation, data)?;
    }
    if data.issues > 0 {
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<16}{text}");
        line("issues", &data.issues.to_string())?;
        for example in &data.issue_examples {
            line("", example)?;
        }
    }
    Ok(())
}

fn write_status(out: &mut dyn Write, generation: Generation, data: &DataFlow) -> io::Result<()> {
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    if generation == Generation::S1 {
        if let Some(degrees_c) = data.s1_temperature_c {
            line("temperature", format!("{degrees_c:.1} C"))?;
        }
        if let Some(version) = data.s1_version {
            line("firmware", format!("{version:#06x}"))?;
        }
        return Ok(());
    }
    let calibration = match &data.table {
        Some(table) => {
            let times = plural(data.tables, "time");
            let date = words::calibration_time(table.calibration_time)
                .map_or_else(|| "undated".to_owned(), |time| format!("of {time}"));
            let proof = words::proof(table.format);
            format!("in the status bytes {times}, {proof}, {date}")
        }
        None => "not in the status bytes; they need 4160 packets on end".to_owned(),
    };
    line("calibration", calibration)?;
    if data.bad_tables > 0 {
        line("", format!("{} did not check", plural(data.bad_tables, "table")))?;
    }
    if let Some(table) = &data.table {
        let (start, end) = (table.fov_start_centideg, table.fov_end_centideg);
        line(
            "unit",
            format!(
                "{} rpm, field of view {:.2} to {:.2} deg, {} return, power {:#04x}, {} h, {} -> {}",
                table.motor_rpm,
                f64::from(start) / 100.0,
                f64::from(end) / 100.0,
                words::table_return_mode(table.return_mode),
                table.power_level,
                table.life_time_hours,
                std::net::Ipv4Addr::from(table.source_ip),
                std::net::Ipv4Addr::from(table.destination_ip),
            ),
        )?;
        line("warnings", words::warnings(table.warnings()))?;
    }
    if let Some(live) = data.decoder.live() {
        line(
            "status",
            format!(
                "20{:02}-{:02}-{:02} {:02}:{:02}:{:02} UTC, GPS {}, {} C, firmware {}",
                live.year,
                live.month,
                live.day,
                live.hour,
                live.minute,
                live.second,
                words::gps(live.gps),
                live.temperature_c,
                words::firmware(live.firmware),
            ),
        )?;
    }
    if data.decoder.breaks() > 0 {
        line("", format!("the status cycle breaks {}", plural(data.decoder.breaks(), "time")))?;
    }
    Ok(())
}

fn write_position(out: &mut dyn Write, flow: &PositionFlow) -> io::Result<()> {
    let pps = flow.last.pps_status().map_or("unknown", |pps| pps.name());
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<16}{text}");
    line("position", format!("{}, PPS {pps}", plural(flow.packets, "packet")))?;
    if let Some(nmea) = flow.last.nmea() {
        line("last NMEA", words::printable(nmea))?;
    }
    Ok(())
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
