//! Times of a receiver's output: PPS, averaging window and output latency.

use super::super::clock::LeapSeconds;
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

/// TIM-TP precedes the pulse that it describes. It contains the second and the quantisation error of this pulse; the
/// rest of the pulse's offset is jitter.
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
        // Before the first fix there are no pulses, so the next pulse can be seconds away.
        if rise - due > SECOND {
            continue;
        }
        let second = (rise + SECOND / 2) / SECOND * SECOND;
        let gps_ns = bench.device.epoch.gps_ns(SimTime(second)) as u64;
        // Pulses are aligned to UTC, 18 s behind GPS time.
        let utc_ns = gps_ns - 18 * SECOND;
        assert_eq!(u64::from(tp.week), utc_ns / (604_800 * SECOND));
        assert_eq!(u64::from(tp.tow_ms), utc_ns % (604_800 * SECOND) / 1_000_000);
        let off_ns = *rise as f64 - second as f64;
        let said_ns = f64::from(tp.quantisation_error_ps) / 1000.0;
        assert!((off_ns - said_ns).abs() < 26.0, "{off_ns} {said_ns}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

/// A fix refers to the middle of the averaging window that ends at its epoch. Output latency delays its bytes and
/// leaves its time unchanged.
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
        // The middle of a window of 0.4 s is 0.2 s before its end: 0.3 m at 1.5 m/s, in steps of 1e-7 degrees.
        assert!((east_m - late_east_m - 0.3).abs() < 0.02, "{east_m} {late_east_m}");
    }
}

/// The time fields of all messages of an epoch, combined, equal the epoch to the nanosecond, except for the receiver's
/// clock error. Every fraction is within the limits of its field. Most periods do not divide a second evenly, and some
/// runs cross the end of a GPS week or of the year.
#[test]
fn time_and_fraction_are_the_exact_time_in_every_message() {
    const WEEK_NS: i128 = 604_800_000_000_000;
    let mut compared = 0;
    for (name, period_ms, start) in [
        ("ublox-m8n", 143, "2026-11-21T09:27:20.333Z"),
        ("ublox-m8n", 1000, "2026-11-21T23:59:36Z"),
        (F9P, 143, "2026-11-21T23:59:36.001Z"),
        (F9P, 77, "2026-12-31T23:59:54Z"),
        (F9P, 50, "2026-11-21T09:27:20Z"),
    ] {
        let mut bench = Bench::starting_at(name, start, |settings| {
            settings.sentences = Vec::new();
            let solution = if name == F9P { "NAV-PVT" } else { "NAV-SOL" };
            let names = [solution, "NAV-TIMEGPS", "NAV-TIMEUTC", "NAV-EOE"];
            settings.messages = names.map(String::from).to_vec();
            settings.period_ns = period_ms * MS;
            settings.baud = 460_800;
        });
        let epoch = bench.device.epoch;
        bench.run(12.0);
        let latency_ns = bench.device.settings.latency_ns;
        let mut at = SimTime::ZERO;
        for (due, bytes) in bench.bytes() {
            let Ok(frame) = Frame::parse(bytes) else { continue };
            let Some(Ok(message)) = Message::from_frame(&frame) else { continue };
            // Messages follow their epoch by the latency and the transmission time of earlier bytes.
            let grid = clock::next_on_grid(
                epoch,
                clock::Scale::Gps,
                SimTime(due.saturating_sub(latency_ns + 40 * MS)),
                period_ms * MS,
            );
            at = at.max(grid);
            let (gps_ns, unix_ns) = (epoch.gps_ns(at), epoch.unix_ns(at));
            match message {
                Message::NavSol(sol) if sol.flags & 0x0c == 0x0c => {
                    let told = gps(sol.week, sol.itow_ms, sol.ftow_ns);
                    assert!(told.abs_diff(gps_ns) < 200, "{name} {at:?} {sol:?}");
                    assert!(sol.ftow_ns.abs() <= 500_000, "{sol:?}");
                }
                Message::NavTimegps(time) if time.valid & 3 == 3 => {
                    let told = gps(time.week, time.itow_ms, time.ftow_ns);
                    assert!(told.abs_diff(gps_ns) < 200, "{name} {at:?} {time:?}");
                    assert!(time.ftow_ns.abs() <= 500_000, "{time:?}");
                    compared += 1;
                }
                Message::NavTimeutc(t) if t.valid & 3 == 3 => {
                    let whole = jiff::civil::date(t.year as i16, t.month as i8, t.day as i8)
                        .at(t.hour as i8, t.minute as i8, t.second as i8, 0)
                        .to_zoned(jiff::tz::TimeZone::UTC)
                        .unwrap();
                    let told = whole.timestamp().as_nanosecond() + i128::from(t.nano_ns);
                    assert!(told.abs_diff(unix_ns) < 200, "{name} {at:?} {t:?}");
                    assert!((-5_000_000..=994_999_999).contains(&t.nano_ns), "{t:?}");
                }
                Message::NavEoe(eoe) => assert!(u64::from(eoe.itow_ms) < 604_800_000),
                _ => {}
            }
        }
    }
    assert!(compared > 400, "{compared}");

    fn gps(week: i16, itow_ms: u32, ftow_ns: i32) -> i128 {
        i128::from(week) * WEEK_NS + i128::from(itow_ms) * 1_000_000 + i128::from(ftow_ns)
    }
}

/// A receiver clock error of a few ns must not push a fraction out of its field or a time into another week.
#[test]
fn times_on_the_edge_of_a_unit_stay_within_their_fields() {
    let epoch = Epoch::new("2026-11-21T23:59:41.990Z".parse().unwrap());
    // 18 leap seconds: the GPS week ends at 23:59:42 UTC.
    for at_ns in (0..20 * MS).step_by(250_000) {
        for error_ns in [-49.0, -0.4, 0.0, 0.4, 49.0] {
            let at = SimTime(at_ns);
            let stamp = Stamp::new(epoch, at, LeapSeconds::Told { inserted_on: None }, error_ns);
            let exact = epoch.gps_ns(at) + error_ns.round() as i128;
            let told = i128::from(stamp.week) * 604_800_000_000_000
                + i128::from(stamp.tow_ms) * 1_000_000
                + i128::from(stamp.tow_rest_ns);
            assert_eq!(told, exact, "{stamp:?}");
            assert!(stamp.tow_ms < 604_800_000 && stamp.tow_rest_ns.abs() <= 500_000, "{stamp:?}");
            assert!((-5_000_000..=994_999_999).contains(&stamp.nano_ns), "{stamp:?}");
        }
    }
}

/// TIM-TP uses the time scale of the pulses: UTC (factory setting of a ZED-F9P) or GPS. The fraction of a millisecond
/// is in units of 2^-32 ms.
#[test]
fn tim_tp_names_the_pulse_in_the_time_of_its_grid() {
    for (grid, leap_s) in [(0, 18_u32), (1, 0)] {
        let mut bench = Bench::new(F9P, |settings| {
            settings.messages = vec!["TIM-TP".into()];
            settings.baud = 460_800;
        });
        // 90 pulses per second are not whole milliseconds apart.
        let items = [item(key::TIMEGRID_TP1, grid), item(key::PERIOD_LOCK_TP1, 11_111)];
        assert!(is_ack(&bench.ask(&valset(&items)), CfgValset::ID));
        bench.run(12.0);
        let mut rises =
            bench.sent.iter().filter(|sent| sent.output == Output::PulsePerSecond(true));
        let mut compared = 0;
        for (due, bytes) in bench.bytes() {
            let Ok(frame) = Frame::parse(bytes) else { continue };
            if frame.id != TimTp::ID {
                continue;
            }
            let tp = TimTp::parse(&frame.payload).unwrap();
            assert_eq!(tp.flags & 1, u8::from(grid == 0));
            // TIM-TP leaves 60 ms after its epoch; its pulse is 11 ms after the epoch.
            let epoch_ns = (due - 60 * MS) / SECOND * SECOND;
            let Some(rise) = rises.find(|rise| rise.due.0 > epoch_ns) else { continue };
            let sub_ns = (u64::from(tp.tow_sub_ms) * MS) >> 32;
            let told = (u64::from(tp.tow_ms) + u64::from(leap_s) * 1000) * MS + sub_ns;
            let true_ns = bench.device.epoch.gps_ns(rise.due) as u64 % (604_800 * SECOND);
            if told.abs_diff(true_ns) < 11 * MS {
                assert!(told.abs_diff(true_ns) < 100, "{told} {true_ns}");
                compared += 1;
            }
        }
        assert!(compared >= 3, "{compared}");
    }
}

/// The example of the maker's description has week and time of week in UTC: 2002-12-09 at 07:37:31 is second 113851 of
/// week 1196. The day of the test is 1024 weeks later.
#[test]
fn pubx_04_has_the_time_of_week_of_utc() {
    let mut bench =
        Bench::starting_at("ublox-m8n", "2022-07-25T07:37:20Z", |settings| settings.baud = 115_200);
    bench.run(11.5);
    bench.sent.clear();
    bench.say(b"$PUBX,04*37\r\n");
    bench.run(0.5);
    let sentence = bench.sentences().into_iter().find(|s| s.address == "PUBX").unwrap();
    assert_eq!(sentence.fields[1..5], ["073731.00", "250722", "113851.00", "2220"]);
}

/// With an old `week_base`, an M8N and a Garmin report dates that are 1024 weeks too early.
#[test]
fn an_old_week_base_puts_the_date_back() {
    for (name, address) in [("ublox-m8n", "GNRMC"), ("garmin-18x-lvc", "GPRMC")] {
        let mut bench = Bench::new(name, |settings| settings.week_base = Some(1421));
        bench.run(6.0);
        let rmc = bench.sentences().into_iter().rfind(|s| s.address == address).unwrap();
        assert_eq!(rmc.fields[8], "070407", "{name}");
    }
}

/// Indices of the start-up messages among the byte outputs of the unit.
fn greeting(bench: &Bench) -> std::ops::Range<usize> {
    let is_text = |bytes: &[u8]| bytes.starts_with(b"$GNTXT,01,01,02,");
    let all: Vec<_> = bench.bytes().map(|(_, bytes)| is_text(bytes)).collect();
    let first = all.iter().position(|is_text| *is_text).unwrap();
    let length = all[first..].iter().take_while(|is_text| **is_text).count();
    first..first + length
}

#[test]
fn the_text_after_a_start_comes_before_the_first_epoch() {
    for name in [F9P, "ublox-m8n", "ublox-max-m10s-spg5.10"] {
        let mut bench = Bench::new(name, |settings| settings.messages = vec!["NAV-PVT".into()]);
        bench.run(3.0);
        let lines = bench.device.profile.identity.boot_text.len();
        assert_eq!(greeting(&bench), 0..lines, "{name}: with power");
        assert!(bench.bytes().next().unwrap().1.ends_with(b"www.u-blox.com*4E\r\n"));
        assert!(bench.count("GNRMC") + bench.count("GPRMC") >= 2, "{name}");
        // The epoch between the reset and the text is not sent.
        bench.run(0.95);
        bench.sent.clear();
        bench.say(&CfgRst { clear: 0, mode: 1, reserved1: 0 }.to_frame().to_bytes());
        bench.run(3.0);
        let sent: Vec<_> = bench.bytes().map(|(_, bytes)| bytes.clone()).collect();
        let text = greeting(&bench);
        assert_eq!(text.len(), lines, "{name}: after a reset");
        // Bytes that left the receiver before the reset precede the text on the line.
        let before = &sent[..text.start];
        assert!(!before.iter().any(|bytes| bytes.starts_with(&[0xb5])), "{name}: {before:?}");
    }
}
