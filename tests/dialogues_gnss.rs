//! Conversations of GNSS receivers with their hosts, readable without Rust: `tests/dialogues/gnss/*.txt`.
//!
//! ```text
//! profile ublox-zed-f9p-hpg1.32  first line: a unit that stands still under an open sky
//! settings sentences = []        of a rig; or `baud_rate`
//! > B5 62 06 01 03 00 F5 05 01 … the host says
//! < B5 62 05 01 02 00 06 01 …    exactly this leaves in one piece within the deadline (100 ms)
//! deadline 300 ms                for what follows
//! wait 100 ms                    the host waits
//! silent 100 ms                  nothing leaves in that time
//! stream 5 in 5000 ms D3 00 13   this many pieces that begin like this leave, give or take one; with 0, none
//! # a comment
//! ```
//!
//! `..` after `<` and `stream` stands for any one byte.

mod common;

use common::dialogue::{self, Bench, LineHost, Step};
use menura::config::rig::{RobotConfig, TrajectoryConfig};
use menura::devices::families::catalogue;
use menura::devices::gnss::Gnss;
use menura::devices::gnss::profile::GnssProfile;
use menura::devices::{Device, Output};
use menura::frames::{GeoOrigin, Geodetic, Transform};
use menura::sensors::gnss::SkySensor;
use menura::sensors::lidar::Scratch;
use menura::sensors::noise::NoiseSource;
use menura::sensors::{Sensor, Surroundings};
use menura::time::{Epoch, SimTime};
use menura::world::raycast::OpenSky;
use menura::world::trajectory::Trajectory;

const MS: u64 = 1_000_000;

/// A unit with its host.
struct Unit {
    gnss: Gnss,
    sensor: SkySensor,
    trajectory: Trajectory,
    origin: GeoOrigin,
    scratch: Scratch,
    now: SimTime,
    sent: Vec<Vec<u8>>,
    deadline_ms: u64,
}

impl Bench for Unit {
    fn new(profile: &str, lines: &str) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<GnssProfile>() else {
            panic!("{} is no GNSS receiver", profile.name)
        };
        let mut settings = driver.defaults.clone();
        for line in lines.lines() {
            match line.split_once(" = ") {
                Some(("sentences", "[]")) => settings.sentences.clear(),
                Some(("baud_rate", rate)) => settings.baud = rate.parse().expect("a rate"),
                _ => panic!("{line} is no setting"),
            }
        }
        let epoch = Epoch::new("2026-11-21T09:27:25Z".parse().unwrap());
        let sensor = SkySensor::new(&settings.receiver, epoch);
        let origin = GeoOrigin::new(Geodetic {
            latitude_deg: 47.285_233_167,
            longitude_deg: 8.565_265,
            altitude_m: 547.6,
        });
        let still = TrajectoryConfig::Still { position_m: [0.0; 3], yaw_rad: 0.0 };
        let robot = RobotConfig::new(still, false);
        Self {
            gnss: Gnss::new(driver, &settings, &sensor, NoiseSource::new(1, "gnss"), epoch),
            sensor,
            trajectory: Trajectory::new(&robot, &origin, None).expect("a place"),
            origin,
            scratch: Scratch::default(),
            now: SimTime::ZERO,
            sent: Vec::new(),
            deadline_ms: 100,
        }
    }

    fn step(&mut self, step: &Step) {
        // None at all is meant exactly.
        let margin = i64::from(step.first != "0");
        match step.verb {
            "deadline" => self.deadline_ms = dialogue::ms(&step.words),
            _ => assert!(self.take(step, self.deadline_ms, margin), "not known"),
        }
    }
}

impl Unit {
    fn collect(&mut self) {
        while let Some(transmit) = self.gnss.poll_transmit() {
            if let Output::Bytes(bytes) = transmit.output {
                self.sent.push(bytes);
            }
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
    }

    fn say(&mut self, bytes: &[u8]) {
        self.sent.clear();
        self.gnss.handle_input(self.now, bytes);
        self.collect();
    }

    fn sent(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.sent
    }
}

#[test]
fn conversations_go_as_written() {
    dialogue::play_all::<Unit>("gnss", 3);
}
