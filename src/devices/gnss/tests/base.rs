//! A base station: navigation messages, corrections and the held position.

use super::*;
use crate::frames::Geodetic;
use crate::gnss::profile::BaseStation;
use crate::sensors::gnss::observations::Observation;
use crate::wire::gnss_stream::{self, GnssStream};
use crate::wire::ubx::rxm::RxmSfrbx;

/// A receiver without output.
fn silent() -> Bench {
    Bench::new(F9P, |settings| {
        settings.sentences = Vec::new();
        settings.baud = 921_600;
    })
}

/// Numbers of all received RTCM messages.
pub(super) fn corrections(bench: &Bench) -> Vec<u16> {
    let bytes: Vec<u8> = bench.bytes().flat_map(|(_, bytes)| bytes.clone()).collect();
    let frames = Framer::new(GnssStream).frames(&bytes);
    let number = |frame: &gnss_stream::Frame| match frame {
        gnss_stream::Frame::Rtcm3(message) => {
            Some(u16::from(message[3]) << 4 | u16::from(message[4]) >> 4)
        }
        _ => None,
    };
    frames.iter().filter_map(number).collect()
}

/// Enables a message on UART1.
fn rate(bench: &mut Bench, id: u8) {
    let set = CfgMsg::ThisPort(MessageId::new(0xf5, id), 1);
    assert!(is_ack(&bench.ask(&set), CfgMsg::ID), "{id}");
}

#[test]
fn satellites_are_read_frame_by_frame() {
    let mut bench = silent();
    assert!(is_ack(&bench.ask(&valset(&[item(Key(0x2091_0232), 1)])), CfgValset::ID));
    bench.run(45.0);
    let parts: Vec<RxmSfrbx> = bench
        .frames()
        .iter()
        .filter(|frame| frame.id == RxmSfrbx::ID)
        .map(|frame| RxmSfrbx::parse(&frame.payload).unwrap())
        .collect();
    let of_gps: Vec<_> = parts.iter().filter(|part| part.gnss_id == 0).collect();
    let number = |part: &RxmSfrbx| part.words[1] >> 8 & 7;
    let one: Vec<u32> =
        of_gps.iter().filter(|p| p.sv_id == of_gps[0].sv_id).map(|p| number(p)).collect();
    // Each subframe takes six seconds.
    assert!((6..=7).contains(&one.len()), "{one:?}");
    assert!(one.windows(2).all(|two| two[1] == two[0] % 5 + 1), "{one:?}");
}

/// Message 1005 needs a position, the other messages do not. Without the output protocol, no message is sent.
#[test]
fn a_base_sends_its_position_once_it_has_one() {
    let mut bench = silent();
    bench.run(8.0);
    for id in [0x05, 0x4a, 0x4d, 0x57, 0x61, 0x7f, 0xe6, 0xfe] {
        rate(&mut bench, id);
    }
    bench.run(1.0);
    bench.sent.clear();
    bench.run(1.0);
    assert_eq!(corrections(&bench), [1074, 1077, 1087, 1097, 1127, 1230, 4072]);
    let place = bench.origin.origin().to_ecef();
    let cm = |metres: f64| (metres * 100.0).round() as i64 as u64 & 0xffff_ffff;
    let fixed = [
        item(key::TMODE_ECEF[0], cm(place.x)),
        item(key::TMODE_ECEF[1], cm(place.y)),
        item(key::TMODE_ECEF[2], cm(place.z)),
        item(key::TMODE_FIXED_POS_ACC, 100),
        item(key::TMODE_MODE, 2),
    ];
    assert!(is_ack(&bench.ask(&valset(&fixed)), CfgValset::ID));
    bench.run(1.5);
    bench.sent.clear();
    bench.run(1.0);
    assert_eq!(corrections(&bench)[0], 1005);
    let off = [item(output_key(UART1, Protocol::Rtcm3), 0)];
    assert!(is_ack(&bench.ask(&valset(&off)), CfgValset::ID));
    bench.sent.clear();
    bench.run(2.0);
    assert!(corrections(&bench).is_empty());
}

/// A base with a position in the rig needs no commands from a host.
#[test]
fn a_base_knows_its_place_from_power_on() {
    let origin = silent().origin.origin();
    let place = Geodetic { altitude_m: origin.altitude_m - 0.00123, ..origin };
    let survey = BaseStation::Survey { least_s: 5, accuracy_m: 50.0 };
    for base in [BaseStation::Fixed(place), survey] {
        let mut bench = Bench::new(F9P, |settings| {
            settings.sentences = Vec::new();
            settings.baud = 921_600;
            settings.messages = vec!["RTCM-1005".to_owned()];
            settings.base_station = Some(base);
        });
        bench.run(4.0);
        if base == survey {
            assert!(corrections(&bench).is_empty(), "the survey goes on");
        }
        bench.run(8.0);
        assert!(corrections(&bench).contains(&1005), "{base:?}");
        let (held, _) = bench.device.held_position().unwrap();
        let off_m = (held.to_ecef() - place.to_ecef()).length();
        assert!(off_m < if base == survey { 20.0 } else { 2e-4 }, "{base:?}: {off_m} m");
    }
}

#[test]
fn a_signal_that_was_hidden_comes_back_with_other_cycles() {
    let mut bench = silent();
    bench.run(8.0);
    let lock = |bench: &Bench| -> Vec<Observation> { bench.device.observations.clone() };
    let before = lock(&bench);
    let cycles = |o: &Observation| (o.carrier_m - o.code_m) / o.carrier.wavelength_m();
    bench.run(1.0);
    let after = lock(&bench);
    let of = |all: &[Observation], one: &Observation| {
        let is_it = |o: &&Observation| {
            (o.satellite.system, o.satellite.svid, o.is_second)
                == (one.satellite.system, one.satellite.svid, one.is_second)
        };
        all.iter().find(is_it).copied()
    };
    for one in &before {
        let Some(next) = of(&after, one) else { continue };
        assert_eq!(next.lock_ns, one.lock_ns + SECOND, "{one:?}");
        assert!((cycles(&next) - cycles(one)).abs() < 40.0, "{one:?} {next:?}");
    }
    bench.device.observer.restart();
    bench.run(1.0);
    let again = lock(&bench);
    let moved = before.iter().filter_map(|one| Some((one, of(&again, one)?)));
    let slipped = moved.filter(|(one, now)| (cycles(now) - cycles(one)).abs() > 40.0).count();
    assert!(again.iter().all(|o| o.lock_ns == 0) && slipped > before.len() / 2, "{slipped}");
}

/// Two adjacent receivers share satellite clock errors (kilometres) and atmospheric delays: their pseudoranges differ
/// only by noise and multipath.
#[test]
fn errors_of_satellites_and_atmosphere_are_shared() {
    let run = |name: &str| {
        let mut bench = silent();
        bench.device.observer = crate::sensors::gnss::observations::Observer::new(
            NoiseSource::new(9, name),
            bench.device.epoch,
        );
        bench.run(8.0);
        bench.device.observations.clone()
    };
    let (here, there) = (run("base"), run("rover"));
    assert_eq!(here.len(), there.len());
    let mut differences = here.iter().zip(&there).map(|(a, b)| a.code_m - b.code_m);
    assert!(differences.all(|m| m.abs() < 8.0));
    assert_eq!(run("base"), here);
}
