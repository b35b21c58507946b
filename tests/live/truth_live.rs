//! Tests of the ground truth of a real-time run: an interrupted run leaves a complete file. The file has every received
//! packet, by its digest, with the same ground truth as a recording.

use std::collections::{HashMap, HashSet};
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::Duration;

use menura::analysis::truth::file::TruthReader;
use menura::wire::truth::{PacketRecord, Way};
use sha2::{Digest, Sha256};

use crate::common;

const RIG: &str = r#"
seed = 3
start_utc = 2026-05-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "ADDRESS" } }
settings = { beam = { shape = "ray" } }
[engine]
late = "late"
"#;

/// The lidar's data packets in a ground truth file, by their digests.
fn packets(path: &std::path::Path) -> HashMap<[u8; 8], PacketRecord> {
    let mut reader = TruthReader::open(path).unwrap();
    let mut all = HashMap::new();
    while let Some((topic, record)) = reader.next_packet().unwrap() {
        assert_eq!((topic.as_str(), record.way), ("/devices/lidar/packets", Way::Datagram));
        if !record.firings.is_empty() {
            all.insert(record.sha256, record);
        }
    }
    all
}

#[test]
fn a_run_that_is_interrupted_leaves_a_whole_truth_of_all_that_was_received() {
    let folder = tempfile::tempdir().unwrap();
    let socket: UdpSocket = common::roomy_socket();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let rig = folder.path().join("rig.toml");
    let to = socket.local_addr().unwrap().to_string();
    std::fs::write(&rig, RIG.replace("ADDRESS", &to)).unwrap();
    let truth = folder.path().join("truth.mcap");
    let mut run = common::menura()
        .arg("run")
        .arg(&rig)
        .arg("--truth")
        .arg(&truth)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut received = HashSet::new();
    let mut buffer = [0; 2048];
    let mut hear = |received: &mut HashSet<[u8; 8]>| match socket.recv(&mut buffer) {
        Ok(length) => {
            received.insert(*Sha256::digest(&buffer[..length]).first_chunk().unwrap());
            true
        }
        Err(_) => false,
    };
    while received.len() < 600 {
        assert!(hear(&mut received), "the lidar sends nothing");
    }
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = run.wait().unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    while hear(&mut received) {}
    assert!(output.success(), "{output:?}");

    let told = packets(&truth);
    let missing = received.iter().filter(|digest| !told.contains_key(*digest)).count();
    assert_eq!(missing, 0, "of {} received, {} told", received.len(), told.len());

    // A recording of the same rig has the same ground truth for the same packets.
    let again = folder.path().join("again");
    let text = std::fs::read_to_string(&rig).unwrap();
    let rig = common::rig(&text, &[]);
    let mut world = common::world(&rig);
    world.keeps_truth = true;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let duration = Duration::from_millis(500);
    menura::engine::record::record(&rig, &world, duration, None, &again, &stop, |_| {}).unwrap();
    let recorded = packets(&again.join("truth.mcap"));
    assert!(recorded.len() > 300, "{}", recorded.len());
    for (digest, record) in &recorded {
        let Some(live) = told.get(digest) else { panic!("packet {} is missing", record.number) };
        // Missing returns are NaN, so they are compared by their bytes.
        let bytes = |record: &PacketRecord| {
            let mut bytes = Vec::new();
            record.emit(&mut bytes);
            bytes
        };
        assert_eq!(bytes(live), bytes(record), "packet {}", record.number);
    }
}

/// The ground truth goes to a pipe that is read only after the run, like a disk that accepts no bytes during the run.
#[test]
fn a_truth_that_nobody_takes_costs_events_of_the_truth_and_no_packet() {
    // More packets than the queue, a chunk and the pipe can hold.
    const ENOUGH: usize = 7000;
    let folder = tempfile::tempdir().unwrap();
    let socket: UdpSocket = common::roomy_socket();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let to = socket.local_addr().unwrap().to_string();
    let rig = folder.path().join("rig.toml");
    let text = RIG.replace("ADDRESS", &to).replace("vlp16-3.0", "hdl64e-s2");
    std::fs::write(&rig, text).unwrap();
    let [pipe, told, report] =
        ["pipe.mcap", "told.mcap", "report.json"].map(|name| folder.path().join(name));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut run = common::menura()
        .args(["run".as_ref(), rig.as_os_str(), "--truth".as_ref(), pipe.as_os_str()])
        .args(["--report".as_ref(), report.as_os_str()])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut taken = std::fs::File::open(&pipe).unwrap();
    let mut buffer = [0; 2048];
    for _ in 0..ENOUGH {
        socket.recv(&mut buffer).expect("packets are sent although the truth is not taken");
    }
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    std::io::copy(&mut taken, &mut std::fs::File::create(&told).unwrap()).unwrap();
    assert!(run.wait().unwrap().success());

    let report = std::fs::read_to_string(&report).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let dropped = report["truth"]["dropped"].as_u64().unwrap();
    let sent = report["devices"][0]["packets"].as_u64().unwrap();
    let told = packets(&told).len() as u64;
    assert!(dropped > 0, "{report}");
    // In this run, every event of the ground truth is a packet. Events that are missing in the file were counted as
    // dropped.
    assert!(told > 1000 && told + dropped >= sent, "{told} told, {dropped} dropped, {sent} sent");
}
