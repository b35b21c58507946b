//! Text console of an N100: `#fconfig` stops the frames, `#f…` commands are answered with text, `#fdeconfig` or a
//! restart resumes the frames.
//!
//! Answers have the form that a public driver recorded from a module (`commands.csv` names the driver): `*#OK`,
//! `*#ERROR`, `MSG_IMU=7`, `MSG_IMU[40]   100.0Hz`. `#fparam` sets a rate in a table, as an index in [`LADDER_HZ`];
//! `#fsave` saves the table, and a restart applies the saved table. In configuration mode, a command less than 0.95 s
//! after the previous one is refused.

use crate::time::SimTime;

/// Message rates by index, Hz; 0: not sent.
pub const LADDER_HZ: [u32; 10] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 400];
/// Names of the rate parameters, each with the type of its message.
pub const PARAMETERS: [(&str, u8); 4] =
    [("MSG_IMU", 0x40), ("MSG_AHRS", 0x41), ("MSG_INSGPS", 0x42), ("MSG_GEODETIC_POS", 0x5c)];

/// Shortest time between two commands; a module refused all commands at 0.9 s and accepted all at 1 s.
const COMMAND_GAP_NS: u64 = 950_000_000;
/// Largest length of a command, bytes, an assumption; longer commands are dropped.
const MOST_LINE: usize = 96;
const OK: &str = "*#OK\r\n";
const ERROR: &str = "*#ERROR\r\n";
const CONFIRM: &str = "(y/n)\r\n";

/// Rates of the messages, Hz, in the order of [`PARAMETERS`].
pub type Rates = [u32; 4];

/// Console of an N100.
#[derive(Clone, Debug)]
pub struct Console {
    line: Vec<u8>,
    is_open: bool,
    /// Restart or reset that waits for the confirmation `y`.
    asks: Option<Asked>,
    last_command: Option<SimTime>,
    /// Rates written by `#fparam`.
    table: Rates,
    /// Rates saved by `#fsave`; a restart applies them.
    saved: Rates,
    /// Rates after a factory reset.
    factory: Rates,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Restart,
    Factory,
}

/// Reaction of the unit to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reaction {
    /// Send this text.
    Say(String),
    /// Restart with these message rates, Hz, in the order of [`PARAMETERS`].
    Restart(Rates),
}

impl Console {
    /// A console whose current, saved and factory message rates are `rates`.
    pub fn new(rates: Rates) -> Self {
        Self {
            line: Vec::new(),
            is_open: false,
            asks: None,
            last_command: None,
            table: rates,
            saved: rates,
            factory: rates,
        }
    }

    /// Whether the unit is in configuration mode and sends no frames.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Processes a byte from the host at `now`; returns the reaction to a line that the byte completes, if any.
    pub fn take(&mut self, now: SimTime, byte: u8) -> Option<Reaction> {
        if !matches!(byte, b'\r' | b'\n') {
            // At most one byte more than the limit is stored: enough to recognise and drop a line that is too long.
            self.line.truncate(MOST_LINE);
            self.line.push(byte);
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).ok().filter(|text| text.len() <= MOST_LINE)?.trim();
        (!text.is_empty()).then(|| self.obey(now, text))?
    }

    fn obey(&mut self, now: SimTime, text: &str) -> Option<Reaction> {
        if let Some(asked) = self.asks.take() {
            if text != "y" {
                return Some(Reaction::Say(OK.to_owned()));
            }
            if asked == Asked::Factory {
                self.saved = self.factory;
            }
            (self.table, self.is_open) = (self.saved, false);
            return Some(Reaction::Restart(self.saved));
        }
        // Outside configuration mode a module accepts only this command.
        if !self.is_open && text != "#fconfig" {
            return None;
        }
        let is_early =
            self.last_command.is_some_and(|last| now.0 < last.0 + COMMAND_GAP_NS) && self.is_open;
        self.last_command = Some(now);
        if is_early {
            return Some(Reaction::Say(ERROR.to_owned()));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["#fconfig"] => {
                self.is_open = true;
                OK.to_owned()
            }
            ["#fdeconfig"] => {
                self.is_open = false;
                OK.to_owned()
            }
            ["#fmsg"] => self.messages(),
            // A module acknowledges this command and keeps its rates.
            ["#fmsg", _, _] => OK.to_owned(),
            ["#fparam", "get", name] => match place_of(name) {
                Some(place) => format!("{name}={}\r\n", rung_of(self.table[place])),
                None => ERROR.to_owned(),
            },
            ["#fparam", "set", name, value] => {
                let rung = value.parse::<f64>().ok().filter(|rung| rung.fract() == 0.0);
                let rate = rung.and_then(|rung| LADDER_HZ.get(rung as usize));
                match (place_of(name), rate) {
                    (Some(place), Some(rate)) => {
                        self.table[place] = *rate;
                        OK.to_owned()
                    }
                    _ => ERROR.to_owned(),
                }
            }
            ["#fsave"] => {
                self.saved = self.table;
                OK.to_owned()
            }
            ["#freboot"] => {
                self.asks = Some(Asked::Restart);
                CONFIRM.to_owned()
            }
            ["#freset"] => {
                self.asks = Some(Asked::Factory);
                CONFIRM.to_owned()
            }
            _ => ERROR.to_owned(),
        };
        Some(Reaction::Say(answer))
    }

    fn messages(&self) -> String {
        let rates = PARAMETERS.iter().zip(self.table);
        rates.map(|((name, kind), hz)| format!("{name}[{kind:02x}]   {hz}.0Hz\r\n")).collect()
    }
}

fn place_of(name: &str) -> Option<usize> {
    PARAMETERS.iter().position(|(known, _)| *known == name)
}

/// Index of a rate in [`LADDER_HZ`], or of the next lower rate.
fn rung_of(rate_hz: u32) -> usize {
    LADDER_HZ.iter().rposition(|known| *known <= rate_hz).unwrap_or(0)
}
