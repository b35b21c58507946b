//! `menura twin` with the capture of a real VLP-16: properties that do not depend on the scene must
//! agree.

use crate::common;

const CAPTURE: &str = "captures/velodyne/vlp16-with-position-packets.pcap";

/// Real and emulated value in the row that starts with `name`.
fn row(table: &str, name: &str) -> [f64; 2] {
    let line = table.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{table}"));
    let numbers: Vec<f64> =
        line[name.len()..].split_whitespace().filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[1]]
}

#[test]
#[ignore = "needs reference data"]
fn a_vlp16_keeps_a_real_ones_time_and_steps() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("twin.png");
    let ran = common::menura()
        .arg("twin")
        .arg(common::shared(CAPTURE))
        .args(["--profile", "velodyne-vlp16-3.0", "--scene", "room", "--plot"])
        .arg(&plot)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let table = String::from_utf8(ran.stdout).unwrap();
    for (name, most) in [
        ("device spacing, mean, us", 0.02),
        ("device spacing, deviation, us", 0.05),
        ("device spacing, 1 %, us", 0.0),
        ("device spacing, 99 %, us", 0.0),
        ("arrival spacing, mean, us", 0.5),
        ("position packets", 4.0),
        ("position device spacing, mean, us", 500.0),
        ("position device spacing, 99 %, us", 400.0),
        ("position delay less than data's, us", 30.0),
        ("azimuth step, mean, 0.01 deg", 0.1),
        ("azimuth step, deviation, 0.01 deg", 0.1),
        ("azimuth step, 1 %, 0.01 deg", 0.0),
        ("azimuth step, 99 %, 0.01 deg", 0.0),
    ] {
        let [real, ours] = row(&table, name);
        assert!((real - ours).abs() <= most, "{name}: {real} and {ours}");
    }
    for field in ["to ", "TTL", "don't fragment", "identification", "UDP checksum", "factory bytes"]
    {
        let line = table.lines().find(|line| line.starts_with(field)).unwrap();
        assert!(line.ends_with("  same"), "{line}");
    }
    for field in [
        "ports",
        "TTL",
        "don't fragment",
        "identification",
        "UDP checksum",
        "first bytes",
        "inertial units",
        "telemetry",
        "PPS",
    ] {
        let start = format!("position: {field} ");
        let line = table.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some_and(|line| line.ends_with("  same")), "{line:?}");
    }
    assert!(common::picture(&plot).0 > 500);
}

#[test]
#[ignore = "needs reference data"]
fn another_product_is_refused() {
    let ran = common::menura()
        .arg("twin")
        .arg(common::shared(CAPTURE))
        .args(["--profile", "velodyne-hdl32e-2.2"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("byte 1205 is 0x22, that of velodyne-hdl32e-2.2 is 0x21"), "{told}");
}

/// The smallest separation depends on the scene, so it agrees only within a tenth.
#[test]
#[ignore = "needs reference data"]
fn hesais_separate_two_returns_as_real_ones_do() {
    for (capture, profile) in
        [("xt32", "hesai-xt32"), ("xt16", "hesai-xt16"), ("qt64", "hesai-qt64")]
    {
        let mut ours = Vec::new();
        let mut theirs = 0.0;
        for scene in ["courtyard", "rods", "grass-stand", "meadow-wall"] {
            let ran = common::menura()
                .arg("twin")
                .arg(common::shared(&format!("captures/rosbag2/hesai-{capture}.db3")))
                .args(["--profile", profile, "--scene", scene])
                .output()
                .unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let table = String::from_utf8(ran.stdout).unwrap();
            let [real, here] = row(&table, "least separation, units");
            theirs = real;
            ours.push(here);
            for step in ["mean", "deviation", "1 %", "99 %"] {
                let name = format!("azimuth step, {step}, 0.01 deg");
                let [real, here] = row(&table, &name);
                assert!((real - here).abs() < 0.05, "{profile}: {name}: {real} and {here}");
            }
        }
        let mean = ours.iter().sum::<f64>() / ours.len() as f64;
        assert!((mean / theirs - 1.0).abs() < 0.03, "{profile}: {theirs} and {ours:?}");
        let within = |here: &f64| (here / theirs - 1.0).abs() < 0.13;
        assert!(ours.iter().all(within), "{profile}: {theirs} and {ours:?}");
    }
}

#[test]
#[ignore = "needs reference data"]
fn velodynes_step_as_real_ones_do() {
    for (capture, profile) in
        [("vlp32c", "velodyne-vlp32c-3.0"), ("vls128", "velodyne-vls128-5.1-captured")]
    {
        let ran = common::menura()
            .arg("twin")
            .arg(common::shared(&format!("captures/rosbag2/velodyne-{capture}.db3")))
            .args(["--profile", profile, "--scene", "room"])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let table = String::from_utf8(ran.stdout).unwrap();
        for (name, most) in [
            ("device spacing, mean, us", 0.1),
            ("azimuth step, mean, 0.01 deg", 0.02),
            ("azimuth step, deviation, 0.01 deg", 0.03),
            ("azimuth step, 1 %, 0.01 deg", 0.0),
            ("azimuth step, 99 %, 0.01 deg", 0.0),
        ] {
            let [real, ours] = row(&table, name);
            assert!((real - ours).abs() <= most, "{profile}: {name}: {real} and {ours}");
        }
    }
}
