//! Livox's datagrams and commands: any bytes are read or refused, and what is read is written again; any requests are
//! answered, and the unit goes on.

use super::drive;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::livox::Livox;
use menura::devices::livox::profile::LivoxProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::livox::command::{
    Frame, GetAnswer, LONGEST_FRAME, asked_to_bytes, keys_to_bytes, parse_asked, parse_keys,
};
use menura::wire::livox::data::{HEAD_LEN, Packet, TimeType, inertial_packet, points, seal};
use menura::wire::port::Peer;

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [|len| matches!(len, 1380 | 804 | 996), |len| (24..=LONGEST_FRAME).contains(&len)],
};

pub fn run(bytes: &[u8]) {
    read(bytes);
    ask(bytes);
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
    // A packet whose checksum is made right.
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
                // A depth has no sign.
                assert!(out == bytes || point.place[0] == i32::MAX);
            }
            assert_eq!(points(kind, data).count(), usize::from(head.count));
        }
        Err(_) => {}
    }
}

// Requests are pieces of up to 64 bytes, each after a byte that says how many milliseconds later it comes, and two that
// are the command.
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
