//! The report for machines: one JSON object a line. The keys are documented in
//! [`super`] and only ever added to.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::words;
use crate::analysis::capture::Captured;
use crate::analysis::data_flow::{DataFlow, Generation, Unit};
use crate::analysis::flows::{Analysis, Flow, Payload, PositionFlow, Seen};
use crate::wire::velodyne::hdl64e_status::{S1Status, StatusFormat, StatusTable};
use crate::wire::velodyne::position::{ImuWords, PositionPacket};
use crate::wire::velodyne::{Bank, DataPacket, ReturnMode};

/// Writes one packet's line.
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
    match Seen::in_frame(captured.link, captured.frame) {
        Seen::Other(name) => {
            object.insert("kind".into(), json!("other"));
            object.insert("protocol".into(), json!(name));
        }
        Seen::Broken(error) => {
            object.insert("kind".into(), json!("broken"));
            object.insert("error".into(), json!(error.to_string()));
        }
        Seen::Udp { datagram, payload } => {
            let kind = match payload {
                Payload::Data(_) => "data",
                Payload::Position(_) => "position",
                Payload::Unknown => "udp",
            };
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
            match payload {
                Payload::Data(packet) => data(&mut object, analysis.unit_of(&datagram), &packet),
                Payload::Position(packet) => position(&mut object, &packet),
                Payload::Unknown => {}
            }
        }
    }
    line(out, &Value::Object(object))
}

/// Writes the last line: the whole capture.
pub fn summary(
    out: &mut dyn Write,
    name: &str,
    format: &str,
    analysis: &Analysis,
    fault: Option<&str>,
) -> io::Result<()> {
    let span = analysis.span_unix_ns;
    let flows: Vec<Value> = analysis.flows.iter().map(|f| flow_of(analysis, f)).collect();
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

/// A number where 64 bits hold it, as they do from 1678 to 2262.
fn unix_ns(unix_ns: i128) -> Value {
    i64::try_from(unix_ns).map_or(Value::Null, |ns| json!(ns))
}

fn data(object: &mut Map<String, Value>, unit: Unit, packet: &DataPacket) {
    object.insert("model".into(), json!(unit.name()));
    object.insert("distance_unit_m".into(), json!(unit.distance_unit_m()));
    if unit.has_timestamp() {
        object.insert("timestamp_us".into(), json!(packet.timestamp_us()));
    }
    let [kind, value] = packet.status_bytes();
    match unit {
        Unit::Hdl64e(Generation::S1) => {
            let status = match S1Status::parse(packet.tail) {
                S1Status::Temperature { fraction, degrees_c } => {
                    json!({"temperature_c": f64::from(degrees_c) + f64::from(fraction) / 256.0})
                }
                S1Status::Version { counter, version, .. } => {
                    json!({"counter": counter, "version": version})
                }
            };
            object.insert("s1_status".into(), status);
        }
        Unit::Hdl64e(_) => {
            let status = json!({
                "type": words::status_type(kind),
                "type_byte": kind,
                "value": value,
                "name": words::status_name(kind),
                "text": words::status_value(kind, value),
            });
            object.insert("status".into(), status);
            object.insert("dual_return".into(), json!(packet.is_dual_return()));
        }
        Unit::Other(_) | Unit::Unknown => {
            let mode = ReturnMode::from_byte(kind).map(|mode| mode.name());
            object.insert("return_mode".into(), json!(mode));
            object.insert("factory_bytes".into(), json!([kind, value]));
        }
    }
    let blocks: Vec<Value> = packet
        .blocks
        .iter()
        .map(|block| {
            json!({
                "flag": block.flag,
                "first_laser": Bank::from_flag(block.flag).map(Bank::first_laser),
                "azimuth_centideg": block.azimuth_centideg,
                "distance": block.points.map(|point| point.distance),
                "intensity": block.points.map(|point| point.intensity),
            })
        })
        .collect();
    object.insert("blocks".into(), Value::Array(blocks));
    let issues: Vec<String> = packet.check().iter().map(ToString::to_string).collect();
    object.insert("issues".into(), json!(issues));
}

fn position(object: &mut Map<String, Value>, packet: &PositionPacket) {
    object.insert("timestamp_us".into(), json!(packet.timestamp_us));
    object.insert("pps".into(), json!(packet.pps_status().map(|pps| pps.name())));
    object.insert("pps_byte".into(), json!(packet.pps));
    object.insert("nmea".into(), json!(packet.nmea()));
    let imu: Vec<Value> = packet
        .imu
        .iter()
        .map(|unit| {
            json!({
                "gyro": ImuWords::value(unit.gyro),
                "temperature": ImuWords::value(unit.temperature),
                "acceleration_x": ImuWords::value(unit.acceleration_x),
                "acceleration_y": ImuWords::value(unit.acceleration_y),
            })
        })
        .collect();
    object.insert("imu".into(), Value::Array(imu));
}

fn flow_of(analysis: &Analysis, flow: &Flow) -> Value {
    json!({
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
        "data": flow.data.as_ref().map(|data| data_flow(analysis.unit(data), data)),
        "position": flow.position.as_ref().map(|position| position_flow(position)),
    })
}

fn data_flow(unit: Unit, data: &DataFlow) -> Value {
    let gaps = data.gaps().found();
    let timestamps = data.timestamps_us.filter(|_| unit.has_timestamp());
    json!({
        "model": unit.name(),
        "packets": data.packets,
        "dual_packets": data.dual_packets,
        "period_us": gaps.period_us,
        "gaps": gaps.gaps,
        "missing_packets": gaps.missing,
        "longest_period_us": gaps.longest_us,
        "first_timestamp_us": timestamps.map(|(first, _)| first),
        "last_timestamp_us": timestamps.map(|(_, last)| last),
        "timestamps_back": data.timestamps_back,
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
        "status": match unit {
            Unit::Hdl64e(generation) => status(generation, data),
            _ => Value::Null,
        },
    })
}

fn status(generation: Generation, data: &DataFlow) -> Value {
    if generation == Generation::S1 {
        return json!({"temperature_c": data.s1_temperature_c, "version": data.s1_version});
    }
    json!({
        "tables": data.tables,
        "bad_tables": data.bad_tables,
        "breaks": data.decoder.breaks(),
        "live": data.decoder.live().map(|live| json!({
            "hour": live.hour,
            "minute": live.minute,
            "second": live.second,
            "day": live.day,
            "month": live.month,
            "year": 2000 + u32::from(live.year),
            "gps": words::gps(live.gps),
            "temperature_c": live.temperature_c,
            "firmware": words::firmware(live.firmware),
        })),
        "table": data.table.as_ref().map(|table| table_of(table)),
    })
}

fn table_of(table: &StatusTable) -> Value {
    let lasers: Vec<Value> = table
        .lasers
        .iter()
        .map(|laser| {
            json!({
                "vertical_centideg": laser.vertical_centideg,
                "rotational_centideg": laser.rotational_centideg,
                "distance_mm": laser.distance_mm,
                "distance_x_mm": laser.distance_x_mm,
                "distance_y_mm": laser.distance_y_mm,
                "vertical_offset_mm": laser.vertical_offset_mm,
                "horizontal_offset_mm": laser.horizontal_offset_mm,
                "focal_distance_mm": laser.focal_distance_mm,
                "focal_slope_tenths": laser.focal_slope_tenths,
                "min_intensity": laser.min_intensity,
                "max_intensity": laser.max_intensity,
            })
        })
        .collect();
    json!({
        "format": match table.format {
            StatusFormat::S2 => "S2",
            StatusFormat::S3 => "S3",
        },
        "calibration_time": words::calibration_time(table.calibration_time),
        "thresholds": table.thresholds,
        "humidity_percent": table.humidity_percent,
        "motor_rpm": table.motor_rpm,
        "fov_start_centideg": table.fov_start_centideg,
        "fov_end_centideg": table.fov_end_centideg,
        "life_time_hours": table.life_time_hours,
        "source_ip": std::net::Ipv4Addr::from(table.source_ip).to_string(),
        "destination_ip": std::net::Ipv4Addr::from(table.destination_ip).to_string(),
        "return_mode": words::table_return_mode(table.return_mode),
        "power_level": table.power_level,
        "warnings": table.warnings(),
        "lasers": lasers,
    })
}

fn position_flow(flow: &PositionFlow) -> Value {
    json!({
        "packets": flow.packets,
        "last_pps": flow.last.pps_status().map(|pps| pps.name()),
        "last_nmea": flow.last.nmea(),
        "last_timestamp_us": flow.last.timestamp_us,
    })
}
