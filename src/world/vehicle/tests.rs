use std::f64::consts::{FRAC_PI_2, PI};

use super::*;
use crate::config::rig::drive::{DriveModel, IcrVariation, Suspension};
use crate::config::rig::objects::ObjectShape;
use crate::config::rig::{AndabataFieldParameters, RobotConfig, RoomParameters, TrajectoryConfig};
use crate::frames::{GeoOrigin, Geodetic};
use crate::world::actuation::Actuation;
use crate::world::builtin::andabata_field::{self, DITCHES_M};
use crate::world::builtin::{bodies, room};
use crate::world::ground::Terrain;
use crate::world::moving::{MovingCaster, MovingObject};
use crate::world::raycast::{BvhCaster, OpenSky};
use crate::world::trajectory::Trajectory;

const FOOTPRINT_M: [f64; 2] = [0.67, 0.54];

/// The robot of the Andabata paper.
fn paper() -> DriveConfig {
    let model = DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation: None };
    DriveConfig { max_speed_m_s: 0.68, lag_s: 0.035, ..DriveConfig::of(model) }
}

fn springs() -> Option<Suspension> {
    Some(Suspension { stroke_m: 0.065, stiffness_n_m: 3976.6, damping_kg_s: 75.76, mass_kg: 41.0 })
}

fn at_s(seconds: f64) -> SimTime {
    SimTime::from_secs_f64(seconds)
}

/// Sends `driven` a command at a given time.
fn tell(driven: &Driven, seconds: f64, actuation: Actuation) {
    let at = at_s(seconds);
    driven.command(Command { at, serial: at.0, arrived: at, actuation });
}

fn twist(forward_m_s: f64, turn_rad_s: f64) -> Actuation {
    Actuation::Twist { forward_m_s, turn_rad_s }
}

fn treads(left_m_s: f64, right_m_s: f64) -> Actuation {
    Actuation::Treads { left_m_s, right_m_s }
}

/// Position, and the direction of the heading, at a given time.
fn place(driven: &Driven, seconds: f64) -> (DVec3, DVec3) {
    let pose = driven.state(at_s(seconds)).world_from_body;
    (pose.translation, pose.direction(DVec3::X))
}

/// A static scene, and a robot on its ground.
struct Field {
    caster: BvhCaster,
    driven: Driven,
}

fn in_scene(scene: Scene, config: DriveConfig, footprint_m: [f64; 2]) -> Field {
    let terrain = Terrain::new(&scene);
    let scene = Arc::new(scene);
    let driven = Driven::new(config, footprint_m);
    assert!(driven.stand_on(Arc::new(terrain)));
    driven.look_around(scene.clone(), Vec::new());
    Field { caster: BvhCaster::new(scene).unwrap(), driven }
}

fn in_room(config: DriveConfig) -> Field {
    let parameters = RoomParameters { size_m: [10.0, 10.0, 3.0], ..RoomParameters::default() };
    in_scene(room::build(&parameters), config, FOOTPRINT_M)
}

/// Ground defined by a formula.
struct Relief<F>(F);
impl<F: Fn(f64, f64) -> Option<f64> + Send + Sync> GroundHeight for Relief<F> {
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        (self.0)(x_m, y_m)
    }
}

/// Dead reckoning of an IMU: integrates acceleration and angular rate in steps of 0.1 ms, and compares the result with
/// the robot's states. Returns the largest deviations of velocity (m/s), position (m) and orientation (radians).
fn dead_reckoning(driven: &Driven, from_s: f64, to_s: f64) -> (f64, f64, f64) {
    let steps = ((to_s - from_s) * 1e4).round() as u64;
    let first = driven.state(at_s(from_s));
    let (mut velocity, mut position) = (first.velocity_m_s, first.world_from_body.translation);
    let mut rotation = first.world_from_body.rotation;
    let dt = 1e-4;
    let (mut worst_speed, mut worst_way, mut worst_angle) = (0.0_f64, 0.0_f64, 0.0_f64);
    for step in 0..steps {
        // The middle of the interval; no step of the vehicle begins there.
        let middle = driven.state(SimTime(at_s(from_s).0 + step * 100_000 + 50_000));
        position += velocity * dt + 0.5 * dt * dt * middle.acceleration_m_s2;
        velocity += middle.acceleration_m_s2 * dt;
        let turn = middle.angular_rate_rad_s * dt;
        let angle = turn.length();
        if angle > 0.0 {
            rotation *= crate::frames::quat_about(turn / angle, angle);
        }
        let now = driven.state(SimTime(at_s(from_s).0 + (step + 1) * 100_000));
        worst_speed = worst_speed.max((velocity - now.velocity_m_s).length());
        worst_way = worst_way.max((position - now.world_from_body.translation).length());
        let off = (rotation.conjugate() * now.world_from_body.rotation).normalize();
        worst_angle = worst_angle.max(2.0 * DVec3::new(off.x, off.y, off.z).length());
    }
    (worst_speed, worst_way, worst_angle)
}

#[test]
fn a_step_of_the_treads_has_the_papers_lag() {
    let driven = Driven::new(paper(), FOOTPRINT_M);
    tell(&driven, 0.0, treads(0.3, 0.3));
    driven.advance(at_s(0.2), &OpenSky);
    for ms in 1..=200_u64 {
        let reached = driven.state(SimTime(ms * STEP_NS)).velocity_m_s.x / 0.3;
        let expected = 1.0 - libm::exp(-(ms as f64) / 35.0);
        assert!((reached - expected).abs() < 1e-9, "{ms} ms: {reached}");
        assert_eq!(reached >= 0.632, ms >= 35);
    }
    let way = place(&driven, 0.2).0.x;
    let expected = 0.3 * (0.2 - 0.035 * (1.0 - libm::exp(-0.2 / 0.035)));
    assert!((way - expected).abs() < 1e-9, "{way} {expected}");
    assert!((driven.wheels(at_s(0.2)).travel_m[0] - expected).abs() < 1e-9);
    assert_eq!(driven.shown_at(SimTime(1)).unwrap().serial, 0);
}

/// The robot drives a square with sides of 1 m and turns in place after each side. It returns to its start. Odometry
/// from the wheels' travel alone, with the same centres of rotation, gives one whole turn.
#[test]
fn a_square_ends_where_the_kinematics_say() {
    for (model, between) in [
        (DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation: None }, 0.9),
        (DriveModel::SkidSteer { y_icr_m: [0.4, 0.6], x_icr_m: 0.0, variation: None }, 1.0),
        (DriveModel::Differential { track_m: 0.4 }, 0.4),
    ] {
        let driven = Driven::new(DriveConfig { model, ..paper() }, FOOTPRINT_M);
        let mut now = 0.0;
        for _ in 0..4 {
            // The distance travelled is the product of set point and duration, whatever the lag.
            tell(&driven, now, twist(0.25, 0.0));
            tell(&driven, now + 4.0, twist(0.0, 0.0));
            tell(&driven, now + 5.0, twist(0.0, 0.5));
            tell(&driven, now + 5.0 + PI, twist(0.0, 0.0));
            now += 10.0;
        }
        driven.advance(at_s(now), &OpenSky);
        for side in 1..=4 {
            let (position, ahead) = place(&driven, 10.0 * f64::from(side));
            let corner = [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)][side as usize - 1];
            let off = (position - DVec3::new(corner.0, corner.1, 0.0)).length();
            // A turn ends at a whole millisecond: up to 0.5 mrad too far.
            assert!(off < 4e-3, "side {side}: {position}");
            let heading = libm::atan2(ahead.y, ahead.x);
            let turned = (heading - f64::from(side) * FRAC_PI_2).rem_euclid(2.0 * PI);
            assert!(turned.min(2.0 * PI - turned) < 3e-3, "side {side}: {heading}");
        }
        let [left, right] = driven.wheels(at_s(now)).travel_m;
        assert!(((right - left) / between - 2.0 * PI).abs() < 3e-3, "{left} {right}");
    }
}

#[test]
fn a_circle_is_exact_to_a_tenth_of_a_millimetre_after_a_minute() {
    let driven = Driven::new(paper(), FOOTPRINT_M);
    tell(&driven, 0.0, twist(0.3, 0.6));
    driven.advance(at_s(59.0), &OpenSky);
    // From 1 s on the motion is a circle of 0.5 m, which begins at the pose after the first second.
    let (start, ahead) = place(&driven, 1.0);
    let centre = start + 0.5 * DVec3::new(-ahead.y, ahead.x, 0.0);
    for second in 2..=59 {
        let (position, _) = place(&driven, f64::from(second));
        assert!(((position - centre).length() - 0.5).abs() < 1e-4, "{second} s");
    }
    let (_, end) = place(&driven, 59.0);
    let turned = libm::atan2(end.y, end.x) - libm::atan2(ahead.y, ahead.x);
    let off = (turned - 0.6 * 58.0).rem_euclid(2.0 * PI);
    assert!(off.min(2.0 * PI - off) < 1e-6, "{off}");
}

#[test]
fn a_car_drives_its_circle() {
    let model = DriveModel::Ackermann {
        wheelbase_m: 0.33,
        track_m: 0.3,
        max_steering_rad: 0.5,
        steering_rate_rad_s: 3.0,
    };
    let config = DriveConfig { model, max_speed_m_s: 3.0, lag_s: 0.1, ..paper() };
    let driven = Driven::new(config, [0.33, 0.3]);
    tell(&driven, 0.0, Actuation::Steering { forward_m_s: 1.0, steering_rad: 0.3 });
    driven.advance(at_s(20.0), &OpenSky);
    let radius_m = 0.33 / libm::tan(0.3);
    // The middle of the rear axle is half a wheelbase behind the body's origin.
    let axle = |seconds: f64| {
        let (position, ahead) = place(&driven, seconds);
        (position - 0.165 * ahead, DVec3::new(-ahead.y, ahead.x, 0.0))
    };
    let (start, left) = axle(2.0);
    let centre = start + radius_m * left;
    for second in 3..=20 {
        let off = (axle(f64::from(second)).0 - centre).length() - radius_m;
        assert!(off.abs() < 1e-4, "{second} s: {off}");
    }
    let wheels = driven.wheels(at_s(20.0));
    assert!((wheels.steering_rad - 0.3).abs() < 1e-9);
    assert!((wheels.speed_m_s[1] - (1.0 + 0.15 / radius_m)).abs() < 1e-6);
}

#[test]
fn orders_hold_in_their_order_and_from_whole_milliseconds_on() {
    let driven = Driven::new(paper(), FOOTPRINT_M);
    let command = |ns: u64, serial: u64, speed: f64| Command {
        at: SimTime(ns),
        serial,
        arrived: SimTime(ns),
        actuation: treads(speed, speed),
    };
    driven.command(command(2_000_001, 3, 0.1));
    driven.command(command(1_500_000, 2, 0.2));
    driven.command(command(1_500_000, 1, 0.3));
    driven.advance(SimTime(10_500_000), &OpenSky);
    assert_eq!(driven.known_until(), SimTime(10_000_000));
    let setpoint = |ms: u64| driven.wheels(SimTime(ms * STEP_NS)).setpoint_m_s[0];
    assert_eq!([setpoint(1), setpoint(2), setpoint(3)], [0.0, 0.2, 0.1]);
    let serial = |ms: u64| driven.shown_at(SimTime(ms * STEP_NS)).map(|shown| shown.serial);
    assert_eq!([serial(1), serial(2), serial(3)], [None, Some(2), Some(3)]);
}

#[test]
fn a_cut_of_power_brakes_and_what_is_told_meanwhile_holds_after_it() {
    let driven = Driven::new(paper(), FOOTPRINT_M);
    tell(&driven, 0.0, treads(0.5, 0.5));
    tell(&driven, 1.0, Actuation::EmergencyStop(true));
    tell(&driven, 2.0, treads(0.4, 0.4));
    tell(&driven, 3.0, Actuation::EmergencyStop(false));
    tell(&driven, 4.0, Actuation::EmergencyStop(true));
    tell(&driven, 5.0, Actuation::EmergencyStop(false));
    driven.advance(at_s(6.0), &OpenSky);
    let speed = |seconds: f64| driven.state(at_s(seconds)).velocity_m_s.x;
    assert!((speed(0.99) - 0.5).abs() < 1e-6 && speed(1.4) < 1e-5 && speed(2.9) < 1e-12);
    assert!((speed(3.9) - 0.4).abs() < 1e-6);
    assert!(speed(5.9) < 1e-12, "what was told before the cut is forgotten");
}

#[test]
fn a_reset_is_a_jump_without_a_velocity() {
    let config = DriveConfig { position_m: [1.0, 2.0, 0.0], yaw_rad: 0.3, ..paper() };
    let driven = Driven::new(config, FOOTPRINT_M);
    tell(&driven, 0.0, twist(0.5, 0.2));
    tell(&driven, 3.0, Actuation::Reset);
    tell(&driven, 4.0, twist(0.1, 0.0));
    driven.advance(at_s(5.0), &OpenSky);
    let before = driven.state(SimTime(2_999_999_999));
    assert!(before.velocity_m_s.length() > 0.49 && before.acceleration_m_s2.length() < 0.2);
    let after = driven.state(at_s(3.0));
    assert_eq!(after.world_from_body.translation, DVec3::new(1.0, 2.0, 0.0));
    assert_eq!((after.velocity_m_s, after.acceleration_m_s2), (DVec3::ZERO, DVec3::ZERO));
    let wheels = driven.wheels(at_s(3.5));
    assert_eq!((wheels.travel_m, wheels.speed_m_s), ([0.0; 2], [0.0; 2]));
    assert!(driven.state(at_s(4.9)).velocity_m_s.length() > 0.09);
    let end = driven.state(at_s(5.0));
    driven.restart();
    assert_eq!(driven.known_until(), SimTime::ZERO);
    tell(&driven, 0.0, twist(0.1, 0.0));
    driven.advance(at_s(1.0), &OpenSky);
    let again = driven.state(at_s(1.0));
    assert!((again.world_from_body.translation - end.world_from_body.translation).length() < 1e-12);
}

#[test]
fn velocity_is_the_integral_of_acceleration_and_the_pose_that_of_both() {
    let relief =
        |x: f64, y: f64| Some(0.3 * libm::sin(0.8 * x) + 0.2 * libm::cos(0.7 * y) + 0.1 * x);
    for suspension in [None, springs()] {
        let driven = Driven::new(DriveConfig { suspension, ..paper() }, FOOTPRINT_M);
        assert!(driven.stand_on(Arc::new(Relief(relief))));
        tell(&driven, 0.1, twist(0.5, 0.6));
        tell(&driven, 2.0, twist(0.6, -0.4));
        tell(&driven, 4.0, twist(-0.3, 0.9));
        driven.advance(at_s(6.0), &OpenSky);
        let (speed, way, angle) = dead_reckoning(&driven, 0.0, 6.0);
        assert!(speed < 1e-7 && way < 1e-6 && angle < 1e-5, "{speed} {way} {angle}");
        // Positions and velocities have no jumps.
        let mut last = driven.state(SimTime::ZERO);
        for tenth in 1..60_000_u64 {
            let next = driven.state(SimTime(tenth * 100_000));
            let step = next.world_from_body.translation - last.world_from_body.translation;
            assert!(
                step.length() < 1e-4 && (next.velocity_m_s - last.velocity_m_s).length() < 5e-3
            );
            last = next;
        }
    }
}

#[test]
fn on_a_slope_the_robot_lies_in_it_and_its_treads_measure_along_it() {
    let plane = |x: f64, y: f64| Some(0.3 * x - 0.2 * y + 1.0);
    let normal = DVec3::new(-0.3, 0.2, 1.0).normalize();
    for suspension in [None, springs()] {
        let config = DriveConfig { suspension, yaw_rad: 0.7, ..paper() };
        let driven = Driven::new(config, FOOTPRINT_M);
        assert!(driven.stand_on(Arc::new(Relief(plane))));
        let start = driven.state(SimTime::ZERO).world_from_body;
        assert!((start.direction(DVec3::Z) - normal).length() < 1e-9);
        assert!((start.translation.z - 1.0).abs() < 1e-9);
        tell(&driven, 0.0, twist(0.5, 0.0));
        driven.advance(at_s(5.0), &OpenSky);
        let end = driven.state(at_s(5.0));
        let p = end.world_from_body.translation;
        assert!((p.z - plane(p.x, p.y).unwrap()).abs() < 2e-3, "{p}");
        assert!((end.world_from_body.direction(DVec3::Z) - normal).length() < 2e-3);
        let way = (p - start.translation).length();
        let travel = driven.wheels(at_s(5.0)).travel_m[0];
        assert!((way - travel).abs() < 2e-3, "{way} {travel}");
        assert!((end.velocity_m_s.length() - 0.5).abs() < 1e-3);
        // Turning in place is about the plane's normal, at the commanded rate.
        tell(&driven, 5.0, twist(0.0, 0.5));
        driven.advance(at_s(8.0), &OpenSky);
        let turning = driven.state(at_s(7.0));
        assert!((turning.angular_rate_rad_s.z - 0.5).abs() < 2e-3);
        assert!((turning.world_from_body.direction(DVec3::Z) - normal).length() < 0.02);
    }
}

#[test]
fn beyond_the_ground_wheels_keep_their_height() {
    let edge = |x: f64, _: f64| (x < 1.0).then_some(0.5);
    let driven = Driven::new(paper(), FOOTPRINT_M);
    assert!(driven.stand_on(Arc::new(Relief(edge))));
    tell(&driven, 0.0, twist(0.5, 0.0));
    driven.advance(at_s(5.0), &OpenSky);
    let pose = driven.state(at_s(5.0)).world_from_body;
    assert!(pose.translation.x > 2.0 && (pose.translation.z - 0.5).abs() < 1e-9);
    assert!(driven.wheel_heights_m(at_s(5.0)).iter().all(|height| height.is_nan()));
    let far = DriveConfig { position_m: [9.0, 0.0, 0.0], ..paper() };
    assert!(!Driven::new(far, FOOTPRINT_M).stand_on(Arc::new(Relief(edge))));
}

#[test]
fn a_wall_stops_the_body_and_not_the_wheels() {
    let Field { caster, driven } = in_room(paper());
    tell(&driven, 0.0, twist(0.6, 0.0));
    tell(&driven, 12.0, twist(-0.3, 0.0));
    tell(&driven, 14.0, twist(0.0, 0.0));
    driven.advance(at_s(15.0), &caster);
    let (stands, _) = place(&driven, 11.0);
    let gap = 5.0 - 0.335 - stands.x;
    assert!((-0.002..0.005).contains(&gap), "{gap}");
    assert!(driven.state(at_s(11.0)).velocity_m_s.length() < 1e-6);
    let wheels = driven.wheels(at_s(11.0));
    assert!((wheels.speed_m_s[0] - 0.6).abs() < 1e-6 && wheels.travel_m[0] > 6.5, "{wheels:?}");
    // Driving backwards is possible.
    let (back, _) = place(&driven, 15.0);
    assert!((stands.x - back.x - 0.6).abs() < 0.02, "{back}");
    let events = driven.take_events();
    assert_eq!((events.len(), driven.contacts()), (2, 1), "{events:?}");
    let DriveEventKind::Touches { name, point_m } = &events[0].what else { panic!("{events:?}") };
    assert!((point_m.x - 5.0).abs() < 1e-3 && !name.is_empty());
    assert!((7.0..8.0).contains(&events[0].at.as_secs_f64()), "{events:?}");
    assert_eq!(events[1].what, DriveEventKind::IsFree);
    assert!((12.0..12.1).contains(&events[1].at.as_secs_f64()));
    let (_, way, _) = dead_reckoning(&driven, 7.0, 8.5);
    assert!(way < 1e-6, "{way}");
}

#[test]
fn a_wall_is_met_at_any_angle_and_with_any_model() {
    for (yaw, model) in [
        (0.5, paper().model),
        (1.1, DriveModel::Differential { track_m: 0.4 }),
        (
            2.5,
            DriveModel::Ackermann {
                wheelbase_m: 0.5,
                track_m: 0.4,
                max_steering_rad: 0.5,
                steering_rate_rad_s: 3.0,
            },
        ),
    ] {
        let Field { caster, driven } = in_room(DriveConfig { model, yaw_rad: yaw, ..paper() });
        tell(&driven, 0.0, twist(0.5, 0.0));
        driven.advance(at_s(20.0), &caster);
        let pose = driven.state(at_s(20.0)).world_from_body;
        let farthest = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
            .map(|[a, b]| pose.point(DVec3::new(a * 0.335, b * 0.27, 0.0)).abs().max_element())
            .into_iter()
            .fold(0.0, f64::max);
        assert!((farthest - 5.0).abs() < 0.01, "{yaw}: {farthest}");
        assert_eq!(driven.contacts(), 1);
    }
}

#[test]
fn what_moves_stops_it_where_it_is_at_that_time() {
    let geo = GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    // A box of 1 m crosses the path at x = 1.5 m, from the south.
    let line =
        TrajectoryConfig::Line { start_m: [1.5, -3.0, 0.0], yaw_rad: FRAC_PI_2, speed_m_s: 0.5 };
    let trajectory = Trajectory::new(&RobotConfig::new(line, false), &geo, None).unwrap();
    let body = bodies::build(ObjectShape::Box, [1.0; 3], 0.5);
    let object = MovingObject::of("cart", body, trajectory).unwrap();
    let caster = MovingCaster::new(Box::new(OpenSky), 0, Arc::new([object]));
    let driven = Driven::new(paper(), FOOTPRINT_M);
    driven.look_around(Arc::new(Scene::default()), vec!["cart".to_owned()]);
    tell(&driven, 3.0, twist(0.3, 0.0));
    driven.advance(at_s(12.0), &caster);
    let waits = place(&driven, 7.0).0.x;
    assert!((waits - (1.0 - 0.335)).abs() < 0.005, "{waits}");
    assert!(place(&driven, 12.0).0.x > 1.5);
    let events = driven.take_events();
    let [touches, free] = events.as_slice() else { panic!("{events:?}") };
    assert!(matches!(&touches.what, DriveEventKind::Touches { name, .. } if name == "cart"));
    // The box has left when its rear edge has passed the robot's left side.
    let passed_s = (3.0 + 0.5 + 0.27) / 0.5;
    assert!((0.0..0.1).contains(&(free.at.as_secs_f64() - passed_s)), "{events:?}");
}

#[test]
fn a_ditch_tilts_the_robot_and_shows_at_its_wheels() {
    let parameters = AndabataFieldParameters {
        ground_relief_m: 0.0,
        rocks: 0,
        trees: 0,
        grass_blades: 0,
        ..AndabataFieldParameters::default()
    };
    let scene = andabata_field::build(&parameters);
    let [[west, south], [east, north]] = DITCHES_M[0];
    let middle = 0.5 * (south + north);
    for suspension in [None, springs()] {
        let position_m = [west - 2.0, middle, 0.0];
        let config = DriveConfig { position_m, suspension, ..paper() };
        let Field { caster, driven } = in_scene(scene.clone(), config, FOOTPRINT_M);
        tell(&driven, 0.0, twist(0.3, 0.0));
        driven.advance(at_s(20.0), &caster);
        let in_ditch = |seconds: f64| {
            let heights = driven.wheel_heights_m(at_s(seconds));
            heights.map(|height| height < -0.3)
        };
        assert_eq!(in_ditch(3.0), [false; 4]);
        let deepest = (0..200).map(|tenth| driven.wheel_heights_m(at_s(0.1 * f64::from(tenth)))[0]);
        assert!(deepest.fold(0.0, f64::min) < -0.7);
        let nose = (0..200).map(|tenth| place(&driven, 0.1 * f64::from(tenth)).1.z);
        assert!(nose.fold(0.0, f64::min) < -0.4, "it noses down");
        // The robot stands before the far wall, which is part of the ditch.
        let (stuck, _) = place(&driven, 19.9);
        assert!(stuck.x < east && driven.contacts() >= 1, "{stuck}");
        assert!(driven.state(at_s(19.9)).velocity_m_s.length() < 1e-3);
        let (speed, _, _) = dead_reckoning(&driven, 4.0, 9.0);
        assert!(speed < 1e-5, "{speed}");
    }
}

#[test]
fn hills_grass_and_low_things_do_not_stop_it_and_rocks_do() {
    let parameters = AndabataFieldParameters {
        seed: 5,
        tree_triangles: 1000,
        grass_blades: 20_000,
        ..AndabataFieldParameters::default()
    };
    let scene = andabata_field::build(&parameters);
    let of = |name: &str| -> Vec<DVec3> {
        let is = |mesh: u32| scene.meshes[mesh as usize].name == name;
        let copies = scene.instances.iter().filter(|instance| is(instance.mesh));
        copies.map(|instance| instance.world_from_mesh.translation).collect()
    };
    let (grass, rocks, trees) = (of("grass clump"), of("rock"), of("tree"));
    // Drives towards an object from a position 2.5 m south of it.
    let towards = |target: DVec3| {
        let position_m = [target.x, target.y - 2.5, 0.0];
        let config = DriveConfig { position_m, yaw_rad: FRAC_PI_2, ..paper() };
        let Field { caster, driven } = in_scene(scene.clone(), config, FOOTPRINT_M);
        tell(&driven, 0.0, twist(0.6, 0.0));
        driven.advance(at_s(8.0), &caster);
        let name = driven.take_events().into_iter().find_map(|event| match event.what {
            DriveEventKind::Touches { name, .. } => Some(name),
            DriveEventKind::IsFree => None,
        });
        (name, place(&driven, 8.0).0.y - position_m[1])
    };
    let lonely = |p: &&DVec3| {
        let near = |other: &DVec3| (other.x - p.x).abs() < 1.5 && (other.y - p.y).abs() < 4.5;
        !rocks.iter().chain(&trees).any(near)
            && p.x.abs() < 20.0
            && p.y.abs() < 20.0
            && DITCHES_M.iter().all(|[low, high]| p.x < low[0] - 3.0 || p.x > high[0] + 3.0)
            && p.x < 8.0
    };
    let clump = grass.iter().find(lonely).unwrap();
    let (touched, way) = towards(*clump);
    assert!(touched.is_none() && way > 4.5, "{touched:?} {way}");
    let (touched, way) = towards(rocks[0]);
    assert!(touched.as_deref() == Some("rock") && way < 2.3, "{touched:?} {way}");
    let (touched, way) = towards(trees[0]);
    assert!(touched.as_deref().is_some_and(|name| name.starts_with("tree")), "{touched:?} {way}");
}

#[test]
fn grounds_that_vary_bend_the_way_and_follow_the_seed() {
    let end = |variation: Option<IcrVariation>| {
        let model = DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation };
        let driven = Driven::new(DriveConfig { model, ..paper() }, FOOTPRINT_M);
        tell(&driven, 0.0, twist(0.3, 0.4));
        driven.advance(at_s(30.0), &OpenSky);
        place(&driven, 30.0).0
    };
    let varied = |seed: u64| Some(IcrVariation { spread: 0.1, over_m: Some(2.0), seed });
    assert_eq!(end(varied(1)), end(varied(1)));
    assert!((end(varied(1)) - end(varied(2))).length() > 1e-3);
    assert!((end(varied(1)) - end(None)).length() > 1e-3);
}

#[test]
fn what_it_does_does_not_depend_on_how_it_is_asked() {
    let run = |steps: &[u64]| {
        let Field { caster, driven } = in_room(paper());
        tell(&driven, 0.0, twist(0.6, 0.1));
        for &ms in steps {
            driven.advance(SimTime(ms * STEP_NS + 300), &caster);
        }
        driven.state(SimTime(9_000 * STEP_NS))
    };
    assert_eq!(run(&[9_000]), run(&[1, 10, 11, 500, 501, 4_444, 9_000]));
}
