//! Start-up dialogues of real drivers with the SICK LMS 2xx, each until its first scans arrive.
//!
//! A file of `tests/dialogues/sick-lms2xx/` is one dialogue, one step per line. `#` starts a comment.
//!
//! | line | meaning |
//! |---|---|
//! | `profile NAME` | profile of the scanner; the first line |
//! | `settings TOML` | settings of the device, in addition to a single ray per pulse and no noise |
//! | `host RATE` | the host's port has the rate RATE, baud, from now on; if it differs from the scanner's rate, bytes arrive as noise in both directions |
//! | `byte-gap TIME` | gap between the host's bytes from now on (default: none) |
//! | `send HEX` | the host sends a telegram with this payload |
//! | `raw HEX` | the host sends these bytes |
//! | `sleep TIME` | time passes; arriving bytes wait in the host's buffer |
//! | `flush` | the host drops all bytes that have arrived |
//! | `ack TIME`, `nak TIME` | ACK (NAK) arrives, after any other bytes |
//! | `ack-first TIME` | the first unread byte is ACK |
//! | `reply TIME PATTERN` | the next valid telegram arrives and has this payload: bytes in hex, `..` for any byte, `"text"`, `*` at the end for any rest |
//! | `no-ack TIME`, `no-reply TIME` | no ACK (no telegram) arrives |
//! | `scans COUNT TIME CODE values=N unit=cm mode=0x00 [first=N] [partial]` | COUNT telegrams with this code arrive, each within TIME of the previous one; their ranges are those of the room |
//! | `same-scanner` | the host closes its port and another host opens it |

use std::collections::VecDeque;

use crate::common::dialogue::{self, Step};
use crate::common::scanner::{Scanner, time_ns, wall_m};
use menura::devices::{Output, Transmit};
use menura::time::SimTime;
use menura::wire::framer::Framer;
use menura::wire::line::{LineSettings, received};
use menura::wire::sick_lms2xx::data::{MeasuringMode, Range, Unit, Values};
use menura::wire::sick_lms2xx::frame::{self, Item, Telegrams};
use menura::wire::sick_lms2xx::reply::{Body, Reply};
use menura::wire::sick_lms2xx::{ACK, NAK, SpecialValue};

const STEP_NS: u64 = 250_000;

/// A scanner on a serial line, and the bytes that the host has received.
struct Bench {
    scanner: Scanner,
    now: u64,
    scanner_line: LineSettings,
    host_line: LineSettings,
    byte_gap_ns: u64,
    /// Output whose transmission has not started.
    leaving: VecDeque<Transmit>,
    /// For each byte, the time at which it is complete at the host.
    arriving: VecDeque<(u64, u8)>,
    /// Bytes that the host has not read.
    unread: VecDeque<u8>,
}

impl Bench {
    fn of(profile: &str, settings: &str) -> Self {
        let scanner = Scanner::new(profile, "pty = \"scanner\"", settings);
        let line = scanner.device.line().expect("a serial line");
        Self {
            scanner,
            now: 0,
            scanner_line: line,
            host_line: LineSettings::eight_n_one(9600),
            byte_gap_ns: 0,
            leaving: VecDeque::new(),
            arriving: VecDeque::new(),
            unread: VecDeque::new(),
        }
    }

    /// Advances the time until `is_enough` returns true, at most to `end`. Returns whether `is_enough` returned true.
    fn run(&mut self, end: u64, mut is_enough: impl FnMut(&VecDeque<u8>) -> bool) -> bool {
        loop {
            if is_enough(&self.unread) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            self.now = (self.now + STEP_NS).min(end);
            self.scanner.measure(self.now + 20_000_000);
            self.scanner.device.advance(SimTime(self.now));
            self.carry();
        }
    }

    /// Moves bytes along the line from the scanner to the host.
    fn carry(&mut self) {
        self.leaving.extend(std::iter::from_fn(|| self.scanner.device.poll_transmit()));
        while self.leaving.front().is_some_and(|transmit| transmit.due.0 <= self.now) {
            let Some(Transmit { due, output, .. }) = self.leaving.pop_front() else { break };
            match output {
                Output::Line(line) => self.scanner_line = line,
                Output::Bytes(bytes) => {
                    let heard = received(&bytes, self.scanner_line, self.host_line);
                    let whole_ns = self.scanner_line.duration_ns(bytes.len());
                    for (index, byte) in heard.iter().enumerate() {
                        let share = (index as u64 + 1) * whole_ns / heard.len() as u64;
                        self.arriving.push_back((due.0 + share, *byte));
                    }
                }
                _ => panic!("a scanner has none"),
            }
        }
        while let Some((_, byte)) = self.arriving.pop_front_if(|(at, _)| *at <= self.now) {
            self.unread.push_back(byte);
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        if self.byte_gap_ns == 0 {
            let heard = received(bytes, self.host_line, self.scanner_line);
            let took_ns = self.host_line.duration_ns(bytes.len());
            self.run(self.now + took_ns, |_| false);
            self.scanner.device.handle_input(SimTime(self.now), &heard);
        } else {
            for byte in bytes {
                self.run(self.now + self.byte_gap_ns, |_| false);
                let heard = received(&[*byte], self.host_line, self.scanner_line);
                self.scanner.device.handle_input(SimTime(self.now), &heard);
            }
        }
        self.carry();
    }

    /// Waits for a byte; drops the bytes before it.
    fn byte(&mut self, wanted: u8, within_ns: u64) -> bool {
        let end = self.now + within_ns;
        let mut found = self.run(end, |unread| unread.contains(&wanted));
        while found && self.unread.pop_front() != Some(wanted) {
            found = !self.unread.is_empty();
        }
        if !found {
            self.unread.clear();
        }
        found
    }

    /// Waits for a valid telegram from the scanner; drops the bytes before it.
    fn telegram(&mut self, within_ns: u64) -> Option<Vec<u8>> {
        let end = self.now + within_ns;
        let first = |unread: &VecDeque<u8>| {
            let mut framer = Framer::new(Telegrams::of([0x80, 0x80]));
            let unread: Vec<u8> = unread.iter().copied().collect();
            let mut rest = &unread[..];
            loop {
                let piece = framer.next_piece(&mut rest)?;
                if let Some(Item::Telegram { payload, .. }) = piece.frame {
                    return Some((payload, piece.offset as usize + piece.bytes.len()));
                }
            }
        };
        self.run(end, |unread| first(unread).is_some());
        let (payload, used) = first(&self.unread)?;
        self.unread.drain(..used);
        Some(payload)
    }
}

/// Expected content of a scan.
struct Expected {
    code: u8,
    values: usize,
    unit: Unit,
    mode: MeasuringMode,
    /// Number of the first value, from 1.
    first: usize,
    is_partial: bool,
    angle_deg: f64,
}

impl Expected {
    fn parse(words: &[&str]) -> Self {
        let mut all = Self {
            code: u8::from_str_radix(words[0], 16).expect("a code"),
            values: 0,
            unit: Unit::Centimetres,
            mode: MeasuringMode::FACTORY,
            first: 1,
            is_partial: false,
            angle_deg: 180.0,
        };
        for word in &words[1..] {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "values" => all.values = value.parse().expect("a number"),
                "unit" => {
                    let found = Unit::WORDS.iter().find(|(word, _)| *word == value);
                    all.unit = found.expect("a unit").1;
                }
                "mode" => {
                    let code = u8::from_str_radix(&value[2..], 16).expect("0xNN");
                    all.mode = MeasuringMode::from_code(code).expect("a mode");
                }
                "first" => all.first = value.parse().expect("a number"),
                "angle" => all.angle_deg = value.parse().expect("degrees"),
                "partial" => all.is_partial = true,
                other => panic!("{other}?"),
            }
        }
        all
    }

    fn check(&self, reply: &Reply) {
        assert_eq!(reply.body.code(), self.code);
        assert_eq!(reply.status, 0x10);
        match &reply.body {
            Body::Scan { values, indices: None } => self.check_values(values),
            Body::Subrange { values, part, .. } => {
                assert_eq!(usize::from(part.first), self.first);
                self.check_values(values);
            }
            Body::Reflectivity { values, reflectivity, .. } => {
                assert_eq!(reflectivity.len(), self.values);
                assert!(reflectivity.iter().all(|byte| *byte > 0));
                self.check_values(values);
            }
            Body::Remission(parts) => {
                let [part] = &parts[..] else { panic!("{} parts", parts.len()) };
                assert_eq!(part.values.len(), self.values);
                for (index, [range, remission]) in part.values.iter().enumerate() {
                    self.check_range(Range::Units(*range), index, 0.0, self.step_deg());
                    assert!(*remission > 0);
                }
            }
            other => panic!("not a scan: {other:?}"),
        }
    }

    fn check_values(&self, values: &Values) {
        assert_eq!(values.is_partial, self.is_partial);
        assert_eq!(values.unit, self.unit);
        let shift_deg = f64::from(values.quarters) * 0.25;
        let step_deg = if self.is_partial {
            assert_eq!(values.values.len(), self.values - usize::from(values.quarters != 0));
            1.0
        } else {
            assert_eq!(values.values.len(), self.values);
            self.step_deg()
        };
        for (index, value) in values.values.iter().enumerate() {
            self.check_range(self.mode.split(*value).0, index, shift_deg, step_deg);
        }
    }

    fn step_deg(&self) -> f64 {
        if self.code == 0xb7 { 1.0 } else { self.angle_deg / (self.values - 1) as f64 }
    }

    fn check_range(&self, range: Range, index: usize, shift_deg: f64, step_deg: f64) {
        let right_deg = 90.0 - self.angle_deg / 2.0;
        let place = (index + self.first - 1) as f64;
        let heading = (right_deg + shift_deg + place * step_deg - 90.0).to_radians();
        let units = wall_m(heading) / self.unit.metres();
        match range {
            Range::Units(said) => {
                // Tolerance: rounding by half a unit, and single precision.
                assert!((f64::from(said) - units).abs() <= 0.51, "{index}: {said}, truth {units}");
            }
            Range::Special(special) => {
                assert_eq!(special, SpecialValue::AboveMaximum, "{index}");
                assert!(units >= f64::from(self.mode.max_range()), "{index}: truth {units}");
            }
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |word: &str| u8::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{word}?"));
    text.split_whitespace().map(byte).collect()
}

/// Whether a payload matches a pattern.
fn matches(payload: &[u8], pattern: &str) -> bool {
    let mut rest = payload;
    let mut words = pattern;
    loop {
        words = words.trim_start();
        if words.is_empty() {
            return rest.is_empty();
        }
        if words == "*" {
            return true;
        }
        if let Some(quoted) = words.strip_prefix('"') {
            let (text, tail) = quoted.split_once('"').expect("a closing quote");
            let Some(after) = rest.strip_prefix(text.as_bytes()) else { return false };
            (rest, words) = (after, tail);
            continue;
        }
        let (word, tail) = words.split_once(' ').unwrap_or((words, ""));
        let Some((byte, after)) = rest.split_first() else { return false };
        if word != ".." && hex(word) != [*byte] {
            return false;
        }
        (rest, words) = (after, tail);
    }
}

impl dialogue::Bench for Bench {
    fn new(profile: &str, settings: &str) -> Self {
        Self::of(profile, settings)
    }

    fn step(&mut self, step: &Step) {
        let taken = take(self, step.verb, step.rest.trim());
        taken.unwrap_or_else(|why| panic!("at {:.2} ms: {why}", self.now as f64 / 1e6));
    }
}

fn take(bench: &mut Bench, verb: &str, rest: &str) -> Result<(), String> {
    let words: Vec<_> = rest.split_whitespace().collect();
    let check = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
    let within_ns = || time_ns(words[0]);
    match verb {
        "host" => bench.host_line = LineSettings::eight_n_one(rest.parse().expect("a rate")),
        "byte-gap" => bench.byte_gap_ns = within_ns(),
        "send" => bench.send(&frame::emit(0, &hex(rest))),
        "raw" => bench.send(&hex(rest)),
        "sleep" => {
            bench.run(bench.now + within_ns(), |_| false);
        }
        "flush" | "same-scanner" => bench.unread.clear(),
        "ack" => return check(bench.byte(ACK, within_ns()), "no ACK"),
        "nak" => return check(bench.byte(NAK, within_ns()), "no NAK"),
        "no-ack" => return check(!bench.byte(ACK, within_ns()), "an ACK"),
        "ack-first" => {
            bench.run(bench.now + within_ns(), |unread| !unread.is_empty());
            let byte = bench.unread.pop_front();
            return check(byte == Some(ACK), &format!("{byte:02x?} comes first"));
        }
        "reply" => {
            let Some(payload) = bench.telegram(within_ns()) else {
                return Err("no telegram".to_owned());
            };
            let (_, pattern) = rest.split_once(' ').unwrap_or((rest, "*"));
            return check(matches(&payload, pattern), &format!("the payload is {payload:02x?}"));
        }
        "no-reply" => {
            let payload = bench.telegram(within_ns());
            return check(payload.is_none(), &format!("the payload is {payload:02x?}"));
        }
        "scans" => {
            let count: usize = words[0].parse().expect("a count");
            let expected = Expected::parse(&words[2..]);
            for index in 0..count {
                let payload = bench.telegram(time_ns(words[1]));
                let payload = payload.ok_or_else(|| format!("{index} scans only"))?;
                let reply = Reply::parse(&payload).map_err(|error| error.to_string())?;
                expected.check(&reply);
            }
        }
        other => panic!("{other}?"),
    }
    Ok(())
}

#[test]
fn every_conversation_comes_to_its_scans() {
    dialogue::play_all::<Bench>("sick-lms2xx", 15);
}

#[test]
fn a_wrong_conversation_is_noticed() {
    for (what, steps) in [
        ("a reply that does not come", "send 31\nreply 5ms B1 *"),
        ("another reply", "send 31\nreply 500ms B1 00 *"),
        ("no ACK at another rate", "host 38400\nsend 31\nack 60ms"),
        ("other values", "settings power_on_mode = \"continuous\"\nscans 1 3s B0 values=181"),
        (
            "other ranges",
            "settings power_on_mode = \"continuous\"\nscans 1 3s B0 values=361 mode=0x06 unit=cm angle=100",
        ),
    ] {
        let text = format!("profile sick-lms291-s05-x1.27\n{steps}\n");
        dialogue::assert_fails::<Bench>(what, &text);
    }
}
