//! RoboSense datagrams and configurations: any bytes are parsed or rejected, and parsed values are encoded again. The
//! unit accepts or ignores any configuration, and keeps running.

use super::drive;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::Device;
use menura::devices::decoder::Hints;
use menura::devices::families::{catalogue, family_of};
use menura::devices::robosense::Robosense;
use menura::devices::robosense::profile::RobosenseProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::port::Peer;
use menura::wire::robosense::difop::{Difop, ID, is_difop};
use menura::wire::robosense::imu::Sample;
use menura::wire::robosense::layout::Layout;
use menura::wire::robosense::msop::Packet;
use menura::wire::robosense::ucwp::{UCWP_LEN, Ucwp};

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [|len| matches!(len, 1248 | 1210), |len| matches!(len, 1248 | 256)],
};
const CONFIGURATION: [u8; 8] = [0xaa, 0x00, 0xff, 0x11, 0x22, 0x22, 0xaa, 0xaa];

pub fn run(bytes: &[u8]) {
    for (_, layout) in Layout::WORDS {
        read(layout, bytes);
    }
    if let Ok(sample) = Sample::parse(bytes, 15) {
        assert_eq!(sample.to_bytes(15).len(), bytes.len());
    }
    for name in ["robosense-rs16", "robosense-rs32"] {
        configure(name, bytes);
    }
}

// MSOP packets with valid identifiers and block flags, and DIFOP packets with a valid identifier.
fn read(layout: Layout, bytes: &[u8]) {
    let Ok(profile) = catalogue().profile("robosense-helios") else { return };
    let family = family_of(&profile);
    let Ok(Some(mut decoder)) = family.datagram_decoder(&Hints::default(), catalogue().profiles())
    else {
        return;
    };
    let shape = layout.shape();
    let mut msop = bytes.to_vec();
    msop.resize(shape.packet, 0);
    msop[..layout.id().len()].copy_from_slice(layout.id());
    for block in 0..shape.blocks {
        let flag = layout.block_flag();
        msop[shape.block_at(block)..][..flag.len()].copy_from_slice(flag);
    }
    let mut difop = bytes.to_vec();
    difop.resize(if layout == Layout::M1 { 256 } else { UCWP_LEN }, 0xff);
    difop[..ID.len()].copy_from_slice(&ID);
    assert!(is_difop(&difop));
    if let Ok(state) = Difop::parse(layout, &difop) {
        let again = Difop::parse(layout, &state.to_bytes(layout));
        assert_eq!(again.map(|again| again.serial), Ok(state.serial));
    }
    for payload in [bytes, &difop, &msop, &difop] {
        if decoder.head([0; 2], payload).is_none() {
            continue;
        }
        decoder.learn(payload);
        decoder.learn_aside(payload);
        let sweep = decoder.sweep(payload);
        let _ = (decoder.text(payload), decoder.fields(payload), decoder.shots(payload));
        let _ = (decoder.status_lines(), decoder.marks("data"), decoder.other_lines("difop", 1));
        if let Ok(source) = decoder.point_source() {
            let mut points = Vec::new();
            for block in 0..sweep.azimuths_centideg.len() {
                (source.decode)(payload, block, &mut points);
            }
            assert!(points.iter().all(|point| point.position_m.is_finite()));
        }
    }
    if let Ok(packet) = Packet::parse(&msop) {
        assert!(packet.head().celsius.is_finite());
    }
}

// Pieces have up to 41 bytes: the pause before the configuration in milliseconds (1 byte), then the configuration.
fn configure(name: &str, bytes: &[u8]) {
    let Ok(profile) = catalogue().profile(name) else { return };
    let Some(driver) = profile.data::<RobosenseProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let (noise, faults) = (NoiseSource::new(1, "rs"), DeviceFaults::default());
    let epoch = Epoch::new(start);
    let mut unit = Robosense::new(driver, &driver.defaults, None, noise, epoch, &faults);
    let peer = Peer { connection: 0, port: 1, from: [127, 0, 0, 1].into() };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    for piece in bytes.chunks(41).take(6) {
        let [wait, data @ ..] = piece else { continue };
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        let mut request = [&CONFIGURATION[..], data].concat();
        request.resize(UCWP_LEN, 0);
        if let Ok(read) = Ucwp::read(&request) {
            assert_eq!(read.write(), request);
        }
        unit.handle_peer_input(now, peer, &request);
        unit.handle_peer_input(now, peer, piece);
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
