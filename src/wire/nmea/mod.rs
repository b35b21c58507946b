//! NMEA 0183 sentences, versions 2.x to 4.11, as GNSS receivers send and receive them.
//!
//! `$` address `,` fields `*` checksum CR LF. The checksum is the exclusive or of all bytes between `$` and `*`, as
//! two upper-case hex digits. [`RawSentence`] is the frame around any fields; [`Sentence`] interprets the fields of
//! the usual sentences. Both keep every digit, so that received sentences are reproduced byte for byte.
//!
//! Versions differ in their last fields. Version 2.3 added the mode to RMC, GLL and VTG; 4.10 added the system to
//! GSA, the signal to GSV, and the navigation status to RMC and GNS. Such a field is a [`Tail`]: absent, empty or
//! with a value.
//!
//! Sources: u-blox interface descriptions (NMEA protocol chapters), Garmin GPS 18x technical
//! specifications, gpsd's captures of a ZED-F9P.

mod number;
mod sentences;

pub use number::{Angle, Date, Number, Position, Time};
pub use sentences::{
    Content, Gbs, Gga, Gll, Gns, Gsa, Gst, Gsv, Rmc, SatelliteInView, Sentence, Tail, Txt, Vtg, Zda,
};

use super::ParseError;
use super::checksum::xor8;

/// Length of the longest sentence including `$` and CR LF, bytes. The standard's limit is 82; receivers in
/// high-precision mode exceed it, and `PUBX,03` has up to 32 satellites of 20 bytes.
pub const MAX_SENTENCE_LEN: usize = 768;

/// A sentence whose fields are text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSentence {
    /// Characters between `$` and the first comma, such as `GNGGA` or `PUBX`.
    pub address: String,
    /// Fields after the address.
    pub fields: Vec<String>,
}

impl RawSentence {
    /// A sentence with these fields, which must not contain commas, `*`, `$` or control characters.
    pub fn new<S: Into<String>>(address: &str, fields: impl IntoIterator<Item = S>) -> Self {
        Self { address: address.to_string(), fields: fields.into_iter().map(Into::into).collect() }
    }

    /// Reads a whole line, from `$` to LF.
    ///
    /// # Errors
    /// The line is too long, is not a sentence of printable characters, or has a wrong checksum.
    pub fn parse(line: &[u8]) -> Result<Self, ParseError> {
        let length =
            ParseError::Length { what: "sentence", need: MAX_SENTENCE_LEN, got: line.len() };
        if line.len() > MAX_SENTENCE_LEN {
            return Err(length);
        }
        let body = line
            .strip_prefix(b"$")
            .and_then(|rest| rest.strip_suffix(b"\r\n"))
            .filter(|body| body.len() >= 3)
            .ok_or(length)?;
        let (body, tail) = body.split_at(body.len() - 3);
        for &byte in body {
            if !(0x20..0x7f).contains(&byte) || matches!(byte, b'$' | b'*') {
                return Err(ParseError::Value {
                    field: "sentence byte",
                    value: byte.into(),
                    allowed: "printable ASCII but $ and *",
                });
            }
        }
        let expected = format!("*{:02X}", xor8(body));
        if tail != expected.as_bytes() {
            return Err(ParseError::Value {
                field: "checksum",
                value: tail.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
                allowed: "* and the exclusive or of the bytes before as two upper-case hex digits",
            });
        }
        let text = std::str::from_utf8(body).expect("ASCII, as checked above");
        let mut parts = text.split(',').map(str::to_string);
        let address = parts.next().unwrap_or_default();
        if address.is_empty() {
            return Err(ParseError::Length { what: "address", need: 1, got: 0 });
        }
        Ok(Self { address, fields: parts.collect() })
    }

    /// Reads a whole line like [`Self::parse`], but accepts a line without `*` and checksum.
    ///
    /// # Errors
    /// As in [`Self::parse`]; a checksum that exists must be right.
    pub fn parse_optional_checksum(line: &[u8]) -> Result<Self, ParseError> {
        match line.strip_prefix(b"$").and_then(|rest| rest.strip_suffix(b"\r\n")) {
            Some(body) if !body.contains(&b'*') => {
                let sum = format!("*{:02X}\r\n", xor8(body));
                Self::parse(&[&line[..=body.len()], sum.as_bytes()].concat())
            }
            _ => Self::parse(line),
        }
    }

    /// Appends the sentence with checksum and line end.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(b'$');
        let start = out.len();
        out.extend_from_slice(self.address.as_bytes());
        for field in &self.fields {
            out.push(b',');
            out.extend_from_slice(field.as_bytes());
        }
        let sum = xor8(&out[start..]);
        out.extend_from_slice(format!("*{sum:02X}\r\n").as_bytes());
    }

    /// The sentence as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAX_SENTENCE_LEN.min(128));
        self.emit(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests;
