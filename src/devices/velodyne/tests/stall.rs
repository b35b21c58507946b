//! Tests of a stalled motor.

use proptest::prelude::*;

use super::changes::{MS, Run, step_at, vlp16};
use super::web::get;
use super::*;
use crate::config::rig::schedule::Schedule;
use crate::motor_stall::MotorStall;

/// A VLP-16 stalled from `start_ms` for `duration_ms`, repeated with `period_ms`.
fn held(start_ms: u64, duration_ms: u64, period_ms: Option<u64>) -> Run {
    let mut run = vlp16(|_| {});
    let schedule = Schedule {
        start: SimTime(start_ms * MS),
        duration_ns: Some(duration_ms * MS),
        period_ns: period_ms.map(|period| period * MS),
    };
    let kind = MotorStall { stops_within_ns: Some(200 * MS) };
    let stalls = vec![Timed { fault: 0, schedule, kind }];
    run.unit.change_faults(SimTime::ZERO, &DeviceFaults::from(stalls));
    run
}

#[test]
fn a_held_head_stands_and_the_interface_says_so() {
    let mut run = held(1000, 1000, None);
    let state = |run: &mut Run| get(run, "/cgi/status.json");
    run.until(990, 1);
    assert_eq!(state(&mut run)["laser"]["state"], "On");
    run.until(1500, 1);
    let stalled = state(&mut run);
    assert_eq!(stalled["motor"]["rpm"], 0);
    assert_eq!(
        (&stalled["motor"]["state"], &stalled["laser"]["state"]),
        (&"On".into(), &"Disabled".into())
    );
    run.until(6000, 1);
    assert_eq!(state(&mut run)["laser"]["state"], "On");
    assert!((run.step_around(900.0) - step_at(600.0)).abs() < 0.5);
    assert!((run.step_around(1100.0) - step_at(300.0)).abs() < 0.5, "halfway to rest");
    assert_eq!(run.step_around(1700.0), 0.0);
    // The speed increases by 200 rpm/s.
    assert!((run.step_around(3000.0) - step_at(200.0)).abs() < 0.5);
    assert!((run.step_around(5500.0) - step_at(600.0)).abs() < 0.5);
    // Below the interlock speed no laser fires.
    let (_, dark) = run.packets().find(|(due, _)| *due > 1500.0).unwrap();
    assert!(dark.blocks.iter().flat_map(|block| &block.points).all(|point| point.distance == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// For any stall, every packet is complete and on time, and its content agrees with the measurement, for any lead
    /// time of the requests.
    #[test]
    fn a_held_head_sends_good_packets(
        start_ms in 0u64..800, duration_ms in 20u64..600, gap_ms in 20u64..600, step in 1u64..40,
    ) {
        let mut run = held(start_ms, duration_ms, Some(duration_ms + gap_ms));
        run.until(1500, 1);
        let mut other = held(start_ms, duration_ms, Some(duration_ms + gap_ms));
        other.ahead_ns = 700 * MS;
        other.until(1500, step);
        let (all, others): (Vec<_>, Vec<_>) = (run.packets().collect(), other.packets().collect());
        let count = all.len().min(others.len());
        prop_assert!(count > 1000);
        prop_assert_eq!(&all[..count], &others[..count]);
        for pair in all.windows(2) {
            let (gap_ms, block) = (pair[1].0 - pair[0].0, &pair[1].1.blocks[0]);
            prop_assert!((gap_ms - 24.0 * 0.055296).abs() < 2e-6, "{gap_ms}");
            prop_assert!(block.azimuth_centideg < 36_000);
            let point = block.points[0];
            if point.distance != 0 {
                // The range encodes the rotor's angle: 10 m plus 50 m per rotation, in steps of 2 mm.
                let told = f64::from(block.azimuth_centideg) / 36_000.0;
                let seen = (f64::from(point.distance) * 0.002 - 10.0) / 50.0;
                let off = (told - seen + 0.5).rem_euclid(1.0) - 0.5;
                prop_assert!(off.abs() < 1e-4, "{told} {seen}");
            }
        }
    }
}
