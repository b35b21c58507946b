//! Tests of moving objects, and of a lidar that moves past objects: their apparent lengths in a scan (Elmquist et al.
//! 2021, figure 5), compared with the geometry of circles and boxes.

use std::f64::consts::TAU;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::profile::lidar::{BeamSettings, NoiseSettings};
use menura::engine::LiveWorld;
use menura::engine::record::record;
use menura::frames::Transform;
use menura::sensors::lidar::{Lidar, Scratch};
use menura::sensors::noise::NoiseSource;
use menura::sensors::pattern::LaserGeometry;
use menura::sensors::receiver::{EchoSelection, ReceiverSetting};
use menura::sensors::{
    FiringSlot, MeasurementRequest, Outcome, RotorMotion, Sensor, Subject, Sweep,
};
use menura::time::SimTime;
use menura::world::trajectory::files::parse_csv;

use crate::common;

/// Duration of a clockwise rotation, seconds.
const TURN_S: f64 = 0.1;
const FIRINGS: u32 = 4000;
const SENSOR_HEIGHT_M: f64 = 1.0;

/// A world with a distant room, the robot's motion, and `objects`.
fn scenario(trajectory: &str, objects: &str) -> LiveWorld {
    let text = format!(
        "[world]\nscene = \"room\"\nparameters = {{ size_m = [900.0, 900.0, 50.0] }}\n{objects}\n\
         [robot]\ntrajectory = {trajectory}\n[[device]]\nname = \"a\"\n\
         profile = \"velodyne-hdl64e-s2\"\nlink = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n"
    );
    common::world(&common::rig(&text, &[]))
}

/// Firings of one horizontal laser in its first rotation: time (s), azimuth (rad, counterclockwise from forward) and
/// range (m, infinite beyond 100 m).
fn turn(world: &LiveWorld) -> Vec<(f64, f64, f64)> {
    let beam = BeamSettings {
        signal_cutoff_m: 0.75,
        min_range_m: 0.5,
        max_range_m: 100.0,
        ..BeamSettings::default()
    };
    let noise = NoiseSettings::default();
    let lasers = vec![LaserGeometry::default()];
    let seed = NoiseSource::new(0, "a");
    let lidar = Lidar::new(lasers, &beam, &noise, seed);
    let step_ns = TURN_S * 1e9 / f64::from(FIRINGS);
    let firings: Arc<[FiringSlot]> = (0..FIRINGS)
        .map(|k| FiringSlot { offset_ns: (f64::from(k) * step_ns).round() as u32, laser: 0 })
        .collect();
    let sweep = Sweep {
        number: 0,
        rotor: RotorMotion::even(0.0, TAU / TURN_S),
        selection: EchoSelection::First,
        receiver: ReceiverSetting::default(),
        firings: firings.clone(),
    };
    let request =
        MeasurementRequest { index: 0, start: SimTime::ZERO, subject: Subject::Sweep(sweep) };
    let mount = Transform::from_rpy(glam::DVec3::Z * SENSOR_HEIGHT_M, 0.0, 0.0, 0.0);
    let measured = lidar.measure(request, &world.surroundings(&mount), &mut Scratch::default());
    let Outcome::Returns(returns) = &measured.outcome else { panic!("no returns") };
    firings
        .iter()
        .zip(returns)
        .map(|(firing, returns)| {
            let t = f64::from(firing.offset_ns) * 1e-9;
            let range = returns.first.map_or(f64::INFINITY, |r| f64::from(r.range_m));
            (t, -TAU * t / TURN_S, range)
        })
        .collect()
}

/// Apparent length along x of an object, if all points are assumed to be measured at once: the
/// distance of the outermost points for which `is_part` returns true.
fn apparent_length(points: &[(f64, f64, f64)], is_part: impl Fn(f64, f64) -> bool) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &(_, azimuth, range) in points.iter().filter(|p| p.2.is_finite()) {
        let (sin, cos) = libm::sincos(azimuth);
        let (x, y) = (range * cos, range * sin);
        if is_part(x, y) {
            (low, high) = (low.min(x), high.max(x));
        }
    }
    high - low
}

/// Range from the origin to a circle, in a direction.
fn to_circle(centre: [f64; 2], radius: f64, azimuth: f64) -> f64 {
    let (sin, cos) = libm::sincos(azimuth);
    let along = centre[0] * cos + centre[1] * sin;
    let aside = centre[0] * sin - centre[1] * cos;
    let root = radius * radius - aside * aside;
    if along > 0.0 && root > 0.0 { along - root.sqrt() } else { f64::INFINITY }
}

/// Range from the origin to a box with sides along the axes, in a direction.
fn to_box(centre: [f64; 2], size: [f64; 2], azimuth: f64) -> f64 {
    let (sin, cos) = libm::sincos(azimuth);
    let (mut near, mut far) = (f64::NEG_INFINITY, f64::INFINITY);
    for (c, s, d) in [(centre[0], size[0], cos), (centre[1], size[1], sin)] {
        let (a, b) = ((c - s / 2.0) / d, (c + s / 2.0) / d);
        (near, far) = (near.max(a.min(b)), far.min(a.max(b)));
    }
    if near <= far && near > 0.0 { near } else { f64::INFINITY }
}

/// Compares the range of every firing with the geometry; a few may graze an edge.
fn compare(points: &[(f64, f64, f64)], expected: impl Fn(f64, f64) -> f64) {
    let mut grazing = 0;
    for &(t, azimuth, range) in points {
        let truth = expected(t, azimuth);
        let close = range == truth || (range - truth).abs() < 4e-3;
        let is_edge = || {
            let beside = [-2e-3, 2e-3].map(|off| expected(t, azimuth + off));
            beside
                .iter()
                .any(|b| b.is_infinite() != truth.is_infinite() || (b - truth).abs() > 0.05)
        };
        if !close {
            assert!(is_edge(), "at {t} s: {range} m instead of {truth} m");
            grazing += 1;
        }
    }
    assert!(grazing < points.len() / 50, "{grazing} of {} at edges", points.len());
}

const ROW_X_M: [f64; 3] = [-3.0, 0.0, 3.0];
const ROW_Y_M: f64 = 5.0;

/// Cylinders with a diameter of 1 m and gaps of 2 m, on both sides.
fn cylinders() -> String {
    let mut text = String::new();
    for (side, y) in [("left", ROW_Y_M), ("right", -ROW_Y_M)] {
        for (k, x) in ROW_X_M.iter().enumerate() {
            text.push_str(&format!(
                "[[world.object]]\nname = \"{side}-{k}\"\nbody = \"cylinder\"\n\
                 size_m = [1.0, 1.0, 3.0]\n\
                 trajectory = {{ kind = \"still\", position_m = [{x}, {y}, 0.0] }}\n"
            ));
        }
    }
    text
}

#[test]
fn a_lidar_at_20_m_s_stretches_cylinders_on_its_right_and_shrinks_those_on_its_left() {
    let scan = |speed_m_s: f64| {
        let line =
            format!("{{ kind = \"line\", start_m = [0.0, 0.0, 0.0], speed_m_s = {speed_m_s} }}");
        let points = turn(&scenario(&line, &cylinders()));
        compare(&points, |t, azimuth| {
            let all = [ROW_Y_M, -ROW_Y_M].into_iter().flat_map(|y| ROW_X_M.map(|x| [x, y]));
            let ranges = all.map(|[x, y]| to_circle([x - speed_m_s * t, y], 0.5, azimuth));
            ranges.fold(f64::INFINITY, f64::min)
        });
        points
    };
    let (still, fast) = (scan(0.001), scan(20.0));
    let mut seen = Vec::new();
    for side in [1.0, -1.0] {
        // Travel of the robot until the beam points sideways: after a quarter of a rotation on the right, 0.5 m; after
        // three quarters on the left, 1.5 m.
        let travelled = if side < 0.0 { 0.5 } else { 1.5 };
        let near = |x0: f64| {
            move |x: f64, y: f64| (x - x0).abs() < 1.2 && (y - side * ROW_Y_M).abs() < 0.6
        };
        let standing = apparent_length(&still, near(0.0));
        let moving = apparent_length(&fast, near(-travelled));
        // Time that the beam needs for the cylinder, as seen from the static lidar.
        let visible: Vec<f64> = still
            .iter()
            .filter(|&&(_, azimuth, range)| {
                let (sin, cos) = libm::sincos(azimuth);
                range.is_finite() && near(0.0)(range * cos, range * sin)
            })
            .map(|p| p.0)
            .collect();
        let sweep_s = visible[visible.len() - 1] - visible[0];
        let drift = 20.0 * sweep_s;
        seen.push((moving - standing, drift));
        // At a distance of 5 m, 0.995 m of a cylinder are visible, minus up to two azimuth steps.
        assert!((standing - 0.98).abs() < 0.02, "{standing}");
    }
    let [(left, left_drift), (right, right_drift)] = seen[..] else { panic!() };
    // To first order, the change is the speed times the duration of the sweep. The sweep itself
    // becomes longer or shorter by a few per cent, and the azimuth steps are 8 mm there.
    assert!((right - right_drift).abs() < 0.3 * right_drift, "right {right} for {right_drift}");
    assert!((left + left_drift).abs() < 0.3 * left_drift, "left {left} for {left_drift}");
}

#[test]
fn a_car_that_passes_a_still_lidar_is_lengthened_with_the_beam_and_shortened_against_it() {
    let size = [4.5, 1.8];
    let mut lengths = Vec::new();
    // On the left, the beam moves forward; it points at the car's middle after three quarters of the rotation.
    for (yaw_deg, direction) in [(0.0, 1.0), (180.0, -1.0)] {
        let start_x = -direction * 20.0 * 0.075;
        let object = format!(
            "[[world.object]]\nname = \"car\"\nbody = \"box\"\nsize_m = [4.5, 1.8, 1.5]\n\
             trajectory = {{ kind = \"line\", start_m = [{start_x}, 6.0, 0.0], \
             yaw_deg = {yaw_deg}, speed_m_s = 20.0 }}\n"
        );
        let points = turn(&scenario("{ kind = \"still\" }", &object));
        let at = |t: f64| [start_x + direction * 20.0 * t, 6.0];
        compare(&points, |t, azimuth| to_box(at(t), size, azimuth));
        lengths.push(apparent_length(&points, |_, y| (y - 6.0 + 0.9).abs() < 0.05));
        // The apparent length of a static car is its true length.
        let still: Vec<_> = points
            .iter()
            .map(|&(t, azimuth, _)| (t, azimuth, to_box([0.0, 6.0], size, azimuth)))
            .collect();
        let length = apparent_length(&still, |_, y| (y - 5.1).abs() < 0.05);
        assert!((length - 4.5).abs() < 0.03, "{length}");
    }
    let [with, against] = lengths[..] else { panic!() };
    // The beam moves along the car's side, at a distance of d = 5.1 m. At t = 0 it points at the middle. It reaches an
    // end of the side when `d tan(omega t) = L / 2 + v t`.
    let expected = |v: f64| {
        let mut half = 2.25;
        for _ in 0..50 {
            half = 2.25 + v * libm::atan(half / 5.1) / (TAU / TURN_S);
        }
        2.0 * half
    };
    assert!((with - expected(20.0)).abs() < 0.03, "{with} for {}", expected(20.0));
    assert!((against - expected(-20.0)).abs() < 0.03, "{against} for {}", expected(-20.0));
    assert!(with > 4.75 && against < 4.3, "{with} {against}");
}

const RIG: &str = r#"
seed = 5
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "courtyard"
parameters = { grass_blades = 20000, trees = 4, tree_triangles = 2000 }

[[world.object]]
name = "car"
body = "car"
trajectory = { kind = "line", start_m = [14.0, 3.0, 0.0], yaw_deg = 80.0, speed_m_s = 20.0 }
follow_ground = true

[[world.object]]
name = "walker"
body = "person"
trajectory = { kind = "circle", center_m = [18.0, 0.0, 0.0], radius_m = 2.0, speed_m_s = 1.5 }
follow_ground = true

[robot]
trajectory = { kind = "circle", radius_m = 20.0, speed_m_s = 5.0 }
follow_ground = true

[[device]]
name = "lidar"
profile = "velodyne-hdl64e-s3"
mount = { translation_m = [0.0, 0.0, 2.0], roll_pitch_yaw_deg = [0.0, 0.0, 0.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { noise = { range_std_m = 0.02 } }
"#;

fn recorded(sets: &[(&str, &str)], folder: &Path) -> Vec<u8> {
    let rig = common::rig(RIG, sets);
    let world = common::world(&rig);
    let stop = AtomicBool::new(false);
    record(&rig, &world, Duration::from_millis(100), None, folder, &stop, |_| {}).unwrap();
    std::fs::read(folder.join("lidar.pcap")).unwrap()
}

#[test]
fn bytes_with_moving_objects_do_not_depend_on_the_workers() {
    let of = |workers: &str, folder: &Path| recorded(&[("engine.workers", workers)], folder);
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let one = of("1", folders[0].path());
    assert!(one == of("2", folders[1].path()), "two workers give other bytes than one");
    assert!(one == of("4", folders[2].path()), "four workers give other bytes than one");
    let without =
        [("world.object.car.trajectory", "{ kind = \"still\", position_m = [0.0, 90.0, 0.0] }")];
    assert!(one != recorded(&without, folders[1].path()), "the car is not seen");
}

#[test]
fn the_truth_of_every_object_is_written_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&[], folder.path());
    for name in ["car", "walker"] {
        let text =
            std::fs::read_to_string(folder.path().join(format!("truth-{name}.csv"))).unwrap();
        let poses = parse_csv(&text).unwrap();
        assert!(poses.len() >= 11, "{name}: {} rows", poses.len());
        let way = poses[0].position_m.distance(poses[10].position_m);
        let expected = if name == "car" { 2.0 } else { 0.15 };
        assert!((way - expected).abs() < 0.03, "{name}: {way} m in 0.1 s");
    }
}

#[test]
fn the_example_is_checked_and_shows_its_objects() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/passing-cylinders.toml");
    let output = common::menura().arg("check").arg(&example).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("car: line") && text.contains("walker: waypoints"), "{text}");
}

#[test]
fn a_mesh_from_a_file_moves_as_a_built_in_body_does() {
    let folder = tempfile::tempdir().unwrap();
    // A box of 2 x 1 x 1.5 m with its length along y, in decimetres, centred on the origin.
    let mut obj = String::new();
    for z in [-7.5, 7.5] {
        for [x, y] in [[-5, -10], [5, -10], [5, 10], [-5, 10]] {
            obj.push_str(&format!("v {x} {y} {z}\n"));
        }
    }
    obj.push_str("f 1 2 3 4\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n");
    let path = folder.path().join("box.obj");
    std::fs::write(&path, obj).unwrap();
    let motion = "trajectory = { kind = \"line\", start_m = [-2.0, 6.0, 0.0], speed_m_s = 20.0 }";
    let built_in = format!(
        "[[world.object]]\nname = \"a\"\nbody = \"box\"\nsize_m = [2.0, 1.0, 1.5]\n{motion}\n"
    );
    let mesh = format!(
        "[[world.object]]\nname = \"a\"\nbody = {:?}\nscale = 0.1\nmesh_pose = {{ translation_m = \
         [0.0, 0.0, 0.75], roll_pitch_yaw_deg = [0.0, 0.0, -90.0] }}\n{motion}\n",
        path.display().to_string()
    );
    let [a, b] = [built_in, mesh].map(|o| turn(&scenario("{ kind = \"still\" }", &o)));
    let seen = a.iter().filter(|p| p.2.is_finite()).count();
    assert!(seen > 100, "{seen}");
    for (a, b) in a.iter().zip(&b) {
        assert!(a.2 == b.2 || (a.2 - b.2).abs() < 1e-4, "{a:?} {b:?}");
    }
}

/// Pulses in all directions in one call, unlike in any packet, hit an object in the same way as
/// single pulses.
#[test]
fn what_is_cast_together_does_not_matter() {
    use menura::world::raycast::{Hit, Pulse, Stencil};
    let object = "[[world.object]]\nname = \"car\"\nbody = \"car\"\n\
                  trajectory = { kind = \"circle\", radius_m = 4.0, speed_m_s = 9.0 }\n";
    let world = scenario("{ kind = \"still\" }", object);
    let pulses: Vec<Pulse> = (0..720)
        .map(|k| {
            let (sin, cos) = libm::sincos(f64::from(k) * TAU / 720.0);
            let direction = glam::DVec3::new(cos, sin, 0.0);
            Pulse {
                origin: glam::DVec3::Z,
                direction,
                half_axis_u: direction.any_orthonormal_vector() * 1e-3,
                half_axis_v: glam::DVec3::Z * 1e-3,
                start_m: 0.0,
                max_range_m: 100.0,
            }
        })
        .collect();
    // Firing times some milliseconds apart, and not in order.
    let fired: Vec<SimTime> = (0..720_u64).map(|k| SimTime(k * 7 % 720 * 1_300_000)).collect();
    let stencil = Stencil::single();
    let mut together = vec![Hit::MISS; pulses.len()];
    world.caster.cast_at(&stencil, &pulses, &fired, &mut together);
    let seen = together.iter().filter(|hit| hit.range_m < 10.0).count();
    assert!((20..400).contains(&seen), "{seen} of 720 see the car");
    for (k, expected) in together.iter().enumerate() {
        let mut alone = [Hit::MISS];
        world.caster.cast_at(&stencil, &pulses[k..=k], &fired[k..=k], &mut alone);
        assert_eq!(alone[0], *expected, "pulse {k}");
    }
}
