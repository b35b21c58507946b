//! Conversations of IMUs with their drivers, readable without Rust: `tests/dialogues/imu/*.txt`.
//!
//! ```text
//! profile vectornav-vn100        first line: the unit, without errors, level, facing east
//! > "$VNRRG,01*72\r\n"           the host says; or bytes in hex
//! < "$VNRRG,01,…"                exactly this leaves in one piece within the deadline (50 ms)
//! deadline 200 ms                for what follows
//! wait 100 ms                    the host waits
//! silent 100 ms                  nothing leaves in that time
//! stream 50 in 1000 ms FA 01     so many pieces (two more or less) that begin like this leave
//! baud 9600                      the line runs at this rate now
//! # a comment
//! ```
//!
//! Hex bytes after `<` may be `..` for one byte that is not looked at.

use menura::devices::family::catalogue;
use menura::devices::imu::profile::ImuProfile;
use std::path::Path;

use glam::{DQuat, DVec3};
use menura::devices::imu::Imu;
use menura::devices::{Device, Output};
use menura::frames::Geodetic;
use menura::sensors::imu::InertialTruth;
use menura::sensors::{Measurement, Outcome, Subject};
use menura::time::{Epoch, SimTime};

const MS: u64 = 1_000_000;

/// A unit with its host.
struct Bench {
    imu: Imu,
    now: SimTime,
    sent: Vec<Vec<u8>>,
    baud: u32,
}

fn at_rest(at: SimTime) -> InertialTruth {
    InertialTruth {
        at,
        specific_force_m_s2: DVec3::Z * 9.8,
        angular_rate_rad_s: DVec3::ZERO,
        magnetic_field_gauss: DVec3::new(0.0, 0.25, -0.4),
        world_from_sensor: DQuat::IDENTITY,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        position_m: DVec3::ZERO,
        place: Geodetic {
            latitude_deg: 47.285_233_167,
            longitude_deg: 8.565_265,
            altitude_m: 547.6,
        },
    }
}

impl Bench {
    fn new(profile: &str) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<ImuProfile>() else {
            panic!("{} is no IMU", profile.name)
        };
        let mut settings = driver.defaults.clone().without_errors();
        // Readings that stay, so that whole answers can be compared.
        settings.model.thermometer.self_heating_k = 0.0;
        let epoch = Epoch::new("2026-11-21T09:27:25Z".parse().unwrap());
        let imu = Imu::new(driver, &settings, 1, "imu", epoch);
        let baud = imu.line().unwrap().baud;
        Self { imu, now: SimTime::ZERO, sent: Vec::new(), baud }
    }

    /// One millisecond.
    fn step(&mut self) {
        while let Some(request) = self.imu.poll_request(SimTime(self.now.0 + 100 * MS)) {
            let Subject::Series { count, period_ns } = request.subject else { panic!("a series") };
            let at = |i: u64| SimTime(request.start.0 + i * period_ns);
            let truths = (0..u64::from(count)).map(|i| at_rest(at(i))).collect();
            self.imu.handle_measurement(&Measurement::new(request, Outcome::Inertial(truths)));
        }
        self.now.0 += MS;
        self.imu.advance(self.now);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(transmit) = self.imu.poll_transmit() {
            match transmit.output {
                Output::Bytes(bytes) => self.sent.push(bytes),
                Output::Line(line) => self.baud = line.baud,
                _ => {}
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.sent.clear();
        self.imu.handle_input(self.now, bytes);
        self.collect();
    }
}

/// A byte, or one that is not looked at.
type Pattern = Vec<Option<u8>>;

fn pattern(text: &str) -> Pattern {
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').expect("a closing quote");
        let plain = inner.replace("\\r", "\r").replace("\\n", "\n");
        return plain.bytes().map(Some).collect();
    }
    let byte = |word: &str| match word {
        ".." => None,
        hex => Some(u8::from_str_radix(hex, 16).unwrap_or_else(|_| panic!("`{hex}` is no byte"))),
    };
    text.split_whitespace().map(byte).collect()
}

fn matches(bytes: &[u8], wanted: &Pattern) -> bool {
    bytes.len() >= wanted.len()
        && bytes
            .iter()
            .zip(wanted)
            .all(|(byte, wanted)| wanted.is_none_or(|wanted| wanted == *byte))
}

fn ms(words: &[&str]) -> u64 {
    assert_eq!(words[1], "ms", "times are in ms");
    words[0].parse().expect("a number of ms")
}

fn play(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut bench: Option<Bench> = None;
    let mut deadline_ms = 50;
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
                let is_it =
                    |bytes: &Vec<u8>| bytes.len() == wanted.len() && matches(bytes, &wanted);
                let end = SimTime(bench.now.0 + deadline_ms * MS);
                while !bench.sent.iter().any(is_it) && bench.now < end {
                    bench.step();
                }
                let found = bench.sent.iter().position(is_it);
                let shown = || {
                    let lossy = |b: &Vec<u8>| format!("{b:02X?} {}", String::from_utf8_lossy(b));
                    bench.sent.iter().map(lossy).collect::<Vec<_>>().join("\n")
                };
                let found = found.unwrap_or_else(|| panic!("{place}: not said, but\n{}", shown()));
                bench.sent.drain(..=found);
            }
            "deadline" => deadline_ms = ms(&words),
            "wait" => (0..ms(&words)).for_each(|_| bench.step()),
            "silent" => {
                bench.sent.clear();
                (0..ms(&words)).for_each(|_| bench.step());
                assert!(bench.sent.is_empty(), "{place}: {} pieces", bench.sent.len());
            }
            "stream" => {
                assert_eq!(words[1], "in", "{place}");
                let count: i64 = words[0].parse().expect("a count");
                let wanted = pattern(&words[4..].join(" "));
                bench.sent.clear();
                (0..ms(&words[2..4])).for_each(|_| bench.step());
                let found = bench.sent.iter().filter(|bytes| matches(bytes, &wanted)).count();
                assert!((found as i64 - count).abs() <= 2, "{place}: {found}");
            }
            "baud" => assert_eq!(bench.baud.to_string(), rest, "{place}"),
            _ => panic!("{place}: not known"),
        }
    }
}

#[test]
fn conversations_go_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues/imu");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 6, "{paths:?}");
    for path in paths {
        play(&path);
    }
}
