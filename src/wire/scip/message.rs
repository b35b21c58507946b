//! Messages of a scanner: the repeated request, a status, lines with a checksum each, and an empty line.

use super::{LF, sum};
use crate::framer::{Framing, NoFrame, require};

/// Length of the longest line of a scanner including its checksum, bytes.
pub const LONGEST_LINE: usize = 71;
/// Length of the longest accepted message, bytes. A scan of 1081 steps with three echoes and intensities per step has
/// 22 kB.
pub const LONGEST_MESSAGE: usize = 1 << 16;

/// A message from a scanner to a host: its lines up to the empty line that ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The request, repeated without its line end.
    pub echo: Vec<u8>,
    /// Result of the request.
    pub status: Status,
    /// Lines after the status.
    pub lines: Vec<Line>,
}

/// The second line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Two characters with a checksum.
    Code([u8; 2]),
    /// One character without a checksum, from scanners in SCIP 1.1 mode.
    Scip1(u8),
}

/// A line after the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `KEY:value`, without the semicolon and the checksum.
    Info(Vec<u8>),
    /// Any other line, without its checksum.
    Data(Vec<u8>),
}

impl Message {
    /// An answer that has a status, but no lines.
    pub fn status(echo: &[u8], code: [u8; 2]) -> Self {
        Self { echo: echo.to_vec(), status: Status::Code(code), lines: Vec::new() }
    }

    /// Appends the message's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(&self.echo);
        out.push(LF);
        match self.status {
            Status::Code(code) => out.extend([code[0], code[1], sum(&code), LF]),
            Status::Scip1(character) => out.extend([character, LF]),
        }
        for line in &self.lines {
            match line {
                Line::Info(text) => {
                    out.extend(text);
                    out.extend([b';', sum(text), LF]);
                }
                Line::Data(text) => {
                    out.extend(text);
                    out.extend([sum(text), LF]);
                }
            }
        }
        out.push(LF);
    }

    /// Bytes of the message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        bytes
    }

    /// Reads the lines of a message.
    fn parse(text: &[u8]) -> Result<Self, NoFrame> {
        let mut lines = text.split(|byte| *byte == LF);
        let echo = lines.next().unwrap_or_default();
        require(!echo.is_empty())?;
        let status = match *lines.next().unwrap_or_default() {
            [one, two, check] if sum(&[one, two]) == check => Status::Code([one, two]),
            [one] if one.is_ascii_digit() || one.is_ascii_uppercase() => Status::Scip1(one),
            _ => return Err(NoFrame::Refused),
        };
        let lines: Result<Vec<_>, _> = lines.map(Line::parse).collect();
        Ok(Self { echo: echo.to_vec(), status, lines: lines? })
    }
}

impl Line {
    fn parse(line: &[u8]) -> Result<Self, NoFrame> {
        match line {
            [text @ .., b';', check] if sum(text) == *check => Ok(Self::Info(text.to_vec())),
            [text @ .., check] if !text.is_empty() && sum(text) == *check => {
                Ok(Self::Data(text.to_vec()))
            }
            _ => Err(NoFrame::Refused),
        }
    }

    /// Text of the line, without semicolon and checksum.
    pub fn text(&self) -> &[u8] {
        match self {
            Self::Info(text) | Self::Data(text) => text,
        }
    }
}

/// Finds [`Message`]s in a scanner's output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Messages;

impl Framing for Messages {
    type Frame = Message;

    fn max_len(&self) -> usize {
        LONGEST_MESSAGE
    }

    fn begins(&self, byte: u8) -> bool {
        is_printable(byte)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Message, usize), NoFrame> {
        let mut line = 0;
        for (place, byte) in bytes.iter().enumerate().take(LONGEST_MESSAGE) {
            match *byte {
                LF if line == 0 => {
                    let message = Message::parse(&bytes[..place.saturating_sub(1)])?;
                    return Ok((message, place + 1));
                }
                LF => line = 0,
                other => {
                    line += 1;
                    require(is_printable(other) && line <= LONGEST_LINE)?;
                }
            }
        }
        Err(NoFrame::Incomplete)
    }
}

/// Whether a line may contain this character.
pub fn is_printable(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}
