//! Recordings of a Hesai, read by `menura inspect` and compared by `menura twin`; equal bytes for any number of
//! threads; faults in the log; the source port of packets; dialogues of drivers; and packets of a real unit, encoded
//! again.
//!
//! A file of `tests/dialogues/hesai/` is one dialogue with the command port, one step per line. `#` starts a comment.
//!
//! | line | meaning |
//! |---|---|
//! | `profile NAME` | profile of the unit; the first line |
//! | `connect` | a host connects and sends from now on |
//! | `send HEX` | the host sends these bytes |
//! | `reply TIME HEX` | within TIME exactly these bytes arrive; `*` at the end stands for any rest |
//! | `length N` | number of bytes of that reply |
//! | `text N TEXT` | line N of the payload, after the eight bytes of the header |
//! | `no-reply TIME` | no bytes arrive |
//! | `sleep TIME` | time passes |
//! | `packets TIME mode=HEX rpm=N` | in the last tenth of a second of TIME, data packets leave, all with this return mode and motor speed |
//! | `silence TIME` | no data packet leaves |

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::common;
use crate::common::dialogue::{self, Step};
use crate::common::printed;
use crate::common::scanner::{HOST, Scanner, time_ns};
use menura::devices::Output;
use menura::time::SimTime;
use menura::wire::hesai::data::{Packet, PacketWriter};
use menura::wire::hesai::format::HesaiFormat;
use menura::wire::port::Peer;
use serde_json::Value;

const RIG: &str = r#"
seed = 3
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "xt"
profile = "hesai-xt32"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:2368" } }
[device.settings]
clock_source = "ptp"
ptp = "locked"
[[fault]]
name = "hot"
kind = "high-temperature"
device = "xt"
start_s = 0.05
duration_s = 0.1
rise_c = 30.0
[[fault]]
name = "alone"
kind = "ptp-lost"
device = "xt"
start_s = 0.1
duration_s = 0.05
"#;

fn recorded(sets: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    common::recorded(&common::rig(RIG, sets), Duration::from_millis(250))
}

#[test]
fn a_recording_is_recognised_drawn_and_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("xt.pcap");
    let cases = [
        ("hesai-xt32", "PandarXT-32", "last"),
        ("hesai-xt32", "PandarXT-32", "last-strongest"),
        ("hesai-pandar40p", "Pandar40P", "last-strongest"),
        ("hesai-pandar64", "Pandar64", "strongest"),
        ("hesai-qt64", "PandarQT64", "last-first"),
        ("hesai-xt16", "PandarXT-16", "strongest"),
    ];
    for (profile, model, mode) in cases {
        let sets = [("device.xt.profile", profile), ("device.xt.settings.return_mode", mode)];
        fs::write(&capture, &recorded(&sets)["xt.pcap"]).unwrap();
        let capture = capture.to_str().unwrap();
        let report = printed(&["inspect", capture, "--json"]);
        let summary: Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
        let flows = summary["flows"].as_array().unwrap();
        let data = flows.iter().find_map(|flow| flow["data"].as_object()).unwrap();
        assert_eq!((&data["model"], &data["issues"]), (&model.into(), &0.into()), "{profile}");
        let picture = folder.path().join("turn.png");
        let plot = ["inspect", capture, "--profile", profile, "--plot", picture.to_str().unwrap()];
        printed(&plot);
        assert!(common::picture(&picture).0 > 500, "{profile}");
        let table = printed(&["twin", capture, "--profile", profile, "--scene", "room"]);
        for mark in ["return mode", "factory byte", "numbered", "years since"] {
            let line = table.lines().find(|line| line.starts_with(mark));
            assert!(line.is_some_and(|line| line.ends_with("same")), "{profile} {mark}: {table}");
        }
    }
}

#[test]
fn bytes_do_not_depend_on_threads_and_faults_are_logged() {
    let one = recorded(&[("engine.workers", "1")]);
    let three = recorded(&[("engine.workers", "3")]);
    assert_eq!(one["xt.pcap"], three["xt.pcap"]);
    let text = String::from_utf8(one["faults.csv"].clone()).unwrap();
    for effect in ["alert_active", "frozen"] {
        assert!(text.contains(effect), "{text}");
    }
}

/// Data packets and GPS packets of a unit both leave from port 10000.
#[test]
fn a_unit_sends_from_its_own_port() {
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let port = socket.local_addr().unwrap().port();
        (socket, port)
    };
    let ((data, data_port), (gps, gps_port)) = (socket(), socket());
    // A loopback address that no other test uses.
    let from: SocketAddr = "127.0.0.5:10000".parse().unwrap();
    let text = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"xt\"\nprofile = \"hesai-xt32\"\n\
         mount = {{ translation_m = [0.0, 0.0, 1.5] }}\nsettings = {{ beam = {{ shape = \"ray\" }} }}\n\
         link = {{ udp = {{ to = \"127.0.0.1:{data_port}\", gps_port = {gps_port}, from = \"{from}\" }} }}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    fs::write(&rig, text).unwrap();
    printed(&["run", rig.to_str().unwrap(), "--duration", "300ms"]);
    let mut buffer = [0; 2048];
    for (what, socket) in [("data", data), ("GPS", gps)] {
        let (_, sender) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(sender, from, "{what}");
    }
}

/// A unit and its host.
struct Bench {
    scanner: Scanner,
    now: u64,
    hosts: u64,
    peer: Peer,
    heard: Vec<u8>,
    reply: Vec<u8>,
    /// For each data packet: time of departure, return mode and motor speed.
    packets: Vec<(u64, u8, u16)>,
}

impl Bench {
    fn of(profile: &str) -> Self {
        let link = "udp = { to = \"127.0.0.1:2368\" }, ptc = \"127.0.0.1:0\"";
        Self {
            scanner: Scanner::new(profile, link, ""),
            now: 0,
            hosts: 0,
            peer: Peer { connection: 0, port: 0, from: HOST },
            heard: Vec::new(),
            reply: Vec::new(),
            packets: Vec::new(),
        }
    }

    fn run(&mut self, for_ns: u64) {
        let end = self.now + for_ns;
        while self.now < end {
            self.now = (self.now + 1_000_000).min(end);
            self.scanner.measure(self.now + 5_000_000);
            self.scanner.device.advance(SimTime(self.now));
            self.carry();
        }
    }

    fn carry(&mut self) {
        while let Some(transmit) = self.scanner.device.poll_transmit() {
            match transmit.output {
                Output::BytesTo(peer, bytes) if peer == self.peer => self.heard.extend(bytes),
                Output::Datagram { port, bytes } if port.0 == 0 => {
                    let packet = Packet::parse(&bytes).expect("a data packet");
                    let tail = packet.tail();
                    self.packets.push((transmit.due.0, tail.return_mode, tail.rpm));
                }
                Output::Revoke(_) => self.packets.retain(|packet| packet.0 < transmit.due.0),
                _ => {}
            }
        }
    }
}

impl dialogue::Bench for Bench {
    fn new(profile: &str, _: &str) -> Self {
        Self::of(profile)
    }

    fn step(&mut self, step: &Step) {
        let rest = step.rest.trim_end();
        match step.verb {
            "connect" => {
                self.peer = Peer { connection: self.hosts, port: 0, from: HOST };
                self.hosts += 1;
                self.scanner.device.handle_peer(SimTime(self.now), self.peer, true);
                self.heard.clear();
            }
            "send" => {
                let bytes = hex(rest);
                self.scanner.device.handle_peer_input(SimTime(self.now), self.peer, &bytes);
                self.carry();
            }
            "reply" => {
                let (time, wanted) = rest.split_once(' ').expect("TIME HEX");
                self.run(time_ns(time));
                self.reply = std::mem::take(&mut self.heard);
                let found: String = self.reply.iter().map(|byte| format!("{byte:02x}")).collect();
                let wanted = wanted.replace(' ', "");
                match wanted.strip_suffix('*') {
                    Some(wanted) => assert!(found.starts_with(wanted), "{found}"),
                    None => assert_eq!(found, wanted),
                }
            }
            "length" => assert_eq!(self.reply.len().to_string(), rest),
            "text" => {
                let (number, wanted) = rest.split_once(' ').unwrap_or((rest, ""));
                let text = std::str::from_utf8(&self.reply[8..]).expect("text");
                let line = text.split('\n').nth(number.parse().expect("a number"));
                assert_eq!(line, Some(wanted));
            }
            "no-reply" => {
                self.run(time_ns(rest));
                assert!(self.heard.is_empty(), "{:02x?}", self.heard);
            }
            "sleep" => self.run(time_ns(rest)),
            "packets" => {
                let [time, mode, rpm] = step.words[..] else { panic!("TIME mode rpm") };
                self.run(time_ns(time));
                let since = self.now - 100_000_000;
                let late = self.packets.iter().filter(|(due, ..)| (since..self.now).contains(due));
                let told: Vec<_> =
                    late.map(|(_, mode, rpm)| format!("mode={mode:02x} rpm={rpm}")).collect();
                assert!(told.len() > 20, "{} packets", told.len());
                let wanted = format!("{mode} {rpm}");
                assert!(told.iter().all(|told| *told == wanted), "{wanted}, not {}", told[0]);
            }
            "silence" => {
                let since = self.now;
                self.run(time_ns(rest));
                assert!(self.packets.iter().all(|(due, ..)| *due < since || *due >= self.now));
            }
            other => panic!("no step is called {other}"),
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn drivers_get_what_they_ask_for() {
    dialogue::play_all::<Bench>("hesai", 3);
}

/// `MENURA_HESAI_CAPTURE` is the path of the capture; `tools/test` fetches the crate that contains it.
#[test]
#[ignore = "needs the capture of the crate cu-hesai"]
fn packets_of_a_real_unit_are_written_again() {
    let file = std::env::var_os("MENURA_HESAI_CAPTURE").expect("MENURA_HESAI_CAPTURE is set");
    let frames = common::frames(&fs::read(file).unwrap());
    assert_eq!(frames.len(), 1000);
    let mut last = None;
    for (number, (_, payload)) in frames.iter().enumerate() {
        let packet = Packet::parse(payload).unwrap();
        assert_eq!((packet.format(), packet.is_dual()), (HesaiFormat::Xt32, true));
        let mut again = vec![0; payload.len()];
        let mut writer = PacketWriter::new(packet.format(), &mut again);
        writer.head(packet.head());
        for (index, (azimuth, points)) in packet.blocks().enumerate() {
            let out = writer.block(index, azimuth);
            for (point, out) in packet.points(points).zip(out.chunks_exact_mut(4)) {
                point.put(out);
            }
        }
        writer.tail(packet.tail());
        assert_eq!(again, *payload, "packet {number}");
        let sequence = packet.tail().sequence.unwrap();
        assert!(last.is_none_or(|last| sequence > last), "packet {number}");
        last = Some(sequence);
    }
}
