//! Any bytes from hosts to Hokuyo scanners: no panic, bounded memory, and a reply to a host that connects afterwards.

use menura::devices::families::catalogue;
use std::path::Path;
use std::sync::LazyLock;

use menura::config::rig::Rig;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::{Device, Output, build};
use menura::sensors::{Echoes, Measurement, Outcome, Return, Subject};
use menura::time::{Epoch, SimTime};
use menura::wire::framer::Framer;
use menura::wire::port::Peer;
use menura::wire::scip::message::Messages;

const RIG: &str = r#"
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "a"
profile = "hokuyo-utm30lx-ew"
link = { tcp = "127.0.0.1:0" }
[[device]]
name = "b"
profile = "hokuyo-ust20lx"
link = { tcp = "127.0.0.1:0" }
settings = { power_on_stream = "ME" }
[[device]]
name = "c"
profile = "hokuyo-urg04lx"
link = { pty = "scanner" }
settings = { baud_rate = 750000 }
"#;

static READ: LazyLock<Rig> = LazyLock::new(|| {
    Rig::parse("rig", RIG, Path::new(""), &[], catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
});

// The first byte selects the scanner; pieces follow. Head byte of a piece: event (bits 0 to 1; 0: a TCP host connects or
// disconnects, otherwise the host sends the piece), index of the host (bits 2 to 3), length in units of 4 bytes (bits 4 to
// 7). Each piece takes 8 ms, and 8 ms more per byte.
pub fn run(bytes: &[u8]) {
    let Some((&which, mut rest)) = bytes.split_first() else { return };
    let config = &READ.devices[usize::from(which) % READ.devices.len()];
    let start = "2026-06-01T12:00:00Z".parse().expect("an instant");
    let mut device = build(config, &DeviceFaults::default(), 1, Epoch::new(start)).device;
    let is_serial = device.line().is_some();
    let mut now = 0u64;
    let mut connected = [false; 4];
    while let [head, after @ ..] = rest {
        let host = usize::from(head >> 2 & 3);
        let peer = peer(host);
        let length = usize::from(head >> 4) * 4;
        let (piece, after) = after.split_at(length.min(after.len()));
        rest = after;
        match head & 3 {
            _ if is_serial => device.handle_input(SimTime(now), piece),
            0 => {
                connected[host] = !connected[host];
                device.handle_peer(SimTime(now), peer, connected[host]);
            }
            _ => device.handle_peer_input(SimTime(now), peer, piece),
        }
        now += 8_000_000 * (length as u64 + 1);
        step(device.as_mut(), now);
    }
    for host in (0..4).filter(|host| connected[*host]) {
        device.handle_peer(SimTime(now), peer(host), false);
    }
    device.handle_input(SimTime(now), b"\n");
    // A wake-up or reboot in progress takes seconds; the scanner must answer a host after that.
    let told = (9..49).any(|host| {
        if !is_serial {
            device.handle_peer(SimTime(now), peer(host), true);
            device.handle_peer_input(SimTime(now), peer(host), b"VV\n");
        }
        device.handle_input(SimTime(now), b"VV\n");
        let told = (0..10).any(|_| {
            now += 100_000_000;
            step(device.as_mut(), now)
        });
        device.handle_peer(SimTime(now), peer(host), false);
        told
    });
    assert!(told, "no answer");
}

fn peer(host: usize) -> Peer {
    Peer { connection: host as u64, port: 0, from: [127, 0, 0, 1].into() }
}

/// Answers measurement requests and advances the device to `now`. Returns whether its output has a reply to `VV`.
fn step(device: &mut dyn Device, now: u64) -> bool {
    let mut told = false;
    let mut asked = 0;
    while let Some(request) = device.poll_request(SimTime(now)) {
        let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
        let mut echoes = Echoes::default();
        echoes.push(Return { range_m: asked as f32, intensity: 0.5, signal: 1.0 });
        let outcome = Outcome::Echoes(vec![echoes; sweep.firings.len()]);
        device.handle_measurement(&Measurement::new(request, outcome));
        asked += 1;
        assert!(asked < 1000, "it asks for ever");
    }
    device.advance(SimTime(now));
    while let Some(transmit) = device.poll_transmit() {
        let (Output::Bytes(bytes) | Output::BytesTo(_, bytes)) = transmit.output else { continue };
        // The echo of an unknown request can contain any characters.
        let mut framer = Framer::new(Messages);
        let is_message = framer.next_frame(&mut &bytes[..]).is_some();
        assert!(is_message || bytes.len() < 200, "no message");
        told |= bytes.starts_with(b"VV\n00P\n");
    }
    told
}
