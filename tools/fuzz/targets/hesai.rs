//! Hesai datagrams and commands: any bytes are parsed or rejected, and each parsed packet is encoded to the same bytes.
//! The unit keeps running after any requests.

use super::drive;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::hesai::Hesai;
use menura::devices::hesai::profile::HesaiProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::hesai::data::{Packet, PacketWriter};
use menura::wire::hesai::format::HesaiFormat;
use menura::wire::hesai::gps::GpsPacket;
use menura::wire::port::Peer;

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [|len| HesaiFormat::of_len(len).next().is_some(), |len| len == 512],
};

pub fn run(bytes: &[u8]) {
    read(bytes);
    for name in ["hesai-xt32", "hesai-pandar40p"] {
        ask(name, bytes);
    }
}

fn read(bytes: &[u8]) {
    if let Ok(packet) = GpsPacket::parse(bytes) {
        assert_eq!(packet.to_bytes(), bytes);
    }
    let Ok(packet) = Packet::parse(bytes) else { return };
    let mut again = vec![0; bytes.len()];
    let mut writer = PacketWriter::new(packet.format(), &mut again);
    writer.head(packet.head());
    for (index, (azimuth, points)) in packet.blocks().enumerate() {
        let out = writer.block(index, azimuth);
        let len = packet.format().point_len();
        packet
            .points(points)
            .zip(out.chunks_exact_mut(len))
            .for_each(|(point, out)| point.put(out));
    }
    writer.tail(packet.tail());
    assert_eq!(again, bytes);
}

// Pieces have up to 64 bytes: the pause before the request in milliseconds (1 byte), then the request.
fn ask(name: &str, bytes: &[u8]) {
    let Ok(profile) = catalogue().profile(name) else { return };
    let Some(driver) = profile.data::<HesaiProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let noise = NoiseSource::new(1, "xt");
    let mut unit = Hesai::new(
        driver,
        &driver.defaults,
        None,
        noise,
        Epoch::new(start),
        &DeviceFaults::default(),
    );
    let peer = Peer { connection: 0, port: 0, from: [127, 0, 0, 1].into() };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    unit.handle_peer(now, peer, true);
    for piece in bytes.chunks(64).take(8) {
        let Some((wait, said)) = piece.split_first() else { continue };
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        unit.handle_peer_input(now, peer, said);
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
