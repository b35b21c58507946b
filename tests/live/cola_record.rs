//! Tests of network scanners with the real binary: recorded, inspected, and live on real sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::park_timeout;
use std::time::Duration;

use menura::wire::cola::Dialect;
use menura::wire::cola::frame::{self, Cola};
use menura::wire::cola::scan_data::ScanData;
use menura::wire::framer::Framer;

use crate::common;

const COLA: Cola = Cola { max_content: 1 << 20 };

const RIG: &str = r#"
seed = 3
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
parameters = { size_m = [12.0, 8.0, 3.0] }
[robot]
trajectory = { kind = "line", speed_m_s = 0.5 }
[[device]]
name = "front"
profile = "sick-lms111"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { tcp = ["127.0.0.1:PORT1", "127.0.0.1:PORT2"] }
settings = { power_on_stream = "cola-a", remission = true }
[[device]]
name = "rear"
profile = "sick-lms511"
mount = { translation_m = [0.0, 0.0, 1.0], roll_pitch_yaw_deg = [0.0, 0.0, 180.0] }
link = { tcp = "127.0.0.1:PORT3" }
settings = { power_on_stream = "cola-b", scan_frequency_hz = 25, angular_resolution_deg = 0.1667 }
"#;

fn menura(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = common::menura();
    command.args(arguments).current_dir(folder).env("MENURA_LOG", "error");
    command
}

fn recorded(folder: &Path, out: &str, workers: &str) -> [Vec<u8>; 2] {
    let workers = format!("engine.workers={workers}");
    let words = ["record", "rig.toml", "--duration", "400ms", "--out", out, "--set", &workers];
    let output = menura(folder, &words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ["front", "rear"].map(|name| fs::read(folder.join(out).join(format!("{name}.bin"))).unwrap())
}

fn scans(bytes: &[u8]) -> Vec<(Dialect, ScanData)> {
    let (mut framer, mut rest) = (Framer::new(COLA), bytes);
    let mut scans = Vec::new();
    while let Some(piece) = framer.next_piece(&mut rest) {
        let frame = piece.frame.expect("nothing but telegrams");
        scans.push((frame.dialect, ScanData::parse(frame.dialect, &frame.content).unwrap()));
    }
    assert!(!framer.is_amid());
    scans
}

#[test]
fn a_recording_holds_what_a_subscriber_gets_whatever_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rig.toml"), RIG.replace("PORT", "211")).unwrap();
    let one = recorded(folder.path(), "one", "1");
    assert_eq!(one, recorded(folder.path(), "two", "2"));

    let [front, rear] = one.map(|bytes| scans(&bytes));
    assert_eq!((front.len(), rear.len()), (20, 10));
    assert!(front.iter().all(|(dialect, _)| *dialect == Dialect::A));
    assert!(rear.iter().all(|(dialect, _)| *dialect == Dialect::B));
    // The wall towards which the robot drives is straight ahead (90 degrees).
    let ahead_m = |scan: &ScanData, index: usize| {
        f64::from(scan.channel(b"DIST1").unwrap().values[index]) / 1000.0
    };
    assert!((ahead_m(&front[0].1, 270) - 6.0).abs() < 0.1);
    assert!((ahead_m(&rear[0].1, 570) - 6.0).abs() < 0.1);

    let output = menura(folder.path(), &["inspect", "one/front.bin", "--json"]).output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 21);
    assert_eq!(lines[0]["scan_counter"], 3000);
    assert_eq!(lines[0]["time_s"], 0.0185);
    assert_eq!(lines[0]["channels"][1]["name"], "RSSI1");
    assert_eq!(lines[20]["scans"], 20);
    assert_eq!(lines[20]["skipped_bytes"], 0);

    let text = menura(folder.path(), &["inspect", "one/rear.bin"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("DIST1 1141 from -5 by 0.1667 deg"), "{text}");
}

/// Ends the process when the test ends, also by a panic.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_hosts_are_served_live() {
    let folder = tempfile::tempdir().unwrap();
    let sockets: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<_> = sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
    drop(sockets);
    let mut rig = RIG.replace("power_on_stream = \"cola-a\", ", "");
    for (name, port) in ["PORT1", "PORT2", "PORT3"].iter().zip(&ports) {
        rig = rig.replace(name, &port.to_string());
    }
    fs::write(folder.path().join("rig.toml"), rig).unwrap();
    let mut command = menura(folder.path(), &["run", "rig.toml", "--duration", "60s"]);
    let _running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());

    let mut first = connect(ports[0]);
    let mut second = connect(ports[1]);
    first.write_all(&frame::emit(Dialect::A, b"sRN LMPscancfg")).unwrap();
    let answer = b"sRA LMPscancfg 1388 1 1388 FFF92230 225510".to_vec();
    assert_eq!(read(&mut first, 1), [(Dialect::A, answer)]);
    first.write_all(&frame::emit(Dialect::A, b"sEN LMDscandata 1")).unwrap();
    second.write_all(&frame::emit(Dialect::B, b"sEN LMDscandata \x01")).unwrap();
    for (host, dialect) in [(&mut first, Dialect::A), (&mut second, Dialect::B)] {
        let heard = read(host, 6);
        assert!(heard.iter().all(|(spoken, _)| *spoken == dialect));
        assert!(heard[0].1.starts_with(b"sEA LMDscandata"));
        for (dialect, content) in &heard[1..] {
            let scan = ScanData::parse(*dialect, content).unwrap();
            assert_eq!(scan.channel(b"DIST1").unwrap().values.len(), 541);
        }
    }
    // If a host disconnects, the other one is not affected, and a new one can connect.
    drop(first);
    read(&mut second, 3);
    let mut third = connect(ports[0]);
    third.write_all(&frame::emit(Dialect::A, b"sRN STlms")).unwrap();
    assert!(read(&mut third, 1)[0].1.starts_with(b"sRA STlms 7 "));
}

fn connect(port: u16) -> TcpStream {
    for _ in 0..300 {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            return stream;
        }
        park_timeout(Duration::from_millis(100));
    }
    panic!("nobody listens");
}

fn read(host: &mut TcpStream, count: usize) -> Vec<(Dialect, Vec<u8>)> {
    let mut framer = Framer::new(COLA);
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while heard.len() < count || framer.is_amid() {
        let length = host.read(&mut buffer).unwrap();
        assert!(length > 0, "it hung up");
        let frames = framer.frames(&buffer[..length]).into_iter();
        heard.extend(frames.map(|frame| (frame.dialect, frame.content)));
    }
    heard
}
