//! Start-up dialogues of real drivers with Hokuyo scanners, each until its scans arrive.
//!
//! A file of `tests/dialogues/hokuyo/` is one dialogue, one step per line. `#` starts a comment.
//!
//! | line | meaning |
//! |---|---|
//! | `profile NAME` | profile of the scanner; the first line |
//! | `settings TOML` | settings of the device, in addition to a single ray per pulse and no noise |
//! | `connect` | a host connects and sends from now on; not for a scanner on a serial line |
//! | `disconnect` | that host disconnects |
//! | `host RATE` | the host's port has the rate RATE, baud; if it differs from the scanner's rate, only noise arrives |
//! | `send TEXT` | the host sends this line |
//! | `raw HEX` | the host sends these bytes |
//! | `bytewise TIME TEXT` | like `send`, with one byte per TIME |
//! | `sleep TIME` | time passes |
//! | `reply TIME ECHO STATUS` | the next message other than a scan arrives within TIME, after at most two scans, with no message after it for a millisecond |
//! | `line TEXT` | a line of that message, without semicolon and checksum; `*` at the end stands for any rest |
//! | `lines N` | number of lines of that message |
//! | `clock` | its only line is the scanner's clock at the time of the request |
//! | `no-reply TIME` | no message arrives |
//! | `flush` | the host drops all bytes that have arrived |
//! | `scans COUNT TIME ECHO first=STEP values=N` | COUNT scans arrive, each within TIME of the previous one (the first one rotation later), and repeat this request; `+` at the end of ECHO stands for the number of remaining scans; their ranges are those of the room, their times those of the scanner's clock |
//! | `scan TIME ECHO first=STEP values=N` | the answer to a request for one scan |
//! | `closed TIME` | the scanner closes the connection |

use std::collections::VecDeque;

use crate::common::dialogue::{self, Step};
use crate::common::scanner::{HOST, Scanner, time_ns, wall_m};
use menura::devices::{Output, Transmit};
use menura::time::SimTime;
use menura::wire::framer::Framer;
use menura::wire::line::{LineSettings, received};
use menura::wire::port::Peer;
use menura::wire::scip::coding::{decode, largest};
use menura::wire::scip::message::{Message, Messages, Status};
use menura::wire::scip::request::Request;
use menura::wire::scip::scan::ScanData;

const STEP_NS: u64 = 250_000;
/// Additional time until a stream starts, nanoseconds: a rotation must complete first.
const BEGINS_NS: u64 = 25_000_000;
/// Time since power-on at the start of a dialogue, milliseconds, as in the profiles.
const UPTIME_MS: u64 = 60_000;

/// A scanner and its host.
struct Bench {
    scanner: Scanner,
    now: u64,
    /// Steps per rotation, and the step that points forward.
    steps: [f64; 2],
    /// Start of the scanner's clock, nanoseconds; `None` if unknown.
    clock_from_ns: Option<u64>,
    hosts: u64,
    speaker: Option<Peer>,
    is_closed: bool,
    scanner_line: LineSettings,
    host_line: LineSettings,
    leaving: VecDeque<Transmit>,
    framer: Framer<Messages>,
    /// Messages that the host has not read: time of complete arrival, and content.
    unread: VecDeque<(u64, Message)>,
    last: Option<Message>,
    sent_at: u64,
}

impl Bench {
    fn of(profile: &str, settings: &str) -> Self {
        let is_serial = profile == "hokuyo-urg04lx" || profile == "hokuyo-utm30lx";
        let link = if is_serial { "pty = \"scanner\"" } else { "tcp = \"127.0.0.1:10940\"" };
        let scanner = Scanner::new(profile, link, settings);
        let line = scanner.device.line().unwrap_or(LineSettings::eight_n_one(115_200));
        let steps = if profile == "hokuyo-urg04lx" { [1024.0, 384.0] } else { [1440.0, 540.0] };
        Self {
            scanner,
            now: 0,
            steps,
            clock_from_ns: None,
            hosts: 0,
            speaker: None,
            is_closed: false,
            scanner_line: line,
            host_line: line,
            leaving: VecDeque::new(),
            framer: Framer::new(Messages),
            unread: VecDeque::new(),
            last: None,
            sent_at: 0,
        }
    }

    fn is_serial(&self) -> bool {
        self.scanner.device.line().is_some()
    }

    fn connect(&mut self) {
        let peer = Peer { connection: self.hosts, port: 0, from: HOST };
        self.hosts += 1;
        self.scanner.device.handle_peer(SimTime(self.now), peer, true);
        self.speaker = Some(peer);
        self.is_closed = false;
        self.unread.clear();
    }

    fn disconnect(&mut self) {
        let peer = self.speaker.take().expect("a host");
        self.scanner.device.handle_peer(SimTime(self.now), peer, false);
        self.unread.clear();
    }

    fn send(&mut self, bytes: &[u8]) {
        if self.is_serial() {
            let heard = received(bytes, self.host_line, self.scanner_line);
            self.run(self.now + self.host_line.duration_ns(bytes.len()), |_| false);
            self.sent_at = self.now;
            self.scanner.device.handle_input(SimTime(self.now), &heard);
        } else {
            self.sent_at = self.now;
            let peer = self.speaker.expect("a host");
            self.scanner.device.handle_peer_input(SimTime(self.now), peer, bytes);
        }
        self.carry();
    }

    /// Advances the time until `is_enough` returns true, at most to `end`. Returns whether `is_enough` returned true.
    fn run(&mut self, end: u64, is_enough: impl Fn(&Self) -> bool) -> bool {
        loop {
            if is_enough(self) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            self.now = (self.now + STEP_NS).min(end);
            self.scanner.measure(self.now + 50_000_000);
            self.scanner.device.advance(SimTime(self.now));
            self.carry();
        }
    }

    /// Passes output that has left by now to the host.
    fn carry(&mut self) {
        self.leaving.extend(std::iter::from_fn(|| self.scanner.device.poll_transmit()));
        let mut last_due = 0;
        while let Some(transmit) = self.leaving.pop_front_if(|transmit| transmit.due.0 <= self.now)
        {
            assert!(transmit.due.0 >= last_due, "out of order");
            last_due = transmit.due.0;
            match transmit.output {
                Output::BytesTo(peer, bytes) => {
                    // An unprintable request is echoed unchanged, and is not a message for this host.
                    if bytes.iter().any(|byte| *byte < b' ' && *byte != b'\n') {
                        continue;
                    }
                    let mut framer = Framer::new(Messages);
                    let piece = framer.next_piece(&mut &bytes[..]).expect("a message");
                    assert_eq!(piece.bytes.len(), bytes.len(), "one message at a time");
                    let message = piece.frame.expect("a message");
                    if Some(peer) == self.speaker {
                        self.unread.push_back((transmit.due.0, message));
                    }
                }
                Output::Bytes(bytes) => {
                    let heard = received(&bytes, self.scanner_line, self.host_line);
                    let whole = transmit.due.0 + self.scanner_line.duration_ns(bytes.len());
                    let messages = self.framer.frames(&heard);
                    self.unread.extend(messages.into_iter().map(|message| (whole, message)));
                }
                Output::Line(line) => self.scanner_line = line,
                Output::Disconnect(peer) => {
                    if Some(peer) == self.speaker {
                        self.is_closed = true;
                    }
                    self.scanner.device.handle_peer(SimTime(self.now), peer, false);
                    self.clock_from_ns = Some(self.now);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn reply(&mut self, within: u64, echo: &str, status: &str) {
        let end = self.now + within;
        let came = self.run(end, |bench| {
            bench.unread.iter().any(|(at, message)| is_reply(message) && *at <= bench.now)
        });
        assert!(came, "nothing instead of {echo} {status}");
        // A message without a gap after this one would arrive within this time.
        self.run(self.now + 1_000_000, |_| false);
        let place = self.unread.iter().position(|(_, message)| is_reply(message)).unwrap();
        assert!(place <= 2, "{place} scans before the answer");
        let (due, message) = self.unread.drain(..=place).next_back().unwrap();
        if let Some((next, _)) = self.unread.front() {
            assert!(next - due >= 900_000, "another message follows after {} ns", next - due);
        }
        assert_eq!(String::from_utf8_lossy(&message.echo), echo);
        assert_eq!(status_of(&message), status);
        if matches!(echo, "RS" | "RT") && status == "00" {
            self.clock_from_ns = Some(self.sent_at);
        }
        self.last = Some(message);
    }

    fn lines(&self) -> Vec<String> {
        let last = self.last.as_ref().expect("a reply");
        last.lines.iter().map(|line| String::from_utf8_lossy(line.text()).into_owned()).collect()
    }

    fn clock_ms(&self, at_ns: u64) -> u32 {
        let ms = match self.clock_from_ns {
            None => UPTIME_MS + at_ns / 1_000_000,
            Some(from) => at_ns.saturating_sub(from) / 1_000_000,
        };
        (ms % (1 << 24)) as u32
    }

    fn clock(&self) {
        let lines = self.lines();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let time = decode(line.as_bytes()).unwrap();
        let expected = self.clock_ms(self.sent_at);
        assert!(time.abs_diff(expected) <= 1, "{time} ms instead of {expected}");
    }

    fn scans(&mut self, words: &[&str]) {
        let (count, within, echo) = (words[0].parse::<u32>().unwrap(), time_ns(words[1]), words[2]);
        let mut last_at = self.now;
        for number in 0..count {
            let within = if number == 0 { within + BEGINS_NS } else { within };
            let came = self.run(last_at + within, |bench| !bench.unread.is_empty());
            assert!(came, "scan {number} does not come within {within} ns");
            let (at, message) = self.unread.pop_front().unwrap();
            last_at = at;
            let expected = match echo.strip_suffix('+') {
                Some(head) => format!("{head}{:02}", count - 1 - number),
                None => echo.to_owned(),
            };
            assert_eq!(String::from_utf8_lossy(&message.echo), expected);
            assert_eq!(status_of(&message), "99");
            self.check(at, &message, &words[3..]);
        }
    }

    fn scan(&mut self, words: &[&str]) {
        self.reply(time_ns(words[0]), words[1], "00");
        let message = self.last.clone().unwrap();
        self.check(self.now, &message, &words[2..]);
    }

    /// Checks a scan that arrived at `at`.
    fn check(&self, at: u64, message: &Message, words: &[&str]) {
        let word = |key: &str| {
            let found = words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            found.unwrap_or_else(|| panic!("{key} is missing")).parse::<f64>().unwrap()
        };
        let request = Request::parse(&message.echo, true).unwrap();
        let format = request.name.scan().expect("a scan").format;
        let [first, last, cluster] = request.numbers::<3>().unwrap();
        let cluster = cluster.max(1);
        let scan = ScanData::parse(format, &message.lines).unwrap();
        assert_eq!(scan.steps.len() as f64, word("values"));
        assert_eq!(f64::from(first), word("first"));
        let [per_turn, front] = self.steps;
        let on_line = if self.is_serial() { 1_200_000_000 } else { 0 };
        let ages = self.clock_ms(at.saturating_sub(on_line + 110_000_000))..=self.clock_ms(at);
        assert!(ages.contains(&scan.time_ms), "{} ms is not in {ages:?}", scan.time_ms);
        let largest = f64::from(largest(format.characters));
        for (start, step) in (first..=last).step_by(cluster as usize).zip(&scan.steps) {
            let mm = |number: u32| {
                1000.0 * wall_m((f64::from(number) - front) / per_turn * std::f64::consts::TAU)
            };
            let parts = start..=(start + cluster - 1).min(last);
            let wall_mm = parts.map(mm).fold(f64::MAX, f64::min);
            let told = f64::from(step.first.distance);
            // An URG-04LX detects only the near walls.
            let is_seen = per_turn != 1024.0 || wall_mm < 4050.0;
            assert!(
                !is_seen || (told - wall_mm.min(largest)).abs() <= 0.6,
                "step {start}: {told} mm, not {wall_mm} mm"
            );
            if !is_seen {
                continue;
            }
            assert_eq!(step.first.intensity > 0, format.has_intensity);
        }
    }
}

/// Whether the message is anything but a scan of a stream.
fn is_reply(message: &Message) -> bool {
    !status_of(message).starts_with("99")
}

fn status_of(message: &Message) -> String {
    match message.status {
        Status::Code(code) => String::from_utf8_lossy(&code).into_owned(),
        Status::Scip1(code) => char::from(code).to_string(),
    }
}

impl dialogue::Bench for Bench {
    fn new(profile: &str, settings: &str) -> Self {
        Self::of(profile, settings)
    }

    fn step(&mut self, step: &Step) {
        let Step { verb, rest, first, after, words } = step;
        match *verb {
            "connect" => self.connect(),
            "disconnect" => self.disconnect(),
            "host" => self.host_line = LineSettings::eight_n_one(first.parse().unwrap()),
            "send" => self.send(format!("{rest}\n").as_bytes()),
            "raw" => {
                let byte = |word: &&str| u8::from_str_radix(word, 16).expect("bytes in hex");
                self.send(&words.iter().map(byte).collect::<Vec<_>>());
            }
            "bytewise" => {
                for byte in format!("{after}\n").bytes() {
                    self.send(&[byte]);
                    self.run(self.now + time_ns(first), |_| false);
                }
            }
            "sleep" => {
                self.run(self.now + time_ns(first), |_| false);
            }
            "reply" => {
                let (echo, status) = after.rsplit_once(' ').expect("echo and status");
                self.reply(time_ns(first), echo, status);
            }
            "line" => {
                let fits = |line: &String| match rest.strip_suffix('*') {
                    Some(start) => line.starts_with(start),
                    None => line == rest,
                };
                let lines = self.lines();
                assert!(lines.iter().any(fits), "{rest} is not in {lines:?}");
            }
            "lines" => assert_eq!(self.lines().len(), first.parse::<usize>().unwrap()),
            "clock" => self.clock(),
            "no-reply" => {
                let came = self.run(self.now + time_ns(first), |b| !b.unread.is_empty());
                assert!(!came, "{:?}", self.unread);
            }
            "flush" => self.unread.clear(),
            "scans" => self.scans(words),
            "scan" => self.scan(words),
            "closed" => {
                let closed = self.run(self.now + time_ns(first), |bench| bench.is_closed);
                assert!(closed, "it is still open");
            }
            other => panic!("no step is called {other}"),
        }
    }
}

crate::conversations! {
    Bench, "hokuyo":
    urg_c_ethernet: "urg-c-ethernet",
    urg_c_serial: "urg-c-serial",
    urg_node: "urg-node",
    hokuyolx: "hokuyolx",
    mrpt_ethernet: "mrpt-ethernet",
    mrpt_serial: "mrpt-serial",
    urg_stamped: "urg-stamped",
    odd_hosts: "odd-hosts",
    odd_two_hosts: "odd-two-hosts",
    odd_states: "odd-states",
    odd_failures: "odd-failures",
}

/// A dialogue with a wrong expectation fails.
#[test]
fn a_wrong_expectation_fails() {
    let good = dialogue::text_of("hokuyo", "urg-c-ethernet");
    for (from, to) in [
        ("reply 140ms BM 00", "reply 140ms BM 02"),
        ("lines 8", "lines 7"),
        ("values=1081", "values=1080"),
        ("first=0", "first=1"),
        ("AFRT:540", "AFRT:541"),
        ("scans 40 26ms", "scans 40 20ms"),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good, "{from}");
        dialogue::assert_fails::<Bench>(to, &wrong);
    }
}
