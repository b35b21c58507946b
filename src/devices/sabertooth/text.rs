//! Plain text serial of a Sabertooth 2x32, for example `M1: 1023`, `MD: -500`, `M1: getb`.
//!
//! Case and blanks are ignored. Full output is 2047. Only `get` commands are answered.

use crate::wire::sabertooth::ADDRESSES;

/// Value in a line that means full output.
const FULL: f64 = 2047.0;
/// Longest line, bytes; longer ones are ignored.
const LONGEST: usize = 40;
/// Number of bytes of a packet after its address.
const AFTER_ADDRESS: usize = 3;

/// Motors or mixed channel that a command addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The motor with this index, 0 or 1.
    Motor(usize),
    /// Both motors.
    Both,
    /// Mixed mode: speed of the vehicle.
    Drive,
    /// Mixed mode: rate of turn.
    Turn,
}

/// Command of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextCommand {
    /// Sets a fraction of full output.
    Set(f64),
    /// Query of a motor's output.
    Get,
    /// Query of the battery voltage.
    Battery,
    /// Query of a motor's current.
    Current,
    /// Query of a motor's temperature.
    Temperature,
    /// Disables the output.
    Shutdown,
    /// Enables the output.
    Startup,
    /// Resets the timeout, without another effect.
    Keep,
}

/// Splits bytes into lines. Packets can come between lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    /// Number of bytes that belong to the packet that is being received.
    packet_bytes_left: usize,
}

impl Lines {
    /// Adds a byte; returns the line that it ends. `None` within a line, and for an empty or too long line.
    pub fn push(&mut self, byte: u8) -> Option<Vec<u8>> {
        match byte {
            0x80.. => {
                self.line.clear();
                self.packet_bytes_left = if ADDRESSES.contains(&byte) { AFTER_ADDRESS } else { 0 };
            }
            _ if self.packet_bytes_left > 0 => self.packet_bytes_left -= 1,
            b'\r' | b'\n' => {
                let line = std::mem::take(&mut self.line);
                return (1..=LONGEST).contains(&line.len()).then_some(line);
            }
            b' '..=b'~' if self.line.len() <= LONGEST => self.line.push(byte),
            b' '..=b'~' => {}
            _ => self.line.clear(),
        }
        None
    }
}

/// Target and command of a line; `None` if the line is invalid.
pub fn parse(line: &[u8]) -> Option<(Target, TextCommand)> {
    let said = line.iter().filter(|byte| **byte != b' ').map(u8::to_ascii_lowercase);
    let said = String::from_utf8(said.collect()).ok()?;
    let (target, content) = said.split_once(':')?;
    let target = match target {
        "m1" => Target::Motor(0),
        "m2" => Target::Motor(1),
        "m*" => Target::Both,
        "md" => Target::Drive,
        "mt" => Target::Turn,
        _ => return None,
    };
    let said = match content {
        "get" => TextCommand::Get,
        "getb" => TextCommand::Battery,
        "getc" => TextCommand::Current,
        "gett" => TextCommand::Temperature,
        "shutdown" => TextCommand::Shutdown,
        "startup" => TextCommand::Startup,
        "keep" => TextCommand::Keep,
        number => {
            let output: i32 = number.parse().ok()?;
            TextCommand::Set((f64::from(output) / FULL).clamp(-1.0, 1.0))
        }
    };
    Some((target, said))
}

/// Converts a fraction of full output to the value in a line, for example 1.0 to 2047.
pub fn output(share: f64) -> i32 {
    (share * FULL).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_guide() {
        for (line, wanted) in [
            ("M1: 2047", (Target::Motor(0), TextCommand::Set(1.0))),
            ("m2:-4000", (Target::Motor(1), TextCommand::Set(-1.0))),
            ("MD: 0", (Target::Drive, TextCommand::Set(0.0))),
            ("M1: getb", (Target::Motor(0), TextCommand::Battery)),
            ("M*: shutdown", (Target::Both, TextCommand::Shutdown)),
        ] {
            assert_eq!(parse(line.as_bytes()), Some(wanted), "{line}");
        }
        for line in ["M3: 0", "M1 0", "M1:", "M1: fast", "P1: 0", ":", "\u{e9}"] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
