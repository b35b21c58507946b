//! Every embedded profile loads, has a name by the rules, and has the values of its sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menura::config::profile::Profile;
use menura::config::toml::diagnostic::SourceFile;
use menura::devices::families::catalogue;
use menura::devices::hdl64e::profile::{Hdl64eProfile, LaserCalibration, LaserTable};

/// Values of `driver` in the profiles of drive bases.
const DRIVE_BASES: [&str; 5] =
    ["roboclaw", "create-oi", "kangaroo", "sabertooth", "clearpath-horizon"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware-profiles")
}

fn profile(name: &str) -> Arc<Profile> {
    catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"))
}

fn hdl64e(profile: &Profile) -> &Hdl64eProfile {
    let Some(driver) = profile.data::<Hdl64eProfile>() else { panic!("another family") };
    driver
}

#[test]
fn every_file_loads_and_every_profile_is_part_of_the_program() {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let file = path.display().to_string();
            let profile =
                catalogue().load_profile(&file, &path).unwrap_or_else(|faults| panic!("{faults}"));
            names.push(profile.name);
        }
    }
    names.retain(|name| !name.starts_with("example"));
    names.sort();
    let embedded: Vec<_> =
        catalogue().profiles().iter().map(|profile| profile.name.clone()).collect();
    assert_eq!(names, embedded);
}

#[test]
fn the_page_of_commands_is_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/COMMANDS.md");
    let page = menura::cli::profiles::command_page();
    if std::env::var_os("MENURA_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == committed, "`menura profiles --commands > docs/COMMANDS.md` writes the page");
}

/// Only the table of the page is generated; the rest is written by hand.
#[test]
fn the_page_of_connections_has_the_table_of_the_profiles() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONNECT.md");
    let table = menura::cli::profiles::connection_table();
    let page = fs::read_to_string(&path).unwrap();
    if page.contains(&table) {
        return;
    }
    assert!(
        std::env::var_os("MENURA_BLESS").is_some_and(|value| value == "1"),
        "MENURA_BLESS=1 writes the table of docs/CONNECT.md"
    );
    let (before, rest) = page.split_once("| profiles |").expect("the page has the table");
    let (_, after) = rest.split_once("\n\n").expect("a paragraph follows the table");
    fs::write(&path, format!("{before}{table}\n{after}")).unwrap();
}

#[test]
fn names_follow_the_rule() {
    for profile in catalogue().profiles() {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
        assert!(profile.name.chars().all(allowed), "{}", profile.name);
        // Vendor and model, and the firmware if there are several.
        assert!(profile.name.split('-').count() >= 2, "{}", profile.name);
        assert_eq!(profile.file, format!("firmware-profiles/{}.toml", profile.name));
    }
}

#[test]
fn the_example_explains_every_key_a_profile_uses() {
    for profile in catalogue().profiles() {
        let name = match profile.family.key() {
            "velodyne-hdl64e" => "example.toml",
            "velodyne" => "example-velodyne.toml",
            "sick-lms2xx" => "example-sick-lms2xx.toml",
            "gnss" => "example-gnss.toml",
            "sick-lms1xx" => "example-sick-lms1xx.toml",
            base if DRIVE_BASES.contains(&base) => "example-drive-base.toml",
            "joint-encoder" => "example-joint-encoder.toml",
            "hokuyo" => "example-hokuyo.toml",
            "ouster" => "example-ouster.toml",
            "hesai" => "example-hesai.toml",
            "livox" => "example-livox.toml",
            "livox-sdk1" => "example-livox-sdk1.toml",
            "robosense" => "example-robosense.toml",
            "gige-camera" => "example-gige-camera.toml",
            _ => "example-imu.toml",
        };
        let example = fs::read_to_string(folder().join(name)).unwrap();
        let text = fs::read_to_string(folder().join(format!("{}.toml", profile.name))).unwrap();
        for line in text.lines() {
            let key = line.split(" = ").next().unwrap();
            let is_key = line.contains(" = ") && !line.starts_with(['#', ' ']);
            if is_key || line.starts_with('[') {
                let explained =
                    example.lines().any(|l| l.trim_start_matches("# ").starts_with(key));
                assert!(explained, "{}: {key} is not in {name}", profile.name);
            }
        }
    }
}

/// Record of a laser as in the rolling status bytes, with the id first.
fn record(table: &LaserTable, id: usize) -> Vec<u8> {
    let laser = table.lasers[id];
    let mut bytes = vec![id as u8];
    for value in [
        laser.vertical_rad.to_degrees() * 100.0,
        laser.rotational_rad.to_degrees() * 100.0,
        laser.distance_m * 1000.0,
        laser.distance_x_m * 1000.0,
        laser.distance_y_m * 1000.0,
        laser.vertical_offset_m * 1000.0,
        laser.horizontal_offset_m * 1000.0,
        laser.focal_distance_m * 1000.0,
        laser.focal_slope * 10.0,
    ] {
        bytes.extend((value.round() as i16).to_le_bytes());
    }
    bytes.extend([laser.min_intensity, laser.max_intensity]);
    bytes
}

#[test]
fn calibrations_round_to_the_records_of_the_sample_units() {
    let s3 = profile("velodyne-hdl64e-s3");
    let s3 = &hdl64e(&s3).defaults.calibration;
    let golden = [
        0x2D, 0xFD, 0x4A, 0xFE, 0x86, 0x05, 0x8C, 0x05, 0x7E, 0x05, 0xD8, 0x00, 0x1A, 0x00, 0x04,
        0x29, 0x13, 0x00, 0x05, 0xFF,
    ];
    assert_eq!(record(s3, 0)[1..], golden);
    let s2 = profile("velodyne-hdl64e-s2");
    let s2 = &hdl64e(&s2).defaults.calibration;
    let golden = [
        0x93, 0xFC, 0x34, 0xFD, 0xF0, 0x05, 0x0E, 0x06, 0xF3, 0x05, 0xC3, 0x00, 0x1A, 0x00, 0xE0,
        0x2E, 0x0E, 0x00, 0x1E, 0xEB,
    ];
    assert_eq!(record(s2, 0)[1..], golden);

    // The CRC of all 64 records without their ids shows that every digit of the S3's table is right.
    let crc = crc::Crc::<u16>::new(&crc::CRC_16_UMTS);
    let mut digest = crc.digest();
    for id in 0..64 {
        digest.update(&record(s3, id)[1..]);
    }
    assert_eq!(digest.finalize(), 0xEA15);
}

#[test]
fn upper_lasers_come_first_and_two_points_correct_the_later_generations() {
    for name in ["velodyne-hdl64e-s1", "velodyne-hdl64e-s2", "velodyne-hdl64e-s3"] {
        let profile = profile(name);
        let table = &hdl64e(&profile).defaults.calibration;
        let mean = |lasers: &[LaserCalibration]| {
            lasers.iter().map(|laser| laser.vertical_rad).sum::<f64>() / lasers.len() as f64
        };
        let (upper, lower) = table.lasers.split_at(32);
        assert!(mean(upper) > mean(lower) + 10_f64.to_radians(), "{name}");
        assert_eq!(table.two_point_correction, name != "velodyne-hdl64e-s1");
    }
}

#[test]
fn calibrations_survive_their_yaml() {
    for name in ["velodyne-hdl64e-s1", "velodyne-hdl64e-s2", "velodyne-hdl64e-s3"] {
        let profile = profile(name);
        let table = &hdl64e(&profile).defaults.calibration;
        let yaml = SourceFile::new("unit.yaml", table.to_yaml(), "");
        let back = LaserTable::from_yaml(&yaml).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(&back, table, "{}", profile.name);
    }
}

#[test]
fn reads_the_drivers_own_files() {
    // As in ros-drivers/velodyne, params/64e_utexas.yaml: sorted keys, optional keys omitted, integers instead of
    // floating-point numbers, and keys that this driver does not use.
    let mut yaml = String::from("# a comment\ndistance_resolution: 0.002\nlasers:\n");
    for id in 0..64 {
        yaml.push_str(&format!(
            "- {{dist_correction: 0.1, dist_correction_x: 0, dist_correction_y: 0, \
             focal_distance: 0, focal_slope: 0, laser_id: {id}, rot_correction: -6.98e-2, \
             vert_correction: -0.12493274479956, vert_offset_correction: 0}}\n"
        ));
    }
    yaml.push_str("num_lasers: 64\nstatus: {RPM: 600}\n");
    let table = LaserTable::from_yaml(&SourceFile::new("unit.yaml", yaml, ""))
        .unwrap_or_else(|faults| panic!("{faults}"));
    assert!(!table.two_point_correction);
    let laser = table.lasers[63];
    assert_eq!((laser.rotational_rad, laser.distance_m), (-0.0698, 0.1));
    assert_eq!((laser.min_intensity, laser.max_intensity), (0, 255));
    assert_eq!(laser.horizontal_offset_m, 0.0);
}

#[test]
fn a_described_profile_names_everything_a_user_needs() {
    for profile in catalogue().profiles() {
        let text = menura::cli::profiles::page(profile);
        let words: &[&str] = match profile.family.key() {
            "velodyne-hdl64e" => &["rpm", "packets/s", "192.168.3.43:443", "return_mode"],
            "sick-lms2xx" => &["75 revolutions/s", "baud_rate", "12.9"],
            "velodyne" => &["rpm", "packets/s", "192.168.1.201:2368", "return_mode", "lasers"],
            "gnss" => &["rate_hz", "baud", "hdop_final", "uere", "ch-rw+airsim"],
            "sick-lms1xx" => &["50 Hz at 0.5 deg", "TCP", "2112", "power_on_stream", "sector_deg"],
            base if DRIVE_BASES.contains(&base) => {
                &["baud", "counts_per_m", "max_speed_m_s", "battery_v", "reply_delay_ms"]
            }
            "joint-encoder" => &["rate_hz", "steps_per_turn", "index_word", "clock", "lines"],
            "hokuyo" => &["Hz at", "SCIP", "power_on_stream", "clock.drift_ppm", "steps"],
            "hesai" => &["lasers", "192.168.1.201:10000", "rpm", "return_mode", "serial"],
            "robosense" => {
                &["192.168.1.200:6699", "UDP port 7788", "return_mode", "serial", "UCWP"]
            }
            "livox" => &["00 points/s", "192.168.1.101:5", "IMU", "UDP port 56", "data_type"],
            "livox-sdk1" => &["000 pulses/s", ":65000", "IMU", "UDP port 65000", "return_mode"],
            "gige-camera" => &["shutter", "gige-camera", "3956", "exposure_us", "electrons"],
            "ouster" => &["beams", "169.254.1.1:7502", "lidar_mode", "1024x10", "IMU"],
            _ => &["baud", "Hz", "rate_hz", "noise_density", "messages"],
        };
        for word in words {
            assert!(text.contains(word), "{}: no {word} in\n{text}", profile.name);
        }
    }
}

/// `menura profiles NAME` prints the same keys as `docs/RIG-KEYS.md` and the schema have for the profile.
#[test]
fn the_settings_of_a_profile_are_those_of_a_rig() {
    let spec = menura::config::rig::spec(catalogue());
    let device = spec.key("device").unwrap().item().unwrap().table().unwrap();
    let cases: Vec<_> = device.variants.iter().flat_map(|variants| &variants.cases).collect();
    for profile in catalogue().profiles() {
        let mut own = cases.iter().filter(|case| case.word.as_ref() == Some(&profile.name));
        let settings = own.find_map(|case| case.keys.iter().find(|(name, _)| name == "settings"));
        let settings = settings.and_then(|(_, key)| key.as_ref()?.table());
        assert_eq!(settings, Some(&profile.settings_spec()), "{}", profile.name);
    }
}
