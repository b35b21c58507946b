//! Decodes the lines of an encoder or a turning head.

use serde_json::{Map, Value, json};

use crate::decoder::facts::Facts;
use crate::decoder::{Fields, Frame, StreamDecoder, Totals};
use crate::wire::framer::Framer;
use crate::wire::joint_lines::{Lines, Message, Position};

/// Name of a line's kind, such as "position". For a line with a position, also returns the index word, if any, and the
/// position.
fn kind_of(message: &Message) -> (&'static str, Option<(Option<&str>, &Position)>) {
    match message {
        Message::Position(position) => ("position", Some((None, position))),
        Message::Index { word, position } => ("index", Some((Some(word), position))),
        Message::Ack => ("ack", None),
        Message::Nack => ("nack", None),
    }
}

/// A line as text for the decoder's output.
pub(super) fn text_of(message: &Message) -> String {
    let (kind, position) = kind_of(message);
    let position = position.map_or_else(String::new, |(word, position)| {
        let word = word.map_or_else(String::new, |word| format!("  {word}"));
        format!("  {} ms  {}{word}", position.time_ms(), position.count)
    });
    format!("{kind}{position}")
}

/// Fields of a line for JSON.
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

/// Decoder of a byte stream with lines.
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

    fn facts(&self, totals: &Totals) -> Facts {
        let mut facts = Facts::default();
        facts.add_data("format", "joint-encoder");
        facts.add_data("bytes", totals.bytes);
        totals.add_kinds(&mut facts, "lines", true);
        let skipped = self.skipped_bytes();
        facts.add("skipped_bytes", skipped, "bytes in no line", skipped.to_string());
        facts
    }
}
