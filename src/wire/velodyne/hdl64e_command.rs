//! Commands for an HDL-64E on its serial line: `#HDL`, a word, digits, `$`.
//!
//! Sources: HDL-64E S2 and S3 manuals, public controllers of the S1 (`#HDLRPM600$`) and installation guides
//! (`#HDLIPA192168020013192168020255$`). The profile defines the unconfirmed words, see [`CommandWords`].

use core::net::Ipv4Addr;

use crate::framer::{Framing, NoFrame, require};

/// Beginning of every command.
const BEGINNING: &str = "#HDL";
/// End of every command.
const END: u8 = b'$';
/// Length of the longest command, bytes.
const LONGEST: usize = 64;

/// Words of the commands that differ between firmwares. An empty word means that the command does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandWords {
    /// Number of digits of a rotation rate.
    pub rpm_digits: usize,
    /// Word that sets a rotation rate without storing it, `RPN`.
    pub unstored_rpm: String,
    /// Word that sets the sector, `FOV`; three digits each for the first and the last degree follow.
    pub view: String,
    /// Word that sets the addresses, `IPA`; twelve digits each for lidar and host follow.
    pub addresses: String,
    /// Word that selects the strongest return.
    pub strongest: String,
    /// Word that selects the last return.
    pub last: String,
    /// Word that selects both returns.
    pub dual: String,
    /// Word that sets the laser power; a digit from 0 to 7, or 8 for automatic, follows.
    pub power: String,
}

/// A command to an HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Sets the rotation rate, rpm.
    Rpm(u32),
    /// Sets the sector in which lasers fire: first and last degree, 0..=360.
    View([u16; 2]),
    /// Sets the addresses of lidar and host, which take effect at the next power-on.
    Addresses([Ipv4Addr; 2]),
    /// Selects the strongest return.
    Strongest,
    /// Selects the last return.
    Last,
    /// Selects both returns.
    Dual,
    /// Sets the laser power, 0..=7, or 8 for automatic.
    Power(u8),
}

impl Command {
    /// Reads a command, from `#` to `$`; `None` if the text is not a valid command.
    pub fn parse(text: &str, words: &CommandWords) -> Option<Self> {
        let text = text.strip_prefix(BEGINNING)?.strip_suffix(char::from(END))?;
        let after = |word: &str| text.strip_prefix(word).filter(|_| !word.is_empty());
        if let Some(digits) = after("RPM").or_else(|| after(&words.unstored_rpm)) {
            return (digits.len() == words.rpm_digits)
                .then(|| number(digits).map(Self::Rpm))
                .flatten();
        }
        if let Some(digits) = after(&words.view) {
            let [first, last] = halves(digits, 3)?;
            let degree = |digits| number(digits).filter(|degree| *degree <= 360);
            return Some(Self::View([degree(first)? as u16, degree(last)? as u16]));
        }
        if let Some(digits) = after(&words.addresses) {
            let [own, host] = halves(digits, 12)?;
            return Some(Self::Addresses([address(own)?, address(host)?]));
        }
        if let Some(digit) = after(&words.power) {
            let level = number(digit).filter(|level| digit.len() == 1 && *level <= 8)?;
            return Some(Self::Power(level as u8));
        }
        [(&words.strongest, Self::Strongest), (&words.last, Self::Last), (&words.dual, Self::Dual)]
            .into_iter()
            .find_map(|(word, command)| (after(word) == Some("")).then_some(command))
    }
}

fn number(digits: &str) -> Option<u32> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}

/// Splits a text into two halves of `length` bytes each.
fn halves(text: &str, length: usize) -> Option<[&str; 2]> {
    let (first, second) = text.split_at_checked(length)?;
    (second.len() == length).then_some([first, second])
}

/// Reads four octets of three digits each.
fn address(digits: &str) -> Option<Ipv4Addr> {
    let octet = |index: usize| {
        let digits = digits.get(3 * index..3 * index + 3)?;
        u8::try_from(number(digits)?).ok()
    };
    Some(Ipv4Addr::new(octet(0)?, octet(1)?, octet(2)?, octet(3)?))
}

/// Finds the texts of commands, from `#` to `$`, in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Commands;

impl Framing for Commands {
    type Frame = String;

    fn max_len(&self) -> usize {
        LONGEST
    }

    fn begins(&self, byte: u8) -> bool {
        byte == b'#'
    }

    fn scan(&self, bytes: &[u8]) -> Result<(String, usize), NoFrame> {
        let window = &bytes[..bytes.len().min(LONGEST)];
        let after = window[1..].iter().position(|byte| matches!(*byte, b'#' | END));
        let text = &window[..after.ok_or(NoFrame::Incomplete)? + 2];
        // Another `#` begins a new command.
        require(text.ends_with(&[END]))?;
        let text = std::str::from_utf8(text).map_err(|_| NoFrame::Refused)?;
        Ok((text.to_owned(), text.len()))
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::framer::Framer;

    fn words() -> CommandWords {
        CommandWords {
            rpm_digits: 4,
            unstored_rpm: "RPN".into(),
            view: "FOV".into(),
            addresses: "IPA".into(),
            strongest: "RETS".into(),
            last: "RETL".into(),
            dual: "RETD".into(),
            power: "LPW".into(),
        }
    }

    #[test]
    fn the_manuals_commands_are_read() {
        let own = Ipv4Addr::new(192, 168, 20, 13);
        let host = Ipv4Addr::new(192, 168, 20, 255);
        for (text, command) in [
            ("#HDLRPM0600$", Some(Command::Rpm(600))),
            ("#HDLRPN1200$", Some(Command::Rpm(1200))),
            ("#HDLFOV090270$", Some(Command::View([90, 270]))),
            ("#HDLIPA192168020013192168020255$", Some(Command::Addresses([own, host]))),
            ("#HDLRETD$", Some(Command::Dual)),
            ("#HDLLPW8$", Some(Command::Power(8))),
            ("#HDLRPM600$", None),
            ("#HDLRPM06000$", None),
            ("#HDLRPM+600$", None),
            ("#hdlrpm0600$", None),
            ("#HDLFOV361000$", None),
            ("#HDLIPA192168020256192168020255$", None),
            ("#HDLRETX$", None),
            ("#HDLRETDD$", None),
            ("#HDLLPW9$", None),
            ("#HDL$", None),
            ("#HDLFOV\u{e4}0270$", None),
        ] {
            assert_eq!(Command::parse(text, &words()), command, "{text}");
        }
        let s1 = CommandWords { rpm_digits: 3, ..CommandWords::default() };
        assert_eq!(Command::parse("#HDLRPM600$", &s1), Some(Command::Rpm(600)));
        for text in ["#HDLRPM0600$", "#HDLRPN600$", "#HDLFOV000180$", "#HDL$"] {
            assert_eq!(Command::parse(text, &s1), None, "{text}");
        }
    }

    #[test]
    fn commands_are_found_in_pieces_and_noise() {
        let heard = b"$x\r\n#HDLRPM#HDLRPM0600$\xff\x00#\xff$#HDLRETS$";
        let found = Framer::new(Commands).frames(heard);
        assert_eq!(found, ["#HDLRPM0600$", "#HDLRETS$"]);
    }
}
