use std::f64::consts::TAU;

use super::*;
use crate::config::profile::Profile;
use crate::config::rig::joints::JointMotion;
use crate::config::rig::schedule::Schedule;
use crate::config::toml::diagnostic::{Place, SourceFile};
use crate::families::catalogue;
use crate::frames::Transform;
use crate::sensors::Subject;
use crate::wire::framer::Framer;
use crate::wire::joint_lines::{Lines, Position};
use crate::world::actuation::Actuation;

fn profile(name: &str) -> std::sync::Arc<Profile> {
    catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"))
}

fn joint(is_commanded: bool, limits: Option<[f64; 2]>) -> JointConfig {
    let motion = match is_commanded {
        true => JointMotion::Commanded { max_rate: 3.0, max_acceleration: 10.0 },
        false => JointMotion::ConstantRate { rate: 1.0 },
    };
    JointConfig {
        name: "head".into(),
        parent: None,
        parent_from_joint: Transform::IDENTITY,
        axis: [0.0, 0.0, 1.0],
        kind: JointKind::Revolute,
        limits,
        start: 0.0,
        motion,
        place: Place::new(&SourceFile::new("", "", ""), 0..0),
    }
}

struct Bench {
    unit: JointEncoder,
    sent: Vec<Transmit>,
}

impl Bench {
    fn new(
        name: &str,
        joint: &JointConfig,
        change: impl FnOnce(&mut JointEncoderSettings),
    ) -> Self {
        let profile = profile(name);
        let data: &JointEncoderProfile = profile.data().expect("of this family");
        let mut settings = data.defaults.clone();
        change(&mut settings);
        let noise = NoiseSource::new(1, "encoder");
        let unit = JointEncoder::new(data, &settings, Some((3, joint)), noise);
        Self { unit, sent: Vec::new() }
    }

    /// Runs the unit until `end_ms` in steps of `step_ms`; the joint moves as `state` returns for a time in seconds.
    fn run(&mut self, end_ms: u64, step_ms: u64, state: impl Fn(f64) -> JointState) {
        let end = SimTime(end_ms * 1_000_000);
        while let Some(request) = self.unit.poll_request(end) {
            let Subject::Series { count, period_ns } = request.subject else { panic!("a series") };
            let instants = (0..u64::from(count)).map(|i| request.start.0 + i * period_ns);
            let states = instants.map(|ns| state(ns as f64 * 1e-9)).collect();
            self.unit.handle_measurement(&Measurement::new(request, Outcome::Joint(states)));
        }
        let from_ms = self.unit.now.0 / 1_000_000;
        for now_ms in (from_ms + 1..=end_ms).filter(|ms| ms % step_ms == 0 || *ms == end_ms) {
            self.unit.advance(SimTime(now_ms * 1_000_000));
            self.sent.extend(std::iter::from_fn(|| self.unit.poll_transmit()));
        }
    }

    fn say(&mut self, now_ms: u64, text: &str) {
        self.unit.handle_input(SimTime(now_ms * 1_000_000), text.as_bytes());
        self.sent.extend(std::iter::from_fn(|| self.unit.poll_transmit()));
    }

    fn messages(&self) -> Vec<Message> {
        let bytes: Vec<u8> =
            self.sent.iter().filter_map(|t| t.output.bytes()).flatten().copied().collect();
        Framer::new(Lines).frames(&bytes)
    }

    /// Answers to the host.
    fn answers(&self) -> Vec<Message> {
        let mut messages = self.messages();
        messages.retain(|message| matches!(message, Message::Ack | Message::Nack));
        messages
    }

    fn positions(&self) -> Vec<Position> {
        let messages = self.messages().into_iter();
        messages.filter_map(|m| if let Message::Position(p) = m { Some(p) } else { None }).collect()
    }

    fn orders(&self) -> Vec<Actuation> {
        let outputs = self.sent.iter().map(|transmit| &transmit.output);
        outputs.filter_map(|o| if let Output::Actuate(a) = o { Some(*a) } else { None }).collect()
    }
}

fn turning(rate: f64) -> impl Fn(f64) -> JointState {
    move |t| JointState { position: rate * t, rate, acceleration: 0.0 }
}

#[test]
fn a_line_every_ten_milliseconds_and_a_word_at_each_turn() {
    for name in ["menura-joint-encoder", "menura-turning-head"] {
        let mut bench = Bench::new(name, &joint(false, None), |_| {});
        // One rotation in 0.7 s.
        bench.run(2000, 1, turning(TAU / 0.7));
        let positions = bench.positions();
        assert_eq!(positions.len(), 200, "{name}");
        for (index, position) in (0u64..).zip(&positions) {
            let time = 10 * index;
            let count = (time as f64 / 700.0 * 96_000.0).round() as i64;
            assert_eq!(*position, Position { time, time_decimals: 0, count });
        }
        let marks: Vec<_> = bench
            .messages()
            .into_iter()
            .filter_map(|message| match message {
                Message::Index { word, position } => Some((word, position.time, position.count)),
                _ => None,
            })
            .collect();
        let mark = |turn: u64| ("INDEX".to_owned(), 700 * turn, 96_000 * turn as i64);
        assert_eq!(marks, [mark(1), mark(2)], "{name}");
        let late = bench.sent.iter().all(|transmit| transmit.due.0 % 1_000_000 == 200_000);
        assert!(late || name == "menura-turning-head");
    }
}

#[test]
fn bytes_do_not_depend_on_the_steps_of_time() {
    let sent = |step_ms| {
        let mut bench = Bench::new("menura-turning-head", &joint(false, None), |settings| {
            settings.clock.jitter_s = 0.001;
            settings.lag_ns = 7_300_000;
        });
        bench.run(1000, step_ms, turning(-9.0));
        bench.sent
    };
    let fine = sent(1);
    assert!(fine.len() > 95);
    assert_eq!(fine, sent(5));
    assert_eq!(fine, sent(50));
}

#[test]
fn counting_and_clock_are_settings() {
    let mut bench = Bench::new("menura-joint-encoder", &joint(false, None), |settings| {
        settings.steps_per_turn = 1000;
        settings.is_reversed = true;
        settings.counting = profile::Counting::Turn;
        settings.zero_count = 10;
        settings.index_count = 500;
        settings.time_decimals = 3;
        settings.time_bits = 16;
        settings.clock.offset_ns = 65_535_500_000;
        settings.clock.drift_ppm = 1000.0;
    });
    bench.run(1010, 1, turning(TAU));
    let positions = bench.positions();
    // The run starts half a millisecond before the unit's clock wraps.
    assert_eq!(positions[0], Position { time: 65_535_500, time_decimals: 3, count: 10 });
    assert_eq!(positions[1], Position { time: 9_510, time_decimals: 3, count: 0 });
    assert_eq!(positions[2].count, 990);
    assert_eq!(positions[100], Position { time: 1_000_500, time_decimals: 3, count: 10 });
    let mark = bench.messages().into_iter().find_map(|message| match message {
        Message::Index { position, .. } => Some(position),
        _ => None,
    });
    // From 10 down to -500, which is reported as 500: 510 steps, one per millisecond.
    assert_eq!(mark, Some(Position { time: 510_010, time_decimals: 3, count: 500 }));
}

#[test]
fn a_jitter_is_that_of_the_times_alone() {
    let mut bench = Bench::new("menura-joint-encoder", &joint(false, None), |settings| {
        settings.clock.jitter_s = 0.002;
        settings.time_decimals = 3;
        settings.clock.offset_ns = 1_000_000_000;
    });
    bench.run(20_000, 10, turning(1.0));
    let errors: Vec<f64> = (0..)
        .map(|index| 1000.0 + 10.0 * f64::from(index))
        .zip(bench.positions())
        .map(|(true_ms, position)| position.time_ms() - true_ms)
        .collect();
    assert_eq!(errors.len(), 2000);
    let std_ms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    assert!((std_ms - 2.0).abs() < 0.15, "{std_ms}");
}

#[test]
fn a_stuck_encoder_repeats_its_count_and_says_so() {
    let profile = profile("menura-joint-encoder");
    let data: &JointEncoderProfile = profile.data().expect("of this family");
    let mut bench = Bench::new("menura-joint-encoder", &joint(false, None), |_| {});
    assert!(data.defaults.index_count == 0);
    let schedule =
        Schedule { start: SimTime(500_000_000), duration_ns: Some(300_000_000), period_ns: None };
    bench.unit.set_faults(&vec![Timed { fault: 0, schedule, kind: EncoderStuck }].into());
    // One rotation in 0.6 s: the index mark is passed while the encoder is stuck.
    bench.run(1000, 1, turning(TAU / 0.6));
    let counts: Vec<i64> = bench.positions().iter().map(|position| position.count).collect();
    assert!(counts[50..80].iter().all(|count| *count == counts[50]), "{counts:?}");
    assert!(counts[50] > counts[49] && counts[80] > counts[79] + 40_000);
    let words = bench.messages().iter().filter(|m| matches!(m, Message::Index { .. })).count();
    assert_eq!(words, 0);
    let frozen = bench.sent.iter().filter(|transmit| !transmit.fault_effects.is_empty());
    assert_eq!(frozen.count(), 30);
}

#[test]
fn a_head_obeys_its_host() {
    let mut bench = Bench::new("menura-turning-head", &joint(true, None), |_| {});
    bench.say(5, "TC+");
    bench.say(6, "9\r\n");
    bench.say(7, "TC-o\nnonsense\rPS3D0000000000009");
    bench.say(8, "2\rPS3D1234567890123456789\rSC\r");
    let unit = 0.22859 * TAU / 60.0;
    let turn = |rate_rad_s| Actuation::JointRate { joint: 3, rate_rad_s };
    let orders = bench.orders();
    assert_eq!(orders.len(), 3, "{orders:?}");
    assert_eq!(orders, [turn(9.0 * unit), turn(-63.0 * unit), turn(0.0)]);
    use Message::{Ack, Nack};
    // Even if the first line is measured late, it precedes the answers.
    assert_eq!(bench.messages(), []);
    bench.run(9, 1, turning(0.0));
    assert_eq!(bench.messages().len(), 7);
    assert!(matches!(bench.messages()[0], Message::Position(_)), "{:?}", bench.messages());
    assert_eq!(bench.answers(), [Ack, Ack, Nack, Nack, Nack, Ack]);
    let first = bench.sent.iter().find(|sent| sent.output.bytes() == Some(&b"ACK\r"[..]));
    assert_eq!(first.map(|sent| sent.due), Some(SimTime(7_000_000)));
}

#[test]
fn a_sweep_passes_between_its_ends() {
    let mut bench = Bench::new("menura-turning-head", &joint(true, Some([-0.1, 4.0])), |_| {});
    // The target is beyond the end stop.
    bench.say(1, "PS3D00000009600092\r");
    bench.say(2, "PS3D012000048000:2\r");
    let [from, to] = [12_000.0, 48_000.0].map(|steps| steps / 96_000.0 * TAU);
    let go = |angle_rad: f64| (angle_rad, 10.0 * 0.22859 * TAU / 60.0);
    let orders = |bench: &Bench| -> Vec<(f64, f64)> {
        let orders = bench.orders().into_iter();
        orders
            .map(|order| match order {
                Actuation::JointAngle { joint: 3, angle_rad, max_rate_rad_s } => {
                    (angle_rad, max_rate_rad_s)
                }
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let stands = |position| move |_| JointState { position, rate: 0.0, acceleration: 0.0 };
    bench.run(20, 1, stands(0.0));
    assert_eq!(bench.answers(), [Message::Nack, Message::Ack]);
    assert_eq!(orders(&bench), [go(from)], "on its way to the first end");
    bench.run(40, 1, stands(from));
    assert_eq!(orders(&bench).len(), 2, "one order, however often it looks");
    bench.run(60, 1, stands(to));
    bench.run(80, 1, stands(from));
    bench.run(100, 1, stands(to));
    assert_eq!(orders(&bench), [go(from), go(to), go(from)], "two passes, then it stays");
}

#[test]
fn what_does_not_listen_says_nothing() {
    let mut encoder = Bench::new("menura-joint-encoder", &joint(true, None), |_| {});
    encoder.say(1, "SC\r");
    assert_eq!(encoder.sent, []);
    // A head whose joint takes no commands answers with NACK.
    let mut head = Bench::new("menura-turning-head", &joint(false, None), |_| {});
    head.say(1, "SC\r");
    head.run(2, 1, turning(0.0));
    assert_eq!(head.answers(), [Message::Nack]);
}
