//! Checks that the keys of `menura schema` are those of the readers, and that rigs of `menura new` are accepted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{self, stderr};
use menura::cli::schema;
use menura::config::rig::Rig;
use menura::config::toml::spec::{Discriminator, KeySpec, Kind, TableSpec};
use menura::devices::families::catalogue;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn menura(arguments: &[&str], folder: &Path) -> Output {
    common::menura()
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary runs")
}

#[test]
fn every_key_has_its_sentence() {
    assert!(schema::keys_without_sentence().is_empty(), "{:#?}", schema::keys_without_sentence());
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

/// The key at a dotted path. Tables in arrays are searched too, and all cases of a table with variants.
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

/// The readers reach each of these keys in a different way, for example by the value of another key, by the type of a
/// link, or by the profile.
#[test]
fn keys_behind_words_types_and_other_keys_are_found() {
    let spec = schema::of_rig();
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
        "device.settings.clock.uptime_s",
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
        assert!(key(spec, path).is_some(), "{path}");
    }
    let seed = key(spec, "seed").unwrap();
    assert!(!seed.is_required && seed.default == Some(0.into()), "{seed:?}");
    assert!(key(spec, "world.scene").unwrap().is_required);
    let late = key(spec, "engine.late").unwrap();
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

/// Specifications that apply to the keys of a table, given its values; `None` for keys that it must not have.
fn keys_of(table: &toml::Table, spec: &TableSpec) -> BTreeMap<String, Option<Vec<KeySpec>>> {
    let mut keys: BTreeMap<_, _> =
        spec.keys.iter().map(|key| (key.name.clone(), Some(vec![key.clone()]))).collect();
    for variants in &spec.variants {
        let Discriminator::WordOf(path) = &variants.by else {
            panic!("of a profile: {variants:?}")
        };
        let mut steps = path.split('.');
        let first = steps.next().and_then(|step| table.get(step));
        let word = steps.fold(first, |value, step| value?.get(step));
        let word = word.and_then(toml::Value::as_str);
        let cases = variants.cases.iter().filter(|case| case.word.as_deref() == word);
        if word.is_some() && cases.clone().next().is_none() {
            // If the word is not a known one, no specification applies.
            keys.entry(path.split('.').next().unwrap_or_default().to_owned()).insert_entry(None);
        }
        for (name, key) in cases.flat_map(|case| &case.keys) {
            let known = keys.entry(name.clone()).or_insert_with(|| Some(Vec::new()));
            match key {
                Some(key) => known.iter_mut().for_each(|known| known.push(key.clone())),
                None => *known = None,
            }
        }
    }
    keys
}

/// Keys and values of a table that the schema does not permit.
fn refused(table: &toml::Table, spec: &TableSpec, path: &str) -> Vec<String> {
    let keys = keys_of(table, spec);
    let mut faults = Vec::new();
    for (name, value) in table {
        match keys.get(name).and_then(Option::as_ref) {
            Some(all) => {
                // Keys that depend on other keys are not checked: their specification has only the part that all cases
                // share.
                let full = all.iter().filter(|key| !key.depends);
                faults.extend(
                    full.flat_map(|key| refused_value(value, key, &format!("{path}{name}"))),
                );
            }
            None => faults.push(format!("{path}{name} is unknown")),
        }
    }
    for (name, all) in &keys {
        let is_required = all.iter().flatten().any(|key| key.is_required);
        if is_required && !table.contains_key(name) {
            faults.push(format!("{path}{name} is missing"));
        }
    }
    faults
}

fn refused_value(value: &toml::Value, key: &KeySpec, path: &str) -> Vec<String> {
    let number = value.as_float().or(value.as_integer().map(|number| number as f64));
    let within = |kind: &Kind| match (kind, value) {
        (Kind::Table(spec), toml::Value::Table(table)) => refused(table, spec, &format!("{path}.")),
        (Kind::Array { least, most, item, .. }, toml::Value::Array(items)) => {
            let count = items.len();
            let mut faults: Vec<_> =
                items.iter().flat_map(|value| refused_value(value, item, path)).collect();
            if count < *least || most.is_some_and(|most| count > most) {
                faults.push(format!("{path} has {count} items"));
            }
            faults
        }
        _ => {
            let fits = match kind {
                Kind::Number(range) => {
                    number.is_some_and(|x| (range.least..=range.most).contains(&x))
                }
                Kind::Integer(range) => value
                    .as_integer()
                    .is_some_and(|x| (range.least..=range.most).contains(&i128::from(x))),
                Kind::OneOf(list) => value.as_integer().is_some_and(|x| list.contains(&x.into())),
                Kind::Boolean => value.is_bool(),
                Kind::Text { .. } => value.is_str(),
                Kind::Words(words) => value.as_str().is_some_and(|x| words.iter().any(|w| w == x)),
                Kind::Datetime { .. } | Kind::Date { .. } => value.is_datetime(),
                Kind::Any { .. } => true,
                Kind::Array { .. } | Kind::Table(_) => false,
            };
            if fits { Vec::new() } else { vec![format!("{path} is {value}")] }
        }
    };
    let mut all = key.kinds.iter().map(within);
    let Some(first) = all.next() else { return vec![format!("nothing is known of {path}")] };
    all.fold(first, |best, other| if other.len() < best.len() { other } else { best })
}

#[test]
fn the_schema_of_profiles_holds_all_of_them_and_every_key_that_they_must_have() {
    let spec = catalogue().profile_spec();
    for profile in catalogue().profiles() {
        let table: toml::Table = profile.source.text.parse().unwrap();
        let faults = refused(&table, &spec, "");
        assert!(faults.is_empty(), "{}: {faults:#?}", profile.name);
        // An embedded profile has every required key; the schema must report the removal of each.
        for name in table.keys() {
            // Keys that are optional: `papers` in every family; `raster` and `imu` of RoboSense, which only some models
            // have; `imu` of the Livoxes of SDK 1.
            let is_of_one_model = match profile.family.key() {
                "robosense" => ["raster", "imu"].contains(&name.as_str()),
                "livox-sdk1" => name == "imu",
                _ => false,
            };
            if name == "papers" || is_of_one_model {
                continue;
            }
            let mut without = table.clone();
            without.remove(name);
            let is_told = refused(&without, &spec, "").iter().any(|f| f.starts_with(&**name));
            assert!(is_told, "{} without {name}", profile.name);
        }
    }
    let schema: serde_json::Value = serde_json::from_str(&schema::profile_schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    for family in catalogue().families() {
        let condition = format!("{{\"driver\":{{\"const\":\"{}\"}}}}", family.key());
        assert!(schema.to_string().contains(&condition), "{}", family.key());
    }
}

/// In each case, a key or value is valid for another product but not for this one, or it depends on another key.
#[test]
fn the_schema_of_profiles_goes_by_driver_generation_and_dialect() {
    let spec = catalogue().profile_spec();
    for (name, place, line, fault) in [
        (
            "velodyne-hdl64e-s1",
            "packet",
            "threshold_types = \"codes\"",
            "threshold_types is unknown",
        ),
        ("velodyne-hdl64e-s2", "packet", "start_phase = 1", "packet.start_phase is unknown"),
        ("velodyne-hdl64e-s2", "status", "form_packets = 1", "status.form_packets is unknown"),
        ("velodyne-vlp16-3.0", "packet", "generation = \"s2\"", "packet.generation is unknown"),
        ("garmin-18x-lvc", "settings", "messages = []", "settings.messages is unknown"),
        ("wheeltec-n100", "", "answers = {}", "answers is unknown"),
        ("sick-lms111", "scan", "mirror_hz = 75", "scan.mirror_hz is unknown"),
        ("ublox-m8n", "settings", "mask_deg = 90", "settings.mask_deg is 90"),
        ("velodyne-hdl64e-s1", "packet", "generation = \"s4\"", "packet is unknown"),
        ("xsens-mti30", "answers", "period = 3", "answers.period is 3"),
    ] {
        let profile = catalogue().profile(name).unwrap();
        let mut table: toml::Table = profile.source.text.parse().unwrap();
        let (key, value) = line.parse::<toml::Table>().unwrap().into_iter().next().unwrap();
        let within = match place {
            "" => &mut table,
            place => table[place].as_table_mut().unwrap(),
        };
        within.insert(key, value);
        let faults = refused(&table, &spec, "");
        assert!(faults.iter().any(|told| told.contains(fault)), "{name}, {line}: {faults:?}");
    }
}

/// A run of `menura new` in a new temporary folder.
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

fn read(text: &str) -> Rig {
    Rig::parse("rig.toml", text, Path::new(""), &[], catalogue())
        .unwrap_or_else(|faults| panic!("{text}\n{faults}"))
}

/// The text, with every comment that contains a key turned into that key.
fn with_all_settings(text: &str) -> String {
    let is_key = |line: &str| {
        let name = line.strip_prefix("# ")?.split_once(" = ")?.0;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
        name.chars().all(is_plain).then(|| line[2..].to_owned())
    };
    let lines = text.lines().map(|line| is_key(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The comments of a new rig show the defaults: turning them into keys does not change the settings of any unit.
#[test]
fn a_new_rig_of_any_profile_is_accepted_and_its_comments_are_the_defaults() {
    let (bases, others): (Vec<_>, Vec<_>) =
        catalogue().profiles().iter().partition(|profile| profile.product.drives);
    // Only one of the drive bases can drive a robot.
    for devices in std::iter::once(others).chain(bases.into_iter().map(|base| vec![base])) {
        a_new_rig_is_accepted(&devices.iter().map(|profile| &*profile.name).collect::<Vec<_>>());
    }
}

fn a_new_rig_is_accepted(names: &[&str]) {
    let mut arguments = vec!["--scene", "room"];
    for name in names {
        arguments.extend(["--device", name]);
    }
    let (new, output) = New::run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = new.text();
    let (plain, full) = (read(&text), read(&with_all_settings(&text)));
    assert_eq!(plain.devices.len(), names.len());
    for ((plain, full), name) in plain.devices.iter().zip(&full.devices).zip(names) {
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
        ("lidar", "udp 127.0.0.1:2368"),
    ];
    assert_eq!(links, expected.map(|(name, link)| (name, link.to_owned())));
}

#[test]
fn links_are_given_by_the_names_of_devices_or_in_their_order() {
    let (new, output) = New::run(&[
        "--device",
        "ublox-m8n",
        "--device",
        "compass=xsens-mti30",
        "--device",
        "sick-lms211",
        "--link",
        "compass=serial:/dev/ttyUSB0",
        "--link",
        "auto",
        "--link",
        "tcp:127.0.0.1:9000",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let rig = read(&with_all_settings(&new.text()));
    let links: Vec<_> = rig.devices.iter().map(|device| device.link.describe()).collect();
    assert_eq!(links, ["pty /tmp/menura/gps", "serial /dev/ttyUSB0", "tcp 127.0.0.1:9000"]);
}

#[test]
fn a_new_rig_replaces_nothing_and_is_not_written_when_something_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rig.toml");
    fs::write(&path, "mine").unwrap();
    let output = menura(&["new", "rig.toml", "--device", "ublox-m8n"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("already exists"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    for wrong in [
        &["--device", "no-such-thing"][..],
        &["--device", "ublox-m8n", "--link", "carrier-pigeon:home"],
        &["--device", "ublox-m8n", "--link", "udp:127.0.0.1:2368"],
        &["--device", "ublox-m8n", "--scene", "nowhere.obj"],
        &["--device", "ublox-m8n", "--link", "pty:/tmp/a", "--link", "pty:/tmp/b"],
        &["--device", "ublox-m8n", "--link", "compass=pty:/tmp/a"],
        &[],
    ] {
        let (new, output) = New::run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("error"), "{}", stderr(&output));
        assert!(!new.path().exists(), "{wrong:?}");
    }
}
