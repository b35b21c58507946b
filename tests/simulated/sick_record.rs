//! Recordings of LMS 2xx scanners that stream from power-on: their content, equal bytes for any number of workers, and
//! the report of `menura inspect`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::engine::LiveWorld;
use menura::engine::record::record;
use menura::time::SimTime;
use menura::wire::framer::Framer;
use menura::wire::sick_lms2xx::frame::{Item, Telegrams};
use menura::wire::sick_lms2xx::reply::{Body, Reply};
use menura::world::raycast::{Hit, Pulse, Stencil};

use crate::common;

const RIG: &str = r#"
seed = 4
[world]
scene = "room"
parameters = { size_m = [20.0, 12.0, 4.0] }
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "fast"
profile = "sick-lms291-s14"
mount = { translation_m = [0.4, 0.0, 0.6] }
link = { pty = "fast" }
settings = { baud_rate = 500000, power_on_mode = "reflectivity", unit = "mm", measuring_mode = 6 }
[[device]]
name = "slow"
profile = "sick-lms291-s05-x1.27"
mount = { translation_m = [-0.4, 0.0, 0.6], roll_pitch_yaw_deg = [0.0, 90.0, 180.0] }
link = { pty = "slow" }
settings = { baud_rate = 38400, power_on_mode = "continuous", start_up_s = 0.5 }
"#;

fn recorded(folder: &Path, workers: &str) -> [Vec<u8>; 2] {
    let rig = common::rig(RIG, &[("engine.workers", workers)]);
    record(
        &rig,
        &common::world(&rig),
        Duration::from_secs(2),
        None,
        folder,
        &AtomicBool::new(false),
        |_| {},
    )
    .unwrap();
    ["fast", "slow"].map(|name| std::fs::read(folder.join(format!("{name}.bin"))).unwrap())
}

fn replies(bytes: &[u8]) -> Vec<Reply> {
    let mut framer = Framer::new(Telegrams::default());
    let (mut rest, mut replies) = (bytes, Vec::new());
    while let Some(piece) = framer.next_piece(&mut rest) {
        match piece.frame {
            Some(Item::Telegram { address: 0x80, payload }) => {
                replies.push(Reply::parse(&payload).unwrap());
            }
            other => panic!("{other:?}: {:02x?}", piece.bytes),
        }
    }
    replies
}

#[test]
fn a_recording_holds_what_the_line_can_carry() {
    let folder = tempfile::tempdir().unwrap();
    let one = recorded(folder.path(), "1");
    let again = tempfile::tempdir().unwrap();
    assert!(one == recorded(again.path(), "3"), "three workers give other bytes than one");

    let fast = replies(&one[0]);
    // 75 scans per second, the first when one scan is complete; 2 s are 150 rotations.
    assert!((148..=150).contains(&fast.len()), "{}", fast.len());
    assert!(fast.iter().all(|reply| matches!(reply.body, Body::Reflectivity { .. })));

    let slow = replies(&one[1]);
    assert!(matches!(slow[0].body, Body::PowerOn { .. }));
    // 1.5 s minus the power-on telegram; 190.6 ms plus the rest of a scan for each telegram: 213.3 ms.
    assert!((6..=7).contains(&(slow.len() - 1)), "{}", slow.len());
    let index = std::fs::read_to_string(folder.path().join("slow.idx.csv")).unwrap();
    assert!(index.lines().nth(1).unwrap().starts_with("0.500000000,0,29"), "{index}");
}

#[test]
fn inspect_tells_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), "2");
    let inspect = |words: &[&str]| {
        let output = common::menura()
            .arg("inspect")
            .args(words)
            .current_dir(folder.path())
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = inspect(&["fast.bin", "--packets", "2"]);
    assert!(text.contains("line of a SICK LMS 2xx"), "{text}");
    assert!(text.contains("75.000 a second"), "{text}");
    assert!(text.contains("181/181 ranges in mm"), "{text}");
    let text = inspect(&["slow.bin"]);
    assert!(text.contains("LMS291;S05;X01.27"), "{text}");
    assert!(text.contains("4.688 a second"), "{text}");

    let json = inspect(&["fast.bin", "--json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (summary, frames) = lines.split_last().unwrap();
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["scans"]["count"], frames.len());
    assert_eq!(frames[0]["kind"], "reflectivity");
    assert_eq!(frames[0]["ranges_m"].as_array().unwrap().len(), 181);
    let millimetres = frames[0]["values"][90].as_f64().unwrap();
    assert!((frames[0]["ranges_m"][90].as_f64().unwrap() * 1000.0 - millimetres).abs() < 1e-6);
    assert!(frames[0]["time_s"].as_f64().unwrap() < 0.03);

    let picture = folder.path().join("scan.png");
    inspect(&["slow.bin", "--plot", "scan.png", "--rotation", "3"]);
    let picture = std::io::BufReader::new(std::fs::File::open(picture).unwrap());
    let picture = png::Decoder::new(picture).read_info().unwrap();
    assert!(picture.info().width > 500);
    let output = common::menura()
        .args(["inspect", "slow.bin", "--plot", "no.png", "--rotation", "99"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is no scan 99"), "{said}");
}

/// A level scanner and one on its side, on a robot that drives a circle. Every value is the range from the robot's
/// position at the time at which the mirror had this direction.
const MOVING: &str = r#"
[world]
scene = "room"
parameters = { size_m = [30.0, 24.0, 4.0] }
[robot]
trajectory = { kind = "circle", center_m = [1.0, 2.0, 0.0], radius_m = 5.0, speed_m_s = 5.0 }
[[device]]
name = "level"
profile = "sick-lms291-s05-x1.27"
mount = { translation_m = [0.4, 0.2, 1.5], roll_pitch_yaw_deg = [0.0, 0.0, 30.0] }
link = { pty = "level" }
[device.settings]
baud_rate = 500000
power_on_mode = "continuous"
unit = "mm"
measuring_mode = 6
mirror_phase_deg = 120
beam = { shape = "ray" }
errors = "none"
[[device]]
name = "upright"
profile = "sick-lms291-s05-x1.27"
mount = { translation_m = [0.0, 0.0, 1.5], roll_pitch_yaw_deg = [90.0, 0.0, 10.0] }
link = { pty = "upright" }
[device.settings]
baud_rate = 500000
power_on_mode = "continuous"
unit = "mm"
measuring_mode = 6
beam = { shape = "ray" }
errors = "none"
"#;

/// Distance from a point inside the room to its surface, metres.
fn surface_m(origin: glam::DVec3, direction: glam::DVec3) -> f64 {
    let (low, high) = (glam::dvec3(-15.0, -12.0, 0.0), glam::dvec3(15.0, 12.0, 4.0));
    (0..3)
        .filter(|axis| direction[*axis] != 0.0)
        .map(|axis| {
            let face = if direction[axis] > 0.0 { high[axis] } else { low[axis] };
            (face - origin[axis]) / direction[axis]
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn every_value_is_measured_when_the_mirror_looks_there() {
    let (rig, world) = common::load(MOVING);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    record(&rig, &world, Duration::from_secs(1), None, folder.path(), &stop, |_| {}).unwrap();
    let period_s = 1.0 / 75.0;
    for device in &rig.devices {
        let bytes = std::fs::read(folder.path().join(format!("{}.bin", device.name))).unwrap();
        let index = folder.path().join(format!("{}.idx.csv", device.name));
        let index = std::fs::read_to_string(index).unwrap();
        let ends = index.lines().skip(1).map(|line| line.split(',').next().unwrap().parse());
        let ends: Vec<f64> = ends.map(|end| end.unwrap()).collect();
        let scans = replies(&bytes);
        assert!(scans.len() >= 36, "{}", scans.len());
        let mut worst_m = 0.0f64;
        for (reply, end_s) in scans.iter().zip(ends) {
            let Body::Scan { values, .. } = &reply.body else { panic!("{reply:?}") };
            for (place, value) in values.values.iter().enumerate() {
                // Two rotations: the first has whole degrees, the second half degrees.
                let angle_deg = place as f64 * 0.5;
                let revolution = (place % 2) as f64;
                let at_s = end_s - (2.0 - revolution) * period_s + angle_deg / 360.0 * period_s;
                let pose = world.trajectory.pose(SimTime::from_secs_f64(at_s));
                let pose = pose * device.body_from_sensor;
                let (sin, cos) = libm::sincos((angle_deg - 90.0).to_radians());
                let direction = pose.rotation * glam::dvec3(cos, sin, 0.0);
                let error_m = f64::from(*value) * 0.001 - surface_m(pose.translation, direction);
                worst_m = worst_m.max(error_m.abs());
                // Half a unit, plus the error of interpolating the pose over half a rotation.
                assert!(error_m.abs() < 0.0015, "{} {place}: {error_m}", device.name);
            }
        }
        assert!(worst_m > 0.0003, "rounding alone gives more than {worst_m}");
    }
}

/// No telegram of these streams states that ranges have 15 bits. Walls are more than 10 m away, beyond the 8.19 m of 13
/// bits.
#[test]
fn ranges_past_13_bits_are_read_without_a_telegram_that_tells_the_mode() {
    let (rig, world) = common::load(MOVING);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    record(&rig, &world, Duration::from_millis(300), None, folder.path(), &stop, |_| {}).unwrap();
    let inspect = |arguments: &[&str]| {
        let mut command = common::menura();
        command.args(["inspect", "--profile", "sick-lms291-s05-x1.27"]).args(arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for name in ["level.bin", "upright.bin"] {
        let text = inspect(&[name, "--packets", "1"]);
        assert!(text.contains("0x06, guessed from the values: no telegram reports it"), "{text}");
        let json = inspect(&[name, "--json"]);
        let lines: Vec<serde_json::Value> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (summary, frames) = lines.split_last().unwrap();
        assert_eq!(summary["measuring_mode_is_guessed"], true);
        assert!(summary["scans"]["farthest_m"].as_f64().unwrap() > 10.0, "{summary}");
        for frame in frames {
            let all = |key: &str| frame[key].as_array().unwrap().clone();
            for (range_m, value) in all("ranges_m").iter().zip(all("values")) {
                let off = range_m.as_f64().unwrap() * 1000.0 - value.as_f64().unwrap();
                assert!(off.abs() < 1e-6, "{range_m} m of {value}");
            }
        }
    }
}

/// A row of rods 25 m ahead and a wall at 40 m; the scanner has all its rays and the profile's noise.
fn behind_rods(rod_reflectance: f64) -> Vec<(f64, Option<f64>)> {
    let text = format!(
        r#"
seed = 4
[world]
scene = "rods"
[world.parameters]
sides = 1
rods = 200
diameter_m = 0.03
middle_diameter_m = 0.03
spacing_m = 0.15
row_distance_m = 25.0
wall_behind_m = 15.0
wall_width_m = 80.0
wall_reflectance = 0.9
rod_reflectance = {rod_reflectance}
[robot]
trajectory = {{ kind = "still" }}
[[device]]
name = "fast"
profile = "sick-lms291-s05-x1.27"
mount = {{ translation_m = [0.0, 0.0, 1.5] }}
link = {{ pty = "fast" }}
settings = {{ baud_rate = 500000, power_on_mode = "continuous", unit = "cm" }}
"#
    );
    let (rig, world) = common::load(&text);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    record(&rig, &world, Duration::from_secs(1), None, folder.path(), &stop, |_| {}).unwrap();
    let bytes = std::fs::read(folder.path().join("fast.bin")).unwrap();
    let mut all = Vec::new();
    for reply in replies(&bytes) {
        let Body::Scan { values, .. } = &reply.body else { panic!("{reply:?}") };
        for (place, value) in values.values.iter().enumerate() {
            let heading_rad = (place as f64 * 0.5 - 90.0).to_radians();
            // The row is 30 m long.
            if heading_rad.abs() < 0.45 {
                let range_cm = value & 0x1fff;
                let wall_m = 40.0 / libm::cos(heading_rad);
                all.push((wall_m, (range_cm < 0x1ff7).then(|| f64::from(range_cm) / 100.0)));
            }
        }
    }
    assert!(all.len() > 1000, "{}", all.len());
    all
}

#[test]
fn a_weak_echo_does_not_hide_the_wall_behind_it() {
    // A rod with a reflectance of 0.5 is detected at 25 m.
    let bright = behind_rods(0.5);
    let on_rods = bright.iter().filter(|(_, range)| range.is_some_and(|m| m < 30.0)).count();
    assert!(on_rods * 4 > bright.len(), "{on_rods} of {}", bright.len());
    // A dark rod is not detected. The same part of each beam still hits the wall.
    for (wall_m, range_m) in behind_rods(0.05) {
        let range_m = range_m.expect("a direction was lost");
        assert!((range_m - wall_m).abs() < 0.2, "{range_m} {wall_m}");
    }
}

/// The eight scanners of `examples/crusher.toml`, recorded for `duration`; `settings` are added to those of each one.
fn crusher(settings: &str, duration: Duration) -> (Rig, LiveWorld, Vec<Vec<(f64, Reply)>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/crusher.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.replace("settings = { mirror", &format!("settings = {{ {settings} mirror"));
    let mut rig = common::rig(&text, &[]);
    // The lidar on the mast has most of the rays; another test covers it.
    rig.devices.retain(|device| device.name != "mast-lidar");
    let world = common::world(&rig);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    record(&rig, &world, duration, None, folder.path(), &stop, |_| {}).unwrap();
    let scans = rig.devices.iter().map(|device| {
        let bytes = std::fs::read(folder.path().join(format!("{}.bin", device.name))).unwrap();
        let index = folder.path().join(format!("{}.idx.csv", device.name));
        let index = std::fs::read_to_string(index).unwrap();
        let starts = index.lines().skip(1).map(|line| line.split(',').next().unwrap().parse());
        starts.map(|start| start.unwrap()).zip(replies(&bytes)).collect()
    });
    let scans = scans.collect();
    (rig, world, scans)
}

#[test]
fn crushers_eight_scanners_keep_75_scans_a_second() {
    let (rig, _, scanners) = crusher("", Duration::from_secs(1));
    assert_eq!(scanners.len(), 8);
    for (device, scans) in rig.devices.iter().zip(scanners) {
        assert!((73..=75).contains(&scans.len()), "{}: {}", device.name, scans.len());
        for pair in scans.windows(2) {
            let apart_s = pair[1].0 - pair[0].0;
            assert!((apart_s - 1.0 / 75.0).abs() < 2e-6, "{}: {apart_s} s apart", device.name);
        }
        for (_, reply) in &scans {
            let Body::Scan { values, .. } = &reply.body else { panic!("{reply:?}") };
            assert_eq!((values.values.len(), values.is_partial), (181, false), "{}", device.name);
        }
    }
}

#[test]
fn crushers_ranges_are_those_of_the_apron() {
    let settings =
        "unit = \"mm\", measuring_mode = 6, beam = { shape = \"ray\" }, errors = \"none\",";
    let (rig, world, scanners) = crusher(settings, Duration::from_millis(200));
    let (mut compared, mut near) = (0, 0);
    for (device, scans) in rig.devices.iter().zip(scanners) {
        assert!(scans.len() >= 13, "{}: {}", device.name, scans.len());
        for (end_s, reply) in scans {
            let Body::Scan { values, .. } = &reply.body else { panic!("{reply:?}") };
            let mut pulses = Vec::new();
            for place in 0..181 {
                let angle_deg = f64::from(place) * 0.5;
                // The mirror points to the right when its rotation starts, and the scan leaves when it ends.
                let at_s = end_s - (315.0 - angle_deg) / 360.0 / 75.0;
                let pose = world.trajectory.pose(SimTime::from_secs_f64(at_s));
                let pose = pose * device.body_from_sensor;
                let (sin, cos) = libm::sincos((angle_deg - 45.0).to_radians());
                let direction = pose.direction(glam::dvec3(cos, sin, 0.0));
                let half_axis_u = direction.any_orthonormal_vector();
                pulses.push(Pulse {
                    origin: pose.translation,
                    start_m: 0.0,
                    direction,
                    half_axis_u,
                    half_axis_v: direction.cross(half_axis_u),
                    max_range_m: 80.0,
                });
            }
            let mut hits = vec![Hit::MISS; pulses.len()];
            world.caster.cast(&Stencil::single(), &pulses, &mut hits);
            for (value, hit) in values.values.iter().zip(hits) {
                // If a ray grazes the ground or an edge, a tiny difference of direction changes the range by metres.
                if hit.cos_incidence < 0.1 || f64::from(hit.range_m) > 32.0 {
                    continue;
                }
                compared += 1;
                let error_m = f64::from(*value) * 1e-3 - f64::from(hit.range_m);
                near += u32::from(error_m.abs() < 0.02);
            }
        }
    }
    assert!(compared > 5000, "{compared}");
    // Tiny differences of the interpolated pose decide whether a stem of 5 mm or an edge is hit.
    assert!(f64::from(near) > 0.97 * f64::from(compared), "{near} of {compared}");
}
