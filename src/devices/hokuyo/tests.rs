//! Tests of dialogues with a scanner; separate files test the values of scans, and faults.

mod faults;
mod values;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use super::*;
use crate::commands::{Conduct, constants_hold, variants};
use crate::config::rig::Rig;
use crate::families::catalogue;
use crate::sensors::receiver::ReceiverSetting;
use crate::sensors::{Echoes, Return, Subject};
use crate::wire::framer::Framer;
use crate::wire::scip::coding::decode;
use crate::wire::scip::message::{Messages, Status};
use crate::wire::scip::scan::{ScanData, ScanFormat};

const MS: u64 = 1_000_000;
const PEER: Peer = Peer { connection: 1, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };
const ONE: ScanFormat = ScanFormat { characters: 3, has_intensity: false, has_echoes: false };
const ALL: ScanFormat = ScanFormat { characters: 3, has_intensity: true, has_echoes: true };

/// A scanner that measures two echoes in every direction, at 2.5 m and at 5.5 m.
struct Bench {
    unit: Hokuyo,
    /// Time, host and content of each message.
    said: Vec<(SimTime, Option<Peer>, Message)>,
    closed: Vec<Peer>,
    /// Start time and number of pulses of each measurement.
    measured: Vec<(SimTime, usize)>,
    effects: Vec<FaultEffect>,
}

fn unit(profile: &str, settings: &str, change: impl FnOnce(&mut HokuyoProfile)) -> Hokuyo {
    let serial = matches!(profile, "hokuyo-urg04lx" | "hokuyo-utm30lx");
    let link = if serial { "pty = \"scanner\"" } else { "tcp = \"127.0.0.1:10940\"" };
    let rig = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"scanner\"\nprofile = \"{profile}\"\nlink = {{ {link} }}\n\
         [device.settings]\n{settings}\n"
    );
    let rig =
        Rig::parse("rig", &rig, Path::new(""), &[], catalogue()).unwrap_or_else(|f| panic!("{f}"));
    let device = &rig.devices[0];
    let mut profile = device.profile.data::<HokuyoProfile>().expect("a Hokuyo").clone();
    change(&mut profile);
    let settings = device.settings::<HokuyoSettings>().expect("a Hokuyo");
    Hokuyo::new(&profile, settings, NoiseSource::new(1, "scanner"))
}

impl Bench {
    fn of(unit: Hokuyo) -> Self {
        Self {
            unit,
            said: Vec::new(),
            closed: Vec::new(),
            measured: Vec::new(),
            effects: Vec::new(),
        }
    }

    fn new(profile: &str, settings: &str) -> Self {
        Self::of(unit(profile, settings, |_| {}))
    }

    /// A scanner with a connected host.
    fn connected(profile: &str, settings: &str) -> Self {
        let mut bench = Self::new(profile, settings);
        bench.unit.handle_peer(SimTime::ZERO, PEER, true);
        bench
    }

    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            let now = SimTime(self.unit.now.0 + MS);
            while let Some(request) = self.unit.poll_request(SimTime(now.0 + 50 * MS)) {
                let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
                let mut echoes = Echoes::default();
                echoes.push(Return { range_m: 2.5, intensity: 0.5, signal: 1.0 });
                echoes.push(Return { range_m: 5.5, intensity: 0.25, signal: 0.5 });
                let echoes = vec![echoes; sweep.firings.len()];
                self.measured.push((request.start, echoes.len()));
                let outcome = Outcome::Echoes(echoes);
                self.unit.handle_measurement(&Measurement::new(request, outcome));
            }
            self.unit.advance(now);
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(transmit) = self.unit.poll_transmit() {
            let (peer, bytes) = match transmit.output {
                Output::BytesTo(peer, bytes) => (Some(peer), bytes),
                Output::Bytes(bytes) => (None, bytes),
                Output::Disconnect(peer) => {
                    self.closed.push(peer);
                    continue;
                }
                _ => continue,
            };
            let mut found = Framer::new(Messages).frames(&bytes);
            assert_eq!(found.len(), 1, "one message at a time: {bytes:?}");
            self.effects.extend(transmit.fault_effects);
            self.said.push((transmit.due, peer, found.remove(0)));
        }
    }

    fn send(&mut self, line: &str) {
        let bytes = format!("{line}\n");
        match self.unit.uart {
            Some(_) => self.unit.handle_input(self.unit.now, bytes.as_bytes()),
            None => self.unit.handle_peer_input(self.unit.now, PEER, bytes.as_bytes()),
        }
    }

    /// Sends a line; returns the status of the answer, which arrives within some milliseconds.
    fn ask(&mut self, line: &str) -> String {
        self.said.clear();
        self.send(line);
        self.run_ms(2);
        let answer = self.said.iter().find(|(_, _, message)| message.echo == line.as_bytes());
        status(&answer.unwrap_or_else(|| panic!("no answer to {line}")).2)
    }

    fn texts(&self) -> Vec<String> {
        let (_, _, message) = self.said.last().expect("an answer");
        message.lines.iter().map(|line| String::from_utf8_lossy(line.text()).into_owned()).collect()
    }

    /// Number of received scans.
    fn scans(&self) -> usize {
        self.said.iter().filter(|(_, _, message)| status(message) == "99").count()
    }
}

fn status(message: &Message) -> String {
    match message.status {
        Status::Code(code) => String::from_utf8_lossy(&code).into_owned(),
        Status::Scip1(code) => char::from(code).to_string(),
    }
}

#[test]
fn the_mirror_turns_counter_clockwise_at_the_steps_own_times() {
    let unit = unit("hokuyo-utm30lx-ew", "", |_| {});
    let turning = &unit.turning;
    let request = turning.request(7, 3, 0..=1080, ReceiverSetting::default());
    let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
    // Revolutions begin at the rear; step 0 is 45 degrees later.
    assert_eq!(turning.begins(3), SimTime(75 * MS));
    assert_eq!(request.start, SimTime(78 * MS + 125_000));
    assert_eq!(sweep.firings.len(), 1081);
    assert_eq!(sweep.firings[1].offset_ns, 17_361);
    assert_eq!(sweep.firings[1080].offset_ns, 18_750_000);
    let azimuth = |step: usize| sweep.azimuth_at(sweep.firings[step].offset_ns.into()).to_degrees();
    // Azimuths are clockwise from forward; step 0 is on the right.
    for (step, degrees) in [(0, 135.0), (540, 0.0), (1080, -135.0)] {
        assert!((azimuth(step) - degrees).abs() < 1e-4, "{step}: {}", azimuth(step));
    }
    assert_eq!(turning.ends(3), SimTime(96 * MS + 875_000));
    assert_eq!(turning.first_from(SimTime(78 * MS + 125_000)), 3);
    assert_eq!(turning.first_from(SimTime(78 * MS + 125_001)), 4);
}

#[test]
fn the_clock_has_24_bits_and_may_drift() {
    let wraps = "uptime_s = 16777.2159\nclock = { drift_ppm = 100.0 }";
    let unit = unit("hokuyo-utm30lx-ew", wraps, |_| {});
    assert_eq!(unit.clock.ms(SimTime(0)), (1 << 24) - 1);
    assert_eq!(unit.clock.ms(SimTime(MS / 10)), 0);
    // A drift of 100 ppm is 1 ms in 10 s.
    assert_eq!(unit.clock.ms(SimTime(10_000 * MS + MS / 10)), 10_001);
    assert_eq!(unit.clock.next_tick(SimTime(0), 5 * MS).0 % 1000, 0);
    let mut bench = Bench::of(unit);
    bench.unit.handle_peer(SimTime::ZERO, PEER, true);
    bench.run_ms(5000);
    assert_eq!(bench.ask("TM1"), "00");
    let (before, text) = (decode(bench.texts()[0].as_bytes()).unwrap(), "RS");
    assert!((4999..5003).contains(&before), "{before}");
    assert_eq!(bench.ask(text), "00");
    bench.run_ms(10);
    assert_eq!(bench.ask("TM1"), "00");
    assert!(decode(bench.texts()[0].as_bytes()).unwrap() < 20);
}

#[test]
fn only_what_will_be_sent_is_measured() {
    let mut bench = Bench::connected("hokuyo-utm30lx-ew", "");
    assert_eq!(bench.ask("BM"), "00");
    bench.run_ms(500);
    assert_eq!(bench.measured, []);
    bench.send("GD0100020001");
    bench.run_ms(100);
    assert_eq!(bench.measured.len(), 1);
    assert_eq!(bench.measured[0].1, 101);
    bench.measured.clear();
    bench.said.clear();
    bench.send("MD0000108001203");
    bench.run_ms(1000);
    assert_eq!((bench.scans(), bench.measured.len()), (3, 3));
    // Every third revolution is measured, at its own time.
    assert_eq!(bench.measured[1].0.0 - bench.measured[0].0.0, 75 * MS);
    let (due, to, last) = bench.said.last().unwrap();
    assert_eq!(*to, Some(PEER));
    let data = ScanData::parse(ONE, &last.lines).unwrap();
    let (start, pulses) = bench.measured[2];
    assert_eq!(pulses, 1081);
    assert_eq!(u64::from(data.time_ms), 60_000 + start.0 / MS);
    assert_eq!(due.0, start.0 + 18_750_000 + 1_500_000);
    assert_eq!(bench.ask("%ST"), "00");
    assert_eq!(bench.texts(), ["000"]);
}

#[test]
fn measurements_that_were_given_up_are_replaced() {
    let mut bench = Bench::connected("hokuyo-utm30lx-ew", "");
    bench.send("MD0000108001003");
    bench.unit.advance(SimTime(MS));
    // The first two requests get no measurement.
    for _ in 0..2 {
        assert!(bench.unit.poll_request(SimTime(u64::MAX)).is_some());
    }
    bench.run_ms(400);
    let echoes: Vec<_> = bench
        .said
        .iter()
        .map(|(_, _, message)| String::from_utf8_lossy(&message.echo).into_owned())
        .collect();
    assert_eq!(echoes[1..], ["MD0000108001002", "MD0000108001001", "MD0000108001000"]);
    // If the measurement of a single scan is given up, the host receives only the acknowledgement (status 00).
    assert_eq!(bench.ask("BM"), "00");
    bench.send("GD0000108001");
    bench.unit.advance(SimTime(bench.unit.now.0 + MS));
    assert!(bench.unit.poll_request(SimTime(u64::MAX)).is_some());
    assert!(bench.unit.poll_request(SimTime(u64::MAX)).is_none());
    bench.said.clear();
    bench.run_ms(1200);
    let statuses: Vec<String> = bench.said.iter().map(|(_, _, message)| status(message)).collect();
    assert_eq!(statuses, ["00"]);
}

#[test]
fn a_slow_line_leaves_scans_out() {
    // 2.2 kB at 19200 baud take 1.15 s; a revolution takes 0.1 s.
    let mut bench = Bench::new("hokuyo-urg04lx", "");
    bench.send("MD0044072501000");
    bench.run_ms(12_000);
    let scans = bench.scans();
    assert!((9..=10).contains(&scans), "{scans}");
    assert!(bench.measured.len() <= scans + 2, "{} for {scans}", bench.measured.len());
    // `SS` sets a rate that is fast enough for every scan.
    assert_eq!(bench.unit.uart.as_ref().unwrap().line().baud, 19_200);
    bench.send("QT");
    bench.run_ms(3000);
    bench.said.clear();
    bench.send("SS750000");
    bench.run_ms(100);
    assert_eq!(bench.unit.uart.as_ref().unwrap().line().baud, 750_000);
    bench.said.clear();
    bench.send("MD0044072501000");
    bench.run_ms(2050);
    assert!((19..=20).contains(&bench.scans()), "{}", bench.scans());
}

#[test]
fn a_reset_restores_the_bit_rate_of_power_on() {
    let mut bench = Bench::new("hokuyo-urg04lx", "baud_rate = 750000");
    for (command, baud) in [("SS115200", 115_200), ("RS", 750_000), ("RS", 750_000)] {
        assert_eq!(bench.ask(command), "00");
        assert_eq!(bench.unit.uart.as_ref().unwrap().line().baud, baud, "{command}");
        bench.run_ms(50);
    }
}

#[test]
fn bit_rates_have_no_effect_on_usb() {
    let mut unit = unit("hokuyo-urg04lx", "", |_| {});
    unit.connect_by_usb();
    let mut bench = Bench::of(unit);
    for (command, baud) in [("SS115200", 115_200), ("RS", 19_200)] {
        assert_eq!(bench.ask(command), "00");
        assert_eq!(bench.ask("II"), "00");
        let rate = format!("SBPS:{baud}[bps]<-Default setting by user");
        assert!(bench.texts().contains(&rate), "{command}");
        bench.said.clear();
        bench.send("MD0044072501000");
        bench.run_ms(2050);
        assert!((19..=20).contains(&bench.scans()), "{command}: {}", bench.scans());
        bench.send("QT");
        bench.run_ms(50);
    }
}

#[test]
fn a_state_has_the_words_of_the_product() {
    for (profile, commands, text) in [
        ("hokuyo-urg04lx", "", "MESM:IDLE"),
        ("hokuyo-urg04lx", "BM", "MESM:Measuring by Normal Mode"),
        ("hokuyo-urg04lx", "BM HS1", "MESM:Measuring by Sensitive Mode"),
        ("hokuyo-ust10lx", "", "MESM:Measuring by Sensitive Mode"),
        ("hokuyo-ust10lx", "BM", "MESM:Measuring by Sensitive Mode"),
        ("hokuyo-ust20lx", "", "SBPS:Ethernet 100[Mbps]"),
    ] {
        let mut bench = Bench::connected(profile, "");
        for command in commands.split_whitespace().chain(["II"]) {
            assert_eq!(bench.ask(command), "00", "{profile} {command}");
        }
        assert!(bench.texts().contains(&text.to_owned()), "{text}: {:?}", bench.texts());
    }
}

#[test]
fn texts_are_those_of_the_sensor() {
    let mut bench = Bench::connected("hokuyo-utm30lx-ew", "uptime_s = 123.455");
    bench.unit.handle_peer_input(SimTime(0), PEER, b"VV\n");
    bench.unit.handle_peer_input(SimTime(0), PEER, b"II\nPP\n");
    bench.run_ms(3);
    let bytes: Vec<u8> = bench.said.iter().flat_map(|(_, _, message)| message.to_bytes()).collect();
    let expected = "VV\n00P\nVEND:Hokuyo Automatic Co., Ltd.;;\nPROD:UTM-30LX-EW;R\nFIRM:1.1.0 (2011-09-30);a\n\
                    PROT:SCIP 2.2;P\nSERI:H0123456;J\n\n\
                    II\n00P\nMODL:UTM-30LX-EW;I\nLASR:OFF;7\nSCSP:2400;i\nMESM:000 Idle;J\n\
                    SBPS:Ethernet 100 [Mbps];<\nTIME:0N8o;~\nSTAT:Stable 000 no error.;f\n\n\
                    PP\n00P\nMODL:UTM-30LX-EW;I\nDMIN:23;7\nDMAX:60000;J\nARES:1440;^\nAMIN:0;?\n\
                    AMAX:1080;Z\nAFRT:540;0\nSCAN:2400;U\n\n";
    let said = String::from_utf8(bytes).unwrap();
    // The checksum of the time line covers the characters of the time.
    let time = said.lines().find(|line| line.starts_with("TIME")).unwrap().to_owned();
    assert_eq!(said.replace(&time, "TIME:0N8o;~"), expected);
    assert_eq!(decode(&time.as_bytes()[5..9]), Ok(123_455));
}

#[test]
fn a_power_on_stream_goes_to_nobody_and_then_to_the_host() {
    let mut bench = Bench::new("hokuyo-utm30lx-ew", "power_on_stream = \"ND\"");
    bench.run_ms(500);
    assert!(bench.said.len() >= 18 && bench.said.iter().all(|(_, to, _)| to.is_none()));
    assert!((bench.unit.nominal_rate_hz() - 40.0).abs() < 1e-9);
    bench.unit.handle_peer(bench.unit.now, PEER, true);
    bench.said.clear();
    bench.run_ms(200);
    assert!(bench.said.len() >= 7 && bench.said.iter().all(|(_, to, _)| *to == Some(PEER)));
    let data = ScanData::parse(ScanFormat { has_intensity: false, ..ALL }, &bench.said[0].2.lines)
        .unwrap();
    assert_eq!((data.steps[0].first.distance, data.steps[0].others[0].distance), (2500, 5500));
    assert_eq!(bench.ask("QT"), "00");
    bench.run_ms(200);
    assert_eq!(bench.scans(), 0);
    // When the host disconnects, the state is as at power-on.
    bench.unit.handle_peer(bench.unit.now, PEER, false);
    bench.run_ms(200);
    assert!(bench.scans() >= 5);
    let slow = Bench::new("hokuyo-urg04lx", "power_on_stream = \"MD\"");
    assert!(
        (slow.unit.nominal_rate_hz() - 10.0 / 12.0).abs() < 0.01,
        "{}",
        slow.unit.nominal_rate_hz()
    );
}

#[test]
fn a_second_host_may_take_over() {
    let second = Peer { connection: 2, ..PEER };
    let take_over =
        |profile: &mut HokuyoProfile| profile.connection.second_host = SecondHost::TakesOver;
    let mut bench = Bench::of(unit("hokuyo-utm30lx-ew", "", take_over));
    bench.unit.handle_peer(SimTime::ZERO, PEER, true);
    bench.send("MD0000108001000");
    bench.run_ms(200);
    bench.unit.handle_peer(bench.unit.now, second, true);
    bench.said.clear();
    bench.unit.handle_peer_input(bench.unit.now, PEER, b"II\n");
    bench.unit.handle_peer_input(bench.unit.now, second, b"%ST\n");
    bench.run_ms(100);
    let said: Vec<_> =
        bench.said.iter().map(|(_, to, message)| (*to, message.echo.clone())).collect();
    assert_eq!(said, [(Some(second), b"%ST".to_vec())]);
    assert_eq!(bench.texts(), ["000"]);
    // The first host is served again when the second has disconnected.
    bench.unit.handle_peer(bench.unit.now, second, false);
    bench.run_ms(10);
    assert_eq!(bench.said.last().map(|(_, to, _)| *to), Some(Some(PEER)));
}

#[test]
fn an_ust_starts_deaf_and_sends_at_its_ticks() {
    let mut bench = Bench::connected("hokuyo-ust10lx", "start_up_s = 0.5");
    bench.send("%ST");
    bench.run_ms(499);
    assert_eq!(bench.said.len(), 0);
    bench.run_ms(5);
    assert_eq!(bench.texts(), ["000"]);
    bench.said.clear();
    bench.send("MD0000108001010");
    bench.run_ms(400);
    assert_eq!(bench.scans(), 10);
    let is_tick = |(due, _, message): &(SimTime, Option<Peer>, Message)| {
        status(message) != "99" || due.0 % MS == 0
    };
    assert!(bench.said.iter().all(is_tick));
    assert_eq!(bench.ask("ND0000108001000"), "0F");
}

#[test]
fn scip1_is_left_by_one_command() {
    let old = |profile: &mut HokuyoProfile| profile.protocol.starts_in_scip1 = true;
    let mut bench = Bench::of(unit("hokuyo-urg04lx", "baud_rate = 750000", old));
    assert_eq!(bench.ask("QT"), "E");
    assert_eq!(bench.ask("SCIP2.0"), "0");
    assert_eq!(bench.ask("QT"), "00");
}

#[test]
fn motor_speeds_follow_cr() {
    let mut bench = Bench::new("hokuyo-urg04lx", "baud_rate = 750000");
    assert_eq!(bench.ask("CR10"), "00");
    assert_eq!(bench.ask("BM"), "01");
    bench.send("MD0044072501000");
    bench.run_ms(1000);
    bench.said.clear();
    bench.run_ms(10_000);
    // 540 rpm give 90 scans in ten seconds.
    assert!((89..=91).contains(&bench.scans()), "{}", bench.scans());
    assert_eq!(bench.ask("RS"), "00");
    bench.run_ms(1000);
    assert_eq!(bench.ask("II"), "00");
    assert!(bench.texts().contains(&"SCSP:Initial(600[rpm])<-Default setting by user".to_owned()));
}

#[test]
fn floods_are_bounded() {
    for name in ["hokuyo-utm30lx-ew", "hokuyo-urg04lx"] {
        let mut bench = Bench::connected(name, "");
        for _ in 0..2000 {
            bench.send("PP");
            bench.send(&"x".repeat(1000));
        }
        assert!(bench.unit.ready.len() <= 64, "{name}");
        let uart_bytes =
            bench.unit.uart.as_ref().map_or(0, |uart| uart.waiting_bytes(bench.unit.now));
        assert!(uart_bytes <= LINE_BUFFER, "{name}: {uart_bytes}");
        bench.run_ms(30_000);
        assert_eq!(bench.unit.hosts.last().and_then(|host| host.waiting.next_answer()), None);
    }
}

/// Sends every command of the table to each product: valid, shortened, lengthened and doubled.
#[test]
fn every_command_is_answered_as_its_table_says() {
    let profiles = catalogue().profiles().iter();
    for profile in profiles.filter(|profile| profile.data::<HokuyoProfile>().is_some()) {
        let [table] = &crate::families::family_of(profile).commands(profile)[..] else { panic!() };
        let statuses = &profile.data::<HokuyoProfile>().unwrap().statuses;
        let refusals = [
            statuses.not_supported,
            statuses.no_bit_rate,
            statuses.no_motor_speed,
            statuses.no_sensitivity,
            statuses.no_simulation,
        ];
        for row in &table.rows {
            for (nth, line) in variants(row.request.as_bytes()).iter_mut().enumerate() {
                // Requests are lines of text without zero bytes.
                line.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'1');
                if line.is_empty() {
                    // Line ends alone are no request.
                    continue;
                }
                let mut bench = Bench::connected(&profile.name, "");
                bench.run_ms(5);
                bench.said.clear();
                bench.send(&String::from_utf8_lossy(line));
                bench.run_ms(20);
                assert!(bench.said.len() < 20, "{} {}", profile.name, row.code);
                let answer = bench.said.iter().find(|(_, _, message)| message.echo == *line);
                let status = answer.map(|(_, _, message)| status(message));
                // SCIP answers unknown commands with status 0E.
                let is_refused = status.as_ref().is_none_or(|status| {
                    status == "0E" || refusals.iter().any(|code| code == status.as_bytes())
                });
                // A scanner that is in SCIP 2.0 answers SCIP2.0 like an unknown command.
                if nth == 0 && row.code != "SCIP2.0" {
                    let expected = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
                    assert_eq!(is_refused, expected, "{} {}: {status:?}", profile.name, row.code);
                }
                if row.code != "SS" {
                    bench.run_ms(100);
                    bench.ask("VV");
                }
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let profiles = catalogue().profiles().iter();
    for profile in profiles.filter(|profile| profile.data::<HokuyoProfile>().is_some()) {
        let [table] = &crate::families::family_of(profile).commands(profile)[..] else { panic!() };
        let mut bench = Bench::connected(&profile.name, "");
        bench.run_ms(5);
        // These commands restart, change the bit rate or simulate a failure; during time adjustment PP is refused.
        constants_hold(&table.rows, &["RB", "RT", "SS", "DB", "TM"], |row| {
            bench.said.clear();
            bench.send(row.request);
            bench.run_ms(50);
            let echo = row.request.as_bytes();
            let answer = bench.said.iter().find(|(_, _, message)| message.echo == echo);
            answer.map(|(_, _, message)| message.to_bytes())
        });
    }
}
