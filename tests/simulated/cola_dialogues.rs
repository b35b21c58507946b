//! Start-up dialogues of real drivers with SICK LMS1xx and LMS5xx, each until its scans arrive.
//!
//! A file of `tests/dialogues/sick-lms1xx/` is one dialogue, one step per line. `#` starts a comment.
//!
//! | line | meaning |
//! |---|---|
//! | `profile NAME` | profile of the scanner; the first line |
//! | `settings TOML` | settings of the device, in addition to a single ray per pulse and no noise |
//! | `connect PORT` | a host connects to port 2111 or 2112 and sends from now on |
//! | `disconnect` | that host disconnects |
//! | `send TEXT`, `send-b TEXT` | the host sends this telegram in CoLa-A (as written), in CoLa-B |
//! | `raw HEX` | the host sends these bytes |
//! | `bytewise TIME TEXT` | like `send`, with one byte per TIME |
//! | `sleep TIME` | time passes |
//! | `reply TIME TEXT` | the next telegram other than a scan arrives within TIME, in the dialect of the last command and with no telegram after it for a millisecond; written as CoLa-A it is TEXT; `*` at the end stands for any rest |
//! | `event TIME TEXT` | the next telegram is this event, written as CoLa-A |
//! | `no-reply TIME` | no telegram arrives |
//! | `until-ready TIME` | `SCdevicestate` becomes 1 |
//! | `scans COUNT TIME values=N start=DEG step=DEG channels=LIST` | this number of scans arrive, each within TIME of the previous one, with these channels (`/8`: 8 bits); their ranges are those of the room |
//! | `poll COUNT TIME ...` | like `scans`, each requested separately |

use std::collections::VecDeque;

use crate::common::dialogue::{self, Step};
use crate::common::scanner::{HOST, Scanner, time_ns, wall_m};
use menura::devices::Output;
use menura::time::SimTime;
use menura::wire::cola::Dialect;
use menura::wire::cola::frame::{self, Cola};
use menura::wire::cola::scan_data::ScanData;
use menura::wire::cola::telegram::Telegram;
use menura::wire::framer::Framer;
use menura::wire::port::Peer;

const STEP_NS: u64 = 500_000;

/// A scanner and its hosts.
struct Bench {
    scanner: Scanner,
    now: u64,
    hosts: u64,
    speaker: Option<Peer>,
    dialect: Dialect,
    /// Telegrams that the active host has not read: time of arrival, dialect and content.
    unread: VecDeque<(u64, Dialect, Vec<u8>)>,
}

impl Bench {
    fn of(profile: &str, settings: &str) -> Self {
        let link = "tcp = [\"127.0.0.1:2111\", \"127.0.0.1:2112\"]";
        Self {
            scanner: Scanner::new(profile, link, settings),
            now: 0,
            hosts: 0,
            speaker: None,
            dialect: Dialect::A,
            unread: VecDeque::new(),
        }
    }

    fn connect(&mut self, port: &str) {
        let port = match port {
            "2111" => 0,
            "2112" => 1,
            other => panic!("no port {other}"),
        };
        let peer = Peer { connection: self.hosts, port, from: HOST };
        self.hosts += 1;
        self.scanner.device.handle_peer(SimTime(self.now), peer, true);
        self.speaker = Some(peer);
        self.unread.clear();
    }

    fn disconnect(&mut self) {
        let peer = self.speaker.take().expect("a host");
        self.scanner.device.handle_peer(SimTime(self.now), peer, false);
        self.unread.clear();
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let peer = self.speaker.expect("a host");
        self.scanner.device.handle_peer_input(SimTime(self.now), peer, bytes);
        self.collect();
    }

    fn send(&mut self, dialect: Dialect, text: &str) {
        self.dialect = dialect;
        let content = match dialect {
            Dialect::A => text.as_bytes().to_vec(),
            Dialect::B => {
                let telegram = Telegram::parse(Dialect::A, text.as_bytes());
                telegram.unwrap_or_else(|error| panic!("{text}: {error}")).emit(Dialect::B)
            }
        };
        self.send_bytes(&frame::emit(dialect, &content));
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
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(transmit) = self.scanner.device.poll_transmit() {
            let Output::BytesTo(peer, bytes) = transmit.output else { panic!("to nobody") };
            let mut framer = Framer::new(Cola { max_content: 1 << 20 });
            let piece = framer.next_piece(&mut &bytes[..]).expect("a telegram");
            assert_eq!(piece.bytes.len(), bytes.len(), "one telegram at a time");
            let frame = piece.frame.expect("a telegram");
            if Some(peer) == self.speaker {
                self.unread.push_back((transmit.due.0, frame.dialect, frame.content));
            }
        }
    }

    fn reply(&mut self, within: u64, pattern: &str) {
        let end = self.now + within;
        let is_reply = |(_, _, content): &(u64, Dialect, Vec<u8>)| !content.starts_with(b"sSN");
        let came = self.run(end, |bench| bench.unread.iter().any(is_reply));
        assert!(came, "nothing instead of {pattern}");
        // A telegram without a gap after this one would arrive within this time.
        self.run(self.now + 1_000_000, |_| false);
        let at = self.unread.iter().position(is_reply).unwrap();
        let (due, dialect, content) = self.unread.remove(at).unwrap();
        assert_eq!(dialect, self.dialect);
        if let Some((next, ..)) = self.unread.get(at) {
            assert!(next - due >= 900_000, "another telegram follows after {} ns", next - due);
        }
        let telegram = Telegram::parse(dialect, &content).unwrap();
        let text = String::from_utf8(telegram.emit(Dialect::A)).unwrap();
        let fits = match pattern.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => text == pattern.trim_end() || text == pattern,
        };
        assert!(fits, "{text} instead of {pattern}");
    }

    fn event(&mut self, within: u64, wanted: &str) {
        let came = self.run(self.now + within, |bench| !bench.unread.is_empty());
        assert!(came, "nothing instead of {wanted}");
        let (_, dialect, content) = self.unread.pop_front().unwrap();
        let telegram = Telegram::parse(dialect, &content).unwrap();
        assert_eq!(String::from_utf8(telegram.emit(Dialect::A)).unwrap(), wanted);
    }

    fn until_ready(&mut self, within: u64) {
        let end = self.now + within;
        while self.now < end {
            self.send(self.dialect, "sRN SCdevicestate");
            let before = self.now;
            self.run(before + 1_000_000_000, |bench| !bench.unread.is_empty());
            let (_, dialect, content) = self.unread.pop_front().expect("an answer");
            let answer = Telegram::parse(dialect, &content).unwrap().emit(Dialect::A);
            if answer == b"sRA SCdevicestate 1" {
                return;
            }
            self.run(before + 1_000_000_000, |_| false);
        }
        panic!("it is not ready");
    }

    fn scans(&mut self, words: &[&str], is_polled: bool) {
        let (count, within) = (words[0].parse::<usize>().unwrap(), time_ns(words[1]));
        let expected = Expected::new(&words[2..]);
        for number in 0..count {
            if is_polled {
                self.send(Dialect::A, "sRN LMDscandata");
            }
            let came = self.run(self.now + within, |bench| !bench.unread.is_empty());
            assert!(came, "scan {number} does not come within {within} ns");
            let (_, dialect, content) = self.unread.pop_front().unwrap();
            assert_eq!(dialect, self.dialect);
            let scan = ScanData::parse(dialect, &content).unwrap();
            assert_eq!(scan.is_streamed, !is_polled);
            expected.check(&scan);
        }
    }
}

/// Expectations from the words of a `scans` line.
struct Expected {
    values: usize,
    start_deg: f64,
    step_deg: f64,
    channels: String,
}

impl Expected {
    fn new(words: &[&str]) -> Self {
        let word = |key: &str| {
            let found = words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            found.unwrap_or_else(|| panic!("{key} is missing"))
        };
        Self {
            values: word("values").parse().unwrap(),
            start_deg: word("start").parse().unwrap(),
            step_deg: word("step").parse().unwrap(),
            channels: word("channels").to_owned(),
        }
    }

    fn check(&self, scan: &ScanData) {
        let name = |name: &[u8; 5]| String::from_utf8(name.to_vec()).unwrap();
        let words = scan.channels_16.iter().map(|channel| name(&channel.name));
        let bytes = scan.channels_8.iter().map(|channel| name(&channel.name) + "/8");
        assert_eq!(words.chain(bytes).collect::<Vec<_>>().join(","), self.channels);
        let channel = scan.channel(b"DIST1").unwrap();
        assert_eq!(channel.values.len(), self.values);
        assert_eq!(f64::from(channel.start_angle) / 1e4, self.start_deg);
        assert_eq!(f64::from(channel.angular_step) / 1e4, self.step_deg);
        // Resolutions divide a rotation evenly.
        let step_deg = 360.0 / (360.0 / self.step_deg).round();
        for (index, value) in channel.values.iter().enumerate() {
            let angle = (self.start_deg + index as f64 * step_deg - 90.0).to_radians();
            let range_m = wall_m(angle);
            let said_m = f64::from(*value) * f64::from(channel.scale_factor()) / 1000.0;
            assert!(
                (said_m - range_m).abs() <= 0.000_6,
                "value {index}: {said_m} m, not {range_m} m"
            );
        }
    }
}

impl dialogue::Bench for Bench {
    fn new(profile: &str, settings: &str) -> Self {
        Self::of(profile, settings)
    }

    fn step(&mut self, step: &Step) {
        let Step { verb, rest, first, after, words } = step;
        match *verb {
            "connect" => self.connect(first),
            "disconnect" => self.disconnect(),
            "send" => self.send(Dialect::A, rest),
            "send-b" => self.send(Dialect::B, rest),
            "raw" => {
                let byte = |word: &&str| u8::from_str_radix(word, 16).expect("bytes in hex");
                self.dialect = Dialect::A;
                self.send_bytes(&words.iter().map(byte).collect::<Vec<_>>());
            }
            "bytewise" => {
                self.dialect = Dialect::A;
                for byte in frame::emit(Dialect::A, after.as_bytes()) {
                    self.send_bytes(&[byte]);
                    self.run(self.now + time_ns(first), |_| false);
                }
            }
            "sleep" => {
                self.run(self.now + time_ns(first), |_| false);
            }
            "reply" => self.reply(time_ns(first), after),
            "event" => self.event(time_ns(first), after),
            "no-reply" => {
                let came = self.run(self.now + time_ns(first), |b| !b.unread.is_empty());
                assert!(!came, "{:?}", self.unread);
            }
            "until-ready" => self.until_ready(time_ns(first)),
            "scans" => self.scans(words, false),
            "poll" => self.scans(words, true),
            other => panic!("no step is called {other}"),
        }
    }
}

crate::conversations! {
    Bench, "sick-lms1xx":
    ros_lms1xx: "ros-lms1xx",
    mrpt_lms100eth: "mrpt-lms100eth",
    sick_scan_xd_lms1xx: "sick-scan-xd-lms1xx",
    sick_scan_xd_lms5xx: "sick-scan-xd-lms5xx",
    sick_scan_xd_dialect_switch: "sick-scan-xd-dialect-switch",
    odd_hosts: "odd-hosts",
    odd_two_drivers: "odd-two-drivers",
}

/// A dialogue with a wrong expectation fails.
#[test]
fn a_wrong_expectation_fails() {
    let good = dialogue::text_of("sick-lms1xx", "ros-lms1xx");
    for (from, to) in [
        ("sAN Run 1", "sAN Run 0"),
        ("values=541", "values=540"),
        ("channels=DIST1,RSSI1", "channels=DIST1"),
        ("scans 50 50ms", "scans 50 10ms"),
        ("start=-45", "start=-44"),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good);
        dialogue::assert_fails::<Bench>(to, &wrong);
    }
}
