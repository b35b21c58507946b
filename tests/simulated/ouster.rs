//! Recordings of an Ouster, read by `menura inspect` and compared by `menura twin`; equal bytes for any number of
//! threads; faults in the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{self, printed};
use serde_json::Value;

const RIG: &str = r#"
seed = 3
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "os"
profile = "ouster-os0-32-3.1"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:7502", imu_port = 7503 } }
[device.settings]
lidar_mode = "512x10"
[[fault]]
name = "hot"
kind = "shot-limiting"
device = "os"
start_s = 0.1
duration_s = 0.1
reduction = 0.5
[[fault]]
name = "told"
kind = "alert"
device = "os"
start_s = 0.05
duration_s = 0.1
id = 16777240
category = "UDP_TRANSMISSION"
level = "WARNING"
message = "text"
"#;

fn recorded(sets: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    common::recorded(&common::rig(RIG, sets), Duration::from_millis(400))
}

fn inspected(capture: &Path, more: &[&str]) -> Vec<Value> {
    let args = [&["inspect", capture.to_str().unwrap(), "--json"], more].concat();
    printed(&args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_recording_is_recognised_drawn_and_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("os.pcap");
    for (format, twin) in [("RNG19_RFL8_SIG16_NIR16_DUAL", true), ("LEGACY", false)] {
        let files = recorded(&[("device.os.settings.udp_profile_lidar", format)]);
        fs::write(&capture, &files["os.pcap"]).unwrap();
        let report = inspected(&capture, &[]);
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains("Ouster with 32 beams"), "{text}");
        let points = folder.path().join("turn.png");
        let plot = ["--profile", "ouster-os0-32-3.1", "--plot", points.to_str().unwrap()];
        inspected(&capture, &plot);
        assert!(common::picture(&points).0 > 500, "{format}");
        if twin {
            let profile = ["--profile", "ouster-os0-32-3.1", "--scene", "room"];
            let table = printed(&[&["twin", capture.to_str().unwrap()], &profile[..]].concat());
            let line = table.lines().find(|line| line.starts_with("lidar profile"));
            assert!(line.is_some_and(|line| line.ends_with("same")), "{table}");
        }
    }
}

/// A capture that starts within a frame of 512 columns at 20 Hz: figures of the first frame are not mixed with those of
/// the others.
#[test]
fn a_turn_of_512_columns_is_not_taken_for_half_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("os.pcap");
    let files = recorded(&[
        ("device.os.settings.lidar_mode", "512x20"),
        ("device.os.settings.udp_profile_lidar", "RNG19_RFL8_SIG16_NIR16"),
    ]);
    fs::write(&capture, &files["os.pcap"]).unwrap();
    let text = printed(&["inspect", capture.to_str().unwrap()]);
    let line = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
    };
    assert!(line("rotation").contains(" 1199.99 rpm, zero passed 7 times"), "{text}");
    assert!(line("azimuth step").ends_with("0.7033 deg (0.70 to 0.71)"), "{text}");
    assert!(line("model").contains("512 columns"), "{text}");
}

#[test]
fn bytes_do_not_depend_on_threads_and_faults_are_logged() {
    let one = recorded(&[("engine.workers", "1")]);
    let three = recorded(&[("engine.workers", "3")]);
    assert_eq!(one["os.pcap"], three["os.pcap"]);
    let text = String::from_utf8(one["faults.csv"].clone()).unwrap();
    for effect in ["alert_active", "fewer_shots_percent"] {
        assert!(text.contains(effect), "{text}");
    }
}
