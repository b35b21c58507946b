//! Decoder of the datagrams of an encoder or a turning head, which contain whole lines.

use serde_json::{Map, Value, json};

use super::decoder::{fields_of, text_of};
use crate::config::profile::Profile;
use crate::decoder::datagram::{DatagramDecoder, Head, PointSource, Sweep, Twin};
use crate::decoder::facts::{Facts, plural};
use crate::decoder::object_of;
use crate::wire::framer::Framing;
use crate::wire::joint_lines::{Lines, Message, Position};

/// Name of joint-encoder datagrams in the decoder's output.
const JOINT: &str = "joint";

/// Decoder of datagrams with lines.
#[derive(Clone, Debug, Default)]
pub(super) struct JointDatagrams {
    last: Option<Position>,
}

/// Lines of a datagram; `None` if the datagram contains anything else.
fn messages(payload: &[u8]) -> Option<Vec<Message>> {
    let mut rest = payload;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let (message, length) = Lines.scan(rest).ok()?;
        messages.push(message);
        rest = &rest[length..];
    }
    (!messages.is_empty()).then_some(messages)
}

impl DatagramDecoder for JointDatagrams {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        messages(payload).map(|_| Head { kind: JOINT, stamp: None })
    }

    fn learn(&mut self, payload: &[u8]) {
        for message in messages(payload).into_iter().flatten() {
            if let Message::Position(position) | Message::Index { position, .. } = message {
                self.last = Some(position);
            }
        }
    }

    fn likelihood(&self) -> f64 {
        if self.last.is_some() { 0.5 } else { 0.0 }
    }

    fn sweep(&self, _payload: &[u8]) -> Sweep {
        Sweep::default()
    }

    fn has_stamps(&self) -> bool {
        false
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "joint-encoder"
    }

    fn model(&self) -> String {
        "joint encoder".to_owned()
    }

    fn text(&self, payload: &[u8]) -> String {
        let texts: Vec<String> = messages(payload).iter().flatten().map(text_of).collect();
        texts.join("; ")
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        let lines: Vec<_> = messages(payload).iter().flatten().map(fields_of).collect();
        object_of(json!({ "lines": lines }))
    }

    fn other_kinds(&self) -> &'static [&'static str] {
        &[JOINT]
    }

    fn other(&self, _kind: &str, packets: u64) -> Facts {
        let (mut facts, mut text) = (Facts::default(), plural(packets, "datagram"));
        if let Some(last) = self.last {
            text += &format!(", last {} steps at {} ms", last.count, last.time_ms());
            facts.add_data("last_count", last.count);
            facts.add_data("last_time_ms", last.time_ms());
        }
        facts.add_line(JOINT, text);
        facts
    }

    fn point_source(&self) -> Result<PointSource, String> {
        Err("a joint encoder measures no points".to_owned())
    }

    fn twin(&self, _profile: &Profile, _rate_rpm: f64) -> Result<Twin, String> {
        Err("is from a joint encoder, which cannot be compared".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_of_whole_lines_or_no_encoders() {
        let mut decoder = JointDatagrams::default();
        let whole = b"12.5,-48\r\nINDEX,13,96000\r\n";
        assert_eq!(decoder.head([1, 2], whole), Some(Head { kind: JOINT, stamp: None }));
        assert_eq!(decoder.likelihood(), 0.0);
        decoder.learn(whole);
        assert_eq!(decoder.likelihood(), 0.5);
        assert_eq!(decoder.text(whole), "position  12.5 ms  -48; index  13 ms  96000  INDEX");
        assert_eq!(decoder.fields(whole)["lines"][1]["count"], 96000);
        assert_eq!(decoder.other_lines(JOINT, 1)[0].1, "1 datagram, last 96000 steps at 13 ms");
        for length in 1..whole.len() {
            let is_whole_line = length == 10;
            assert_eq!(decoder.head([1, 2], &whole[..length]).is_some(), is_whole_line, "{length}");
        }
        assert_eq!(decoder.head([1, 2], b""), None);
    }
}
