//! Tests of Hokuyo scanners with the real binary: recorded, inspected, and live on real sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::park_timeout;
use std::time::Duration;

use menura::wire::framer::Framer;
use menura::wire::scip::message::{Message, Messages, Status};
use menura::wire::scip::request::Request;
use menura::wire::scip::scan::ScanData;

use crate::common;

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
profile = "hokuyo-utm30lx-ew"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { tcp = "127.0.0.1:PORT1" }
settings = { power_on_stream = "NE" }
[[device]]
name = "rear"
profile = "hokuyo-ust20lx"
mount = { translation_m = [0.0, 0.0, 1.0], roll_pitch_yaw_deg = [0.0, 0.0, 180.0] }
link = { tcp = "127.0.0.1:PORT2" }
settings = { power_on_stream = "MD" }
[[device]]
name = "line"
profile = "hokuyo-urg04lx"
mount = { translation_m = [4.0, 0.0, 1.0] }
link = { pty = "urg" }
settings = { power_on_stream = "MS", baud_rate = 750000 }
[[fault]]
name = "dirt"
kind = "window-dirty"
device = "front"
start_s = 0.0
from_deg = 79.9
to_deg = 100.1
transmission = 0.0
[[fault]]
name = "held"
kind = "motor-stall"
device = "rear"
start_s = 0.2
"#;

fn menura(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = common::menura();
    command.args(arguments).current_dir(folder).env("MENURA_LOG", "error");
    command
}

fn recorded(folder: &Path, out: &str, workers: &str) -> [Vec<u8>; 3] {
    let workers = format!("engine.workers={workers}");
    let words = ["record", "rig.toml", "--duration", "400ms", "--out", out, "--set", &workers];
    let output = menura(folder, &words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ["front", "rear", "line"]
        .map(|name| fs::read(folder.join(out).join(format!("{name}.bin"))).unwrap())
}

fn messages(bytes: &[u8]) -> Vec<Message> {
    let (mut framer, mut rest) = (Framer::new(Messages), bytes);
    let mut found = Vec::new();
    while let Some(piece) = framer.next_piece(&mut rest) {
        found.push(piece.frame.expect("nothing but messages"));
    }
    assert!(!framer.is_amid());
    found
}

fn scan(message: &Message) -> ScanData {
    let request = Request::parse(&message.echo, true).unwrap();
    ScanData::parse(request.name.scan().unwrap().format, &message.lines).unwrap()
}

#[test]
fn a_recording_holds_what_a_host_gets_whatever_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rig.toml"), RIG.replace("PORT", "1094")).unwrap();
    let one = recorded(folder.path(), "one", "1");
    assert_eq!(one, recorded(folder.path(), "two", "2"));

    let [front, rear, line] = one.map(|bytes| messages(&bytes));
    assert_eq!((front.len(), line.len()), (16, 4));
    // Timestamps are those of step 0, an eighth of a rotation after the rotation's start.
    let times: Vec<u32> = front.iter().map(|message| scan(message).time_ms).collect();
    assert!(
        times.iter().enumerate().all(|(turn, ms)| *ms == 60_003 + 25 * turn as u32),
        "{times:?}"
    );
    // The wall towards which the robot drives is straight ahead.
    let ahead_m = |message: &Message, step: usize| {
        f64::from(scan(message).steps[step].first.distance) / 1000.0
    };
    assert!((ahead_m(&front[0], 540) - 6.0).abs() < 0.1);
    assert!((ahead_m(&rear[0], 540) - 6.0).abs() < 0.1);
    assert!((ahead_m(&line[0], 384 - 44) - 2.0).abs() < 0.05);
    // The dirt is on the left, 80 to 100 degrees.
    let dark = scan(&front[0]);
    let dark: Vec<usize> = (0..1081).filter(|step| dark.steps[*step].first.distance == 1).collect();
    assert_eq!((dark.first(), dark.last(), dark.len()), (Some(&860), Some(&940), 81));
    // The motor of the other scanner is blocked: the scanner reports status 21, which means that it
    // verifies an error.
    let statuses: Vec<Status> = rear.iter().map(|message| message.status).collect();
    assert_eq!(statuses[..8], [Status::Code(*b"99"); 8]);
    assert_eq!(statuses[8..], [Status::Code(*b"21")]);

    let faults = fs::read_to_string(folder.path().join("one/faults.csv")).unwrap();
    assert!(
        faults.lines().any(|line| line.contains("rear,held,") && line.ends_with("stalled_rpm,0,")),
        "{faults}"
    );
    assert!(faults.lines().any(|line| line.ends_with("lost_returns,81,")), "{faults}");

    let output = menura(folder.path(), &["inspect", "one/front.bin", "--json"]).output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 17);
    assert_eq!(lines[0]["time_ms"], 60_003);
    assert_eq!(lines[0]["first_deg"], -135.0);
    assert_eq!(lines[0]["step_deg"], 0.25);
    assert_eq!(lines[0]["intensities"].as_array().map(Vec::len), Some(1081));
    assert_eq!(lines[16]["scans"], 16);
    assert_eq!(lines[16]["skipped_bytes"], 0);

    let words = ["inspect", "one/line.bin", "--profile", "hokuyo-urg04lx", "--plot", "line.svg"];
    let text = menura(folder.path(), &words).output().unwrap();
    let told = String::from_utf8(text.stdout).unwrap();
    assert!(told.contains("682 values from -119.5313 by 0.3516 deg"), "{told}");
    assert!(fs::read_to_string(folder.path().join("line.svg")).unwrap().contains("Hokuyo SCIP"));
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
fn hosts_are_served_live_one_after_another_and_sent_away_by_a_reboot() {
    let folder = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let head = RIG.split("[[device]]\nname = \"rear\"").next().unwrap();
    let rig = head
        .replace("PORT1", &port.to_string())
        .replace("power_on_stream = \"NE\"", "beam = { shape = \"ray\" }");
    fs::write(folder.path().join("rig.toml"), rig).unwrap();
    let mut command = menura(folder.path(), &["run", "rig.toml", "--duration", "60s"]);
    let _running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());

    let mut first = connect(port);
    let mut second = connect(port);
    second.write_all(b"%ST\n").unwrap();
    first.write_all(b"MD0000108010203\n").unwrap();
    let heard = read(&mut first, 4);
    assert_eq!(heard[0], Message::status(b"MD0000108010203", *b"00"));
    for (message, left) in heard[1..].iter().zip(["02", "01", "00"]) {
        assert_eq!(message.echo, [b"MD00001080102", left.as_bytes()].concat());
        assert_eq!(scan(message).steps.len(), 109);
    }
    // The second host has waited.
    drop(first);
    let heard = read(&mut second, 1);
    assert_eq!(heard[0].to_bytes(), b"%ST\n00P\n000@\n\n");
    second.write_all(b"RB\nRB\n").unwrap();
    let heard = read(&mut second, 2);
    assert_eq!(heard[1], Message::status(b"RB", *b"00"));
    assert_eq!(second.read(&mut [0; 8]).unwrap(), 0, "it is still connected");
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

fn read(host: &mut TcpStream, count: usize) -> Vec<Message> {
    let mut framer = Framer::new(Messages);
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while heard.len() < count || framer.is_amid() {
        let length = host.read(&mut buffer).unwrap();
        assert!(length > 0, "it hung up");
        heard.extend(framer.frames(&buffer[..length]));
    }
    heard
}
