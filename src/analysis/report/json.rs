//! The report as JSON: one object per line. [`super`] documents the keys; later versions only add
//! keys.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::words;
use crate::analysis::capture::Captured;
use crate::analysis::data_flow::DataFlow;
use crate::analysis::flows::{Analysis, Flow};
use crate::devices::decoder::datagram::{DATA, DatagramDecoder};
use crate::devices::decoder::object_of;
use crate::wire::ethernet::Content;

/// Writes the line of one packet.
pub fn packet(
    out: &mut dyn Write,
    analysis: &Analysis,
    captured: &Captured<'_>,
    first_unix_ns: i128,
) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("type".into(), json!("packet"));
    object.insert("number".into(), json!(captured.number));
    object.insert("time_s".into(), json!((captured.unix_ns - first_unix_ns) as f64 * 1e-9));
    object.insert("unix_ns".into(), unix_ns(captured.unix_ns));
    match Content::find(captured.link, captured.frame) {
        Ok(Content::Other(name)) => {
            object.insert("kind".into(), json!("other"));
            object.insert("protocol".into(), json!(name));
        }
        Err(error) => {
            object.insert("kind".into(), json!("broken"));
            object.insert("error".into(), json!(error.to_string()));
        }
        Ok(Content::Udp(datagram)) => {
            let sender = analysis.sender(&datagram);
            let kind = sender.map_or("udp", |(_, head)| head.kind);
            object.insert("kind".into(), json!(kind));
            object.insert("source".into(), json!(datagram.source.to_string()));
            object.insert("destination".into(), json!(datagram.destination.to_string()));
            object.insert("ttl".into(), json!(datagram.ttl));
            if let Some(fields) = datagram.ipv4 {
                object.insert("dont_fragment".into(), json!(fields.dont_fragment));
                object.insert("identification".into(), json!(fields.identification));
                object.insert("ip_checksum_ok".into(), json!(fields.checksum_ok));
            }
            let checksum = words::udp_checksum(datagram.udp_checksum);
            object.insert("udp_checksum".into(), json!(checksum));
            object.insert("length".into(), json!(datagram.payload.len()));
            object.insert("missing".into(), json!(datagram.missing));
            if let Some((sender, head)) = sender {
                object.extend(sender.fields(datagram.payload));
                if head.kind == DATA {
                    let issues = sender.sweep(datagram.payload).issues;
                    object.insert("issues".into(), json!(issues));
                }
            }
        }
    }
    line(out, &Value::Object(object))
}

/// Writes the last line, about the whole capture.
pub fn summary(
    out: &mut dyn Write,
    name: &str,
    format: &str,
    analysis: &Analysis,
    fault: Option<&str>,
) -> io::Result<()> {
    let span = analysis.span_unix_ns;
    let flows: Vec<Value> = analysis.flows.iter().map(flow_of).collect();
    line(
        out,
        &json!({
            "type": "summary",
            "file": name,
            "format": format,
            "link": analysis.link.map(words::link),
            "packets": analysis.packets,
            "start_unix_ns": span.map(|(first, _)| unix_ns(first)),
            "duration_s": span.map(|(first, last)| (last - first) as f64 * 1e-9),
            "flows": flows,
            "further_datagrams": analysis.crowded_out,
            "others": analysis.others,
            "broken": analysis.broken,
            "fault": fault,
        }),
    )
}

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// POSIX time, nanoseconds, as a 64-bit number for the years 1678 to 2262; otherwise null.
fn unix_ns(unix_ns: i128) -> Value {
    i64::try_from(unix_ns).map_or(Value::Null, |ns| json!(ns))
}

fn flow_of(flow: &Flow) -> Value {
    let sender = flow.senders.likeliest();
    let mut fields = object_of(json!({
        "source": flow.source.to_string(),
        "destination": flow.destination.to_string(),
        "source_mac": flow.macs.map(|(source, _)| words::mac(source)),
        "destination_mac": flow.macs.map(|(_, destination)| words::mac(destination)),
        "packets": flow.packets,
        "rate_hz": flow.rate_hz(),
        "ttl": flow.ttl.first,
        "ttl_changes": flow.ttl.changes,
        "dont_fragment": flow.dont_fragment.first,
        "dont_fragment_changes": flow.dont_fragment.changes,
        "identification": flow.identification.first,
        "identification_changes": flow.identification.changes,
        "udp_checksum": words::udp_checksum(flow.udp_checksum.first),
        "udp_checksum_changes": flow.udp_checksum.changes,
        "bad_ip_checksums": flow.bad_ip_checksums,
        "bad_udp_checksums": flow.bad_udp_checksums,
        "cut_short": flow.cut_short,
        "data": sender.zip(flow.data.as_ref()).map(|(sender, data)| data_flow(flow, sender, data)),
    }));
    for kind in flow.senders.other_kinds() {
        let packets = flow.other_kinds.get(kind).zip(sender);
        let value = packets.map(|(packets, sender)| {
            let mut value = object_of(json!({"packets": packets}));
            value.extend(sender.other_fields(kind));
            value
        });
        fields.insert(kind.to_owned(), json!(value));
    }
    Value::Object(fields)
}

fn data_flow(flow: &Flow, sender: &dyn DatagramDecoder, data: &DataFlow) -> Value {
    let misfits: Vec<String> = flow.misfits().into_iter().map(|misfit| misfit.text).collect();
    let has_stamps = sender.has_stamps();
    // A pause between two images is not a gap.
    let gaps = (!sender.sends_images()).then(|| data.gaps(has_stamps));
    let timestamps = data.stamps.filter(|_| has_stamps);
    json!({
        "model": sender.model(),
        "misfits": misfits,
        "packets": data.packets,
        "dual_packets": data.dual_packets,
        "period_us": gaps.as_ref().and_then(|gaps| gaps.period_us),
        "gaps": gaps.as_ref().map(|gaps| gaps.gaps),
        "missing_packets": gaps.as_ref().map(|gaps| gaps.missing),
        "longest_period_us": gaps.as_ref().map(|gaps| gaps.longest_us),
        "first_timestamp_us": timestamps.map(|(first, _)| first.us),
        "last_timestamp_us": timestamps.map(|(_, last)| last.us),
        "timestamps_back": data.stamps_back,
        "rotation_rate_rpm": data.rotation_rate_rpm(),
        "turns": data.turns,
        "azimuth_step_deg": data.azimuth_step.mean().map(|mean| mean / 100.0),
        "azimuth_step_min_deg": f64::from(data.azimuth_step.min) / 100.0,
        "azimuth_step_max_deg": f64::from(data.azimuth_step.max) / 100.0,
        "azimuth_back": data.azimuth_back,
        "points": data.points,
        "zero_points": data.zero_points,
        "issues": data.issues,
        "issue_examples": data.issue_examples,
        "status": sender.status(),
    })
}
