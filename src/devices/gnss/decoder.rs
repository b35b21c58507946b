//! Decodes the output of a GNSS receiver: NMEA sentences, UBX frames and RTCM 3 messages.
//!
//! Bytes outside these frames are shown as noise, so that any stream can be read.

use serde_json::{Map, Value, json};

use super::position_fix;
use super::profile::{GnssDialect, GnssProfile};
use crate::decoder::readings::{PositionFix, Reading};
use crate::decoder::{Fields, Frame as Found, Place, StreamDecoder, Totals, object_of};
use crate::sensors::gnss::settings::GnssSystem;
use crate::wire::framer::{Framer, Piece};
use crate::wire::gnss_stream::{self, GnssStream};
use crate::wire::nmea::{RawSentence, Sentence};
use crate::wire::ubx::{Frame, Message};

#[derive(Default)]
pub(super) struct GnssDecoder {
    framer: Framer<GnssStream>,
    noise_bytes: u64,
    expected: Option<Expected>,
}

/// Properties of a profile that limit what its receiver can send.
#[derive(Clone, Copy)]
struct Expected {
    dialect: GnssDialect,
    is_gps_only: bool,
}

impl GnssDecoder {
    /// Decoder for the receiver of `profile`; without a profile, for any receiver.
    pub(super) fn new(profile: Option<&GnssProfile>) -> Self {
        let expected = profile.map(|profile| Expected {
            dialect: profile.receiver.dialect,
            is_gps_only: matches!(&profile.nmea.signals[..], [(GnssSystem::Gps, _)]),
        });
        Self { expected, ..Self::default() }
    }
}

impl Expected {
    /// Reason why the expected receiver cannot have sent `frame`; `None` if it can.
    fn misfit(self, frame: &gnss_stream::Frame) -> Option<String> {
        let address = match frame {
            gnss_stream::Frame::Ubx(frame) if !self.dialect.is_ublox() => {
                return Some(format!("{} is a UBX message, which u-blox receivers send", frame.id));
            }
            gnss_stream::Frame::Line(bytes) => RawSentence::parse(bytes).ok()?.address,
            _ => return None,
        };
        let whose = match &*address {
            proprietary if proprietary.starts_with("PGRM") => match self.dialect {
                GnssDialect::Garmin => return None,
                _ => "a sentence of Garmin's receivers",
            },
            "PUBX" if self.dialect.is_ublox() => return None,
            "PUBX" => "a sentence of u-blox receivers",
            standard if self.is_gps_only && standard.len() == 5 => match &standard[..2] {
                "GL" | "GN" | "GA" | "GB" | "BD" => {
                    "a sentence for satellite systems other than GPS"
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(format!("{address} is {whose}"))
    }
}

impl StreamDecoder for GnssDecoder {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Found> {
        let piece = self.framer.next_piece(input)?;
        let (offset, length) = (piece.offset, piece.bytes.len() as u64);
        let decoded = decode(&piece);
        if decoded.name.is_none() {
            self.noise_bytes += length;
        }
        let text = format!("{:5}  {}", decoded.kind, decoded.text);
        let mut fields = Map::from_iter([("kind".to_owned(), decoded.kind.into())]);
        fields.extend(decoded.keys);
        let fields = Fields { text, fields };
        let content = Box::new(Reading { fields, inertial: None, fix: decoded.fix });
        Some(Found { offset, length, kind: decoded.name, is_telling: decoded.is_known, content })
    }

    fn end(&mut self) {
        self.framer.end();
    }

    fn skipped_bytes(&self) -> u64 {
        self.noise_bytes
    }

    fn rewind(&mut self) {
        *self = Self { expected: self.expected, ..Self::default() };
    }

    fn misfit(&mut self, head: &[u8]) -> Option<String> {
        let (expected, mut rest) = (self.expected?, head);
        let found = std::iter::from_fn(|| {
            self.framer
                .next_piece(&mut rest)
                .map(|piece| piece.frame.as_ref().and_then(|frame| expected.misfit(frame)))
        });
        let found = found.flatten().next();
        self.rewind();
        found
    }

    fn least_likelihood(&self) -> f64 {
        f64::MIN_POSITIVE
    }

    fn title(&self) -> &'static str {
        "NMEA and UBX"
    }

    fn item(&self) -> &'static str {
        "message"
    }

    fn margin(&self, place: &Place) -> String {
        let time = match place.time_s {
            Some(time_s) => format!("{time_s:.9} s"),
            None => format!("@{}", place.offset),
        };
        format!("{time:>16}  ")
    }

    fn summary(&self, name: &str, totals: &Totals) -> String {
        let mut text =
            format!("{name}: {} bytes, {} of them noise\n", totals.bytes, self.noise_bytes);
        let width = totals.kinds.keys().map(String::len).max().unwrap_or(0);
        for (name, count) in &totals.kinds {
            text += &format!("  {name:width$}  {count}\n");
        }
        text
    }

    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        object_of(json!({
            "bytes": totals.bytes, "messages": totals.kinds, "noise_bytes": self.noise_bytes,
        }))
    }
}

/// A decoded piece of the stream.
struct Decoded {
    /// Name for statistics; `None` for noise.
    name: Option<String>,
    kind: &'static str,
    /// Whether only a GNSS receiver can have sent the message.
    is_known: bool,
    text: String,
    keys: Map<String, Value>,
    /// Position that the piece reports.
    fix: Option<PositionFix>,
}

fn decode(piece: &Piece<'_, gnss_stream::Frame>) -> Decoded {
    match &piece.frame {
        Some(gnss_stream::Frame::Line(bytes)) => line(bytes),
        Some(gnss_stream::Frame::Ubx(frame)) => ubx(frame),
        Some(gnss_stream::Frame::Rtcm3(message)) => {
            let number =
                message.get(3..5).map_or(0, |b| u16::from(b[0]) << 4 | u16::from(b[1]) >> 4);
            let keys = Map::from_iter([("message_type".to_string(), number.into())]);
            Decoded {
                name: Some(format!("RTCM {number}")),
                kind: "rtcm3",
                is_known: true,
                text: number.to_string(),
                keys,
                fix: None,
            }
        }
        None => {
            let text = format!("{} bytes", piece.bytes.len());
            Decoded {
                name: None,
                kind: "noise",
                is_known: false,
                text,
                keys: Map::new(),
                fix: None,
            }
        }
    }
}

fn line(bytes: &[u8]) -> Decoded {
    let printed = String::from_utf8_lossy(bytes).trim_end().to_string();
    let (mut keys, mut fix) = (Map::new(), None);
    let (name, is_known, text) = match RawSentence::parse(bytes) {
        Ok(raw) => {
            keys.insert("address".into(), raw.address.clone().into());
            keys.insert("fields".into(), raw.fields.clone().into());
            let known = Sentence::from_raw(&raw);
            let is_known = matches!(known, Some(Ok(_)));
            let fault = match known {
                Some(Ok(sentence)) => {
                    let values = serde_json::to_value(&sentence.content);
                    keys.insert("values".into(), values.unwrap_or(Value::Null));
                    fix = position_fix::of_sentence(&raw.address, &sentence.content);
                    None
                }
                Some(Err(error)) => Some(error.to_string()),
                None => None,
            };
            let text = match fault {
                None => printed,
                Some(error) => {
                    let text = format!("{printed}  <- {error}");
                    keys.insert("error".into(), error.into());
                    text
                }
            };
            (raw.address, is_known, text)
        }
        Err(error) => {
            let text = format!("{printed}  <- {error}");
            keys.insert("error".into(), error.to_string().into());
            ("broken line".to_owned(), false, text)
        }
    };
    Decoded { name: Some(name), kind: "nmea", is_known, text, keys, fix }
}

fn ubx(frame: &Frame) -> Decoded {
    let (mut keys, mut fix) = (Map::new(), None);
    let name = frame.id.to_string();
    keys.insert("message".into(), name.clone().into());
    keys.insert("class".into(), frame.id.class.into());
    keys.insert("id".into(), frame.id.id.into());
    let rest = match Message::from_frame(frame) {
        Some(Ok(message)) => {
            let values = serde_json::to_value(&message).unwrap_or(Value::Null);
            let text = brief(&values);
            fix = position_fix::of_message(&name, &message);
            keys.insert("values".into(), values);
            text
        }
        Some(Err(_)) if frame.payload.len() <= 1 => "poll".to_string(),
        Some(Err(error)) => {
            keys.insert("error".into(), error.to_string().into());
            format!("<- {error}")
        }
        None => format!("{} bytes", frame.payload.len()),
    };
    let text = format!("{name} {rest}");
    Decoded { name: Some(name), kind: "ubx", is_known: true, text, keys, fix }
}

/// Fields of a message on one line; tables are shortened to their number of rows.
fn brief(values: &Value) -> String {
    let Value::Object(fields) = values else { return values.to_string() };
    let field = |(key, value): (&String, &Value)| match value {
        _ if key.starts_with("reserved") => None,
        Value::Array(rows) if rows.first().is_some_and(Value::is_object) => {
            Some(format!("{key}: {}", rows.len()))
        }
        value => Some(format!("{key}={value}")),
    };
    fields.iter().filter_map(field).collect::<Vec<_>>().join(" ")
}
