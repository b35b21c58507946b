//! Recordings in the forms that users have, through the real binary.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Heard, stderr, stdout};
use mcap::records::MessageHeader;
use serde_json::Value;

const PROFILE: &str = "velodyne-vlp16-3.0";

fn menura(arguments: &[&str]) -> Output {
    common::menura().args(arguments).output().expect("the binary runs")
}

/// What a command printed and said that must succeed.
fn done(arguments: &[&str]) -> Output {
    let output = menura(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// A folder with `out/lidar.pcap`, what a VLP-16 sends in a room, and its truth.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new(duration: &str) -> Self {
        let recorded = Self(tempfile::tempdir().unwrap());
        let (rig, out) = (recorded.path("rig.toml"), recorded.path("out"));
        let text = format!(
            "seed = 3\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"room\"\n\
             [robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"lidar\"\nprofile = \"{PROFILE}\"\n\
             mount = {{ translation_m = [0.0, 0.0, 1.5] }}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
             settings = {{ beam = {{ shape = \"ray\" }} }}\n"
        );
        fs::write(&rig, text).unwrap();
        done(&["record", &rig, "--duration", duration, "--out", &out, "--truth"]);
        recorded
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }
}

/// A replay to a socket of this test: how it ended, and what came.
fn replayed(capture: &str) -> (Output, Vec<Vec<u8>>) {
    common::until_whole(|| {
        let socket = common::roomy_socket();
        let address = socket.local_addr().unwrap();
        let before = common::dropped_at(address.port());
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let is_over = AtomicBool::new(false);
        let told = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut received, mut buffer) = (Vec::new(), vec![0; 65_536]);
                loop {
                    match socket.recv(&mut buffer) {
                        Ok(length) => received.push(buffer[..length].to_vec()),
                        Err(_) if is_over.load(Ordering::Relaxed) => break received,
                        Err(_) => {}
                    }
                }
            });
            let output = menura(&["replay", capture, "--to", &address.to_string()]);
            is_over.store(true, Ordering::Relaxed);
            (output, reader.join().unwrap())
        });
        Heard { told, dropped: common::dropped_at(address.port()) - before }
    })
}

/// Writes the messages of one MCAP file to another, and three transforms behind them.
fn add_transforms(from: &str, to: &str) {
    let bytes = fs::read(from).unwrap();
    let mut writer = mcap::Writer::new(File::create(to).unwrap()).unwrap();
    for message in mcap::MessageStream::new(&bytes).unwrap() {
        writer.write(&message.unwrap()).unwrap();
    }
    let schema = writer.add_schema("tf2_msgs/msg/TFMessage", "ros2msg", b"").unwrap();
    let channel_id = writer.add_channel(schema, "/tf", "cdr", &BTreeMap::new()).unwrap();
    for sequence in 0..3 {
        let header = MessageHeader { channel_id, sequence, log_time: 1, publish_time: 1 };
        writer.write_to_known_channel(&header, &[0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn other_topics_of_a_bag_are_told_and_are_no_failure() {
    let recorded = Recorded::new("1s");
    let files = ["out/lidar.pcap", "out/truth.mcap", "plain.mcap", "bag.mcap"];
    let [capture, truth, plain, bag] = files.map(|name| recorded.path(name));
    done(&["convert", &capture, &plain]);
    add_transforms(&plain, &bag);
    let told = format!("{bag}: left out, without packets: 3 × message of tf2_msgs/msg/TFMessage");
    let (replay, _) = replayed(&bag);
    assert_eq!(replay.status.code(), Some(0), "{}", stderr(&replay));
    assert!(stderr(&replay).contains(&told), "{}", stderr(&replay));
    let (cloud, table) = (recorded.path("cloud.pcd"), recorded.path("table.csv"));
    let commands: [&[&str]; 4] = [
        &["twin", &bag, "--profile", PROFILE, "--scene", "room"],
        &["fit", "lidar", &bag, "--profile", PROFILE],
        &["export", &bag, "--to", "pcd", "--out", &cloud],
        &["join", &bag, &truth, "--out", &table],
    ];
    for arguments in commands {
        let output = done(arguments);
        assert!(stderr(&output).contains(&told), "{arguments:?}: {}", stderr(&output));
    }
}

/// What `menura inspect` says of a capture, a value for each line; the last one is of the whole.
fn inspected(capture: &str) -> Vec<Value> {
    let report = stdout(&done(&["inspect", capture, "--json"]));
    report.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn bags_of_a_recording_are_read_as_the_recording_is() {
    let recorded = Recorded::new("300ms");
    let capture = recorded.path("out/lidar.pcap");
    let frames = common::frames(&fs::read(&capture).unwrap());
    let sent: Vec<Vec<u8>> = frames.into_iter().map(|(_, payload)| payload).collect();
    assert!(sent.len() > 200, "{}", sent.len());
    let flows = |capture: &str| -> Vec<[Value; 4]> {
        let told = inspected(capture);
        let flows = told.last().unwrap()["flows"].as_array().unwrap();
        let keys = ["source", "destination", "packets"];
        let told = |flow: &Value| {
            let [source, destination, packets] = keys.map(|key| flow[key].clone());
            [source, destination, packets, flow["data"]["model"].clone()]
        };
        flows.iter().map(told).collect()
    };
    let cloud = |capture: &str| {
        let out = format!("{capture}.pcd");
        done(&["export", capture, "--to", "pcd", "--out", &out]);
        fs::read(out).unwrap()
    };
    let (own_flows, own_cloud) = (flows(&capture), cloud(&capture));
    assert!(own_flows.iter().any(|[.., model]| model.is_string()), "{own_flows:?}");
    for (name, format) in [("bag.mcap", "MCAP"), ("bag.db3", "ROS 2 bag")] {
        let bag = recorded.path(name);
        done(&["convert", &capture, &bag]);
        let told = inspected(&bag);
        assert_eq!(told.last().unwrap()["format"], format);
        assert_eq!(flows(&bag), own_flows, "{name}");
        assert!(cloud(&bag) == own_cloud, "{name}: other points");
        let (replay, received) = replayed(&bag);
        let told = stderr(&replay);
        assert_eq!(replay.status.code(), Some(0), "{name}: {told}");
        assert!(!told.contains("left out"), "{name}: {told}");
        assert!(received == sent, "{name}: {} of {} came", received.len(), sent.len());
    }
}
