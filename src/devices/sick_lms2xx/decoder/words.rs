//! Telegrams as text and as JSON.

use serde_json::{Map, Value, json};

use super::{ranges_m, values_of};
use crate::decoder::object_of;
use crate::sick_lms2xx::profile::RangeUnit;
use crate::wire::sick_lms2xx::command::{Command, Mode};
use crate::wire::sick_lms2xx::data::{MeasuringMode, Values};
use crate::wire::sick_lms2xx::reply::{Body, Indices, Reply, SwitchResult};
use crate::wire::sick_lms2xx::{LineRate, status_byte};

/// Name of a command for statistics.
pub(super) fn command_kind(payload: &[u8]) -> String {
    format!("{:#04x} {}", payload[0], command_name(&Command::parse(payload)))
}

/// Name of a reply for statistics.
pub(super) fn reply_kind(payload: &[u8], reply: Option<&Reply>) -> String {
    let name = reply.map_or("not read", |reply| body_name(&reply.body));
    format!("{:#04x} {name}", payload[0])
}

fn body_name(body: &Body) -> &'static str {
    match body {
        Body::PowerOn { .. } => "power-on",
        Body::ResetConfirmed => "reset-confirmed",
        Body::IncorrectCommand => "incorrect-command",
        Body::Switched(_) => "mode-switched",
        Body::Scan { .. } => "scan",
        Body::Status(_) => "status",
        Body::Errors(_) => "errors",
        Body::OperatingData { .. } => "operating-data",
        Body::Mean { .. } => "mean",
        Body::Subrange { .. } => "subrange",
        Body::Type { .. } => "type",
        Body::VariantSwitched { .. } => "variant-switched",
        Body::MeanSubrange { .. } => "mean-subrange",
        Body::Reflectivity { .. } => "reflectivity",
        Body::PermanentRate { .. } => "permanent-rate",
        Body::Configuration(_) => "configuration",
        Body::Remission(_) => "remission",
        Body::Configured { .. } => "configured",
    }
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Reset => "reset",
        Command::Switch(_) => "switch-mode",
        Command::RequestScan { .. } => "request-scan",
        Command::Status => "request-status",
        Command::Errors => "request-errors",
        Command::OperatingData => "request-operating-data",
        Command::RequestMean { .. } => "request-mean",
        Command::RequestSubrange(_) => "request-subrange",
        Command::Type => "request-type",
        Command::SwitchVariant(_) => "switch-variant",
        Command::RequestMeanSubrange { .. } => "request-mean-subrange",
        Command::RequestReflectivity(_) => "request-reflectivity",
        Command::PermanentRate(_) => "set-permanent-rate",
        Command::Configuration => "request-configuration",
        Command::RequestRemission(_) => "request-remission",
        Command::Configure(_) => "configure",
        Command::Other { .. } => "unknown-command",
    }
}

pub(super) fn command(command: &Command) -> String {
    let name = command_name(command);
    match command {
        Command::Switch(Mode::Rate(rate)) => format!("{name}  {} baud", rate.baud()),
        Command::Switch(Mode::Installation { password }) => {
            format!("{name}  installation, password {}", String::from_utf8_lossy(password))
        }
        Command::Switch(mode) => format!("{name}  {}", mode_name(mode.code())),
        Command::SwitchVariant(v) => {
            format!(
                "{name}  {} deg at {} deg",
                v.angle_deg,
                f64::from(v.resolution_centideg) / 100.0
            )
        }
        other => format!("{name}  {}", hex(&other.emit()[1..])),
    }
}

fn mode_name(code: u8) -> String {
    let name = match code {
        0x00 => "installation",
        0x10 => "diagnostic",
        0x24 => "continuous",
        0x25 => "on request",
        0x26 => "means",
        0x27 => "subrange",
        0x28 => "means of a subrange",
        0x2a => "partial scans",
        0x2b => "remission",
        0x30 => "password test",
        0x50 => "reflectivity",
        _ => "",
    };
    format!("mode {code:#04x} {name}").trim_end().to_owned()
}

fn hex(bytes: &[u8]) -> String {
    let words: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    words.join(" ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\0', ' ']).to_owned()
}

pub(super) fn reply(reply: &Reply, mode: MeasuringMode) -> String {
    let (name, said) = (body_name(&reply.body), said(reply, mode));
    format!("{:#04x} {name:<18}{said}{}", reply.body.code(), status(reply.status))
}

fn said(reply: &Reply, mode: MeasuringMode) -> String {
    match &reply.body {
        Body::PowerOn { text: bytes } | Body::Type { text: bytes } => text(bytes),
        Body::Switched(SwitchResult::Done) => "done".to_owned(),
        Body::Switched(SwitchResult::WrongPassword) => "wrong password".to_owned(),
        Body::Switched(SwitchResult::Fault) => "not possible".to_owned(),
        Body::Status(state) => {
            let rate = LineRate::from_status_word(state.line_rate_word);
            format!(
                "{}, {}, {} deg at {} deg, {} baud",
                text(&state.software_version),
                mode_name(state.operating_mode),
                state.angle_deg,
                f64::from(state.resolution_centideg) / 100.0,
                rate.map_or(0, LineRate::baud),
            )
        }
        Body::Errors(errors) => format!("{} errors", errors.len()),
        Body::OperatingData { operating_time, power_on_count } => {
            format!("{} h, switched on {power_on_count} times", u32::from(*operating_time) * 2)
        }
        Body::VariantSwitched { accepted, variant: v } => format!(
            "{}, {} deg at {} deg",
            yes(*accepted),
            v.angle_deg,
            f64::from(v.resolution_centideg) / 100.0
        ),
        Body::PermanentRate { accepted } => yes(*accepted).to_owned(),
        Body::Configuration(bytes) => hex(bytes),
        Body::Configured { accepted, configuration } => {
            format!("{}, {}", yes(*accepted), hex(configuration))
        }
        Body::Remission(parts) => {
            let count: usize = parts.iter().map(|part| part.values.len()).sum();
            format!("{} parts, {count} values", parts.len())
        }
        Body::ResetConfirmed | Body::IncorrectCommand => String::new(),
        body => values_of(body).map(|values| scan(body, values, mode)).unwrap_or_default(),
    }
}

fn yes(accepted: bool) -> &'static str {
    if accepted { "accepted" } else { "refused" }
}

/// Text of a status byte; empty in normal operation.
fn status(byte: u8) -> String {
    let mut words = Vec::new();
    match byte & status_byte::LEVEL {
        0 => {}
        1 => words.push("information"),
        2 => words.push("warning"),
        3 => words.push("error"),
        _ => words.push("fatal error"),
    }
    if byte & status_byte::IMPLAUSIBLE != 0 {
        words.push("implausible values");
    }
    if byte & status_byte::POLLUTION != 0 {
        words.push("polluted");
    }
    if words.is_empty() { String::new() } else { format!("  ! {}", words.join(", ")) }
}

fn scan(body: &Body, values: &Values, mode: MeasuringMode) -> String {
    let ranges: Vec<f64> = ranges_m(values, mode).flatten().collect();
    let near = ranges.iter().copied().fold(f64::INFINITY, f64::min);
    let far = ranges.iter().copied().fold(0.0, f64::max);
    let span = if ranges.is_empty() { String::new() } else { format!(", {near:.3} to {far:.3} m") };
    let partial = match values.is_partial {
        true => format!(", partial from .{:02} deg", u32::from(values.quarters) * 25),
        false => String::new(),
    };
    let extra = match body {
        Body::Mean { scans, .. } => format!(", mean of {scans}"),
        Body::MeanSubrange { scans, part, .. } => {
            format!(", {} to {}, mean of {scans}", part.first, part.last)
        }
        Body::Subrange { part, .. } => format!(", {} to {}", part.first, part.last),
        Body::Reflectivity { part, .. } => {
            format!(", reflectivity of {} to {}", part.first, part.last)
        }
        _ => String::new(),
    };
    let indices = indices_of(body).map(|i| format!(", scan {} telegram {}", i.scan, i.telegram));
    format!(
        "{}/{} ranges in {}{span}{partial}{extra}{}",
        ranges.len(),
        values.values.len(),
        values.unit.word(),
        indices.unwrap_or_default()
    )
}

fn indices_of(body: &Body) -> Option<Indices> {
    match body {
        Body::Scan { indices, .. }
        | Body::Mean { indices, .. }
        | Body::Subrange { indices, .. }
        | Body::MeanSubrange { indices, .. }
        | Body::Reflectivity { indices, .. } => *indices,
        _ => None,
    }
}

pub(super) fn command_fields(address: u8, payload: &[u8]) -> Map<String, Value> {
    object_of(json!({
        "address": address, "kind": command_name(&Command::parse(payload)), "payload": hex(payload),
    }))
}

pub(super) fn reply_fields(
    address: u8,
    payload: &[u8],
    reply: &Result<Reply, String>,
    mode: MeasuringMode,
) -> Map<String, Value> {
    let mut object = Map::from_iter([("address".to_owned(), address.into())]);
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            object.extend(object_of(
                json!({ "kind": "unread", "payload": hex(payload), "error": error }),
            ));
            return object;
        }
    };
    object.insert("kind".into(), body_name(&reply.body).into());
    object.insert("status_byte".into(), reply.status.into());
    let Some(values) = values_of(&reply.body) else {
        object.insert("payload".into(), hex(payload).into());
        object.insert("text".into(), said(reply, mode).into());
        return object;
    };
    let ranges: Vec<_> = ranges_m(values, mode).collect();
    object.extend(object_of(json!({
        "unit": RangeUnit::word(values.unit),
        "partial": values.is_partial,
        "shift_deg": f64::from(values.quarters) * 0.25,
        "values": values.values,
        "ranges_m": ranges,
    })));
    if let Body::Reflectivity { reflectivity, .. } = &reply.body {
        object.insert("reflectivity".into(), reflectivity.clone().into());
    }
    if let Some(indices) = indices_of(&reply.body) {
        object.insert("scan_index".into(), indices.scan.into());
        object.insert("telegram_index".into(), indices.telegram.into());
    }
    object
}
