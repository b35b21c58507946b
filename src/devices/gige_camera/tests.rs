//! A camera and its host without sockets: tests of control. Separate files test features, clock, frames and triggers.

mod clock;
mod features;
mod network;
mod stream;
mod triggers;

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::Output;
use crate::families::catalogue;
use crate::gige_camera::profile::ImageSize;
use crate::sensors::Subject;
use crate::sensors::camera::lens::Lens;
use crate::wire::gige::gvsp::{Part, parse};
use crate::wire::gige::{Command, command, status};

const HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

struct Bench {
    camera: GigeCamera,
    now: u64,
    id: u16,
    sent: Vec<(SimTime, Vec<u8>)>,
    hosts: Vec<HostAddress>,
    /// Changes of whether datagrams may be fragmented.
    fragments: Vec<(SimTime, bool)>,
    lenses: Vec<Lens>,
    /// Addresses that the camera requested.
    asked: Vec<Ipv4Addr>,
}

fn peer(connection: u64) -> Peer {
    Peer { connection, port: 0, from: IpAddr::V4(HOST) }
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut CameraSettings)) -> Self {
        let profile = catalogue().profile("menura-gv121m").expect("it is embedded");
        let profile: &CameraProfile = profile.data().unwrap();
        let mut settings = profile.defaults.clone();
        settings.image_size = ImageSize { width: 64, height: 32 };
        set(&mut settings);
        let noise = NoiseSource::new(1, "camera");
        let camera = GigeCamera::new(
            profile,
            &settings,
            None,
            noise,
            Epoch::new(jiff::Timestamp::UNIX_EPOCH),
        );
        let (sent, hosts, lenses) = (Vec::new(), Vec::new(), Vec::new());
        let (fragments, asked) = (Vec::new(), Vec::new());
        Self { camera, now: 1_000_000, id: 1, sent, hosts, fragments, lenses, asked }
    }

    fn say_as(&mut self, who: u64, code: u16, payload: &[u8]) -> (u16, Vec<u8>) {
        self.id += 1;
        self.repeat(who, self.id, code, payload)
    }

    fn repeat(&mut self, who: u64, id: u16, code: u16, payload: &[u8]) -> (u16, Vec<u8>) {
        let answer = self.tell(who, id, code, payload).expect("a command is answered");
        assert_eq!(answer[2..4], code.wrapping_add(1).to_be_bytes());
        assert_eq!(answer[6..8], id.to_be_bytes());
        (u16::from_be_bytes([answer[0], answer[1]]), answer[8..].to_vec())
    }

    fn tell(&mut self, who: u64, id: u16, code: u16, payload: &[u8]) -> Option<Vec<u8>> {
        let bytes = Command { flags: 1, code, id, payload }.to_bytes();
        self.camera.handle_peer_input(SimTime(self.now), peer(who), &bytes);
        let mut answer = None;
        self.drain(&mut answer);
        answer
    }

    fn drain(&mut self, answer: &mut Option<Vec<u8>>) {
        while let Some(transmit) = self.camera.poll_transmit() {
            self.lenses.extend(transmit.truth.lens.as_deref());
            match transmit.output {
                Output::BytesTo(_, bytes) => *answer = Some(bytes),
                Output::Datagram { bytes, .. } => self.sent.push((transmit.due, bytes)),
                Output::Host(host) => self.hosts.push(host),
                Output::Address(ip) => self.asked.push(ip),
                Output::Fragments(may_be) => self.fragments.push((transmit.due, may_be)),
                Output::Revoke(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn write_as(&mut self, who: u64, address: u32, value: u32) -> u16 {
        let payload: Vec<u8> =
            [address, value].iter().flat_map(|word| word.to_be_bytes()).collect();
        self.say_as(who, command::WRITE_REGISTER, &payload).0
    }

    fn write(&mut self, address: u32, value: u32) {
        assert_eq!(self.write_as(1, address, value), status::SUCCESS, "{address:#x} = {value}");
    }

    fn read(&mut self, address: u32) -> u32 {
        let (status, data) = self.say_as(1, command::READ_REGISTER, &address.to_be_bytes());
        assert_eq!(status, status::SUCCESS, "{address:#x}");
        u32::from_be_bytes(data.try_into().unwrap())
    }

    /// Runs for `ms`, and answers measurements with grey images.
    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += 1_000_000;
            self.measure(true);
            self.camera.advance(SimTime(self.now));
            self.drain(&mut None);
        }
    }

    /// Runs for `ms` on a machine that has no time to measure.
    fn starve_ms(&mut self, ms: u64) {
        self.now += 1_000_000 * ms;
        self.camera.advance(SimTime(self.now));
        self.drain(&mut None);
    }

    /// Answers all measurements that are requested now with grey images, or revokes them. As in a run, all requests come
    /// before the first answer.
    fn measure(&mut self, is_in_time: bool) {
        let now = SimTime(self.now);
        loop {
            let requests: Vec<_> = std::iter::from_fn(|| self.camera.poll_request(now)).collect();
            if requests.is_empty() {
                return;
            }
            for request in requests {
                let Subject::Tile(tile) = &request.subject else { panic!("{request:?}") };
                if is_in_time {
                    let grey = Outcome::Pixels(vec![1000; tile.pixels()]);
                    self.camera.handle_measurement(&Measurement::new(request, grey));
                } else {
                    self.camera.handle_revoked(request.index);
                }
            }
        }
    }

    fn open(&mut self) {
        self.write(0x0a00, 2);
        self.write(0x0d18, HOST.to_bits());
        self.write(0x0d00, 5000);
        self.sent.clear();
    }

    fn leaders(&self) -> Vec<(u64, u64)> {
        let parts = self.sent.iter().filter_map(|(_, bytes)| match parse(bytes)? {
            (block, 0, Part::Leader(leader)) => Some((block, leader.timestamp)),
            _ => None,
        });
        parts.collect()
    }
}

#[test]
fn discovery_tells_the_camera() {
    let mut bench = Bench::new();
    let (status, data) = bench.say_as(1, command::DISCOVERY, &[]);
    assert_eq!((status, data.len()), (0, 248));
    assert_eq!(data[..8], [0, 2, 0, 0, 0x80, 0, 0, 1]);
    assert_eq!(&data[0x48..0x4e], b"Menura");
}

#[test]
fn one_host_controls_and_others_read() {
    let mut bench = Bench::new();
    assert_eq!(bench.write_as(1, at::WIDTH, 32), status::ACCESS_DENIED);
    bench.write(0x0a00, 2);
    assert_eq!(bench.write_as(2, 0x0a00, 2), status::ACCESS_DENIED);
    assert_eq!(bench.write_as(2, at::WIDTH, 32), status::ACCESS_DENIED);
    assert_eq!(bench.say_as(2, command::READ_REGISTER, &at::WIDTH.to_be_bytes()).0, 0);
    bench.write(0x0a00, 0);
    assert_eq!(bench.write_as(2, 0x0a00, 1), 0);
    assert_eq!(
        bench.say_as(1, command::READ_REGISTER, &at::WIDTH.to_be_bytes()).0,
        status::ACCESS_DENIED
    );
}

#[test]
fn unknown_commands_are_refused() {
    let mut bench = Bench::new();
    for code in [0, 0x0088, u16::MAX] {
        assert_eq!(bench.say_as(1, code, &[]).0, status::NOT_IMPLEMENTED, "{code:#x}");
    }
    // The id of an answer that the camera has stored.
    let id = bench.id;
    assert_eq!(bench.repeat(1, id, u16::MAX, &[]).0, status::NOT_IMPLEMENTED);
}

#[test]
fn a_silent_host_loses_control() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(2900);
    assert_eq!(bench.read(0x0a00), 2);
    bench.run_ms(3100);
    assert_eq!((bench.read(0x0a00), bench.read(0x0d00)), (0, 0));
    bench.sent.clear();
    bench.run_ms(500);
    assert_eq!(bench.sent, []);
}

#[test]
fn packet_sizes_are_clamped_and_tested() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(0x0d04, 0xc000_0000 | 1401);
    assert_eq!(bench.read(0x0d04), 0x4000_0000 | 1400);
    assert_eq!(bench.sent.len(), 1);
    assert_eq!(bench.sent[0].1.len(), 1400 - 28);
    bench.write(0x0d04, 20_000);
    assert_eq!(bench.read(0x0d04), 9000);
    assert_eq!(bench.hosts.last().unwrap().ports, [5000]);
}

#[test]
fn a_test_packet_is_never_fragmented() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(0x0d04, 0x8000_0000 | 1400);
    let (due, _) = bench.sent[0];
    let [(changed, true), (set, false), (restored, true)] = bench.fragments[..] else {
        panic!("{:?}", bench.fragments)
    };
    assert!(changed <= set && set < due && due < restored, "{set:?} {due:?} {restored:?}");
    bench.fragments.clear();
    bench.write(0x0d04, 0xc000_0000 | 1400);
    assert_eq!(bench.fragments, [(SimTime(bench.now), false)]);
}

#[test]
fn packet_size_and_destination_are_locked_during_acquisition() {
    let mut bench = Bench::new();
    let xml = String::from_utf8(bench.camera.xml.clone()).unwrap();
    for name in ["GevSCPSPacketSize", "GevSCDA"] {
        let node = format!("<Integer Name=\"{name}\"><pIsLocked>TLParamsLocked</pIsLocked>");
        assert!(xml.contains(&node), "{name}");
    }
    bench.open();
    bench.write(at::START, 1);
    for (address, value) in [(0x0d04, 0x4000_03e8), (0x0d18, HOST.to_bits())] {
        assert_eq!(bench.write_as(1, address, value), status::BUSY);
    }
    assert_eq!(bench.read(0x0d04), 0x4000_05dc);
    bench.write(at::STOP, 1);
    bench.write(0x0d04, 0x4000_03e8);
}

#[test]
fn a_host_enables_pending_acknowledgements_and_status_codes() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::USER_SET, 1);
    for (enabled, codes) in [(0, &[0x83u16][..]), (1 << 1, &[0x89, 0x83][..])] {
        bench.write(0x0954, enabled);
        bench.id += 1;
        let payload = [at::USER_SET_SAVE, 1].map(u32::to_be_bytes).concat();
        let command =
            Command { flags: 1, code: command::WRITE_REGISTER, id: bench.id, payload: &payload };
        bench.camera.handle_peer_input(SimTime(bench.now), peer(1), &command.to_bytes());
        let outputs = std::iter::from_fn(|| bench.camera.poll_transmit());
        let answers = outputs.filter_map(|transmit| match transmit.output {
            Output::BytesTo(_, bytes) => Some(u16::from_be_bytes([bytes[2], bytes[3]])),
            _ => None,
        });
        assert_eq!(answers.collect::<Vec<_>>(), codes);
    }
    bench.write(0x0954, u32::MAX);
    assert_eq!((bench.read(0x0934), bench.read(0x0954)), (0xf05e_0067, 0x000c_000f));
}

#[test]
fn any_bytes_are_answered_or_dropped() {
    let mut bench = Bench::new();
    bench.open();
    let mut draw = 1u64;
    for _ in 0..20_000 {
        let mut next = || {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (draw >> 33) as u32
        };
        let addresses = [next() % 0x1000, 0x1_0000 + next() % 0x400 / 4 * 4, next(), 0x0a00];
        let payload: Vec<u8> = [addresses[next() as usize % 4], next() % 4, next()]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .take(next() as usize % 13)
            .collect();
        let code = [2, 4, 0x40, 0x80, 0x82, 0x84, 0x86, 0x100, 7][next() as usize % 9];
        let (flags, id) = (next() as u8, next() as u16 | 1);
        let bytes = Command { flags, code, id, payload: &payload }.to_bytes();
        bench.camera.handle_peer_input(SimTime(bench.now), peer(1), &bytes);
        bench.drain(&mut None);
        if draw.is_multiple_of(64) {
            bench.run_ms(1);
            bench.sent.clear();
        }
    }
}
