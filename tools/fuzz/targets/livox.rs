//! Livox datagrams and commands: any bytes are parsed or rejected, and each parsed packet is encoded again. The unit
//! keeps running after any requests.

use super::drive;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::livox::Livox;
use menura::devices::livox::first::LivoxFirst;
use menura::devices::livox::first::profile::FirstProfile;
use menura::devices::livox::profile::LivoxProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::livox::command::{
    Frame, GetAnswer, LONGEST_FRAME, asked_to_bytes, keys_to_bytes, parse_asked, parse_keys,
};
use menura::wire::livox::data::{HEAD_LEN, Packet, TimeType, inertial_packet, points, seal};
use menura::wire::livox::first;
use menura::wire::port::Peer;
use menura::wire::record::Record;

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [|len| matches!(len, 1380 | 804 | 996), |len| (24..=LONGEST_FRAME).contains(&len)],
};

/// Packets and messages of SDK 1.
const FIRST_STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [
        |len| matches!(len, 1318 | 918 | 1362 | 978 | 786 | 1278 | 678),
        |len| matches!(len, 19 | 34 | 42),
    ],
};

pub fn run(bytes: &[u8]) {
    read(bytes);
    ask(bytes);
    read_first(bytes);
    ask_first(bytes);
}

fn read_first(bytes: &[u8]) {
    use first::command::{Frame, parameters_to_bytes, parse_asked, parse_parameters};
    use first::data::{HEAD_LEN, Packet, pulses};
    if let Ok(frame) = Frame::parse(bytes) {
        assert_eq!(frame.to_bytes(), bytes);
    }
    if let Ok(parameters) = parse_parameters(bytes) {
        assert_eq!(parameters_to_bytes(&parameters), bytes);
    }
    let _ = parse_asked(bytes);
    // A packet with a valid version, time type and length.
    let mut packet = bytes.to_vec();
    if packet.len() > HEAD_LEN {
        (packet[0], packet[8]) = (5, 3);
        if let Some(format) = first::data::Format::from_number(packet[9]) {
            packet.resize(HEAD_LEN + format.pulses() * format.pulse_len(), 0x5a);
        }
    }
    if let Ok(Packet::Points(head, format, data)) = Packet::parse(&packet) {
        let _ = head.time_ns();
        let mut out = vec![0; format.pulse_len()];
        for (points, bytes) in pulses(format, data).zip(data.chunks_exact(format.pulse_len())) {
            format.put(&points, &mut out);
            // A depth is unsigned; values above `i32::MAX` are limited to it.
            assert!(out == bytes || points.iter().any(|point| point.place[0] == i32::MAX));
        }
    }
}

// A handshake and the start of sampling, then pieces of up to 64 bytes: the pause before the request in milliseconds,
// the command set and the command number (1 byte each), and the data.
fn ask_first(bytes: &[u8]) {
    use first::command::{Frame, Handshake, Kind, id};
    let models = ["livox-mid40", "livox-mid70", "livox-avia", "livox-horizon"];
    let model = models[bytes.first().map_or(0, |byte| usize::from(*byte)) % models.len()];
    let Ok(profile) = catalogue().profile(model) else { return };
    let Some(driver) = profile.data::<FirstProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let noise = NoiseSource::new(1, model);
    let mut unit = LivoxFirst::new(driver, &driver.defaults, noise, Epoch::new(start));
    let peer = Peer { connection: 0, port: 0, from: [127, 0, 0, 1].into() };
    let (data_port, command_port, imu_port) = (56_001, 55_501, 56_002);
    let handshake = Handshake { ip: [127, 0, 0, 1], data_port, command_port, imu_port };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    let mut say = |unit: &mut LivoxFirst, wait_ms: u8, id: (u8, u8), data: &[u8], raw: &[u8]| {
        now = SimTime(now.0 + u64::from(wait_ms) * 1_000_000);
        let request = Frame { kind: Kind::Command, sequence: 1, id, data: data.to_vec() };
        unit.handle_peer_input(now, peer, &request.to_bytes());
        unit.handle_peer_input(now, peer, raw);
        drive::go_on(unit, &FIRST_STREAM, now, &mut last_due);
    };
    say(&mut unit, 1, id::HANDSHAKE, &handshake.to_bytes(), bytes);
    say(&mut unit, 1, id::SAMPLE, &[1], bytes);
    for piece in bytes.chunks(64).take(8) {
        let [wait_ms, set, number, data @ ..] = piece else { continue };
        say(&mut unit, *wait_ms, (set % 3, number % 16), data, piece);
    }
}

fn read(bytes: &[u8]) {
    if let Ok(frame) = Frame::parse(bytes) {
        let again = Frame::parse(&frame.to_bytes());
        assert_eq!(again.as_ref(), Ok(&frame));
    }
    if let Ok(keys) = parse_keys(bytes) {
        let again = keys_to_bytes(&keys);
        assert_eq!((&again[..2], &again[4..]), (&bytes[..2], &bytes[4..]));
    }
    if let Ok(asked) = parse_asked(bytes) {
        assert_eq!(asked_to_bytes(&asked)[4..], bytes[4..]);
    }
    if let Ok(answer) = GetAnswer::parse(bytes) {
        assert_eq!(answer.to_bytes(), bytes);
    }
    // A packet with a valid checksum.
    let mut packet = bytes.to_vec();
    if packet.len() > HEAD_LEN {
        packet[0] = 0;
        seal(&mut packet, TimeType::Ptp, 7);
    }
    match Packet::parse(&packet) {
        Ok(Packet::Inertial(head, sample)) => {
            let again = inertial_packet(&sample, head.sequence, head.interval, TimeType::Ptp, 7);
            assert_eq!(again.len(), packet.len());
        }
        Ok(Packet::Points(head, kind, data)) => {
            let mut out = vec![0; kind.point_len()];
            for (point, bytes) in points(kind, data).zip(data.chunks_exact(kind.point_len())) {
                point.put(kind, &mut out);
                // A depth is unsigned; values above `i32::MAX` are limited to it.
                assert!(out == bytes || point.place[0] == i32::MAX);
            }
            assert_eq!(points(kind, data).count(), usize::from(head.count));
        }
        Err(_) => {}
    }
}

// Pieces have up to 64 bytes: the pause before the request in milliseconds (1 byte), the command (2 bytes), and the
// data.
fn ask(bytes: &[u8]) {
    let Ok(profile) = catalogue().profile("livox-mid360") else { return };
    let Some(driver) = profile.data::<LivoxProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let noise = NoiseSource::new(1, "mid360");
    let mut unit = Livox::new(driver, &driver.defaults, None, noise, Epoch::new(start));
    let peer = Peer { connection: 0, port: 1, from: [127, 0, 0, 1].into() };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    for piece in bytes.chunks(64).take(8) {
        let [wait, low, high, data @ ..] = piece else { continue };
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        let request = Frame::request(1, u16::from_le_bytes([*low, *high]), data.to_vec());
        unit.handle_peer_input(now, peer, &request.to_bytes());
        unit.handle_peer_input(now, peer, piece);
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
