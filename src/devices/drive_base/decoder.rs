//! The line of a drive base, as far as its answers can be told apart without its host's questions.
//!
//! A RoboClaw's answers are bare data whose meaning stands in the question, and a Sabertooth says
//! nothing: none of their bytes are frames. Of a Create only streams are.

use serde_json::{Map, Value, json};

use super::profile::BaseProtocol;
use crate::decoder::{Fields, Frame, StreamDecoder, Totals, object_of};
use crate::wire::create_oi::{Stream, StreamFrame};
use crate::wire::framer::{Framer, Framing, NoFrame};
use crate::wire::horizon::{self, Horizon, kind};
use crate::wire::kangaroo::{self, Kangaroo, flag};

/// Of one protocol.
pub(super) fn decoder(protocol: BaseProtocol) -> Box<dyn StreamDecoder> {
    match protocol {
        BaseProtocol::CreateOi => BaseDecoder::boxed(protocol, Stream, create_stream),
        BaseProtocol::Kangaroo => BaseDecoder::boxed(protocol, Kangaroo, kangaroo_item),
        BaseProtocol::Horizon => BaseDecoder::boxed(protocol, Horizon, horizon_frame),
        BaseProtocol::RoboClaw | BaseProtocol::Sabertooth => {
            BaseDecoder::boxed(protocol, Frameless, |()| None)
        }
    }
}

/// A stream without frames.
#[derive(Clone, Copy)]
struct Frameless;

impl Framing for Frameless {
    type Frame = ();

    fn max_len(&self) -> usize {
        1
    }

    fn begins(&self, _byte: u8) -> bool {
        false
    }

    fn scan(&self, _bytes: &[u8]) -> Result<((), usize), NoFrame> {
        Err(NoFrame::Refused)
    }
}

/// What a frame is, and what it says.
type Told = (String, Map<String, Value>);

struct BaseDecoder<F: Framing> {
    protocol: BaseProtocol,
    format: F,
    framer: Framer<F>,
    /// What a frame is, and what it says; `None` if it is not sound.
    describe: fn(&F::Frame) -> Option<Told>,
    framed_bytes: u64,
}

impl<F: Framing + Copy + 'static> BaseDecoder<F> {
    fn boxed(
        protocol: BaseProtocol,
        format: F,
        describe: fn(&F::Frame) -> Option<Told>,
    ) -> Box<dyn StreamDecoder> {
        Box::new(Self { protocol, format, framer: Framer::new(format), describe, framed_bytes: 0 })
    }
}

impl<F: Framing + Copy> StreamDecoder for BaseDecoder<F> {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let (offset, length, (kind, said)) = loop {
            let piece = self.framer.next_piece(input)?;
            if let Some(told) = piece.frame.as_ref().and_then(self.describe) {
                break (piece.offset, piece.bytes.len() as u64, told);
            }
        };
        self.framed_bytes += length;
        // Lines of text have the form of many other devices'.
        let is_telling = kind != "text";
        let content = Box::new(Fields::of(&kind, said));
        Some(Frame { offset, length, kind: Some(kind), is_telling, content })
    }

    fn end(&mut self) {}

    fn skipped_bytes(&self) -> u64 {
        self.framer.taken() - self.framed_bytes
    }

    fn rewind(&mut self) {
        self.framer = Framer::new(self.format);
        self.framed_bytes = 0;
    }

    fn title(&self) -> &'static str {
        self.protocol.word()
    }

    fn summary(&self, name: &str, totals: &Totals) -> String {
        let Totals { bytes, frames, kinds, .. } = totals;
        let mut text =
            format!("{name}: {}, {bytes} bytes, {frames} frames\n", self.protocol.word());
        for (kind, count) in kinds {
            text += &format!("  {kind}: {count}\n");
        }
        text + &format!("  bytes in no frame: {}\n", self.skipped_bytes())
    }

    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        object_of(json!({
            "format": self.protocol.word(), "bytes": totals.bytes, "frames": totals.kinds,
            "skipped_bytes": self.skipped_bytes(),
        }))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn create_stream(frame: &StreamFrame) -> Option<Told> {
    let parts = frame.parts.iter().map(|(id, data)| (id.to_string(), Value::from(hex(data))));
    Some(("stream".to_owned(), parts.collect()))
}

fn kangaroo_item(item: &kangaroo::Item) -> Option<Told> {
    let kangaroo::Item::Packet(packet) = item else {
        let kangaroo::Item::Line(line) = item else { return None };
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        return Some(("text".to_owned(), object_of(json!({ "text": text }))));
    };
    let [channel, flags, rest @ ..] = packet.data.as_slice() else { return None };
    if packet.command != kangaroo::REPLY {
        let said = json!({ "address": packet.address, "data": hex(&packet.data) });
        return Some((format!("command {:#04x}", packet.command), object_of(said)));
    }
    let mut rest = rest;
    let mut take = |is_there: bool| {
        let (first, after) = rest.split_first().filter(|_| is_there)?;
        rest = after;
        Some(*first)
    };
    let echo = take(flags & flag::ECHO != 0);
    let sequence = take(flags & flag::SEQUENCE != 0);
    let kind = take(true)?;
    let value = kangaroo::take_number(&mut rest)?;
    let said = json!({
        "address": packet.address, "channel": char::from(*channel).to_string(),
        "is_error": flags & flag::ERROR != 0, "is_busy": flags & flag::BUSY != 0,
        "is_raw": flags & flag::RAW != 0, "echo": echo, "sequence": sequence,
        "type": kind, "value": value,
    });
    Some(("reply".to_owned(), object_of(said)))
}

fn horizon_frame(frame: &horizon::Frame) -> Option<Told> {
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
    Some((name.to_owned(), object_of(said)))
}

fn json_of<T: crate::wire::record::Record + serde::Serialize>(
    frame: &horizon::Frame,
) -> Option<Value> {
    serde_json::to_value(horizon::payload::<T>(frame).ok()?).ok()
}
