//! Dialogues between GNSS receivers and their hosts, readable without Rust: `tests/dialogues/gnss/*.txt`.
//!
//! ```text
//! profile ublox-zed-f9p-hpg1.32  first line: a unit that stands still under an open sky
//! settings sentences = []        settings of a rig: also `baud_rate`, `port`, `best_fix`; `line`: one more port with a line
//! > B5 62 06 01 03 00 F5 05 01 … the host sends these bytes (hexadecimal)
//! < B5 62 05 01 02 00 06 01 …    the unit sends exactly this in one piece within the deadline (100 ms)
//! deadline 300 ms                the deadline of the next steps
//! wait 100 ms                    the host waits
//! silent 100 ms                  the unit sends nothing for this time
//! port uart2                     the next steps use this port, not the port of the link
//! baud 230400                    the port runs at this rate
//! base moving uart2 230400       from now on a base sends RTCM to this port at this rate: a `moving` one on the same
//!                                robot at 5 Hz, a `static` one with a known place at 1 Hz, or `none`
//! stream 5 in 5000 ms D3 00 13   the unit sends this number of pieces (± 1) that begin with these bytes; 0: none
//! # a comment
//! ```
//!
//! `..` after `<` and `stream` stands for any byte.

use std::collections::BTreeMap;

use crate::common::dialogue::{self, Bench, LineHost, Step};
use menura::config::rig::{RobotConfig, TrajectoryConfig};
use menura::devices::families::catalogue;
use menura::devices::gnss::Gnss;
use menura::devices::gnss::profile::{BaseStation, GnssProfile, GnssSettings, LinePort};
use menura::devices::{CableSignal, Device, Output};
use menura::frames::{GeoOrigin, Geodetic, Transform};
use menura::sensors::gnss::SkySensor;
use menura::sensors::gnss::settings::ErrorPreset;
use menura::sensors::lidar::Scratch;
use menura::sensors::noise::NoiseSource;
use menura::sensors::{Sensor, Surroundings};
use menura::time::{Epoch, SimTime};
use menura::wire::line::LineSettings;
use menura::world::raycast::OpenSky;
use menura::world::trajectory::Trajectory;

const MS: u64 = 1_000_000;

const PLACE: Geodetic =
    Geodetic { latitude_deg: 47.285_233_167, longitude_deg: 8.565_265, altitude_m: 547.6 };
/// Position of a base relative to the unit: east, north, up, metres.
const BASE_AT_M: [f64; 3] = [-0.6, -0.8, 0.1];

/// A receiver with its hosts.
struct Unit {
    gnss: Gnss,
    sensor: SkySensor,
    trajectory: Trajectory,
    origin: GeoOrigin,
    scratch: Scratch,
    now: SimTime,
    link_port: LinePort,
    /// Port to which the steps of the dialogue apply.
    port: LinePort,
    /// Pieces that the unit has sent and that the dialogue has not checked yet, by port number.
    sent: BTreeMap<u8, Vec<Vec<u8>>>,
    rates: BTreeMap<u8, u32>,
    base: Option<Base>,
    deadline_ms: u64,
}

/// A base station, and the port that gets its messages.
struct Base {
    unit: Box<Unit>,
    port: LinePort,
    baud: u32,
}

fn driver_of(profile: &str) -> GnssProfile {
    let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
    let Some(driver) = profile.data::<GnssProfile>() else {
        panic!("{} is no GNSS receiver", profile.name)
    };
    driver.clone()
}

fn port_of(word: &str) -> LinePort {
    let known = LinePort::WORDS.iter().find(|(known, _)| *known == word);
    known.unwrap_or_else(|| panic!("{word} is no port")).1
}

impl Bench for Unit {
    fn new(profile: &str, lines: &str) -> Self {
        let driver = driver_of(profile);
        let mut settings = driver.defaults.clone();
        let mut further = Vec::new();
        for line in lines.lines() {
            match line.split_once(" = ") {
                Some(("sentences", "[]")) => settings.sentences.clear(),
                Some(("baud_rate", rate)) => settings.baud = rate.parse().expect("a rate"),
                Some(("port", word)) => settings.port = port_of(word),
                Some(("line", word)) => further.push(port_of(word).number()),
                Some(("best_fix", "corrections")) => settings.receiver.acquisition.best_fix = None,
                _ => panic!("{line} is no setting"),
            }
        }
        if settings.port == LinePort::Uart2 {
            settings.sentences.clear();
        }
        let mut unit = Self::at("gnss", &driver, &settings, [0.0; 3]);
        unit.gnss.wire(&further);
        unit
    }

    fn step(&mut self, step: &Step) {
        // A count of 0 is exact.
        let margin = i64::from(step.first != "0");
        match (step.verb, &step.words[..]) {
            ("deadline", words) => self.deadline_ms = dialogue::ms(words),
            ("port", [word]) => self.port = port_of(word),
            ("baud", [rate]) => {
                let now = self.rates.get(&self.port.number()).map(u32::to_string);
                assert_eq!(now.as_deref(), Some(*rate));
            }
            ("base", ["none"]) => self.base = None,
            ("base", [kind, port, baud]) => {
                let mut unit = Self::base(*kind == "moving");
                // The base has been on for as long as this unit.
                while unit.now < self.now {
                    unit.pass_ms();
                    unit.sent.clear();
                }
                let (port, baud) = (port_of(port), baud.parse().expect("a rate"));
                self.base = Some(Base { unit: Box::new(unit), port, baud });
            }
            _ => assert!(self.take(step, self.deadline_ms, margin), "not known"),
        }
    }
}

impl Unit {
    fn at(name: &str, driver: &GnssProfile, settings: &GnssSettings, position_m: [f64; 3]) -> Self {
        let epoch = Epoch::new("2026-11-21T09:27:25Z".parse().unwrap());
        let sensor = SkySensor::new(&settings.receiver, epoch);
        let origin = GeoOrigin::new(PLACE);
        let still = TrajectoryConfig::Still { position_m, yaw_rad: 0.0 };
        let robot = RobotConfig::new(still, false);
        let gnss = Gnss::new(driver, settings, &sensor, NoiseSource::new(1, name), epoch);
        let number = settings.port.number();
        Self {
            rates: gnss.line().map(|line| (number, line.baud)).into_iter().collect(),
            gnss,
            sensor,
            trajectory: Trajectory::new(&robot, &origin, None).expect("a place"),
            origin,
            scratch: Scratch::default(),
            now: SimTime::ZERO,
            link_port: settings.port,
            port: settings.port,
            sent: BTreeMap::new(),
            base: None,
            deadline_ms: 100,
        }
    }

    /// A base station that sends RTCM on its link.
    fn base(moves: bool) -> Self {
        let driver = driver_of("ublox-zed-f9p-hpg1.32");
        let mut settings = driver.defaults.clone();
        settings.baud = 460_800;
        settings.sentences.clear();
        let numbers: &[&str] = match moves {
            true => &["4072", "1074", "1084", "1094", "1124", "1230"],
            false => &["1005", "1077", "1087", "1097", "1127", "1230"],
        };
        settings.messages = numbers.iter().map(|number| format!("RTCM-{number}")).collect();
        settings.receiver.apply(ErrorPreset::None);
        if moves {
            settings.period_ns = 200 * MS;
        } else {
            let place = GeoOrigin::new(PLACE).geodetic_from_world(BASE_AT_M.into());
            settings.base_station = Some(BaseStation::Fixed(place));
        }
        Self::at("base", &driver, &settings, BASE_AT_M)
    }

    fn collect(&mut self) {
        let link = self.link_port.number();
        while let Some(transmit) = self.gnss.poll_transmit() {
            let (port, bytes) = match transmit.output {
                Output::Bytes(bytes) => (link, bytes),
                // A copy of the output of the link, for cables.
                Output::Aside { port, .. } if port == link => continue,
                Output::Aside { port, line, bytes } => {
                    self.rates.insert(port, line.baud);
                    (port, bytes)
                }
                Output::Line(line) => {
                    self.rates.insert(link, line.baud);
                    continue;
                }
                _ => continue,
            };
            if !bytes.is_empty() {
                self.sent.entry(port).or_default().push(bytes);
            }
        }
    }

    /// Passes bytes to the unit at a port whose other end has the rate `baud`.
    fn hear(&mut self, port: LinePort, baud: u32, bytes: &[u8]) {
        match port {
            LinePort::Uart2 => {
                let line = LineSettings::eight_n_one(baud);
                self.gnss.handle_cable(self.now, &CableSignal::Bytes(bytes.to_vec(), line));
            }
            port if port == self.link_port => self.gnss.handle_input(self.now, bytes),
            port => self.gnss.handle_line_input(self.now, port.number(), bytes),
        }
    }
}

impl LineHost for Unit {
    fn pass_ms(&mut self) {
        while let Some(request) = self.gnss.poll_request(SimTime(self.now.0 + 100 * MS)) {
            let around = Surroundings {
                caster: &OpenSky,
                trajectory: &self.trajectory,
                origin: &self.origin,
                carrier: None,
                body_from_sensor: Transform::IDENTITY,
                weather: None,
            };
            let measurement = self.sensor.measure(request, &around, &mut self.scratch);
            self.gnss.handle_measurement(&measurement);
        }
        self.now.0 += MS;
        self.gnss.advance(self.now);
        self.collect();
        if let Some(base) = &mut self.base {
            base.unit.pass_ms();
            let link = base.unit.link_port.number();
            let messages = std::mem::take(base.unit.sent.entry(link).or_default());
            let (port, baud) = (base.port, base.baud);
            messages.iter().for_each(|message| self.hear(port, baud, message));
            self.collect();
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.sent().clear();
        if self.port == self.link_port {
            self.gnss.handle_input(self.now, bytes);
        } else {
            self.gnss.handle_line_input(self.now, self.port.number(), bytes);
        }
        self.collect();
    }

    fn sent(&mut self) -> &mut Vec<Vec<u8>> {
        self.sent.entry(self.port.number()).or_default()
    }
}

#[test]
fn conversations_go_as_written() {
    dialogue::play_all::<Unit>("gnss", 13);
}
