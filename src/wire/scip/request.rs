//! Requests of a host: a command of two letters (or `%` and two letters), digits, and an optional text that the
//! scanner repeats.

use super::message::is_printable;
use super::scan::ScanFormat;

/// Largest length of the text that a host may append to a request, without the semicolon, characters.
pub const LONGEST_TEXT: usize = 16;
/// Number of bytes that a scanner stores of each line; the longest valid request has 32.
pub const LONGEST_REQUEST: usize = 64;
const STX: u8 = 0x02;
const ETX: u8 = 0x03;

/// All commands by name.
pub const NAMES: [(&str, Name); 26] = [
    ("VV", Name::Vv),
    ("PP", Name::Pp),
    ("II", Name::Ii),
    ("BM", Name::Bm),
    ("QT", Name::Qt),
    ("MD", Name::Md),
    ("MS", Name::Ms),
    ("ME", Name::Me),
    ("ND", Name::Nd),
    ("NE", Name::Ne),
    ("GD", Name::Gd),
    ("GS", Name::Gs),
    ("GE", Name::Ge),
    ("HD", Name::Hd),
    ("HE", Name::He),
    ("TM", Name::Tm),
    ("SS", Name::Ss),
    ("CR", Name::Cr),
    ("HS", Name::Hs),
    ("DB", Name::Db),
    ("RS", Name::Rs),
    ("RT", Name::Rt),
    ("RB", Name::Rb),
    ("%ST", Name::St),
    ("%SL", Name::Sl),
    ("SCIP2.0", Name::Scip2),
];

/// Name of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Requests the identity of the scanner.
    Vv,
    /// Requests the measuring parameters.
    Pp,
    /// Requests the state of the scanner.
    Ii,
    /// Turns the laser on.
    Bm,
    /// Turns the laser and streams off.
    Qt,
    /// Requests a stream of distances, three characters each.
    Md,
    /// Requests a stream of distances, two characters each.
    Ms,
    /// Requests a stream of distances and intensities.
    Me,
    /// Requests a stream of distances with several echoes.
    Nd,
    /// Requests a stream of distances and intensities with several echoes.
    Ne,
    /// Requests one scan in the format of [`Name::Md`].
    Gd,
    /// Requests one scan in the format of [`Name::Ms`].
    Gs,
    /// Requests one scan in the format of [`Name::Me`].
    Ge,
    /// Requests one scan in the format of [`Name::Nd`].
    Hd,
    /// Requests one scan in the format of [`Name::Ne`].
    He,
    /// Adjusts the time.
    Tm,
    /// Sets the bit rate.
    Ss,
    /// Sets the motor speed.
    Cr,
    /// Sets the sensitivity.
    Hs,
    /// Simulates a malfunction.
    Db,
    /// Resets the scanner.
    Rs,
    /// Resets the scanner except motor speed and bit rate.
    Rt,
    /// Restarts the scanner.
    Rb,
    /// Requests the scanner's state code.
    St,
    /// Switches to sleep mode.
    Sl,
    /// Switches from SCIP 1.1 to SCIP 2.0.
    Scip2,
}

/// Format of requested scans, and whether the scans are streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanCommand {
    /// Whether scans are streamed instead of sent once.
    pub is_stream: bool,
    /// Format of the values.
    pub format: ScanFormat,
}

impl Name {
    /// The command with the name `word` on the wire; `None` if it is unknown.
    pub fn of_word(word: &str) -> Option<Self> {
        NAMES.iter().find(|(other, _)| *other == word).map(|(_, name)| *name)
    }

    /// Name of the command on the wire.
    pub fn word(self) -> &'static str {
        NAMES.iter().find(|(_, name)| *name == self).map_or("", |(word, _)| word)
    }

    /// All commands.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Number of digits of each parameter, in order.
    pub fn widths(self) -> &'static [usize] {
        match self {
            Self::Md | Self::Ms | Self::Me | Self::Nd | Self::Ne => &[4, 4, 2, 1, 2],
            Self::Gd | Self::Gs | Self::Ge | Self::Hd | Self::He => &[4, 4, 2],
            Self::Tm | Self::Hs => &[1],
            Self::Ss => &[6],
            Self::Cr | Self::Db => &[2],
            _ => &[],
        }
    }

    /// Format of the requested scan; `None` if the command requests no scan.
    pub fn scan(self) -> Option<ScanCommand> {
        let (is_stream, characters, has_intensity, has_echoes) = match self {
            Self::Md => (true, 3, false, false),
            Self::Ms => (true, 2, false, false),
            Self::Me => (true, 3, true, false),
            Self::Nd => (true, 3, false, true),
            Self::Ne => (true, 3, true, true),
            Self::Gd => (false, 3, false, false),
            Self::Gs => (false, 2, false, false),
            Self::Ge => (false, 3, true, false),
            Self::Hd => (false, 3, false, true),
            Self::He => (false, 3, true, true),
            _ => return None,
        };
        Some(ScanCommand {
            is_stream,
            format: ScanFormat { characters, has_intensity, has_echoes },
        })
    }
}

/// A request whose parts have the correct lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The command.
    pub name: Name,
    /// All parameters, unchecked characters; their lengths are [`Name::widths`].
    pub parameters: &'a [u8],
    /// Text that the host appended to the request, including the semicolon if there is one; can be empty.
    pub text: &'a [u8],
}

/// Reason why a line is not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Unknown command.
    #[error("no such command")]
    Unknown,
    /// Parameters are missing.
    #[error("parameters are missing")]
    TooShort,
    /// Characters without a semicolon follow the parameters, but this scanner requires a semicolon before any text.
    #[error("text after the parameters without a semicolon")]
    TooLong,
    /// The host's text is longer than [`LONGEST_TEXT`].
    #[error("the text has more than 16 characters")]
    LongText,
    /// The line has a character that is not printable.
    #[error("a character that cannot be printed")]
    BadCharacter,
}

impl<'a> Request<'a> {
    /// Reads a line without its end. Rejects texts without a semicolon if `needs_semicolon`.
    ///
    /// # Errors
    /// The form of the request is invalid; parameters are not checked.
    pub fn parse(line: &'a [u8], needs_semicolon: bool) -> Result<Self, RequestError> {
        if !line.iter().all(|byte| is_printable(*byte)) {
            return Err(RequestError::BadCharacter);
        }
        let found = NAMES.iter().find(|(word, _)| line.starts_with(word.as_bytes()));
        let (word, name) = found.ok_or(RequestError::Unknown)?;
        let rest = &line[word.len()..];
        let length: usize = name.widths().iter().sum();
        let (parameters, text) = rest.split_at_checked(length).ok_or(RequestError::TooShort)?;
        let (has_semicolon, characters) = match text {
            [b';', characters @ ..] => (true, characters),
            _ => (false, text),
        };
        if !has_semicolon && needs_semicolon && !text.is_empty() {
            return Err(RequestError::TooLong);
        }
        if characters.len() > LONGEST_TEXT {
            return Err(RequestError::LongText);
        }
        Ok(Self { name: *name, parameters, text })
    }

    /// The request's line, without its end.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.name.word().as_bytes(), self.parameters, self.text].concat()
    }

    /// The first N parameters as numbers.
    ///
    /// # Errors
    /// Index, from 0, of the first parameter that has characters other than digits.
    pub fn numbers<const N: usize>(&self) -> Result<[u32; N], usize> {
        let mut rest = self.parameters;
        let mut numbers = [0; N];
        for (place, (number, width)) in numbers.iter_mut().zip(self.name.widths()).enumerate() {
            let (digits, after) = rest.split_at_checked(*width).ok_or(place)?;
            rest = after;
            *number = digits.iter().try_fold(0, |number, byte| match byte {
                b'0'..=b'9' => Ok(10 * number + u32::from(byte - b'0')),
                _ => Err(place),
            })?;
        }
        Ok(numbers)
    }
}

/// Splits a host's bytes into lines. Bytes can arrive in pieces of any length. At most [`LONGEST_REQUEST`] bytes are
/// stored.
///
/// LF and CR each end a line, and empty lines are ignored, so that CR LF is one line end. Frames from STX to ETX,
/// which are requests to Hokuyo's safety scanners, are skipped.
#[derive(Clone, Debug, Default)]
pub struct RequestLines {
    line: Vec<u8>,
    is_too_long: bool,
    is_in_frame: bool,
}

/// A line that a host has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// Bytes of the line without its end; if the line is too long, only its first bytes.
    pub bytes: Vec<u8>,
    /// Whether the line has more than [`LONGEST_REQUEST`] bytes.
    pub is_too_long: bool,
}

impl RequestLines {
    /// The next line. Takes bytes from the start of `input`; call until it returns `None`.
    pub fn next_line(&mut self, input: &mut &[u8]) -> Option<RequestLine> {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            match *byte {
                ETX if self.is_in_frame => self.is_in_frame = false,
                b'\n' | b'\r' => {
                    self.is_in_frame = false;
                    let is_too_long = std::mem::take(&mut self.is_too_long);
                    if !self.line.is_empty() {
                        return Some(RequestLine {
                            bytes: std::mem::take(&mut self.line),
                            is_too_long,
                        });
                    }
                }
                _ if self.is_in_frame => {}
                STX if self.line.is_empty() => self.is_in_frame = true,
                other if self.line.len() < LONGEST_REQUEST => self.line.push(other),
                _ => self.is_too_long = true,
            }
        }
        None
    }
}
