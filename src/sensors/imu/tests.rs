use glam::{DQuat, DVec3};

use super::earth::{EARTH_RATE_RAD_S, normal_gravity_m_s2};
use super::settings::BarometerErrors;
use super::*;
use crate::config::rig::{FeedConfig, RobotConfig, TrajectoryConfig};
use crate::frames::{Body, Sensor as SensorFrame, Transform};
use crate::sensors::Subject;
use crate::wire::feed::{MAGIC, PoseTwist, VERSION};
use crate::world::raycast::OpenSky;

const HERE: Geodetic =
    Geodetic { latitude_deg: 33.4712, longitude_deg: -88.7933, altitude_m: 92.0 };

fn settings() -> ImuModel {
    let barometer = BarometerErrors { sea_level_pressure_pa: 101_325.0, ..Default::default() };
    ImuModel { barometer, ..ImuModel::default() }.without_errors()
}

fn truth_of(
    trajectory: TrajectoryConfig,
    body_from_sensor: Transform<Body, SensorFrame>,
    settings: &ImuModel,
    at_s: f64,
) -> InertialTruth {
    truth_on(&moving(trajectory), body_from_sensor, settings, at_s)
}

fn moving(trajectory: TrajectoryConfig) -> Trajectory {
    let robot = RobotConfig::new(trajectory, false);
    Trajectory::new(&robot, &GeoOrigin::new(HERE), None).unwrap()
}

fn truth_on(
    trajectory: &Trajectory,
    body_from_sensor: Transform<Body, SensorFrame>,
    settings: &ImuModel,
    at_s: f64,
) -> InertialTruth {
    let origin = GeoOrigin::new(HERE);
    let surroundings = Surroundings {
        caster: &OpenSky,
        trajectory,
        origin: &origin,
        carrier: None,
        body_from_sensor,
        weather: None,
    };
    let sensor = ImuSensor::new(settings, jiff::civil::date(2026, 6, 1));
    sensor.truth(SimTime::from_secs_f64(at_s), &surroundings)
}

fn circle(speed_m_s: f64) -> TrajectoryConfig {
    TrajectoryConfig::Circle { center_m: [0.0; 3], radius_m: 10.0, speed_m_s, start_angle_rad: 0.0 }
}

fn still(yaw_rad: f64) -> TrajectoryConfig {
    TrajectoryConfig::Still { position_m: [0.0; 3], yaw_rad }
}

#[test]
fn at_rest_gravity_is_felt_upwards() {
    let truth = truth_of(still(1.0), Transform::IDENTITY, &settings(), 5.0);
    let g = normal_gravity_m_s2(&HERE);
    assert!((truth.specific_force_m_s2 - DVec3::Z * g).length() < 1e-9, "{truth:?}");
    assert_eq!(truth.angular_rate_rad_s, DVec3::ZERO);
    // When the IMU lies on its side, it measures gravity on another axis.
    let on_its_side = Transform::from_rpy(DVec3::ZERO, std::f64::consts::FRAC_PI_2, 0.0, 0.0);
    let truth = truth_of(still(1.0), on_its_side, &settings(), 5.0);
    assert!((truth.specific_force_m_s2 - DVec3::Y * g).length() < 1e-9, "{truth:?}");
}

#[test]
fn on_a_circle_the_arm_matters() {
    // 2 m/s on a circle of 10 m, counter-clockwise: 0.2 rad/s; the centre is to the left.
    let omega: f64 = 0.2;
    let g = normal_gravity_m_s2(&HERE);
    for arm in [DVec3::ZERO, DVec3::new(0.0, 1.5, 0.0), DVec3::new(2.0, 0.0, 0.4)] {
        let mount = Transform::from_rpy(arm, 0.0, 0.0, 0.0);
        let truth = truth_of(circle(2.0), mount, &settings(), 3.7);
        let wanted = DVec3::new(-omega * omega * arm.x, omega * omega * (10.0 - arm.y), g);
        let off = (truth.specific_force_m_s2 - wanted).length();
        // 10 m from the origin the vertical leans by 1.6e-6, and the height differs by microns.
        assert!(off < 3e-5, "{arm}: {off}");
        assert!((truth.angular_rate_rad_s - DVec3::Z * omega).length() < 1e-9);
        let speed = omega * ((10.0 - arm.y).powi(2) + arm.x * arm.x).sqrt();
        assert!((truth.velocity_m_s.length() - speed).abs() < 1e-9);
    }
}

#[test]
fn a_fed_robot_that_speeds_up_and_starts_to_turn_is_felt() {
    let listen = "127.0.0.1:7000".parse().unwrap();
    let hold_after_ns = 500_000_000;
    let (position_m, yaw_rad) = ([0.0; 3], 0.0);
    let trajectory =
        moving(TrajectoryConfig::Feed(FeedConfig { listen, hold_after_ns, position_m, yaw_rad }));
    // 3 m/s² ahead and 2 rad/s² to the left, 10 ms after rest.
    for sequence in 0..2_u8 {
        let time_s = 0.01 * f64::from(sequence);
        let pose = PoseTwist {
            magic: MAGIC,
            version: VERSION,
            sequence: sequence.into(),
            time_ns: u64::from(sequence) * 10_000_000,
            position_m,
            orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
            velocity_m_s: [3.0 * time_s, 0.0, 0.0],
            angular_rate_rad_s: [0.0, 0.0, 2.0 * time_s],
        };
        let feed = trajectory.feed().unwrap();
        feed.take(SimTime(pose.time_ns), listen, &pose.encode()).unwrap();
    }
    let g = normal_gravity_m_s2(&HERE);
    let mount = Transform::from_rpy(DVec3::X, 0.0, 0.0, 0.0);
    let truth = truth_on(&trajectory, mount, &settings(), 0.01);
    // The centripetal parts of arm and velocity are 4e-4 and 6e-4 m/s².
    let off = (truth.specific_force_m_s2 - DVec3::new(3.0, 2.0, g)).length();
    assert!(off < 1e-3, "{truth:?}");
}

#[test]
fn the_force_is_the_second_derivative_of_the_mount_points_way() {
    let arm = DVec3::new(0.8, -0.3, 1.2);
    let trajectory = || TrajectoryConfig::HalfSine {
        start_m: [0.0; 3],
        yaw_rad: 0.4,
        length_m: 12.0,
        amplitude_m: 2.0,
        speed_m_s: 3.0,
    };
    let mount = Transform::from_rpy(arm, 0.1, -0.2, 0.3);
    let settings = settings();
    for at_s in [0.5, 1.9, 2.05, 7.3] {
        let h = 1e-3;
        let truth = |t| truth_of(trajectory(), mount, &settings, t);
        let (before, now, after) = (truth(at_s - h), truth(at_s), truth(at_s + h));
        let differences = (after.position_m - 2.0 * now.position_m + before.position_m) / (h * h);
        let felt = now.world_from_sensor * now.specific_force_m_s2
            - DVec3::Z * normal_gravity_m_s2(&now.place);
        assert!((felt - differences).length() < 1e-3, "{at_s}: {felt} {differences}");
        let turn = (before.world_from_sensor.conjugate() * after.world_from_sensor).normalize();
        let rate = turn.to_scaled_axis() / (2.0 * h);
        assert!((now.angular_rate_rad_s - rate).length() < 1e-4, "{at_s}");
    }
}

#[test]
fn the_earth_turns_if_it_is_told_to() {
    let settings = ImuModel { earth_rate: true, ..settings() };
    let north = still(std::f64::consts::FRAC_PI_2);
    let truth = truth_of(north, Transform::IDENTITY, &settings, 0.0);
    let latitude = HERE.latitude_deg.to_radians();
    let (sin, cos) = libm::sincos(latitude);
    let wanted = DVec3::new(cos, 0.0, sin) * EARTH_RATE_RAD_S;
    assert!((truth.angular_rate_rad_s - wanted).length() < 1e-12, "{truth:?}");
}

#[test]
fn the_field_is_stated_or_the_worlds() {
    let stated = ImuModel { magnetic_field: MagneticField::Stated([0.2, 0.01, 0.4]), ..settings() };
    // Facing east, north is to the left.
    let truth = truth_of(still(0.0), Transform::IDENTITY, &stated, 0.0);
    assert!((truth.magnetic_field_gauss - DVec3::new(0.01, 0.2, -0.4)).length() < 1e-12);
    let world = truth_of(still(0.0), Transform::IDENTITY, &settings(), 0.0).magnetic_field_gauss;
    assert!((0.4..0.6).contains(&world.length()) && world.z < -0.35, "{world}");
}

#[test]
fn the_air_is_as_thick_as_at_that_height_above_the_sea() {
    // The geoid lies 28 m below the ellipsoid here and 48 m above it at Zürich.
    for (latitude_deg, longitude_deg, geoid_m) in [(33.4712, -88.7933, -28.0), (47.3, 8.6, 47.0)] {
        let place = Geodetic { latitude_deg, longitude_deg, altitude_m: 500.0 };
        let truth =
            InertialTruth { place, ..truth_of(still(0.0), Transform::IDENTITY, &settings(), 1.0) };
        let mut errors = ImuErrors::new(&settings(), 1, "imu", 0.01);
        let height_m = environment::pressure_altitude_m(errors.step(0, truth).pressure_pa);
        assert!((height_m - (500.0 - geoid_m)).abs() < 3.0, "{height_m}");
    }
}

#[test]
fn a_series_holds_its_instants() {
    let origin = GeoOrigin::new(HERE);
    let robot = RobotConfig::new(circle(2.0), false);
    let trajectory = Trajectory::new(&robot, &origin, None).unwrap();
    let surroundings = Surroundings {
        caster: &OpenSky,
        trajectory: &trajectory,
        origin: &origin,
        carrier: None,
        body_from_sensor: Transform::IDENTITY,
        weather: None,
    };
    let sensor = ImuSensor::new(&settings(), jiff::civil::date(2026, 6, 1));
    let subject = Subject::Series { count: 4, period_ns: 2_500_000 };
    let request = MeasurementRequest { index: 1, start: SimTime(10_000_000), subject };
    assert_eq!(request.end(), SimTime(17_500_000));
    let measurement = sensor.measure(request, &surroundings, &mut Scratch::default());
    let Outcome::Inertial(truths) = measurement.outcome else { panic!("inertial") };
    let at: Vec<u64> = truths.iter().map(|t| t.at.0).collect();
    assert_eq!(at, [10_000_000, 12_500_000, 15_000_000, 17_500_000]);
    assert_ne!(truths[0].world_from_sensor, DQuat::IDENTITY);
}
