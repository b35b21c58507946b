//! Decoder of a byte stream whose frames are shown as fields.

use serde_json::{Map, Value};

use crate::decoder::facts::Facts;
use crate::decoder::readings::{Inertial, Reading};
use crate::decoder::{Fields, Frame, StreamDecoder, Totals, object_of};
use crate::wire::framer::{Framer, Framing, NoFrame};

/// A decoded frame as printed: name, fields, and the IMU measurement if the frame has one.
pub(crate) struct Shown {
    kind: String,
    fields: Map<String, Value>,
    inertial: Option<Inertial>,
    is_telling: bool,
}

impl Shown {
    /// A frame with the name `kind` and the fields `fields`, without an IMU measurement.
    pub fn new(kind: impl Into<String>, fields: Map<String, Value>) -> Self {
        Self { kind: kind.into(), fields, inertial: None, is_telling: true }
    }

    /// Adds the measurement of an IMU, if any.
    pub fn with_inertial(self, inertial: Option<Inertial>) -> Self {
        Self { inertial, ..self }
    }

    /// Marks the frame as one that other families send too.
    pub fn of_many_families(self) -> Self {
        Self { is_telling: false, ..self }
    }
}

/// Figures that the text summary shows for each frame name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summary {
    /// Number of frames.
    Counts,
    /// Number and rate of frames.
    Rates,
}

/// Decoder of frames of the format `F`.
pub(crate) struct FrameDecoder<F: Framing> {
    key: &'static str,
    format: F,
    framer: Framer<F>,
    summary: Summary,
    /// Returns name and fields of a frame; `None` if the frame is invalid.
    show: fn(&F::Frame) -> Option<Shown>,
    framed_bytes: u64,
}

impl<F: Framing + Copy + 'static> FrameDecoder<F> {
    /// A decoder of the family `key` for frames of `format`.
    pub fn boxed(
        key: &'static str,
        format: F,
        summary: Summary,
        show: fn(&F::Frame) -> Option<Shown>,
    ) -> Box<dyn StreamDecoder> {
        Box::new(Self { key, format, framer: Framer::new(format), summary, show, framed_bytes: 0 })
    }
}

impl<F: Framing + Copy> StreamDecoder for FrameDecoder<F> {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let (offset, length, shown) = loop {
            let piece = self.framer.next_piece(input)?;
            if let Some(shown) = piece.frame.as_ref().and_then(self.show) {
                break (piece.offset, piece.bytes.len() as u64, shown);
            }
        };
        self.framed_bytes += length;
        let Shown { kind, fields, inertial, is_telling } = shown;
        let content = Box::new(Reading { fields: Fields::of(&kind, fields), inertial, fix: None });
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
        self.key
    }

    fn facts(&self, totals: &Totals) -> Facts {
        let mut facts = Facts::default();
        facts.add_data("format", self.key);
        facts.add_data("bytes", totals.bytes);
        totals.add_kinds(&mut facts, "frames", self.summary == Summary::Rates);
        let skipped = self.skipped_bytes();
        facts.add("skipped_bytes", skipped, "bytes in no frame", skipped.to_string());
        facts
    }
}

/// Format without frames, for output that cannot be decoded without the host's queries.
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

/// A decoder that finds no frames, for the family `key`: the output of its devices cannot be decoded without the host's
/// commands.
pub(crate) fn frameless(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Frameless, Summary::Counts, |()| None)
}

/// Fields of a struct as a JSON object.
pub(crate) fn object(value: &impl serde::Serialize) -> Map<String, Value> {
    object_of(shortest(value))
}

/// JSON of a value. Single-precision numbers keep their shortest digits; `to_value` would show them in double
/// precision.
pub(crate) fn shortest(value: &impl serde::Serialize) -> Value {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// Hexadecimal text of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
