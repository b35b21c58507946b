//! Conversations of drive bases with their drivers, readable without Rust:
//! `tests/dialogues/drive-base/*.txt`.
//!
//! ```text
//! profile irobot-create2         first line: the unit; its treads do at once what they are told
//! > 80 83                        the host says; or text in quotes with \r and \n
//! < "1,P0\r\n"                   exactly this leaves in one piece within 50 ms
//! treads 0.2 -0.1                the set points of the left and right tread, m/s, to 0.1 mm/s
//! wait 100 ms                    the host waits
//! silent 100 ms                  nothing leaves in that time
//! stream 10 in 150 ms 13 08      so many pieces (one more or less) that begin like this leave
//! # a comment
//! ```
//!
//! Hex bytes after `<` may be `..` for one byte that is not looked at.

use std::path::Path;

use menura::devices::drive_base::DriveBase;
use menura::devices::drive_base::profile::BaseProfile;
use menura::devices::family::catalogue;
use menura::devices::{Device, Output};
use menura::sensors::{Measurement, Outcome, Subject};
use menura::time::SimTime;
use menura::world::actuation::Actuation;
use menura::world::vehicle::WheelState;

const MS: u64 = 1_000_000;

/// A unit with its host.
struct Bench {
    base: DriveBase,
    now: SimTime,
    wheels: WheelState,
    sent: Vec<Vec<u8>>,
}

impl Bench {
    fn new(profile: &str) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let driver = profile.data::<BaseProfile>().expect("a drive base");
        let base = DriveBase::new(driver, &driver.defaults, Vec::new());
        Self { base, now: SimTime::ZERO, wheels: WheelState::default(), sent: Vec::new() }
    }

    /// One millisecond.
    fn step(&mut self) {
        while let Some(request) = self.base.poll_request(SimTime(self.now.0 + 10 * MS)) {
            let Subject::Series { count, period_ns } = request.subject else { panic!("a series") };
            self.wheels.speed_m_s = self.wheels.setpoint_m_s;
            let states = (0..count).map(|_| {
                let now = self.wheels;
                for side in 0..2 {
                    self.wheels.travel_m[side] += now.speed_m_s[side] * period_ns as f64 * 1e-9;
                }
                now
            });
            let states = Outcome::Wheels(states.collect());
            self.base.handle_measurement(&Measurement::new(request, states));
        }
        self.now.0 += MS;
        self.base.advance(self.now);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(transmit) = self.base.poll_transmit() {
            match transmit.output {
                Output::Bytes(bytes) => self.sent.push(bytes),
                Output::Actuate(Actuation::Treads { left_m_s, right_m_s }) => {
                    self.wheels.setpoint_m_s = [left_m_s, right_m_s];
                }
                _ => {}
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.sent.clear();
        self.base.handle_input(self.now, bytes);
        self.collect();
    }
}

/// A byte, or one that is not looked at.
type Pattern = Vec<Option<u8>>;

fn pattern(text: &str) -> Pattern {
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').expect("a closing quote");
        let plain = inner.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0");
        return plain.bytes().map(Some).collect();
    }
    let byte = |word: &str| match word {
        ".." => None,
        hex => Some(u8::from_str_radix(hex, 16).unwrap_or_else(|_| panic!("`{hex}` is no byte"))),
    };
    text.split_whitespace().map(byte).collect()
}

fn begins(bytes: &[u8], wanted: &Pattern) -> bool {
    let is_it = |(byte, wanted): (&u8, &Option<u8>)| wanted.is_none_or(|wanted| wanted == *byte);
    bytes.len() >= wanted.len() && bytes.iter().zip(wanted).all(is_it)
}

fn ms(words: &[&str]) -> u64 {
    assert_eq!(words[1], "ms", "times are in ms");
    words[0].parse().expect("a number of ms")
}

fn play(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut bench: Option<Bench> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{}:{}: {line}", path.file_name().unwrap().display(), number + 1);
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        if verb == "profile" {
            bench = Some(Bench::new(rest));
            continue;
        }
        let bench = bench.as_mut().unwrap_or_else(|| panic!("{place}: no profile yet"));
        match verb {
            ">" => {
                let bytes: Vec<u8> =
                    pattern(rest).into_iter().map(|b| b.expect("a byte")).collect();
                bench.say(&bytes);
            }
            "<" => {
                let wanted = pattern(rest);
                let is_it = |bytes: &Vec<u8>| bytes.len() == wanted.len() && begins(bytes, &wanted);
                let end = SimTime(bench.now.0 + 50 * MS);
                while !bench.sent.iter().any(is_it) && bench.now < end {
                    bench.step();
                }
                let found = bench.sent.iter().position(is_it);
                let found = found.unwrap_or_else(|| panic!("{place}: {:02x?}", bench.sent));
                bench.sent.drain(..=found);
            }
            "treads" => {
                (0..20).for_each(|_| bench.step());
                let wanted: Vec<f64> = words.iter().map(|word| word.parse().unwrap()).collect();
                let found = bench.wheels.setpoint_m_s;
                let is_it = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4);
                assert!(is_it && wanted.len() == 2, "{place}: {found:?}");
            }
            "wait" => (0..ms(&words)).for_each(|_| bench.step()),
            "silent" => {
                bench.sent.clear();
                (0..ms(&words)).for_each(|_| bench.step());
                assert!(bench.sent.is_empty(), "{place}: {:02x?}", bench.sent);
            }
            "stream" => {
                assert_eq!(words[1], "in", "{place}");
                let count: i64 = words[0].parse().expect("a count");
                let wanted = pattern(&words[4..].join(" "));
                bench.sent.clear();
                (0..ms(&words[2..4])).for_each(|_| bench.step());
                let found = bench.sent.iter().filter(|bytes| begins(bytes, &wanted)).count();
                assert!((found as i64 - count).abs() <= 1, "{place}: {found}");
            }
            _ => panic!("{place}: not known"),
        }
    }
}

#[test]
fn conversations_go_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues/drive-base");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 7, "{paths:?}");
    for path in paths {
        play(&path);
    }
}
