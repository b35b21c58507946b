//! An observer that reads nothing delays neither the packets nor other observers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common;

const RIG: &str = r#"
seed = 3
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "lidar"
profile = "velodyne-hdl64e-s2"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "ADDRESS" } }
settings = { beam = { shape = "ray" } }
"#;

/// Requests a page; returns the whole answer.
fn asked(address: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Requests clouds repeatedly and reads nothing.
fn deaf_page(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    for _ in 0..200 {
        let _ = write!(stream, "GET /api/cloud?after=0 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    }
    stream
}

/// A Foxglove client that subscribes to the first eight channels and reads no messages.
struct DeafClient {
    stream: TcpStream,
    subscriptions: u32,
}

impl DeafClient {
    fn connect(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        let head = format!(
            "GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A client that receives a byte has been admitted.
        stream.read_exact(&mut [0]).unwrap();
        Self { stream, subscriptions: 0 }
    }

    /// Subscribes to the first eight channels, some of which may be new; repeated subscriptions are refused.
    fn subscribe(&mut self) {
        for channel in 0..8 {
            self.subscriptions += 1;
            let id = self.subscriptions;
            let wish = format!(
                r#"{{"op":"subscribe","subscriptions":[{{"id":{id},"channelId":{channel}}}]}}"#
            );
            // A final text frame, masked with zeros.
            let mut frame = vec![0x81, 0x80 | wish.len() as u8, 0, 0, 0, 0];
            frame.extend(wish.as_bytes());
            let _ = self.stream.write_all(&frame);
        }
    }
}

struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_takes_nothing_holds_up_neither_packets_nor_others() {
    let folder = tempfile::tempdir().unwrap();
    let socket: UdpSocket = common::roomy_socket();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let rig = folder.path().join("rig.toml");
    let to = socket.local_addr().unwrap().to_string();
    std::fs::write(&rig, RIG.replace("ADDRESS", &to)).unwrap();
    let mut command = common::menura();
    command.arg("run").arg(&rig).args(["--view", "127.0.0.1:0", "--foxglove", "127.0.0.1:0"]);
    let mut run = Run(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(run.0.stderr.take().unwrap()).lines();
    let mut address_after = |start: &str| -> String {
        let line = lines.find_map(|line| line.unwrap().strip_prefix(start).map(str::to_owned));
        line.expect(start).trim_end_matches('/').to_owned()
    };
    let view = address_after("live view: http://");
    let foxglove = address_after("Foxglove: ws://");
    // Later output must not fill the pipe.
    let rest = std::thread::spawn(move || lines.count());

    let mut buffer = [0; 2048];
    let mut hear = |count: usize| {
        for _ in 0..count {
            socket.recv(&mut buffer).expect("packets go on");
        }
    };
    hear(10);
    let pages = [(); 4].map(|()| deaf_page(&view));
    let mut clients = [(); 4].map(|()| DeafClient::connect(&foxglove));
    for _ in 0..20 {
        clients.iter_mut().for_each(DeafClient::subscribe);
        hear(350);
        let status = asked(&view, "/api/status");
        assert!(status.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&status));
    }
    // The answers have the figures of the last second, and the data for the page's fault form.
    let has = |path: &str, text: &str| {
        let answer = String::from_utf8_lossy(&asked(&view, path)).into_owned();
        assert!(answer.contains(text), "{path} has no {text}: {answer}");
    };
    has("/api/status", r#""recent":{"activity":"sends","rate_hz":"#);
    has("/api/rig", r#"{"kind":"link-down","keys":[]}"#);
    // Frames of points exist; they were also sent to the clients that read nothing. On a busy machine they are late.
    let mut clouds = (0..500).map(|_| {
        hear(350);
        asked(&view, "/api/cloud?after=0").len()
    });
    assert!(clouds.any(|bytes| bytes > 20_000));
    let pid = rustix::process::Pid::from_child(&run.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(run.0.wait().unwrap().success());
    rest.join().unwrap();
    drop((pages, clients));
}

const CAMERA: &str = r#"
seed = 3
[world]
scene = "room"
[[device]]
name = "a-camera"
profile = "menura-gv231c"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9", from = "127.0.0.23:20202" }, gvcp = "127.0.0.23:3956" }
settings = { image_width = 64, image_height = 48, frame_rate_hz = 20.0, sun_deg = [45.0, 200.0], streams_alone = true }
"#;

#[test]
fn images_of_a_camera_are_a_stream_for_players() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    std::fs::write(&rig, CAMERA).unwrap();
    let mut command = common::menura();
    command.arg("run").arg(&rig).args(["--view", "127.0.0.1:0"]);
    let mut run = Run(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(run.0.stderr.take().unwrap()).lines();
    let view =
        lines.find_map(|line| line.unwrap().strip_prefix("live view: http://").map(str::to_owned));
    let view = view.expect("the view's address").trim_end_matches('/').to_owned();
    let rest = std::thread::spawn(move || lines.count());
    let facts = asked(&view, "/api/rig");
    assert!(String::from_utf8_lossy(&facts).contains(r#""is_camera":true"#));
    assert!(asked(&view, "/video/lidar").starts_with(b"HTTP/1.1 404"));

    let mut stream = TcpStream::connect(&view).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /video/a-camera HTTP/1.0\r\nHost: {view}\r\n\r\n").unwrap();
    let mut player = BufReader::new(stream);
    let mut images = Vec::new();
    let mut line = String::new();
    while images.len() < 2 {
        line.clear();
        assert!(player.read_line(&mut line).unwrap() > 0, "the stream goes on");
        if let Some(length) = line.strip_prefix("Content-Length: ") {
            let mut image = vec![0; length.trim().parse::<usize>().unwrap() + 2];
            player.read_exact(&mut image).unwrap();
            images.push(image.split_off(2));
        }
    }
    for image in &images {
        assert!(image.starts_with(&[0xff, 0xd8]) && image.ends_with(&[0xff, 0xd9]));
    }
    let pid = rustix::process::Pid::from_child(&run.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(run.0.wait().unwrap().success());
    rest.join().unwrap();
}

#[test]
fn what_is_no_video_device_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    std::fs::write(&rig, CAMERA).unwrap();
    let wrong = |target: &str| {
        let output =
            common::menura().arg("run").arg(&rig).args(["--v4l2", target]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (target, text) in [
        (
            "/dev/video4711",
            "error: --v4l2: there is no /dev/video4711: load the kernel's module with `modprobe v4l2loopback`",
        ),
        ("a-camera=/dev/null", "error: --v4l2: /dev/null is not a video device"),
        ("lidar=/dev/video0", "error: --v4l2: there is no camera `lidar`; cameras: a-camera"),
        ("=/dev/video0", "allowed: /dev/videoN or NAME=/dev/videoN"),
    ] {
        let told = wrong(target);
        assert!(told.contains(text), "{target}: {told}");
    }
}
