//! Plain text serial of a Sabertooth 2x32: `M1: 1023`, `MD: -500`, `M1: getb`.
//!
//! Case and blanks have no effect. Full output is 2047. Only commands that begin with `get` are answered.

/// Full output.
const FULL: f64 = 2047.0;
/// Longest line, bytes; longer ones are ignored.
const LONGEST: usize = 40;

/// Target of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Motor 0 or 1.
    Motor(usize),
    /// Both motors.
    Both,
    /// The mixed drive.
    Drive,
    /// The mixed turn.
    Turn,
}

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// A share of full output.
    Set(f64),
    /// The output of a motor.
    Get,
    /// The battery's voltage.
    Battery,
    /// A motor's current.
    Current,
    /// A motor's temperature.
    Temperature,
    /// Disables the output.
    Shutdown,
    /// Enables the output.
    Startup,
    /// Resets the timeout only.
    Keep,
}

/// Collects lines among bytes.
#[derive(Clone, Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// The line that ends with `byte`.
    pub fn push(&mut self, byte: u8) -> Option<Vec<u8>> {
        match byte {
            b'\r' | b'\n' => {
                let line = std::mem::take(&mut self.0);
                return (1..=LONGEST).contains(&line.len()).then_some(line);
            }
            b' '..=b'~' if self.0.len() <= LONGEST => self.0.push(byte),
            b' '..=b'~' => {}
            // Part of a packet.
            _ => self.0.clear(),
        }
        None
    }
}

/// Target and content of a line; `None` if it is invalid.
pub fn parse(line: &[u8]) -> Option<(Target, Said)> {
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
        "get" => Said::Get,
        "getb" => Said::Battery,
        "getc" => Said::Current,
        "gett" => Said::Temperature,
        "shutdown" => Said::Shutdown,
        "startup" => Said::Startup,
        "keep" => Said::Keep,
        number => {
            let output: i32 = number.parse().ok()?;
            Said::Set((f64::from(output) / FULL).clamp(-1.0, 1.0))
        }
    };
    Some((target, said))
}

/// A share of full output in a line's unit.
pub fn output(share: f64) -> i32 {
    (share * FULL).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_guide() {
        for (line, wanted) in [
            ("M1: 2047", (Target::Motor(0), Said::Set(1.0))),
            ("m2:-4000", (Target::Motor(1), Said::Set(-1.0))),
            ("MD: 0", (Target::Drive, Said::Set(0.0))),
            ("M1: getb", (Target::Motor(0), Said::Battery)),
            ("M*: shutdown", (Target::Both, Said::Shutdown)),
        ] {
            assert_eq!(parse(line.as_bytes()), Some(wanted), "{line}");
        }
        for line in ["M3: 0", "M1 0", "M1:", "M1: fast", "P1: 0", ":", "\u{e9}"] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
