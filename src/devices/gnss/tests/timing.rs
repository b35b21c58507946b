//! When a receiver says what it says: pulse, latency, window and lag.

use super::*;
use crate::wire::record::Record;
use crate::wire::ubx::mon::TimTp;

#[test]
fn the_pulse_comes_before_its_sentences() {
    let mut bench = Bench::new(F9P, |_| {});
    bench.run(10.0);
    let edges: Vec<(u64, bool)> = bench
        .sent
        .iter()
        .filter_map(|transmit| match transmit.output {
            Output::PulsePerSecond(high) => Some((transmit.due.0, high)),
            _ => None,
        })
        .collect();
    assert!(edges.len() >= 8, "{edges:?}");
    for pair in edges.chunks_exact(2) {
        let [(rise, true), (fall, false)] = pair else { panic!("{edges:?}") };
        assert_eq!(fall - rise, 100 * MS);
        let second = (rise + SECOND / 2) / SECOND * SECOND;
        assert!(rise.abs_diff(second) < 100, "{rise}");
        let sentence = bench.bytes().map(|(due, _)| due).find(|due| due > rise).unwrap();
        assert_eq!(sentence - second, 60 * MS);
    }
}

/// TIM-TP leaves before the pulse it is about, names its second, and says by how much the edge is off
/// because it falls on the receiver's clock; what is left of the offset is jitter.
#[test]
fn tim_tp_tells_of_the_next_pulse() {
    let mut bench = Bench::new(F9P, |settings| {
        settings.messages = vec!["TIM-TP".into()];
        settings.baud = 460_800;
    });
    bench.run(12.0);
    let rises: Vec<u64> = bench
        .sent
        .iter()
        .filter(|transmit| transmit.output == Output::PulsePerSecond(true))
        .map(|transmit| transmit.due.0)
        .collect();
    let told: Vec<(u64, TimTp)> = bench
        .bytes()
        .filter_map(|(due, bytes)| Some((due, Frame::parse(bytes).ok()?)))
        .filter(|(_, frame)| frame.id == TimTp::ID)
        .map(|(due, frame)| (due, TimTp::parse(&frame.payload).unwrap()))
        .collect();
    let mut compared = 0;
    for (due, tp) in told {
        let Some(rise) = rises.iter().find(|rise| **rise > due) else { continue };
        // Before the fix there is no pulse; then the next one is seconds away.
        if rise - due > SECOND {
            continue;
        }
        let second = (rise + SECOND / 2) / SECOND * SECOND;
        let gps_ns = bench.device.epoch.gps_ns(SimTime(second)) as u64;
        assert_eq!(u64::from(tp.week), gps_ns / (604_800 * SECOND));
        assert_eq!(u64::from(tp.tow_ms), gps_ns % (604_800 * SECOND) / 1_000_000);
        let off_ns = *rise as f64 - second as f64;
        let said_ns = f64::from(tp.quantisation_error_ps) / 1000.0;
        assert!((off_ns - said_ns).abs() < 26.0, "{off_ns} {said_ns}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

/// A fix is of the middle of the window that ends at its epoch; a lag holds its bytes back and leaves
/// its time alone.
#[test]
fn a_window_looks_back_and_a_lag_holds_back() {
    let fixes = |window_ns: u64, lag_ns: u64| -> Vec<(u64, u32, f64)> {
        let mut bench = Bench::new("ublox-zed-f9p-hpg1.11", |settings| {
            settings.receiver.apply(ErrorPreset::None);
            settings.baud = 921_600;
            settings.sentences = Vec::new();
            settings.messages = vec!["NAV-PVT".into()];
            (settings.receiver.window_ns, settings.lag_ns) = (window_ns, lag_ns);
        });
        bench.run(15.0);
        let is_fix = |pvt: &NavPvt| pvt.fix_type == 3;
        let frames =
            bench.bytes().filter_map(|(due, bytes)| Some((due, Frame::parse(bytes).ok()?)));
        let pvts = frames
            .filter(|(_, frame)| frame.id == NavPvt::ID)
            .map(|(due, frame)| (due, NavPvt::parse(&frame.payload).unwrap()));
        pvts.filter(|(_, pvt)| is_fix(pvt))
            .map(|(due, pvt)| {
                let place = Geodetic {
                    latitude_deg: f64::from(pvt.lat_1e7_deg) * 1e-7,
                    longitude_deg: f64::from(pvt.lon_1e7_deg) * 1e-7,
                    altitude_m: f64::from(pvt.height_mm) * 1e-3,
                };
                (due, pvt.itow_ms, bench.origin.world_from_geodetic(place).x)
            })
            .collect()
    };
    let (plain, late) = (fixes(0, 0), fixes(400 * MS, 150 * MS));
    assert!(plain.len() >= 8, "{plain:?}");
    for ((due, itow_ms, east_m), (late_due, late_itow_ms, late_east_m)) in plain.iter().zip(&late) {
        assert_eq!(late_itow_ms, itow_ms);
        assert_eq!(late_due - due, 150 * MS);
        // 1.5 m/s for 0.2 s, in steps of 1e-7 degrees.
        assert!((east_m - late_east_m - 0.3).abs() < 0.02, "{east_m} {late_east_m}");
    }
}
