//! Dialogues between drive bases and their drivers, readable without Rust:
//! `tests/dialogues/drive-base/*.txt`.
//!
//! ```text
//! profile irobot-create2         first line: the unit; its wheels or tracks reach the set points at once
//! > 80 83                        the host sends these bytes (hexadecimal), or text in quotes with \r and \n
//! < "1,P0\r\n"                   the unit sends exactly this in one piece within 50 ms
//! treads 0.2 -0.1                the set points of the left and right wheel or track, m/s, to 0.1 mm/s
//! wait 100 ms                    the host waits
//! silent 100 ms                  the unit sends nothing for this time
//! stream 10 in 150 ms 13 08      the unit sends this number of pieces (± 1) that begin with these bytes
//! # a comment
//! ```
//!
//! A hexadecimal byte after `<` may be `..`, which stands for any byte.

use crate::common::dialogue::{self, Bench, LineHost, Step};
use menura::devices::drive_base::DriveBase;
use menura::devices::drive_base::profile::BaseProfile;
use menura::devices::families::catalogue;
use menura::devices::{Device, Output};
use menura::sensors::{Measurement, Outcome, Subject};
use menura::time::SimTime;
use menura::world::actuation::Actuation;
use menura::world::vehicle::WheelState;

const MS: u64 = 1_000_000;

/// A unit with its host.
struct Base {
    base: DriveBase,
    now: SimTime,
    wheels: WheelState,
    sent: Vec<Vec<u8>>,
}

impl Bench for Base {
    fn new(profile: &str, _: &str) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let driver = profile.data::<BaseProfile>().expect("a drive base");
        let base = DriveBase::new(driver, &driver.defaults, Vec::new());
        Self { base, now: SimTime::ZERO, wheels: WheelState::default(), sent: Vec::new() }
    }

    fn step(&mut self, step: &Step) {
        match step.verb {
            "treads" => {
                (0..20).for_each(|_| self.pass_ms());
                let wanted: Vec<f64> =
                    step.words.iter().map(|word| word.parse().unwrap()).collect();
                let found = self.wheels.setpoint_m_s;
                let is_it = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4);
                assert!(is_it && wanted.len() == 2, "{found:?}");
            }
            _ => assert!(self.take(step, 50, 1), "not known"),
        }
    }
}

impl Base {
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
}

impl LineHost for Base {
    fn pass_ms(&mut self) {
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

    fn say(&mut self, bytes: &[u8]) {
        self.sent.clear();
        self.base.handle_input(self.now, bytes);
        self.collect();
    }

    fn sent(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.sent
    }
}

#[test]
fn conversations_go_as_written() {
    dialogue::play_all::<Base>("drive-base", 7);
}
