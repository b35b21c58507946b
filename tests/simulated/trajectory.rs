//! The robot's motion as seen from outside: derivatives compared with differences, smoothness,
//! ends, files, and the ground.

use std::path::PathBuf;

use crate::common::shared;
use glam::DVec3;
use menura::config::rig::{RobotConfig, TrajectoryConfig};
use menura::frames::{GeoOrigin, Geodetic, rpy_from_quat};
use menura::time::SimTime;
use menura::world::ground::GroundHeight;
use menura::world::trajectory::{Trajectory, TrajectoryError};
use proptest::prelude::*;

fn geo() -> GeoOrigin {
    GeoOrigin::new(Geodetic { latitude_deg: 33.4712, longitude_deg: -88.7933, altitude_m: 92.0 })
}

fn try_drive(trajectory: TrajectoryConfig) -> Result<Trajectory, TrajectoryError> {
    Trajectory::new(&RobotConfig::new(trajectory, false), &geo(), None)
}

fn drive(trajectory: TrajectoryConfig) -> Trajectory {
    try_drive(trajectory).unwrap_or_else(|e| panic!("{e}"))
}

fn drive_on(trajectory: TrajectoryConfig, ground: &dyn GroundHeight) -> Trajectory {
    Trajectory::new(&RobotConfig::new(trajectory, true), &geo(), Some(ground))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn at(seconds: f64) -> SimTime {
    SimTime::from_secs_f64(seconds)
}

/// A trajectory file in a temporary folder.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn from_file(name: &str, text: &str, speed_m_s: Option<f64>, closed: bool) -> Trajectory {
    let (_folder, path) = file(name, text);
    drive(TrajectoryConfig::File { path, speed_m_s, closed })
}

fn file_fault(name: &str, text: &str, speed_m_s: Option<f64>, closed: bool) -> String {
    let (folder, path) = file(name, text);
    let error = try_drive(TrajectoryConfig::File { path, speed_m_s, closed }).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

/// Interval between the points of [`difference`], nanoseconds.
const H_NS: u64 = 500_000;
const H_S: f64 = H_NS as f64 * 1e-9;

/// Derivative of `f` at `t` from five points; exact for polynomials of degree four.
fn difference(t: SimTime, f: impl Fn(SimTime) -> DVec3) -> DVec3 {
    let off = |k: i64| f(SimTime(t.0.checked_add_signed(k * H_NS as i64).unwrap()));
    ((off(1) - off(-1)) * 8.0 - (off(2) - off(-2))) / (12.0 * H_S)
}

/// Velocity, acceleration and angular rate agree with differences of position, velocity and
/// attitude.
fn derivatives_agree(trajectory: &Trajectory, times: impl Iterator<Item = f64>) {
    for seconds in times {
        let t = at(seconds.max(4.0 * H_S));
        let state = trajectory.state(t);
        let velocity = difference(t, |t| trajectory.pose(t).translation);
        let acceleration = difference(t, |t| trajectory.state(t).velocity_m_s);
        // For small rotations, the vector part of the quaternion is half of the rotation vector.
        let here = state.world_from_body.rotation;
        let turn = difference(t, |t| {
            let q = here.conjugate() * trajectory.pose(t).rotation;
            2.0 * q.xyz() * q.w.signum()
        });
        let near = |what: &str, a: DVec3, b: DVec3, tolerance: f64| {
            assert!(
                (a - b).length() <= tolerance * (1.0 + b.length()),
                "{what} at {seconds} s: {a}, by differences {b}; {}",
                trajectory.describe()
            );
        };
        near("velocity", state.velocity_m_s, velocity, 1e-6);
        near("acceleration", state.acceleration_m_s2, acceleration, 1e-5);
        near("angular rate", state.angular_rate_rad_s, turn, 1e-5);
        assert_eq!(trajectory.pose(t), state.world_from_body);
        assert!((state.world_from_body.rotation.length() - 1.0).abs() < 1e-12);
    }
}

/// Largest changes of acceleration and of angular rate between instants `step_s` apart.
fn largest_jumps(trajectory: &Trajectory, from_s: f64, to_s: f64, step_s: f64) -> (f64, f64) {
    let steps = ((to_s - from_s) / step_s) as usize;
    let mut before = trajectory.state(at(from_s));
    let mut jumps: (f64, f64) = (0.0, 0.0);
    for i in 1..=steps {
        let now = trajectory.state(at(from_s + step_s * i as f64));
        jumps.0 = jumps.0.max((now.acceleration_m_s2 - before.acceleration_m_s2).length());
        jumps.1 = jumps.1.max((now.angular_rate_rad_s - before.angular_rate_rad_s).length());
        before = now;
    }
    jumps
}

/// No jumps: with a ten times smaller step, the changes are nearly ten times smaller.
fn nothing_jumps(trajectory: &Trajectory, from_s: f64, to_s: f64) {
    let coarse = largest_jumps(trajectory, from_s, to_s, 1e-3);
    let fine = largest_jumps(trajectory, from_s, to_s, 1e-4);
    assert!(fine.0 <= 0.2 * coarse.0 + 1e-6, "acceleration {coarse:?} {fine:?}");
    assert!(fine.1 <= 0.2 * coarse.1 + 1e-6, "angular rate {coarse:?} {fine:?}");
}

/// Hills with a length of 20 m and more.
struct Hills;
impl GroundHeight for Hills {
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        Some(libm::sin(x_m * 0.2) * 0.8 + libm::cos(y_m * 0.15 + 0.3) * 0.5)
    }
}

fn circle(radius_m: f64, speed_m_s: f64) -> TrajectoryConfig {
    TrajectoryConfig::Circle {
        center_m: [3.0, -2.0, 1.0],
        radius_m,
        speed_m_s,
        start_angle_rad: 0.7,
    }
}

fn half_sine(length_m: f64, amplitude_m: f64, speed_m_s: f64) -> TrajectoryConfig {
    let start_m = [1.0, 2.0, 0.5];
    TrajectoryConfig::HalfSine { start_m, yaw_rad: 0.4, length_m, amplitude_m, speed_m_s }
}

fn waypoints(points: &[[f64; 3]], speed_m_s: f64, closed: bool) -> TrajectoryConfig {
    TrajectoryConfig::Waypoints { points_m: points.to_vec(), speed_m_s, closed }
}

/// Waypoints of a path. Each item of `turns` has the length of a leg (metres), the turn before the leg (radians), and
/// its climb (metres).
fn walk(turns: &[(f64, f64, f64)]) -> Vec<[f64; 3]> {
    let (mut p, mut yaw) = (DVec3::new(5.0, 5.0, 0.0), 0.0);
    let mut points = vec![p.to_array()];
    for &(length, turn, climb) in turns {
        yaw += turn;
        let (s, c) = libm::sincos(yaw);
        p += DVec3::new(c * length, s * length, climb);
        points.push(p.to_array());
    }
    points
}

fn wobbly_tum(amplitude: f64, noise: f64, count: u32, interval_s: f64) -> String {
    (0..count)
        .map(|i| {
            let t = f64::from(i) * interval_s;
            let shake = if i % 2 == 0 { noise } else { -noise };
            let (x, y) = (t * 1.5, amplitude * libm::sin(0.8 * t) + shake);
            let yaw = libm::atan2(0.8 * amplitude * libm::cos(0.8 * t), 1.5);
            let q = menura::frames::quat_from_rpy(0.05 * libm::sin(t), shake, yaw);
            format!("{} {x} {y} {} {} {} {} {}\n", 1000.0 + t, 0.1 * t, q.x, q.y, q.z, q.w)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn circles_and_lines(radius in 0.5..200.0, speed in -20.0..20.0, hilly: bool) {
        for config in [
            circle(radius, speed),
            TrajectoryConfig::Line { start_m: [1.0, 2.0, 3.0], yaw_rad: radius, speed_m_s: speed },
        ] {
            let made = if hilly { drive_on(config, &Hills) } else { drive(config) };
            derivatives_agree(&made, (0..20).map(|i| f64::from(i) * 0.739));
        }
    }

    #[test]
    fn half_sines(length in 2.0..100.0, slope in -2.0..2.0, speed in 0.1..10.0, hilly: bool) {
        let config = half_sine(length, slope * length / 3.0, speed);
        let made = if hilly { drive_on(config, &Hills) } else { drive(config) };
        derivatives_agree(&made, (0..40).map(|i| f64::from(i) * 0.739));
        if !hilly {
            for i in 0..40 {
                let state = made.state(at(f64::from(i) * 0.53));
                prop_assert!((state.velocity_m_s.length() - speed).abs() < 1e-9 * speed);
            }
        }
    }

    #[test]
    fn paths_through_points(
        turns in prop::collection::vec((4.0..20.0, -0.8..0.8, -0.5..0.5), 1..12),
        speed in 0.2..8.0,
        hilly: bool,
    ) {
        let points = walk(&turns);
        let config = waypoints(&points, speed, false);
        let made = if hilly { drive_on(config, &Hills) } else { drive(config) };
        let duration_s = made.describe().duration_s.unwrap();
        derivatives_agree(&made, (0..60).map(|i| duration_s * f64::from(i) / 57.0));
        if !hilly {
            let brake_s = 2.0_f64.mul_add(speed, 0.5);
            for i in 0..50 {
                let t = (duration_s - brake_s) * f64::from(i) / 50.0;
                let v = made.state(at(t.max(0.0))).velocity_m_s.length();
                prop_assert!(t < 0.0 || (v / speed - 1.0).abs() < 2e-4, "{v} of {speed} at {t}");
            }
            let end = DVec3::from_array(points[points.len() - 1]);
            let rest = made.state(at(duration_s + 5.0));
            prop_assert!(rest.world_from_body.translation.distance(end) < 0.01);
            prop_assert_eq!(rest.velocity_m_s, DVec3::ZERO);
            prop_assert_eq!(rest.angular_rate_rad_s, DVec3::ZERO);
        }
    }

    #[test]
    fn recordings(amplitude in 0.0..2.0, noise in 0.0..0.02, interval in 0.01..0.5, hilly: bool) {
        let count = (12.0 / interval) as u32 + 2;
        let (_folder, path) = file("run.tum", &wobbly_tum(amplitude, noise, count, interval));
        let config = TrajectoryConfig::File { path, speed_m_s: None, closed: false };
        let made = if hilly { drive_on(config, &Hills) } else { drive(config) };
        derivatives_agree(&made, (0..60).map(|i| f64::from(i) * 0.231));
    }

    #[test]
    fn hostile_text_is_refused_or_driven_but_never_panics(
        rows in prop::collection::vec((-2.0..9.0, -50.0..50.0, -50.0..50.0, -4.0..4.0), 0..12),
        closed: bool,
        speed in prop::option::of(0.1..5.0),
    ) {
        let rows: Vec<String> =
            rows.iter().map(|(t, x, y, yaw)| format!("{t},{x},{y},{}", yaw * 57.0)).collect();
        let text = format!("t,x,y,yaw_deg\n{}", rows.join("\n"));
        let (_folder, path) = file("run.csv", &text);
        if let Ok(made) = try_drive(TrajectoryConfig::File { path, speed_m_s: speed, closed }) {
            for i in 0..50 {
                let state = made.state(at(f64::from(i) * 0.3));
                prop_assert!(state.world_from_body.translation.is_finite());
                prop_assert!(state.world_from_body.rotation.is_finite());
                prop_assert!(state.acceleration_m_s2.is_finite());
                prop_assert!(state.angular_rate_rad_s.is_finite());
            }
        }
    }
}

#[test]
fn nothing_jumps_in_any_kind() {
    let square = [[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [20.0, 20.0, 1.0], [0.0, 20.0, 0.0]];
    let recorded = from_file("run.tum", &wobbly_tum(1.0, 0.01, 200, 0.1), None, false);
    for (made, to_s) in [
        (drive(half_sine(10.0, 3.0, 2.0)), 15.0),
        (drive(waypoints(&square, 2.0, true)), 50.0),
        (drive(waypoints(&square, 2.0, false)), 40.0),
        (drive_on(waypoints(&square, 2.0, true), &Hills), 50.0),
        (drive_on(circle(20.0, 2.0), &Hills), 70.0),
        (recorded, 25.0),
    ] {
        nothing_jumps(&made, 0.0, to_s);
    }
}

#[test]
fn still_stands_and_stands_on_the_ground() {
    let still = TrajectoryConfig::Still { position_m: [4.0, 3.0, 9.0], yaw_rad: 1.2 };
    let pose = drive(still.clone()).pose(at(1e6));
    assert_eq!(pose.translation, DVec3::new(4.0, 3.0, 9.0));
    let state = drive_on(still, &Hills).state(at(7.0));
    let height = Hills.height_m(4.0, 3.0).unwrap();
    assert!((state.world_from_body.translation.z - height).abs() < 0.01);
    assert_eq!(state.velocity_m_s, DVec3::ZERO);
    let (_, _, yaw) = rpy_from_quat(state.world_from_body.rotation);
    assert!((yaw - 1.2).abs() < 1e-9);
}

#[test]
fn a_circle_turns_and_pulls_as_it_must() {
    for speed in [2.0, -2.0] {
        let made = drive(circle(20.0, speed));
        let lap_s = std::f64::consts::TAU * 20.0 / 2.0;
        for t in [0.0, 3.0, 1e5] {
            let state = made.state(at(t));
            let forward = state.world_from_body.direction(DVec3::X);
            assert!((state.velocity_m_s - forward * 2.0).length() < 1e-9);
            assert!((state.acceleration_m_s2.length() - 0.2).abs() < 1e-9);
            let rate = DVec3::new(0.0, 0.0, 0.1 * speed.signum());
            assert!((state.angular_rate_rad_s - rate).length() < 1e-12);
            let later = made.state(at(t + lap_s));
            assert!(
                later.world_from_body.translation.distance(state.world_from_body.translation)
                    < 1e-7
            );
        }
    }
}

#[test]
fn a_half_sine_goes_up_then_down_for_ever() {
    let made = drive(TrajectoryConfig::HalfSine {
        start_m: [0.0; 3],
        yaw_rad: 0.0,
        length_m: 10.0,
        amplitude_m: 3.0,
        speed_m_s: 1.0,
    });
    for i in 0..400 {
        let p = made.pose(at(f64::from(i) * 0.5)).translation;
        let wanted = 3.0 * libm::sin(std::f64::consts::PI * p.x / 10.0);
        assert!((p.y - wanted).abs() < 1e-9, "{p}");
    }
    let far = made.pose(at(200.0)).translation;
    assert!(far.x > 100.0 && far.x < 200.0);
}

#[test]
fn a_line_backs_up_facing_forward() {
    let made = drive(TrajectoryConfig::Line { start_m: [0.0; 3], yaw_rad: 0.0, speed_m_s: -2.0 });
    let state = made.state(at(3.0));
    assert!(state.world_from_body.translation.distance(DVec3::new(-6.0, 0.0, 0.0)) < 1e-9);
    assert!((state.world_from_body.direction(DVec3::X) - DVec3::X).length() < 1e-12);
}

#[test]
fn a_closed_path_meets_its_points_every_lap() {
    let points = [[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [20.0, 20.0, 1.0], [0.0, 20.0, 0.0]];
    let made = drive(waypoints(&points, 2.0, true));
    let lap_s = made.describe().duration_s.unwrap();
    for t in [0.3, 17.0, lap_s - 1e-3] {
        let (now, later) = (made.state(at(t)), made.state(at(t + 3.0 * lap_s)));
        let moved = now.world_from_body.translation.distance(later.world_from_body.translation);
        assert!(moved < 1e-6, "{moved}");
        assert!((now.acceleration_m_s2 - later.acceleration_m_s2).length() < 1e-6);
    }
    for point in points {
        let nearest = (0..20_000)
            .map(|i| made.pose(at(lap_s * f64::from(i) / 2e4)).translation)
            .map(|p| p.distance(DVec3::from_array(point)))
            .fold(f64::INFINITY, f64::min);
        assert!(nearest < 0.006, "{nearest}");
    }
    assert!(made.describe().deviation_m.max < 0.004, "{}", made.describe());
}

#[test]
fn two_points_make_a_straight_drive_to_a_stop() {
    let made = drive(waypoints(&[[0.0; 3], [0.0, 10.0, 0.0]], 2.0, false));
    let half = made.state(at(2.0));
    assert!((half.world_from_body.translation - DVec3::new(0.0, 4.0, 0.0)).length() < 1e-6);
    assert!(half.acceleration_m_s2.length() < 1e-5, "{half:?}");
    let (_, _, yaw) = rpy_from_quat(half.world_from_body.rotation);
    assert!((yaw - std::f64::consts::FRAC_PI_2).abs() < 1e-9);
}

#[test]
fn noise_of_a_recording_does_not_shake_the_robot() {
    // Samples at 100 Hz that alternate between 1 cm left and 1 cm right; without smoothing, this would be 400 m/s².
    let text = wobbly_tum(0.0, 0.01, 1000, 0.01);
    let made = from_file("run.tum", &text, None, false);
    assert!(made.describe().max_acceleration_m_s2 < 2.0, "{}", made.describe());
    let state = made.state(at(5.0));
    assert!((state.velocity_m_s - DVec3::new(1.5, 0.0, 0.1)).length() < 0.02, "{state:?}");
}

#[test]
fn a_recording_is_followed_in_place_and_orientation() {
    let text = wobbly_tum(1.0, 0.0, 400, 0.05);
    let made = from_file("run.tum", &text, None, false);
    for i in 1..360 {
        let t = f64::from(i) * 0.05;
        let pose = made.pose(at(t));
        let wanted = DVec3::new(1.5 * t, libm::sin(0.8 * t), 0.1 * t);
        assert!(pose.translation.distance(wanted) < 0.12, "{t}: {} {wanted}", pose.translation);
        let (_, _, yaw) = rpy_from_quat(pose.rotation);
        let wanted = libm::atan2(0.8 * libm::cos(0.8 * t), 1.5);
        assert!((yaw - wanted).abs() < 0.04, "{t}: {yaw} {wanted}");
    }
    assert_eq!(made.state(at(1e4)).velocity_m_s, DVec3::ZERO);
}

#[test]
fn a_robot_that_pauses_keeps_its_heading_and_place() {
    // 10 m north, a minute of rest without samples, a minute of rest with samples, 10 m east.
    let mut text = String::from("time_s,x_m,y_m\n");
    for i in 0..=100 {
        text += &format!("{},0,{}\n", f64::from(i) * 0.1, f64::from(i) * 0.1);
    }
    for i in 0..=600 {
        text += &format!("{},0,10\n", 70.0 + f64::from(i) * 0.1);
    }
    for i in 1..=100 {
        text += &format!("{},{},10\n", 130.0 + f64::from(i) * 0.1, f64::from(i) * 0.1);
    }
    let made = from_file("pause.csv", &text, None, false);
    derivatives_agree(&made, (0..140).map(f64::from));
    let paused = made.state(at(45.0));
    assert!(paused.world_from_body.translation.distance(DVec3::new(0.0, 10.0, 0.0)) < 0.05);
    assert!(paused.velocity_m_s.length() < 0.01 && paused.angular_rate_rad_s.length() < 0.05);
    let heading = |t: f64| rpy_from_quat(made.pose(at(t)).rotation).2;
    assert!((heading(5.0) - std::f64::consts::FRAC_PI_2).abs() < 0.05);
    assert!(heading(138.0).abs() < 0.05);
}

#[test]
fn a_closed_recording_goes_round_with_its_heading() {
    // One lap of a circle in 20 s; the last sample is one step before the first.
    let text: String = (0..200)
        .map(|i| f64::from(i) * std::f64::consts::TAU / 200.0)
        .map(|a| {
            let q = menura::frames::quat_from_rpy(0.0, 0.0, a + std::f64::consts::FRAC_PI_2);
            let (s, c) = libm::sincos(a);
            format!(
                "{} {} {} 0 {} {} {} {}\n",
                a * 10.0 / std::f64::consts::PI,
                5.0 * c,
                5.0 * s,
                q.x,
                q.y,
                q.z,
                q.w
            )
        })
        .collect();
    let bare: String = text
        .lines()
        .map(|l| l.split(' ').take(3).collect::<Vec<_>>().join(","))
        .fold(String::from("t,x,y"), |all, line| all + "\n" + &line);
    for made in [from_file("lap.txt", &text, None, true), from_file("lap.csv", &bare, None, true)] {
        assert!((made.describe().duration_s.unwrap() - 20.0).abs() < 0.01, "{}", made.describe());
        nothing_jumps(&made, 15.0, 25.0);
        derivatives_agree(&made, (0..100).map(|i| f64::from(i) * 0.47));
        for t in [0.0, 9.0, 19.99, 20.0, 47.0] {
            let state = made.state(at(t));
            assert!((state.angular_rate_rad_s.z - 0.314).abs() < 0.03, "{t} {state:?}");
            assert!((state.velocity_m_s.length() - 1.57).abs() < 0.05, "{t} {state:?}");
            let forward = state.world_from_body.direction(DVec3::X);
            assert!(forward.dot(state.velocity_m_s.normalize()) > 0.99, "{t} {state:?}");
        }
    }
}

#[test]
fn a_gpx_track_is_driven_where_it_was_recorded() {
    let geo = geo();
    let place = |t: f64| DVec3::new(3.0 * t, 20.0 * libm::sin(0.05 * t), 0.0);
    let points: String = (0..60)
        .map(|i| {
            let g = geo.geodetic_from_world(place(f64::from(i)));
            format!(
                "<trkpt lat=\"{:.9}\" lon=\"{:.9}\"><ele>{:.3}</ele>\
                 <time>2026-06-01T12:00:{i:02}Z</time></trkpt>\n",
                g.latitude_deg, g.longitude_deg, g.altitude_m
            )
        })
        .collect();
    let text = format!("<gpx version=\"1.1\"><trk><trkseg>\n{points}</trkseg></trk></gpx>");
    let timed = from_file("track.gpx", &text, None, false);
    for i in 2..50 {
        let t = f64::from(i);
        let state = timed.state(at(t));
        assert!(state.world_from_body.translation.distance(place(t)) < 2.0);
        let forward = state.world_from_body.direction(DVec3::X);
        assert!(forward.dot(state.velocity_m_s.normalize()) > 0.98, "{t} {state:?}");
    }
    let driven = from_file("track.gpx", &text, Some(5.0), false);
    assert!((driven.state(at(10.0)).velocity_m_s.length() - 5.0).abs() < 1e-3);
    let undated = text.replace("<time>2026-06-01T12:00:07Z</time>", "");
    assert_eq!(
        file_fault("track.gpx", &undated, None, false),
        "track.gpx:9: no time; allowed: a time for each pose, or give `speed_m_s`"
    );
    from_file("track.gpx", &undated, Some(5.0), false);
}

#[test]
fn faults_of_files_say_where_and_what_would_do() {
    let poses = |times: &[f64]| -> String {
        times.iter().map(|t| format!("{t} {t} 0 0 0 0 0 1\n")).collect()
    };
    let cases = [
        (
            "a.tum",
            poses(&[0.0, 1.0, 1.0]),
            false,
            "a.tum:3: the time goes from 1 s to 1 s; allowed: increasing times, or give \
             `speed_m_s`",
        ),
        ("a.tum", poses(&[5.0]), false, "a.tum: found 1 poses; allowed: at least 2"),
        ("a.tum", String::new(), false, "a.tum: found 0 poses; allowed: at least 2"),
        (
            "a.tum",
            poses(&[0.0, 1.0, 2.0, 3.0, 4.0]),
            true,
            "a.tum: `closed`, but the last pose is 4.00 m from the first; allowed: 1.50 m",
        ),
        ("a.tum", poses(&[0.0, 1e-6]), false, "a.tum: lasts 0.000001 s; allowed: at least 0.01 s"),
        (
            "a.vprp",
            "@Data\n0.01:0 0 0:1 0 0 0\n0.02:9 nan 0:1 0 0 0\n@END".into(),
            false,
            "a.vprp:3: y: found `nan`; allowed: a number from -1e7 to 1e7",
        ),
        (
            "a.vprp",
            "@Data\n0.01:0 0 0:1 0 0 0\n0.02:9 0 0:1 0 0 0\n@END".into(),
            false,
            "a.vprp: its times give a speed of 900 m/s, so they are counters, not seconds; give \
             `speed_m_s`",
        ),
        (
            "a.xyz",
            String::new(),
            false,
            "a.xyz: unknown kind of trajectory file `.xyz`; allowed: .tum, .txt, .csv, .gpx, .vprp",
        ),
    ];
    for (name, text, closed, wanted) in cases {
        assert_eq!(file_fault(name, &text, None, closed), wanted);
    }
    let tumbling: String = (0..300)
        .map(|i| {
            let angle = f64::from(i) * 2.0;
            let q = menura::frames::quat_from_rpy(angle, 0.4 * angle, 1.3 * angle);
            format!("{} {i} 0 0 {} {} {} {}\n", f64::from(i) * 0.001, q.x, q.y, q.z, q.w)
        })
        .collect();
    let message = file_fault("a.tum", &tumbling, None, false);
    assert!(message.starts_with("a.tum: the orientation turns too fast to follow"), "{message}");
    let missing =
        TrajectoryConfig::File { path: "no/such.csv".into(), speed_m_s: None, closed: false };
    let message = try_drive(missing).unwrap_err().to_string();
    assert!(message.starts_with("no/such.csv: cannot be read: "), "{message}");
}

#[test]
fn faults_of_parameters_name_the_key() {
    let message = |config: TrajectoryConfig| try_drive(config).unwrap_err().to_string();
    assert_eq!(
        message(circle(0.0, 1.0)),
        "trajectory.radius_m: found 0; allowed: 0.001 to 10000000"
    );
    assert_eq!(
        message(half_sine(10.0, f64::NAN, 1.0)),
        "trajectory.amplitude_m: found NaN; allowed: -100 to 100"
    );
    assert_eq!(
        message(waypoints(&[[0.0; 3], [1.0, f64::INFINITY, 0.0]], 1.0, false)),
        "trajectory.points_m[1]: found inf; allowed: -10000000 to 10000000"
    );
    assert_eq!(
        message(waypoints(&[[0.0; 3], [1.0, 0.0, 0.0]], 1.0, true)),
        "trajectory.points_m: 2 different points; allowed: at least 3"
    );
    assert_eq!(
        message(waypoints(&[[0.0; 3], [0.0, 0.0, 2.0]], 1.0, false)),
        "trajectory.points_m: points_m[1] is straight above or below the point before; \
         allowed: points apart in x or y, because the robot faces along its path"
    );
    let robot = RobotConfig::new(circle(1.0, 1.0), true);
    assert_eq!(
        Trajectory::new(&robot, &geo(), None).unwrap_err().to_string(),
        "follow_ground: the scene has no ground; allowed: false, or a scene with ground"
    );
}

#[test]
fn the_ground_carries_the_robot() {
    let made = drive_on(circle(20.0, 2.0), &Hills);
    let lap_s = made.describe().duration_s.unwrap();
    for i in 0..500 {
        let t = lap_s * f64::from(i) / 500.0;
        let pose = made.pose(at(t));
        let p = pose.translation;
        assert!((p.z - Hills.height_m(p.x, p.y).unwrap()).abs() < 5e-3, "{t} {p}");
        // The body's up axis is the surface normal.
        let slope_x = 0.16 * libm::cos(p.x * 0.2);
        let slope_y = -0.075 * libm::sin(p.y * 0.15 + 0.3);
        let normal = DVec3::new(-slope_x, -slope_y, 1.0).normalize();
        assert!((pose.direction(DVec3::Z) - normal).length() < 2e-3, "{t}");
    }
    let (first, next) = (made.state(at(0.5)), made.state(at(0.5 + lap_s)));
    assert!((first.acceleration_m_s2 - next.acceleration_m_s2).length() < 1e-6);
}

#[test]
#[ignore = "needs reference data"]
fn shipped_waypoint_files_are_driven() {
    let folder = std::fs::read_dir(shared("scenes/mavs/data/waypoints")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 9);
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let loops = name == "traversal_scene_path.vprp";
        let made = drive(TrajectoryConfig::File {
            path: path.clone(),
            speed_m_s: Some(2.0),
            closed: loops,
        });
        eprintln!("{}", made.describe());
        let d = made.describe();
        assert!(d.deviation_m.max < 2.5 && d.max_acceleration_m_s2 < 20.0, "{d}");
        let duration_s = d.duration_s.unwrap();
        derivatives_agree(&made, (0..200).map(|i| duration_s * f64::from(i) / 200.0));
        for i in 0..200 {
            let t = (duration_s - 4.0) * f64::from(i) / 200.0;
            let state = made.state(at(t));
            assert!((state.velocity_m_s.length() - 2.0).abs() < 0.02, "{name} {t}");
            let forward = state.world_from_body.direction(DVec3::X);
            assert!(forward.dot(state.velocity_m_s) > 1.99, "{name} {t}");
        }
        let by_times = try_drive(TrajectoryConfig::File { path, speed_m_s: None, closed: loops });
        if name == "vehicle2_pos_1.vprp" {
            // A recorded drive with real times.
            let made = by_times.unwrap();
            eprintln!("{}", made.describe());
            derivatives_agree(&made, (0..170).map(|i| f64::from(i) * 0.1));
            assert!(made.describe().deviation_m.max <= 0.121, "{}", made.describe());
        } else {
            let message = by_times.unwrap_err().to_string();
            assert!(message.contains("counters, not seconds; give `speed_m_s`"), "{message}");
        }
    }
}

#[test]
fn the_end_of_time_is_answered_too() {
    let made = drive(circle(20.0, 2.0));
    let far = made.state(SimTime(u64::MAX));
    assert!(far.world_from_body.translation.is_finite());
    let made = drive_on(waypoints(&walk(&[(10.0, 0.3, 0.0); 8]), 2.0, false), &Hills);
    assert_eq!(made.pose(SimTime(u64::MAX)), made.pose(at(1e5)));
    let made = drive_on(half_sine(10.0, 3.0, 2.0), &Hills);
    assert!(made.state(SimTime(u64::MAX)).acceleration_m_s2.is_finite());
}
