//! Lines of text with a joint's position, and the commands to the joint's motor.
//!
//! No protocol of a continuously rotating head is published. The lines are therefore Menura's own: the time on the
//! device's clock in milliseconds, the count of steps, and a line with a word at each passage of the index mark. The
//! commands are those of the oscillating scanner UnoLaser 30M135Y (user manual, pages 6, 9 and 12), and
//! [`Command::Turn`], which is Menura's own. `docs/JOINTS.md` defines both.
//!
//! ```text
//! 12340,48213\r\n            position
//! INDEX,12345,96000\r\n      the index mark
//! ACK\r  NACK\r              answers
//! PS3D00000009600092\r       command: two passes at speed 9 between 0 and 96000 steps
//! TC+9\r  SC\r               commands: rotate without end at speed 9; stop
//! ```

use super::framer::{Framing, NoFrame, require};

/// Length of the longest index word, bytes.
pub const MAX_WORD_LEN: usize = 8;
/// The highest speed of a command, in units of the profile's `speed_unit_rpm`.
pub const MAX_SPEED: u8 = 63;
/// The highest position of a command, steps.
pub const MAX_STEPS: u32 = 999_999;
/// Length of the longest command without its line end, bytes.
pub const MAX_COMMAND_LEN: usize = 18;

/// Message of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Position of the joint.
    Position(Position),
    /// Passage of the index mark: time and count.
    Index {
        /// Index word of the device.
        word: String,
        /// Time and count at the index mark.
        position: Position,
    },
    /// The command is valid, and is executed.
    Ack,
    /// The command is invalid, or cannot be executed.
    Nack,
}

/// A time on the device's clock, and the count of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Position {
    /// Time in units of 10^-`time_decimals` milliseconds: 12345 with two decimals is 123.45 ms.
    pub time: u64,
    /// Number of decimals of the milliseconds, 0 to 3.
    pub time_decimals: u8,
    /// Count of steps.
    pub count: i64,
}

impl Position {
    /// The time in milliseconds.
    pub fn time_ms(&self) -> f64 {
        self.time as f64 / 10f64.powi(i32::from(self.time_decimals.min(3)))
    }

    fn text(&self) -> String {
        let unit = 10u64.pow(u32::from(self.time_decimals.min(3)));
        let (whole, part) = (self.time / unit, self.time % unit);
        match self.time_decimals {
            0 => format!("{whole},{}", self.count),
            width => format!("{whole}.{part:0width$},{}", self.count, width = usize::from(width)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (time, count) = text.split_once(',')?;
        let (whole, part) = time.split_once('.').unwrap_or((time, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !whole.is_empty() && whole.len() <= 16 && part.len() <= 3;
        if !fits || !digits(whole) || !digits(part) {
            return None;
        }
        let position = Self {
            time: format!("{whole}{part}").parse().ok()?,
            time_decimals: part.len() as u8,
            count: count.parse().ok()?,
        };
        // Each value has only one form: no leading zeros, no "+3", no "-0".
        (position.text() == text).then_some(position)
    }
}

/// Whether `word` is a valid index word.
pub fn is_word(word: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (1..=MAX_WORD_LEN).contains(&word.len())
        && word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(fits)
}

impl Message {
    /// Appends the line with its end.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let line = match self {
            Self::Position(position) => format!("{}\r\n", position.text()),
            Self::Index { word, position } => format!("{word},{}\r\n", position.text()),
            Self::Ack => "ACK\r".to_owned(),
            Self::Nack => "NACK\r".to_owned(),
        };
        out.extend_from_slice(line.as_bytes());
    }

    /// Reads a line with a position or the index mark, without its line end; `None` for any other line.
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            return Position::parse(line).map(Self::Position);
        }
        let (word, rest) = line.split_once(',')?;
        let position = Position::parse(rest)?;
        is_word(word).then(|| Self::Index { word: word.to_owned(), position })
    }
}

/// Finds [`Message`]s in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines;

impl Framing for Lines {
    type Frame = Message;

    fn max_len(&self) -> usize {
        64
    }

    fn begins(&self, byte: u8) -> bool {
        byte.is_ascii_digit() || byte.is_ascii_uppercase()
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Message, usize), NoFrame> {
        let window = &bytes[..bytes.len().min(self.max_len())];
        for (answer, message) in [(&b"ACK\r"[..], Message::Ack), (b"NACK\r", Message::Nack)] {
            if window.starts_with(answer) {
                return Ok((message, answer.len()));
            }
        }
        let line = window.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let line = line.ok_or(NoFrame::Incomplete)?;
        let end = window.get(line..line + 2);
        require(bytes[line] == b'\r')?;
        require(end.ok_or(NoFrame::Incomplete)? == b"\r\n")?;
        let text = std::str::from_utf8(&bytes[..line]).ok();
        let message = text.and_then(Message::parse).ok_or(NoFrame::Refused)?;
        Ok((message, line + 2))
    }
}

/// Command of a host to the motor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `PS3D`: move back and forth between two positions.
    Sweep {
        /// Start of the first pass, steps.
        from: u32,
        /// End of the first pass, steps.
        to: u32,
        /// Speed: 1 to [`MAX_SPEED`], in units of the profile's `speed_unit_rpm`.
        speed: u8,
        /// Number of passes; 0: without end.
        passes: u8,
    },
    /// `TC`: rotate without end. This command is Menura's own; the manual's device does not support it.
    Turn {
        /// Whether the count increases.
        forward: bool,
        /// Speed: 1 to [`MAX_SPEED`], in units of the profile's `speed_unit_rpm`.
        speed: u8,
    },
    /// `SC`: stop.
    Stop,
}

/// The character for a number from 0 to [`MAX_SPEED`].
fn character(number: u8) -> char {
    char::from(b'0' + number.min(MAX_SPEED))
}

/// The number from 0 to [`MAX_SPEED`] that a character represents; `None` for other characters.
fn number(character: u8) -> Option<u8> {
    character.checked_sub(b'0').filter(|number| *number <= MAX_SPEED)
}

impl Command {
    /// Appends the command without its line end.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let text = match self {
            Self::Sweep { from, to, speed, passes } => {
                let (speed, passes) = (character(*speed), character(*passes));
                format!("PS3D{from:06}{to:06}{speed}{passes}")
            }
            Self::Turn { forward, speed } => {
                format!("TC{}{}", if *forward { '+' } else { '-' }, character(*speed))
            }
            Self::Stop => "SC".to_owned(),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// Reads a command without its line end; `None` if it is invalid.
    pub fn parse(line: &[u8]) -> Option<Self> {
        if line == b"SC" {
            return Some(Self::Stop);
        }
        let speed_of = |byte: u8| number(byte).filter(|speed| *speed > 0);
        if let Some(rest) = line.strip_prefix(b"TC") {
            let [sign @ (b'+' | b'-'), speed] = *rest else { return None };
            return Some(Self::Turn { forward: sign == b'+', speed: speed_of(speed)? });
        }
        let rest: &[u8; 14] = line.strip_prefix(b"PS3D")?.try_into().ok()?;
        let steps = |digits: &[u8]| {
            let all_digits = digits.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(digits).ok().filter(|_| all_digits)?;
            text.parse().ok()
        };
        Some(Self::Sweep {
            from: steps(&rest[..6])?,
            to: steps(&rest[6..12])?,
            speed: speed_of(rest[12])?,
            passes: number(rest[13])?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use proptest::prelude::*;

    fn bytes_of(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    #[test]
    fn lines_are_the_documented_ones() {
        let position = |time, time_decimals, count| Position { time, time_decimals, count };
        let index = |position| Message::Index { word: "INDEX".into(), position };
        for (text, message) in [
            ("12340,48213\r\n", Message::Position(position(12340, 0, 48213))),
            ("0.005,-3\r\n", Message::Position(position(5, 3, -3))),
            ("INDEX,12345,96000\r\n", index(position(12345, 0, 96000))),
            ("ACK\r", Message::Ack),
            ("NACK\r", Message::Nack),
        ] {
            assert_eq!(bytes_of(&message), text.as_bytes());
            assert_eq!(Framer::new(Lines).frames(text.as_bytes()), [message]);
        }
        assert_eq!(position(5, 3, -3).time_ms(), 0.005);
        for wrong in ["012,3\r\n", "1,+3\r\n", "1,-0\r\n", "1.2345,3\r\n", "index,1,2\r\n", "1,2\n"]
        {
            assert_eq!(Lines.scan(wrong.as_bytes()), Err(NoFrame::Refused), "{wrong:?}");
        }
    }

    #[test]
    fn the_manuals_command_is_understood() {
        let sweep = Command::Sweep { from: 0, to: 96_000, speed: 9, passes: 2 };
        assert_eq!(Command::parse(b"PS3D00000009600092"), Some(sweep));
        assert_eq!(Command::parse(b"TC-o"), Some(Command::Turn { forward: false, speed: 63 }));
        assert_eq!(Command::parse(b"SC"), Some(Command::Stop));
        for wrong in [
            &b"PS3D00000009600002"[..],
            b"PS3D0000000960009",
            b"PS3D000000096000923",
            b"PS3D+0000009600092",
            b"PS3D000000096000p2",
            b"TC9",
            b"TC+0",
            b"SC1",
            b"",
        ] {
            assert_eq!(Command::parse(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_command_comes_back(
            from in 0..=MAX_STEPS, to in 0..=MAX_STEPS, speed in 1..=MAX_SPEED,
            passes in 0..=MAX_SPEED, forward: bool, kind in 0..3,
        ) {
            let command = match kind {
                0 => Command::Sweep { from, to, speed, passes },
                1 => Command::Turn { forward, speed },
                _ => Command::Stop,
            };
            let mut bytes = Vec::new();
            command.emit(&mut bytes);
            prop_assert!(bytes.len() <= MAX_COMMAND_LEN);
            prop_assert_eq!(Command::parse(&bytes), Some(command));
        }

        #[test]
        fn every_line_comes_back(time in 0u64..10_000_000_000, time_decimals in 0u8..=3, count: i64) {
            let message = Message::Position(Position { time, time_decimals, count });
            let bytes = bytes_of(&message);
            prop_assert!(bytes.len() <= Lines.max_len());
            prop_assert_eq!(Framer::new(Lines).frames(&bytes), [message]);
        }
    }
}
