//! Decoder of the Open Interface; see [`crate::serial::decoder`].

use serde_json::Value;

use crate::decoder::StreamDecoder;
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex};
use crate::wire::create_oi::{Stream, StreamFrame};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Stream, Summary::Counts, show)
}

fn show(frame: &StreamFrame) -> Option<Shown> {
    let parts = frame.parts.iter().map(|(id, data)| (id.to_string(), Value::from(hex(data))));
    Some(Shown::new("stream", parts.collect()))
}
