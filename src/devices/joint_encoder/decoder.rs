//! The line of an encoder or a turning head.

use serde_json::{Map, Value, json};

use crate::decoder::{Fields, Frame, StreamDecoder, Totals, object_of};
use crate::wire::framer::Framer;
use crate::wire::joint_lines::{Lines, Message, Position};

/// Kind of a line, and the position in it with its word.
fn kind_of(message: &Message) -> (&'static str, Option<(Option<&str>, &Position)>) {
    match message {
        Message::Position(position) => ("position", Some((None, position))),
        Message::Index { word, position } => ("index", Some((Some(word), position))),
        Message::Ack => ("ack", None),
        Message::Nack => ("nack", None),
    }
}

/// A line for people.
pub(super) fn text_of(message: &Message) -> String {
    let (kind, position) = kind_of(message);
    let position = position.map_or_else(String::new, |(word, position)| {
        let word = word.map_or_else(String::new, |word| format!("  {word}"));
        format!("  {} ms  {}{word}", position.time_ms(), position.count)
    });
    format!("{kind}{position}")
}

/// A line for machines.
pub(super) fn fields_of(message: &Message) -> Map<String, Value> {
    let (kind, position) = kind_of(message);
    let mut fields = Map::from_iter([("kind".to_owned(), Value::from(kind))]);
    if let Some((word, position)) = position {
        fields.extend(word.map(|word| ("word".to_owned(), Value::from(word))));
        fields.insert("time_ms".into(), json!(position.time_ms()));
        fields.insert("count".into(), position.count.into());
    }
    fields
}

/// See the module.
pub(super) struct JointDecoder {
    framer: Framer<Lines>,
    framed_bytes: u64,
}

impl JointDecoder {
    pub(super) fn new() -> Self {
        Self { framer: Framer::new(Lines), framed_bytes: 0 }
    }
}

impl StreamDecoder for JointDecoder {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let (offset, length, message) = loop {
            let piece = self.framer.next_piece(input)?;
            if let Some(message) = piece.frame {
                break (piece.offset, piece.bytes.len() as u64, message);
            }
        };
        self.framed_bytes += length;
        let (text, fields) = (text_of(&message), fields_of(&message));
        let content = Box::new(Fields { text, fields });
        Some(Frame {
            offset,
            length,
            kind: Some(kind_of(&message).0.to_owned()),
            is_telling: true,
            content,
        })
    }

    fn end(&mut self) {}

    fn skipped_bytes(&self) -> u64 {
        self.framer.taken() - self.framed_bytes
    }

    fn rewind(&mut self) {
        *self = Self::new();
    }

    fn title(&self) -> &'static str {
        "joint encoder"
    }

    fn item(&self) -> &'static str {
        "line"
    }

    fn summary(&self, name: &str, totals: &Totals) -> String {
        let Totals { bytes, frames, kinds, .. } = totals;
        let mut text = format!("{name}: joint encoder, {bytes} bytes, {frames} lines\n");
        let span_s = totals.duration_s().filter(|span_s| *span_s > 0.0);
        for (kind, count) in kinds {
            let rate = span_s.map(|span_s| format!(", {:.1} a second", *count as f64 / span_s));
            text += &format!("  {kind}: {count}{}\n", rate.unwrap_or_default());
        }
        text + &format!("  bytes in no line: {}\n", self.skipped_bytes())
    }

    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        object_of(json!({
            "format": "joint-encoder", "bytes": totals.bytes, "lines": totals.kinds,
            "skipped_bytes": self.skipped_bytes(),
        }))
    }
}
