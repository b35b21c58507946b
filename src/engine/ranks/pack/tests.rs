use super::*;
use crate::engine::ranks::motion::Motion;

fn round(order: &Order) -> String {
    format!("{:?}", Order::decode(&order.encode()).unwrap())
}

fn round_trip(reply: &Reply) -> String {
    format!("{:?}", Reply::decode(&reply.encode()).unwrap())
}

fn pose(place: f64) -> FeedPose {
    FeedPose {
        serial: 9,
        at: SimTime(5),
        arrived: SimTime(6),
        // The quaternion is not exactly normalised, and must stay so.
        world_from_body: Transform::from_components([place, 2.0, 3.0, 0.1, 0.2, 0.3, 0.927_361_8]),
        velocity_m_s: [1.0, -0.0, 2.0].into(),
        rate_rad_s: [0.1, 0.2, f64::MIN_POSITIVE].into(),
        velocity_change_m_s2: [0.3, -0.4, 0.5].into(),
        rate_change_rad_s2: [-0.6, 0.7, 0.8].into(),
    }
}

#[test]
fn orders_come_as_they_were_given() {
    let step = VehicleStep {
        at: SimTime(3_000_000),
        from: [1.0; 8],
        rates: [[0.5; 8], [0.25; 8], [0.125; 8]],
        setpoint_m_s: [0.1, 0.2],
        steering_rad: [0.3, 0.4],
        terrain_m: [0.0, -1.0, 0.5, 7.0],
        shown: Some(ShownPose { serial: 3, arrived: SimTime(77) }),
    };
    let news = FeedNews { oldest: 4, poses: vec![pose(1.0), pose(-4.5)] };
    let mut rotor = RotorMotion::even(0.1, 62.8);
    rotor.push(RotorPiece { from_ns: 10, azimuth_rad: 0.2, ..RotorPiece::default() });
    let orders = [
        Order::Load(Load {
            rig: Some("rig.toml".into()),
            // The text is longer than one piece.
            files: vec![("rig.toml".into(), "é".repeat(PIECE)), ("p.toml".into(), String::new())],
            sets: vec![("seed".into(), "7".into())],
            folder: "/".into(),
        }),
        Order::Begin(1_780_000_000, 5),
        Order::Table(3, vec![FiringSlot { offset_ns: 4, laser: 5 }; 3]),
        Order::Motion(Motion {
            steps: vec![step, step],
            knots: vec![(7, vec![[0.1, 0.2], [0.3, -0.0]])],
            feeds: vec![(1, news)],
        }),
        Order::Fault(FaultNews {
            place: 4,
            name: "dirt".into(),
            text: "kind = \"x\"".into(),
            schedule: Schedule { start: SimTime(5), duration_ns: Some(6), period_ns: None },
        }),
        Order::Measure(Question {
            ticket: 1,
            device: 2,
            index: 3,
            start: SimTime(4),
            number: 5,
            rotor,
            selection: EchoSelection::OtherAndLast,
            receiver: ReceiverSetting { threshold_factor: 1.5, blanked_m: 0.25 },
            table: 6,
            thinning: Thinning::Half,
            wants_truth: true,
        }),
        Order::End,
    ];
    for order in &orders {
        assert_eq!(round(order), format!("{order:?}"));
    }
    // A request for one packet is short.
    let Some(question @ Order::Measure(_)) = orders.get(5) else { panic!("a question") };
    assert!(question.encode().len() < 160, "{}", question.encode().len());
}

fn reading(outcome: Outcome) -> Reading {
    let kinds = (0..15).map(|code| effect_of(code, 5).expect("all kinds"));
    let fault_effects =
        kinds.map(|kind| FaultEffect { fault: 2, window: 3, kind }).collect::<Vec<_>>();
    let firing = FiringTruth { offset_ns: 7, azimuth_rad: 0.5, elevation_rad: -0.25, laser: 12 };
    let returns = REASONS.map(|why| ReturnTruth { why, ..ReturnTruth::MISSING });
    Reading {
        ticket: 8,
        busy_ns: 9,
        is_thinned: true,
        pose: Some(ShownPose { serial: 1, arrived: SimTime(2) }),
        objects: 5,
        outcome,
        fault_effects,
        truth: Some(SweepTruth {
            start: SimTime(11),
            poses: vec![(4, Transform::from_components([1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.9]))],
            firings: vec![firing],
            returns: returns.to_vec(),
        }),
        shown: vec![(1, 2, SimTime(3))],
    }
}

#[test]
fn replies_come_as_they_were_given() {
    let echo = |range_m| Some(Return { range_m, intensity: 0.5, signal: f32::MIN_POSITIVE });
    let both = [
        PulseReturns { first: echo(1.0), second: None },
        PulseReturns::default(),
        PulseReturns { first: echo(2.0), second: echo(3.0) },
        PulseReturns { first: None, second: echo(4.0) },
    ];
    let mut several = Echoes::default();
    for range_m in [1.0, 2.0, 3.0, 4.0, 5.0] {
        several.push(Return { range_m, ..Return::default() });
    }
    let replies = [
        Reply::Loaded(Loaded {
            host: "node-a".into(),
            workers: 16,
            caster: "processor".into(),
            program: "menura".into(),
            binary: "00".into(),
            digests: vec![("scene".into(), "ff".into())],
        }),
        Reply::Unable("no file".into(), true),
        Reply::Answer(Box::new(reading(Outcome::Returns(both.to_vec())))),
        Reply::Answer(Box::new(reading(Outcome::Echoes(vec![several, Echoes::default()])))),
        Reply::Beat,
        Reply::Farewell("a signal".into()),
        Reply::Caster("GPU A, lost".into()),
    ];
    for reply in &replies {
        assert_eq!(round_trip(reply), format!("{reply:?}"));
    }
}

#[test]
fn what_is_cut_short_or_too_long_is_refused() {
    let reply = Reply::Answer(Box::new(reading(Outcome::Returns(Vec::new()))));
    let bytes = reply.encode();
    for length in 0..bytes.len() {
        assert!(Reply::decode(&bytes[..length]).is_err(), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(Reply::decode(&longer).is_err());
    for garbled in [&[][..], &[99], &[6, 0], &[5, 1]] {
        assert!(Order::decode(garbled).is_err(), "{garbled:?}");
    }
    // A missing return although the flag announces it, and a return without its flag.
    let of = |has: Vec<u8>, echoes: Vec<[f32; 3]>| outcome_of((false, has, echoes));
    assert!(of(vec![HAS_FIRST], Vec::new()).is_err());
    assert!(of(vec![0], vec![[1.0; 3]]).is_err());
    assert!(of(vec![HAS_FIRST], vec![[1.0; 3]]).is_ok());
}
