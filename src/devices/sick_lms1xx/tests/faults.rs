//! Tests of a dirty window and a stalled motor.

use super::*;
use crate::config::rig::schedule::Schedule;
use crate::motor_stall::MotorStall;
use crate::sensors::fault::EffectKind;
use crate::sensors::optics_fault::{LidarFault, Sector};

const MS: u64 = 1_000_000;

/// A fault that starts at `start_ms` and lasts `duration_ms`.
fn timed<K>(start_ms: u64, duration_ms: u64, kind: K) -> Timed<K> {
    let schedule = Schedule {
        start: SimTime(start_ms * MS),
        duration_ns: Some(duration_ms * MS),
        period_ns: None,
    };
    Timed { fault: 4, schedule, kind }
}

fn state(bench: &mut Bench, peer: Peer) -> [String; 2] {
    let last = |answer: String, place: usize| answer.split(' ').nth(place).unwrap().to_owned();
    [last(bench.ask(peer, "sRN STlms"), 2), last(bench.ask(peer, "sRN SCdevicestate"), 2)]
}

#[test]
fn a_scanner_whose_motor_is_held_reports_it_and_starts_again() {
    let mut bench = lms111();
    let stalls = vec![timed(500, 1000, MotorStall { stops_within_ns: None })];
    bench.unit.set_faults(&DeviceFaults::from(stalls));
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    bench.ask(peer, "sEN LMDscandata 1");
    bench.ask(peer, "sMN Run");
    assert_eq!(state(&mut bench, peer), ["7", "1"]);
    bench.run_ms(500 - bench.unit.clock.0 / MS);
    bench.telegrams.clear();
    bench.run_ms(500);
    assert_eq!(bench.scans(Some(peer)), []);
    assert_eq!(state(&mut bench, peer), ["0", "2"]);
    assert_eq!(bench.ask(peer, "sRN LMDscandata"), "sFA 4");
    bench.run_ms(1600 - bench.unit.clock.0 / MS);
    // The stall ends after 1.5 s; this model needs three seconds to full speed.
    assert_eq!(state(&mut bench, peer)[0], "5");
    bench.telegrams.clear();
    bench.run_ms(4400 - bench.unit.clock.0 / MS);
    assert_eq!(bench.scans(Some(peer)), []);
    bench.run_ms(200);
    assert_eq!(state(&mut bench, peer), ["7", "1"]);
    assert!(!bench.scans(Some(peer)).is_empty(), "the subscription lives on");
}

#[test]
fn a_held_motor_hears_what_it_is_to_do_when_it_is_let_go() {
    for (command, after) in [("sMN LMCstopmeas", "3"), ("sMN LMCstandby", "4")] {
        let mut bench = lms111();
        let stalls = vec![timed(100, 1000, MotorStall { stops_within_ns: None })];
        bench.unit.set_faults(&DeviceFaults::from(stalls));
        let peer = bench.connect(0);
        bench.run_ms(300);
        assert_eq!(state(&mut bench, peer), ["0", "2"]);
        bench.ask(peer, LOGIN);
        bench.ask(peer, command);
        bench.run_ms(1500 - bench.unit.clock.0 / MS);
        assert_eq!(state(&mut bench, peer)[0], after);
    }
}

#[test]
fn a_dirty_window_is_told_and_marks_its_scans() {
    for (transmission, status) in [(0.5, [0, 2]), (0.0, [0, 4])] {
        let mut bench = lms111();
        let sector = Sector { from_rad: 0.0, width_rad: 1.0 };
        let lidar = vec![timed(500, 500, LidarFault::DirtyWindow { sector, transmission })];
        bench.unit.set_faults(&DeviceFaults::from(lidar));
        let peer = bench.connect(0);
        bench.ask(peer, "sEN LMDscandata 1");
        bench.run_ms(750 - bench.unit.clock.0 / MS);
        assert_eq!(state(&mut bench, peer)[1], "1", "it is ready all the same");
        bench.run_ms(1250 - bench.unit.clock.0 / MS);
        for (due, scan) in bench.scans(Some(peer)) {
            let ms = due.0 / MS;
            // A revolution takes 20 ms, and its status is the one at its start.
            match ms {
                530..1000 => assert_eq!(scan.status, status, "{ms}"),
                ..500 | 1030.. => assert_eq!(scan.status, [0, 0], "{ms}"),
                _ => {}
            }
        }
    }
}

#[test]
fn answers_that_tell_of_a_held_motor_are_marked() {
    let mut bench = lms111();
    let stalls = vec![timed(100, 1000, MotorStall { stops_within_ns: None })];
    bench.unit.set_faults(&DeviceFaults::from(stalls));
    let peer = bench.connect(0);
    bench.run_ms(300);
    for (command, is_marked) in [("sRN SCdevicestate", true), ("sRN FirmwareVersion", false)] {
        bench.say(peer, Dialect::A, command.as_bytes());
        bench.unit.advance(SimTime(bench.unit.clock.0 + 100 * MS));
        let answer = bench.unit.poll_transmit().unwrap();
        let effect = FaultEffect { fault: 4, window: 0, kind: EffectKind::Stalled { rpm: 0 } };
        assert_eq!(answer.fault_effects.contains(&effect), is_marked, "{command}");
    }
}

#[test]
fn what_was_done_to_a_scan_travels_with_its_telegram() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, "sEN LMDscandata 1");
    let request = bench.unit.poll_request(SimTime(1000 * MS)).unwrap();
    let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
    let outcome = Outcome::Echoes(vec![Echoes::default(); sweep.firings.len()]);
    let effect = FaultEffect { fault: 4, window: 0, kind: EffectKind::LostReturns { count: 9 } };
    bench.unit.handle_measurement(&Measurement {
        fault_effects: vec![effect],
        ..Measurement::new(request, outcome)
    });
    bench.unit.advance(SimTime(bench.unit.clock.0 + 100 * MS));
    let sent: Vec<_> = std::iter::from_fn(|| bench.unit.poll_transmit()).collect();
    assert!(sent.iter().any(|transmit| transmit.fault_effects == [effect]));
}
