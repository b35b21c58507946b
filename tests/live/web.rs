//! A Velodyne's web interface over real HTTP with `menura run`, and its effects on the stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Stdio};
use std::time::Duration;

use menura::wire::velodyne::DataPacket;

use crate::common;

/// A running sensor, its web interface, and the host that receives its packets.
struct Bench {
    menura: Child,
    web: SocketAddr,
    host: UdpSocket,
}

impl Bench {
    fn start(profile: &str, settings: &str) -> Self {
        let host = listener();
        let rig = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let text = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"puck\"\nprofile = \"{profile}\"\n\
             mount = {{ translation_m = [0.0, 0.0, 1.0] }}\n\
             link = {{ udp = {{ to = \"{}\" }}, web = \"127.0.0.1:0\" }}\n\
             [device.settings]\nbeam = {{ shape = \"ray\" }}\nazimuth_jitter_centideg = 0.0\n{settings}\n",
            host.local_addr().unwrap()
        );
        std::fs::write(&rig, text).unwrap();
        let mut menura = common::menura()
            .arg("run")
            .arg(rig.path())
            .args(["--duration", "120s"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(menura.stderr.take().unwrap()).lines();
        let web = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("puck: controlled by http://").map(|web| web.parse().unwrap())
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { menura, web: web.expect("the address of the web interface"), host }
    }

    /// Sends a request; returns status and body of the answer.
    fn exchange(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.exchange_from("http://sensor", method, path, body)
    }

    /// Like [`Bench::exchange`], as a page of the site `origin` would send it.
    fn exchange_from(&self, origin: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.web).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: sensor\r\nOrigin: {origin}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let status = reply.split(' ').nth(1).unwrap().parse().unwrap();
        let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, body.to_owned())
    }

    fn post(&self, path: &str, body: &str) {
        assert_eq!(self.exchange("POST", path, body).0, 204, "{path} {body}");
    }

    fn get(&self, path: &str) -> serde_json::Value {
        let (status, body) = self.exchange("GET", path, "");
        assert_eq!(status, 200, "{path}");
        serde_json::from_str(&body).unwrap()
    }

    /// Receives packets until `is_so` returns true for the latest 20; `what` describes the condition in failure
    /// messages.
    fn expect(&self, what: &str, is_so: impl Fn(&[DataPacket]) -> bool) {
        const TOGETHER: usize = 20;
        let mut packets = Vec::new();
        for _ in 0..30_000 {
            packets.push(receive(&self.host).unwrap_or_else(|| panic!("silence before {what}")));
            if packets.len() > TOGETHER {
                packets.remove(0);
            }
            if packets.len() == TOGETHER && is_so(&packets) {
                return;
            }
        }
        panic!("never {what}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.menura.kill();
        let _ = self.menura.wait();
    }
}

fn listener() -> UdpSocket {
    let host = common::roomy_socket();
    host.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    host
}

fn receive(host: &UdpSocket) -> Option<DataPacket> {
    let mut buffer = [0; 2000];
    let (len, _) = host.recv_from(&mut buffer).ok()?;
    Some(DataPacket::parse(&buffer[..len]).expect("a data packet"))
}

/// Azimuth steps between packets, 0.01 degrees.
fn steps(packets: &[DataPacket]) -> Vec<i32> {
    let azimuths: Vec<_> =
        packets.iter().map(|p| i32::from(p.blocks[0].azimuth_centideg)).collect();
    azimuths.windows(2).map(|pair| (pair[1] - pair[0]).rem_euclid(36_000)).collect()
}

fn mode(packet: &DataPacket) -> u8 {
    packet.status_bytes()[0]
}

/// The requests that scripts of robot makers send, in order.
#[test]
fn a_host_changes_the_stream() {
    // A strong motor, so that the test does not wait for seconds.
    let bench = Bench::start("velodyne-vlp16-3.0", "motor = { acceleration_rpm_s = 5000 }");
    // 12 double firing sequences of 110.592 us per packet.
    let turning_at = |rpm: i64| {
        move |packets: &[DataPacket]| {
            let expected = rpm * 600 * 1_327_104 / 1_000_000_000;
            steps(packets).iter().all(|step| (i64::from(*step) - expected).abs() <= 1)
        }
    };
    bench.expect("600 rpm", turning_at(600));
    assert_eq!(bench.get("/cgi/settings.json")["rpm"], 600);
    assert_eq!(bench.get("/cgi/info.json")["model"], "VLP-16");

    bench.post("/cgi/setting", "rpm=300");
    bench.expect("300 rpm", turning_at(300));
    let rpm = bench.get("/cgi/status.json")["motor"]["rpm"].as_i64().unwrap();
    assert!((297..=303).contains(&rpm), "{rpm}");

    bench.post("/cgi/setting", "returns=Dual");
    bench.expect("two returns", |packets| {
        packets.iter().all(|packet| {
            let azimuth = |block: usize| packet.blocks[block].azimuth_centideg;
            mode(packet) == 0x39 && (0..6).all(|pair| azimuth(2 * pair) == azimuth(2 * pair + 1))
        })
    });
    bench.post("/cgi/setting", "returns=Last");
    bench.expect("the last return", |packets| packets.iter().all(|packet| mode(packet) == 0x38));

    let is_dark = |packet: &DataPacket| {
        packet.blocks.iter().flat_map(|block| &block.points).all(|point| point.distance == 0)
    };
    bench.post("/cgi/setting", "laser=off");
    bench.expect("darkness", |packets| packets.iter().all(is_dark));
    assert_eq!(bench.get("/cgi/status.json")["laser"]["state"], "Off");
    bench.post("/cgi/setting", "laser=on&rpm=600");
    bench.expect("light", |packets| !packets.iter().any(is_dark) && turning_at(600)(packets));

    bench.post("/cgi/setting/fov", "start=90&end=180");
    bench.expect("a quarter", |packets| {
        packets
            .iter()
            .flat_map(|packet| &packet.blocks)
            .all(|block| (9_000..18_000).contains(&block.azimuth_centideg))
    });
    bench.post("/cgi/setting/fov", "start=0&end=359");
    bench.expect("the whole turn", |packets| {
        packets.iter().any(|packet| packet.blocks[0].azimuth_centideg > 30_000)
    });

    let other = listener();
    let port = other.local_addr().unwrap().port();
    bench.post("/cgi/setting/host", &format!("addr=127.0.0.1&dport={port}&tport=8308"));
    assert!(receive(&other).is_some(), "the other host hears nothing");
    assert_eq!(bench.get("/cgi/settings.json")["host"]["dport"], port);
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let bench = Bench::start("velodyne-vlp32c-3.0", "");
    let before = bench.get("/cgi/settings.json");
    for (method, path, body, status) in [
        ("POST", "/cgi/setting", "rpm=601", 400),
        ("POST", "/cgi/setting", "rpm=600&returns=Quadruple", 400),
        ("POST", "/cgi/setting", "", 400),
        ("POST", "/cgi/status.json", "a=b", 405),
        ("GET", "/cgi/setting", "", 405),
        ("GET", "/etc/passwd", "", 404),
        ("PATCH", "/", "", 405),
    ] {
        let (got, why) = bench.exchange(method, path, body);
        assert_eq!(got, status, "{method} {path} {body}: {why}");
    }
    let big = "x".repeat(100_000);
    let mut stream = TcpStream::connect(bench.web).unwrap();
    let _ = write!(
        stream,
        "POST /cgi/setting HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{big}"
    );
    drop(stream);
    assert_eq!(bench.get("/cgi/settings.json"), before);
    assert!(bench.exchange("GET", "/", "").1.contains("emulated by Menura"));
}

/// Real units do not check the origin of a request (docs/SECURITY.md).
#[test]
fn a_page_of_another_site_changes_settings() {
    let bench = Bench::start("velodyne-vlp16-3.0", "");
    assert_eq!(bench.get("/cgi/settings.json")["rpm"], 600);
    let (status, why) =
        bench.exchange_from("http://elsewhere.example", "POST", "/cgi/setting", "rpm=300");
    assert_eq!(status, 204, "{why}");
    assert_eq!(bench.get("/cgi/settings.json")["rpm"], 300);
}

#[test]
fn an_hdl64e_obeys_its_serial_line() {
    let host = listener();
    let folder = tempfile::tempdir().unwrap();
    let (rig, line) = (folder.path().join("rig.toml"), folder.path().join("line"));
    let text = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"roof\"\nprofile = \"velodyne-hdl64e-s3\"\n\
         link = {{ udp = {{ to = \"{}\" }}, control = {{ pty = \"{}\" }} }}\n\
         [device.settings]\nbeam = {{ shape = \"ray\" }}\nmotor = {{ acceleration_rpm_s = 5000, interlock_rpm = 6000 }}\n",
        host.local_addr().unwrap(),
        line.display()
    );
    std::fs::write(&rig, text).unwrap();
    let menura = common::menura()
        .arg("run")
        .arg(&rig)
        .args(["--duration", "120s"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let web = host.local_addr().unwrap(); // this unit has no web interface
    let bench = Bench { menura, web, host };
    bench.expect("600 rpm", |packets| steps(packets).iter().all(|step| (103..=105).contains(step)));
    let mut port = std::fs::OpenOptions::new().write(true).open(&line).unwrap();
    port.write_all(b"#HDLRPM1200$").unwrap();
    bench
        .expect("1200 rpm", |packets| steps(packets).iter().all(|step| (206..=209).contains(step)));
    port.write_all(b"#HDLRETD$").unwrap();
    bench.expect("two returns", |packets| {
        packets
            .iter()
            .all(|packet| packet.blocks[0].azimuth_centideg == packet.blocks[2].azimuth_centideg)
    });
}

#[test]
fn a_port_in_use_ends_the_run_before_it_begins() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let rig = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let text = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"puck\"\nprofile = \"velodyne-vlp16-3.0\"\n\
         link = {{ udp = {{ to = \"127.0.0.1:9\" }}, web = \"{}\" }}\n",
        taken.local_addr().unwrap()
    );
    std::fs::write(&rig, text).unwrap();
    let output =
        common::menura().args(["run", "--duration", "1s"]).arg(rig.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("puck") && told.contains("another program has this port"), "{told}");
}
