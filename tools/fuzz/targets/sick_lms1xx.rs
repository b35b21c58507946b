//! Any bytes from hosts to an LMS1xx and an LMS5xx: no panic, bounded memory, and a reply to a host that connects
//! afterwards.

use menura::devices::families::catalogue;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::LazyLock;

use menura::config::rig::Rig;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::{Device, Output, build};
use menura::sensors::{Echoes, Measurement, Outcome, Return, Subject};
use menura::time::{Epoch, SimTime};
use menura::wire::cola::Dialect;
use menura::wire::cola::frame::{Cola, emit};
use menura::wire::framer::Framer;
use menura::wire::port::Peer;

const RIG: &str = r#"
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "a"
profile = "sick-lms111"
link = { tcp = "127.0.0.1:0" }
[[device]]
name = "b"
profile = "sick-lms511"
link = { tcp = "127.0.0.1:0" }
settings = { power_on_stream = "cola-b" }
"#;

static READ: LazyLock<Rig> = LazyLock::new(|| {
    Rig::parse("rig", RIG, Path::new(""), &[], catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
});

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

// Head byte of a piece: event (bits 0 to 1), index of the host (bits 2 to 3), length in units of 4 bytes (bits 4 to 7).
// Each piece takes 8 ms, and 8 ms more per byte.
pub fn run(bytes: &[u8]) {
    let Some((&which, mut rest)) = bytes.split_first() else { return };
    let config = &READ.devices[usize::from(which & 1)];
    let start = "2026-06-01T12:00:00Z".parse().expect("an instant");
    let mut device = build(config, &DeviceFaults::default(), 1, Epoch::new(start)).device;
    let mut now = 0u64;
    while let [head, after @ ..] = rest {
        let peer = Peer { connection: u64::from(head >> 2 & 3), port: 0, from: HOST };
        let length = usize::from(head >> 4) * 4;
        let (piece, after) = after.split_at(length.min(after.len()));
        rest = after;
        match head & 3 {
            0 => device.handle_peer(SimTime(now), peer, true),
            1 => device.handle_peer(SimTime(now), peer, length > 8),
            2 => device.handle_peer_input(SimTime(now), peer, piece),
            _ => {
                // A valid frame, so that the device parses the telegram in it.
                let end = piece.iter().position(|byte| *byte == 0).unwrap_or(piece.len());
                let dialect = if length & 4 == 0 { Dialect::A } else { Dialect::B };
                device.handle_peer_input(SimTime(now), peer, &emit(dialect, &piece[..end]));
            }
        }
        now += 8_000_000 * (length as u64 + 1);
        step(device.as_mut(), now);
    }
    let peer = Peer { connection: 9, port: 1, from: HOST };
    now += 5_000_000_000;
    device.advance(SimTime(now));
    device.handle_peer(SimTime(now), peer, true);
    while device.poll_transmit().is_some() {}
    device.handle_peer_input(SimTime(now), peer, &emit(Dialect::A, b"sRN SCdevicestate"));
    device.advance(SimTime(now + 10_000_000));
    let mut answers = std::iter::from_fn(|| device.poll_transmit());
    let is_answer = |output: &Output| match output {
        Output::BytesTo(to, bytes) => *to == peer && bytes.starts_with(b"\x02sRA SCdevicestate "),
        _ => false,
    };
    assert!(answers.any(|transmit| is_answer(&transmit.output)), "no answer");
}

/// Answers measurement requests, advances the device to `now` and checks its output.
fn step(device: &mut dyn Device, now: u64) {
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
        let (Output::Bytes(bytes) | Output::BytesTo(_, bytes)) = transmit.output else {
            panic!("no bytes")
        };
        let mut framer = Framer::new(Cola { max_content: 1 << 20 });
        assert!(framer.next_frame(&mut &bytes[..]).is_some(), "no telegram");
        assert_eq!(framer.taken(), bytes.len() as u64);
    }
}
