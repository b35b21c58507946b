//! Messages about signals, raw measurements, the survey and the receiver itself.

use super::*;
use crate::wire::ubx::mon::{MonComms, MonRf};
use crate::wire::ubx::mon_more::SecSig;
use crate::wire::ubx::nav::{NavSig, NavSvin};
use crate::wire::ubx::rxm::{RawSignal, RxmRawx};

const LIGHT_M_S: f64 = 299_792_458.0;

fn all<T: Payload>(bench: &Bench) -> Vec<T> {
    let frames = bench.frames();
    let of_kind = frames.iter().filter(|frame| frame.id == T::ID);
    of_kind.map(|frame| T::parse(&frame.payload).unwrap()).collect()
}

fn listening(names: &[&str]) -> Bench {
    let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
    Bench::new(F9P, |settings| {
        settings.messages = names.clone();
        settings.sentences = Vec::new();
        settings.period_ns = 200 * MS;
        settings.baud = 921_600;
    })
}

fn frequency_hz(signal: &RawSignal) -> f64 {
    let slot = f64::from(signal.freq_id) - 7.0;
    1e6 * match (signal.gnss_id, signal.sig_id) {
        (0, 0) | (2, 0) => 1575.42,
        (0, 3) => 1227.6,
        (2, 6) | (3, 2) => 1207.14,
        (3, 0) => 1561.098,
        (6, 0) => 1602.0 + 0.5625 * slot,
        (6, 2) => 1246.0 + 0.4375 * slot,
        other => panic!("{other:?}"),
    }
}

/// Pseudorange, carrier phase and Doppler agree: the carrier phase changes like the range, the Doppler is the range
/// rate, and both bands have nearly the same range.
#[test]
fn raw_measurements_agree_with_one_another() {
    let mut bench = listening(&["RXM-RAWX", "NAV-PVT", "NAV-SAT"]);
    bench.run(12.0);
    let raw: Vec<RxmRawx> = all(&bench);
    let (pvts, skies): (Vec<NavPvt>, Vec<NavSat>) = (bench.pvts(), all(&bench));
    let last = raw.last().unwrap();
    assert_eq!((last.week, last.leap_s, last.version, last.status & 1), (2445, 18, 1, 1));
    let itow_s = f64::from(pvts.last().unwrap().itow_ms) * 1e-3;
    assert!((last.receiver_tow_s - itow_s).abs() < 1e-3, "{last:?}");
    // One measurement per tracked satellite and band; the second band only where its signal is strong enough.
    let heard = skies.last().unwrap().satellites.iter().filter(|s| s.cno_dbhz > 0).count();
    let mut names: Vec<_> = last.signals.iter().map(|s| (s.gnss_id, s.sv_id)).collect();
    names.dedup();
    assert_eq!(names.len(), heard);
    assert!(last.signals.len() > heard * 3 / 2);

    let mut compared = 0;
    for pair in raw[30..].windows(2) {
        let dt_s = pair[1].receiver_tow_s - pair[0].receiver_tow_s;
        for new in &pair[1].signals {
            assert!((1.9e7..4.2e7).contains(&new.pseudorange_m), "{new:?}");
            let is_same = |old: &&RawSignal| {
                (old.gnss_id, old.sv_id, old.sig_id) == (new.gnss_id, new.sv_id, new.sig_id)
            };
            let Some(old) = pair[0].signals.iter().find(is_same) else { continue };
            let wavelength_m = LIGHT_M_S / frequency_hz(new);
            let cycles = new.carrier_cycles - old.carrier_cycles;
            // Tolerance: noise of the Doppler and its change within the step.
            let doppler_hz = f64::from(new.doppler_hz + old.doppler_hz) / 2.0;
            let error_m = (cycles + doppler_hz * dt_s) * wavelength_m;
            assert!(error_m.abs() < 0.1, "{error_m} {new:?}");
            assert!(new.lock_time_ms >= old.lock_time_ms.saturating_add(199).min(64_500));
            compared += 1;
        }
        for two in pair[1].signals.windows(2) {
            if (two[0].gnss_id, two[0].sv_id) == (two[1].gnss_id, two[1].sv_id) {
                // The ionosphere delays the second band by some metres more.
                assert!((two[0].pseudorange_m - two[1].pseudorange_m).abs() < 25.0, "{two:?}");
                assert_ne!(two[0].sig_id, two[1].sig_id);
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

/// Four or more pseudoranges give the antenna's position, except for noise and multipath.
#[test]
fn raw_measurements_give_the_antennas_position() {
    let mut bench = listening(&["RXM-RAWX", "NAV-PVT"]);
    bench.run(10.0);
    let raw: RxmRawx = all(&bench).pop().unwrap();
    let pvt = bench.pvts().pop().unwrap();
    let constellation = bench.sensor.constellation().clone();
    let gps_s = f64::from(raw.week) * 604_800.0 + f64::from(pvt.itow_ms) * 1e-3;
    let clock_s = raw.receiver_tow_s - f64::from(pvt.itow_ms) * 1e-3;
    // The robot drives east at 1.5 m/s from the origin.
    let since_s = gps_s - bench.device.epoch.gps_seconds(SimTime(0));
    let truth = bench.origin.geodetic_from_world(glam::DVec3::new(1.5 * since_s, 0.0, 0.0));
    let here = truth.to_ecef();
    let local = GeoOrigin::new(truth);
    let mut normal = [[0.0; 4]; 4];
    let mut right = [0.0; 4];
    for signal in raw.signals.iter().filter(|s| s.gnss_id == 0 && s.sig_id == 0) {
        let is_it = |s: &&crate::sensors::gnss::constellation::Satellite| {
            s.svid == signal.sv_id && s.system == GnssSystem::Gps
        };
        let satellite = constellation.satellites.iter().find(is_it).unwrap();
        // Satellite positions at transmission, rotated by the Earth's rotation during the flight.
        let flight_s = signal.pseudorange_m / LIGHT_M_S - clock_s;
        let then = satellite.orbit.ecef_m(gps_s - flight_s);
        let (sin, cos) = libm::sincos(7.292_115_146_7e-5 * flight_s);
        let at = glam::DVec3::new(cos * then.x + sin * then.y, cos * then.y - sin * then.x, then.z);
        let towards = local.world_from_ecef(at).normalize();
        let (elevation, azimuth) = (libm::asin(towards.z), libm::atan2(towards.x, towards.y));
        let delay_m = crate::sensors::gnss::atmosphere::troposphere_m(&truth, elevation)
            + crate::sensors::gnss::atmosphere::ionosphere_m(
                &truth,
                azimuth,
                elevation,
                f64::from(pvt.itow_ms) * 1e-3,
            );
        let ahead_s = crate::sensors::gnss::broadcast::clock_s(satellite, gps_s as i64, 0.0);
        let rest =
            signal.pseudorange_m - (here - at).length() - delay_m + (ahead_s - clock_s) * LIGHT_M_S;
        let row = [-towards.x, -towards.y, -towards.z, 1.0];
        for (i, a) in row.iter().enumerate() {
            right[i] += a * rest;
            for (j, b) in row.iter().enumerate() {
                normal[i][j] += a * b;
            }
        }
    }
    let matrix = glam::DMat4::from_cols_array_2d(&normal);
    let step = matrix.inverse() * glam::DVec4::from_array(right);
    assert!(step.truncate().length() < 4.0 && step.w.abs() < 4.0, "{step}");
}

#[test]
fn signals_are_those_that_satellites_are_heard_by() {
    let mut bench = listening(&["NAV-SIG", "NAV-SAT", "NAV-PVT"]);
    bench.run(8.0);
    let (sig, sat): (NavSig, NavSat) = (all(&bench).pop().unwrap(), all(&bench).pop().unwrap());
    assert_eq!(sig.itow_ms, sat.itow_ms);
    for satellite in &sat.satellites {
        let of_it = |s: &&crate::wire::ubx::nav::SignalInfo| {
            (s.gnss_id, s.sv_id) == (satellite.gnss_id, satellite.sv_id)
        };
        let signals: Vec<_> = sig.signals.iter().filter(of_it).collect();
        assert_eq!(signals.is_empty(), satellite.cno_dbhz == 0, "{satellite:?}");
        let is_used = satellite.flags & 8 != 0;
        assert!(signals.iter().all(|s| (s.flags & 8 != 0) == is_used), "{satellite:?}");
        if let Some(first) = signals.first() {
            assert_eq!(first.cno_dbhz, satellite.cno_dbhz);
        }
    }
    let off = [item(signal_key(GnssSystem::Gps, true), 0)];
    assert!(is_ack(&bench.ask(&valset(&off)), CfgValset::ID));
    bench.run(1.0);
    let sig: NavSig = all(&bench).pop().unwrap();
    let is_l2 = |s: &crate::wire::ubx::nav::SignalInfo| s.gnss_id == 0 && s.sig_id != 0;
    assert!(!sig.signals.iter().any(is_l2) && sig.signals.iter().any(|s| s.sig_id != 0));
}

#[test]
fn a_survey_ends_when_time_and_accuracy_are_reached() {
    let mut bench = listening(&["NAV-SVIN", "NAV-PVT"]);
    bench.run(8.0);
    let idle: NavSvin = all(&bench).pop().unwrap();
    assert_eq!((idle.active, idle.valid, idle.observations), (0, 0, 0));
    let demand =
        [item(key::SVIN_MIN_DUR, 4), item(key::SVIN_ACC_LIMIT, 100_000), item(key::TMODE_MODE, 1)];
    assert!(is_ack(&bench.ask(&valset(&demand)), CfgValset::ID));
    bench.run(10.0);
    let surveys: Vec<NavSvin> = all(&bench);
    let first = surveys.iter().position(|survey| survey.valid == 1).expect("it ends");
    assert!(surveys[..first].iter().skip(1).all(|survey| survey.active == 1));
    let done = &surveys[first];
    assert!((4..=5).contains(&done.duration_s), "{done:?}");
    assert!(done.mean_acc_100um <= 100_000 && done.observations >= 20);
    let told = bench.device.last.clone().unwrap().0.position.to_ecef();
    let mean = done.mean_ecef_cm.map(|cm| f64::from(cm) * 0.01);
    // The robot drives at 1.5 m/s during the survey.
    assert!((glam::DVec3::from(mean) - told).length() < 25.0);
    assert_eq!(
        surveys.last().unwrap(),
        &NavSvin { itow_ms: surveys.last().unwrap().itow_ms, ..*done }
    );
}

/// KumarRobotics's driver disables the survey and requests another at once, between two epochs.
#[test]
fn a_survey_that_is_switched_off_and_on_starts_again() {
    let mut bench = listening(&["NAV-SVIN"]);
    bench.run(8.0);
    let demand = |mode, least_s, limit_100um| {
        valset(&[
            item(key::SVIN_MIN_DUR, least_s),
            item(key::SVIN_ACC_LIMIT, limit_100um),
            item(key::TMODE_MODE, mode),
        ])
    };
    assert!(is_ack(&bench.ask(&demand(1, 2, 500_000)), CfgValset::ID));
    bench.run(5.0);
    let done: NavSvin = all(&bench).pop().unwrap();
    assert_eq!((done.valid, done.active), (1, 0));
    bench.say(&demand(0, 2, 500_000).to_frame().to_bytes());
    bench.say(&demand(1, 600, 100).to_frame().to_bytes());
    bench.run(1.5);
    let again: NavSvin = all(&bench).pop().unwrap();
    assert_eq!((again.valid, again.active), (0, 1));
    assert!(again.duration_s <= 1 && (1..10).contains(&again.observations), "{again:?}");
}

/// The receiver corrects its clock by a whole millisecond when the bias exceeds half a millisecond.
#[test]
fn raw_measurements_report_a_correction_of_the_clock() {
    let mut bench = listening(&["RXM-RAWX"]);
    bench.device.drift_ns_s = 100_000.0;
    bench.run(12.0);
    let raw: Vec<RxmRawx> = all(&bench);
    assert_eq!(raw[0].status & 2, 0);
    let mut corrections = 0;
    for pair in raw.windows(2) {
        let step_s = pair[1].receiver_tow_s - pair[0].receiver_tow_s;
        let is_corrected = (step_s - 0.2).abs() > 5e-4;
        assert_eq!(pair[1].status & 2 != 0, is_corrected, "{step_s}");
        corrections += u32::from(is_corrected);
    }
    assert_eq!(corrections, 1);
}

/// Firmware from HPG 1.50 on reports the jamming state in SEC-SIG alone.
#[test]
fn hpg_1_51_sends_its_jamming_state() {
    let mut bench = Bench::new("ublox-zed-f9p-hpg1.51", |settings| {
        settings.sentences = Vec::new();
        settings.baud = 115_200;
    });
    bench.run(3.0);
    let rate = rate_key(SecSig::ID, UART1).unwrap();
    assert!(is_ack(&bench.ask(&valset(&[item(rate, 1)])), CfgValset::ID));
    bench.sent.clear();
    bench.run(3.0);
    let told: Vec<SecSig> = all(&bench);
    assert!((2..=4).contains(&told.len()), "{told:?}");
    assert_eq!((told[0].version, told[0].head), (2, [0x1b, 0, 2]));
    let blocks: Vec<u32> = told[0]
        .states
        .chunks_exact(4)
        .map(|block| u32::from_le_bytes([block[0], block[1], block[2], block[3]]))
        .collect();
    assert_eq!(blocks, [1_575_420, 1_227_600]);
}

#[test]
fn the_port_counts_what_it_carries() {
    let mut bench = listening(&["MON-COMMS", "MON-RF"]);
    bench.run(3.0);
    bench.say(b"$PUBX,00*33\r\n");
    bench.say(b"\x00\x01\x02");
    bench.say(&Frame::new(MonVer::ID, vec![]).to_bytes());
    bench.run(1.0);
    let last: MonComms = all(&bench).pop().unwrap();
    let [uart1] = last.ports.as_slice() else { panic!("{last:?}") };
    assert_eq!((uart1.port, uart1.messages), (0x0100, [1, 1, 0, 0]));
    assert_eq!((uart1.rx_bytes, uart1.skipped), (13 + 3 + 8, 3));
    // `tx_bytes` counts the bytes that were sent before this message was made.
    let sent: usize = bench.bytes().map(|(_, bytes)| bytes.len()).sum();
    let after = sent as u32 - uart1.tx_bytes;
    assert!((1..400).contains(&after), "{after}");
    let radio: MonRf = all(&bench).pop().unwrap();
    assert_eq!(radio.blocks.len(), 2);
}
