//! Commands as lines of text, `<channel>,<command>`; case and blanks are ignored.

/// A requested move. Its values are in the units that the host has set; [`Order::scaled`] converts them to counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Order {
    /// Target position in the host's units, and whether the value is an increment.
    pub position: Option<(f64, bool)>,
    /// Speed in the host's units, and whether the value is an increment. In a move to a position, the maximum speed.
    pub speed: Option<(f64, bool)>,
    /// Acceleration; `None`: no ramp.
    pub ramp: Option<f64>,
}

impl Order {
    /// Sets the value of type `kind` from a packet; unknown types are ignored.
    pub fn put(&mut self, kind: u8, number: f64) {
        let is_increment = kind & super::what::INCREMENT != 0;
        match kind & !super::what::INCREMENT {
            super::what::POSITION => self.position = Some((number, is_increment)),
            super::what::SPEED => self.speed = Some((number, is_increment)),
            super::what::RAMP => self.ramp = Some(number),
            _ => {}
        }
    }

    /// Converts the move to other units; `scale` is the number of new units per old unit.
    pub fn scaled(&self, scale: f64) -> Self {
        let both = |value: Option<(f64, bool)>| value.map(|(number, is)| (number * scale, is));
        Self {
            position: both(self.position),
            speed: both(self.speed),
            ramp: self.ramp.map(|ramp| ramp * scale),
        }
    }
}

/// A command in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextCommand {
    Start,
    Home,
    PowerDown,
    PowerDownAll,
    /// Sets the scale: `desired` units correspond to `machine` encoder lines.
    Units {
        desired: f64,
        machine: f64,
    },
    /// A move; its values are in the host's units.
    Move(Order),
    /// A query of a value; the number is the type of the value, as in the get command.
    Get(u8),
}

/// Parses a line; returns the channel's name and the command, or `None` if the line is invalid.
pub fn parse(line: &[u8]) -> Option<(u8, TextCommand)> {
    let said: Vec<u8> =
        line.iter().filter(|b| !b.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
    let &[channel, b',', ref command @ ..] = said.as_slice() else { return None };
    let command = std::str::from_utf8(command).ok()?;
    let what = match command {
        "start" => TextCommand::Start,
        "home" => TextCommand::Home,
        "powerdown" => TextCommand::PowerDown,
        "powerdownall" => TextCommand::PowerDownAll,
        "getp" => TextCommand::Get(super::what::POSITION),
        "gets" => TextCommand::Get(super::what::SPEED),
        "getpi" => TextCommand::Get(super::what::POSITION | super::what::INCREMENT),
        "getsi" => TextCommand::Get(super::what::SPEED | super::what::INCREMENT),
        "getmin" => TextCommand::Get(super::what::MIN),
        "getmax" => TextCommand::Get(super::what::MAX),
        _ => match command.strip_prefix("units") {
            Some(units) => {
                let (desired, machine) = units.split_once('=')?;
                TextCommand::Units { desired: number(desired)?.0, machine: number(machine)?.0 }
            }
            None => TextCommand::Move(order(command)?),
        },
    };
    Some((channel, what))
}

/// Parses the number at the start of the text; also returns the rest of the text. `None` without a number.
fn number(text: &str) -> Option<(f64, &str)> {
    let is_part = |(place, c): (usize, char)| {
        c.is_ascii_digit() || c == '.' || (place == 0 && matches!(c, '-' | '+'))
    };
    let end = text.char_indices().find(|part| !is_part(*part)).map_or(text.len(), |(end, _)| end);
    let (number, rest) = text.split_at(end);
    Some((number.parse().ok()?, rest))
}

fn order(mut text: &str) -> Option<Order> {
    let mut order = Order::default();
    while !text.is_empty() {
        let kinds = [
            ("pi", super::what::POSITION | super::what::INCREMENT),
            ("si", super::what::SPEED | super::what::INCREMENT),
            ("p", super::what::POSITION),
            ("s", super::what::SPEED),
            ("r", super::what::RAMP),
        ];
        let (kind, rest) =
            kinds.iter().find_map(|(word, kind)| Some((*kind, text.strip_prefix(word)?)))?;
        let (value, rest) = number(rest)?;
        order.put(kind, value);
        text = rest;
    }
    (order != Order::default()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_manual() {
        let order = |position, speed, ramp| TextCommand::Move(Order { position, speed, ramp });
        for (line, wanted) in [
            ("1,start\r", (b'1', TextCommand::Start)),
            ("D , GetP\n", (b'd', TextCommand::Get(1))),
            ("2,p2450 s200\r", (b'2', order(Some((2450.0, false)), Some((200.0, false)), None))),
            ("1,si-5\r", (b'1', order(None, Some((-5.0, true)), None))),
            ("1,s500 r20\r", (b'1', order(None, Some((500.0, false)), Some(20.0)))),
            (
                "1,units 100 cm = 2048 lines\r",
                (b'1', TextCommand::Units { desired: 100.0, machine: 2048.0 }),
            ),
        ] {
            assert_eq!(parse(line.as_bytes()), Some(wanted), "{line:?}");
        }
        for line in ["1,\r", "1start\r", "1,s\r", "1,s5x\r", "1,units 5 = \r", "12,start\r", "\r"] {
            assert_eq!(parse(line.as_bytes()), None, "{line:?}");
        }
    }
}
