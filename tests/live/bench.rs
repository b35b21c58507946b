//! Output of `menura bench`: shares and stages add up, and packets are counted. The speed of this machine is not
//! checked.

use serde_json::Value;

use crate::common;

const RIG: &str = r#"
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
[[device]]
name = "imu"
profile = "wheeltec-n100"
link = { pty = "PTY" }
[[device]]
name = "scanner"
profile = "sick-lms111"
link = { tcp = "127.0.0.1:PORT" }
"#;

fn menura(arguments: &[&str], sets: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let pty = folder.path().join("imu");
    let text = RIG.replace("PTY", pty.to_str().unwrap());
    std::fs::write(&rig, text.replace("PORT", &common::free_port().to_string())).unwrap();
    let mut command = common::menura();
    command.arg(arguments[0]).arg(&rig).args(&arguments[1..]);
    sets.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!pty.exists(), "a link was opened");
    String::from_utf8(output.stdout).unwrap()
}

fn bench(sets: &[&str]) -> Value {
    serde_json::from_str(&menura(&["bench", "--json", "--duration", "300ms"], sets)).unwrap()
}

const STAGES: [&str; 4] = ["cast_s", "physics_s", "packing_s", "sending_s"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn shares_and_stages_add_up() {
    let told = bench(&["engine.workers=2"]);
    let devices = told["devices"].as_array().unwrap();
    let shares: f64 = devices.iter().map(|device| number(&device["share"])).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    for stage in STAGES {
        let sum: f64 = devices.iter().map(|device| number(&device[stage])).sum();
        assert!((sum - number(&told["stages"][stage])).abs() < 1e-9, "{stage}");
        assert!(number(&devices[0][stage]) > 0.0, "{stage} of the lidar");
    }
    // By the manual, per second: 754 data packets, each with 24 firing sequences of 16 lasers, and 143 position
    // packets.
    let lidar = &devices[0];
    assert!((number(&lidar["packets_per_s"]) - 897.0).abs() < 15.0, "{lidar}");
    assert!((number(&lidar["pulses_per_s"]) / 289_350.0 - 1.0).abs() < 0.05, "{lidar}");
    assert_eq!(number(&devices[1]["cast_s"]), 0.0);
    assert!(number(&devices[1]["packets_per_s"]) > 90.0);
    // In a run, this device waits for a host. In a bench, it streams without a host.
    assert!(number(&devices[2]["packets_per_s"]) > 0.0);
    let total: f64 = STAGES.iter().map(|stage| number(&told["stages"][stage])).sum();
    let factor = number(&told["real_time_factor"]);
    let processors = number(&told["processors"]);
    assert_eq!(number(&told["workers"]), 2.0);
    assert!(factor <= processors / total * 1.000_001, "{factor}");
    assert!((1.0 - 1.0 / factor - number(&told["headroom"])).abs() < 1e-9);
    // `workers_factor` is the factor that a run prints. A run computes it from the time of casting and physics only, so
    // it agrees with the sum of these two stages.
    let measuring_s = number(&told["stages"]["cast_s"]) + number(&told["stages"]["physics_s"]);
    let of_run = number(&told["workers_factor"]);
    assert!((of_run * measuring_s / 2.0 - 1.0).abs() < 0.25, "{of_run} {measuring_s}");
}

#[test]
fn dual_returns_are_twice_as_many_packets() {
    let [one, both] = ["strongest", "dual"].map(|mode| {
        let told = bench(&[&format!("device.lidar.settings.return_mode={mode}")]);
        number(&told["devices"][0]["packets_per_s"])
    });
    assert!((both - one - 754.0).abs() < 20.0, "{one} {both}");
}

#[test]
fn people_are_told_the_same() {
    let page = menura(&["bench", "--duration", "100ms"], &["engine.workers=1"]);
    assert!(page.contains("times real time on this machine"), "{page}");
    assert!(page.contains("1 workers render "), "{page}");
    assert!(page.contains("\nscanner "), "{page}");
    let rows = page.lines().filter(|line| line.contains(" %  "));
    assert_eq!(rows.count(), 4, "{page}");
    let checked = menura(&["check", "--speed"], &[]);
    assert!(checked.contains("speed: ") && checked.contains("times real time"), "{checked}");
    assert!(!menura(&["check"], &[]).contains("speed"));
}
