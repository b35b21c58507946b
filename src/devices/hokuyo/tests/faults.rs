//! Tests of a stalled motor and of power-off.

use super::*;
use crate::config::rig::schedule::Schedule;
use crate::sensors::fault::EffectKind;

fn stalls(windows: &[(u64, Option<u64>)]) -> DeviceFaults {
    let timed = |(start_ms, duration_ms): &(u64, Option<u64>)| Timed {
        fault: 3,
        schedule: Schedule {
            start: SimTime(start_ms * MS),
            duration_ns: duration_ms.map(|ms| ms * MS),
            period_ns: None,
        },
        kind: MotorStall { stops_within_ns: None },
    };
    windows.iter().map(timed).collect::<Vec<_>>().into()
}

/// Statuses in a stream requested at the start of the run, without repetitions.
fn statuses_with(
    windows: &[(u64, Option<u64>)],
    change: impl FnOnce(&mut HokuyoProfile),
    ms: u64,
) -> (Bench, Vec<String>) {
    let mut unit = unit("hokuyo-utm30lx-ew", "", change);
    unit.set_faults(&stalls(windows));
    let mut bench = Bench::of(unit);
    bench.unit.handle_peer(SimTime::ZERO, PEER, true);
    bench.send("MD0000108001000");
    bench.run_ms(ms);
    let mut statuses: Vec<String> =
        bench.said.iter().map(|(_, _, message)| status(message)).collect();
    statuses.dedup();
    (bench, statuses)
}

#[test]
fn a_motor_that_is_held_shortly_pauses_the_stream() {
    let fast = |profile: &mut HokuyoProfile| profile.motor.spin_up_ns = 200 * MS;
    let (mut bench, statuses) = statuses_with(&[(500, Some(300))], fast, 2000);
    assert_eq!(statuses, ["00", "99", "21", "98", "99"]);
    let at = |wanted: &str| {
        bench.said.iter().find(|(_, _, message)| status(message) == wanted).unwrap().0
    };
    assert_eq!((at("21"), at("98")), (SimTime(500 * MS), SimTime(1000 * MS)));
    let effect = FaultEffect { fault: 3, window: 0, kind: EffectKind::Stalled { rpm: 0 } };
    assert_eq!(bench.effects, [effect]);
    // During the stall no scan is measured for sending.
    let gap = bench.said.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0).max();
    assert!(gap >= Some(495 * MS), "{gap:?}");
    assert_eq!(bench.ask("QT"), "00");
}

#[test]
fn a_motor_that_is_held_for_long_is_a_failure() {
    let (mut bench, statuses) = statuses_with(&[(500, Some(3000))], |_| {}, 2000);
    assert_eq!(statuses, ["00", "99", "21", "50"]);
    for (command, code) in [("BM", "0L"), ("MD0000108001000", "0L"), ("RS", "0L"), ("QT", "00")] {
        assert_eq!(bench.ask(command), code, "{command}");
    }
    assert_eq!(bench.ask("%ST"), "00");
    assert_eq!(bench.texts(), ["900"]);
    assert_eq!(bench.ask("II"), "00");
    assert!(bench.texts().contains(&"STAT:Abnormal 500 motor error.".to_owned()));
    // The motor is at full speed 3 s after its release.
    bench.run_ms(5000);
    assert_eq!(bench.ask("BM"), "00");
    let lasting = |profile: &mut HokuyoProfile| profile.failure.recovers = false;
    let (mut bench, _) = statuses_with(&[(500, Some(3000))], lasting, 20_000);
    assert_eq!(bench.ask("BM"), "0L");
    assert_eq!(bench.ask("RB"), "01");
    assert_eq!(bench.ask("RB"), "00");
    bench.run_ms(1010);
    assert_eq!(bench.closed, [PEER]);
}

#[test]
fn without_power_it_forgets_all_and_then_boots() {
    for profile in ["hokuyo-utm30lx-ew", "hokuyo-urg04lx"] {
        let is_serial = profile == "hokuyo-urg04lx";
        let settings = if is_serial { "baud_rate = 750000" } else { "" };
        let mut bench = Bench::connected(profile, settings);
        let boot_ms = bench.unit.profile.timing.boot_ns / MS;
        let schedule =
            Schedule { start: SimTime(500 * MS), duration_ns: Some(1000 * MS), period_ns: None };
        let cut = Timed { fault: 0, schedule, kind: PowerCycle };
        bench.unit.set_faults(&DeviceFaults::from(vec![cut]));
        bench.run_ms(5);
        if is_serial {
            bench.ask("SCIP2.0");
        }
        bench.ask("BM");
        let stream = if is_serial { "MD0044072501000" } else { "ME0000108001000" };
        bench.ask(stream);
        bench.run_ms(490 - bench.unit.now.0 / MS);
        assert!(bench.scans() > 1, "{profile}");
        bench.run_ms(100);
        assert_eq!(bench.closed, if is_serial { vec![] } else { vec![PEER] });
        bench.said.clear();
        bench.send("QT");
        // Hosts cannot connect without power.
        if !is_serial {
            bench.unit.handle_peer(bench.unit.now, PEER, true);
        }
        bench.run_ms(920);
        assert!(bench.said.iter().all(|(due, ..)| due.0 < 700 * MS), "{profile}: it has no power");
        assert_eq!(bench.closed.len(), if is_serial { 0 } else { 2 });
        bench.said.clear();
        if !is_serial {
            bench.unit.handle_peer(bench.unit.now, PEER, true);
        }
        bench.run_ms(20 + boot_ms);
        assert_eq!(bench.scans(), 0, "{profile}: the laser is off after a start");
        if is_serial {
            bench.ask("SCIP2.0");
        }
        assert_eq!(bench.ask("VV"), "00");
        assert_eq!(bench.ask("BM"), "00");
    }
}

#[test]
fn a_single_scan_of_a_motor_that_is_held_is_refused() {
    let mut unit = unit("hokuyo-utm30lx-ew", "", |_| {});
    unit.set_faults(&stalls(&[(20, None)]));
    let mut bench = Bench::of(unit);
    bench.unit.handle_peer(SimTime::ZERO, PEER, true);
    assert_eq!(bench.ask("BM"), "00");
    bench.said.clear();
    bench.send("GD0000108001");
    bench.send("%ST");
    bench.run_ms(40);
    let said: Vec<String> = bench.said.iter().map(|(_, _, message)| status(message)).collect();
    assert_eq!(said, ["0M", "00"]);
    assert_eq!(bench.texts(), ["103"]);
    bench.run_ms(2000);
    assert_eq!(bench.ask("%ST"), "00");
    assert_eq!(bench.texts(), ["900"]);
}
