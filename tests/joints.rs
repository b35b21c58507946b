//! Devices on joints: each firing, sample and epoch is taken from where the joint is then.

mod common;

use glam::{DVec3, dvec3};
use menura::config::rig::DeviceId;
use menura::engine::build_devices;
use menura::sensors::imu::ImuSensor;
use menura::sensors::lidar::Scratch;
use menura::sensors::{MeasurementRequest, Outcome, Subject};
use menura::time::{Epoch, SimTime};

fn epoch() -> Epoch {
    Epoch::new("2026-06-01T12:00:00Z".parse().unwrap())
}

/// A scanner on its side on a head that turns `rate_deg_s`, on a robot that drives a circle.
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
mount = {{ on = "head", translation_m = [0.05, 0.0, 0.1], roll_pitch_yaw_deg = [90.0, 0.0, 0.0] }}
link = {{ pty = "scanner" }}
[device.settings]
rate_baud = 500000
power_on_mode = "continuous"
unit = "mm"
beam = {{ shape = "ray" }}
noise = {{ none = true }}
"#
    )
}

/// Metres from inside the room to its surface.
fn surface_m(origin: DVec3, direction: DVec3) -> f64 {
    let (low, high) = (dvec3(-15.0, -12.0, 0.0), dvec3(15.0, 12.0, 4.0));
    (0..3)
        .filter(|axis| direction[*axis] != 0.0)
        .map(|axis| {
            let face = if direction[axis] > 0.0 { high[axis] } else { low[axis] };
            (face - origin[axis]) / direction[axis]
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn every_firing_is_measured_from_where_the_joints_are_then() {
    // 109 degrees/s are a turn in 3.3 s, 1146 are 20 rad/s.
    for (rate_deg_s, interpolated_is_off_m) in [(109.09, 0.003), (-1145.9, 0.5)] {
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
                // A wall that is met at a grazing angle sends too little back.
                let Some(seen) = seen.first else { continue };
                let at = SimTime(start.0 + u64::from(firing.offset_ns));
                let azimuth_rad = sweep.azimuth_at(firing.offset_ns.into());
                let (sin, cos) = libm::sincos(azimuth_rad);
                let beam = dvec3(cos, -sin, 0.0);
                let body = world.trajectory.pose(at);
                let pose = body * around.mount_at(at);
                let range_m = f64::from(seen.range_m);
                let wall_m = |pose: menura::frames::Transform<_, menura::frames::Sensor>| {
                    surface_m(pose.translation, pose.direction(beam))
                };
                worst_m = worst_m.max((range_m - wall_m(pose)).abs());
                let share = firing.offset_ns as f64 / (end.0 - start.0) as f64;
                let between = ends[0].interpolate(&ends[1], share);
                interpolated_m = interpolated_m.max((range_m - wall_m(between)).abs());
                firings += 1;
            }
        }
        assert!(firings > 5000, "{firings}");
        // What remains is the body's arc of 13 ms, 4 um, and single precision.
        assert!(worst_m < 1e-4, "{rate_deg_s}: {worst_m}");
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
mount = { on = "wheel", translation_m = [0.3, 0.1, 0.2], roll_pitch_yaw_deg = [10.0, 20.0, 30.0] }
link = { pty = "imu" }
[[device]]
name = "gnss"
profile = "phone-gnss"
mount = { on = "wheel", translation_m = [0.3, 0.1, 0.2] }
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
