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
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const NOTHING: [u8; 0] = [];

pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// A base with its output; its tracks follow commands immediately.
pub(crate) struct Bench {
    pub(crate) base: DriveBase,
    pub(crate) now: SimTime,
    pub(crate) wheels: WheelState,
    pub(crate) is_stopped: bool,
    pub(crate) sent: Vec<(SimTime, Vec<u8>)>,
    pub(crate) told: Vec<Actuation>,
}

impl Bench {
    pub(crate) fn new(profile: &str, change: impl FnOnce(&mut BaseSettings)) -> Self {
        Self::with_faults(profile, Vec::new(), change)
    }

    pub(crate) fn with_faults(
        profile: &str,
        faults: Vec<Timed<BaseFault>>,
        change: impl FnOnce(&mut BaseSettings),
    ) -> Self {
        let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
        let driver = profile.data::<BaseProfile>().unwrap();
        let mut settings = driver.defaults.clone();
        settings.times.is_input_paced = false;
        change(&mut settings);
        let mut bench = Self {
            base: DriveBase::new(driver, &settings, faults),
            now: SimTime::ZERO,
            wheels: WheelState::default(),
            is_stopped: false,
            sent: Vec::new(),
            told: Vec::new(),
        };
        // Nothing is processed before the wheel states are known.
        bench.wait(1);
        bench
    }

    pub(crate) fn collect(&mut self) {
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

    /// Advances the time by `ms`.
    pub(crate) fn wait(&mut self, ms: u64) {
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

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.base.handle_input(self.now, bytes);
        self.collect();
    }

    /// Sends bytes; returns the answers within 20 ms.
    pub(crate) fn ask(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.sent.clear();
        self.say(bytes);
        self.wait(20);
        self.sent.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }

    pub(crate) fn unit(&self) -> &Unit {
        &self.base.unit
    }

    pub(crate) fn treads(&self) -> [f64; 2] {
        self.wheels.setpoint_m_s
    }
}

/// Changes a setting of the protocol.
pub(crate) fn set_own<T: Dialect + Clone>(settings: &mut BaseSettings, set: impl FnOnce(&mut T)) {
    let own: &dyn Any = &*settings.dialect;
    let mut own = own.downcast_ref::<T>().expect("the protocol's own").clone();
    set(&mut own);
    settings.dialect = Arc::new(own);
}

#[track_caller]
pub(crate) fn assert_near(found: [f64; 2], wanted: [f64; 2], within: f64) {
    let is_near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= within);
    assert!(is_near, "{found:?}, wanted {wanted:?}");
}

pub(crate) fn timed(kind: BaseFault, start_ms: u64, duration_ms: u64) -> Timed<BaseFault> {
    let schedule = Schedule {
        start: SimTime(start_ms * MS),
        duration_ns: Some(duration_ms * MS),
        period_ns: None,
    };
    Timed { fault: 0, schedule, kind }
}

pub(crate) const ROBOCLAW: &str = "basicmicro-roboclaw-2x15a-4.1.34";
pub(crate) const CREATE: &str = "irobot-create2";
pub(crate) const KANGAROO: &str = "dimension-engineering-kangaroo-x2";
pub(crate) const SABERTOOTH: &str = "dimension-engineering-sabertooth-2x32";
pub(crate) const HUSKY: &str = "clearpath-husky-a200";

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
        // Encoder counts have the sign of the command, whatever the wiring of the motors.
        let answer = bench.ask(&hex("80 4E"));
        assert!(answer[0] == 0 && answer[4] == 0xff, "{answer:02x?}");
    }
}

#[test]
fn answers_take_their_time_on_the_line() {
    let mut bench = Bench::new(ROBOCLAW, |s| {
        s.baud_rate = 9600;
        s.times.is_input_paced = true;
        s.times.reply_delay_ns = 3 * MS;
    });
    bench.wait(10);
    let said_at = bench.now;
    bench.ask(&hex("80 18"));
    let (due, bytes) = bench.sent[0].clone();
    assert_eq!(bytes.len(), 4);
    // Two bytes of ten bits each, plus the response time.
    assert_eq!(due.0 - said_at.0, 2 * 1_041_667 + 3 * MS);
}

#[test]
fn what_is_said_does_not_depend_on_how_time_passes() {
    let run = |piece: u64| {
        let mut bench = Bench::new(ROBOCLAW, |s| {
            s.wheels.counts_per_m = 1000.0;
            s.baud_rate = 19_200;
            s.times.is_input_paced = true;
        });
        bench.say(&hex("80 25 00 00 05 DC FF FF FA 24 D7 E0"));
        // Wheel states arrive late.
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

/// Other families also have a fault `power-cycle`. For a drive base, the rig must select the fault of drive bases.
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
    // Without power for 100 ms, then booting for 500 ms; counters are zero and motors are stopped.
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
    // A Sabertooth continues after the emergency stop with its last command.
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

/// Arbitrary bytes from a host, mixed with commands.
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
        let mut bench = Bench::with_faults(profile, faults, |s| s.times.is_input_paced = is_paced);
        let most = bench.base.unit.settings.wheels.max_speed_m_s;
        for (bytes, wait_ms) in said {
            bench.say(&bytes);
            bench.wait(wait_ms);
            prop_assert!(bench.treads().iter().all(|speed| speed.abs() <= most));
        }
        prop_assert!(bench.sent.is_sorted_by_key(|(due, _)| *due));
    }
}
