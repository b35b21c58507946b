//! Tests of the faults of a rig: their effects in recordings agree with the log, and the same seed repeats both.

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::wire::velodyne::DATA_PACKET_LEN;

use crate::common;
use crate::common::faulty::{self, live_with_log, log_rows};

const RIG: &str = r#"
seed = 11
start_utc = 2026-06-01T12:59:59.9Z

[world]
scene = "room"

[robot]
trajectory = { kind = "still" }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }

[[device]]
name = "imu"
profile = "wheeltec-n100"
link = { pty = "/tmp/menura-faults-test" }

[[fault]]
name = "weak-radio"
device = "lidar"
kind = "packet-loss"
start_s = 0.02
duration_s = 0.03
period_s = 0.06
probability = 0.5

[[fault]]
name = "switch"
device = "lidar"
kind = "reordering"
start_s = 0.112
duration_s = 0.02
probability = 0.2
by_packets = 2

[[fault]]
name = "copies"
device = "lidar"
kind = "duplication"
start_s = 0.175
duration_s = 0.02
probability = 0.5
after_us = 300

[[fault]]
name = "bad-cable"
device = "imu"
kind = "line-noise"
start_s = 0.0
rate = 0.002
"#;
const DURATION: Duration = Duration::from_millis(400);

fn rig(sets: &[(&str, &str)]) -> Rig {
    common::rig(RIG, sets)
}

/// The files of a recording by name.
fn recorded(rig: &Rig) -> BTreeMap<String, Vec<u8>> {
    common::recorded(rig, DURATION)
}

/// Data packets of a capture.
fn packets(pcap: &[u8]) -> Vec<(u64, Vec<u8>)> {
    faulty::packets(pcap, DATA_PACKET_LEN)
}

#[test]
fn the_log_explains_every_difference() {
    let clean = recorded(&rig(&[("fault", "[]")]));
    assert!(!clean.contains_key("faults.csv"));
    let faulty = recorded(&rig(&[]));
    let rows = log_rows(&faulty["faults.csv"]);
    assert!(rows.windows(2).all(|w| w[0].time_ns <= w[1].time_ns), "in the order of time");

    let clean_packets = packets(&clean["lidar.pcap"]);
    let mut expected: Vec<(u64, usize, usize)> =
        clean_packets.iter().enumerate().map(|(n, (at, _))| (*at, n, 0)).collect();
    let of = |effect: &str| -> Vec<usize> {
        let rows = rows.iter().filter(|row| row.stream == "data" && row.effect == effect);
        rows.map(|row| row.packet.unwrap()).collect()
    };
    let [lost, held_back, copied] = ["lost", "held_back_packets", "copied_after_ns"].map(of);
    assert!(!lost.is_empty() && !held_back.is_empty() && !copied.is_empty());
    for n in held_back {
        // A packet that is held back leaves after the second packet that follows it. None of these packets is lost.
        expected[n] = (clean_packets[n + 2].0, n + 2, 1);
    }
    for n in copied {
        expected.push((clean_packets[n].0 + 300_000, n, 2));
    }
    let number =
        |&(_, place, copy): &(u64, usize, usize)| if copy == 1 { place - 2 } else { place };
    expected.retain(|packet| !lost.contains(&number(packet)));
    expected.sort();
    let expected: Vec<_> =
        expected.iter().map(|p| (p.0, clean_packets[number(p)].1.clone())).collect();
    assert!(packets(&faulty["lidar.pcap"]) == expected, "the recording is not what the log says");
    assert_ne!(clean["imu.bin"], faulty["imu.bin"]);
    assert!(rows.iter().any(|row| row.fault == "bad-cable" && row.effect == "flipped_bits"));
    assert_eq!(clean["truth.csv"], faulty["truth.csv"]);
    // Windows start at 0.02 + 0.06 k s: seven within 0.4 s, six of which end; two windows of the
    // other faults end.
    assert_eq!(rows.iter().filter(|row| row.effect == "begins").count(), 7 + 3);
    assert_eq!(rows.iter().filter(|row| row.effect == "ends").count(), 6 + 2);
}

#[test]
fn a_seed_repeats_recording_and_log() {
    let one = recorded(&rig(&[("engine.workers", "1")]));
    assert!(one == recorded(&rig(&[("engine.workers", "3")])), "workers change a faulty recording");
    let other = recorded(&rig(&[("seed", "12")]));
    assert_ne!(one["faults.csv"], other["faults.csv"]);
    let own_seed = recorded(&rig(&[("seed", "12"), ("fault[0].seed", "11")]));
    let lost = |files: &BTreeMap<String, Vec<u8>>| -> Vec<_> {
        let rows = log_rows(&files["faults.csv"]);
        let of_data = rows.iter().filter(|row| row.fault == "weak-radio" && row.stream == "data");
        of_data.map(|row| row.packet).collect()
    };
    assert_eq!(lost(&one), lost(&own_seed));
    assert_ne!(lost(&one), lost(&other));
}

#[test]
fn a_run_is_disturbed_as_the_recording_is() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let rig = rig(&[("device.lidar.link.udp.to", &to)]);
    let expected: Vec<_> =
        packets(&recorded(&rig)["lidar.pcap"]).into_iter().map(|(_, bytes)| bytes).collect();
    let (received, log, figures) = live_with_log(&rig, DURATION, &receiver);
    assert!(received == expected, "{} packets instead of {}", received.len(), expected.len());
    let rows = log_rows(&log);
    let of_lidar = rows.iter().filter(|row| row.fault != "bad-cable");
    let touched: BTreeSet<_> =
        of_lidar.filter_map(|row| Some((&row.stream, row.packet?))).collect();
    assert!(touched.iter().any(|(stream, _)| *stream == "position"));
    assert_eq!(figures[0].faulted, touched.len() as u64);
}
