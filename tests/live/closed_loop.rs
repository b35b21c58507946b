//! A robot that its host drives. Its motion depends only on the host's commands and their times, so a recording with
//! the host log has the same bytes as the run.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::host_events::{HostInput, HostTarget, Payload};
use menura::engine::host_log::{self, Conversation, HostLog};
use menura::engine::record::record;
use menura::engine::run::RealTimeRun;
use menura::time::SimTime;
use menura::wire::drive_order::DriveOrder;

use crate::common;

const RUN: Duration = Duration::from_secs(3);

/// A robot in a room, with a scanner that is polled over TCP and an IMU on a serial line.
fn rig(workers: usize) -> Rig {
    let [orders, scanner, unit] = [(); 3].map(|()| common::free_port());
    let text = format!(
        r#"
        seed = 11
        start_utc = 2026-06-01T12:00:00Z
        [world]
        scene = "room"
        [robot.trajectory]
        kind = "drive"
        model = "skid-steer"
        y_icr_m = 0.45
        max_speed_m_s = 0.68
        time_constant_ms = 35
        twist = "127.0.0.1:{orders}"
        [engine]
        workers = {workers}
        [[device]]
        name = "scanner"
        profile = "sick-lms111"
        mount = {{ translation_m = [0.2, 0.0, 0.5] }}
        link = {{ tcp = ["127.0.0.1:{scanner}", "127.0.0.1:0"] }}
        [[device]]
        name = "unit"
        profile = "wheeltec-n100"
        link = {{ tcp = "127.0.0.1:{unit}" }}
        "#
    );
    common::rig(&text, &[])
}

fn address_of(rig: &Rig, device: usize) -> String {
    let link = rig.devices[device].link.describe();
    link.trim_start_matches("tcp ").split(',').next().unwrap().to_owned()
}

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

/// Bytes that a client receives after it has connected and sent `words`.
#[allow(clippy::disallowed_methods)] // waits for another thread, not for the simulation
fn heard_at(address: &str, words: &[u8]) -> Vec<u8> {
    let mut stream = (0..3000)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            TcpStream::connect(address).ok()
        })
        .expect("a running device");
    stream.write_all(words).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Sends drive commands until `over` is set.
#[allow(clippy::disallowed_methods)] // a host has a clock
fn drive(rig: &Rig, over: &AtomicBool) {
    let world_address = match &rig.robot.trajectory {
        menura::config::rig::TrajectoryConfig::Drive(drive) => {
            drive.twist.as_ref().expect("an input").listen
        }
        other => panic!("{other:?} is not driven"),
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let start = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let turn_rad_s =
            if (start.elapsed().as_millis() / 500).is_multiple_of(2) { 0.7 } else { -0.2 };
        let order = DriveOrder::Twist { forward_m_s: 0.4, turn_rad_s };
        socket.send_to(&order.encode(), world_address).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes that the devices' hosts receive in a run, the host log, and the times of its entries, nanoseconds.
fn live(rig: &Rig) -> ([Vec<u8>; 2], Conversation, Vec<u64>) {
    let world = common::world(rig);
    let sink = Shared::default();
    let mut run = RealTimeRun::new(rig, &world).unwrap();
    run.log_hosts(HostLog::new(rig, run.epoch().start(), Box::new(sink.clone())).unwrap());
    let over = &AtomicBool::new(false);
    let (scans, samples) = std::thread::scope(|scope| {
        let scans = scope.spawn(|| heard_at(&address_of(rig, 0), b"\x02sEN LMDscandata 1\x03"));
        let samples = scope.spawn(|| heard_at(&address_of(rig, 1), b""));
        scope.spawn(move || drive(rig, over));
        run.run(Some(RUN), &AtomicBool::new(false), |_| ());
        over.store(true, Ordering::Relaxed);
        let figures = run.figures(run.took());
        for device in &figures {
            // A packet with measurements from before the effect of a command is not the command's response. The latency
            // is therefore at least the look-ahead.
            let latency = device.order_to_wire_us.expect("orders were shown");
            assert!(latency.p50 >= rig.engine.render_ahead_ns as f64 * 1e-3, "{latency:?}");
        }
        drop(run);
        (scans.join().unwrap(), samples.join().unwrap())
    });
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    let hosts = host_log::read(&text, rig).unwrap();
    let orders = hosts.inputs.iter().map(|input| input.at.0).collect();
    ([scans, samples], hosts, orders)
}

fn repeated(rig: &Rig, hosts: Option<&Conversation>, folder: &Path) -> [Vec<u8>; 2] {
    let world = common::world(rig);
    record(rig, &world, RUN, hosts, folder, &AtomicBool::new(false), |_| {}).unwrap();
    ["scanner-peer0.bin", "unit.bin"].map(|name| {
        let path = folder.join(name);
        if path.exists() { std::fs::read(path).unwrap() } else { Vec::new() }
    })
}

#[test]
fn a_recording_with_the_hosts_log_has_the_bytes_of_the_run() {
    let one = rig(1);
    let (live, hosts, heard_at) = live(&one);
    assert!(heard_at.len() > 50, "{heard_at:?}");
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let again = repeated(&one, Some(&hosts), folders[0].path());
    for (read, recorded) in live.iter().zip(&again) {
        // A host that connects late or leaves early receives only a part.
        assert!(read.len() > 10_000, "{} bytes were read", read.len());
        let found = recorded.windows(read.len()).any(|part| part == read);
        assert!(found, "{} bytes read are not among {} recorded", read.len(), recorded.len());
    }
    let by_three = repeated(&rig(3), Some(&hosts), folders[1].path());
    assert!(again == by_three, "the number of workers shows");
    // The commands moved the robot: without them, the bytes differ.
    let silent = repeated(&one, None, folders[2].path());
    assert!(silent[1] != again[1]);
    assert!(silent[0].is_empty());
}

/// A command takes effect after the stated dead time: not earlier, and in all later measurements.
#[test]
fn an_order_shows_after_the_time_that_is_rendered_ahead() {
    let rig = rig(1);
    let order = DriveOrder::Twist { forward_m_s: 0.5, turn_rad_s: 0.0 };
    let (at, to) = (SimTime(500_000_000), HostTarget::Robot);
    let input = HostInput { at, to, payload: Payload::Order(order) };
    let start = "2026-06-01T12:00:00Z".parse().unwrap();
    let hosts = Conversation { start, inputs: vec![input], is_cut_off: false };
    let folder = tempfile::tempdir().unwrap();
    repeated(&rig, Some(&hosts), folder.path());
    let truth = std::fs::read_to_string(folder.path().join("truth.csv")).unwrap();
    let moved_m = |time: &str| -> f64 {
        let row = truth.lines().find(|line| line.starts_with(time)).expect(time);
        row.split(',').nth(1).unwrap().parse().unwrap()
    };
    // The command takes effect at 500 + 20 ms.
    assert_eq!(moved_m("0.520000000"), 0.0);
    assert!(moved_m("0.530000000") > 0.0);
    // 2.48 s at full speed, minus a time constant of 35 ms.
    let expected_m = 0.5 * (2.48 - 0.035);
    assert!((moved_m("3.000000000") - expected_m).abs() < 1e-3, "{}", moved_m("3.000000000"));
}

/// A rig with a driven robot and this device; `None` if the combination is not valid.
fn driven_with(profile: &str, commands: &str, place: &str, link: &str) -> Option<Rig> {
    let text = format!(
        r#"
        start_utc = 2026-06-01T12:00:00Z
        [world]
        scene = "room"
        [robot.trajectory]
        kind = "drive"
        model = "differential"
        track_m = 0.4
        max_speed_m_s = 0.5
        {commands}
        [engine]
        render_ahead_ms = 5
        [[joint]]
        name = "mast"
        motion = {{ kind = "constant-rate", rate_deg_s = 30.0 }}
        [[device]]
        name = "device"
        profile = "{profile}"
        mount = {{ {place} translation_m = [0.1, 0.0, 0.4] }}
        link = {link}
        "#
    );
    Rig::parse("test rig", &text, Path::new("."), &[], catalogue()).ok()
}

/// The number of samples that an IMU, a lidar with an IMU or an encoder requests at a time changes no byte.
#[test]
fn the_length_of_a_series_changes_no_byte() {
    let text = r#"
        seed = 5
        start_utc = 2026-06-01T12:00:00Z
        [world]
        scene = "room"
        [robot.trajectory]
        kind = "drive"
        model = "differential"
        track_m = 0.4
        max_speed_m_s = 0.5
        twist = "127.0.0.1:9"
        [[joint]]
        name = "mast"
        motion = { kind = "constant-rate", rate_deg_s = 30.0 }
        [[device]]
        name = "unit"
        profile = "vectornav-vn100"
        mount = { translation_m = [0.1, 0.0, 0.4] }
        link = { tcp = "127.0.0.1:9" }
        [[device]]
        name = "angle"
        profile = "menura-joint-encoder"
        mount = { parent = "mast" }
        link = { udp = { to = "127.0.0.1:9" } }
        [[device]]
        name = "ouster"
        profile = "ouster-os1-32-3.1"
        mount = { parent = "mast" }
        link = { udp = { to = "127.0.0.1:9" } }
        [[device]]
        name = "velodyne"
        profile = "velodyne-hdl32e-2.2"
        link = { udp = { to = "127.0.0.1:9" } }
        "#;
    let order = |at_ms: u64, forward_m_s| HostInput {
        at: SimTime(at_ms * 1_000_000),
        to: HostTarget::Robot,
        payload: Payload::Order(DriveOrder::Twist { forward_m_s, turn_rad_s: 0.4 }),
    };
    let start = "2026-06-01T12:00:00Z".parse().unwrap();
    let inputs = vec![order(13, 0.5), order(51, -0.2), order(52, 0.3)];
    let hosts = Conversation { start, inputs, is_cut_off: false };
    let recorded = |longest_ns: Option<u64>| {
        let mut rig = common::rig(text, &[]);
        for device in &mut rig.devices {
            device.longest_series_ns = longest_ns.unwrap_or(device.longest_series_ns);
        }
        let (folder, world) = (tempfile::tempdir().unwrap(), common::world(&rig));
        let (end, stop) = (Duration::from_millis(200), AtomicBool::new(false));
        record(&rig, &world, end, Some(&hosts), folder.path(), &stop, |_| {}).unwrap();
        let names = ["unit.bin", "angle.pcap", "ouster.pcap", "velodyne.pcap", "truth.csv"];
        names.map(|name| std::fs::read(folder.path().join(name)).expect(name))
    };
    let usual = recorded(None);
    assert!(usual.iter().all(|bytes| bytes.len() > 300));
    for longest_ns in [1, 10_000_000] {
        assert!(usual == recorded(Some(longest_ns)), "{longest_ns} ns");
    }
}

/// Even with the smallest look-ahead, the motion for each request must become known before the device waits for the
/// answer; otherwise it would wait for ever.
#[test]
fn a_driven_robot_with_any_device_is_recorded_to_the_end() {
    let links = [
        "{ udp = { to = \"127.0.0.1:9\" } }",
        "{ pty = \"closed-loop\" }",
        "{ tcp = \"127.0.0.1:9\" }",
    ];
    for profile in catalogue().profiles() {
        // An encoder needs a joint; a drive base gets commands from its own host, all other devices need `twist`.
        let rig = links.iter().find_map(|link| {
            let twist = "twist = \"127.0.0.1:9\"";
            let ways = [(twist, ""), (twist, "parent = \"mast\","), ("", "")];
            ways.iter()
                .find_map(|(commands, place)| driven_with(&profile.name, commands, place, link))
        });
        let rig = rig.unwrap_or_else(|| panic!("no rig has a {} here", profile.name));
        let (folder, world) = (tempfile::tempdir().unwrap(), common::world(&rig));
        let (end, stop) = (Duration::from_millis(60), AtomicBool::new(false));
        let recording = record(&rig, &world, end, None, folder.path(), &stop, |_| {}).unwrap();
        assert!(!recording.is_cut_short, "{}", profile.name);
    }
}
