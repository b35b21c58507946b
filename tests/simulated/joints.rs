//! Tests of devices on joints: each firing, sample and epoch is measured from the joint's position at its time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use glam::{DVec3, dvec3};
use menura::config::rig::{DeviceId, Rig};
use menura::devices::families::catalogue;
use menura::engine::build_devices;
use menura::engine::host_events::{HostInput, HostTarget, Payload};
use menura::engine::host_log::Conversation;
use menura::engine::record::record;
use menura::frames::quat_about;
use menura::sensors::imu::ImuSensor;
use menura::sensors::lidar::Scratch;
use menura::sensors::{MeasurementRequest, Outcome, Subject};
use menura::time::{Epoch, SimTime};
use menura::wire::cola::frame::Cola;
use menura::wire::cola::scan_data::ScanData;
use menura::wire::framer::Framer;
use menura::wire::joint_lines::{Lines, Message, Position};

use crate::common;

fn epoch() -> Epoch {
    Epoch::new("2026-06-01T12:00:00Z".parse().unwrap())
}

/// A scanner, mounted on its side on a head that rotates with `rate_deg_s`. The robot drives a circle.
fn scanner_on_head(rate_deg_s: f64) -> String {
    format!(
        r#"
[world]
scene = "room"
parameters = {{ size_m = [30.0, 24.0, 4.0] }}
[robot]
trajectory = {{ kind = "circle", center_m = [1.0, 2.0, 0.0], radius_m = 5.0, speed_m_s = 1.0 }}
[[joint]]
name = "mast"
kind = "prismatic"
translation_m = [0.1, 0.0, 1.0]
motion = {{ kind = "sine", amplitude_m = 0.2, period_s = 0.8 }}
[[joint]]
name = "head"
parent = "mast"
translation_m = [0.0, 0.0, 0.3]
roll_pitch_yaw_deg = [5.0, 0.0, 20.0]
motion = {{ kind = "constant-rate", rate_deg_s = {rate_deg_s} }}
[[device]]
name = "scanner"
profile = "sick-lms291-s05-x1.27"
mount = {{ parent = "head", translation_m = [0.5, 0.0, 0.1], roll_pitch_yaw_deg = [90.0, 0.0, 0.0] }}
link = {{ pty = "scanner" }}
[device.settings]
baud_rate = 500000
power_on_mode = "continuous"
unit = "mm"
beam = {{ shape = "ray" }}
errors = "none"
"#
    )
}

/// Distance of a measured point beyond the surface of the room, metres along the surface normal.
fn beyond_surface_m(origin: DVec3, direction: DVec3, range_m: f64) -> f64 {
    let (low, high) = (dvec3(-15.0, -12.0, 0.0), dvec3(15.0, 12.0, 4.0));
    let end = origin + direction * range_m;
    (0..3)
        .map(|axis| (end[axis] - high[axis]).max(low[axis] - end[axis]))
        .fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn every_firing_is_measured_from_where_the_joints_are_then() {
    // 109 degrees/s are a rotation in 3.3 s, 1146 degrees/s are 20 rad/s.
    for (rate_deg_s, interpolated_is_off_m) in [(109.09, 5e-5), (-1145.9, 5e-4)] {
        let (rig, world) = common::load(&scanner_on_head(rate_deg_s));
        let mut built = build_devices(&rig, epoch()).remove(0);
        let mount = rig.devices[0].body_from_sensor;
        let around = world.surroundings_of(DeviceId(0), &mount);
        let (mut worst_m, mut interpolated_m, mut firings) = (0.0f64, 0.0f64, 0);
        while let Some(request) = built.device.poll_request(SimTime(1_000_000_000)) {
            let (start, end) = (request.start, request.end());
            let ends = [start, end].map(|at| around.world_from_sensor(at));
            let measured = built.sensor.measure(request, &around, &mut Scratch::default());
            built.device.handle_measurement(&measured);
            let Subject::Sweep(sweep) = &measured.request.subject else { panic!("a sweep") };
            let Outcome::Returns(returns) = &measured.outcome else { panic!("returns") };
            for (firing, seen) in sweep.firings.iter().zip(returns) {
                // A wall at grazing incidence gives no return.
                let Some(seen) = seen.first else { continue };
                let at = SimTime(start.0 + u64::from(firing.offset_ns));
                let azimuth_rad = sweep.azimuth_at(firing.offset_ns.into());
                let (sin, cos) = libm::sincos(azimuth_rad);
                let beam = dvec3(cos, -sin, 0.0);
                let body = world.trajectory.pose(at);
                let pose = body * around.mount_at(at);
                let range_m = f64::from(seen.range_m);
                let off_m = |pose: menura::frames::Transform<_, menura::frames::Sensor>| {
                    beyond_surface_m(pose.translation, pose.direction(beam), range_m).abs()
                };
                worst_m = worst_m.max(off_m(pose));
                let share = firing.offset_ns as f64 / (end.0 - start.0) as f64;
                let between = ends[0].interpolate(&ends[1], share);
                interpolated_m = interpolated_m.max(off_m(between));
                firings += 1;
            }
        }
        assert!(firings > 5000, "{firings}");
        // The remaining error is the curvature of the body's path, 0.02 mm, and the detector's rounding.
        println!("{rate_deg_s} degrees/s: within {worst_m} m, interpolated {interpolated_m} m");
        assert!(worst_m < 2e-5, "{rate_deg_s}: {worst_m}");
        assert!(interpolated_m > interpolated_is_off_m, "{rate_deg_s}: {interpolated_m}");
    }
}

const CARRIED: &str = r#"
[world]
scene = "courtyard"
parameters = { trees = 0, grass_blades = 0 }
[robot]
trajectory = { kind = "half-sine", length_m = 12.0, amplitude_m = 2.0, speed_m_s = 3.0 }
[[joint]]
name = "turret"
translation_m = [0.4, 0.1, 0.8]
axis = [0.1, 0.2, 1.0]
motion = { kind = "sine", amplitude_deg = 50.0, period_s = 1.3, phase_deg = 20.0 }
[[joint]]
name = "mast"
parent = "turret"
kind = "prismatic"
roll_pitch_yaw_deg = [0.0, 10.0, 0.0]
motion = { kind = "table", rows_s_m = [[0.0, 0.2], [1.0, 0.9], [2.5, 0.4], [4.0, 0.7]] }
[[joint]]
name = "wheel"
parent = "mast"
axis = [0.0, 1.0, 0.0]
motion = { kind = "constant-rate", rate_deg_s = 400.0 }
[[device]]
name = "imu"
profile = "vectornav-vn100"
mount = { parent = "wheel", translation_m = [0.3, 0.1, 0.2], roll_pitch_yaw_deg = [10.0, 20.0, 30.0] }
link = { pty = "imu" }
[[device]]
name = "gnss"
profile = "phone-gnss"
mount = { parent = "wheel", translation_m = [0.3, 0.1, 0.2] }
link = { pty = "gnss" }
settings = { window_ms = 0.0 }
"#;

#[test]
fn an_inertial_unit_feels_the_joints_that_carry_it() {
    let (rig, world) = common::load(CARRIED);
    let around = world.surroundings_of(DeviceId(0), &rig.devices[0].body_from_sensor);
    let on_body = world.surroundings(&rig.devices[0].body_from_sensor);
    let unit = ImuSensor::of_motion_alone();
    let mut felt_by_joints = 0.0f64;
    for at_s in [0.4, 1.1, 1.9, 2.05, 3.3] {
        let h = 2e-4;
        let truth = |t: f64| unit.truth(SimTime::from_secs_f64(t), &around);
        let (before, now, after) = (truth(at_s - h), truth(at_s), truth(at_s + h));
        let velocity = (after.position_m - before.position_m) / (2.0 * h);
        assert!((velocity - now.velocity_m_s).length() < 2e-4, "{at_s}");
        let change = (after.velocity_m_s - before.velocity_m_s) / (2.0 * h);
        assert!((change - now.acceleration_m_s2).length() < 2e-3, "{at_s}");
        let felt = now.world_from_sensor * now.specific_force_m_s2 - now.acceleration_m_s2;
        assert!((felt - DVec3::Z * 9.796).length() < 0.01, "{at_s}: {felt}");
        let turn = (before.world_from_sensor.conjugate() * after.world_from_sensor).normalize();
        let rate = turn.to_scaled_axis() / (2.0 * h);
        assert!((now.angular_rate_rad_s - rate).length() < 2e-5 * rate.length(), "{at_s}");
        let pose = around.world_from_sensor(SimTime::from_secs_f64(at_s));
        assert!((pose.translation - now.position_m).length() < 1e-12);
        let stiff = unit.truth(SimTime::from_secs_f64(at_s), &on_body);
        let by_joints = (stiff.acceleration_m_s2 - now.acceleration_m_s2).length();
        felt_by_joints = felt_by_joints.max(by_joints);
    }
    assert!(felt_by_joints > 10.0, "the joints matter: {felt_by_joints} m/s2");
}

#[test]
fn an_antenna_is_where_the_joints_have_carried_it() {
    let (rig, world) = common::load(CARRIED);
    let around = world.surroundings_of(DeviceId(1), &rig.devices[1].body_from_sensor);
    let built = build_devices(&rig, epoch()).remove(1);
    let view = |at_s: f64| {
        let start = SimTime::from_secs_f64(at_s);
        let request = MeasurementRequest { index: 0, start, subject: Subject::Instant };
        let measured = built.sensor.measure(request, &around, &mut Scratch::default());
        let Outcome::Sky(view) = measured.outcome else { panic!("a sky") };
        view
    };
    for at_s in [0.4, 1.1, 3.3] {
        let h = 2e-4;
        let place = |t: f64| world.origin.world_from_geodetic(view(t).position);
        let pose = around.world_from_sensor(SimTime::from_secs_f64(at_s));
        assert!((place(at_s) - pose.translation).length() < 1e-6);
        let velocity = (place(at_s + h) - place(at_s - h)) / (2.0 * h);
        assert!((velocity - view(at_s).velocity_enu_m_s).length() < 1e-3, "{at_s}");
    }
}

/// Files of a recording; hosts send `commands` (time in milliseconds, text) to the first device.
fn recorded(rig: &Rig, seconds: f64, commands: &[(u64, &str)]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let inputs = commands.iter().map(|(ms, text)| HostInput {
        at: SimTime(ms * 1_000_000),
        to: HostTarget::Device(DeviceId(0)),
        payload: Payload::Bytes(text.as_bytes().to_vec()),
    });
    let start = "2026-06-01T12:00:00Z".parse().unwrap();
    let hosts = Conversation { start, inputs: inputs.collect(), is_cut_off: false };
    let (world, stop) = (common::world(rig), AtomicBool::new(false));
    let duration = Duration::from_secs_f64(seconds);
    record(rig, &world, duration, Some(&hosts), folder.path(), &stop, |_| {}).unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

fn positions(bytes: &[u8]) -> Vec<Position> {
    let messages = Framer::new(Lines).frames(bytes).into_iter();
    messages.filter_map(|m| if let Message::Position(p) = m { Some(p) } else { None }).collect()
}

/// Angle of the head at a time, radians, as a reader of the encoder's lines computes it.
fn angle_rad(lines: &[Position], time_s: f64) -> f64 {
    let after = lines.partition_point(|line| line.time_ms() * 1e-3 <= time_s);
    let pair = &lines[after.clamp(1, lines.len() - 1) - 1..][..2];
    let [from, to] = [0, 1].map(|end: usize| (pair[end].time_ms() * 1e-3, pair[end].count as f64));
    let share = (time_s - from.0) / (to.0 - from.0);
    (from.1 + share * (to.1 - from.1)) / 96_000.0 * std::f64::consts::TAU
}

/// Points that a program on the robot's computer computes from the example's bytes: for each point its distance beyond
/// the room's surface, and whether it is on a wall, where the head's angle matters. `angle` computes the head's angle
/// from the encoder's lines, the start time of the scan and the time of the point.
fn points_beyond_surfaces(
    files: &BTreeMap<String, Vec<u8>>,
    angle: impl Fn(&[Position], f64, f64) -> f64,
) -> Vec<(f64, bool)> {
    let datagrams = common::frames(&files["encoder.pcap"]);
    let lines: Vec<u8> = datagrams.into_iter().flat_map(|(_, payload)| payload).collect();
    let lines = positions(&lines);
    let (low, high) = (dvec3(-8.0, -6.0, 0.0), dvec3(8.0, 6.0, 4.0));
    let robot = quat_about(DVec3::Z, 25f64.to_radians());
    let mut framer = Framer::new(Cola { max_content: 1 << 20 });
    let mut beyond = Vec::new();
    for frame in framer.frames(&files["scanner.bin"]) {
        let scan = ScanData::parse(frame.dialect, &frame.content).unwrap();
        // The scanner's clock has been on for a minute at the start; at the start of a scan, the mirror is at -90
        // degrees.
        let start_s = f64::from(scan.start_us - 60_000_000) * 1e-6;
        let ranges = scan.channel(b"DIST1").unwrap();
        let first_deg = f64::from(ranges.start_angle) * 1e-4;
        let step_deg = f64::from(ranges.angular_step) * 1e-4;
        for (index, range_mm) in ranges.values.iter().enumerate().filter(|(_, mm)| **mm > 0) {
            let direction_deg = first_deg + step_deg * index as f64;
            let at_s = start_s + (direction_deg + 90.0) / 360.0 / 50.0;
            if at_s * 1e3 > lines.last().unwrap().time_ms() {
                continue;
            }
            let (sin, cos) = libm::sincos(direction_deg.to_radians());
            let in_head = dvec3(sin, 0.0, -cos) * (f64::from(*range_mm) * 1e-3);
            let head = quat_about(DVec3::Z, angle(&lines, start_s, at_s));
            let on_robot = dvec3(0.1, 0.0, 0.9) + head * in_head;
            let point = dvec3(-1.5, 1.0, 0.0) + robot * on_robot;
            let off_m = (0..3).map(|axis| (point[axis] - high[axis]).max(low[axis] - point[axis]));
            let is_on_wall = (0.15..3.85).contains(&point.z);
            beyond.push((off_m.fold(f64::NEG_INFINITY, f64::max), is_on_wall));
        }
    }
    beyond
}

/// Share of the points within 5 cm of a surface, 0..=1, and the median distance from the surface, metres.
fn judged(beyond: impl Iterator<Item = (f64, bool)>) -> (f64, f64) {
    let mut off_m: Vec<f64> = beyond.map(|(off_m, _)| off_m.abs()).collect();
    off_m.sort_by(f64::total_cmp);
    let near = off_m.iter().filter(|off_m| **off_m < 0.05).count();
    (near as f64 / off_m.len() as f64, off_m[off_m.len() / 2])
}

#[test]
fn a_spinning_heads_points_lie_on_the_rooms_surfaces() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/spinning-head.toml");
    let rig = Rig::load(&example, &[], catalogue()).unwrap_or_else(|faults| panic!("{faults}"));
    let files = recorded(&rig, 3.35, &[]);
    let points = points_beyond_surfaces(&files, |lines, _, at_s| angle_rad(lines, at_s));
    // 3.3 s are 165 scans of 195 points; beams at grazing incidence give no return.
    assert!((30_000..33_000).contains(&points.len()), "{}", points.len());
    let (near, median_m) = judged(points.iter().copied());
    println!("{} points, {near} within 5 cm, median {median_m} m", points.len());
    assert!(near > 0.99 && median_m < 0.01, "{near} {median_m}");

    let on_walls = |angle: &dyn Fn(&[Position], f64, f64) -> f64| {
        judged(points_beyond_surfaces(&files, angle).into_iter().filter(|(_, on_wall)| *on_wall))
    };
    let right = on_walls(&|lines, _, at_s| angle_rad(lines, at_s));
    let ignored = on_walls(&|_, _, _| 0.0);
    let flipped = on_walls(&|lines, _, at_s| -angle_rad(lines, at_s));
    // One angle of the head for a whole scan is wrong by up to 1.4 degrees.
    let one_a_scan = on_walls(&|lines, start_s, _| angle_rad(lines, start_s));
    println!("on walls {right:?}, ignored {ignored:?}, flipped {flipped:?}, one {one_a_scan:?}");
    assert!(right.0 > 0.99, "{right:?}");
    assert!(ignored.0 < 0.2, "the angle ignored: {ignored:?}");
    assert!(flipped.0 < 0.2, "the wrong sense: {flipped:?}");
    assert!(one_a_scan.0 < 0.8 && one_a_scan.1 > 2.0 * right.1, "one a scan: {one_a_scan:?}");
}

const COMMANDED: &str = r#"
seed = 3
[world]
scene = "room"
parameters = { size_m = [12.0, 8.0, 3.0] }
[robot]
trajectory = { kind = "still" }
[[joint]]
name = "head"
translation_m = [0.0, 0.0, 1.0]
motion = { kind = "commanded", max_rate_deg_s = 120.0, max_acceleration_deg_s2 = 400.0 }
[[device]]
name = "head"
profile = "menura-turning-head"
mount = { parent = "head" }
link = { pty = "head" }
[[device]]
name = "scanner"
profile = "sick-lms291-s05-x1.27"
mount = { parent = "head" }
link = { pty = "scanner" }
settings = { baud_rate = 500000, power_on_mode = "continuous", unit = "mm" }
[[device]]
name = "imu"
profile = "vectornav-vn100"
mount = { parent = "head", translation_m = [0.2, 0.0, 0.0] }
link = { pty = "imu" }
"#;

#[test]
fn a_head_turns_as_its_host_says_and_everything_on_it_turns_along() {
    // 63 units of 0.22859 rpm are 86.4 degrees/s, which is reached within 0.22 s.
    let commands = [(100, "TC+o\r"), (1100, "SC\r"), (1500, "PS3D012000060000o1\r")];
    let rig = common::rig(COMMANDED, &[("engine.workers", "1")]);
    let files = recorded(&rig, 5.0, &commands);
    let lines = positions(&files["head.bin"]);
    assert_eq!(lines.len(), 500);
    let count = |ms: usize| lines[ms / 10].count;
    assert_eq!(count(120), 0, "an order holds after what is rendered ahead");
    assert!(count(130) > 0, "{}", count(130));
    let steps_per_s = 63.0 * 0.22859 / 60.0 * 96_000.0;
    let ran = (count(1000) - count(500)) as f64;
    assert!((ran - 0.5 * steps_per_s).abs() < 2.0, "{ran} {steps_per_s}");
    assert_eq!(count(1450), count(1490), "it stands");
    // First back from the position after one second to 12000 steps, then once to 60000.
    assert_eq!(count(4900), 60_000);
    let lowest = lines[150..].iter().map(|line| line.count).min();
    assert_eq!(lowest, Some(12_000));
    let answers = Framer::new(Lines).frames(&files["head.bin"]);
    assert_eq!(answers.iter().filter(|message| **message == Message::Ack).count(), 3);

    // Recordings with these commands are equal for any number of workers.
    let again = common::rig(COMMANDED, &[("engine.workers", "3")]);
    assert!(recorded(&again, 5.0, &commands) == files, "three workers give other bytes than one");
    // Without commands, the bytes of the devices on the head differ.
    let still = recorded(&rig, 5.0, &[]);
    assert!(positions(&still["head.bin"]).iter().all(|line| line.count == 0));
    for name in ["scanner.bin", "imu.bin"] {
        assert!(still[name] != files[name], "{name}");
    }
}

#[test]
fn a_jammed_joint_stands_and_its_encoder_says_so() {
    let text = scanner_on_head(90.0)
        + r#"
[[device]]
name = "encoder"
profile = "menura-joint-encoder"
mount = { parent = "head" }
link = { udp = { to = "127.0.0.1:9" } }
[[fault]]
device = "encoder"
kind = "joint-jam"
start_s = 0.5
duration_s = 0.5
stops_within_s = 0.02
"#;
    let rig = common::rig(&text, &[]);
    let files = recorded(&rig, 1.5, &[]);
    let lines = common::frames(&files["encoder.pcap"]);
    let lines: Vec<u8> = lines.into_iter().flat_map(|(_, payload)| payload).collect();
    let lines = positions(&lines);
    let count = |ms: usize| lines[ms / 10].count;
    assert_eq!((count(0), count(500)), (0, 12_000));
    assert_eq!(count(530), count(970), "it stands");
    assert_eq!(count(1400) - count(1000), 9_600, "it goes on at its rate");
    assert!(count(1000) < 12_600, "from where it stood: {}", count(1000));
    let log = String::from_utf8(files["faults.csv"].clone()).unwrap();
    assert!(log.contains("stalled_rpm"), "{log}");
    let world = common::world(&rig);
    let around = world.surroundings_of(DeviceId(0), &rig.devices[0].body_from_sensor);
    let [early, late] = [0.6, 0.9].map(|at_s| {
        let pose = around.mount_at(SimTime::from_secs_f64(at_s));
        pose.rotation
    });
    assert!(early.dot(late).abs() > 1.0 - 1e-12, "the scanner stands with it");
}
