use super::faults::{BaseFault, Sides};
use super::profile::BaseProfile;
use super::*;
use crate::Output;
use crate::config::rig::Rig;
use crate::config::rig::faults::FaultKind;
use crate::config::rig::schedule::Schedule;
use crate::families::catalogue;
use crate::sensors::Subject;
use proptest::prelude::*;
use std::path::Path;

pub(super) const MS: u64 = 1_000_000;
pub(super) const NOTHING: [u8; 0] = [];

pub(super) fn hex(text: &str) -> Vec<u8> {
    text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// A base whose treads do at once what they are told.
pub(super) struct Bench {
    pub(super) base: DriveBase,
    pub(super) now: SimTime,
    pub(super) wheels: WheelState,
    pub(super) is_stopped: bool,
    pub(super) sent: Vec<(SimTime, Vec<u8>)>,
    pub(super) told: Vec<Actuation>,
}

impl Bench {
    pub(super) fn new(profile: &str, change: impl FnOnce(&mut BaseSettings)) -> Self {
        Self::with_faults(profile, Vec::new(), change)
    }

    pub(super) fn with_faults(
        profile: &str,
        faults: Vec<Timed<BaseFault>>,
        change: impl FnOnce(&mut BaseSettings),
    ) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let driver = profile.data::<BaseProfile>().unwrap();
        let mut settings = driver.defaults.clone();
        settings.is_input_paced = false;
        change(&mut settings);
        let mut bench = Self {
            base: DriveBase::new(driver, &settings, faults),
            now: SimTime::ZERO,
            wheels: WheelState::default(),
            is_stopped: false,
            sent: Vec::new(),
            told: Vec::new(),
        };
        // Nothing is done before the wheels are known.
        bench.wait(1);
        bench
    }

    pub(super) fn collect(&mut self) {
        while let Some(Transmit { due, output, .. }) = self.base.poll_transmit() {
            match output {
                Output::Bytes(bytes) => self.sent.push((due, bytes)),
                Output::Actuate(actuation) => {
                    match actuation {
                        Actuation::Treads { left_m_s, right_m_s } => {
                            self.wheels.setpoint_m_s = [left_m_s, right_m_s];
                        }
                        Actuation::EmergencyStop(is) => self.is_stopped = is,
                        _ => panic!("{actuation:?}"),
                    }
                    self.told.push(actuation);
                }
                _ => {}
            }
        }
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, ms: u64) {
        for _ in 0..ms {
            while let Some(request) = self.base.poll_request(SimTime(self.now.0 + 10 * MS)) {
                let Subject::Series { count, period_ns } = request.subject else { panic!() };
                let share = if self.is_stopped { 0.0 } else { 1.0 };
                self.wheels.speed_m_s = self.wheels.setpoint_m_s.map(|speed| share * speed);
                let mut states = Vec::new();
                for _ in 0..count {
                    states.push(self.wheels);
                    for side in 0..2 {
                        let speed_m_s = self.wheels.speed_m_s[side];
                        self.wheels.travel_m[side] += speed_m_s * period_ns as f64 * 1e-9;
                    }
                }
                self.base.handle_measurement(&Measurement::new(request, Outcome::Wheels(states)));
                self.collect();
            }
            self.now.0 += MS;
            self.base.advance(self.now);
            self.collect();
        }
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.base.handle_input(self.now, bytes);
        self.collect();
    }

    /// What is answered within 20 ms.
    pub(super) fn ask(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.sent.clear();
        self.say(bytes);
        self.wait(20);
        self.sent.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }

    pub(super) fn treads(&self) -> [f64; 2] {
        self.wheels.setpoint_m_s
    }
}

#[track_caller]
pub(super) fn assert_near(found: [f64; 2], wanted: [f64; 2], within: f64) {
    let is_near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= within);
    assert!(is_near, "{found:?}, wanted {wanted:?}");
}

pub(super) fn timed(kind: BaseFault, start_ms: u64, duration_ms: u64) -> Timed<BaseFault> {
    let schedule = Schedule {
        start: SimTime(start_ms * MS),
        duration_ns: Some(duration_ms * MS),
        period_ns: None,
    };
    Timed { fault: 0, schedule, kind }
}

pub(super) const ROBOCLAW: &str = "basicmicro-roboclaw-2x15a-4.1.34";
pub(super) const CREATE: &str = "irobot-create2";
pub(super) const KANGAROO: &str = "dimension-engineering-kangaroo-x2";
pub(super) const SABERTOOTH: &str = "dimension-engineering-sabertooth-2x32";
pub(super) const HUSKY: &str = "clearpath-husky-a200";

#[test]
fn roboclaw_answers_as_the_makers_library_expects() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    bench.wait(5);
    let version = [b"USB Roboclaw 2x15a v4.1.34\n\0".as_slice(), &[0x34, 0x6a]].concat();
    assert_eq!(bench.ask(&hex("80 15")), version);
    assert_eq!(bench.ask(&hex("80 18")), hex("00 F1 C8 C4"));
    assert_eq!(bench.ask(&hex("80 5A")), hex("00 00 00 00 87 BC"));
    assert_eq!(bench.ask(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0")), [0xff]);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    assert_eq!(bench.ask(&hex("80 4F")), hex("00 00 05 DC FF FF FA 24 C0 5D"));
    assert_eq!(bench.ask(&hex("80 6C")), hex("00 00 05 DC FF FF FA 24 4A E5"));
    assert_eq!(bench.ask(&hex("80 13")), hex("00 00 05 DC 01 D4 06"));
    // Another address, a wrong CRC, a duty.
    assert_eq!(bench.ask(&hex("81 15")), NOTHING);
    assert_eq!(bench.ask(&hex("80 25 00 00 00 00 00 00 00 00 34 05")), NOTHING);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    assert_eq!(bench.ask(&hex("80 22 40 00 C0 00 E0 DF")), [0xff]);
    assert_near(bench.treads(), [1.0, -1.0], 1e-4);
    assert_eq!(bench.ask(&hex("80 25 00 00 00 00 00 00 00 00 34 04")), [0xff]);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 14 49 2D")), [0xff]);
    bench.wait(20);
    assert_eq!(bench.ask(&hex("80 4E"))[..8], [0; 8]);
}

#[test]
fn roboclaw_counts_travel_and_wraps() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    bench.say(&hex("80 25 00 00 03 E8 FF FF FE 0C 2E 57"));
    // The CRC is not right: nothing moves.
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    let mut speed = Vec::new();
    let data = [1000i32.to_be_bytes(), (-500i32).to_be_bytes()].concat();
    crate::wire::roboclaw::Item::write(0x80, 37, data).emit(&mut speed);
    bench.say(&speed);
    bench.wait(2000);
    let answer = bench.ask(&hex("80 4E"));
    let [left, right] =
        [&answer[..4], &answer[4..8]].map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()));
    assert!((1980..=2030).contains(&left) && (-1020..=-985).contains(&right), "{left} {right}");
    let wrapped = |bench: &mut Bench, counts: u32| {
        let mut set = Vec::new();
        crate::wire::roboclaw::Item::write(0x80, 22, counts.to_be_bytes()).emit(&mut set);
        assert_eq!(bench.ask(&set), [0xff]);
        bench.wait(100);
        bench.ask(&hex("80 10"))
    };
    let answer = wrapped(&mut bench, 0x7fff_fff0);
    assert!(i32::from_be_bytes(answer[..4].try_into().unwrap()) < 0, "{answer:02x?}");
    assert_eq!(answer[4], 4);
}

#[test]
fn roboclaw_stops_when_its_host_falls_silent() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    assert_eq!(bench.ask(&hex("80 0E 0A B9 1F")), [0xff]);
    assert_eq!(bench.ask(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0")), [0xff]);
    bench.wait(970);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    // Any packet will do.
    assert_eq!(bench.ask(&hex("80 10")).len(), 7);
    bench.wait(970);
    assert_near(bench.treads(), [1.5, -1.5], 1e-12);
    bench.wait(60);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn roboclaw_ramps() {
    let mut bench = Bench::new(ROBOCLAW, |s| s.wheels.counts_per_m = 1000.0);
    let mut ramp = Vec::new();
    let data = [500i32, 1000, -1000].map(i32::to_be_bytes).concat();
    crate::wire::roboclaw::Item::write(0x80, 40, data).emit(&mut ramp);
    assert_eq!(bench.ask(&ramp), [0xff]);
    bench.wait(980);
    assert_near(bench.treads(), [0.5, -0.5], 0.011);
    bench.wait(1200);
    assert_near(bench.treads(), [1.0, -1.0], 1e-12);
}

#[test]
fn an_unknown_command_is_discarded_with_what_follows() {
    let mut bench = Bench::new(ROBOCLAW, |_| ());
    bench.wait(1);
    assert_eq!(bench.ask(&hex("80 FF 00 00 80 18 80 18")), NOTHING);
    bench.wait(60);
    assert_eq!(bench.ask(&hex("80 18")), hex("00 F1 C8 C4"));
    // A packet with a pause in it is no packet.
    assert_eq!(bench.ask(&hex("80")), NOTHING);
    bench.wait(60);
    assert_eq!(bench.ask(&hex("18")), NOTHING);
}

#[test]
fn motors_are_wired_as_the_rig_says() {
    let speed = hex("80 25 00 00 05 DC FF FF FA 24 D7 E0");
    for (swapped, left, right, wanted) in [
        (true, false, false, [-1.5, 1.5]),
        (false, true, false, [-1.5, -1.5]),
        (true, false, true, [-1.5, -1.5]),
    ] {
        let mut bench = Bench::new(ROBOCLAW, |s| {
            s.wheels.counts_per_m = 1000.0;
            s.wheels.is_swapped = swapped;
            s.wheels.is_left_reversed = left;
            s.wheels.is_right_reversed = right;
        });
        bench.say(&speed);
        bench.wait(500);
        assert_near(bench.treads(), wanted, 1e-12);
        // Encoders agree with commands, however they are wired.
        let answer = bench.ask(&hex("80 4E"));
        assert!(answer[0] == 0 && answer[4] == 0xff, "{answer:02x?}");
    }
}

#[test]
fn answers_take_their_time_on_the_line() {
    let mut bench = Bench::new(ROBOCLAW, |s| {
        s.baud_rate = 9600;
        s.is_input_paced = true;
        s.reply_delay_ns = 3 * MS;
    });
    bench.wait(10);
    let said_at = bench.now;
    bench.ask(&hex("80 18"));
    let (due, bytes) = bench.sent[0].clone();
    assert_eq!(bytes.len(), 4);
    // Two bytes of ten bits each, then the delay.
    assert_eq!(due.0 - said_at.0, 2 * 1_041_667 + 3 * MS);
}

#[test]
fn what_is_said_does_not_depend_on_how_time_passes() {
    let run = |piece: u64| {
        let mut bench = Bench::new(ROBOCLAW, |s| {
            s.wheels.counts_per_m = 1000.0;
            s.baud_rate = 19_200;
            s.is_input_paced = true;
        });
        bench.say(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0"));
        // The wheels are known late.
        let mut states = Vec::new();
        for index in 0..300u64 {
            let travel_m = [index as f64 * 1.5e-3, 0.0];
            states.push(WheelState { travel_m, ..WheelState::default() });
        }
        for at in (0..200).step_by(piece as usize) {
            bench.now = SimTime((at + piece) * MS);
            bench.base.advance(bench.now);
            if at == 100 {
                bench.base.handle_input(SimTime(130 * MS), &hex("80 4E 80 10"));
            }
            while let Some(request) = bench.base.poll_request(bench.now) {
                let first = request.index as usize * 10;
                let part = states[first..first + 10].to_vec();
                bench.base.handle_measurement(&Measurement::new(request, Outcome::Wheels(part)));
            }
            bench.collect();
        }
        bench.sent
    };
    let sent = run(1);
    assert_eq!(sent.len(), 3);
    assert_eq!(run(20), sent);
}

#[test]
fn create_obeys_in_safe_and_full_mode_only() {
    let mut bench = Bench::new(CREATE, |_| ());
    bench.wait(1);
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING, "it is off");
    assert_eq!(bench.ask(&hex("80 8E 23")), [1]);
    bench.say(&hex("91 00 C8 FF 9C"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("83 8E 23")), [2]);
    bench.say(&hex("91 00 C8 FF 9C"));
    assert_near(bench.treads(), [-0.1, 0.2], 1e-12);
    let all = bench.ask(&hex("8E 64"));
    assert_eq!(all.len(), 80);
    // Requested speeds stand at 41 and 42: 7 to 40 take 48 bytes.
    assert_eq!(all[48..52], hex("00 C8 FF 9C"));
    // A radius of 2 m is a curve, 7FFF is straight, 1 turns left on the spot.
    bench.say(&hex("89 00 C8 07 D0"));
    assert_near(bench.treads(), [0.2 * (1.0 - 0.05875), 0.2 * (1.0 + 0.05875)], 1e-9);
    bench.say(&hex("89 00 C8 7F FF"));
    assert_near(bench.treads(), [0.2, 0.2], 1e-12);
    bench.say(&hex("89 00 3A 00 01"));
    assert_near(bench.treads(), [-0.058, 0.058], 1e-12);
    bench.say(&hex("92 00 FF FF 01"));
    assert_near(bench.treads(), [-0.5, 0.5], 1e-12);
    assert_eq!(bench.ask(&hex("AD 8E 23")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn create_streams_and_tells_distances_once() {
    let mut bench = Bench::new(CREATE, |_| ());
    bench.say(&hex("80 84 91 00 C8 00 C8"));
    bench.wait(1000);
    bench.sent.clear();
    bench.say(&hex("94 03 2B 2C 23"));
    bench.wait(152);
    assert_eq!(bench.sent.len(), 10);
    let periods: Vec<u64> = bench.sent.windows(2).map(|w| w[1].0.0 - w[0].0.0).collect();
    assert!(periods.iter().all(|ns| *ns == 15 * MS), "{periods:?}");
    let (_, frame) = &bench.sent[0];
    assert_eq!((frame[0], frame[1], frame.len()), (0x13, 8, 11));
    bench.say(&hex("94 00"));
    bench.sent.clear();
    bench.wait(100);
    assert_eq!(bench.sent.len(), 0);
    let told = |bench: &mut Bench| {
        let bytes = bench.ask(&hex("8E 13"));
        i16::from_be_bytes([bytes[0], bytes[1]])
    };
    let first = told(&mut bench);
    assert!((245..260).contains(&first), "{first}");
    assert!((3..6).contains(&told(&mut bench)));
    // 16 bits of counts are 29.135 m.
    bench.say(&hex("91 01 F4 01 F4"));
    bench.wait(58_000);
    let bytes = bench.ask(&hex("95 02 2B 2C"));
    let counts = u16::from_be_bytes([bytes[0], bytes[1]]);
    let travel_m = bench.wheels.travel_m[0];
    assert!(travel_m > 29.2, "{travel_m}");
    let wanted = (travel_m * 2249.39) as i64 % 65_536;
    assert!((i64::from(counts) - wanted).abs() < 60, "{counts} {wanted}");
}

#[test]
fn create_falls_asleep_and_boots() {
    let mut bench = Bench::new(CREATE, |s| {
        let Dialect::CreateOi(own) = &mut s.dialect else { panic!() };
        own.sleep_after_ns = 500 * MS;
    });
    assert_eq!(bench.ask(&hex("80 8E 23")), [1]);
    bench.wait(600);
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING);
    assert_eq!(bench.ask(&hex("80 83 8E 23")), [2]);
    bench.wait(600);
    assert_eq!(bench.ask(&hex("8E 23")), [2], "it sleeps in passive mode only");
    bench.sent.clear();
    bench.say(&hex("07 80"));
    bench.wait(1100);
    assert_eq!(bench.sent.len(), 1);
    assert!(bench.sent[0].1.starts_with(b"bl-start\r\n"));
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING);
}

#[test]
fn kangaroo_talks_as_the_real_one() {
    let mut bench = Bench::new(KANGAROO, |s| s.wheels.counts_per_m = 2000.0);
    bench.wait(1);
    // Not started; a channel of the other mode.
    assert_eq!(bench.ask(&hex("80 23 03 31 20 01 46 39")), hex("80 43 04 31 21 01 02 15 27"));
    let wrong = bench.ask(&hex("80 23 04 44 50 01 01 1D 26"));
    assert_eq!(wrong[..5], hex("80 43 06 44 51")[..]);
    assert_eq!((wrong[5], wrong[8]), (1, 8));
    // A move before start is ignored, so is one with a wrong CRC, and nothing is answered.
    assert_eq!(bench.ask(&hex("80 24 05 31 20 02 68 0F 2B 76")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 20 02 31 00 22 44 80 20 02 32 00 24 27")), NOTHING);
    assert_eq!(bench.ask(&hex("80 24 05 31 20 02 68 0F 2B 77")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(&hex("80 24 05 31 20 02 68 0F 2B 76"));
    assert_near(bench.treads(), [0.25, 0.0], 1e-12);
    bench.wait(100);
    let speed = bench.ask(&hex("80 23 03 31 20 02 22 18"));
    assert_eq!(speed[..8], hex("80 43 05 31 20 02 68 0F")[..]);
    // Sequence codes: the same code is not executed again, and is told.
    bench.say(&hex("80 20 03 31 40 01 77 57"));
    let mut get = Vec::new();
    let packet = |command, data: &[u8]| {
        let mut out = Vec::new();
        crate::wire::kangaroo::Packet { address: 0x80, command, data: data.to_vec() }
            .emit(&mut out);
        out
    };
    get.extend(packet(0x23, &[0x31, 0x50, 7, 2]));
    let answer = bench.ask(&get);
    assert_eq!(answer[3..8], [0x31, 0x50, 7, 1, 2]);
    bench.say(&packet(0x24, &[0x31, 0x40, 1, 2, 0]));
    assert_near(bench.treads(), [0.25, 0.0], 1e-12);
    bench.say(&packet(0x24, &[0x31, 0x40, 2, 2, 0]));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn kangaroo_goes_to_positions_and_times_out() {
    let mut bench = Bench::new(KANGAROO, |s| s.wheels.counts_per_m = 2000.0);
    bench.say(b"1,start\r\n2,Start\r");
    bench.say(b"1,home\r1, units 10 = 5 lines\r");
    // Ten units are twenty counts: 500 units are half a metre.
    bench.say(b"1,p500 s200\r\n");
    bench.wait(50);
    assert_near(bench.treads(), [0.2, 0.0], 1e-9);
    let moving = bench.ask(b"1,getp\r");
    assert!(moving.starts_with(b"1,p"), "{}", String::from_utf8_lossy(&moving));
    bench.wait(6000);
    let there = String::from_utf8(bench.ask(b"1,getp\r")).unwrap();
    let position: i32 = there.trim().strip_prefix("1,P").unwrap().parse().unwrap();
    assert!((498..=502).contains(&position), "{there}");
    bench.say(b"2,s300\r");
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
    // A second without a word, then an error until start.
    bench.say(&hex("80 25 05 31 40 03 21 20 12 6E"));
    bench.wait(990);
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
    bench.wait(20);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 23 03 31 20 01 46 39")), hex("80 43 04 31 21 01 0C 03 6C"));
    assert_eq!(bench.ask(b"2,gets\r"), b"2,E6\r\n");
    bench.say(b"2,s300\r");
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(b"2,start\r2,s300\r");
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
}

#[test]
fn kangaroo_mixes() {
    let mut bench = Bench::new(KANGAROO, |s| {
        s.wheels.counts_per_m = 2000.0;
        let Dialect::Kangaroo(own) = &mut s.dialect else { panic!() };
        own.channels = profile::Channels::Mixed;
    });
    bench.say(b"D,start\rT,start\r");
    bench.say(&hex("80 24 05 44 00 02 58 09 34 57 80 24 05 54 00 02 49 03 70 70"));
    // Drive 300, turn -100: to the left.
    assert_near(bench.treads(), [0.1, 0.2], 1e-12);
    assert_eq!(bench.ask(b"1,getp\r"), b"1,E4\r\n");
    bench.wait(1000);
    let drive = String::from_utf8(bench.ask(b"D,getp\r")).unwrap();
    let position: i32 = drive.trim().strip_prefix("D,P").unwrap().parse().unwrap();
    assert!((295..=320).contains(&position), "{drive}");
    let turn = String::from_utf8(bench.ask(b"t,getp\r")).unwrap();
    let position: i32 = turn.trim().strip_prefix("T,P").unwrap().parse().unwrap();
    assert!((-115..=-95).contains(&position), "{turn}");
}

#[test]
fn sabertooth_obeys_and_is_silent() {
    let mut bench = Bench::new(SABERTOOTH, |s| s.wheels.max_speed_m_s = 1.27);
    bench.say(&hex("AA AA"));
    bench.say(&hex("80 00 3F 3F 80 05 1F 24"));
    assert_near(bench.treads(), [0.63, -0.31], 1e-9);
    bench.say(&hex("80 00 00 00 80 04 00 04"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    // Mixed: a drive alone does nothing yet.
    bench.say(&hex("80 08 3F 47"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(&hex("80 0B 1F 2A"));
    assert_near(bench.treads(), [0.32, 0.94], 1e-9);
    // A timeout of 0.2 s.
    bench.say(&hex("80 0E 02 10"));
    bench.wait(250);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.sent.len(), 0);
    let mut simple = Bench::new(SABERTOOTH, |s| {
        s.wheels.max_speed_m_s = 0.63;
        let Dialect::Sabertooth(own) = &mut s.dialect else { panic!() };
        own.mode = profile::SabertoothMode::Simplified;
    });
    simple.say(&[127, 128]);
    assert_near(simple.treads(), [0.63, -0.63], 1e-9);
    simple.say(&[0]);
    assert_near(simple.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn husky_acknowledges_everything() {
    let mut bench = Bench::new(HUSKY, |_| ());
    // The clock shows 7B ms when the command is whole.
    bench.wait(122);
    let answer = bench.ask(&hex("AA 0F F0 00 00 00 00 00 00 11 02 55 F4 01 F4 01 3F 92"));
    assert_eq!(answer, hex("AA 0D F2 00 7B 00 00 00 00 11 02 55 00 00 45 CF"));
    let frames = |bytes: &[u8]| {
        crate::wire::framer::Framer::new(crate::wire::horizon::Horizon).frames(bytes)
    };
    let answer = frames(
        &bench.ask(&hex("AA 13 EC 00 00 00 00 00 00 00 02 55 32 00 E7 FF F4 01 F4 01 95 EE")),
    );
    assert_eq!((answer[0].kind, &answer[0].payload[..]), (0x0200, &[0u8, 0][..]));
    bench.wait(150);
    assert_near(bench.treads(), [0.5, -0.25], 1e-9);
    let answer = frames(&bench.ask(&hex("AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 43")));
    assert_eq!((answer[0].kind, answer[1].kind), (0x4800, 0x8800));
    let encoders: crate::wire::horizon::Encoders =
        crate::wire::horizon::payload(&answer[1]).unwrap();
    assert_eq!(encoders.speed_mm_s, [500, -250]);
    assert!(encoders.travel_mm[0] > 30 && encoders.travel_mm[1] < -15, "{encoders:?}");
    let answer = bench.ask(&hex("AA 0D F2 00 00 00 00 00 00 01 40 55 00 00 EE 6C"));
    assert_eq!(frames(&answer)[1].payload, hex("04 41 32 30 30 01 2A 00 00 00"));
    // No command for 250 ms: it stops and says so.
    bench.wait(200);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    let frame = |kind, payload: &[u8]| {
        let mut out = Vec::new();
        crate::wire::horizon::Frame::new(0, kind, payload).emit(&mut out);
        out
    };
    let safety = |bench: &mut Bench| frames(&bench.ask(&frame(0x4010, &[0, 0])))[1].payload.clone();
    assert_eq!(safety(&mut bench), [1, 0]);
    bench.say(&frame(0x0200, &[0; 8]));
    assert_eq!(safety(&mut bench), [0, 0]);
    for (said, code) in [
        (frame(0x4999, &[0, 0]), 2),
        (frame(0x0123, &[0, 0]), 2),
        (frame(0x0200, &[0; 7]), 4),
        (frame(0x4800, &[0]), 4),
        (frame(0x0210, &[0xff; 4]), 8),
        (frame(0x4800, &[0xe8, 3]), 0x20),
        (hex("AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 44"), 1),
    ] {
        let answer = frames(&bench.ask(&said));
        assert_eq!((answer.len(), answer[0].payload[0]), (1, code), "{said:02x?}");
    }
    // Twenty times a second.
    bench.say(&frame(0x4800, &[20, 0]));
    bench.wait(10);
    bench.sent.clear();
    bench.wait(500);
    assert_eq!(bench.sent.len(), 10);
    bench.say(&frame(0x4800, &[0xff, 0xff]));
    bench.wait(10);
    bench.sent.clear();
    bench.wait(500);
    assert_eq!(bench.sent.len(), 0);
}

#[test]
fn faults_of_counters() {
    let counts_with = |kind: BaseFault| {
        let faults = vec![timed(kind, 400, 300)];
        let mut bench = Bench::with_faults(ROBOCLAW, faults, |s| s.wheels.counts_per_m = 1000.0);
        bench.wait(1);
        let mut speed = Vec::new();
        let data = [1000i32.to_be_bytes(), 500i32.to_be_bytes()].concat();
        crate::wire::roboclaw::Item::write(0x80, 37, data).emit(&mut speed);
        bench.say(&speed);
        bench.wait(999);
        let answer = bench.ask(&hex("80 4E"));
        [&answer[..4], &answer[4..8]]
            .map(|bytes| f64::from(i32::from_be_bytes(bytes.try_into().unwrap())))
    };
    let none = counts_with(BaseFault::LateReplies { by_ns: 1 });
    assert_near(none, [1000.0, 500.0], 20.0);
    let stuck = counts_with(BaseFault::EncoderStuck(Sides::Left));
    assert_near(stuck, [none[0] - 300.0, none[1]], 1.5);
    let reversed = counts_with(BaseFault::EncoderReversed(Sides::Right));
    assert_near(reversed, [none[0], none[1] - 300.0], 1.5);
    let swapped = counts_with(BaseFault::EncodersSwapped);
    assert_near(swapped, [none[0] - 150.0, none[1] + 150.0], 1.5);
    let jumped = counts_with(BaseFault::CounterJump { sides: Sides::Both, counts: -7000 });
    assert_near(jumped, none.map(|counts| counts - 7000.0), 1.5);
}

/// Other families have a `power-cycle` of their own: the word alone does not say whose it is.
#[test]
fn a_rig_gives_a_base_the_power_cycle_of_bases() {
    let text = r#"
[world]
scene = "room"
[robot.trajectory]
kind = "drive"
model = "skid-steer"
y_icr_m = 0.45
max_speed_m_s = 0.68
[[device]]
name = "base"
profile = "basicmicro-roboclaw-2x15a-4.1.34"
link = { pty = "/tmp/menura/base" }
[[fault]]
device = "base"
kind = "power-cycle"
start_s = 0.0
"#;
    let rig = Rig::parse("a rig", text, Path::new(""), &[], catalogue());
    let rig = rig.unwrap_or_else(|faults| panic!("{faults}"));
    let FaultKind::Device(kind) = &rig.faults[0].kind else { panic!("not within the device") };
    assert_eq!(kind.get::<BaseFault>(), Some(&BaseFault::PowerCycle));
}

#[test]
fn faults_of_power() {
    let fault = BaseFault::EmergencyStop;
    let speed = hex("80 25 00 00 05 DC FF FF FA 24 D7 E0");
    let mut bench = Bench::with_faults(ROBOCLAW, vec![timed(fault, 100, 400)], |_| ());
    bench.wait(1);
    assert_eq!(bench.ask(&speed), [0xff]);
    bench.wait(100);
    assert!(bench.told.contains(&Actuation::EmergencyStop(true)));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 5A"))[..4], [0, 0, 0, 1]);
    assert_eq!(bench.ask(&speed), [0xff]);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.wait(400);
    assert!(bench.told.contains(&Actuation::EmergencyStop(false)));
    assert_eq!(bench.ask(&hex("80 5A"))[..4], [0; 4]);
    let low = BaseFault::LowBattery { battery_v: 19.5, charge_percent: 4.0 };
    let mut bench = Bench::with_faults(ROBOCLAW, vec![timed(low, 0, 400)], |_| ());
    assert_eq!(bench.ask(&hex("80 18"))[..2], [0, 195]);
    assert_eq!(bench.ask(&hex("80 5A"))[..4], [0, 8, 0x40, 0]);
    // Off for 100 ms, then it boots for 500 ms; counts are zero and motors stand.
    let off = timed(BaseFault::PowerCycle, 1000, 100);
    let mut bench = Bench::with_faults(KANGAROO, vec![off], |_| ());
    bench.say(b"1,start\r1,s1000\r");
    bench.wait(1050);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(b"1,getp\r"), NOTHING);
    bench.wait(700);
    assert_eq!(bench.ask(b"1,getp\r"), b"1,E1\r\n");
    bench.say(b"1,start\r");
    assert_eq!(bench.ask(b"1,getp\r"), b"1,P0\r\n");
    let stop = timed(BaseFault::EmergencyStop, 500, 100);
    let mut bench = Bench::with_faults(CREATE, vec![stop], |_| ());
    bench.say(&hex("80 83 91 00 C8 00 C8"));
    bench.wait(550);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("95 02 07 23")), [0x0c, 1]);
    // A Sabertooth goes on where it was, with what it was told.
    let stop = timed(BaseFault::EmergencyStop, 100, 100);
    let mut bench = Bench::with_faults(SABERTOOTH, vec![stop], |s| s.wheels.max_speed_m_s = 1.27);
    bench.say(&hex("80 00 3F 3F"));
    bench.wait(250);
    let released = bench.told.iter().position(|told| *told == Actuation::EmergencyStop(false));
    let after = bench.told.get(released.unwrap() + 1);
    assert!(
        matches!(after, Some(Actuation::Treads { left_m_s, .. }) if (left_m_s - 0.63).abs() < 1e-9)
    );
}

/// What a host may say: anything, with commands among it.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let sound = prop::sample::select(vec![
        "80 25 00 00 05 DC FF FF FA 24 D7 E0",
        "80 0E 0A B9 1F",
        "80 4E",
        "80 83 84",
        "91 00 C8 FF 9C",
        "94 03 2B 2C 23",
        "80 20 02 31 00 22 44",
        "80 24 05 31 00 02 68 0F 2A 22",
        "80 25 05 31 40 03 21 20 12 6E",
        "31 2C 73 74 61 72 74 0D",
        "31 2C 70 32 34 35 30 0D",
        "80 00 3F 3F",
        "AA 13 EC 00 00 00 00 00 00 00 02 55 32 00 E7 FF F4 01 F4 01 95 EE",
        "AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 43",
    ]);
    prop_oneof![sound.prop_map(hex), prop::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_host_finds_a_base_alive(
        profile in prop::sample::select(vec![ROBOCLAW, CREATE, KANGAROO, SABERTOOTH, HUSKY]),
        said in prop::collection::vec((words(), 0u64..400), 0..12),
        is_paced: bool,
    ) {
        let faults = vec![
            timed(BaseFault::EmergencyStop, 150, 100),
            timed(BaseFault::PowerCycle, 400, 50),
            timed(BaseFault::EncodersSwapped, 300, 500),
        ];
        let mut bench = Bench::with_faults(profile, faults, |s| s.is_input_paced = is_paced);
        let most = bench.base.unit.settings.wheels.max_speed_m_s;
        for (bytes, wait_ms) in said {
            bench.say(&bytes);
            bench.wait(wait_ms);
            prop_assert!(bench.treads().iter().all(|speed| speed.abs() <= most));
        }
        prop_assert!(bench.sent.is_sorted_by_key(|(due, _)| *due));
    }
}
