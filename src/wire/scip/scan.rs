//! Scans: a timestamp and a value for each step, divided into lines of 64 characters.

use super::coding::{decode, encode};
use super::message::Line;
use crate::ParseError;

/// Number of characters in a full data line, without the checksum.
pub const DATA_LINE: usize = 64;
/// Number of characters of a timestamp.
const TIME: usize = 4;
/// Number of characters of an intensity.
const INTENSITY: usize = 3;
/// Character before a further echo of the same step.
const ALSO: u8 = b'&';
/// Timestamps wrap to 0 after this time, milliseconds.
pub const TIME_PERIOD_MS: u32 = 1 << 24;

/// Format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanFormat {
    /// Number of characters of a distance, 2 or 3.
    pub characters: usize,
    /// Whether an intensity follows each distance.
    pub has_intensity: bool,
    /// Whether a step can have several echoes.
    pub has_echoes: bool,
}

/// One echo as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// Distance in millimetres, or an error code below the smallest distance.
    pub distance: u32,
    /// Intensity in counts; 0 in formats without intensity.
    pub intensity: u32,
}

/// Values of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// First echo; in formats with one echo, the only one.
    pub first: Echo,
    /// Further echoes.
    pub others: Vec<Echo>,
}

/// The lines after the status of a message with a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanData {
    /// Start of the scan on the scanner's clock, milliseconds, below [`TIME_PERIOD_MS`].
    pub time_ms: u32,
    /// Values in the order of measurement.
    pub steps: Vec<Step>,
}

impl ScanFormat {
    /// Number of characters of a value with one echo.
    pub fn value_len(&self) -> usize {
        self.characters + if self.has_intensity { INTENSITY } else { 0 }
    }

    /// Length of a message with `values` values of one echo each, bytes. The message repeats the request, which has
    /// `echo` bytes.
    pub fn message_len(&self, echo: usize, values: usize) -> usize {
        let characters = values * self.value_len();
        echo + 1 + 4 + (TIME + 2) + characters + 2 * characters.div_ceil(DATA_LINE) + 1
    }

    fn put(&self, echo: Echo, out: &mut Vec<u8>) {
        encode(echo.distance, self.characters, out);
        if self.has_intensity {
            encode(echo.intensity, INTENSITY, out);
        }
    }

    fn take(&self, rest: &mut &[u8]) -> Result<Echo, ParseError> {
        let need = self.value_len();
        let (value, after) = rest.split_at_checked(need).ok_or(ParseError::Length {
            what: "value",
            need,
            got: rest.len(),
        })?;
        *rest = after;
        let (distance, intensity) = value.split_at(self.characters);
        let intensity = if self.has_intensity { decode(intensity)? } else { 0 };
        Ok(Echo { distance: decode(distance)?, intensity })
    }
}

impl ScanData {
    /// Encodes the scan as the lines after the status.
    pub fn lines(&self, format: ScanFormat) -> Vec<Line> {
        let mut time = Vec::with_capacity(TIME);
        encode(self.time_ms % TIME_PERIOD_MS, TIME, &mut time);
        let mut text = Vec::with_capacity(self.steps.len() * format.value_len());
        for step in &self.steps {
            format.put(step.first, &mut text);
            for other in step.others.iter().filter(|_| format.has_echoes) {
                text.push(ALSO);
                format.put(*other, &mut text);
            }
        }
        let data = text.chunks(DATA_LINE).map(|piece| Line::Data(piece.to_vec()));
        std::iter::once(Line::Data(time)).chain(data).collect()
    }

    /// Reads a scan from the lines after the status.
    ///
    /// # Errors
    /// The lines are not a scan of this format.
    pub fn parse(format: ScanFormat, lines: &[Line]) -> Result<Self, ParseError> {
        let (time, data) = match lines {
            [Line::Data(time), data @ ..] if time.len() == TIME => (time, data),
            [line, ..] => {
                let got = line.text().len();
                return Err(ParseError::Length { what: "time stamp", need: TIME, got });
            }
            [] => return Err(ParseError::Length { what: "time stamp", need: TIME, got: 0 }),
        };
        let mut text = Vec::new();
        for (number, line) in data.iter().enumerate() {
            let (Line::Data(piece) | Line::Info(piece)) = line;
            let is_last = number + 1 == data.len();
            if matches!(line, Line::Info(_))
                || (!is_last && piece.len() != DATA_LINE)
                || piece.len() > DATA_LINE
            {
                return Err(ParseError::Length {
                    what: "data line",
                    need: DATA_LINE,
                    got: piece.len(),
                });
            }
            text.extend_from_slice(piece);
        }
        let mut rest = &text[..];
        let mut steps: Vec<Step> = Vec::new();
        while let Some(first) = rest.first() {
            match (*first, steps.last_mut()) {
                (ALSO, Some(step)) if format.has_echoes => {
                    rest = &rest[1..];
                    step.others.push(format.take(&mut rest)?);
                }
                _ => steps.push(Step { first: format.take(&mut rest)?, others: Vec::new() }),
            }
        }
        Ok(Self { time_ms: decode(time)?, steps })
    }
}
