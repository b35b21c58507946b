//! Tests of the real binary: help, exit codes, output files.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{self, stderr, stdout};

fn menura() -> Command {
    let mut command = common::menura();
    command.env("COLUMNS", "100");
    command
}

fn output(arguments: &[&str]) -> Output {
    menura().args(arguments).output().expect("the binary runs")
}

/// Settings that any machine renders in time: one ray per pulse in an empty room.
const LIGHT: [&str; 6] = [
    "--set",
    "world.scene=room",
    "--set",
    "device.roof-lidar.settings.beam.shape=\"ray\"",
    "--set",
    "device.front-lidar.settings.beam.shape=\"ray\"",
];

/// Options that place the serial links of the default rig in `folder`: two simultaneous runs cannot use the same links.
fn own_links(folder: &Path) -> Vec<String> {
    let link = |device: &str| {
        let path = folder.join(device);
        ["--set".to_owned(), format!("device.{device}.link.pty=\"{}\"", path.display())]
    };
    ["front-scanner", "imu", "gnss"].into_iter().flat_map(link).collect()
}

#[test]
fn a_scene_is_drawn_and_what_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rods.png");
    let drawn = output(&[
        "scenes",
        "rods",
        "--set",
        "world.parameters.rods=5",
        "--from",
        "-0.7,-0.7,3",
        "--width",
        "32",
        "--plot",
        path.to_str().unwrap(),
    ]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    assert!(stdout(&drawn).is_empty() && stderr(&drawn).contains("drew rods to"));
    let picture = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let picture = png::Decoder::new(picture).read_info().unwrap();
    assert_eq!((picture.info().width, picture.info().height), (32, 20));
    assert!(stdout(&output(&["scenes", "rods"])).starts_with("rods\n"));
    for (arguments, said) in [
        (&["rodz"][..], "no built-in scene is called `rodz`"),
        (&["rodz", "--plot", "a.png"], "rodz"),
        (&["rods", "--plot", "a.svg"], "the file name of the picture must end in .png"),
        (&["rods", "--plot", "a.png", "--from", "1,2"], "three coordinates in metres"),
        (
            &["rods", "--plot", "a.png", "--from", "1,2,3", "--to", "1,2,3"],
            "--from and --to must differ",
        ),
        (&["--plot", "a.png"], "NAME|FILE"),
    ] {
        let refused = output(&[&["scenes"], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&refused).contains(said), "{arguments:?}: {}", stderr(&refused));
    }
}

#[test]
fn help_is_as_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    let bless = std::env::var_os("MENURA_BLESS").is_some_and(|value| value == "1");
    let verbs = [
        "", "run", "record", "check", "profiles", "inspect", "replay", "convert", "probe",
        "scenes", "twin", "validate", "doctor", "schema", "new", "fault", "join", "export",
        "bench", "test",
    ];
    for verb in verbs {
        let arguments: Vec<&str> = [verb, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let help = output(&arguments);
        assert!(help.status.success());
        let name = if verb.is_empty() { "menura" } else { verb };
        let path = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, stdout(&help)).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(stdout(&help), expected, "help of `{name}`; MENURA_BLESS=1 writes it anew");
    }
}

#[test]
fn wrong_input_is_exit_code_2_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for arguments in [
        &["run", "no-such-rig.toml"][..],
        &["check", "no-such-rig.toml"],
        &["run", "--set", "world.scene=courtyrad", "--duration", "1s"],
        &["run", "--duration", "0s"],
        &["record", "--duration", "1s", "--out", out, "--set", "device.nobody.name=x"],
        &["run", "--report", "/no/such/folder/report.json", "--duration", "1s"],
        &["profiles", "velodyne-hdl64"],
        &["inspect", "no-such-capture.pcap"],
        &["dance"],
    ] {
        let output = output(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error"), "{arguments:?}: {}", stderr(&output));
        assert!(!Path::new(out).exists(), "{arguments:?} started something");
    }
}

#[test]
fn a_link_that_cannot_be_opened_is_told_and_nothing_is_sent() {
    let arguments = ["run", "--duration", "1s", "--set"];
    let from = "device.roof-lidar.link.udp.from=\"203.0.113.7:0\"";
    let output = menura().args(arguments).arg(from).args(LIGHT).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("roof-lidar") && message.contains("203.0.113.7"), "{message}");
}

#[test]
fn a_run_reports_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let output = menura()
        .args(["run", "--duration", "400ms", "--seed", "5", "--report"])
        .arg(&report)
        .args(LIGHT)
        .args(own_links(folder.path()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("roof-lidar: 1041 packets"), "{}", stdout(&output));
    let text = std::fs::read_to_string(&report).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["seed"], 5);
    assert_eq!(report["scene"], "room");
    let device = &report["devices"][0];
    assert_eq!(device["packets"], 1041);
    // Beams that graze the room's floor or ceiling give no return.
    let points = device["points"].as_u64().unwrap();
    assert!((1041 * 384 * 9 / 10..1041 * 384).contains(&points), "{points}");
    assert_eq!(device["nominal_rate_hz"], 2600.0);
    assert_eq!(device["send_errors"], 0);
    assert!(device["lateness_us"]["max"].as_f64().unwrap() > 0.0);
    assert!(report["real_time_factor"].as_f64().unwrap() > 0.0);
}

#[test]
fn an_interrupt_ends_a_run_with_its_summary() {
    let robot = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    robot.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = format!("device.roof-lidar.link.udp.to={}", robot.local_addr().unwrap());
    let child = menura()
        .arg("run")
        .args(LIGHT)
        .args(own_links(folder.path()))
        .args(["--set", &to])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    robot.recv(&mut [0; 2000]).expect("it sends");
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(stdout(&output).contains("roof-lidar: "), "{}", stdout(&output));
}

#[test]
fn a_recording_can_be_inspected_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let recorded = menura()
        .args(["record", "--duration", "250ms", "--out", &path("out")])
        .args(LIGHT)
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let truth = std::fs::read_to_string(folder.path().join("out/truth.csv")).unwrap();
    assert!(truth.starts_with("time_s,x_m,y_m,z_m,qx,qy,qz,qw,"), "{truth}");
    assert!(truth.lines().count() >= 27, "100 Hz for 0.25 s and the header");
    let capture = path("out/roof-lidar.pcap");
    let drawn = output(&[
        "inspect",
        &capture,
        "--profile",
        "velodyne-hdl64e-s1",
        "--plot",
        &path("rotation.png"),
    ]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    assert!(stdout(&drawn).contains("packets         651"), "{}", stdout(&drawn));
    let png = std::fs::read(folder.path().join("rotation.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000);
}

#[test]
fn a_profiles_calibration_can_be_given_back_to_a_rig() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = folder.path().join("unit.yaml");
    let yaml = yaml.to_str().unwrap();
    let written = output(&["profiles", "velodyne-hdl64e-s2", "--calibration", yaml]);
    assert!(written.status.success(), "{}", stderr(&written));
    let set = format!("device.roof-lidar.settings.calibration={yaml}");
    let rig = folder.path().join("rig.toml");
    std::fs::write(&rig, menura::config::rig::Rig::default_text()).unwrap();
    let checked = output(&["check", rig.to_str().unwrap(), "--set", &set]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(stdout(&checked).contains("rig.toml: ok"), "{}", stdout(&checked));
}

#[test]
fn only_a_camera_has_a_left_camera() {
    let folder = tempfile::tempdir().unwrap();
    let (rig, out) = (folder.path().join("rig.toml"), folder.path().join("right.csv"));
    let (rig, out) = (rig.to_str().unwrap(), out.to_str().unwrap());
    for profile in ["velodyne-hdl64e-s2", "hesai-xt32"] {
        let device = |name: &str| format!("[[device]]\nname = {name:?}\nprofile = {profile:?}\n");
        let text = ["[world]\nscene = \"room\"\n", &device("left"), &device("right")].concat();
        std::fs::write(rig, text).unwrap();
        let of_right = ["profiles", "--rig", rig, "--device", "right", "--calibration", out];
        let refused = output(&[&of_right[..], &["--left", "left"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{profile}");
        let said = stderr(&refused);
        assert!(said.contains("--left requires two cameras, and `left` is not"), "{said}");
        assert!(!Path::new(out).exists(), "{profile}");
        let written = output(&of_right);
        assert!(written.status.success(), "{profile}: {}", stderr(&written));
        std::fs::remove_file(out).unwrap();
    }
}

#[test]
fn a_receiver_without_a_sky_is_warned_of_before_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let text = "seed = 1\n[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n\
                [[device]]\nname = \"gnss\"\nprofile = \"garmin-18x-lvc\"\n\
                mount = { translation_m = [0.0, 0.0, 3.0] }\nlink = { pty = \"PTY\" }\n";
    let pty = folder.path().join("gnss.tty");
    std::fs::write(&rig, text.replace("PTY", pty.to_str().unwrap())).unwrap();
    let rig = rig.to_str().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for arguments in [
        &["check", rig] as &[&str],
        &["run", rig, "--duration", "100ms"],
        &["record", rig, "--duration", "100ms", "--out", out],
    ] {
        let told = output(arguments);
        assert!(told.status.success(), "{}", stderr(&told));
        let said = stderr(&told);
        assert!(said.contains("warning: gnss: the scene hides the sky"), "{arguments:?}: {said}");
    }
    let open = output(&["check", rig, "--set", "world.scene=courtyard"]);
    assert!(!stderr(&open).contains("warning"), "{}", stderr(&open));
}

/// A host cannot separate the datagrams of two lidars at one port, unless their source addresses differ.
#[test]
fn check_reports_two_lidars_at_one_port() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let device = |name: &str, more: &str| {
        format!(
            "[[device]]\nname = \"{name}\"\nprofile = \"velodyne-vlp16-3.0\"\n\
             mount = {{ translation_m = [0, 0, 1] }}\nlink = {{ udp = {{ to = \"127.0.0.1:2368\"{more} }} }}\n"
        )
    };
    let checked = |more: [&str; 2]| {
        let head = "[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n";
        let text = [head, &device("left", more[0]), &device("right", more[1])].concat();
        std::fs::write(&rig, text).unwrap();
        let output = output(&["check", rig.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let same = checked(["", ""]);
    let line = "  warning: left and right send to 127.0.0.1:2368; give each another port in `to`, or a \
                source address of its own with `from`";
    assert!(same.lines().any(|l| l == line), "{same}");
    let apart = checked([", from = \"127.0.0.2:2368\"", ", from = \"127.0.0.3:2368\""]);
    let line =
        "  left and right send to 127.0.0.1:2368; hosts can distinguish them by source address";
    assert!(apart.lines().any(|l| l == line), "{apart}");
}

/// For an unknown profile, the message names the profiles that contain the same word.
#[test]
fn an_unknown_profile_leads_to_those_that_hold_the_word() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let told = |word: &str| {
        let refused = output(&["new", rig.to_str().unwrap(), "--device", word]);
        assert_eq!(refused.status.code(), Some(2), "{word}");
        stderr(&refused)
    };
    assert!(told("vlp16").contains("did you mean `velodyne-vlp16-3.0`, a spinning lidar?"));
    assert!(told("VLP-16").contains("did you mean `velodyne-vlp16-3.0`, a spinning lidar?"));
    let several = told("phone");
    assert!(
        several.contains(
            "profiles with this in their names: a receiver: phone-gnss; an IMU: phone-imu"
        ),
        "{several}"
    );
    let none = told("sonar");
    assert!(none.contains("allowed: ") && none.contains("a drive base: "), "{none}");
}

/// `check` reports the size and orientation of a scene, the robot's path, and probable mistakes.
#[test]
fn check_tells_the_scene_and_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    // A floor of 60 m by 60 m in millimetres, y up, with a crate around the lidar and unusual materials.
    let mut mesh = "mtllib gone.mtl\nv -3e4 0 -3e4\nv 3e4 0 -3e4\nv 3e4 0 3e4\nv -3e4 0 3e4\n\
                    usemtl a\nf 1 2 3 4\nusemtl b\n"
        .to_string();
    for corner in 0..8 {
        let side = |bit| if corner & bit == 0 { -400 } else { 400 };
        mesh += &format!("v {} {} {}\n", side(1), 1000 + side(2), side(4));
    }
    for face in ["5 6 8 7", "9 10 12 11", "5 6 10 9", "7 8 12 11", "5 7 11 9", "6 8 12 10"] {
        mesh += &format!("f {face}\n");
    }
    std::fs::write(folder.path().join("hall.obj"), mesh).unwrap();
    let text = "[robot]\ntrajectory = { kind = \"waypoints\", speed_m_s = 2.0, \
                points_m = [[0, 0], [20, 0], [40, 0]] }\n[[device]]\nname = \"lidar\"\n\
                profile = \"velodyne-vlp16-3.0\"\nmount = { translation_m = [0, 0, 1] }\n\
                link = { udp = { to = \"127.0.0.1:2368\" } }\n[world]\nscene = \"hall.obj\"\n";
    std::fs::write(&rig, text).unwrap();
    let as_it_is = output(&["check", rig.to_str().unwrap()]);
    assert!(as_it_is.status.success(), "{}", stderr(&as_it_is));
    let out = stdout(&as_it_is);
    for line in [
        "  scene: 14 triangles in 1 instances, 14 of them stored",
        "  scene extents: x -30000.00 to 30000.00 m, y 0.00 to 1400.00 m, z -30000.00 to 30000.00 \
         m; up axis z, assumed",
        "  warning: the scene is 60000 m wide and 60000 m high; if its file is in millimetres, \
         write `scale = 0.001` in [world]",
        "  warning: the scene is flat along y; if its file is y up, write `up_axis = \"y\"` in \
         [world]",
    ] {
        assert!(out.lines().any(|l| l == line), "no {line:?} in\n{out}");
    }
    let warned = stderr(&as_it_is);
    assert!(warned.contains("hall.obj:1: there is no file `"), "{warned}");
    assert_eq!(warned.matches("no file defines the material").count(), 1, "{warned}");
    assert!(warned.contains("(the first of 2)"), "{warned}");

    std::fs::write(&rig, format!("{text}up_axis = \"y\"\nscale = 0.001\n")).unwrap();
    let placed = output(&["check", rig.to_str().unwrap()]);
    assert!(placed.status.success(), "{}", stderr(&placed));
    let out = stdout(&placed);
    for line in [
        "  scene extents: x -30.00 to 30.00 m, y -30.00 to 30.00 m, z 0.00 to 1.40 m; up axis y, \
         from the rig",
        "  robot's path: x 0.00 to 40.00 m, y 0.00 to 0.00 m, z 0.00 to 0.00 m",
        "  warning: 30 % of the robot's path has no ground of the scene under it",
        "  warning: inside an object at the start, with surfaces on all sides within 1 m: lidar",
    ] {
        assert!(out.lines().any(|l| l == line), "no {line:?} in\n{out}");
    }
    let robot = out.lines().find(|l| l.starts_with("  robot: ")).unwrap();
    assert!(robot.starts_with("  robot: waypoints, 40.0 m, 2"), "{robot}");
    assert!(robot.ends_with("; stops at the end and stays there"), "{robot}");
}
