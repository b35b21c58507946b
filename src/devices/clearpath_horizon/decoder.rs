//! Decoder of Clearpath's Horizon.

use serde_json::{Value, json};

use crate::decoder::{StreamDecoder, object_of};
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex};
use crate::wire::horizon::{self, Horizon, kind};
use crate::wire::record::Record;

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Horizon, Summary::Counts, show)
}

fn show(frame: &horizon::Frame) -> Option<Shown> {
    if !frame.is_sound() {
        return None;
    }
    let as_value = |read: Option<Value>| read.unwrap_or_else(|| Value::from(hex(&frame.payload)));
    let (name, value) = match frame.kind {
        kind::ENCODERS => ("encoders", json_of::<horizon::Encoders>(frame)),
        kind::WHEEL_SPEEDS => ("wheel-speeds", json_of::<horizon::WheelSpeeds>(frame)),
        kind::SYSTEM_STATUS => ("system-status", json_of::<horizon::SystemStatus>(frame)),
        kind::POWER_STATUS => ("power-status", json_of::<horizon::PowerStatus>(frame)),
        kind::SAFETY_STATUS => ("safety-status", None),
        kind::PLATFORM_INFO => ("platform-info", None),
        other if other >= kind::DATA => ("data", None),
        _ => ("acknowledgement", None),
    };
    let said = json!({
        "type": format!("{:#06x}", frame.kind), "time": frame.time, "payload": as_value(value),
    });
    Some(Shown::new(name, object_of(said)))
}

fn json_of<T: Record + serde::Serialize>(frame: &horizon::Frame) -> Option<Value> {
    serde_json::to_value(horizon::payload::<T>(frame).ok()?).ok()
}
