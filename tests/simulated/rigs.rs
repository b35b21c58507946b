//! Tests of the meaning of valid rigs: defaults, units, relative paths and overrides.

use menura::devices::families::catalogue;
use menura::devices::gnss::profile::GnssSettings;
use menura::devices::hdl64e::profile::Hdl64eProfile;
use menura::devices::imu::profile::ImuSettings;
use std::path::{Path, PathBuf};

use menura::config::profile::JointRole;
use menura::config::profile::lidar::BeamShape;
use menura::config::rig::drive::{DriveConfig, DriveModel, IcrVariation};
use menura::config::rig::placement::{ScenePlacement, UpAxis};
use menura::config::rig::{
    CourtyardParameters, LatePolicy, Override, Rig, SceneSource, TrajectoryConfig,
};
use menura::devices::hdl64e::profile::{Hdl64eSettings, S1Grouping, TimestampMarks};
use menura::devices::spinning::return_mode::ReturnMode;

fn set(text: &str) -> Override {
    text.parse().unwrap()
}

fn parse(text: &str, overrides: &[Override]) -> Rig {
    Rig::parse("rig.toml", text, Path::new("/rigs"), overrides, catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

fn settings(rig: &Rig, device: usize) -> &Hdl64eSettings {
    let Some(settings) = rig.devices[device].settings::<Hdl64eSettings>() else {
        panic!("another family")
    };
    settings
}

const SMALLEST: &str = r#"
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "lidar"
profile = "velodyne-hdl64e-s1"
link = { udp = { to = "192.168.3.255:2368" } }
"#;

#[test]
fn the_default_rig_circles_in_the_courtyard() {
    let rig = Rig::default_rig(&[], catalogue()).unwrap();
    assert_eq!(rig.seed, 7);
    assert!(rig.start_utc.is_none());
    let SceneSource::Courtyard(courtyard) = &rig.world.scene else { panic!("{:?}", rig.world) };
    assert_eq!((courtyard.grass_blades, courtyard.trees, courtyard.seed), (200_000, 100, 7));
    let TrajectoryConfig::Circle { radius_m, speed_m_s, .. } = rig.robot.trajectory else {
        panic!("{:?}", rig.robot)
    };
    assert_eq!((radius_m, speed_m_s), (20.0, 2.0));
    assert!(rig.robot.follow_ground);
    let device = &rig.devices[0];
    assert_eq!(
        (device.name.as_str(), device.profile.name.as_str()),
        ("roof-lidar", "velodyne-hdl64e-s1")
    );
    assert_eq!(device.body_from_sensor.translation.to_array(), [0.0, 0.0, 2.0]);
    let link = device.link.udp().expect("UDP");
    assert_eq!(link.to.to_string(), "127.0.0.1:2368");
    let others: Vec<_> = rig.devices[1..]
        .iter()
        .map(|device| (device.profile.name.as_str(), device.link.describe()))
        .collect();
    let expected = [
        ("sick-lms291-s05-x1.27", "pty /tmp/menura/front-scanner"),
        ("wheeltec-n100", "pty /tmp/menura/imu"),
        ("ublox-zed-f9p-hpg1.32", "pty /tmp/menura/gnss"),
        ("velodyne-vlp16-3.0", "udp 127.0.0.1:2369"),
    ];
    assert_eq!(others, expected.map(|(profile, link)| (profile, link.to_string())));
    let Some(settings) = rig.devices[3].settings::<GnssSettings>() else { panic!("no receiver") };
    assert_eq!(settings.period_ns, 100_000_000);
}

#[test]
fn what_is_left_out_has_its_default() {
    let rig = parse(SMALLEST, &[]);
    assert_eq!(rig.seed, 0);
    assert_eq!(rig.engine.workers, None);
    assert_eq!(
        (rig.engine.render_ahead_ns, rig.engine.miss_threshold_ns),
        (100_000_000, 1_000_000)
    );
    assert_eq!((rig.engine.late, rig.engine.truth_rate_hz), (LatePolicy::Late, 100.0));
    assert!(!rig.robot.follow_ground);
    let link = rig.devices[0].link.udp().expect("UDP");
    assert_eq!((link.from, link.ttl, link.broadcast), (None, None, false));
    let settings = settings(&rig, 0);
    assert_eq!((settings.rotation_rate_rpm, settings.return_mode), (600, ReturnMode::Strongest));
}

#[test]
fn degrees_milliseconds_and_milliradians_are_converted() {
    let text = r#"
seed = 18446744073709551615
start_utc = 2026-06-01T14:00:00.5+02:00
origin = { latitude_deg = 47, longitude_deg = 8.5, altitude_m = 500 }
[world]
scene = "courtyard"
parameters = { seed = 3, tree_triangles = 1000, ground_relief_m = 0 }
[robot]
trajectory = { kind = "half-sine", start_m = [1, 2, 3], yaw_deg = 90, length_m = 40, amplitude_m = -5, speed_m_s = 3 }
[engine]
workers = 4
render_ahead_ms = 2.5
late = "drop"
miss_threshold_us = 250
truth_rate_hz = 50
[[device]]
name = "lidar"
profile = "velodyne-hdl64e-s1"
mount = { roll_pitch_yaw_deg = [0, 0, 180] }
link = { udp = { to = "[ff02::1]:2368", from = "[::1]:443", interface = "eth1", ttl = 4, broadcast = true } }
[device.settings]
rotation_rate_rpm = 900
start_azimuth_deg = 90
timestamp_marks = "packet-end"
start_phase = 3
grouping = "datagram"
lag_ms = 1.5
beam = { shape = "elliptical", divergence_mrad = [3, 1.5], max_range_m = 60 }
noise = { azimuth_std_deg = 0.01 }
"#;
    let rig = parse(text, &[]);
    assert_eq!(rig.seed, u64::MAX);
    assert_eq!(rig.start_utc.unwrap().to_string(), "2026-06-01T12:00:00.5Z");
    assert_eq!(rig.origin.latitude_deg, 47.0);
    let SceneSource::Courtyard(CourtyardParameters {
        seed, tree_triangles, ground_relief_m, ..
    }) = rig.world.scene
    else {
        panic!("{:?}", rig.world)
    };
    assert_eq!((seed, tree_triangles, ground_relief_m), (3, 1000, 0.0));
    let TrajectoryConfig::HalfSine { start_m, yaw_rad, amplitude_m, .. } = rig.robot.trajectory
    else {
        panic!("{:?}", rig.robot)
    };
    assert_eq!(
        (start_m, yaw_rad, amplitude_m),
        ([1.0, 2.0, 3.0], std::f64::consts::FRAC_PI_2, -5.0)
    );
    assert_eq!((rig.engine.workers, rig.engine.late), (Some(4), LatePolicy::Drop));
    assert_eq!((rig.engine.render_ahead_ns, rig.engine.miss_threshold_ns), (2_500_000, 250_000));
    let forward = rig.devices[0].body_from_sensor.direction(glam::DVec3::X);
    assert!((forward + glam::DVec3::X).length() < 1e-12);
    let link = rig.devices[0].link.udp().expect("UDP");
    assert_eq!(
        (link.ttl, link.broadcast, link.interface.as_deref()),
        (Some(4), true, Some("eth1"))
    );
    let settings = settings(&rig, 0);
    assert_eq!(settings.start_azimuth_rad, std::f64::consts::FRAC_PI_2);
    assert_eq!(settings.timestamp_marks, TimestampMarks::PacketEnd);
    assert_eq!((settings.s1_start_phase, settings.s1_grouping), (3, S1Grouping::Datagram));
    assert_eq!(settings.lag_ns, 1_500_000);
    assert_eq!(settings.beam.shape, BeamShape::Elliptical);
    assert_eq!((settings.beam.divergence_rad, settings.beam.max_range_m), ([0.003, 0.0015], 60.0));
    // Values that the rig does not set are those of the profile.
    assert_eq!((settings.beam.min_range_m, settings.noise.range_std_m), (0.9, 0.015));
    assert_eq!(settings.noise.azimuth_std_rad, 0.01_f64.to_radians());
}

#[test]
fn paths_start_at_the_rig_and_those_of_overrides_at_the_current_folder() {
    let text = SMALLEST
        .replace("\"room\"", "\"scenes/meadow.json\"")
        .replace("{ kind = \"still\" }", "{ kind = \"file\", path = \"../trail.vprp\" }");
    let scene = |rig: &Rig| match &rig.world.scene {
        SceneSource::File { path, .. } => path.clone(),
        other => panic!("{other:?}"),
    };
    let rig = parse(&text, &[]);
    assert_eq!(scene(&rig), PathBuf::from("/rigs/scenes/meadow.json"));
    let TrajectoryConfig::File { path, speed_m_s, closed } = &rig.robot.trajectory else {
        panic!("{:?}", rig.robot)
    };
    assert_eq!((path, speed_m_s, closed), (&PathBuf::from("/rigs/../trail.vprp"), &None, &false));
    let rig = parse(&text, &[set("world.scene=my/other.GLB")]);
    assert_eq!(scene(&rig), PathBuf::from("my/other.GLB"));
    assert_eq!(rig.places.scene.source.name, "--set");
}

#[test]
fn overrides_replace_add_and_reach_devices_by_name_and_index() {
    let overrides = [
        set("seed=0x10"),
        set("engine.workers=2"),
        set("robot.trajectory={ kind = \"line\", speed_m_s = 1 }"),
        set("device.lidar.settings.beam.divergence_mrad=1"),
        set("device[0].settings.rotation_rate_rpm=300"),
        set("device[0].mount.translation_m=[1, 2, 3]"),
        set("device[0].mount.translation_m[2]=4"),
        set("device[0].name=front"),
    ];
    let rig = parse(SMALLEST, &overrides);
    assert_eq!((rig.seed, rig.engine.workers), (16, Some(2)));
    assert!(matches!(rig.robot.trajectory, TrajectoryConfig::Line { .. }));
    assert_eq!(rig.devices[0].name, "front");
    assert_eq!(rig.devices[0].body_from_sensor.translation.to_array(), [1.0, 2.0, 4.0]);
    assert_eq!(settings(&rig, 0).rotation_rate_rpm, 300);
    assert_eq!(settings(&rig, 0).beam.divergence_rad[1], 0.001);
}

#[test]
fn a_scene_set_alone_leaves_out_the_parameters_of_the_files_scene() {
    let rig = Rig::default_rig(&[set("world.scene=room")], catalogue()).unwrap();
    assert!(matches!(rig.world.scene, SceneSource::Room(_)));
    let rig = Rig::default_rig(&[set("world.scene=courtyard")], catalogue()).unwrap();
    let SceneSource::Courtyard(courtyard) = rig.world.scene else { panic!("{:?}", rig.world) };
    assert_eq!(courtyard.trees, 100);
    // The parameter `trees` of the courtyard does not apply to the forest, although both scenes have such a key.
    let sets = [set("world.scene=root-step"), set("world.parameters.plants=10")];
    let rig = Rig::default_rig(&sets, catalogue()).unwrap();
    let SceneSource::RootStep(forest) = rig.world.scene else { panic!("{:?}", rig.world) };
    assert_eq!((forest.trees, forest.tree_triangles, forest.plants), (163, 3_450_000, 10));
    assert_eq!(forest.seed, 7);
    // The courtyard's grass does not apply to the meadow either.
    let sets = [set("world.scene=meadow-wall"), set("world.parameters.wire_spacing_m=0.3")];
    let rig = Rig::default_rig(&sets, catalogue()).unwrap();
    let SceneSource::MeadowWall(meadow) = rig.world.scene else { panic!("{:?}", rig.world) };
    assert_eq!((meadow.seed, meadow.grass_blades, meadow.wire_spacing_m), (7, 60_000, 0.3));
    // A parameter that is set for the new scene is checked as usual.
    let both = [set("world.scene=room"), set("world.parameters.trees=3")];
    let faults = Rig::default_rig(&both, catalogue()).map(drop).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults}");
}

#[test]
fn an_override_without_a_key_or_a_value_is_refused() {
    for text in ["", "world.scene", "=3", " =3"] {
        assert!(text.parse::<Override>().is_err(), "{text:?}");
    }
}

#[test]
fn a_calibration_file_replaces_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let s3 = catalogue().profile("velodyne-hdl64e-s3").unwrap();
    let Some(s3) = s3.data::<Hdl64eProfile>() else { panic!("another family") };
    let yaml = s3.defaults.calibration.to_yaml();
    std::fs::write(folder.path().join("unit.yaml"), yaml).unwrap();
    let text = format!("{SMALLEST}settings = {{ calibration = \"unit.yaml\" }}\n");
    std::fs::write(folder.path().join("rig.toml"), text).unwrap();
    let rig = Rig::load(&folder.path().join("rig.toml"), &[], catalogue())
        .unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(settings(&rig, 0).calibration, s3.defaults.calibration);
}

#[test]
fn examples_are_good_rigs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let rigs: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    // `meadow.toml` needs a scene file from the user.
    for path in rigs.iter().filter(|path| !path.ends_with("meadow.toml")) {
        Rig::load(path, &[], catalogue()).unwrap_or_else(|faults| panic!("{faults}"));
    }
    assert!(rigs.len() >= 9);
}

#[test]
fn the_meadow_needs_only_its_scene_and_its_trail() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/meadow.toml");
    let given = [set("world.scene=a.json"), set("robot.trajectory.path=b.vprp")];
    let rig = Rig::load(&path, &given, catalogue()).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(matches!(rig.world.scene, SceneSource::File { seed: 1, .. }));
    let faults = Rig::load(&path, &[], catalogue()).map(drop).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults}");
}

#[test]
fn the_sixth_scale_vehicle_has_its_imu() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/art.toml");
    let rig = Rig::load(&path, &[], catalogue()).unwrap_or_else(|faults| panic!("{faults}"));
    let Some(settings) = rig.devices[0].settings::<ImuSettings>() else { panic!("an IMU") };
    assert_eq!((settings.rate_hz, settings.baud_rate), (100, 921_600));
}

#[test]
fn a_scene_file_is_turned_scaled_and_moved() {
    let file = SMALLEST.replace("scene = \"room\"", "scene = \"hall.obj\"");
    let placement = |rig: &Rig| match &rig.world.scene {
        SceneSource::File { placement, .. } => *placement,
        other => panic!("{other:?}"),
    };
    assert_eq!(placement(&parse(&file, &[])), ScenePlacement::default());
    let keys = "up_axis = \"y\"\nscale = 0.001\nrotate_deg = [0.0, 0.0, 180.0]\n\
                offset_m = [1, 2, 3]\n[robot]";
    let placed = file.replace("[robot]", keys);
    let expected = ScenePlacement {
        up_axis: Some(UpAxis::Y),
        scale: 0.001,
        roll_pitch_yaw_rad: [0.0, 0.0, std::f64::consts::PI],
        offset_m: [1.0, 2.0, 3.0],
    };
    assert_eq!(placement(&parse(&placed, &[])), expected);
    // With another scene by an override, placement keys of the file are ignored, and keys of overrides apply.
    let other = parse(&placed, &[set("world.scene=room")]);
    assert!(matches!(other.world.scene, SceneSource::Room(_)));
}

#[test]
fn a_driven_robot_is_what_the_rig_says_and_usual_where_it_is_silent() {
    let drive = |trajectory: &str, robot: &str| {
        let still = "trajectory = { kind = \"still\" }";
        let text = SMALLEST
            .replace(still, &format!(
                "trajectory = {{ kind = \"drive\", twist = \"127.0.0.1:7100\", {trajectory} }}\n{robot}"
            ));
        let rig = parse(&text, &[]);
        let TrajectoryConfig::Drive(drive) = rig.robot.trajectory.clone() else {
            panic!("{rig:?}")
        };
        (drive, rig.robot.footprint_m, rig.engine.render_ahead_ns)
    };
    let (silent, footprint_m, ahead_ns) =
        drive("model = \"skid-steer\", y_icr_m = 0.45, max_speed_m_s = 1.0", "");
    let model = DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation: None };
    let twist = silent.twist.clone();
    assert!(twist.as_ref().is_some_and(|input| input.hold_ns == 500_000_000), "{twist:?}");
    assert_eq!(silent, DriveConfig { twist, ..DriveConfig::of(model) });
    assert_eq!((footprint_m, ahead_ns), ([0.6, 0.5], 20_000_000));
    let (paper, footprint_m, _) = drive(
        "model = \"skid-steer\", y_icr_m = [0.4, 0.5], x_icr_m = 0.1, icr_spread = 0.1, icr_seed = 7, \
         icr_length_m = 2, max_speed_m_s = 0.68, max_acceleration_m_s2 = 2, time_constant_ms = 35, slip = 0.1, \
         body_height_m = 0.81, blocks_above_m = 0.12, drives_through = [\"straw\"], yaw_deg = 90, \
         position_m = [1, 2, 3], suspension = { stroke_m = 0.065, stiffness_n_m = 3976.6, \
         damping_kg_s = 75.76, mass_kg = 41 }",
        "footprint_m = [0.67, 0.54]",
    );
    let variation = Some(IcrVariation { spread: 0.1, over_m: Some(2.0), seed: 7 });
    assert_eq!(footprint_m, [0.67, 0.54]);
    assert_eq!(paper.model, DriveModel::SkidSteer { y_icr_m: [0.4, 0.5], x_icr_m: 0.1, variation });
    assert_eq!((paper.max_acceleration_m_s2, paper.slip), (Some(2.0), [0.1; 2]));
    assert_eq!((paper.body.height_m, paper.body.drives_through), (0.81, vec!["straw".to_owned()]));
    assert_eq!(paper.suspension.map(|springs| springs.mass_kg), Some(41.0));
    assert_eq!((paper.position_m, paper.yaw_rad), ([1.0, 2.0, 3.0], std::f64::consts::FRAC_PI_2));
    let (car, _, _) = drive(
        "model = \"ackermann\", wheelbase_m = 0.33, track_m = 0.3, max_steering_deg = 30, max_speed_m_s = 3",
        "",
    );
    assert_eq!(car.model.word(), "ackermann");
    let (differential, _, _) =
        drive("model = \"differential\", track_m = 0.3, max_speed_m_s = 0.5", "");
    assert_eq!(differential.model, DriveModel::Differential { track_m: 0.3 });
}

/// Names, links and positions of these devices after reading the rig.
fn wired(devices: &str) -> Vec<(String, String, [f64; 3])> {
    let rig = parse(&format!("[world]\nscene = \"room\"\n{devices}"), &[]);
    let wired = rig.devices.iter().map(|device| {
        let from = device.link.udp().and_then(|udp| udp.from).map(|from| format!(" from {from}"));
        let mut link = device.link.describe() + &from.unwrap_or_default();
        device.controls.iter().for_each(|control| link += &format!(", {}", control.describe()));
        (device.name.clone(), link, device.body_from_sensor.translation.to_array())
    });
    wired.collect()
}

fn links(devices: &str) -> Vec<String> {
    wired(devices).into_iter().map(|(_, link, _)| link).collect()
}

fn device(name: &str, profile: &str, keys: &str) -> String {
    format!("[[device]]\nname = \"{name}\"\nprofile = \"{profile}\"\n{keys}\n")
}

#[test]
fn a_short_link_is_the_long_one() {
    let devices = [
        device("a", "velodyne-vlp16-3.0", "link = \"udp:192.168.1.255:2368\""),
        device("b", "wheeltec-n100", "link = \"pty:/tmp/imu\""),
        device("c", "wheeltec-n100", "link = \"serial:/dev/ttyUSB0\""),
        device("d", "sick-lms111", "link = \"tcp:127.0.0.1:2111\""),
        device(
            "e",
            "velodyne-hdl64e-s3",
            "link = { udp = { to = \"127.0.0.1:9\" }, control = \"pty:/tmp/e\" }",
        ),
    ];
    let expected = [
        "udp 192.168.1.255:2368",
        "pty /tmp/imu",
        "serial /dev/ttyUSB0",
        "tcp 127.0.0.1:2111",
        "udp 127.0.0.1:9, pty /tmp/e",
    ];
    assert_eq!(links(&devices.concat()), expected);
    // An override may set a key within a short link.
    let text =
        SMALLEST.replace("{ udp = { to = \"192.168.3.255:2368\" } }", "\"udp:192.168.3.255:2368\"");
    let rig = parse(&text, &[set("device.lidar.link.udp.from=192.168.3.43:443")]);
    assert_eq!(rig.devices[0].link.udp().unwrap().from, Some("192.168.3.43:443".parse().unwrap()));
}

#[test]
fn a_link_that_is_left_out_is_free_and_here() {
    let devices = [
        device("a", "velodyne-vlp16-3.0", ""),
        device("b", "velodyne-hdl64e-s1", "link = \"udp:127.0.0.1:2369\""),
        device("c", "velodyne-vlp16-3.0", ""),
        device("d", "ouster-os1-64-3.1", ""),
        device("e", "ouster-os1-64-3.1", ""),
        device("f", "wheeltec-n100", ""),
        device("g", "sick-lms111", ""),
        device("h", "hokuyo-ust10lx", ""),
    ];
    let expected = [
        "udp 127.0.0.1:2368",
        "udp 127.0.0.1:2369",
        "udp 127.0.0.1:2370",
        "udp 127.0.0.1:7502",
        "udp 127.0.0.1:7504",
        "pty /tmp/menura/f",
        "tcp 127.0.0.1:2111, 127.0.0.1:2112",
        "tcp 127.0.0.2:10940",
    ];
    assert_eq!(links(&devices.concat()), expected);
}

#[test]
fn an_address_brings_the_ports_of_the_product() {
    let devices = [
        device(
            "a",
            "velodyne-vlp16-3.0",
            "link = \"udp:192.168.1.50:2368\"\naddress = \"192.168.1.201\"",
        ),
        device("b", "hesai-xt32", "link = \"udp:127.0.0.1:2369\"\naddress = \"127.0.0.2\""),
        device("c", "sick-lms111", "address = \"127.0.0.3\""),
        device(
            "d",
            "velodyne-vlp16-3.0",
            "link = { udp = { to = \"127.0.0.1:9\" }, web = \"127.0.0.4:8080\" }\naddress = \"127.0.0.4\"",
        ),
    ];
    let expected = [
        "udp 192.168.1.50:2368 from 192.168.1.201:2368, http://192.168.1.201:80",
        "udp 127.0.0.1:2369 from 127.0.0.2:0, commands by tcp 127.0.0.2:9347",
        "tcp 127.0.0.3:2111, 127.0.0.3:2112",
        "udp 127.0.0.1:9 from 127.0.0.4:0, http://127.0.0.4:8080",
    ];
    assert_eq!(links(&devices.concat()), expected);
}

#[test]
fn defaults_lie_beneath_what_devices_say() {
    let defaults = "[defaults.\"velodyne-*\"]\nmount = { translation_m = [1, 2, 3] }\n\
                    settings = { rotation_rate_rpm = 300, return_mode = \"last\" }\n\
                    [defaults.\"velodyne-hdl64e-s1\".settings]\nrotation_rate_rpm = 900\n";
    let devices = [
        device("a", "velodyne-hdl64e-s1", "settings = { return_mode = \"strongest\" }"),
        device("b", "velodyne-hdl64e-s3", "mount = { roll_pitch_yaw_deg = [0, 0, 90] }"),
    ];
    let text = format!("[world]\nscene = \"room\"\n{defaults}{}", devices.concat());
    let rig = parse(&text, &[]);
    let of = |device: usize| {
        let settings = settings(&rig, device);
        let place = rig.devices[device].body_from_sensor.translation.to_array();
        (settings.rotation_rate_rpm, settings.return_mode, place)
    };
    assert_eq!(of(0), (900, ReturnMode::Strongest, [1.0, 2.0, 3.0]));
    assert_eq!(of(1), (300, ReturnMode::Last, [1.0, 2.0, 3.0]));
}

#[test]
fn what_repeats_has_names_places_and_links_of_its_own() {
    let devices = [
        device(
            "side",
            "sick-lms291-s14",
            "mount = { translation_m = [0, 1, 0.5] }\n\
                link = \"pty:/tmp/side\"\nrepeat = { count = 2, step_m = [0, -2, 0] }",
        ),
        device(
            "roof",
            "velodyne-vlp16-3.0",
            "address = \"127.0.0.9\"\nrepeat = { count = 2, step_m = [1, 0, 0] }",
        ),
    ];
    let expected = [
        ("side-1", "pty /tmp/side-1", [0.0, 1.0, 0.5]),
        ("side-2", "pty /tmp/side-2", [0.0, -1.0, 0.5]),
        ("roof-1", "udp 127.0.0.1:2368 from 127.0.0.9:0, http://127.0.0.9:80", [0.0; 3]),
        ("roof-2", "udp 127.0.0.1:2369 from 127.0.0.10:0, http://127.0.0.10:80", [1.0, 0.0, 0.0]),
    ];
    let expected = expected.map(|(name, link, place)| (name.to_owned(), link.to_owned(), place));
    assert_eq!(wired(&devices.concat()), expected);
    let object = "[[world.object]]\nname = \"post\"\nbody = \"cylinder\"\n\
                  trajectory = { kind = \"waypoints\", points_m = [[0, 0], [1, 0]], speed_m_s = 1 }\n\
                  repeat = { count = 3, step_m = [0, 5, 0] }\n";
    let rig = parse(&format!("{SMALLEST}{object}"), &[]);
    assert_eq!(rig.world.objects[2].name, "post-3");
    let TrajectoryConfig::Waypoints { points_m, .. } = &rig.world.objects[2].motion.trajectory
    else {
        panic!("{:?}", rig.world.objects)
    };
    assert_eq!(points_m[..], [[0.0, 10.0, 0.0], [1.0, 10.0, 0.0]]);
}

#[test]
fn a_robot_follows_uneven_ground_unless_it_is_told_not_to() {
    let follows = |scene: &str, robot: &str| {
        let device = device("imu", "wheeltec-n100", "");
        let text = format!("[world]\nscene = \"{scene}\"\n{robot}\n{device}");
        parse(&text, &[]).robot.follow_ground
    };
    assert!(follows("courtyard", ""));
    assert!(follows("andabata-field", "[robot]\ntrajectory = { kind = \"line\", speed_m_s = 1 }"));
    assert!(!follows("room", ""));
    assert!(!follows("hall.obj", ""));
    assert!(!follows("courtyard", "[robot]\nfollow_ground = false"));
    let high = "[robot]\ntrajectory = { kind = \"still\", position_m = [0, 0, 2] }";
    assert!(!follows("courtyard", high));
    assert!(!follows(
        "courtyard",
        "[robot]\ntrajectory = { kind = \"feed\", listen = \"127.0.0.1:7000\" }"
    ));
}

/// A rig that is printed with every default is read back as the same rig. Checked with a device of each product.
#[test]
fn a_rig_with_every_default_written_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rig.toml");
    for profile in catalogue().profiles() {
        let mut text =
            format!("[world]\nscene = \"courtyard\"\n{}", device("it", &profile.name, ""));
        if profile.product.drives {
            text += "[robot.trajectory]\nkind = \"drive\"\nmodel = \"skid-steer\"\ny_icr_m = 0.45\nmax_speed_m_s = 1.0\n";
        }
        if profile.product.joint != JointRole::None {
            let motion = match profile.product.joint {
                JointRole::Commands => {
                    "{ kind = \"commanded\", max_rate_deg_s = 120.0, max_acceleration_deg_s2 = 400.0 }"
                }
                _ => "{ kind = \"constant-rate\", rate_deg_s = 90.0 }",
            };
            text = text.replace(
                "[[device]]\n",
                &format!("[[joint]]\nname = \"head\"\nmotion = {motion}\n[[device]]\nmount = {{ parent = \"head\" }}\n"),
            );
        }
        std::fs::write(&path, &text).unwrap();
        let complete = Rig::complete_text(Some(&path), &[], catalogue())
            .unwrap_or_else(|faults| panic!("{text}\n{faults}"));
        let [before, after] = [&text, &complete].map(|text| parse(text, &[]));
        assert_eq!(what_counts(&before), what_counts(&after), "{}:\n{complete}", profile.name);
        std::fs::write(&path, &complete).unwrap();
        let again = Rig::complete_text(Some(&path), &[], catalogue()).unwrap();
        assert_eq!(again, complete, "{}", profile.name);
    }
}

/// Text of a rig without the positions of its keys in the file.
fn what_counts(rig: &Rig) -> String {
    let devices = rig.devices.iter().map(|device| {
        format!(
            "{} {:?} {:?} {:?} {:?}\n",
            device.name, device.body_from_sensor, device.link, device.controls, device.settings
        )
    });
    let devices: String = devices.collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?}\n{devices}",
        rig.seed, rig.origin, rig.world.scene, rig.robot, rig.engine
    )
}

/// Data packets and GPS packets of a Hesai both leave from port 10000; this is not a conflict.
#[test]
fn a_hesai_may_send_from_its_own_port() {
    let udp = "{ udp = { to = \"127.0.0.1:2368\", from = \"127.0.0.2:10000\" } }";
    let text = SMALLEST
        .replace("velodyne-hdl64e-s1", "hesai-xt32")
        .replace("{ udp = { to = \"192.168.3.255:2368\" } }", udp);
    let rig = parse(&text, &[]);
    let udp = rig.devices[0].link.udp().expect("UDP");
    assert_eq!(udp.from, Some("127.0.0.2:10000".parse().unwrap()));
}
