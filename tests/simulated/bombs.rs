//! Small files that would take minutes or gigabytes if they were processed naively. Each is refused
//! with a message before the work is done.
//!
//! No test checks the time. The sizes are so large that quadratic time, or a check only after the
//! allocation, would be noticed.

use std::fmt::Write as _;
use std::path::Path;

use menura::config::rig::Rig;
use menura::config::rig::objects::{ObjectBody, ObjectConfig, ObjectShape};
use menura::config::rig::{RobotConfig, TrajectoryConfig};
use menura::devices::families::catalogue;
use menura::frames::{GeoOrigin, Geodetic};
use menura::world::loaders::{Memory, load_file};
use menura::world::moving::Bodies;
use menura::world::trajectory::files::parse_gpx;

const WORLD: &str = "[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n";
const DEVICE: &str = "[[device]]\nname = \"lidar\"\nprofile = \"velodyne-vlp16-3.0\"\n\
                      link = { udp = { to = \"127.0.0.1:2368\" } }\n";

/// Message with which the rig `text` is refused.
fn told(text: &str) -> String {
    let rig = Rig::parse("rig.toml", text, Path::new("/nowhere"), &[], catalogue());
    rig.expect_err("a bomb").to_string()
}

/// `count` copies of a text, in each of which `#` is replaced by the number of the copy, from 0.
fn many(count: usize, text: &str) -> String {
    let mut out = String::new();
    for number in 0..count {
        let _ = writeln!(out, "{}", text.replace('#', &number.to_string()));
    }
    out
}

#[test]
fn rigs_that_are_bombs_get_a_short_answer() {
    let fault = "[[fault]]\nname = \"f#\"\ndevice = \"lidar\"\nkind = \"drop\"";
    let object =
        "[[world.object]]\nname = \"o#\"\nbody = \"car\"\ntrajectory = { kind = \"still\" }";
    let response = "[[response]]\nname = \"r#\"\nto = \"s\"\nudp = \"127.0.0.1:1\"\ntext = \"x\"";
    let device = DEVICE.replace("\"lidar\"", "\"l#\"");
    let points = |point: &str, count| {
        let points = vec![point; count].join(", ");
        let way = format!("kind = \"waypoints\", speed_m_s = 1, points_m = [{points}]");
        format!("{}{DEVICE}", WORLD.replace("kind = \"still\"", &way))
    };
    let table: Vec<(String, &[&str])> = vec![
        (
            format!("{WORLD}{DEVICE}{}", many(400_000, "zz# = 1")),
            &[
                "error: unknown key `zz0`\n --> rig.toml:9:1",
                "= note: keys of [[device]]: gps_cable, corrections,",
                "error: 399950 more errors are not shown",
                "= help: fix the 50 errors above, then check again",
            ],
        ),
        (
            // Each key is compared with the known keys, and quoted.
            format!("{}{WORLD}{DEVICE}", many(1000, &format!("{}# = 1", "k".repeat(5000)))),
            &["error: unknown key `kkkk", "error: 950 more errors are not shown"],
        ),
        (
            format!("{} = 1\n{WORLD}{DEVICE}", "k".repeat(7_000_000)),
            &["error: unknown key `kkkk", "--> rig.toml:1:1\n", "not known here"],
        ),
        (
            format!("{WORLD}{}", many(50_000, &device)),
            &[
                "error: 50000 of [[device]] are too many",
                "allowed: at most 256",
                "limit from the rig format",
            ],
        ),
        (
            // All devices have the same name: comparing each one with all previous ones would take quadratic time.
            format!("{WORLD}{}", many(50_000, DEVICE)),
            &["error: 50000 of [[device]] are too many", "allowed: at most 256"],
        ),
        (
            format!("{WORLD}{DEVICE}{}", many(60_000, fault)),
            &["error: 60000 of [[fault]] are too many", "allowed: at most 1000"],
        ),
        (
            format!("{WORLD}{DEVICE}{}", many(50_000, object)),
            &["error: 50000 of [[world.object]] are too many", "allowed: at most 1000"],
        ),
        (
            format!("{WORLD}{DEVICE}{}", many(50_000, response)),
            &["error: 50000 of [[response]] are too many", "allowed: at most 1000"],
        ),
        (
            // Each packet has a mask of 32 bits, one for each stimulus.
            format!("{WORLD}{DEVICE}{}", many(33, "[[stimulus]]\nname = \"s#\"")),
            &["error: 33 of [[stimulus]] are too many", "allowed: at most 32"],
        ),
        (
            points("[1, 2]", 300_000),
            &[
                "error: this is not a path of waypoints",
                "this has 300000; allowed: 2 to 10000 points",
            ],
        ),
        (
            // All points are on one line, which each message would show.
            points("\"a string that is no point, and rather long\"", 10_000),
            &["error: `points_m[0]` must be an array", "9950 more errors are not shown"],
        ),
        (format!("a = {}\n{WORLD}{DEVICE}", "[".repeat(1_000_000)), &["max recursion depth"]),
        (format!("a = {}\n{WORLD}{DEVICE}", "{a=".repeat(1_000_000)), &["max recursion depth"]),
        (format!("{} = 1\n{WORLD}{DEVICE}", vec!["a"; 1_000_000].join(".")), &["recursion limit"]),
        (
            format!("{WORLD}{DEVICE}").replace("room", "courtyard").replace(
                "[robot]",
                "parameters = { grass_blades = 99999999999999999999, trees = 1e300 }\n[robot]",
            ),
            &["allowed: 0 to 100000000 blades", "`trees` must be a whole number"],
        ),
    ];
    for (text, expected) in table {
        let told = told(&text);
        for part in expected {
            assert!(told.contains(part), "no {part:?} in {}", &told[..told.len().min(3000)]);
        }
        assert!(told.len() < 200_000, "{} bytes: {}", told.len(), &told[..1000]);
    }
}

/// A file that is named many times is read only once.
#[test]
fn files_are_read_once_however_often_they_are_named() {
    // If every mention were read, 20,000 times 2 MB would be 40 GB.
    let triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m7\nf 1 2 3\n";
    let materials = many(50_000, "newmtl m#\nKd 0.25 0 0\n# a comment of some length");
    let files = Memory::default()
        .with("a.obj", format!("{}{triangle}", "mtllib a.mtl\n".repeat(20_000)))
        .with("a.mtl", materials);
    let scene = load_file(Path::new("a.obj"), 0, &files).unwrap();
    assert_eq!(scene.materials[0].reflectance, 0.25);
    // If every mention were read, 20,000 times 5 MB would be 100 GB.
    let buffer = r#"{ "byteLength": 36, "uri": "p.bin" }"#;
    let buffers = vec![buffer; 20_000].join(",");
    let gltf = format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "buffers": [{buffers}],
        "bufferViews": [{{ "buffer": 19999, "byteLength": 36 }}],
        "accessors": [{{ "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                         "min": [0, 0, 0], "max": [1, 1, 0] }}],
        "meshes": [{{ "primitives": [{{ "attributes": {{ "POSITION": 0 }} }}] }}],
        "nodes": [{{ "mesh": 0 }}], "scenes": [{{ "nodes": [0] }}] }}"#
    );
    let corners: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut data: Vec<u8> = corners.iter().flat_map(|c| c.to_le_bytes()).collect();
    data.resize(5_000_000, 0);
    let files = Memory::default().with("a.gltf", gltf).with("p.bin", data);
    let scene = load_file(Path::new("a.gltf"), 0, &files).unwrap();
    assert_eq!(scene.instanced_triangles(), 1);
}

/// Equal shapes are built only once, so many objects cost little more than one.
#[test]
fn equal_bodies_are_built_once() {
    let source = menura::config::toml::diagnostic::SourceFile::new("rig.toml", "", "");
    let place = menura::config::toml::diagnostic::Place::new(&source, 0..0);
    let geo = GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    let mut bodies = Bodies::default();
    for number in 0..1000 {
        let length_m = if number % 2 == 0 { 4.0 } else { 5.0 };
        let trajectory =
            TrajectoryConfig::Still { position_m: [f64::from(number), 0.0, 0.0], yaw_rad: 0.0 };
        let config = ObjectConfig {
            name: format!("o{number}"),
            body: ObjectBody::BuiltIn {
                shape: ObjectShape::Car,
                size_m: [length_m, 1.8, 1.5],
                reflectance: 0.5,
            },
            motion: RobotConfig::new(trajectory, false),
            body_place: place.clone(),
            trajectory_place: place.clone(),
        };
        let object = bodies.object(&config, &geo, None).unwrap();
        assert_eq!(object.name, config.name);
    }
    assert_eq!(bodies.loaded(), 2);
}

/// Short XML that expands to gigabytes, or in which every element repeats all namespace names.
#[test]
fn gpx_bombs_are_refused() {
    let geo = GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    let levels: String = (b'b'..=b'k')
        .map(|letter| {
            let (this, before) = (letter as char, (letter - 1) as char);
            format!("<!ENTITY {this} \"{}\">", format!("&{before};").repeat(10))
        })
        .collect();
    let laughs = format!("<!DOCTYPE gpx [<!ENTITY a \"ha\">{levels}]><gpx><name>&k;</name></gpx>");
    let long = format!(
        "<!DOCTYPE gpx [<!ENTITY a \"{}\">]><gpx><name>{}</name></gpx>",
        "a".repeat(100_000),
        "&a;".repeat(100_000)
    );
    let names = many(20_000, "xmlns:n#=\"u\"").replace('\n', " ");
    let spaces = format!("<gpx {names}>{}</gpx>", "<a/>".repeat(200_000));
    let deep = format!("<gpx>{}", "<a>".repeat(1_000_000));
    for (name, text) in [("laughs", laughs), ("long", long), ("spaces", spaces), ("deep", deep)] {
        let told = parse_gpx(&text, &geo).unwrap_err().to_string();
        let limits = ["not valid XML", "nest deeper than allowed: 64", "namespaces; allowed: 64"];
        let is_limit = limits.iter().any(|limit| told.contains(limit));
        assert!(is_limit && told.len() < 500, "{name}: {told}");
    }
}
