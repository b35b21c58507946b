//! Faults of a receiver; all its messages report them consistently.

use super::*;
use crate::config::rig::schedule::Schedule;
use crate::sensors::fault::EffectKind;

/// Runs a receiver for 40 s, with a fault from 15 s to 20 s.
fn after(kind: GnssFault) -> Bench {
    let mut bench = Bench::new(F9P, |settings| {
        settings.receiver.apply(ErrorPreset::None);
        settings.messages = vec!["NAV-PVT".into(), "NAV-DOP".into()];
        settings.baud = 115_200;
    });
    let schedule =
        Schedule { start: SimTime(15 * SECOND), duration_ns: Some(5 * SECOND), period_ns: None };
    let faults = [Timed { fault: 7, schedule, kind }];
    bench.sensor = bench.sensor.clone().with_faults(&faults);
    bench.device.set_faults(&faults);
    bench.run(40.0);
    bench
}

/// The NAV-PVT of the epoch `second` seconds after the start at 09:27:20.
fn pvt(bench: &Bench, second: u32) -> NavPvt {
    let is_it = |pvt: &NavPvt| pvt.itow_ms / 1000 == 552_458 + second;
    bench.pvts().into_iter().find(is_it).unwrap_or_else(|| panic!("no epoch {second}"))
}

/// Fields of the `address` sentence with this time of day.
fn sentence(bench: &Bench, address: &str, time: &str) -> Vec<String> {
    let place = if address == "GNGLL" { 4 } else { 0 };
    let is_it = |s: &RawSentence| s.address == address && s.fields[place] == time;
    bench.sentences().into_iter().find(is_it).unwrap_or_else(|| panic!("no {time}")).fields
}

/// Number of messages with this effect; checks that they are exactly the messages that are due within these seconds.
fn touched(bench: &Bench, kind: EffectKind, seconds: std::ops::Range<u64>) -> usize {
    let marked = |t: &&Transmit| t.fault_effects.iter().any(|t| t.kind == kind && t.fault == 7);
    let all: Vec<_> = bench.sent.iter().filter(marked).collect();
    assert!(all.iter().all(|t| seconds.contains(&(t.due.0 / SECOND))), "{all:?}");
    assert!(all.iter().all(|t| t.output.bytes().is_some()));
    let bytes = bench.bytes().filter(|(due, _)| seconds.contains(&(due / SECOND)));
    assert_eq!(bytes.count(), all.len(), "every message of these epochs is marked");
    all.len()
}

#[test]
fn without_sky_it_says_what_it_says_without_a_fix() {
    let bench = after(GnssFault::Outage);
    assert!(touched(&bench, EffectKind::NoSatellite, 15..20) > 25);
    // This firmware extrapolates the last fix for two seconds.
    assert_eq!(sentence(&bench, "GNGGA", "092736.00")[5], "6");
    let gga = sentence(&bench, "GNGGA", "092739.00");
    assert_eq!(gga[1..8].join(","), ",,,,0,00,99.99");
    let rmc = sentence(&bench, "GNRMC", "092739.00");
    assert_eq!((rmc[1].as_str(), rmc[2].as_str(), rmc[11].as_str()), ("V", "", "N"));
    assert_eq!(sentence(&bench, "GNGLL", "092739.00")[5], "V");
    let (before, without, again) = (pvt(&bench, 14), pvt(&bench, 19), pvt(&bench, 30));
    assert_eq!((before.fix_type, without.fix_type, again.fix_type), (3, 0, 3));
    assert_eq!((without.num_sv, without.flags & 1), (0, 0));
    assert!(without.valid & 3 == 3, "it knows the time all the while");
    // The fix returns as after a start: HDOP must fall first.
    assert_eq!(pvt(&bench, 20).fix_type, 0);
    let pulses = |seconds: std::ops::Range<u64>| {
        let rises = |t: &&Transmit| t.output == Output::PulsePerSecond(true);
        let at = |t: &Transmit| (t.due.0 + SECOND / 2) / SECOND;
        bench.sent.iter().filter(rises).filter(|t| seconds.contains(&at(t))).count()
    };
    assert_eq!((pulses(10..15), pulses(16..20), pulses(30..35)), (5, 0, 5));
}

#[test]
fn a_jump_moves_everything_it_says() {
    let bench = after(GnssFault::Jump { offset_enu_m: [30.0, -40.0, 5.0] });
    let millimetres = ((30.0f64 * 30.0 + 40.0 * 40.0 + 25.0).sqrt() * 1e3).round() as u64;
    assert!(touched(&bench, EffectKind::Moved { millimetres }, 15..20) > 25);
    let (before, jumped, after) = (pvt(&bench, 14), pvt(&bench, 15), pvt(&bench, 20));
    // A degree of latitude is 111.2 km here, a degree of longitude 75.7 km; the robot drives east at 1.5 m/s.
    let north_m = f64::from(jumped.lat_1e7_deg - before.lat_1e7_deg) * 1e-7 * 111_180.0;
    let east_m = f64::from(jumped.lon_1e7_deg - before.lon_1e7_deg) * 1e-7 * 75_660.0;
    assert!((north_m + 40.0).abs() < 0.1 && (east_m - 31.5).abs() < 0.1, "{east_m} {north_m}");
    assert!((jumped.height_mm - before.height_mm - 5000).abs() < 10);
    assert_eq!(after.lat_1e7_deg, before.lat_1e7_deg);
    assert_eq!((jumped.fix_type, jumped.g_speed_mm_s), (3, before.g_speed_mm_s));
    let minutes = |time| sentence(&bench, "GNGGA", time)[1][2..].parse::<f64>().unwrap();
    let north_m = (minutes("092735.00") - minutes("092734.00")) / 60.0 * 111_180.0;
    assert!((north_m + 40.0).abs() < 0.1, "NMEA agrees: {north_m}");
}

#[test]
fn a_frozen_fix_stays_while_time_goes_on() {
    let bench = after(GnssFault::Frozen { time_goes_on: true });
    assert!(touched(&bench, EffectKind::Frozen, 15..20) > 25);
    let before = pvt(&bench, 14);
    for second in 15..20 {
        let frozen = pvt(&bench, second);
        assert_eq!(
            (frozen.lon_1e7_deg, frozen.lat_1e7_deg),
            (before.lon_1e7_deg, before.lat_1e7_deg)
        );
        assert_eq!(frozen.second, before.second + (second - 14) as u8);
        let time = format!("0927{}.00", 20 + second);
        let place = |time: &str| sentence(&bench, "GNGGA", time)[1..5].join(",");
        assert_eq!(place(&time), place("092734.00"));
    }
    let east_m = f64::from(pvt(&bench, 20).lon_1e7_deg - before.lon_1e7_deg) * 1e-7 * 75_660.0;
    assert!((east_m - 9.0).abs() < 0.1, "then it is where it is: {east_m}");
}

#[test]
fn a_frozen_receiver_may_repeat_its_time_too() {
    let bench = after(GnssFault::Frozen { time_goes_on: false });
    let again = |address: &str| {
        let of = bench.sentences().into_iter().filter(|s| s.address == address);
        of.filter(|s| s.fields[0] == "092734.00").collect::<Vec<_>>()
    };
    for address in ["GNGGA", "GNRMC"] {
        let all = again(address);
        assert_eq!(all.len(), 6);
        assert!(all.windows(2).all(|pair| pair[0].fields == pair[1].fields));
    }
    assert_eq!(bench.pvts().iter().filter(|pvt| pvt.itow_ms == 552_472_000).count(), 6);
    assert_eq!(pvt(&bench, 20).second, 40);
}

#[test]
fn weeks_begin_again_and_a_host_that_sets_the_first_week_mends_it() {
    let bench = after(GnssFault::WeekRollover);
    assert!(touched(&bench, EffectKind::WeeksBehind { weeks: 1024 }, 15..20) > 25);
    let date = |pvt: &NavPvt| (pvt.year, pvt.month, pvt.day, pvt.second);
    assert_eq!(date(&pvt(&bench, 14)), (2026, 11, 21, 34));
    assert_eq!(date(&pvt(&bench, 15)), (2007, 4, 7, 35));
    assert_eq!(date(&pvt(&bench, 20)), (2026, 11, 21, 40));
    let rmc = |time: &str| sentence(&bench, "GNRMC", time)[8].clone();
    assert_eq!((rmc("092736.00"), rmc("092741.00")), ("070407".into(), "211126".into()));
    // Fix and time of week are not affected.
    assert_eq!((pvt(&bench, 17).fix_type, pvt(&bench, 17).valid & 3), (3, 3));

    for name in ["garmin-18x-lvc", "ublox-m8n", F9P] {
        let schedule = Schedule { start: SimTime(3 * SECOND), duration_ns: None, period_ns: None };
        let mut bench = Bench::new(name, |settings| {
            settings.receiver.acquisition.startup_ns = 0;
            settings.receiver.acquisition.is_filtered = false;
        });
        bench.device.set_faults(&[Timed { fault: 0, schedule, kind: GnssFault::WeekRollover }]);
        bench.run(5.5);
        let told = |bench: &Bench| {
            let all = bench.sentences();
            let of = all.iter().rev().find(|s| s.address.ends_with("RMC")).unwrap();
            of.fields[8].clone()
        };
        assert_eq!(told(&bench), "070407", "{name}");
        let set = valset(&[item(key::WKNROLLOVER, 2300)]).to_frame();
        // CFG-NAVX5 that sets only the week.
        let mut navx5 = vec![0; 40];
        (navx5[0], navx5[2], navx5[3]) = (2, 0, 2);
        navx5[18..20].copy_from_slice(&2300u16.to_le_bytes());
        let set = match name {
            F9P => set,
            _ => Frame::new(MessageId::new(0x06, 0x23), navx5),
        };
        bench.say(&set.to_bytes());
        bench.run(3.0);
        let expected = if name == "garmin-18x-lvc" { "070407" } else { "211126" };
        assert_eq!(told(&bench), expected, "{name}");
    }
}
