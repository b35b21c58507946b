//! A unit whose GNSS receiver stops and resumes.

use super::changes::{MS, Run};
use super::*;
use crate::wire::line::LineSettings;
use crate::wire::velodyne::position::PpsStatus;

/// Time from the start of the run to its first whole second of UTC, microseconds: [`START`] is at .56789 s.
const EDGE_US: u64 = 432_110;
const START_US: f64 = 1_234_567_890.0;
/// Drift of 5 s per day, microseconds per second.
const DRIFT_US_S: f64 = 5e6 / 86_400.0;

fn edge(second: u64) -> SimTime {
    SimTime((second * 1_000_000 + EDGE_US) * 1000)
}

/// Sends the pulse of the UTC second that begins [`EDGE_US`] after second `second` of the run, and its sentence 200 ms
/// later.
fn hear(run: &mut Run, second: u64) {
    let mut tell = |at: SimTime, signal| {
        // Time advances in steps of a millisecond; signals arrive in between.
        run.until(at.0 / MS, 1);
        run.unit.handle_cable(at, &signal);
        run.collect();
    };
    tell(edge(second), CableSignal::PulsePerSecond(true));
    // 12:20:34.567 89 plus 432.11 ms is 12:20:35.
    let body = format!(
        "GPRMC,1220{:02},A,4717.1140,N,00833.9159,E,000.0,000.0,010626,002.9,E",
        35 + second
    );
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    let bytes = format!("${body}*{sum:02X}\r\n").into_bytes();
    let signal = CableSignal::Bytes(bytes, LineSettings::eight_n_one(9600));
    tell(SimTime(edge(second).0 + 200 * MS), signal);
}

/// Timestamp minus UTC, microseconds, for a timestamp taken `at_s` seconds after the start of the run.
fn ahead_us(at_s: f64, timestamp_us: u32) -> f64 {
    f64::from(timestamp_us) - START_US - at_s * 1e6
}

#[test]
fn timestamps_drift_from_the_last_pulse_until_it_is_locked_again() {
    let mut run = Run::new(
        unit("velodyne-vlp16-3.0", |settings| {
            settings.clock.reference = ClockReference::FreeRunning;
            settings.clock.drift_s_per_day = 5.0;
            settings.clock.pps_lock_s = 2;
            settings.clock.pps_absent_after_ns = 1500 * MS;
        }),
        100,
    );
    run.unit.connect_receiver();
    (0..=4).for_each(|second| hear(&mut run, second));
    // The cable is disconnected for four seconds.
    (9..=11).for_each(|second| hear(&mut run, second));
    run.until(12_400, 1);

    let edge_s = |second: u64| edge(second).as_secs_f64();
    // PPS locks with the third pulse; each pulse sets the fraction of the second to zero.
    let since_set_s = |at_s: f64| match at_s {
        at_s if at_s < edge_s(4) => (at_s - edge_s(0)).fract(),
        at_s if at_s < edge_s(11) => at_s - edge_s(4),
        at_s => at_s - edge_s(11),
    };
    let is_right = |what: &str, at_s: f64, timestamp_us: u32| {
        let (ahead, expected) = (ahead_us(at_s, timestamp_us), since_set_s(at_s) * DRIFT_US_S);
        assert!((ahead - expected).abs() < 1.1, "{what} at {at_s} s: {ahead}, not {expected}");
    };
    let mut data = 0;
    for (due_ms, packet) in run.packets() {
        let started_s = due_ms * 1e-3 - 24.0 * 55.296e-6;
        if started_s > edge_s(2) {
            is_right("data", started_s, packet.timestamp_us());
            data += 1;
        }
    }
    assert!(data > 7000, "{data}");
    let mut states: Vec<(f64, PpsStatus)> = Vec::new();
    for (due, packet) in &run.position {
        let made_s = due.as_secs_f64() - 354e-6;
        if made_s > edge_s(2) {
            is_right("position", made_s, packet.timestamp_us);
            assert!(packet.nmea().is_some(), "what was heard last is told on");
        }
        let state = packet.pps_status().unwrap();
        if states.last().is_none_or(|(_, last)| *last != state) {
            states.push((made_s, state));
        }
    }
    let expected = [
        (0.0, PpsStatus::Absent),
        (edge_s(0), PpsStatus::Synchronizing),
        (edge_s(2), PpsStatus::Locked),
        (edge_s(4) + 1.5, PpsStatus::Absent),
        (edge_s(9), PpsStatus::Synchronizing),
        (edge_s(11), PpsStatus::Locked),
    ];
    assert_eq!(states.len(), expected.len(), "{states:?}");
    for ((at_s, state), (expected_s, expected)) in states.iter().zip(expected) {
        // The next packet reports the change; packets are 10.7 ms apart at most.
        let late_s = at_s - expected_s;
        assert!(*state == expected && (-1e-4..0.011).contains(&late_s), "{states:?}");
    }
}
