//! Ouster datagrams and requests: any bytes are parsed or rejected, and reads of a packet stay within it. The unit
//! answers any HTTP request and any line on its TCP port, and keeps running.

use super::drive;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::ouster::Ouster;
use menura::devices::ouster::profile::OusterProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::http::{HttpMethod, HttpRequest};
use menura::wire::ouster::format::LidarFormat;
use menura::wire::ouster::imu::ImuPacket;
use menura::wire::ouster::lidar::{Packet, Pixel};
use menura::wire::port::Peer;
use menura::wire::record::Record;

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Echoes(Vec::new()),
    may_be: [|len| LidarFormat::of_len(len).next().is_some(), |len| len == 48],
};

// Each line is an HTTP request: the pause before it in milliseconds (1 byte), then method, path with query, and body,
// separated by spaces.
pub fn run(bytes: &[u8]) {
    read(bytes);
    for name in ["ouster-os1-32-2.5", "ouster-os1-32-3.1"] {
        ask(name, bytes);
    }
    say(bytes);
}

fn read(bytes: &[u8]) {
    if let Ok(packet) = ImuPacket::parse(bytes) {
        // NaN is not equal to itself, so the bytes can differ.
        assert_eq!(packet.to_bytes().len(), bytes.len());
    }
    for (format, pixels) in LidarFormat::of_len(bytes.len()) {
        let Ok(packet) = Packet::parse(format, pixels, bytes) else { continue };
        packet.header();
        packet.footer();
        for (_, column) in packet.columns() {
            for pixel in column.chunks_exact(format.pixel_len()) {
                let range_mm = Pixel::get(format, pixel).returns[0].range_mm;
                assert!(range_mm <= format.max_range_mm());
            }
        }
    }
}

fn unit(name: &str) -> Option<Ouster> {
    let profile = catalogue().profile(name).ok()?;
    let driver = profile.data::<OusterProfile>()?;
    let start = "2026-06-01T12:00:00Z".parse().ok()?;
    let noise = NoiseSource::new(1, "os");
    Some(Ouster::new(
        driver,
        &driver.defaults,
        None,
        noise,
        Epoch::new(start),
        &DeviceFaults::default(),
    ))
}

// Sends the bytes unchanged to a unit with a TCP port for lines, in up to four pieces. The first byte is the pause
// before each piece, milliseconds.
fn say(bytes: &[u8]) {
    let Some(mut unit) = unit("ouster-os1-64-2.0") else { return };
    let Some((wait, bytes)) = bytes.split_first() else { return };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    let peer = Peer { connection: 1, port: 1, from: [127, 0, 0, 1].into() };
    unit.handle_peer(now, peer, true);
    for piece in bytes.chunks(bytes.len() / 4 + 1) {
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        unit.handle_peer_input(now, peer, piece);
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}

fn ask(name: &str, bytes: &[u8]) {
    let Some(mut unit) = unit(name) else { return };
    let (mut now, mut last_due) = (SimTime::ZERO, SimTime::ZERO);
    for line in bytes.split(|byte| *byte == b'\n').take(8) {
        let Some((wait, line)) = line.split_first() else { continue };
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let method = match parts.next() {
            Some(b"GET") => HttpMethod::Get,
            Some(b"POST") => HttpMethod::Post,
            Some(b"PUT") => HttpMethod::Put,
            Some(b"DELETE") => HttpMethod::Delete,
            _ => HttpMethod::Other,
        };
        let url = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let (path, query) = (format!("/api/v1/{path}"), query.to_owned());
        let body = parts.next().unwrap_or_default().to_vec();
        let request = HttpRequest { method, path, query, body, ..HttpRequest::default() };
        let response = unit.handle_http(now, &request);
        assert!((200..600).contains(&response.status));
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
