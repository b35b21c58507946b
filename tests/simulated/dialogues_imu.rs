//! Dialogues between IMUs and their drivers, readable without Rust: `tests/dialogues/imu/*.txt`.
//!
//! ```text
//! profile vectornav-vn100        first line: the unit, without errors, level, facing east
//! > "$VNRRG,01*72\r\n"           the host sends this text, or bytes in hexadecimal
//! < "$VNRRG,01,…"                the unit sends exactly this in one piece within the deadline (50 ms)
//! deadline 200 ms                the deadline of the next steps
//! wait 100 ms                    the host waits
//! silent 100 ms                  the unit sends nothing for this time
//! stream 50 in 1000 ms FA 01     the unit sends this number of pieces (± 2) that begin with these bytes
//! baud 9600                      from now on the line runs at this rate
//! # a comment
//! ```
//!
//! A hexadecimal byte after `<` may be `..`, which stands for any byte.

use crate::common::dialogue::{self, Bench, LineHost, Step};
use glam::{DQuat, DVec3};
use menura::devices::families::catalogue;
use menura::devices::imu::Imu;
use menura::devices::imu::profile::ImuProfile;
use menura::devices::{Device, Output};
use menura::frames::Geodetic;
use menura::sensors::imu::InertialTruth;
use menura::sensors::{Measurement, Outcome, Subject};
use menura::time::{Epoch, SimTime};

const MS: u64 = 1_000_000;

/// A unit with its host.
struct Unit {
    imu: Imu,
    now: SimTime,
    sent: Vec<Vec<u8>>,
    baud: u32,
    deadline_ms: u64,
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

impl Bench for Unit {
    fn new(profile: &str, _: &str) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<ImuProfile>() else {
            panic!("{} is no IMU", profile.name)
        };
        let mut settings = driver.defaults.clone().without_errors();
        // Constant readings, so that whole answers can be compared.
        settings.model.thermometer.self_heating_k = 0.0;
        let epoch = Epoch::new("2026-11-21T09:27:25Z".parse().unwrap());
        let imu = Imu::new(driver, &settings, 1, "imu", epoch);
        let baud = imu.line().unwrap().baud;
        Self { imu, now: SimTime::ZERO, sent: Vec::new(), baud, deadline_ms: 50 }
    }

    fn step(&mut self, step: &Step) {
        match step.verb {
            "deadline" => self.deadline_ms = dialogue::ms(&step.words),
            "baud" => assert_eq!(self.baud.to_string(), step.first),
            _ => assert!(self.take(step, self.deadline_ms, 2), "not known"),
        }
    }
}

impl Unit {
    fn collect(&mut self) {
        while let Some(transmit) = self.imu.poll_transmit() {
            match transmit.output {
                Output::Bytes(bytes) => self.sent.push(bytes),
                Output::Line(line) => self.baud = line.baud,
                _ => {}
            }
        }
    }
}

impl LineHost for Unit {
    fn pass_ms(&mut self) {
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

    fn say(&mut self, bytes: &[u8]) {
        self.sent.clear();
        self.imu.handle_input(self.now, bytes);
        self.collect();
    }

    fn sent(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.sent
    }
}

#[test]
fn conversations_go_as_written() {
    dialogue::play_all::<Unit>("imu", 6);
}
