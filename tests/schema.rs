//! What `menura schema` prints is what the readers take, and what `menura new` writes they accept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use menura::cli::schema;
use menura::config::rig::{self, Rig};
use menura::config::toml::spec::{KeySpec, Kind, TableSpec};
use menura::devices::family::catalogue;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn menura(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_menura"))
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary runs")
}

#[test]
fn every_key_has_its_sentence_and_every_sentence_its_key() {
    let faults = schema::sentence_faults();
    assert!(faults.is_empty(), "src/cli/schema/sentences.toml:\n{}", faults.join("\n"));
}

#[test]
fn the_committed_page_is_what_the_program_prints() {
    let path = project().join("docs/RIG-KEYS.md");
    let page = schema::page();
    if std::env::var_os("MENURA_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differing = page.lines().zip(committed.lines()).find(|(now, then)| now != then);
    assert!(
        page == committed,
        "`menura schema --markdown > docs/RIG-KEYS.md` writes it anew; first {differing:?}"
    );
}

/// The key at a path, behind arrays and in whichever case has it.
fn key<'s>(table: &'s TableSpec, path: &str) -> Option<&'s KeySpec> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
    let cases = table.variants.iter().flat_map(|variants| &variants.cases);
    let in_cases = cases.flat_map(|case| &case.keys).filter_map(|(_, key)| key.as_ref());
    let mut found = table.keys.iter().chain(in_cases).filter(|key| key.name == first);
    match rest {
        None => found.next(),
        Some(rest) => found.find_map(|found| {
            let inner = found.table().or_else(|| found.item().and_then(KeySpec::table));
            key(inner?, rest)
        }),
    }
}

/// Each is behind another kind of branch in a reader.
#[test]
fn keys_behind_words_types_and_other_keys_are_found() {
    let spec = rig::spec(catalogue());
    for path in [
        "world.parameters.step_height_m",
        "world.object.mesh_pose.roll_pitch_yaw_deg",
        "world.object.trajectory.hold_after_ms",
        "robot.trajectory.amplitude_m",
        "engine.standby_core",
        "device.link.udp.position_port",
        "device.link.control.rate_aliases",
        "device.link.web",
        "device.link.pulse_line",
        "device.settings.clock.power_up_us",
        "device.settings.start_phase",
        "device.settings.echo_filter",
        "device.settings.high_precision",
        "device.settings.errors.max_acceleration_m_s2",
        "device.settings.gyro.chrono.drift_time_s",
        "device.settings.magnetic_field_gauss",
        "fault.lasers",
        "fault.offset_m",
        "fault.jitter_ms",
        "stimulus.period_s",
        "response.regex",
    ] {
        assert!(key(&spec, path).is_some(), "{path}");
    }
    let seed = key(&spec, "seed").unwrap();
    assert!(!seed.is_required && seed.default == Some(0.into()), "{seed:?}");
    assert!(key(&spec, "world.scene").unwrap().is_required);
    let late = key(&spec, "engine.late").unwrap();
    assert_eq!(late.default, Some("late".into()));
    assert_eq!(late.kinds, [Kind::Words(["late", "drop", "thin"].map(str::to_owned).to_vec())]);
}

#[test]
fn the_schema_is_json_and_says_what_depends_on_the_profile() {
    let schema: serde_json::Value = serde_json::from_str(&schema::schema()).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["additionalProperties"], false);
    let text = schema.to_string();
    for profile in catalogue().profiles() {
        let condition = format!("{{\"profile\":{{\"const\":\"{}\"}}}}", profile.name);
        assert!(text.contains(&condition), "{}", profile.name);
    }
}

/// `menura new` in a folder of its own.
struct New {
    folder: tempfile::TempDir,
}

impl New {
    fn run(arguments: &[&str]) -> (Self, Output) {
        let folder = tempfile::tempdir().unwrap();
        let all = [&["new", "rig.toml"], arguments].concat();
        let output = menura(&all, folder.path());
        (Self { folder }, output)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("rig.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(text: &str) -> Rig {
    Rig::parse("rig.toml", text, Path::new(""), &[], catalogue())
        .unwrap_or_else(|faults| panic!("{text}\n{faults}"))
}

/// Every comment that holds a key turned into a line.
fn with_all_settings(text: &str) -> String {
    let is_key = |line: &str| {
        let name = line.strip_prefix("# ")?.split_once(" = ")?.0;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
        name.chars().all(is_plain).then(|| line[2..].to_owned())
    };
    let lines = text.lines().map(|line| is_key(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The settings that are written as defaults are those of a unit whose rig says nothing.
#[test]
fn a_new_rig_of_any_profile_is_accepted_and_its_comments_are_the_defaults() {
    let mut arguments = vec!["--scene", "room"];
    let names: Vec<&str> = catalogue().profiles().iter().map(|p| p.name.as_str()).collect();
    for name in &names {
        arguments.extend(["--device", name]);
    }
    let (new, output) = New::run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = new.text();
    let (plain, full) = (read(&text), read(&with_all_settings(&text)));
    assert_eq!(plain.devices.len(), names.len());
    for ((plain, full), name) in plain.devices.iter().zip(&full.devices).zip(&names) {
        assert_eq!(plain.profile.name, *name);
        assert_eq!(format!("{:?}", plain.settings), format!("{:?}", full.settings), "{name}");
    }
    let comments = with_all_settings(&text).lines().count() - text.lines().count();
    assert_eq!(comments, 0, "lines stay lines");
    assert!(with_all_settings(&text) != text, "{text}");
    let checked = menura(&["check", "rig.toml"], new.folder.path());
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn a_new_rig_has_the_links_and_the_scene_that_were_asked_for() {
    let (new, output) = New::run(&[
        "--device",
        "roof=velodyne-vlp16-3.0",
        "--link",
        "udp:192.168.3.255:2368",
        "--device",
        "ublox-m8n",
        "--link",
        "serial:/dev/ttyUSB0",
        "--device",
        "velodyne-vlp16-3.0",
        "--scene",
        "courtyard",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let rig = read(&with_all_settings(&new.text()));
    let links: Vec<_> = rig.devices.iter().map(|d| (d.name.as_str(), d.link.describe())).collect();
    let expected = [
        ("roof", "udp 192.168.3.255:2368"),
        ("gps", "serial /dev/ttyUSB0"),
        ("lidar", "udp 127.0.0.1:2369"),
    ];
    assert_eq!(links, expected.map(|(name, link)| (name, link.to_owned())));
}

#[test]
fn a_new_rig_replaces_nothing_and_is_not_written_when_something_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rig.toml");
    fs::write(&path, "mine").unwrap();
    let output = menura(&["new", "rig.toml", "--device", "ublox-m8n"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("is there already"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    for wrong in [
        &["--device", "no-such-thing"][..],
        &["--device", "ublox-m8n", "--link", "carrier-pigeon:home"],
        &["--device", "ublox-m8n", "--link", "udp:127.0.0.1:2368"],
        &["--device", "ublox-m8n", "--scene", "nowhere.obj"],
        &["--device", "ublox-m8n", "--link", "pty:/tmp/a", "--link", "pty:/tmp/b"],
        &[],
    ] {
        let (new, output) = New::run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("error"), "{}", stderr(&output));
        assert!(!new.path().exists(), "{wrong:?}");
    }
}
