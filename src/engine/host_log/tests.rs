use std::sync::{Arc, Mutex};

use super::*;
use crate::devices::families::catalogue;

const RIG: &str = r#"
seed = 7
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:2368" } }
"#;

fn rig() -> Rig {
    Rig::parse("test", RIG, std::path::Path::new(""), &[], catalogue()).unwrap()
}

/// A sink whose text a test can read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn everything() -> Vec<HostInput> {
    let lidar = HostTarget::Device(DeviceId(0));
    let peer = Peer { connection: 3, port: 1, from: [192, 168, 1, 5].into() };
    let request = HttpRequest {
        method: HttpMethod::Post,
        path: "/cgi/setting".to_owned(),
        query: "save=false".to_owned(),
        body: b"rpm=600".to_vec(),
        from: [192, 168, 1, 7].into(),
        ..HttpRequest::default()
    };
    let order = DriveOrder::Twist { forward_m_s: 0.1, turn_rad_s: -1.0 / 3.0 };
    let payloads = [
        (lidar, Payload::Bytes(vec![0, 0x80, 0xff])),
        (lidar, Payload::Connected(peer, true)),
        (lidar, Payload::PeerBytes(peer, b"MD".to_vec())),
        (lidar, Payload::Request(request)),
        (HostTarget::Robot, Payload::Order(order)),
        (lidar, Payload::Ptp { stamped: SimTime(7), from: None, bytes: vec![0x0b, 2] }),
        (
            lidar,
            Payload::Ptp {
                stamped: SimTime(8),
                from: Some([192, 0, 2, 1].into()),
                bytes: vec![0x0b],
            },
        ),
        (lidar, Payload::PtpLeft { key: 5, at: SimTime(9) }),
        (lidar, Payload::Address { ip: [192, 168, 1, 9].into(), moves: true }),
        (lidar, Payload::Connected(peer, false)),
    ];
    let at = |place: usize| SimTime(1_000_000 * (place as u64 / 2));
    payloads
        .into_iter()
        .enumerate()
        .map(|(place, (to, payload))| HostInput { at: at(place), to, payload })
        .collect()
}

#[test]
fn what_is_written_is_read_again() {
    let (rig, sink) = (rig(), Shared::default());
    let start: jiff::Timestamp = "2026-06-01T12:00:00.000000001Z".parse().unwrap();
    let mut log = HostLog::new(&rig, start, Box::new(sink.clone())).unwrap();
    for input in everything() {
        log.note(&input).unwrap();
    }
    log.finish().unwrap();
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    let whole = Conversation { start, inputs: everything(), is_cut_off: false };
    assert_eq!(read(&text, &rig), Ok(whole));
    // A killed run leaves its last line incomplete; the line is ignored.
    let mut inputs = everything();
    inputs.pop();
    let cut_off = Conversation { start, inputs, is_cut_off: true };
    assert_eq!(read(&text[..text.len() - 3], &rig), Ok(cut_off));
    assert_eq!(text.lines().nth(1), Some(r#"{"t_ns":0,"device":"lidar","bytes":"0080ff"}"#));
}

#[test]
fn a_wrong_line_is_named() {
    let head = r#"{"menura_host_log":1,"rig":"test","seed":7,"start_utc":"2026-06-01T12:00:00Z"}"#;
    let fault = |lines: &str| read(&format!("{head}\n{lines}"), &rig()).unwrap_err().to_string();
    let ok = r#"{"t_ns":5,"device":"lidar","bytes":"00"}"#;
    assert_eq!(
        fault(&format!("{ok}\n{}", r#"{"t_ns":4,"device":"lidar","bytes":"00"}"#)),
        "line 3: earlier than the line before it"
    );
    assert_eq!(
        fault(r#"{"t_ns":5,"device":"base","bytes":"00"}"#),
        "line 2: the rig has no device `base`"
    );
    assert_eq!(
        fault(r#"{"t_ns":5,"device":"lidar","bytes":"0"}"#),
        "line 2: bytes are written as pairs of hexadecimal digits"
    );
    assert_eq!(
        fault(r#"{"t_ns":5,"device":"lidar","bytes":"0é"}"#),
        "line 2: bytes are written as pairs of hexadecimal digits"
    );
    assert!(fault(r#"{"t_ns":5,"device":"lidar"}"#).starts_with("line 2: allowed: `device` with"));
    assert_eq!(fault(r#"{"t_ns":5,"order":"00"}"#), "line 2: a drive command has 28 bytes");
    assert!(fault("not json").starts_with("line 2: "));
    let of_another_seed = head.replace("7", "8");
    assert_eq!(
        read(&of_another_seed, &rig()).unwrap_err().to_string(),
        "line 1: the run had seed 8, but this rig has seed 7"
    );
    assert!(read("", &rig()).unwrap_err().to_string().starts_with("line 1: not the first line"));
}
