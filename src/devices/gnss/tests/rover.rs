//! A rover and a base; `rtcm-rs` makes the base's messages from satellite positions.

use glam::DVec3;
use rtcm_rs::msg::*;
use rtcm_rs::util::DataVec;
use rtcm_rs::{Message as Rtcm, MessageBuilder};

use super::*;
use crate::config::rig::schedule::Schedule;
use crate::gnss::profile::BaseStation;
use crate::sensors::gnss::constellation::Satellite;
use crate::sensors::gnss::observations::{self, Carrier};
use crate::sensors::gnss::settings::BestFix;
use crate::wire::ubx::nav::{NavRelposned, NavSig, NavStatus};
use crate::wire::ubx::rxm::RxmRtcm;

const LIGHT_MS_M: f64 = 299_792.458;
const HPG_1_32: &str = "ublox-zed-f9p-hpg1.32";

/// A base station and its errors.
#[derive(Clone, Copy)]
struct Base {
    station: u16,
    /// Position relative to the rover's origin: east, north, up.
    at_m: DVec3,
    /// Error of the base's reported position: east, north, up, metres.
    off_m: DVec3,
    /// Whether the rover's robot carries the base.
    moves: bool,
    only: Option<GnssSystem>,
    has_biases: bool,
    is_nonsense: bool,
}

const BASE: Base = Base {
    station: 77,
    at_m: DVec3::new(300.0, 900.0, 12.0),
    off_m: DVec3::ZERO,
    moves: false,
    only: None,
    has_biases: true,
    is_nonsense: false,
};

fn built(message: Rtcm) -> Vec<u8> {
    MessageBuilder::new().build_message(&message).unwrap().to_vec()
}

fn moving_base() -> Vec<u8> {
    let mut bytes = vec![0xd3, 0, 4, 0xfe, 0x80, 0x00, 0x00];
    let crc = crate::wire::checksum::crc24q(&bytes).to_be_bytes();
    bytes.extend(&crc[1..]);
    bytes
}

/// Makes an MSM7 of one system.
macro_rules! msm7 {
    ($rows:expr, $station:expr, $epoch:expr; $variant:ident $message:ident $data:ident $signal:ident
     $satellite:ident $id:ident $epoch_field:ident $bands:expr) => {{
        let mut satellite_data = DataVec::new();
        let mut signal_data = DataVec::new();
        let bands: [(u8, char); 2] = $bands;
        for (svid, code_m, phases_m) in $rows.iter().take(32) {
            let range_ms: f64 = code_m / LIGHT_MS_M;
            let mod_ms = (range_ms.fract() * 1024.0).floor() / 1024.0;
            satellite_data.push($satellite {
                satellite_id: *svid,
                gnss_satellite_rough_range_integer_ms: Some(range_ms as u8),
                gnss_satellite_rough_range_mod1ms_ms: mod_ms,
                ..Default::default()
            });
            let rough_ms = range_ms.floor() + mod_ms;
            for ((band, letter), phase_m) in bands.iter().zip(phases_m) {
                let phase_m: f64 = *phase_m;
                signal_data.push($signal {
                    satellite_id: *svid,
                    signal_id: $id::new(*band, *letter),
                    gnss_signal_fine_pseudorange_ext_ms: Some(range_ms - rough_ms),
                    gnss_signal_fine_phaserange_ext_ms: Some(phase_m / LIGHT_MS_M - rough_ms),
                    ..Default::default()
                });
            }
        }
        built(Rtcm::$variant($message {
            reference_station_id: $station,
            $epoch_field: $epoch,
            data_segment: $data { satellite_data, signal_data },
            ..Default::default()
        }))
    }};
}

impl Base {
    /// Messages of the base at `at`.
    fn messages(&self, bench: &Bench, at: SimTime) -> Vec<Vec<u8>> {
        let rover = bench.trajectory.state(at).world_from_body.point(DVec3::ZERO);
        let carried = if self.moves { rover } else { DVec3::ZERO };
        let here = bench.origin.geodetic_from_world(self.at_m + carried);
        let local = GeoOrigin::new(here);
        let ecef = here.to_ecef();
        let told = bench.origin.geodetic_from_world(self.at_m + self.off_m).to_ecef();
        let gps_s = bench.device.epoch.gps_seconds(at);
        let gps_ms = (gps_s * 1e3).round() as u64;
        let rows = |system: GnssSystem| -> Vec<(u8, f64, [f64; 2])> {
            let all = &bench.sensor.constellation().satellites;
            let high = |s: &&Satellite| {
                s.system == system
                    && local.world_from_ecef(s.orbit.ecef_m(gps_s)).normalize().z > 0.2
            };
            let row = |s: &Satellite| {
                let clock_m = 30_000.0;
                let (code_m, phases_m) = observations::modelled(s, gps_s, ecef);
                let wild_m = if self.is_nonsense { f64::from(s.svid) * 9e3 } else { 0.0 };
                let noise_m = f64::from(s.svid % 5) * 0.3 - 0.6;
                let phase = |is_second: bool| {
                    let f = Carrier::new(s, is_second).frequency_hz;
                    let waves_m = f64::from(s.svid % 7) * LIGHT_MS_M * 1e3 / f;
                    phases_m[usize::from(is_second)] + clock_m + wild_m + waves_m
                };
                (s.svid, code_m + clock_m + noise_m + wild_m, [phase(false), phase(true)])
            };
            all.iter().filter(high).map(row).collect()
        };
        let wants = |system| self.only.is_none_or(|only| only == system);
        let station = self.station;
        let mut all = Vec::new();
        if self.moves {
            all.push(moving_base());
        } else {
            all.push(built(Rtcm::Msg1005(Msg1005T {
                reference_station_id: station,
                antenna_ref_point_ecef_x_m: told.x,
                antenna_ref_point_ecef_y_m: told.y,
                antenna_ref_point_ecef_z_m: told.z,
                ..Default::default()
            })));
        }
        let tow_ms = (gps_ms % 604_800_000) as u32;
        if wants(GnssSystem::Gps) {
            all.push(msm7!(rows(GnssSystem::Gps), station, tow_ms; Msg1077 Msg1077T Msg1077Data
                Msg1077Sig Msm57Sat GpsSigId gps_epoch_time_ms [(1, 'C'), (2, 'L')]));
        }
        if wants(GnssSystem::Galileo) {
            all.push(
                msm7!(rows(GnssSystem::Galileo), station, tow_ms; Msg1097 Msg1097T Msg1097Data
                Msg1097Sig Msm57Sat GalSigId gal_epoch_time_ms [(1, 'C'), (7, 'Q')]),
            );
        }
        if wants(GnssSystem::Beidou) {
            let tow_ms = (tow_ms + 604_800_000 - 14_000) % 604_800_000;
            all.push(msm7!(rows(GnssSystem::Beidou), station, tow_ms; Msg1127 Msg1127T Msg1127Data
                Msg1127Sig Msm57Sat BdsSigId bds_epoch_time_ms [(2, 'I'), (7, 'I')]));
        }
        if wants(GnssSystem::Glonass) {
            let tod_ms = ((gps_ms - 18_000 + 10_800_000) % 86_400_000) as u32;
            all.push(
                msm7!(rows(GnssSystem::Glonass), station, tod_ms; Msg1087 Msg1087T Msg1087Data
                Msg1087Sig Msm57GloSat GloSigId glo_epoch_time_ms [(1, 'C'), (2, 'C')]),
            );
        }
        if self.has_biases {
            let biases = Msg1230T { reference_station_id: station, ..Default::default() };
            all.push(built(Rtcm::Msg1230(biases)));
        }
        all
    }
}

fn rover(change: impl Fn(&mut GnssSettings)) -> Bench {
    Bench::new(HPG_1_32, |settings| {
        settings.receiver.acquisition.best_fix = None;
        settings.baud = 460_800;
        settings.high_precision = true;
        settings.messages = ["NAV-PVT", "NAV-RELPOSNED", "NAV-STATUS"].map(String::from).to_vec();
        change(settings);
    })
}

/// Runs for `seconds` seconds. In each second, messages of `base` arrive 200 ms plus `late_ms` after the time of their
/// observations.
fn correct(bench: &mut Bench, base: &Base, seconds: u64, late_ms: u64) {
    for _ in 0..seconds {
        let second = bench.now_ns / SECOND + 1;
        bench.run((second * SECOND + 200 * MS - bench.now_ns) as f64 * 1e-9);
        let of = SimTime((second * SECOND).saturating_sub(late_ms * MS));
        for message in base.messages(bench, of) {
            bench.say(&message);
        }
        bench.run(0.5);
    }
}

fn relposned(bench: &Bench) -> NavRelposned {
    let frames = bench.frames();
    let last = frames.iter().rev().find(|frame| frame.id == NavRelposned::ID).unwrap();
    NavRelposned::parse(&last.payload).unwrap()
}

/// Reported vector from the base to the rover: north, east, down, metres.
fn vector(relposned: &NavRelposned) -> DVec3 {
    let axis = |n: usize| {
        f64::from(relposned.rel_pos_cm[n]) * 1e-2 + f64::from(relposned.rel_pos_hp_100um[n]) * 1e-4
    };
    DVec3::new(axis(0), axis(1), axis(2))
}

fn carrier(bench: &Bench) -> u8 {
    bench.pvts().last().unwrap().flags >> 6
}

/// Error of the last reported position: east, north, up, metres.
fn error_m(bench: &Bench) -> DVec3 {
    let (solution, _) = bench.device.last.as_ref().unwrap();
    let truth = bench.trajectory.state(solution.at).world_from_body.point(DVec3::ZERO);
    bench.origin.world_from_geodetic(solution.position) - truth
}

fn gga(bench: &Bench) -> Vec<String> {
    let all = bench.sentences();
    all.iter().rev().find(|s| s.address == "GNGGA").unwrap().fields.clone()
}

#[test]
fn corrections_decide() {
    let mut bench = rover(|_| {});
    bench.run(25.0);
    assert_eq!(carrier(&bench), 0, "nothing comes without corrections");
    assert_eq!(gga(&bench)[5], "1");
    assert_eq!(vector(&relposned(&bench)), DVec3::ZERO);
    correct(&mut bench, &BASE, 2, 0);
    let pvt = bench.pvts().pop().unwrap();
    assert_eq!((pvt.flags & 2, pvt.flags >> 6), (2, 0), "differential first");
    correct(&mut bench, &BASE, 3, 0);
    assert_eq!((carrier(&bench), gga(&bench)[5].as_str()), (1, "5"), "then float");
    correct(&mut bench, &BASE, 20, 0);
    let pvt = bench.pvts().pop().unwrap();
    assert_eq!((pvt.flags & 3, pvt.flags >> 6), (3, 2), "then fixed");
    assert_eq!(pvt.flags3 >> 1 & 15, 2, "a second old");
    assert!(pvt.h_acc_mm < 30, "{}", pvt.h_acc_mm);
    let gga = gga(&bench);
    assert_eq!((gga[5].as_str(), gga[12].as_str(), gga[13].as_str()), ("4", "1.0", "0077"));
    assert!(error_m(&bench).length() < 0.08, "{}", error_m(&bench));
    let relative = relposned(&bench);
    assert_eq!(relative.station, 77);
    assert_eq!(relative.flags & 0x13f, 0x117, "valid, fixed, with heading, not moving");
    let (solution, _) = bench.device.last.as_ref().unwrap();
    let truth = bench.trajectory.state(solution.at).world_from_body.point(DVec3::ZERO);
    let expected = truth - BASE.at_m;
    let expected = DVec3::new(expected.y, expected.x, -expected.z);
    // The reported vector is in the base's north-east-down frame, the expected one in the rover's. They differ by the
    // square of the baseline divided by the Earth's radius, about 0.14 m.
    assert!((vector(&relative) - expected).length() < 0.3, "{expected}");
}

#[test]
fn old_corrections_are_lost() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    correct(&mut bench, &BASE, 25, 0);
    assert_eq!(carrier(&bench), 2);
    bench.run(27.0);
    assert_eq!(carrier(&bench), 2, "27 s old");
    bench.run(10.0);
    assert_eq!((carrier(&bench), gga(&bench)[5].as_str()), (1, "5"), "37 s old");
    assert_eq!(bench.pvts().last().unwrap().flags3 >> 1 & 15, 8, "30 to 45 s");
    bench.run(30.0);
    assert_eq!((carrier(&bench), gga(&bench)[5].as_str()), (0, "1"), "67 s old");
    correct(&mut bench, &BASE, 20, 0);
    assert_eq!(carrier(&bench), 2, "it begins again");
}

#[test]
fn the_hosts_timeout_counts() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    assert!(is_ack(&bench.ask(&valset(&[item(key::CONSTR_DGNSSTO, 10)])), CfgValset::ID));
    correct(&mut bench, &BASE, 20, 0);
    assert_eq!(carrier(&bench), 2);
    bench.run(12.0);
    assert_eq!(gga(&bench)[5], "1");
}

#[test]
fn late_corrections_are_old() {
    let mut bench = rover(|_| {});
    bench.run(25.0);
    correct(&mut bench, &BASE, 20, 8_000);
    assert_eq!((carrier(&bench), gga(&bench)[12].as_str()), (2, "9.0"));
    // After a change to another base, the rover starts again as differential. Corrections that are two minutes old are
    // not used.
    let other = Base { station: 78, ..BASE };
    correct(&mut bench, &other, 2, 0);
    assert_eq!(gga(&bench)[5], "2");
    let mut bench = rover(|_| {});
    bench.run(150.0);
    correct(&mut bench, &BASE, 5, 120_000);
    assert_eq!(gga(&bench)[5], "1");
}

/// An error of the base's reported position, small or large, becomes an error of the rover's position. The baseline
/// vector stays correct.
#[test]
fn a_base_at_the_wrong_place_moves_the_rover_along() {
    for off_m in
        [DVec3::new(0.4, -0.3, 0.2), DVec3::new(2.0, -1.0, 0.5), DVec3::new(60.0, 40.0, -25.0)]
    {
        let mut bench = rover(|_| {});
        bench.run(5.0);
        correct(&mut bench, &Base { off_m, ..BASE }, 20, 0);
        assert_eq!(carrier(&bench), 2, "{off_m}");
        let error = error_m(&bench) - off_m;
        assert!(error.length() < 0.08, "{off_m}: {error}");
        let (solution, _) = bench.device.last.as_ref().unwrap();
        let truth = bench.trajectory.state(solution.at).world_from_body.point(DVec3::ZERO);
        let length = f64::from(relposned(&bench).length_cm) * 1e-2;
        assert!((length - (truth - BASE.at_m).length()).abs() < 0.1, "the vector stays");
    }
}

#[test]
fn nonsense_and_others_systems_are_refused() {
    let nonsense = Base { is_nonsense: true, ..BASE };
    let galileo = Base { only: Some(GnssSystem::Galileo), ..BASE };
    for (base, systems) in [
        (nonsense, vec![GnssSystem::Gps, GnssSystem::Galileo]),
        (galileo, vec![GnssSystem::Gps, GnssSystem::Glonass]),
    ] {
        let mut bench = rover(|settings| settings.receiver.systems.clone_from(&systems));
        bench.run(5.0);
        correct(&mut bench, &base, 20, 0);
        assert_eq!((carrier(&bench), gga(&bench)[5].as_str()), (0, "1"), "{systems:?}");
    }
    // A station that sends no position.
    let mut bench = rover(|_| {});
    bench.run(5.0);
    for _ in 0..10 {
        bench.run(1.0);
        let at = SimTime(bench.now_ns / SECOND * SECOND);
        for message in BASE.messages(&bench, at).split_off(1) {
            bench.say(&message);
        }
    }
    assert_eq!(gga(&bench)[5], "1");
}

#[test]
fn fewer_satellites_and_a_longer_way_take_longer() {
    let seconds_to_fix = |base: &Base, systems: &[GnssSystem]| {
        let mut bench = rover(|settings| settings.receiver.systems = systems.to_vec());
        bench.run(5.0);
        (1..120).find(|_| {
            correct(&mut bench, base, 1, 0);
            carrier(&bench) == 2
        })
    };
    let all = [GnssSystem::Gps, GnssSystem::Glonass, GnssSystem::Galileo, GnssSystem::Beidou];
    let four = seconds_to_fix(&BASE, &all).unwrap();
    let one = seconds_to_fix(&BASE, &all[..1]).unwrap();
    let far = Base { at_m: DVec3::new(30_000.0, 0.0, 0.0), ..BASE };
    let distant = seconds_to_fix(&far, &all).unwrap();
    assert!(four < 15 && one > 2 * four && distant > 2 * four, "{four} {one} {distant}");
    // GLONASS alone stays differential without code-phase biases (1230).
    let glonass = Base { has_biases: false, only: Some(GnssSystem::Glonass), ..BASE };
    assert_eq!(seconds_to_fix(&glonass, &all[1..2]), None);
    let beyond = Base { at_m: DVec3::new(50_000.0, 0.0, 0.0), ..BASE };
    assert_eq!(seconds_to_fix(&beyond, &all), None);
}

#[test]
fn a_moving_base_gives_the_heading() {
    let base = Base { at_m: DVec3::new(-0.6, -0.8, 0.1), moves: true, ..BASE };
    let mut bench = rover(|_| {});
    bench.run(5.0);
    correct(&mut bench, &base, 20, 0);
    let relative = relposned(&bench);
    assert_eq!(relative.flags & 0x13f, 0x137, "valid, fixed, moving, with heading");
    let heading = f64::from(relative.heading_1e5_deg) * 1e-5;
    let accuracy = f64::from(relative.acc_heading_1e5_deg) * 1e-5;
    let expected = 36.87;
    assert!(accuracy < 2.0 && (heading - expected).abs() < 3.0 * accuracy, "{heading} {accuracy}");
    let (solution, stamp) = bench.device.last.as_ref().unwrap();
    assert_eq!(relative.itow_ms, stamp.tow_ms - 1000, "of the base's instant");
    assert!(solution.horizontal_accuracy_m() > 0.3, "the position is no better");
    let status = bench.frames();
    let status = status.iter().rev().find(|frame| frame.id == NavStatus::ID).unwrap();
    assert_eq!(NavStatus::parse(&status.payload).unwrap().flags2 >> 6, 2);
}

#[test]
fn corrections_come_by_the_second_port_at_its_rate() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    let by_cable = |bench: &mut Bench, baud: u32| {
        for _ in 0..20 {
            bench.run(1.0);
            let at = SimTime(bench.now_ns / SECOND * SECOND);
            let bytes = BASE.messages(bench, at).concat();
            let signal = CableSignal::Bytes(bytes, LineSettings::eight_n_one(baud));
            bench.device.handle_cable(SimTime(bench.now_ns), &signal);
        }
        bench.run(1.0);
        carrier(bench)
    };
    assert_eq!(by_cable(&mut bench, 57_600), 0, "at another rate it hears noise");
    assert_eq!(by_cable(&mut bench, 38_400), 2);
}

#[test]
fn faults_of_corrections_act() {
    let run = |kind: GnssFault, seconds: u64| {
        let mut bench = rover(|_| {});
        bench.run(5.0);
        correct(&mut bench, &BASE, 25, 0);
        let schedule =
            Schedule { start: SimTime(bench.now_ns), duration_ns: None, period_ns: None };
        bench.device.set_faults(&[Timed { fault: 0, schedule, kind }]);
        correct(&mut bench, &BASE, seconds, 0);
        bench
    };
    let lost = run(GnssFault::CorrectionsLost, 40);
    assert_eq!((carrier(&lost), gga(&lost)[5].as_str()), (1, "5"));
    let damaged = run(GnssFault::CorrectionsDamaged, 40);
    assert_eq!(carrier(&damaged), 1);
    let late = run(GnssFault::CorrectionsLate { by_ns: 15 * SECOND }, 40);
    let age: f64 = gga(&late)[12].parse().unwrap();
    assert!(carrier(&late) == 2 && (15.0..17.0).contains(&age), "{age}");
    let offset_enu_m = [3.0, -2.0, 1.0];
    let wrong = run(GnssFault::WrongBase { offset_enu_m }, 20);
    assert_eq!(carrier(&wrong), 2);
    let error = error_m(&wrong) - DVec3::from(offset_enu_m);
    assert!(error.length() < 0.1, "{error}");
}

#[test]
fn each_message_is_told_used_or_not() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    let rxm = [item(Key(0x2091_0269), 1)];
    assert!(is_ack(&bench.ask(&valset(&rxm)), CfgValset::ID));
    let told = |bench: &mut Bench, messages: &[Vec<u8>]| -> Vec<(u16, u8)> {
        bench.sent.clear();
        for message in messages {
            bench.say(message);
        }
        bench.run(0.3);
        let frames = bench.frames();
        let all = frames.iter().filter(|frame| frame.id == RxmRtcm::ID);
        all.map(|frame| RxmRtcm::parse(&frame.payload).unwrap())
            .map(|rtcm| (rtcm.message, rtcm.flags >> 1 & 3))
            .collect()
    };
    let at = SimTime(bench.now_ns / SECOND * SECOND);
    let now = BASE.messages(&bench, at);
    let expected = [(1005, 2), (1077, 2), (1097, 2), (1127, 2), (1087, 2), (1230, 2)];
    assert_eq!(told(&mut bench, &now), expected);
    // Observations that are two hours ahead of the rover's time, and a base position at the Earth's centre.
    let old = BASE.messages(&bench, SimTime(at.0 + 7200 * SECOND));
    assert_eq!(told(&mut bench, &old[1..2]), [(1077, 1)]);
    let space = built(Rtcm::Msg1005(Msg1005T::default()));
    assert_eq!(told(&mut bench, &[space]), [(1005, 1)]);
    // A message with a wrong CRC sets bit 0 of the flags.
    let schedule = Schedule { start: SimTime(bench.now_ns), duration_ns: None, period_ns: None };
    let kind = GnssFault::CorrectionsDamaged;
    bench.device.set_faults(&[Timed { fault: 0, schedule, kind }]);
    bench.sent.clear();
    bench.say(&now[0]);
    bench.run(0.3);
    let frames = bench.frames();
    let damaged = frames.iter().find(|frame| frame.id == RxmRtcm::ID).unwrap();
    assert_eq!(RxmRtcm::parse(&damaged.payload).unwrap().flags, 1 << 1 | 1);
}

#[test]
fn a_host_chooses_the_station() {
    let choice = |filter: u64, station: u64| {
        let mut bench = rover(|_| {});
        bench.run(5.0);
        let items = [item(key::RTCM_DF003_IN_FILTER, filter), item(key::RTCM_DF003_IN, station)];
        assert!(is_ack(&bench.ask(&valset(&items)), CfgValset::ID));
        correct(&mut bench, &BASE, 3, 0);
        gga(&bench)[5].clone()
    };
    // Quality in GGA: 1 standalone, 2 differential.
    assert_eq!([choice(0, 5), choice(1, 5), choice(2, 5)], ["2", "1", "1"].map(String::from));
    assert_eq!([choice(1, 77), choice(2, 77)], ["2", "2"].map(String::from));
}

fn polled<M: Payload + Record>(bench: &mut Bench) -> M {
    let frames = bench.ask_frame(&Frame::new(M::ID, vec![]));
    let answer = frames.iter().rfind(|frame| frame.id == M::ID).unwrap();
    M::parse(&answer.payload).unwrap()
}

/// Three lists of GNSS ids, from NAV-SAT and NAV-SIG: systems with corrected satellites, systems with carrier
/// corrections, and systems with corrections of signals other than the first.
fn corrected(bench: &mut Bench) -> [Vec<u8>; 3] {
    let (sat, sig): (NavSat, NavSig) = (polled(bench), polled(bench));
    let systems = |of: &dyn Fn(&crate::wire::ubx::nav::SatInfo) -> bool| {
        let mut all: Vec<u8> = sat.satellites.iter().filter(|s| of(s)).map(|s| s.gnss_id).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    for s in &sat.satellites {
        let is_corrected = s.flags >> 17 & 1;
        assert_eq!(s.flags >> 20 & 1, is_corrected, "{s:?}");
        assert_eq!(s.flags >> 6 & 1, is_corrected, "{s:?}");
        assert!(s.flags >> 3 & 1 >= is_corrected, "only what is used is corrected: {s:?}");
        let signals = sig.signals.iter().filter(|x| (x.gnss_id, x.sv_id) == (s.gnss_id, s.sv_id));
        for signal in signals.filter(|signal| signal.sig_id == 0) {
            assert_eq!(u32::from(signal.flags >> 6 & 1), is_corrected, "{signal:?}");
            assert_eq!(u32::from(signal.flags >> 7 & 1), s.flags >> 21 & 1, "{signal:?}");
            assert_eq!(signal.correction_source, if is_corrected == 1 { 4 } else { 0 });
        }
    }
    let second = sig.signals.iter().filter(|s| s.sig_id != 0 && s.flags >> 6 & 1 == 1);
    let mut second: Vec<u8> = second.map(|s| s.gnss_id).collect();
    second.sort_unstable();
    second.dedup();
    [systems(&|s| s.flags >> 17 & 1 == 1), systems(&|s| s.flags >> 21 & 1 == 1), second]
}

#[test]
fn satellites_say_that_they_are_corrected() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    let none: [Vec<u8>; 3] = Default::default();
    assert_eq!(corrected(&mut bench), none);
    correct(&mut bench, &BASE, 2, 0);
    let all = vec![0, 2, 3, 6];
    assert_eq!(corrected(&mut bench), [all.clone(), vec![], all.clone()], "differential: codes");
    correct(&mut bench, &BASE, 25, 0);
    assert_eq!(corrected(&mut bench), [all.clone(), all.clone(), all.clone()], "fixed");
    // Without GLONASS biases only codes are corrected; with Galileo alone only Galileo is.
    let mut bench = rover(|_| {});
    bench.run(5.0);
    correct(&mut bench, &Base { has_biases: false, ..BASE }, 25, 0);
    assert_eq!(corrected(&mut bench), [all.clone(), vec![0, 2, 3], all]);
    let mut bench = rover(|_| {});
    bench.run(5.0);
    correct(&mut bench, &Base { only: Some(GnssSystem::Galileo), ..BASE }, 25, 0);
    assert_eq!(corrected(&mut bench), [vec![2], vec![2], vec![2]]);
    bench.run(70.0);
    assert_eq!(corrected(&mut bench), none, "old corrections are not used");
}

/// A rover on a line that flips bits reports the damaged messages and uses the others.
#[test]
fn damaged_messages_on_a_line_are_reported_and_lost() {
    let mut bench = rover(|_| {});
    bench.run(5.0);
    assert!(is_ack(&bench.ask(&valset(&[item(Key(0x2091_0269), 1)])), CfgValset::ID));
    // A linear congruential generator (Knuth).
    let mut state = 1_u64;
    let mut chance = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / 2_f64.powi(53)
    };
    let mut noisy = |bench: &mut Bench, seconds: u64, rate: f64| {
        let (mut sent, mut used, mut failed) = (0, 0, 0);
        for _ in 0..seconds {
            let second = bench.now_ns / SECOND + 1;
            bench.run((second * SECOND + 200 * MS - bench.now_ns) as f64 * 1e-9);
            let before = bench.frames().len();
            for mut message in BASE.messages(bench, SimTime(second * SECOND)) {
                sent += 1;
                for byte in &mut message {
                    for bit in 0..8 {
                        *byte ^= u8::from(chance() < rate) << bit;
                    }
                }
                bench.say(&message);
            }
            bench.run(0.5);
            let rtcm = bench.frames().into_iter().skip(before);
            let rtcm = rtcm.filter(|frame| frame.id == RxmRtcm::ID);
            for told in rtcm.map(|frame| RxmRtcm::parse(&frame.payload).unwrap()) {
                failed += u32::from(told.flags & 1);
                used += u32::from(told.flags >> 1 & 3 == 2);
            }
        }
        (sent, used, failed)
    };
    let (sent, used, failed) = noisy(&mut bench, 40, 5e-5);
    // About one message in six is damaged, and some damaged messages have a damaged header.
    assert!(used < sent && used > sent / 2, "{used} of {sent} used");
    assert!(failed > 5 && used + failed <= sent, "{failed} of {sent} damaged, {used} used");
    assert_eq!(carrier(&bench), 2, "the others are enough");
    assert!(error_m(&bench).length() < 0.08, "{}", error_m(&bench));
    let (_, used, failed) = noisy(&mut bench, 40, 1e-2);
    // Some of the shortest messages arrive intact.
    assert!(4 * used < failed, "{failed} damaged, {used} used");
    assert_eq!((carrier(&bench), gga(&bench)[5].as_str()), (1, "5"), "it ages");
}

#[test]
fn the_old_settings_hear_nothing_of_corrections() {
    let run = |with: bool| {
        let mut bench = rover(|settings| {
            settings.receiver.acquisition.best_fix = Some(BestFix::RtkFixed);
        });
        if with {
            correct(&mut bench, &BASE, 25, 0)
        } else {
            bench.run(25.7)
        }
        bench.bytes().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(false));
}

/// A ZED-F9P as base, with noise and multipath, sends MSM4 and its configured position from power-on.
#[test]
fn a_zed_f9p_corrects_another() {
    let mut rover = rover(|_| {});
    let mut base = Bench::new(HPG_1_32, |settings| {
        settings.sentences = Vec::new();
        settings.baud = 460_800;
        settings.messages =
            ["1005", "1074", "1084", "1094", "1124", "1230"].map(|n| format!("RTCM-{n}")).to_vec();
        settings.base_station = Some(BaseStation::Fixed(rover.origin.origin()));
    });
    base.stands();
    for _ in 0..30 {
        base.run(1.0);
        let sent: Vec<u8> = base.bytes().flat_map(|(_, bytes)| bytes.clone()).collect();
        base.sent.clear();
        rover.say(&sent);
        rover.run(1.0);
    }
    assert_eq!(carrier(&rover), 2);
    assert!(error_m(&rover).length() < 0.08, "{}", error_m(&rover));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Arbitrary bytes from a base: the receiver continues, and reports no unknown satellite.
    #[test]
    fn any_bytes_are_survived(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 2..200), 1..8),
        number in prop_oneof![Just(1005_u16), Just(1006), Just(1077), Just(1087), Just(4072)],
    ) {
        let mut bench = rover(|_| {});
        bench.run(4.0);
        for payload in &payloads {
            let mut bytes = vec![0xd3, 0, payload.len() as u8];
            bytes.extend([(number >> 4) as u8, (number << 4) as u8 | payload[1] & 15]);
            bytes.extend(&payload[2..]);
            let crc = crate::wire::checksum::crc24q(&bytes).to_be_bytes();
            bytes.extend(&crc[1..]);
            bench.say(&bytes);
        }
        bench.run(2.0);
        prop_assert_eq!(carrier(&bench), 0);
    }
}
