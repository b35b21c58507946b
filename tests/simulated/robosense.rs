//! Recordings of a RoboSense, read by `menura inspect` and compared by `menura twin`; equal bytes for any number of
//! workers.

use std::collections::BTreeMap;
use std::fs;
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
name = "rs"
profile = "robosense-helios"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:6699" } }
settings = { serial = "00A1B2C3D4E5" }
"#;

fn recorded(sets: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    common::recorded(&common::rig(RIG, sets), Duration::from_millis(250))
}

#[test]
fn a_recording_is_recognised_drawn_and_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("rs.pcap");
    let cases = [
        ("robosense-rs16", "RS-LiDAR-16", "dual"),
        ("robosense-rs32", "RS-LiDAR-32", "last"),
        ("robosense-bpearl", "Bpearl", "dual"),
        ("robosense-bpearl-v4", "Bpearl 4", "first"),
        ("robosense-helios", "Helios", "dual"),
        ("robosense-helios-16p", "Helios-16P", "strongest"),
        ("robosense-ruby", "Ruby", "dual"),
        ("robosense-ruby-plus", "Ruby", "last"),
        ("robosense-airy", "Airy", "dual"),
        ("robosense-m1", "M1", "dual"),
    ];
    for (profile, model, mode) in cases {
        let sets = [("device.rs.profile", profile), ("device.rs.settings.return_mode", mode)];
        fs::write(&capture, &recorded(&sets)["rs.pcap"]).unwrap();
        let capture = capture.to_str().unwrap();
        let report = printed(&["inspect", capture, "--json"]);
        let summary: Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
        let flows = summary["flows"].as_array().unwrap();
        let data = flows.iter().find_map(|flow| flow["data"].as_object()).unwrap();
        assert_eq!((&data["model"], &data["issues"]), (&model.into(), &0.into()), "{profile}");
        // Content of status packets (DIFOP) at the other port.
        assert!(report.contains("00A1B2C3D4E5"), "{profile}: {summary}");
        let text = printed(&["inspect", capture, "--profile", profile, "--packets", "0"]);
        assert!(text.contains(&format!("{model}, return mode {mode}")), "{profile}: {text}");
        let picture = folder.path().join("turn.png");
        let plot = ["inspect", capture, "--profile", profile, "--plot", picture.to_str().unwrap()];
        printed(&plot);
        assert!(common::picture(&picture).0 > 500, "{profile}");
        let table = printed(&["twin", capture, "--profile", profile, "--scene", "room"]);
        for mark in ["layout", "type"] {
            let line = table.lines().find(|line| line.starts_with(mark));
            assert!(line.is_some_and(|line| line.ends_with("same")), "{profile} {mark}: {table}");
        }
        assert!(table.contains(mode), "{profile}: {table}");
    }
}

/// The angles in status packets (DIFOP) follow from the serial number.
#[test]
fn each_unit_has_its_own_angles() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("rs.pcap");
    let angles = |serial: &str| {
        let sets = [("device.rs.settings.serial", serial)];
        fs::write(&capture, &recorded(&sets)["rs.pcap"]).unwrap();
        let report = printed(&["inspect", capture.to_str().unwrap(), "--json"]);
        let line = report.lines().find(|line| line.contains("angles_deg")).unwrap();
        let fields: Value = serde_json::from_str(line).unwrap();
        fields["angles_deg"].clone()
    };
    let (one, other) = (angles("00A1B2C3D4E5"), angles("00A1B2C3D4E6"));
    assert!(one != other && one.as_array().unwrap().len() == 32);
}

#[test]
fn bytes_do_not_depend_on_threads_and_faults_are_logged() {
    let of = |workers| {
        let text = format!("{RIG}{FAULT}");
        let sets = [
            ("engine.workers", workers),
            ("device.rs.settings.sync_mode", "gptp"),
            ("device.rs.settings.ptp", "locked"),
        ];
        common::recorded(&common::rig(&text, &sets), Duration::from_millis(250))
    };
    let (one, three) = (of("1"), of("3"));
    assert_eq!(one["rs.pcap"], three["rs.pcap"]);
    let text = String::from_utf8(one["faults.csv"].clone()).unwrap();
    assert!(text.contains("alone"), "{text}");
}

const FAULT: &str = r#"
[[fault]]
name = "alone"
kind = "ptp-lost"
device = "rs"
start_s = 0.1
duration_s = 0.05
"#;
