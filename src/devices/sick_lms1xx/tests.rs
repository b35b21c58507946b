use crate::families::catalogue;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use super::*;
use crate::config::rig::Rig;
use crate::sensors::{Echoes, Return, Subject};
use crate::wire::cola::frame::Cola;
use crate::wire::cola::scan_data::ScanData;
use crate::wire::framer::Framer;
use proptest::prelude::*;

const PEER: Peer = Peer { connection: 0, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };

mod commands;
mod faults;
mod power;

const LOGIN: &str = "sMN SetAccessMode 03 F4724744";

/// A scanner with its output. Every pulse has two echoes: at `range_m`, and a weaker one 3 m farther away.
struct Bench {
    unit: SickLms1xx,
    range_m: f32,
    heard: HashMap<Peer, Framer<Cola>>,
    /// Time, host, dialect and content of each telegram.
    telegrams: Vec<(SimTime, Option<Peer>, Dialect, Vec<u8>)>,
    last_due: SimTime,
    asked: u64,
    /// Hosts whose connections the scanner has closed.
    hung_up: Vec<Peer>,
}

impl Bench {
    fn new(profile: &str, settings: &str) -> Self {
        let rig = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"scanner\"\nprofile = \"{profile}\"\n\
             link = {{ tcp = [\"127.0.0.1:2111\", \"127.0.0.1:2112\"] }}\n[device.settings]\n{settings}\n"
        );
        let rig = Rig::parse("rig", &rig, Path::new(""), &[], catalogue())
            .unwrap_or_else(|f| panic!("{f}"));
        let device = &rig.devices[0];
        let profile = device.profile.data::<SickLms1xxProfile>().expect("an LMS1xx");
        let settings = device.settings::<SickLms1xxSettings>().expect("an LMS1xx");
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        Self {
            unit: SickLms1xx::new(profile, settings, NoiseSource::new(1, "scanner"), epoch),
            range_m: 2.5,
            heard: HashMap::new(),
            telegrams: Vec::new(),
            last_due: SimTime::ZERO,
            asked: 0,
            hung_up: Vec::new(),
        }
    }

    fn connect(&mut self, connection: u64) -> Peer {
        let peer = Peer { connection, ..PEER };
        self.unit.handle_peer(self.unit.clock, peer, true);
        peer
    }

    /// Runs the scanner for `ms` milliseconds in steps of one millisecond; measurements are made ahead of time.
    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            let now = SimTime(self.unit.clock.0 + 1_000_000);
            while let Some(request) = self.unit.poll_request(SimTime(now.0 + 50_000_000)) {
                self.asked += 1;
                self.measure(request);
            }
            self.unit.advance(now);
            self.collect();
        }
    }

    fn measure(&mut self, request: MeasurementRequest) {
        let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
        let mut echoes = Echoes::default();
        echoes.push(Return { range_m: self.range_m, intensity: 0.5, signal: 1.0 });
        echoes.push(Return { range_m: self.range_m + 3.0, intensity: 0.25, signal: 0.5 });
        let echoes = vec![echoes; sweep.firings.len()];
        self.unit.handle_measurement(&Measurement::new(request, Outcome::Echoes(echoes)));
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(Transmit { due, output, .. }) = self.unit.poll_transmit() {
            assert!(due >= self.last_due, "due times go back");
            self.last_due = due;
            let (peer, bytes) = match output {
                Output::BytesTo(peer, bytes) => (Some(peer), bytes),
                Output::Bytes(bytes) => (None, bytes),
                Output::Disconnect(peer) => {
                    self.hung_up.push(peer);
                    continue;
                }
                other => panic!("{other:?}"),
            };
            let nobody = Peer { connection: u64::MAX, port: 9, ..PEER };
            let framer = self.heard.entry(peer.unwrap_or(nobody));
            let framer = framer.or_insert_with(|| Framer::new(Cola { max_content: 100_000 }));
            let found = framer.frames(&bytes).into_iter();
            self.telegrams.extend(found.map(|frame| (due, peer, frame.dialect, frame.content)));
            assert!(!framer.is_amid(), "a telegram is not whole");
        }
    }

    fn say(&mut self, peer: Peer, dialect: Dialect, content: &[u8]) {
        self.unit.handle_peer_input(self.unit.clock, peer, &frame::emit(dialect, content));
    }

    /// Sends a command as text; returns the answer as text, without scans before it.
    fn ask_in(&mut self, dialect: Dialect, peer: Peer, command: &str) -> String {
        let content = match dialect {
            Dialect::A => command.as_bytes().to_vec(),
            Dialect::B => Telegram::parse(Dialect::A, command.as_bytes()).unwrap().emit(Dialect::B),
        };
        let before = self.telegrams.len();
        self.say(peer, dialect, &content);
        for _ in 0..200 {
            self.run_ms(1);
            let answer = self.telegrams[before..]
                .iter()
                .find(|(_, to, _, content)| *to == Some(peer) && !content.starts_with(b"sSN"));
            if let Some((_, _, answered_in, content)) = answer {
                assert_eq!(*answered_in, dialect);
                if ScanData::is_in(content) {
                    let scan = ScanData::parse(dialect, content).unwrap();
                    return String::from_utf8(scan.emit(Dialect::A)).unwrap();
                }
                let telegram = Telegram::parse(dialect, content).unwrap();
                return String::from_utf8(telegram.emit(Dialect::A)).unwrap();
            }
        }
        "nothing".into()
    }

    fn ask(&mut self, peer: Peer, command: &str) -> String {
        self.ask_in(Dialect::A, peer, command)
    }

    /// Scans that `peer` received since the last call.
    fn scans(&mut self, peer: Option<Peer>) -> Vec<(SimTime, ScanData)> {
        let telegrams = std::mem::take(&mut self.telegrams);
        let mine = telegrams.into_iter().filter(|(_, to, ..)| *to == peer);
        mine.filter(|(.., content)| content.starts_with(b"sSN LMDscandata"))
            .map(|(due, _, dialect, content)| (due, ScanData::parse(dialect, &content).unwrap()))
            .collect()
    }
}

fn lms111() -> Bench {
    Bench::new("sick-lms111", "")
}

#[test]
fn it_says_who_it_is_in_both_dialects() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    for dialect in [Dialect::A, Dialect::B] {
        for (command, answer) in [
            ("sRN DeviceIdent", "sRA DeviceIdent 10 LMS11x_FieldEval"),
            ("sRI 0", "sRA 0 10 LMS11x_FieldEval"),
            ("sRN FirmwareVersion", "sRA FirmwareVersion 9 V1.80.1  "),
            ("sRN SerialNumber", "sRA SerialNumber 8 14123456"),
            ("sRN LocationName", "sRA LocationName B not defined"),
            ("sRN SCdevicestate", "sRA SCdevicestate 1"),
            ("sRN ODoprh", "sRA ODoprh 4122"),
            ("sRN ODpwrc", "sRA ODpwrc 608"),
            ("sRN STlms", "sRA STlms 7 0 8 00:01:00 A 01.01.1970 0 0 0"),
            ("sRN LMPscancfg", "sRA LMPscancfg 1388 1 1388 FFF92230 225510"),
            ("sRN LMPoutputRange", "sRA LMPoutputRange 1 1388 FFF92230 225510"),
            ("sRN LMDscandatacfg", "sRA LMDscandatacfg 1 0 0 1 0 0 0 0 0 0 0 1"),
            ("sRN EIHstCola", "sRA EIHstCola 0"),
            ("sRN field000", "sRA field000 0"),
            ("sRN field029", "sRA field029 0"),
            ("sRN LIDinputstate", "sRA LIDinputstate 1 29742D 0 0 0 0 1 7B2 "),
            ("sRN LFPmeanfilter", "sRA LFPmeanfilter 0 2 0"),
            ("sRN LICSpTh", "sRA LICSpTh 5"),
            ("sEN LFErec 1", "sEA LFErec 1"),
            ("sEN LIDoutputstate 1", "sEA LIDoutputstate 1"),
            ("sEN LIDinputstate 0", "sEA LIDinputstate 0"),
        ] {
            let got = bench.ask_in(dialect, peer, command);
            assert!(got.starts_with(answer), "{command}: {got}");
        }
    }
    assert_eq!(bench.ask(peer, "sRN nothing"), "sFA 3");
    assert_eq!(bench.ask(peer, "sRN FREchoFilter"), "sFA 3");
    assert_eq!(bench.ask(peer, "sMN mSCreboot"), "sFA 1");
    assert_eq!(bench.ask(peer, "sEN nothing 1"), "sFA F");
    assert_eq!(bench.ask(peer, "sXX nothing"), "sFA C");
}

#[test]
fn what_changes_settings_needs_a_login_of_the_same_host() {
    let mut bench = lms111();
    let (first, second) = (bench.connect(0), bench.connect(1));
    assert_eq!(bench.ask(first, "sWN EIHstCola 1"), "sFA A");
    assert_eq!(bench.ask(first, "sMN LMCstopmeas"), "sFA 1");
    assert_eq!(bench.ask(first, "sMN SetAccessMode 3 12345678"), "sAN SetAccessMode 0");
    assert_eq!(bench.ask(first, "sMN mEEwriteall"), "sFA 1");
    assert_eq!(bench.ask(first, LOGIN), "sAN SetAccessMode 1");
    assert_eq!(bench.ask(first, "sRN SCdevicestate"), "sRA SCdevicestate 0");
    assert_eq!(bench.ask(first, "sMN mEEwriteall"), "sAN mEEwriteall 1");
    assert_eq!(bench.ask(first, "sWN EIHstCola 1"), "sWA EIHstCola");
    assert_eq!(bench.ask(first, "sWN EIHstCola 2"), "sFA 5");
    assert_eq!(bench.ask(first, "sWN SCdevicestate 1"), "sFA A");
    assert_eq!(bench.ask(first, "sWN LICencres 3F800000"), "sWA LICencres");
    assert_eq!(bench.ask(second, "sRN EIHstCola"), "sRA EIHstCola 1");
    assert_eq!(bench.ask(second, "sWN EIHstCola 0"), "sFA A");
    assert_eq!(bench.ask(first, "sMN Run"), "sAN Run 1");
    assert_eq!(bench.ask(first, "sRN SCdevicestate"), "sRA SCdevicestate 1");
    assert_eq!(bench.ask(first, "sMN mEEwriteall"), "sFA 1");
}

#[test]
fn subscribers_get_every_scan_that_begins_after_their_command() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.run_ms(7);
    assert_eq!(bench.ask(peer, "sEN LMDscandata 1"), "sEA LMDscandata 1");
    let (answered, ..) = *bench.telegrams.last().unwrap();
    bench.telegrams.clear();
    bench.run_ms(1000);
    let scans = bench.scans(Some(peer));
    assert!((49..=50).contains(&scans.len()), "{}", scans.len());
    let field_ns = 20_000_000 * 315 / 360;
    assert!(scans[0].0.0 >= answered.0 + field_ns - 1_000_000);
    for (number, (due, scan)) in scans.iter().enumerate() {
        let [channel] = &scan.channels_16[..] else { panic!("one channel") };
        assert_eq!(channel.values, vec![2500; 541]);
        assert_eq!((channel.start_angle, channel.angular_step), (-450_000, 5000));
        assert_eq!(scan.scan_counter, scans[0].1.scan_counter.wrapping_add(number as u16));
        // The uptime at the start of the run is 60 s; the telegram leaves 1 ms after the last direction.
        let zero_us = scan.start_us - 60_000_000;
        assert_eq!(u64::from(zero_us), (due.0 - field_ns - 1_000_000) / 1000);
        assert_eq!(u64::from(scan.transmission_us), 60_000_000 + due.0 / 1000);
        assert_eq!(scan.measurement_frequency_hundred_hz, 360);
    }
    assert_eq!(bench.ask(peer, "sEN LMDscandata 0"), "sEA LMDscandata 0");
    bench.telegrams.clear();
    bench.run_ms(100);
    assert_eq!(bench.scans(Some(peer)), []);
}

#[test]
fn two_hosts_are_served_in_their_own_dialects() {
    let mut bench = lms111();
    let (first, second) = (bench.connect(0), bench.connect(1));
    bench.ask_in(Dialect::A, first, "sEN LMDscandata 1");
    bench.ask_in(Dialect::B, second, "sEN LMDscandata 1");
    bench.run_ms(200);
    let to = |peer| bench.telegrams.iter().filter(move |(_, to, ..)| *to == Some(peer));
    assert!(to(first).all(|(_, _, dialect, _)| *dialect == Dialect::A) && to(first).count() > 8);
    assert!(to(second).all(|(_, _, dialect, _)| *dialect == Dialect::B) && to(second).count() > 8);
    let now = bench.unit.clock;
    bench.unit.handle_peer(now, first, false);
    bench.telegrams.clear();
    bench.run_ms(100);
    assert_eq!(bench.scans(Some(first)), []);
}

#[test]
fn nothing_is_measured_while_nobody_listens() {
    let mut bench = lms111();
    bench.run_ms(200);
    assert_eq!(bench.asked, 0);
    let peer = bench.connect(0);
    bench.run_ms(100);
    assert!(bench.asked >= 5);
    let now = bench.unit.clock;
    bench.unit.handle_peer(now, peer, false);
    let asked = bench.asked;
    bench.run_ms(200);
    assert_eq!(bench.asked, asked);
}

#[test]
fn one_scan_is_the_newest_or_the_next() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    let text = bench.ask(peer, "sRN LMDscandata");
    assert!(text.starts_with("sRA LMDscandata 1 1 D781C0 0 0 "), "{text}");
    let tokens: Vec<_> = text.split(' ').collect();
    assert_eq!((tokens[20], tokens[25], tokens[26]), ("DIST1", "21D", "9C4"));
    bench.run_ms(100);
    bench.telegrams.clear();
    bench.ask(peer, "sRN LMDscandata");
    let (due, ..) = bench.telegrams[0];
    assert!(bench.unit.clock.0 - due.0 <= 1_000_000, "within a millisecond");
}

#[test]
fn the_last_scan_can_be_read_while_the_scanner_does_not_measure() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    bench.ask(peer, "sMN LMCstopmeas");
    assert_eq!(bench.ask(peer, "sRN LMDscandata"), "sFA 4", "there was no scan yet");
    bench.ask(peer, "sMN LMCstartmeas");
    bench.run_ms(3100);
    bench.ask(peer, "sMN LMCstopmeas");
    let last = bench.ask(peer, "sRN LMDscandata");
    assert!(last.starts_with("sRA LMDscandata 1 1 D781C0 0 0 "), "{last}");
    for command in ["sMN LMCstandby", "sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000"] {
        bench.ask(peer, command);
        bench.run_ms(500);
        assert_eq!(bench.ask(peer, "sRN LMDscandata"), last, "{command}");
    }
    bench.ask(peer, "sMN LMCstartmeas");
    // The scanner needs half a second, and its first telegram leaves 36 ms later.
    bench.run_ms(520);
    let next = bench.ask(peer, "sRN LMDscandata");
    assert_eq!(next.split(' ').nth(25), Some("439"), "a scan in the new mode: {next}");
}

#[test]
fn telegrams_and_scans_are_counted_separately() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    bench.ask(peer, "sWN LMDscandatacfg 1 0 0 1 0 0 0 0 0 0 0 5");
    bench.ask(peer, "sEN LMDscandata 1");
    bench.telegrams.clear();
    bench.run_ms(500);
    bench.ask(peer, "sMN LMCstopmeas");
    let before = bench.scans(Some(peer));
    assert!(before.len() >= 4, "{}", before.len());
    let step = |one: &ScanData, other: &ScanData| {
        (other.telegram_counter - one.telegram_counter, other.scan_counter - one.scan_counter)
    };
    assert!(before.windows(2).all(|pair| step(&pair[0].1, &pair[1].1) == (1, 5)));
    // Scans are not counted while the motor is stopped.
    bench.run_ms(6000);
    bench.ask(peer, "sMN LMCstartmeas");
    bench.run_ms(3500);
    let after = bench.scans(Some(peer));
    let (telegrams, scans) = step(&before.last().unwrap().1, &after[0].1);
    assert_eq!(telegrams, 1);
    assert!(scans <= 10, "{scans}");
}

#[test]
fn the_motor_takes_its_time() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    bench.ask(peer, "sEN LMDscandata 1");
    let state = |bench: &mut Bench| {
        let answer = bench.ask(peer, "sRN STlms");
        answer.strip_prefix("sRA STlms ").unwrap().split(' ').next().unwrap().to_owned()
    };
    for (command, after, wait_ms) in [("sMN LMCstopmeas", "3", 3000), ("sMN LMCstandby", "4", 500)]
    {
        assert!(bench.ask(peer, command).ends_with(" 0"));
        assert_eq!(state(&mut bench), after);
        bench.telegrams.clear();
        bench.run_ms(300);
        assert_eq!(bench.scans(Some(peer)), []);
        assert_eq!(bench.ask(peer, "sMN LMCstartmeas"), "sAN LMCstartmeas 0");
        assert_eq!(state(&mut bench), "5");
        assert_eq!(bench.ask(peer, "sRN SCdevicestate"), "sRA SCdevicestate 0");
        bench.telegrams.clear();
        bench.run_ms(wait_ms + 100);
        assert_eq!(state(&mut bench), "7");
        assert!(!bench.scans(Some(peer)).is_empty(), "the subscription lives on");
    }
    let counters: Vec<u16> = {
        bench.run_ms(100);
        bench.scans(Some(peer)).iter().map(|(_, scan)| scan.scan_counter).collect()
    };
    assert!(counters.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn the_scan_can_be_changed_as_far_as_the_scanner_goes() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    let set = "sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000";
    assert_eq!(bench.ask(peer, set), "sFA 1");
    bench.ask(peer, LOGIN);
    for (command, result) in [
        ("sMN mLMPsetscancfg +3000 +1 +2500 -450000 +2250000", 1),
        ("sMN mLMPsetscancfg +5000 +1 +2500 -450000 +2250000", 2),
        ("sMN mLMPsetscancfg +5000 +1 +2500 -900000 +2700000", 3),
        ("sMN mLMPsetscancfg +5000 +1 +5000 -900000 +2700000", 4),
        ("sMN mLMPsetscancfg +5000 +2 +5000 -450000 +2250000", 5),
    ] {
        let expected = format!("sAN mLMPsetscancfg {result} 1388 1 1388 FFF92230 225510");
        assert_eq!(bench.ask(peer, command), expected);
    }
    let answer = "sAN mLMPsetscancfg 0 9C4 1 9C4 FFF92230 225510";
    assert_eq!(bench.ask(peer, set), answer);
    bench.ask(peer, "sEN LMDscandata 1");
    bench.telegrams.clear();
    bench.run_ms(1400);
    let scans = bench.scans(Some(peer));
    assert!((8..=10).contains(&scans.len()), "{}", scans.len());
    let channel = &scans[0].1.channels_16[0];
    assert_eq!((channel.values.len(), channel.angular_step), (1081, 2500));
    for pair in scans.windows(2) {
        assert_eq!(pair[1].1.start_us - pair[0].1.start_us, 40_000);
    }
    // Setting the same mode again disturbs nothing.
    assert_eq!(bench.ask(peer, set), answer);
    bench.telegrams.clear();
    bench.run_ms(100);
    assert!(bench.scans(Some(peer)).len() >= 2);
}

#[test]
fn the_output_range_narrows_scans() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    assert_eq!(bench.ask(peer, "sWN LMPoutputRange 1 1388 FFF24460 2932E0"), "sFA 4");
    assert_eq!(bench.ask(peer, "sWN LMPoutputRange 1 1389 0 0"), "sWA LMPoutputRange");
    assert_eq!(bench.ask(peer, "sWN LMPoutputRange 1 1 0 0"), "sFA 5");
    // A driver sends this for the whole field after conversion to radians and back.
    assert_eq!(bench.ask(peer, "sWN LMPoutputRange 1 1388 FFF92233 22550D"), "sWA LMPoutputRange");
    let whole = "sRA LMPoutputRange 1 1388 FFF92230 225510";
    assert_eq!(bench.ask(peer, "sRN LMPoutputRange"), whole);
    assert_eq!(bench.ask(peer, "sWN LMPoutputRange 1 1388 0 1B7740"), "sWA LMPoutputRange");
    bench.ask(peer, "sEN LMDscandata 1");
    bench.telegrams.clear();
    bench.run_ms(100);
    let scans = bench.scans(Some(peer));
    let channel = &scans[0].1.channels_16[0];
    assert_eq!((channel.start_angle, channel.values.len()), (0, 361));
}

#[test]
fn telegrams_hold_what_was_asked_for() {
    let mut bench = Bench::new("sick-lms511", "clock = \"utc\"\nlocation_name = \"front\"");
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    for invalid in ["1 0 2 0 0 0 0 0 0 0 0 1", "1 0 0 0 0 0 0 0 0 0 0 0"] {
        assert_eq!(bench.ask(peer, &format!("sWN LMDscandatacfg {invalid}")), "sFA 5");
    }
    bench.ask(peer, "sEN LMDscandata 1");
    let configured = |bench: &mut Bench, config: &str, filter: u8| {
        bench.ask(peer, &format!("sWN FREchoFilter {filter}"));
        assert_eq!(bench.ask(peer, &format!("sWN LMDscandatacfg {config}")), "sWA LMDscandatacfg");
        bench.telegrams.clear();
        bench.run_ms(200);
        bench.scans(Some(peer)).remove(1).1
    };
    let names = |scan: &ScanData| {
        let names = |name: &[u8; 5]| String::from_utf8(name.to_vec()).unwrap();
        let words = scan.channels_16.iter().map(|channel| names(&channel.name));
        let bytes = scan.channels_8.iter().map(|channel| names(&channel.name) + "/8");
        words.chain(bytes).collect::<Vec<_>>().join(" ")
    };
    let scan = configured(&mut bench, "1F 0 1 0 0 0 0 0 0 0 1 1", 2);
    assert_eq!(names(&scan), "DIST1 RSSI1/8");
    assert_eq!((scan.channels_16[0].values[0], scan.channels_8[0].values[0]), (5500, 64));
    let time = scan.trailer.clone().unwrap().time.unwrap();
    assert_eq!((time.year, time.month, time.day, time.hour), (2026, 6, 1, 12));
    assert_eq!((scan.version, scan.digital_outputs), (0, [0, 0]));

    let scan = configured(&mut bench, "1F 0 1 1 0 1 0 1 1 1 0 1", 1);
    assert_eq!(names(&scan), "DIST1 DIST2 DIST3 DIST4 DIST5 RSSI1 RSSI2 RSSI3 RSSI4 RSSI5");
    let firsts: Vec<_> = scan.channels_16.iter().map(|channel| channel.values[0]).collect();
    assert_eq!(firsts, [2500, 5500, 0, 0, 0, 32767, 16384, 0, 0, 0]);
    assert_eq!(scan.encoders.len(), 1);
    let trailer = scan.trailer.unwrap();
    assert_eq!(trailer.device_name.as_deref(), Some(&b"front"[..]));
    assert_eq!((trailer.comment, trailer.position.is_some()), (Some(Vec::new()), true));

    let scan = configured(&mut bench, "5 0 0 0 0 0 0 0 0 0 0 1", 0);
    assert_eq!(names(&scan), "DIST1");

    bench.ask(peer, "sWN LMDscandatacfg 1 0 0 0 0 0 0 0 0 0 0 5");
    bench.telegrams.clear();
    bench.run_ms(1000);
    let scans = bench.scans(Some(peer));
    assert!((9..=10).contains(&scans.len()));
    assert!(scans.iter().all(|(_, scan)| scan.scan_counter % 5 == 0));
}

/// The manual of the LMS500 calls the first field reserved, 00, and the last echo the default.
#[test]
fn an_lms5xx_needs_no_channels_and_sends_the_last_echo() {
    const DRIVER: &str = "sWN LMDscandatacfg 00 00 1 0 0 0 00 0 0 0 1 1";
    let mut bench = Bench::new("sick-lms511", "");
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    assert_eq!(bench.ask(peer, "sRN FREchoFilter"), "sRA FREchoFilter 2");
    assert_eq!(bench.ask(peer, DRIVER), "sWA LMDscandatacfg");
    bench.ask(peer, "sEN LMDscandata 1");
    for (filter, channels, first) in [(2, 1, 5500), (0, 1, 2500), (1, 5, 2500)] {
        bench.ask(peer, &format!("sWN FREchoFilter {filter}"));
        bench.telegrams.clear();
        bench.run_ms(200);
        let scan = bench.scans(Some(peer)).remove(1).1;
        assert_eq!((scan.channels_16.len(), scan.channels_8.len()), (channels, channels));
        assert_eq!(scan.channels_16[0].values[0], first);
    }
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    assert_eq!(bench.ask(peer, DRIVER), "sFA 5");
}

#[test]
fn distances_that_do_not_fit_are_none() {
    for (scale, range_m, expected) in
        [(1, 65.5, 65_500), (1, 65.6, 0), (2, 70.0, 35_000), (1, 0.0004, 0)]
    {
        let settings = format!("scale_factor = {scale}\necho_filter = \"first\"");
        let mut bench = Bench::new("sick-lms511", &settings);
        bench.range_m = range_m;
        let peer = bench.connect(0);
        bench.ask(peer, "sEN LMDscandata 1");
        bench.run_ms(100);
        let channel = &bench.scans(Some(peer))[0].1.channels_16[0];
        assert_eq!((channel.values[0], channel.scale_factor()), (expected, scale as f32));
    }
}

#[test]
fn a_stream_from_power_on_needs_no_host() {
    let mut bench = Bench::new("sick-lms111", "power_on_stream = \"cola-b\"\nstart_up_s = 0.3");
    assert_eq!(bench.unit.nominal_rate_hz(), 50.0);
    bench.run_ms(1300);
    let scans = bench.scans(None);
    assert!((49..=50).contains(&scans.len()), "{}", scans.len());
    assert_eq!(u64::from(scans[0].1.start_us), 300_000);
    let peer = bench.connect(0);
    bench.run_ms(200);
    assert!(
        bench
            .telegrams
            .iter()
            .all(|(_, to, dialect, _)| { *to == Some(peer) && *dialect == Dialect::B })
    );
    assert!(bench.scans(Some(peer)).len() >= 8);
    assert_eq!(lms111().unit.nominal_rate_hz(), 0.0);
}

#[test]
fn a_starting_scanner_is_silent() {
    let mut bench = Bench::new("sick-lms111", "start_up_s = 10.0");
    let peer = bench.connect(0);
    assert_eq!(bench.ask(peer, "sRN SCdevicestate"), "nothing");
    bench.run_ms(10_000);
    assert_eq!(bench.ask(peer, "sRN SCdevicestate"), "sRA SCdevicestate 1");
}

#[test]
fn only_the_configured_dialect_is_heard_where_that_is_so() {
    let mut bench = Bench::new("sick-lms511", "dialects = \"configured\"");
    let peer = bench.connect(0);
    assert_eq!(bench.ask_in(Dialect::B, peer, "sRN SCdevicestate"), "nothing");
    assert_eq!(bench.ask(peer, LOGIN), "sAN SetAccessMode 1");
    assert_eq!(bench.ask(peer, "sWN EIHstCola 1"), "sWA EIHstCola");
    // The new dialect applies to later connections.
    assert_eq!(bench.ask(peer, "sMN Run"), "sAN Run 1");
    let next = bench.connect(1);
    assert_eq!(bench.ask(next, "sRN SCdevicestate"), "nothing");
    assert_eq!(bench.ask_in(Dialect::B, next, "sRN SCdevicestate"), "sRA SCdevicestate 1");
}

#[test]
fn a_fault_shows_in_state_and_telegrams() {
    for (status, bytes, state) in [
        ("error", [0, 1], "2"),
        ("pollution-warning", [0, 2], "1"),
        ("pollution-error", [0, 4], "1"),
    ] {
        let mut bench = Bench::new("sick-lms111", &format!("status = \"{status}\""));
        let peer = bench.connect(0);
        assert_eq!(bench.ask(peer, "sRN SCdevicestate"), format!("sRA SCdevicestate {state}"));
        bench.ask(peer, "sEN LMDscandata 1");
        bench.run_ms(100);
        assert_eq!(bench.scans(Some(peer))[0].1.status, bytes);
    }
}

#[test]
fn scans_that_come_too_late_do_not_upset_the_order() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    bench.ask(peer, "sEN LMDscandata 1");
    let mut late = Vec::new();
    let horizon = SimTime(bench.unit.clock.0 + 200_000_000);
    while let Some(request) = bench.unit.poll_request(horizon) {
        late.push(request);
    }
    assert!(late.len() >= 4);
    let now = SimTime(horizon.0 + 500_000_000);
    bench.unit.advance(now);
    bench.collect();
    // The first request was revoked.
    for request in late.into_iter().skip(1) {
        bench.measure(request);
    }
    let scans = bench.scans(Some(peer));
    assert!(scans.len() >= 3);
    assert!(scans.windows(2).all(|pair| pair[1].1.scan_counter > pair[0].1.scan_counter));
}

#[test]
fn directions_are_those_of_the_mirror() {
    let mut bench =
        Bench::new("sick-lms511", "scan_frequency_hz = 25\nangular_resolution_deg = 0.1667");
    bench.connect(0);
    let request = bench.unit.poll_request(SimTime(100_000_000)).unwrap();
    let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
    assert_eq!(sweep.firings.len(), 1141);
    let azimuth =
        |index: usize| sweep.azimuth_at(sweep.firings[index].offset_ns.into()).to_degrees();
    // -5 degrees is an azimuth of 95 degrees clockwise from forward; the last azimuth is 185 degrees.
    assert!((azimuth(0) - 95.0).abs() < 1e-9);
    assert!((azimuth(1140) + 95.0).abs() < 1e-4, "{}", azimuth(1140));
    // From -90 to -5 degrees, with 40 ms per rotation.
    assert_eq!(request.start.0, 40_000_000 * 85 / 360);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Hostile input in pieces of any size: no panic, bounded queues, and the next command is answered.
    #[test]
    fn hostile_hosts_do_no_harm(
        pieces in prop::collection::vec(
            (0..3u64, 0..30u64, any::<bool>(), prop_oneof![
                prop::collection::vec(any::<u8>(), 0..400),
                prop::sample::select(vec![
                    LOGIN, "sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000", "sMN LMCstopmeas",
                    "sMN LMCstartmeas", "sMN LMCstandby", "sMN Run", "sEN LMDscandata 1",
                    "sWN LMPoutputRange 1 1388 0 5000", "sWN LMPoutputRange 1 1388 0 0",
                    "sWN LMDscandatacfg 3 0 1 1 0 1 0 1 1 1 1 2", "sRN LMDscandata", "sRN STlms",
                    "sWN LMDscandatacfg 3 0 1 0 0 0 0 0 0 0 0 C350", "sEN LMDscandata 0",
                ]).prop_map(|text| frame::emit(Dialect::A, text.as_bytes())),
            ]),
            1..60),
    ) {
        let mut bench = lms111();
        for (connection, ms, comes_or_goes, bytes) in pieces {
            let peer = Peer { connection, ..PEER };
            let now = bench.unit.clock;
            if comes_or_goes && ms % 4 == 0 {
                bench.unit.handle_peer(now, peer, ms % 8 == 0);
            } else {
                bench.unit.handle_peer_input(now, peer, &bytes);
            }
            bench.run_ms(ms);
            bench.telegrams.clear();
            prop_assert!(bench.unit.ahead.len() < 10 && bench.unit.asked.len() < 10);
            prop_assert!(bench.unit.clients.len() <= 3);
        }
        let peer = bench.connect(7);
        prop_assert!(bench.ask(peer, "sRN SCdevicestate").starts_with("sRA SCdevicestate "));
    }

    /// The output does not depend on the time steps.
    #[test]
    fn steps_do_not_matter(steps in prop::collection::vec(1..40_000_000u64, 1..40)) {
        let told = |steps: &[u64]| {
            let mut bench = lms111();
            let peer = bench.connect(0);
            bench.say(peer, Dialect::A, LOGIN.as_bytes());
            bench.say(peer, Dialect::A, b"sEN LMDscandata 1");
            bench.say(peer, Dialect::A, b"sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000");
            let end: u64 = 800_000_000;
            let mut now = 0;
            let mut steps = steps.iter().cycle();
            while now < end {
                now = (now + steps.next().unwrap()).min(end);
                bench.unit.advance(SimTime(now));
                bench.collect();
            }
            bench.telegrams
        };
        prop_assert_eq!(told(&steps), told(&[1_000_000]));
    }
}
