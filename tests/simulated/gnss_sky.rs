//! Tests of a GNSS receiver with a hidden sky: while it passes a wall, beside a tree, in a room, and as it leaves a
//! roof.

use crate::common::sky::{Sides, is_hidden};
use menura::devices::families::catalogue;
use std::path::Path;

use menura::config::rig::{Override, Rig};
use menura::devices::Output;
use menura::engine::sky::{self, HiddenSky};
use menura::engine::{LiveWorld, build_devices, load_scene};
use menura::sensors::Outcome;
use menura::sensors::gnss::SkyView;
use menura::sensors::lidar::Scratch;
use menura::time::{Epoch, SimTime};
use menura::wire::framer::Framer;
use menura::wire::gnss_stream::{self, GnssStream};
use menura::wire::ubx::nav::{NavDop, NavPvt, NavSat};
use menura::wire::ubx::{Frame, Payload};

const SECOND_NS: u64 = 1_000_000_000;
/// Height of the antenna above the ground, metres.
const ANTENNA_M: f64 = 1.0;

/// A wall south of the path, from 20 m to 40 m, 30 m high, at a distance of 3 m.
const WALL: &str = "\
v 20 -3 0\nv 40 -3 0\nv 40 -3 30\nv 20 -3 30\n\
v 20 -4 0\nv 40 -4 0\nv 40 -4 30\nv 20 -4 30\n\
f 1 2 3 4\nf 5 6 7 8\nf 1 5 8 4\nf 2 6 7 3\nf 4 3 7 8\n";
/// The wall as a box: smallest and largest x, y, z, metres.
const WALL_M: Sides = [[20.0, 40.0], [-4.0, -3.0], [0.0, 30.0]];
/// Half-angle of the bundle of rays to a satellite, degrees.
const SPREAD_DEG: f64 = 2.0;

fn rig(scene: &str, robot: &str, folder: &Path, overrides: &[Override]) -> Rig {
    let text = format!(
        r#"
seed = 9
start_utc = 2026-11-21T09:27:25Z
origin = {{ latitude_deg = 47.285, longitude_deg = 8.565, altitude_m = 547.6 }}
[world]
{scene}
[robot]
{robot}
[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
mount = {{ translation_m = [0.0, 0.0, {ANTENNA_M}] }}
link = {{ pty = "gnss" }}
settings = {{ rate_hz = 1, baud_rate = 921600, sentences = [], messages = ["NAV-PVT", "NAV-DOP", "NAV-SAT"] }}
"#
    );
    Rig::parse("test rig", &text, folder, overrides, catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

/// Output of the receiver in an epoch, with its ground truth.
struct Heard {
    view: SkyView,
    pvt: NavPvt,
    dop: NavDop,
    sat: NavSat,
}

impl Heard {
    fn hdop(&self) -> f64 {
        f64::from(self.dop.h_dop_centi) / 100.0
    }
}

/// Drives for `seconds`; reads the receiver's output once per second.
fn drive(rig: &Rig, seconds: u64) -> Vec<Heard> {
    let world = LiveWorld::load(rig).unwrap_or_else(|error| panic!("{error}"));
    let epoch = Epoch::new(rig.start_utc.expect("a stated start"));
    let mut gnss = build_devices(rig, epoch).remove(0);
    let around = world.surroundings(&rig.devices[0].body_from_sensor);
    let (mut views, mut bytes) = (Vec::new(), Vec::new());
    let mut scratch = Scratch::default();
    for second in 1..=seconds {
        let now = SimTime(second * SECOND_NS);
        while let Some(request) = gnss.device.poll_request(now) {
            let measurement = gnss.sensor.measure(request, &around, &mut scratch);
            if let Outcome::Sky(view) = &measurement.outcome {
                views.push((**view).clone());
            }
            gnss.device.handle_measurement(&measurement);
        }
        gnss.device.advance(now);
        while let Some(transmit) = gnss.device.poll_transmit() {
            if let Output::Bytes(sent) = transmit.output {
                bytes.extend(sent);
            }
        }
    }
    let frames = Framer::new(GnssStream).frames(&bytes).into_iter();
    let frames: Vec<Frame> = frames
        .filter_map(|frame| match frame {
            gnss_stream::Frame::Ubx(frame) => Some(frame),
            _ => None,
        })
        .collect();
    fn all<T: Payload>(frames: &[Frame]) -> impl Iterator<Item = T> {
        frames.iter().filter(|f| f.id == T::ID).map(|f| T::parse(&f.payload).unwrap())
    }
    let said = all::<NavPvt>(&frames).zip(all::<NavDop>(&frames)).zip(all::<NavSat>(&frames));
    let heard: Vec<_> = views
        .into_iter()
        .zip(said)
        .map(|(view, ((pvt, dop), sat))| Heard { view, pvt, dop, sat })
        .collect();
    assert_eq!(heard.len() as u64, seconds, "a message of each kind a second");
    heard
}

/// Whether the wall hides a satellite from `x_m` on the path; `None` at its edges.
fn is_behind_the_wall(x_m: f64, elevation_rad: f64, azimuth_rad: f64) -> Option<bool> {
    let spread_rad = (SPREAD_DEG + 0.5).to_radians();
    is_hidden(&WALL_M, [x_m, 0.0, ANTENNA_M], [elevation_rad, azimuth_rad], spread_rad)
}

#[test]
fn a_wall_hides_satellites_where_it_stands_and_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wall.obj"), WALL).unwrap();
    let way = "trajectory = { kind = \"line\", start_m = [0.0, 0.0, 0.0], speed_m_s = 1.5 }";
    let rig = rig("scene = \"wall.obj\"", way, folder.path(), &[]);
    let heard = drive(&rig, 60);
    let mut told = [0; 2];
    for (second, heard) in heard.iter().enumerate() {
        let x_m = 1.5 * second as f64;
        for seen in &heard.view.satellites {
            if let Some(is_hidden) = is_behind_the_wall(x_m, seen.elevation_rad, seen.azimuth_rad) {
                told[usize::from(is_hidden)] += 1;
                let expected = if is_hidden { 0.0 } else { 1.0 };
                assert_eq!(seen.open_share, expected, "second {second}: {seen:?}");
            }
        }
        // In the receiver's output, a hidden satellite is not used and has no signal.
        for said in &heard.sat.satellites {
            let elevation = f64::from(said.elevation_deg).to_radians();
            let azimuth = f64::from(said.azimuth_deg).to_radians();
            if second > 5 && is_behind_the_wall(x_m, elevation, azimuth) == Some(true) {
                assert_eq!((said.cno_dbhz, said.flags & 8), (0, 0), "second {second}: {said:?}");
            }
        }
    }
    assert!(told[0] > 500 && told[1] > 100, "{told:?}");
    // Before `heard[10]`, the receiver is still acquiring satellites.
    let (before, beside, after) = (&heard[10], &heard[20], &heard[55]);
    assert!(f64::from(beside.pvt.num_sv) < 0.8 * f64::from(before.pvt.num_sv));
    assert!(beside.hdop() > 1.3 * before.hdop(), "{} {}", before.hdop(), beside.hdop());
    assert!(beside.pvt.h_acc_mm > before.pvt.h_acc_mm);
    assert!((after.hdop() / before.hdop() - 1.0).abs() < 0.1, "{}", after.hdop());
    assert_eq!(after.pvt.fix_type, 3);
}

#[test]
fn a_tree_dims_the_sky_where_it_stands() {
    let scene = "scene = \"courtyard\"\nparameters = { grass_blades = 0, trees = 20 }";
    let still = |x: f64, y: f64| {
        format!(
            "trajectory = {{ kind = \"still\", position_m = [{x}, {y}, 0.0] }}\nfollow_ground = true"
        )
    };
    let at = |place: [f64; 2], overrides: &[Override]| {
        rig(scene, &still(place[0], place[1]), Path::new("."), overrides)
    };
    let loaded = load_scene(&at([0.0, 0.0], &[])).unwrap_or_else(|error| panic!("{error}"));
    let tree = loaded
        .scene
        .instances
        .iter()
        .find(|instance| loaded.scene.meshes[instance.mesh as usize].name == "tree")
        .expect("a courtyard has trees");
    let trunk = tree.world_from_mesh.translation;
    let beside = [trunk.x + 1.5, trunk.y];
    let bare: Override = "world.parameters.trees=0".parse().unwrap();
    // A receiver that requires strong signals loses satellites that a ZED-F9P keeps.
    let wants: Override = "device.gnss.settings.sky.min_cno_dbhz=36".parse().unwrap();
    let with = drive(&at(beside, std::slice::from_ref(&wants)), 10).pop().unwrap();
    let without = drive(&at(beside, &[wants, bare]), 10).pop().unwrap();
    let share = |heard: &Heard| {
        let shares = heard.view.satellites.iter().map(|seen| seen.open_share);
        shares.sum::<f64>() / heard.view.satellites.len() as f64
    };
    assert!(share(&with) < share(&without) - 0.1, "{} {}", share(&with), share(&without));
    // Leaves let some of the rays through, so satellites are attenuated but not lost.
    let dimmed = with.view.satellites.iter().filter(|s| s.open_share > 0.0 && s.open_share < 1.0);
    assert!(dimmed.count() >= 3);
    let signal = |heard: &Heard| -> u32 {
        heard.sat.satellites.iter().map(|said| u32::from(said.cno_dbhz)).sum()
    };
    assert!(signal(&with) < signal(&without));
    assert!(with.pvt.num_sv + 5 < without.pvt.num_sv);
    assert!(with.hdop() > 1.1 * without.hdop(), "{} {}", with.hdop(), without.hdop());
}

fn hidden(rig: &Rig) -> Vec<HiddenSky> {
    let world = LiveWorld::load(rig).unwrap_or_else(|error| panic!("{error}"));
    sky::hidden(rig, &world)
}

/// Examples must work without changes: their receivers get a fix.
#[test]
fn the_examples_receivers_have_a_sky() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let light: [Override; 3] = ["grass_blades=1000", "trees=10", "tree_triangles=1000"]
        .map(|value| format!("world.parameters.{value}").parse().expect("an override"));
    let mut receivers = 0;
    for file in ["art.toml", "full-bench.toml", "georeferenced.toml", "tunnel.toml"] {
        let rig = Rig::load(&examples.join(file), &light, catalogue())
            .unwrap_or_else(|faults| panic!("{file}: {faults}"));
        assert!(sky::is_asked_for(&rig), "{file} has no receiver");
        receivers += 1;
        assert_eq!(hidden(&rig), [], "{file}");
    }
    assert_eq!(receivers, 4);
}

/// The example `art.toml` in a room, with a lidar that waits for the PPS of its GNSS receiver.
#[test]
fn a_room_hides_the_sky_and_its_consequence_is_named() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/art.toml");
    let changes: [Override; 3] =
        ["world.scene=room", "world.parameters={}", "device.lidar.gps_cable=gnss"]
            .map(|change| change.parse().expect("an override"));
    let rig = Rig::load(&example, &changes, catalogue()).unwrap_or_else(|f| panic!("{f}"));
    let found = hidden(&rig);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((found.receiver.as_str(), found.fix_at_s), ("gnss", None));
    assert_eq!(found.at_start.received, 0);
    assert!(found.at_start.above_mask > 20, "{found:?}");
    assert_eq!(found.feeds, ["lidar"]);
    let text = found.to_string();
    assert!(text.contains("no fix in the first minute"), "{text}");
    assert!(text.contains("lidar, with gps_cable = \"gnss\", does not set its clock"), "{text}");
}

/// If the robot leaves a roof, the warning states the time of the first fix. The receiver has its first fix at about
/// this time.
#[test]
fn a_roof_is_left_when_the_receiver_has_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let roof = "v -300 -300 3\nv 30 -300 3\nv 30 300 3\nv -300 300 3\nf 1 2 3 4\n";
    std::fs::write(folder.path().join("roof.obj"), roof).unwrap();
    let robot = |speed: f64| {
        format!(
            "trajectory = {{ kind = \"line\", start_m = [0.0, 0.0, 0.0], speed_m_s = {speed} }}"
        )
    };
    let under = rig("scene = \"roof.obj\"", &robot(1.0), folder.path(), &[]);
    let found = hidden(&under);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let fix_at_s = found.fix_at_s.expect("the roof ends after 30 m");
    assert!((15..=31).contains(&fix_at_s), "{found:?}");
    let heard = drive(&under, 60);
    let first = heard.iter().position(|heard| heard.pvt.fix_type == 3).unwrap() as u64 + 1;
    assert!(first.abs_diff(fix_at_s) <= 4, "{first} {fix_at_s}");
    // The robot leaves the roof quickly: no warning.
    let out = rig("scene = \"roof.obj\"", &robot(10.0), folder.path(), &[]);
    assert_eq!(hidden(&out), []);
}
