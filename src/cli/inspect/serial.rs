//! `menura inspect FILE.bin`: what a recorded serial line says, as NMEA and UBX.
//!
//! With `--json`, one object a line: `"type": "message"` for each piece of the stream, then
//! `"type": "summary"`. A message has `number` (from 1), `offset` and `length` in the file,
//! `time_s` (when its first byte left, if `FILE.idx.csv` lies beside it; else null) and `kind`:
//! - `nmea`: `address`, `fields` (text) and, for known types, `values`; or `error`.
//! - `ubx`: `message` (its name), `class`, `id` and, for known messages, `values`; or `error`.
//! - `rtcm3`: `message_type`.
//! - `noise`: bytes that are none of these.
//!
//! The summary: `file`, `bytes`, `messages` (how many of each) and `noise_bytes`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::links::serial_record::SerialIndex;
use crate::wire::gnss_stream::{Piece, PieceKind, Splitter};
use crate::wire::nmea::{RawSentence, Sentence};
use crate::wire::ubx::{Frame, Message};

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// Why a recording cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum SerialError {
    /// The recording cannot be read.
    #[error("{0}")]
    Input(String),
    /// The report cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Reports on the recording at `path` to `out`; at most `limit` messages are printed.
pub fn inspect(
    path: &Path,
    is_json: bool,
    limit: u64,
    out: &mut dyn Write,
) -> Result<(), SerialError> {
    let input = |error: io::Error| SerialError::Input(error.to_string());
    let file = File::open(path).map_err(input)?;
    let mut report = Report {
        out,
        is_json,
        limit,
        index: SerialIndex::beside(path).map_err(input)?,
        number: 0,
        offset: 0,
        noise_bytes: 0,
        counts: BTreeMap::new(),
    };
    let mut reader = BufReader::new(file);
    let mut splitter = Splitter::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = reader.read(&mut chunk).map_err(input)?;
        if length == 0 {
            break;
        }
        splitter.push(&chunk[..length]);
        while let Some(piece) = splitter.next_piece() {
            report.piece(&piece)?;
        }
    }
    while let Some(piece) = splitter.next_at_end() {
        report.piece(&piece)?;
    }
    report.summary(&path.display().to_string())?;
    Ok(())
}

struct Report<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    limit: u64,
    index: SerialIndex,
    number: u64,
    offset: u64,
    noise_bytes: u64,
    counts: BTreeMap<String, u64>,
}

/// A piece with its meaning.
struct Said {
    name: String,
    kind: &'static str,
    /// For people.
    text: String,
    /// For machines.
    keys: Map<String, Value>,
}

impl Report<'_> {
    fn piece(&mut self, piece: &Piece) -> io::Result<()> {
        self.number += 1;
        let said = said(piece);
        if piece.kind == PieceKind::Noise {
            self.noise_bytes += piece.bytes.len() as u64;
        } else {
            *self.counts.entry(said.name.clone()).or_default() += 1;
        }
        let offset = self.offset;
        self.offset += piece.bytes.len() as u64;
        let time_s = self.index.time_s(offset);
        if self.number > self.limit {
            return Ok(());
        }
        if !self.is_json {
            let time =
                time_s.map_or_else(|| format!("@{offset}"), |time_s| format!("{time_s:.9} s"));
            return writeln!(self.out, "{time:>16}  {:5}  {}", said.kind, said.text);
        }
        let mut line = Map::new();
        line.insert("type".into(), "message".into());
        line.insert("number".into(), self.number.into());
        line.insert("offset".into(), offset.into());
        line.insert("length".into(), piece.bytes.len().into());
        line.insert("time_s".into(), time_s.into());
        line.insert("kind".into(), said.kind.into());
        line.extend(said.keys);
        writeln!(self.out, "{}", Value::Object(line))
    }

    fn summary(&mut self, name: &str) -> io::Result<()> {
        if self.is_json {
            let summary = json!({
                "type": "summary",
                "file": name,
                "bytes": self.offset,
                "messages": self.counts,
                "noise_bytes": self.noise_bytes,
            });
            return writeln!(self.out, "{summary}");
        }
        if self.limit > 0 && self.number > 0 {
            writeln!(self.out)?;
        }
        writeln!(self.out, "{name}: {} bytes, {} of them noise", self.offset, self.noise_bytes)?;
        let width = self.counts.keys().map(String::len).max().unwrap_or(0);
        for (name, count) in &self.counts {
            writeln!(self.out, "  {name:width$}  {count}")?;
        }
        Ok(())
    }
}

fn said(piece: &Piece) -> Said {
    match piece.kind {
        PieceKind::Line => line(&piece.bytes),
        PieceKind::Ubx => ubx(&piece.bytes),
        PieceKind::Rtcm3 => {
            let number =
                piece.bytes.get(3..5).map_or(0, |b| u16::from(b[0]) << 4 | u16::from(b[1]) >> 4);
            let keys = Map::from_iter([("message_type".to_string(), number.into())]);
            Said { name: format!("RTCM {number}"), kind: "rtcm3", text: number.to_string(), keys }
        }
        PieceKind::Noise => {
            let text = format!("{} bytes", piece.bytes.len());
            Said { name: "noise".to_string(), kind: "noise", text, keys: Map::new() }
        }
    }
}

fn line(bytes: &[u8]) -> Said {
    let printed = String::from_utf8_lossy(bytes).trim_end().to_string();
    let mut keys = Map::new();
    let (name, text) = match RawSentence::parse(bytes) {
        Ok(raw) => {
            keys.insert("address".into(), raw.address.clone().into());
            keys.insert("fields".into(), raw.fields.clone().into());
            let fault = match Sentence::from_raw(&raw) {
                Some(Ok(sentence)) => {
                    let values = serde_json::to_value(&sentence.content);
                    keys.insert("values".into(), values.unwrap_or(Value::Null));
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
            (raw.address, text)
        }
        Err(error) => {
            let text = format!("{printed}  <- {error}");
            keys.insert("error".into(), error.to_string().into());
            ("broken line".to_string(), text)
        }
    };
    Said { name, kind: "nmea", text, keys }
}

fn ubx(bytes: &[u8]) -> Said {
    let mut keys = Map::new();
    let frame = match Frame::parse(bytes) {
        Ok(frame) => frame,
        Err(error) => {
            let text = error.to_string();
            keys.insert("error".into(), text.clone().into());
            return Said { name: "broken frame".to_string(), kind: "ubx", text, keys };
        }
    };
    let name = frame.id.to_string();
    keys.insert("message".into(), name.clone().into());
    keys.insert("class".into(), frame.id.class.into());
    keys.insert("id".into(), frame.id.id.into());
    let rest = match Message::from_frame(&frame) {
        Some(Ok(message)) => {
            let values = serde_json::to_value(&message).unwrap_or(Value::Null);
            let text = brief(&values);
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
    Said { text: format!("{name} {rest}"), name, kind: "ubx", keys }
}

/// A message's fields on one line; of rows only how many there are.
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

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"$GPGSV,1,1,00,1*64\r\n\xb5\x62\x05\x01\x02\x00\x06\x08\x16\x3f??$GPX*00\r\n";

    fn report(is_json: bool) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gnss.bin");
        std::fs::write(&path, STREAM).unwrap();
        let index = "time_s,offset,length\n1.000000000,0,20\n1.250000000,20,10\n";
        std::fs::write(path.with_extension("idx.csv"), index).unwrap();
        let mut out = Vec::new();
        inspect(&path, is_json, u64::MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn people_read_lines_and_names() {
        let text = report(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "   1.000000000 s  nmea   $GPGSV,1,1,00,1*64");
        assert_eq!(lines[1], "   1.250000000 s  ubx    ACK-ACK class=6 id=8");
        assert!(lines[2].ends_with("noise  2 bytes"));
        assert!(lines[3].contains("$GPX*00  <- checksum"), "{}", lines[3]);
        assert!(text.contains("41 bytes, 2 of them noise"), "{text}");
    }

    #[test]
    fn machines_read_one_object_a_line() {
        let text = report(true);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["values"]["signal"], "1");
        assert_eq!(lines[1]["message"], "ACK-ACK");
        assert_eq!((&lines[1]["time_s"], &lines[1]["offset"]), (&json!(1.25), &json!(20)));
        assert_eq!(lines[4]["messages"]["GPGSV"], 1);
        assert_eq!(lines[4]["noise_bytes"], 2);
    }
}
