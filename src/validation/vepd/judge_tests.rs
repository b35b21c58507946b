use super::*;
use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::devices::families::catalogue;
use crate::devices::imu::profile::ImuProfile;
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::world::trajectory::{Start, Trajectory};

const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.8);
const RATE_HZ: u64 = 100;
const DT_S: f64 = 0.01;
const ARM_M: DVec3 = DVec3::new(-0.2, 0.1, 0.3);
const SECONDS: u64 = 20;

fn beliefs() -> Beliefs {
    Beliefs {
        gyro_density: 2e-4,
        accel_density: 2e-3,
        gyro_walk: 2e-5,
        accel_walk: 2e-4,
        gyro_bias_std: 1e-3,
        accel_bias_std: 0.02,
        attitude_std: DVec3::new(0.004, 0.004, 0.03),
        attitude_correlation_s: DVec3::ZERO,
    }
}

/// Two seconds at rest, then a sinusoidal motion.
fn motion() -> Trajectory {
    let origin =
        GeoOrigin::new(Geodetic { latitude_deg: 43.0, longitude_deg: -89.0, altitude_m: 260.0 });
    let trajectory = TrajectoryConfig::HalfSine {
        start_m: [3.0, -2.0, 1.0],
        yaw_rad: 0.7,
        length_m: 8.0,
        amplitude_m: 2.0,
        speed_m_s: 2.0,
    };
    let robot = RobotConfig::new(trajectory, false);
    let motion = Trajectory::new(&robot, &origin, None).unwrap();
    motion.starting_from_rest(Start { still_s: 2.0, ramp_s: 1.5 })
}

/// Simulates one drive with errors of the judge's own model, scaled by `scale`. `look` is called each second with the
/// judge and the errors of its fifteen states.
fn drive(run: u64, scale: f64, mut look: impl FnMut(u64, &Judge, &SMatrix<f64, STATES, 1>)) {
    let (motion, believed) = (motion(), beliefs());
    let noise = NoiseSource::new(run, "judge");
    let draw = |index: u64, place: usize| {
        let lane = |axis| noise.request(index).standard_normal(8 * place + axis, Quantity::White);
        DVec3::new(lane(0), lane(1), lane(2)) * scale
    };
    let at = |ns: u64| motion.state(SimTime(ns));
    let mut bias = [draw(0, 5) * believed.gyro_bias_std, draw(0, 6) * believed.accel_bias_std];
    let told = at(0).world_from_body.rotation * rotation(draw(0, 7) * believed.attitude_std);
    let mut judge = Judge::at_rest(believed, told, GRAVITY);
    judge.velocity_m_s = draw(0, 8) * INITIAL_VELOCITY_STD_M_S;
    let position_std = DVec3::new(0.03, 0.02, 0.05);
    for index in 1..=SECONDS * RATE_HZ {
        let middle = at((index * 2 - 1) * 5_000_000);
        let felt =
            middle.world_from_body.rotation.conjugate() * (middle.acceleration_m_s2 - GRAVITY);
        let white = DT_S.sqrt().recip();
        let gyro =
            middle.angular_rate_rad_s + bias[0] + draw(index, 0) * believed.gyro_density * white;
        let accel = felt + bias[1] + draw(index, 1) * believed.accel_density * white;
        judge.predict(gyro, accel, DT_S);
        bias[0] += draw(index, 2) * believed.gyro_walk * DT_S.sqrt();
        bias[1] += draw(index, 3) * believed.accel_walk * DT_S.sqrt();
        let state = at(index * 10_000_000);
        if index.is_multiple_of(10) {
            let antenna = state.world_from_body.point(ARM_M) + draw(index, 4) * position_std;
            judge.take_position(antenna, ARM_M, DMat3::from_diagonal(position_std * position_std));
        }
        if index.is_multiple_of(RATE_HZ) {
            let parts = [
                state.world_from_body.translation - judge.position_m,
                state.velocity_m_s - judge.velocity_m_s,
                rotation_vector(judge.attitude.conjugate() * state.world_from_body.rotation),
                bias[0] - judge.gyro_bias,
                bias[1] - judge.accel_bias,
            ];
            let off = SMatrix::from_iterator(parts.iter().flat_map(|part| part.to_array()));
            look(index / RATE_HZ, &judge, &off);
        }
    }
}

#[test]
fn without_errors_it_follows_the_truth() {
    drive(1, 0.0, |_, _, off| {
        // The remaining error is due to readings that count as constant for a hundredth of a second.
        assert!(off.fixed_rows::<3>(POSITION).norm() < 2e-3, "{off}");
        assert!(off.fixed_rows::<3>(VELOCITY).norm() < 2e-3, "{off}");
        assert!(off.fixed_rows::<3>(ATTITUDE).norm() < 2e-3, "{off}");
    });
}

/// 40 drives with errors from the judge's own model. At every second, the mean of the normalised squared errors is the
/// mean of the chi-squared distribution (15 for all states, 3 for the velocity) within four standard errors. The
/// covariance stays symmetric and positive definite, the quaternion normalised.
#[test]
fn its_errors_are_as_large_as_it_believes() {
    const RUNS: u64 = 40;
    let mut sums = vec![[0.0; 2]; SECONDS as usize];
    for run in 0..RUNS {
        drive(run, 1.0, |second, judge, off| {
            let p = &judge.covariance;
            assert_eq!(*p, p.transpose());
            let factor = p.cholesky().expect("positive definite");
            assert!((judge.attitude.length() - 1.0).abs() < 1e-12);
            let all = (off.transpose() * factor.solve(off))[0];
            let v = off.fixed_rows::<3>(VELOCITY);
            let velocity = judge.velocity_nees(judge.velocity_m_s + DVec3::new(v[0], v[1], v[2]));
            let sum = &mut sums[second as usize - 1];
            sum[0] += all / RUNS as f64;
            sum[1] += velocity / RUNS as f64;
        });
    }
    for (second, means) in sums.iter().enumerate() {
        for (mean, states) in means.iter().zip([15.0, 3.0]) {
            let allowed = 4.0 * (2.0 * states / RUNS as f64).sqrt();
            assert!((mean - states).abs() < allowed, "second {second}: {mean} of {states}");
        }
    }
}

#[test]
fn an_attitude_that_is_told_steadies_the_heading() {
    let beliefs = Beliefs { attitude_correlation_s: DVec3::splat(2.0), ..beliefs() };
    let mut judge = Judge::at_rest(beliefs, rotation(DVec3::Z * 0.02), GRAVITY);
    for index in 1..=6000 {
        judge.predict(DVec3::ZERO, -GRAVITY, DT_S);
        if index % 10 == 0 {
            judge.take_attitude(DQuat::IDENTITY, 0.1);
        }
    }
    assert!(rotation_vector(judge.attitude).length() < 0.01, "{}", judge.attitude);
    // A correlation time of 2 s corresponds to an independent value every 4 s: some fifteen per minute.
    let heading_std = judge.covariance[(ATTITUDE + 2, ATTITUDE + 2)].sqrt();
    assert!((0.004..0.02).contains(&heading_std), "{heading_std}");
}

#[test]
fn rotations_and_their_vectors() {
    for v in [DVec3::ZERO, DVec3::new(1e-14, 0.0, 0.0), DVec3::new(0.3, -1.2, 2.0)] {
        assert!((rotation_vector(rotation(v)) - v).length() < 1e-12, "{v}");
        assert!((rotation_vector(-rotation(v)) - v).length() < 1e-12, "{v}");
    }
    let (a, b) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(-0.5, 0.4, 7.0));
    assert_eq!(skew(a) * b, a.cross(b));
}

#[test]
fn beliefs_are_the_datasheets() {
    let profile = catalogue().profile("wheeltec-n100").unwrap();
    let Some(driver) = profile.data::<ImuProfile>() else { panic!("an IMU") };
    let b = Beliefs::of(&driver.defaults);
    assert!((b.gyro_density.to_degrees() - 0.01).abs() < 1e-9, "{b:?}");
    // 2 mg turn-on bias, 100 ug instability, 0.1 % scale and 0.05 degrees misalignment at one g.
    let expected = 9.806_65e-3 * (4.0 + 0.0116 + 1.0 + 0.7615f64).sqrt();
    assert!((b.accel_bias_std / expected - 1.0).abs() < 1e-3, "{b:?} {expected}");
    // The gyro's bias is a Gauss-Markov process with an instability of 15 deg/h and a correlation time of 100 s.
    let std = gauss_markov_std(15f64.to_radians() / 3600.0);
    assert!((b.gyro_walk / (std * (0.02f64).sqrt()) - 1.0).abs() < 1e-9, "{b:?}");
}
