//! Tests of faults that are started and ended while a rig runs: the log of such a run, converted to sections of the
//! rig, reproduces the run byte for byte.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::faults::log::FaultLog;
use menura::engine::host_log::{self, HostLog};
use menura::engine::live_faults::{FaultControl, FaultRequest, LiveFault};
use menura::engine::ranks::lead::Lead;
use menura::engine::record::record;
use menura::engine::run::RealTimeRun;
use menura::wire::nmea::RawSentence;

use crate::common::{self, faulty};

/// A rig whose pseudo-terminals are named `FOLDER/DEVICE`.
const RIG: &str = r#"
seed = 11
start_utc = 2026-06-01T12:59:59.9Z

[world]
scene = "room"

[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
gps_cable = "gnss"

[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
link = { pty = "FOLDER/gnss" }

[[fault]]
name = "of-the-rig"
device = "lidar"
kind = "window-dirty"
transmission = 0.7
from_deg = 0
to_deg = 90
start_s = 0.5
"#;
const DURATION: Duration = Duration::from_millis(4600);

/// Requests that start or end faults, with their times in milliseconds.
type Script = [(u64, &'static str)];
const SCRIPT: &Script = &[
    (
        300,
        r#"{"start": {"name": "dirt", "device": "lidar", "kind": "window-dirty", "transmission": 0.3}}"#,
    ),
    (350, r#"{"start": {"device": "gnss", "kind": "gnss-outage", "duration_s": 0.9}}"#),
    (
        500,
        r#"{"start": {"device": "lidar", "kind": "packet-loss", "probability": 0.3, "duration_s": 0.4}}"#,
    ),
    (
        700,
        r#"{"start": {"name": "stall", "device": "lidar", "kind": "motor-stall", "stops_within_s": 0.2}}"#,
    ),
    (900, r#"{"end": "dirt"}"#),
    (
        1000,
        r#"{"start": {"device": "gnss", "kind": "line-noise", "rate": 0.001, "duration_s": 0.5}}"#,
    ),
    (1100, r#"{"start": {"device": "gnss", "kind": "pps-loss", "duration_s": 2}}"#),
    (
        1200,
        r#"{"start": {"device": "lidar", "kind": "reordering", "probability": 0.2, "by_packets": 3}}"#,
    ),
    (
        1500,
        r#"{"start": {"device": "lidar", "kind": "laser-dead", "lasers": [3, 7], "duration_s": 1}}"#,
    ),
    (1800, r#"{"start": {"name": "down", "device": "gnss", "kind": "link-down"}}"#),
    (2200, r#"{"end": "down"}"#),
    (2300, r#"{"end": "stall"}"#),
    (3000, r#"{"start": {"device": "gnss", "kind": "gnss-jump", "offset_m": [5, 0, 1]}}"#),
];

/// A rig with an HDL-64E, a scanner and an IMU.
const OTHERS: &str = r#"
seed = 12
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "room"

[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }

[[device]]
name = "lidar"
profile = "velodyne-hdl64e-s2"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { beam = { shape = "ray" } }

[[device]]
name = "scanner"
profile = "sick-lms291-s05-x1.27"
mount = { translation_m = [0.5, 0.0, 0.5] }
link = { pty = "FOLDER/scanner" }
settings = { power_on_mode = "continuous" }

[[device]]
name = "imu"
profile = "vectornav-vn100"
link = { pty = "FOLDER/imu" }
"#;
const SCRIPT_OF_OTHERS: &Script = &[
    (
        300,
        r#"{"start": {"name": "dirt", "device": "lidar", "kind": "window-dirty", "transmission": 0.1, "to_deg": 200}}"#,
    ),
    (
        400,
        r#"{"start": {"device": "imu", "kind": "line-noise", "rate": 0.0005, "duration_s": 1.5}}"#,
    ),
    (
        500,
        r#"{"start": {"device": "scanner", "kind": "window-dirty", "transmission": 0.02, "from_deg": 45, "to_deg": 135, "duration_s": 2}}"#,
    ),
    (
        600,
        r#"{"start": {"device": "lidar", "kind": "laser-dead", "lasers": [0, 33, 63], "duration_s": 2}}"#,
    ),
    (
        800,
        r#"{"start": {"name": "stall", "device": "lidar", "kind": "motor-stall", "stops_within_s": 0.3}}"#,
    ),
    (1000, r#"{"end": "dirt"}"#),
    (1200, r#"{"start": {"device": "scanner", "kind": "dropped-bytes", "probability": 0.001}}"#),
    (
        1500,
        r#"{"start": {"name": "held", "device": "scanner", "kind": "motor-stall", "stops_within_s": 0.1}}"#,
    ),
    (1700, r#"{"end": "stall"}"#),
    (
        1900,
        r#"{"start": {"device": "lidar", "kind": "bit-errors", "rate": 0.00001, "duration_s": 1}}"#,
    ),
    (2100, r#"{"start": {"name": "down", "device": "imu", "kind": "link-down"}}"#),
    (2500, r#"{"end": "held"}"#),
    (2600, r#"{"end": "down"}"#),
];

/// A rig with an Ouster, and a scanner that a host reads over TCP.
const OUSTER: &str = r#"
seed = 13
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "room"

[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }

[[device]]
name = "lidar"
profile = "ouster-os1-32-3.1"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9", imu_port = 9 } }
settings = { lidar_mode = "512x10" }

[[device]]
name = "scanner"
profile = "sick-lms111"
mount = { translation_m = [0.3, 0.0, 0.5] }
link = { tcp = "127.0.0.1:PORT" }
settings = { power_on_stream = "cola-b" }
"#;
const OUSTER_SCRIPT: &Script = &[
    (
        300,
        r#"{"start": {"name": "dirt", "device": "lidar", "kind": "window-dirty", "transmission": 0.2, "from_deg": 90, "to_deg": 270}}"#,
    ),
    (
        400,
        r#"{"start": {"device": "scanner", "kind": "window-dirty", "transmission": 0.05, "duration_s": 1}}"#,
    ),
    (
        500,
        r#"{"start": {"device": "lidar", "kind": "alert", "id": 16777217, "category": "TEST", "level": "WARNING", "message": "a test", "duration_s": 1}}"#,
    ),
    (
        700,
        r#"{"start": {"device": "lidar", "kind": "shot-limiting", "reduction": 0.4, "announced_s": 0.3, "duration_s": 1}}"#,
    ),
    (800, r#"{"start": {"device": "lidar", "kind": "laser-dead", "lasers": [1, 30]}}"#),
    (
        900,
        r#"{"start": {"name": "held", "device": "scanner", "kind": "motor-stall", "stops_within_s": 0.1}}"#,
    ),
    (1000, r#"{"end": "dirt"}"#),
    (
        1200,
        r#"{"start": {"device": "lidar", "kind": "duplication", "probability": 0.2, "duration_s": 1}}"#,
    ),
    (
        1500,
        r#"{"start": {"name": "stall", "device": "lidar", "kind": "motor-stall", "stops_within_s": 0.3}}"#,
    ),
    (1600, r#"{"end": "held"}"#),
    (1700, r#"{"start": {"device": "scanner", "kind": "delay", "delay_ms": 15, "duration_s": 1}}"#),
    (2000, r#"{"end": "stall"}"#),
    (
        2200,
        r#"{"start": {"device": "lidar", "kind": "thermal-shutdown", "announced_s": 0.2, "duration_s": 0.4}}"#,
    ),
];

/// A rig with a Hesai on a rotating joint, and a scanner of another maker that a host reads over TCP.
const HESAI: &str = r#"
seed = 14
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "room"

[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }

[[joint]]
name = "mast"
translation_m = [0.0, 0.0, 0.5]
motion = { kind = "constant-rate", rate_deg_s = 90.0 }

[[device]]
name = "lidar"
profile = "hesai-pandar40p"
mount = { parent = "mast", translation_m = [0.0, 0.0, 0.5] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { clock_source = "ptp", ptp = "locked", beam = { shape = "ray" } }

[[device]]
name = "scanner"
profile = "hokuyo-utm30lx-ew"
mount = { translation_m = [0.3, 0.0, 0.5] }
link = { tcp = "127.0.0.1:PORT" }
settings = { power_on_stream = "ME" }
"#;
const HESAI_SCRIPT: &Script = &[
    (300, r#"{"start": {"name": "alone", "device": "lidar", "kind": "ptp-lost"}}"#),
    (
        400,
        r#"{"start": {"name": "dirt", "device": "scanner", "kind": "window-dirty", "transmission": 0.05, "from_deg": -45, "to_deg": 45}}"#,
    ),
    (
        500,
        r#"{"start": {"device": "lidar", "kind": "high-temperature", "rise_c": 60, "duration_s": 1}}"#,
    ),
    (
        700,
        r#"{"start": {"device": "lidar", "kind": "window-dirty", "transmission": 0.1, "from_deg": 300, "to_deg": 60, "duration_s": 1}}"#,
    ),
    (900, r#"{"end": "dirt"}"#),
    (
        1000,
        r#"{"start": {"device": "lidar", "kind": "laser-dead", "lasers": [0, 39], "duration_s": 1}}"#,
    ),
    (
        1100,
        r#"{"start": {"name": "held", "device": "scanner", "kind": "motor-stall", "stops_within_s": 0.2}}"#,
    ),
    (1300, r#"{"end": "alone"}"#),
    (
        1400,
        r#"{"start": {"device": "lidar", "kind": "reordering", "probability": 0.2, "by_packets": 2, "duration_s": 1}}"#,
    ),
    (
        1500,
        r#"{"start": {"name": "stall", "device": "lidar", "kind": "motor-stall", "stops_within_s": 0.3}}"#,
    ),
    (1700, r#"{"end": "held"}"#),
    (2000, r#"{"end": "stall"}"#),
    (2200, r#"{"start": {"device": "lidar", "kind": "packet-loss", "probability": 0.2}}"#),
    (2300, r#"{"start": {"device": "scanner", "kind": "delay", "delay_ms": 10, "jitter_ms": 5}}"#),
];

/// A robot with an Ouster and a scanner; hosts command its drive base and its rotating head.
const DRIVEN: &str = r#"
seed = 15
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "room"

[robot.trajectory]
kind = "drive"
model = "differential"
track_m = 0.235
max_speed_m_s = 0.5
time_constant_ms = 35.0

[[joint]]
name = "mast"
translation_m = [0.0, 0.0, 0.6]
motion = { kind = "commanded", max_rate_deg_s = 120.0, max_acceleration_deg_s2 = 400.0 }

[[device]]
name = "lidar"
profile = "ouster-os1-32-3.1"
mount = { parent = "mast", translation_m = [0.0, 0.0, 0.4] }
link = { udp = { to = "127.0.0.1:9", imu_port = 9 } }
settings = { lidar_mode = "512x10" }

[[device]]
name = "base"
profile = "irobot-create2"
link = { pty = "FOLDER/base" }

[[device]]
name = "head"
profile = "menura-turning-head"
mount = { parent = "mast" }
link = { pty = "FOLDER/head" }

[[device]]
name = "scanner"
profile = "sick-lms111"
mount = { translation_m = [0.3, 0.0, 0.3] }
link = { tcp = "127.0.0.1:PORT" }
settings = { power_on_stream = "cola-b" }
"#;
const DRIVEN_SCRIPT: &Script = &[
    (
        300,
        r#"{"start": {"device": "base", "kind": "encoder-stuck", "side": "left", "duration_s": 0.4}}"#,
    ),
    (400, r#"{"start": {"name": "still", "device": "head", "kind": "joint-encoder-stuck"}}"#),
    (500, r#"{"start": {"device": "base", "kind": "counter-jump", "counts": 500}}"#),
    (
        600,
        r#"{"start": {"name": "back", "device": "base", "kind": "encoder-reversed", "side": "right"}}"#,
    ),
    (700, r#"{"end": "still"}"#),
    (
        800,
        r#"{"start": {"device": "lidar", "kind": "window-dirty", "transmission": 0.2, "duration_s": 0.5}}"#,
    ),
    (900, r#"{"start": {"device": "base", "kind": "encoders-swapped", "duration_s": 0.3}}"#),
    (1100, r#"{"end": "back"}"#),
    (
        1200,
        r#"{"start": {"device": "base", "kind": "low-battery", "battery_v": 11.5, "duration_s": 0.5}}"#,
    ),
    (
        1300,
        r#"{"start": {"device": "base", "kind": "late-replies", "delay_ms": 7, "duration_s": 0.6}}"#,
    ),
    (1500, r#"{"start": {"device": "head", "kind": "joint-encoder-stuck", "duration_s": 0.3}}"#),
    (
        1550,
        r#"{"start": {"device": "scanner", "kind": "window-dirty", "transmission": 0.05, "duration_s": 0.5}}"#,
    ),
    (1600, r#"{"start": {"name": "held-up", "device": "base", "kind": "emergency-stop"}}"#),
    (
        1700,
        r#"{"start": {"device": "head", "kind": "dropped-bytes", "probability": 0.01, "duration_s": 1}}"#,
    ),
    (2000, r#"{"end": "held-up"}"#),
    (2300, r#"{"start": {"device": "base", "kind": "power-cycle", "duration_s": 0.2}}"#),
];
/// Host's bytes to the drive base: start, full mode, an arc with a radius of one metre, and a stream of counts, voltage
/// and charge.
const DRIVE_AND_TELL: &[u8] = &[128, 132, 137, 0, 100, 3, 232, 148, 4, 43, 44, 22, 25];
/// Host's command to the rotating head: rotate without end.
const TURN: &[u8] = b"TC+9\r";

fn ask(run: &RealTimeRun<'_>, request: &str) -> Result<LiveFault, String> {
    match FaultRequest::parse(request.as_bytes())? {
        FaultRequest::Start(keys) => run.fault_control().start(run.rig(), keys, catalogue()),
        FaultRequest::End(name) => run.fault_control().end(&name),
        FaultRequest::List => Err("no fault".into()),
    }
}

/// Bytes that arrive on a pseudo-terminal until `over` is set; the host first sends `words`.
fn talk_by_pty(path: &Path, words: &[u8], over: &AtomicBool) -> Vec<u8> {
    let mut file = loop {
        match File::options().read(true).write(!words.is_empty()).open(path) {
            Ok(file) => break file,
            Err(_) => std::thread::park_timeout(Duration::from_millis(1)),
        }
    };
    file.write_all(words).unwrap();
    rustix::io::ioctl_fionbio(&file, true).unwrap();
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut buffer) {
            Ok(count) if count > 0 => all.extend_from_slice(&buffer[..count]),
            _ if over.load(Ordering::Relaxed) => return all,
            _ => std::thread::park_timeout(Duration::from_millis(1)),
        }
    }
}

/// Bytes that arrive over TCP until `over` is set and no more arrive.
fn read_tcp(port: u16, over: &AtomicBool) -> Vec<u8> {
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(_) => std::thread::park_timeout(Duration::from_millis(1)),
        }
    };
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(_) if over.load(Ordering::Relaxed) => return all,
            Err(_) => {}
        }
    }
}

#[test]
fn the_fault_log_reproduces_a_run_of_a_vlp16_and_a_gnss_receiver() {
    repeats(Bench::new(RIG, SCRIPT, &[("gnss", b"")]));
}

/// Other ranks receive each fault before they make the measurements that it changes.
#[test]
fn the_fault_log_reproduces_a_run_where_other_ranks_measure() {
    repeats(Bench { ranks: Some(2), ..Bench::new(RIG, SCRIPT, &[("gnss", b"")]) });
}

#[test]
fn the_fault_log_reproduces_a_run_of_an_hdl_64e_a_scanner_and_an_imu() {
    repeats(Bench::new(OTHERS, SCRIPT_OF_OTHERS, &[("scanner", b""), ("imu", b"")]));
}

#[test]
fn the_fault_log_reproduces_a_run_of_an_ouster_and_a_scanner_with_a_host() {
    repeats(Bench { host: Some("scanner"), ..Bench::new(OUSTER, OUSTER_SCRIPT, &[]) });
}

#[test]
fn the_fault_log_reproduces_a_run_of_a_hesai_and_a_hokuyo_with_a_host() {
    repeats(Bench { host: Some("scanner"), ..Bench::new(HESAI, HESAI_SCRIPT, &[]) });
}

#[test]
fn the_logs_reproduce_a_run_of_a_commanded_drive_base_and_turning_head() {
    let lines = &[("base", DRIVE_AND_TELL), ("head", TURN)];
    repeats(Bench { host: Some("scanner"), ..Bench::new(DRIVEN, DRIVEN_SCRIPT, lines) });
}

/// A rig, the requests during its run, and its hosts.
struct Bench<'a> {
    text: &'a str,
    script: &'a Script,
    /// Devices on serial lines, with the bytes that their hosts send.
    lines: &'a [(&'a str, &'a [u8])],
    /// Device that is read over TCP.
    host: Option<&'a str>,
    /// Number of other ranks that measure for the rig; `None`: this process measures.
    ranks: Option<usize>,
}

impl<'a> Bench<'a> {
    fn new(text: &'a str, script: &'a Script, lines: &'a [(&'a str, &'a [u8])]) -> Self {
        Self { text, script, lines, host: None, ranks: None }
    }
}

/// Results of a run.
struct Live {
    datagrams: Vec<Vec<u8>>,
    /// Bytes of each serial line.
    on_lines: Vec<Vec<u8>>,
    /// Bytes of the TCP connection.
    by_tcp: Vec<u8>,
    /// Content of the host log.
    said: String,
}

/// Runs the rig; `script` starts and ends faults. Then records the rig with the faults of the fault log and the
/// commands of the host log, and compares the bytes.
fn repeats(Bench { text, script, lines, host, ranks }: Bench<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let socket = common::roomy_socket();
    let to = socket.local_addr().unwrap().to_string();
    let sets = [("device.lidar.link.udp.to", &*to)];
    let port = common::free_port();
    let text = text.replace("FOLDER", folder.path().to_str().unwrap());
    let text = text.replace("PORT", &port.to_string());
    let rig = common::rig(&text, &sets);
    let world = common::world(&rig);
    let log = folder.path().join("log.csv");
    let host_log = folder.path().join("hosts.jsonl");
    let live = |lead: Option<&Lead>| {
        let mut run = RealTimeRun::new(&rig, &world).unwrap();
        if let Some(lead) = lead {
            run.cast_elsewhere(lead);
        }
        run.log_faults(FaultLog::new(&rig, Box::new(File::create(&log).unwrap())).unwrap());
        let file = Box::new(File::create(&host_log).unwrap());
        run.log_hosts(HostLog::new(&rig, run.epoch().start(), file).unwrap());
        let over = AtomicBool::new(false);
        let ptys: Vec<_> =
            lines.iter().map(|(name, words)| (folder.path().join(name), words)).collect();
        let (heard, on_lines, by_tcp) = std::thread::scope(|scope| {
            let readers: Vec<_> = ptys
                .iter()
                .map(|(pty, words)| scope.spawn(|| talk_by_pty(pty, words, &over)))
                .collect();
            let host = host.map(|_| scope.spawn(|| read_tcp(port, &over)));
            scope.spawn(|| {
                for (at_ms, request) in script {
                    let at = Duration::from_millis(*at_ms);
                    while run.elapsed() < at {
                        std::thread::park_timeout(at.saturating_sub(run.elapsed()));
                    }
                    let asked_at = run.elapsed();
                    let fault =
                        ask(&run, request).unwrap_or_else(|told| panic!("{request}: {told}"));
                    let told_at = fault.ends_ns.unwrap_or(fault.begins_ns);
                    assert!(told_at > asked_at.as_nanos() as u64, "{fault:?} is in the past");
                }
            });
            let heard = common::live(&run, DURATION, &socket);
            over.store(true, Ordering::Relaxed);
            let on_lines: Vec<_> =
                readers.into_iter().map(|reader| reader.join().unwrap()).collect();
            let by_tcp = host.map(|host| host.join().unwrap());
            (heard, on_lines, by_tcp.unwrap_or_default())
        });
        let said = std::fs::read_to_string(&host_log).unwrap();
        let told = Live { datagrams: heard.told, on_lines, by_tcp, said };
        common::Heard { told, dropped: heard.dropped }
    };
    let Live { datagrams, on_lines, by_tcp, said } = match ranks {
        None => common::until_whole(|| live(None)),
        Some(others) => common::ranks::with_others(&text, &sets, &rig, &world, others, |lead| {
            common::until_whole(|| live(Some(lead)))
        }),
    };
    let shown = common::menura().args(["fault", "--log-to-rig"]).arg(&log).output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let sections = String::from_utf8(shown.stdout).unwrap();
    let starts = script.iter().filter(|(_, request)| request.contains("start")).count();
    assert_eq!(sections.matches("[[fault]]").count(), starts, "{sections}");
    let again = common::rig(&(text.clone() + &sections), &sets);
    let hosts = host_log::read(&said, &rig).unwrap();
    let recorded = |rig: &Rig| -> BTreeMap<String, Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let (hosts, stop) = (Some(&hosts), AtomicBool::new(false));
        record(rig, &common::world(rig), DURATION, hosts, folder.path(), &stop, |_| {}).unwrap();
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        files.map(|path| (name(&path), std::fs::read(path).unwrap())).collect()
    };
    // Without the faults, the recording differs.
    let (without, recorded) = (recorded(&rig), recorded(&again));
    // Datagrams of the other port, which have another length, go to another socket.
    let expected = faulty::packets(&recorded["lidar.pcap"], datagrams[0].len());
    let expected: Vec<_> = expected.into_iter().map(|(_, bytes)| bytes).collect();
    let differs = datagrams.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(
        datagrams == expected,
        "{} datagrams of {}, the first that differs: {differs:?}",
        datagrams.len(),
        expected.len()
    );
    assert!(recorded["lidar.pcap"] != without["lidar.pcap"]);
    for ((name, _), line) in lines.iter().zip(&on_lines) {
        let stream = format!("{name}.bin");
        let differs = line.iter().zip(&recorded[&stream]).position(|(a, b)| a != b);
        let bytes = recorded[&stream].len();
        let told = format!("{stream}: {} bytes of {bytes}, differ at {differs:?}", line.len());
        assert!(*line == recorded[&stream], "{told}");
        assert!(recorded[&stream] != without[&stream], "{stream}");
    }
    if let Some(name) = host {
        // The end of the run cuts off bytes in transit.
        let stream = format!("{name}-peer0.bin");
        let expected = &recorded[&stream];
        let differs = by_tcp.iter().zip(expected).position(|(a, b)| a != b);
        let (heard, all) = (by_tcp.len(), expected.len());
        assert!(expected.starts_with(&by_tcp), "{stream}: {heard} of {all}, differ at {differs:?}");
        assert!(heard > all * 9 / 10, "{stream}: {heard} bytes of {all}");
        assert!(recorded[&stream] != without[&stream], "{stream}");
    }
}

/// When a delay ends, the next telegram is due while the late one is still being transmitted. Both must arrive
/// undamaged.
#[test]
fn a_late_telegram_is_on_its_line_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pty = folder.path().join("imu.tty");
    let rig = format!(
        "seed = 3\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"room\"\n[robot]\n\
         trajectory = {{ kind = \"still\" }}\n[[device]]\nname = \"imu\"\nprofile = \"vectornav-vn100\"\n\
         link = {{ pty = {pty:?}, strict_rate = false }}\nsettings = {{ baud_rate = 9600, rate_hz = 5 }}\n\
         [[fault]]\ndevice = \"imu\"\nkind = \"delay\"\ndelay_ms = 150.0\nstart_s = 0.5\nduration_s = 0.5\n\
         period_s = 1.0\n"
    );
    let file = folder.path().join("rig.toml");
    std::fs::write(&file, rig).unwrap();
    let over = AtomicBool::new(false);
    let heard = std::thread::scope(|scope| {
        let reader = scope.spawn(|| talk_by_pty(&pty, &[], &over));
        let status =
            common::menura().arg("run").arg(&file).args(["--duration", "5s"]).output().unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    let text = String::from_utf8_lossy(&heard);
    let mut lines: Vec<_> = text.split("\r\n").collect();
    // The run ends within a telegram.
    lines.pop();
    assert!(lines.len() > 10, "{text}");
    // The first telegram may have started before the host listened.
    for line in &lines[1..] {
        assert!(RawSentence::parse(format!("{line}\r\n").as_bytes()).is_ok(), "{line}");
    }
}

#[test]
fn what_cannot_be_is_refused_in_the_words_of_a_rig() {
    let rig = common::rig(&RIG.replace("FOLDER", "/tmp/menura-never-opened"), &[]);
    let control = FaultControl::default();
    let refused = |request: &str| {
        let Ok(FaultRequest::Start(keys)) = FaultRequest::parse(request.as_bytes()) else {
            panic!("{request}")
        };
        control.start(&rig, keys, catalogue()).unwrap_err()
    };
    let told = refused(r#"{"start": {"device": "lidar", "kind": "line-noise", "rate": 0.1}}"#);
    assert!(told.contains("`lidar` cannot have this fault"), "{told}");
    assert!(told.contains("allowed: \"packet-loss\""), "{told}");
    let told = refused(r#"{"start": {"device": "lidar", "kind": "packet-loss"}}"#);
    assert!(told.contains("probability"), "{told}");
    let told = refused(r#"{"start": {"device": "lidar", "kind": "link-down", "start_s": 5}}"#);
    assert!(told.contains("start_s"), "{told}");
    let told = refused(r#"{"start": {"device": "radar", "kind": "link-down"}}"#);
    assert!(told.contains("radar") && told.contains("lidar"), "{told}");
}
