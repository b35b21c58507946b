//! Line protocol on TCP port 7501, firmware up to 2.x. A host sends one command per line, and the lidar answers with
//! one line.
//!
//! Sources: the TCP API guide; the commands that ouster-sdk 0.15.1 sends to firmware 2.0.

use crate::framer::{Framing, NoFrame};

/// Largest length of a line, bytes; longer lines are split. The whole configuration has about 700 bytes.
pub const MAX_LINE: usize = 8192;
/// Answer to an unknown command.
pub const NOT_RECOGNISED: &str = "error: Command not recognized.";

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// First word of the line.
    pub command: String,
    /// Rest of the line, without blanks at its ends.
    pub arguments: String,
}

/// Splits the bytes of a connection into [`CommandLine`]s; skips empty lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandLines;

impl Framing for CommandLines {
    type Frame = CommandLine;

    fn max_len(&self) -> usize {
        MAX_LINE
    }

    fn begins(&self, byte: u8) -> bool {
        !byte.is_ascii_whitespace()
    }

    fn scan(&self, bytes: &[u8]) -> Result<(CommandLine, usize), NoFrame> {
        let end = bytes.iter().take(MAX_LINE).position(|byte| *byte == b'\n');
        let len = match end {
            Some(end) => end + 1,
            None if bytes.len() >= MAX_LINE => MAX_LINE,
            None => return Err(NoFrame::Incomplete),
        };
        let text = String::from_utf8_lossy(&bytes[..len]);
        let (command, arguments) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let arguments = arguments.trim().to_owned();
        Ok((CommandLine { command: command.to_owned(), arguments }, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;

    fn lines(bytes: &[u8]) -> Vec<(String, String)> {
        let found = Framer::new(CommandLines).frames(bytes);
        found.into_iter().map(|line| (line.command, line.arguments)).collect()
    }

    #[test]
    fn a_line_is_a_command_and_its_arguments() {
        let sent =
            b"get_sensor_info \n\r\n  set_config_param . {\"lidar_mode\": \"512x10\"}\r\nget_";
        let expected =
            [("get_sensor_info", ""), ("set_config_param", ". {\"lidar_mode\": \"512x10\"}")];
        assert_eq!(lines(sent), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let found = lines(&[b'x'; MAX_LINE + 10]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.len(), MAX_LINE);
    }
}
