use proptest::prelude::*;

use super::*;
use crate::config::rig::schedule::Schedule;

const S: u64 = SECOND_NS;

#[test]
fn a_day_does_not_drift() {
    let rotor = Rotor::turning(600, 0.0, 200);
    assert_eq!(rotor.turn(SimTime(86_400 * S)), 0.0);
    assert_eq!(rotor.turn(SimTime(86_400 * S + 25_000_000)), 0.25);
    assert_eq!(rotor.next_zero(SimTime(86_400 * S)), Some(SimTime(86_400 * S + 100_000_000)));
    let centuries = u64::MAX / S;
    assert_eq!(rotor.turn(SimTime(centuries * S + 25_000_000)), 0.25);
}

#[test]
fn spin_up_takes_three_seconds_and_fifteen_turns() {
    let mut rotor = Rotor::turning(0, 0.25, 200);
    assert!(rotor.is_still(SimTime(5 * S)));
    assert_eq!(rotor.next_zero(SimTime(5 * S)), None);
    rotor.schedule(SimTime(S), 600, None);
    assert_eq!(rotor.rpm(SimTime(S)), 0.0);
    assert_eq!(rotor.rpm(SimTime(2 * S)), 200.0);
    assert_eq!(rotor.rpm(SimTime(9 * S)), 600.0);
    // Angle after t seconds: 0.5 * (200 / 60) * t^2 rotations.
    let turned = |t: f64| (0.25 + 200.0 / 120.0 * t * t).rem_euclid(1.0);
    assert!((rotor.turn(SimTime(2 * S)) - turned(1.0)).abs() < 1e-12);
    assert!((rotor.turn(SimTime(4 * S)) - turned(3.0)).abs() < 1e-12);
    let zero = rotor.next_zero(SimTime::ZERO).unwrap();
    assert!((zero.as_secs_f64() - 1.0 - (0.75f64 * 120.0 / 200.0).sqrt()).abs() < 2e-9);
}

#[test]
fn a_motion_has_every_piece() {
    let mut rotor = Rotor::turning(600, 0.0, 200);
    rotor.schedule(SimTime(S), 660, None);
    let start = SimTime(S - 50_000_000);
    let motion = rotor.motion(start, SimTime(2 * S));
    for ms in (0..1000).step_by(10) {
        let at = SimTime(start.0 + ms * 1_000_000);
        let turn = motion.azimuth_at(at.0 - start.0) / TAU;
        let off = (turn - rotor.turn(at) + 0.5).rem_euclid(1.0) - 0.5;
        assert!(off.abs() < 1e-9, "{ms} ms: {turn} {}", rotor.turn(at));
    }
}

fn stall(
    start: u64,
    duration: u64,
    period: Option<u64>,
    stops_within_ns: Option<u64>,
) -> Timed<MotorStall> {
    let schedule =
        Schedule { start: SimTime(start), duration_ns: Some(duration), period_ns: period };
    Timed { fault: 3, schedule, kind: MotorStall { stops_within_ns } }
}

#[test]
fn a_held_rotor_stops_and_spins_up_again() {
    let mut rotor = Rotor::turning(600, 0.0, 200);
    rotor.change_stalls(SimTime::ZERO, &[stall(S, 2 * S, None, Some(S / 2))]);
    rotor.look_ahead(SimTime(9 * S));
    for (ms, rpm) in [(999, 600.0), (1250, 300.0), (1500, 0.0), (2999, 0.0), (4000, 200.0)] {
        assert!((rotor.rpm(SimTime(ms * 1_000_000)) - rpm).abs() < 1e-6, "{ms}");
    }
    assert_eq!(rotor.rpm(SimTime(6 * S)), 600.0);
    assert!(rotor.is_still(SimTime(2 * S)));
    // Ten rotations, then half a second at 300 rpm on average.
    assert!((rotor.turn(SimTime(2 * S)) - 0.5).abs() < 1e-9);
    assert_eq!(rotor.fault_effects(SimTime(0), SimTime(S - 1)), []);
    let effects = rotor.fault_effects(SimTime(S - 1000), SimTime(S));
    assert_eq!(
        effects,
        [FaultEffect { fault: 3, window: 0, kind: EffectKind::Stalled { rpm: 600 } }]
    );
}

#[test]
fn a_command_waits_for_the_rotor_to_be_let_go() {
    let mut rotor = Rotor::turning(600, 0.0, 200);
    rotor.change_stalls(SimTime::ZERO, &[stall(S, 10 * S, None, None)]);
    rotor.look_ahead(SimTime(6 * S));
    rotor.schedule(SimTime(2 * S), 300, None);
    rotor.look_ahead(SimTime(15 * S));
    assert!((rotor.rpm(SimTime(2 * S)) - 400.0).abs() < 1e-6, "it slows down as before");
    assert_eq!(rotor.rpm(SimTime(11 * S - 1)), 0.0);
    assert_eq!(rotor.rpm(SimTime(13 * S)), 300.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// The angle of a repeatedly stalled rotor is continuous. It depends neither on the length of the known schedule
    /// nor on commands without effect.
    #[test]
    fn a_held_rotor_never_jumps(
        stalls in prop::collection::vec((0u64..6_000, 1u64..3_000, 1u64..2_000, 10u64..2_000), 1..3),
        steps in prop::collection::vec(1u64..5_000, 1..6),
    ) {
        let ms = |ms: u64| ms * 1_000_000;
        let stalls: Vec<_> = stalls.into_iter().map(|(start, duration, gap, stops)| {
            stall(ms(start), ms(duration), Some(ms(duration + gap)), Some(ms(stops)))
        }).collect();
        let fresh = || {
            let mut rotor = Rotor::turning(600, 0.25, 400);
            rotor.change_stalls(SimTime::ZERO, &stalls);
            rotor
        };
        let (mut at_once, mut by_steps) = (fresh(), fresh());
        at_once.look_ahead(SimTime(20 * S));
        let mut to = 0;
        for step in steps {
            to += ms(step);
            by_steps.look_ahead(SimTime(to));
            if step % 2 == 0 {
                by_steps.schedule(SimTime(ms(1)), 600, None);
                at_once.schedule(SimTime(ms(1)), 600, None);
            }
        }
        by_steps.look_ahead(SimTime(20 * S));
        let mut last = (at_once.turn(SimTime::ZERO), at_once.rpm(SimTime::ZERO));
        for k in 1..20_000 {
            let now = SimTime(ms(k));
            let (turn, rpm) = (at_once.turn(now), at_once.rpm(now));
            prop_assert_eq!(by_steps.turn(now), turn, "{}", now);
            let moved = (turn - last.0 + 0.5).rem_euclid(1.0) - 0.5;
            prop_assert!((-1e-6..0.011).contains(&moved), "{now}: {moved}");
            let fastest = if rpm > last.1 { 0.4001 } else { 60.001 };
            prop_assert!((rpm - last.1).abs() <= fastest, "{now}: {rpm} after {}", last.1);
            let before = SimTime(ms(k - 1));
            let is_held = stalls.iter().any(|stall| {
                let window = stall.schedule.window_at(before);
                window.is_some() && window == stall.schedule.window_at(now)
            });
            prop_assert!(!is_held || rpm <= last.1, "{now}: {rpm} after {}", last.1);
            last = (turn, rpm);
        }
    }

    /// For any commands: the angle never jumps or decreases, the acceleration never exceeds the motor's, and the rotor
    /// follows the last command.
    #[test]
    fn the_rotor_never_jumps(
        commands in prop::collection::vec((0u64..3_000, 0u32..20, prop::option::of(0.0..1.0)), 1..8),
    ) {
        let mut rotor = Rotor::turning(600, 0.0, 240);
        let mut at = 0;
        for (wait_ms, rpm, phase) in &commands {
            at += wait_ms * 1_000_000;
            let phase = phase.map(|turn| Phase { turn, second: SimTime(300_000_000) });
            rotor.schedule(SimTime(at), rpm * 60, phase);
        }
        let step = 1_000_000;
        let mut last = (rotor.turn(SimTime::ZERO), rotor.rpm(SimTime::ZERO));
        // At the slowest speed, the phase lock needs 12.5 s to shift the rotor by half a rotation.
        for k in 1..(at + 22 * S) / step {
            let now = SimTime(k * step);
            let (turn, rpm) = (rotor.turn(now), rotor.rpm(now));
            let moved = (turn - last.0 + 0.5).rem_euclid(1.0) - 0.5;
            prop_assert!(moved >= -3e-6, "{now}: {moved}");
            let expected = (rpm + last.1) / 2.0 / 60.0 * 1e-3;
            prop_assert!((moved - expected).abs() < 3e-6, "{now}: {moved} {expected}");
            prop_assert!((rpm - last.1).abs() < 0.2401, "{now}: {rpm} after {}", last.1);
            last = (turn, rpm);
        }
        let (_, rpm, phase) = commands[commands.len() - 1];
        prop_assert_eq!(last.1, f64::from(rpm * 60));
        if let Some(turn) = phase.filter(|_| rpm > 0) {
            let second = next_second(SimTime(at + 21 * S), SimTime(300_000_000));
            let off = (rotor.turn(second) - turn + 0.5).rem_euclid(1.0) - 0.5;
            prop_assert!(off.abs() < 2e-6, "{off}");
        }
    }

    #[test]
    fn zero_is_found_where_the_angle_wraps(
        rpm in 1u32..1200, start in 0.0f64..1.0, after in 0u64..10_000_000_000,
    ) {
        let mut rotor = Rotor::turning(600, start, 200);
        rotor.schedule(SimTime(2 * S), rpm, None);
        let zero = rotor.next_zero(SimTime(after)).unwrap();
        prop_assert!(zero.0 > after);
        prop_assert!(rotor.turn(zero) < 1e-6);
        prop_assert!(rotor.turn(SimTime(zero.0 - 1)) > 1.0 - 1e-6);
    }
}

proptest! {
    /// A stall announced during a run, at first without its end, gives bit for bit the same motion as a stall known
    /// from the start.
    #[test]
    fn a_stall_told_in_time_is_as_one_known_from_the_start(
        begins in 100u64..9000, lasts in 1u64..9000, paced in any::<bool>(), ahead in 1u64..3000,
    ) {
        let ms = |ms: u64| SimTime(ms * 1_000_000);
        let stops_within_ns = paced.then_some(200_000_000);
        let known = stall(ms(begins).0, ms(lasts).0, None, stops_within_ns);
        let open = Timed { schedule: Schedule { duration_ns: None, ..known.schedule }, ..known.clone() };
        let mut from_start = Rotor::turning(600, 0.3, 200);
        from_start.change_stalls(SimTime::ZERO, std::slice::from_ref(&known));
        from_start.look_ahead(ms(25_000));
        let mut told = Rotor::turning(600, 0.3, 200);
        told.look_ahead(ms(begins.saturating_sub(ahead)));
        told.change_stalls(ms(begins), &[open]);
        told.look_ahead(ms(begins + lasts + ahead));
        told.change_stalls(ms(begins + lasts), &[known]);
        told.look_ahead(ms(25_000));
        for at in (0..25_000).step_by(7) {
            let at = ms(at);
            prop_assert_eq!(told.turn(at).to_bits(), from_start.turn(at).to_bits(), "{:?}", at);
            prop_assert_eq!(told.rpm(at).to_bits(), from_start.rpm(at).to_bits());
        }
    }
}
