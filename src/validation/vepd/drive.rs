//! Simulated drives: readings of GNSS receiver and IMU, and the speed that the estimator (the "judge") computes from
//! them.
//!
//! The sensors are the models that devices use (`sensors::gnss`, `sensors::imu`), with the profiles of a ZED-F9P and an
//! N100. The sky is open, and RTK corrections exist from the start. The estimator gets readings directly from the
//! models, without delay and unrounded; or it gets them as a driver decodes them from the devices' bytes
//! ([`super::bytes`]).

use std::path::Path;

use glam::{DMat3, DQuat, DVec3};

use super::course::{Course, Manner};
use super::judge::{Beliefs, Judge};
use super::metrics::Drive;
use super::variant::{Preset, Stated, Variant, papers_imu};
use crate::config::rig::Rig;
use crate::devices::families::catalogue;
use crate::devices::gnss::profile::GnssSettings;
use crate::devices::imu::output::Stream;
use crate::devices::imu::profile::{Decimation, ImuProfile, ImuSettings};
use crate::frames::{GeoOrigin, Geodetic, Transform};
use crate::sensors::gnss::navigator::{Fix, NavigationLimits, Navigator};
use crate::sensors::gnss::settings::BestFix;
use crate::sensors::gnss::{SkySensor, SkyView};
use crate::sensors::imu::earth::gravity_in_world;
use crate::sensors::imu::{ImuErrors, ImuSensor, InertialTruth};
use crate::sensors::lidar::Scratch;
use crate::sensors::noise::NoiseSource;
use crate::sensors::{MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::time::{Epoch, SimTime};
use crate::world::raycast::OpenSky;
use crate::world::trajectory::{Trajectory, TrajectoryError};

/// Profile of the GNSS receiver, and its rate, Hz.
pub const RECEIVER: (&str, u64) = ("ublox-zed-f9p-hpg1.32", 10);
/// Profile of the IMU, and its rate, Hz.
pub const IMU: (&str, u32) = ("wheeltec-n100", 100);
/// Rate at which the estimator reports the speed, Hz.
pub const JUDGE_HZ: f64 = 35.0;
/// Number of IMU outputs per attitude: the estimator uses the attitude in every tenth output.
const OUTPUTS_AN_ATTITUDE: usize = 10;
/// Smallest variance of a position that the estimator uses, m², as in robot_localization.
const LEAST_VARIANCE_M2: f64 = 1e-9;
/// Position of the IMU on the robot, metres, as in `examples/art.toml`.
const IMU_MOUNT_M: DVec3 = DVec3::new(0.1, 0.0, 0.12);
/// Position of the GNSS antenna on the robot, metres, as in `examples/art.toml`.
const ANTENNA_MOUNT_M: DVec3 = DVec3::new(-0.1, 0.0, 0.3);

/// Rig of the drives, as TOML text: GNSS receiver and IMU on a robot in Madison, Wisconsin, where the vehicle of
/// Mahajan et al. 2024 drove.
const RIG: &str = r#"
seed = 1
start_utc = 2024-03-16T18:00:00Z
origin = { latitude_deg = 43.0722, longitude_deg = -89.4008, altitude_m = 260.0 }
[world]
scene = "rods"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "imu"
profile = "wheeltec-n100"
mount = { translation_m = [0.1, 0.0, 0.12] }
link = { pty = "imu" }
settings = { rate_hz = 100 }
[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
mount = { translation_m = [-0.1, 0.0, 0.3] }
link = { pty = "gnss" }
settings = { rate_hz = 10, baud_rate = 460800, sentences = [], messages = ["NAV-HPPOSLLH"] }
"#;

/// Devices and place of the drives.
pub struct Bench {
    /// Rig with the GNSS receiver and the IMU.
    pub rig: Rig,
    /// Origin of the World frame on Earth.
    pub origin: GeoOrigin,
    /// UTC at the start of the run.
    pub epoch: Epoch,
    gnss: GnssSettings,
    imu: ImuSettings,
    imu_sample_hz: u32,
    decimation: Decimation,
    preset: Preset,
    stated: Stated,
}

/// A course, measured by error-free sensors.
pub struct Truth {
    /// The course.
    pub course: Course,
    /// Trajectory of the robot.
    pub motion: Trajectory,
    /// Time at rest before the motion, seconds.
    pub still_s: f64,
    /// Total duration, seconds.
    pub total_s: f64,
    inertial: Vec<InertialTruth>,
    sky: Vec<SkyView>,
    constellation: crate::sensors::gnss::constellation::Constellation,
}

/// Identifies a drive of a course; determines its random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Seed of all drives.
    pub seed: u64,
    /// Index of the drive.
    pub run: u32,
    /// Whether the drive belongs to the reference, with which the other error models are compared.
    pub is_reference: bool,
}

/// Input of the estimator during a drive.
#[derive(Debug, Default)]
pub struct Seen {
    /// Outputs of the IMU.
    pub readings: Vec<Reading>,
    /// Fixes of the GNSS receiver.
    pub fixes: Vec<PositionReading>,
}

/// An output of the IMU.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Time at which the estimator gets the reading.
    pub at: SimTime,
    /// Angular rate in the IMU's axes, rad/s.
    pub gyro: DVec3,
    /// Specific force in the IMU's axes, m/s².
    pub accel: DVec3,
    /// Time since the previous output, seconds.
    pub interval_s: f64,
    /// Attitude that the unit computes; `None` if this output has none.
    pub attitude: Option<DQuat>,
    /// True velocity of the IMU in World at the time `at`, m/s.
    pub true_velocity_m_s: DVec3,
}

/// A fix of the GNSS receiver.
#[derive(Clone, Copy, Debug)]
pub struct PositionReading {
    /// Epoch of the fix.
    pub at: SimTime,
    /// Position of the antenna.
    pub position: Geodetic,
    /// Reported variance: east, north, up, m².
    pub variance_m2: DVec3,
}

/// Result of the estimator for a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Estimated and true speeds, from the start of the motion.
    pub drive: Drive,
    /// Mean of the normalised squared error of the estimated velocity during motion; about 3 if the estimator's
    /// assumptions are right.
    pub velocity_nees: f64,
}

impl Bench {
    /// The bench with a ZED-F9P and an N100.
    pub fn new(preset: Preset, stated: Stated) -> Self {
        let rig = Rig::parse("the drive's rig", RIG, Path::new(""), &[], catalogue())
            .unwrap_or_else(|faults| panic!("a constant rig: {faults}"));
        let imu = rig.devices[0].settings::<ImuSettings>().expect("an IMU").clone();
        let mut gnss = rig.devices[1].settings::<GnssSettings>().expect("a receiver").clone();
        let acquisition = &mut gnss.receiver.acquisition;
        acquisition.best_fix = Some(BestFix::RtkFixed);
        acquisition.startup_ns = 0;
        acquisition.differential_after_ns = 0;
        acquisition.rtk_float_after_ns = 0;
        acquisition.rtk_fixed_after_ns = 0;
        // As in the paper, the estimator gets every fix, even an inaccurate one.
        acquisition.hdop_3d = 1000.0;
        acquisition.hdop_2d = 1000.0;
        let driver = rig.devices[0].profile.data::<ImuProfile>().expect("an IMU");
        let (imu_sample_hz, decimation) = (driver.output.sample_rate_hz, driver.output.decimation);
        let origin = GeoOrigin::new(rig.origin);
        let epoch = Epoch::new(rig.start_utc.expect("a constant time"));
        Self { rig, origin, epoch, gnss, imu, imu_sample_hz, decimation, preset, stated }
    }

    /// Settings of the GNSS receiver with the errors of `variant`.
    pub fn receiver(&self, variant: Variant) -> GnssSettings {
        let mut settings = self.gnss.clone();
        variant.apply(&mut settings.receiver, self.preset, self.stated);
        settings
    }

    /// Settings of the IMU with the errors of `variant`.
    pub fn imu(&self, variant: Variant) -> ImuSettings {
        let mut settings = self.imu.clone();
        if variant.has_chronos_imu() {
            settings.model = papers_imu(&settings.model);
        }
        settings
    }

    /// Output of an error-free IMU at an instant.
    pub fn inertial_truth(&self, motion: &Trajectory, at: SimTime) -> InertialTruth {
        let imu = ImuSensor::new(&self.imu.model, self.epoch.civil(SimTime::ZERO).date());
        imu.truth(at, &self.around(motion, IMU_MOUNT_M))
    }

    fn around<'a>(&'a self, trajectory: &'a Trajectory, mount_m: DVec3) -> Surroundings<'a> {
        Surroundings {
            caster: &OpenSky,
            trajectory,
            origin: &self.origin,
            carrier: None,
            body_from_sensor: Transform::from_rpy(mount_m, 0.0, 0.0, 0.0),
            weather: None,
        }
    }

    /// Measures a course with error-free sensors.
    ///
    /// # Errors
    /// The course is impossible with these parameters.
    pub fn truth(&self, course: Course, manner: &Manner) -> Result<Truth, TrajectoryError> {
        let motion = manner.drive(course, &self.origin)?;
        let total_s = manner.still_s + manner.duration_s;
        let mut scratch = Scratch::default();
        let imu = ImuSensor::new(&self.imu.model, self.epoch.civil(SimTime::ZERO).date());
        let period_ns = 1_000_000_000 / u64::from(self.imu_sample_hz);
        let count = (total_s * f64::from(self.imu_sample_hz)) as u64;
        let at_imu = self.around(&motion, IMU_MOUNT_M);
        let inertial = (0..=count).map(|i| imu.truth(SimTime(i * period_ns), &at_imu)).collect();
        let antenna = SkySensor::new(&self.gnss.receiver, self.epoch);
        let at_antenna = self.around(&motion, ANTENNA_MOUNT_M);
        let epochs = (total_s * RECEIVER.1 as f64) as u64;
        let sky = (0..=epochs)
            .filter_map(|index| {
                let start = SimTime(index * self.gnss.period_ns);
                let request = MeasurementRequest { index, start, subject: Subject::Instant };
                match antenna.measure(request, &at_antenna, &mut scratch).outcome {
                    Outcome::Sky(view) => Some(*view),
                    _ => None,
                }
            })
            .collect();
        let constellation = antenna.constellation().clone();
        let still_s = manner.still_s;
        Ok(Truth { course, motion, still_s, total_s, inertial, sky, constellation })
    }

    /// Readings of both units' models on a drive.
    pub fn model_readings(&self, truth: &Truth, variant: Variant, draws: Draws) -> Seen {
        let imu = self.imu(variant);
        let dt_s = f64::from(self.imu_sample_hz).recip();
        let name = draws.name("imu", draws.is_reference);
        let mut errors = ImuErrors::new(&imu.model, draws.drive_seed(truth.course), &name, dt_s);
        let mut stream = Stream::every(u64::from(self.imu_sample_hz / imu.rate_hz));
        let mut seen = Seen::default();
        for (index, truth) in (0..).zip(&truth.inertial) {
            let sample = errors.step(index, *truth);
            if let Some(measured) = stream.step(&sample, dt_s, self.decimation) {
                seen.readings.push(Reading {
                    at: truth.at,
                    gyro: measured.gyro,
                    accel: measured.accel,
                    interval_s: measured.interval_s,
                    attitude: Some(sample.attitude),
                    true_velocity_m_s: truth.velocity_m_s,
                });
            }
        }
        let gnss = self.receiver(variant);
        let is_reference = draws.is_reference || variant.has_reference_receiver();
        let name = draws.name("gnss", is_reference);
        let noise = NoiseSource::new(draws.drive_seed(truth.course), &name);
        let limits = NavigationLimits::new(gnss.receiver.systems.clone(), gnss.receiver.mask_rad);
        let mut receiver =
            Navigator::new(&gnss.receiver, truth.constellation.clone(), noise, SimTime::ZERO);
        for (index, view) in (0u64..).zip(&truth.sky) {
            let at = SimTime(index * gnss.period_ns);
            let solution = receiver.step(at, index, view, &limits);
            if matches!(solution.fix, Fix::ThreeD(_)) {
                let horizontal_m = solution.horizontal_accuracy_m();
                let vertical_m = solution.vertical_accuracy_m();
                let variance_m2 = stated_variance_m2(horizontal_m, vertical_m);
                seen.fixes.push(PositionReading { at, position: solution.position, variance_m2 });
            }
        }
        seen
    }

    /// Runs the estimator on the readings of a drive.
    pub fn judge(&self, truth: &Truth, seen: &Seen) -> Judged {
        let gravity = gravity_in_world(DVec3::ZERO, &self.origin.origin());
        let first = seen.readings.iter().find_map(|reading| reading.attitude);
        let attitude = first.unwrap_or(DQuat::IDENTITY);
        let mut judge = Judge::at_rest(Beliefs::of(&self.imu), attitude, gravity);
        let arm_m = ANTENNA_MOUNT_M - IMU_MOUNT_M;
        let mut fixes = seen.fixes.iter().peekable();
        let mut judged = Judged { drive: Drive::default(), velocity_nees: 0.0 };
        let (mut moving, mut told) = (0u32, -1.0);
        for (output, reading) in seen.readings.iter().enumerate() {
            if output > 0 {
                judge.predict(reading.gyro, reading.accel, reading.interval_s);
            }
            while let Some(fix) = fixes.next_if(|fix| fix.at <= reading.at) {
                let antenna_m = self.origin.world_from_geodetic(fix.position);
                let variance_m2 = fix.variance_m2.max(DVec3::splat(LEAST_VARIANCE_M2));
                judge.take_position(antenna_m, arm_m, DMat3::from_diagonal(variance_m2));
            }
            if output.is_multiple_of(OUTPUTS_AN_ATTITUDE)
                && let Some(attitude) = reading.attitude
            {
                let every_s = OUTPUTS_AN_ATTITUDE as f64 / f64::from(IMU.1);
                judge.take_attitude(attitude, every_s);
            }
            let since_s = reading.at.as_secs_f64() - truth.still_s;
            if since_s < 0.0 {
                continue;
            }
            let true_speed_m_s = reading.true_velocity_m_s.truncate().length();
            judged.drive.truth.push(since_s, true_speed_m_s);
            let tick = (since_s * JUDGE_HZ).floor();
            if tick > told {
                told = tick;
                judged.drive.estimated.push(since_s, judge.velocity_m_s.truncate().length());
            }
            judged.velocity_nees += judge.velocity_nees(reading.true_velocity_m_s);
            moving += 1;
        }
        judged.velocity_nees /= f64::from(moving.max(1));
        judged
    }
}

/// Variance that a driver computes from reported accuracies (KumarRobotics' ublox driver), m²: the squared horizontal
/// accuracy for east and north, the squared vertical accuracy for up. With AirSim's HDOP the variance is (0.02 HDOP)²,
/// as in Mahajan et al. 2024.
pub fn stated_variance_m2(horizontal_m: f64, vertical_m: f64) -> DVec3 {
    let horizontal = horizontal_m * horizontal_m;
    DVec3::new(horizontal, horizontal, vertical_m * vertical_m)
}

impl Draws {
    /// Seed of the rig for this drive on `course`.
    pub fn drive_seed(&self, course: Course) -> u64 {
        let place = (course as u64) << 32 | u64::from(self.run);
        self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place)
    }

    /// Name of a unit in the rig; it determines the unit's random numbers. Units of the reference have different names.
    pub fn name(&self, unit: &str, is_reference: bool) -> String {
        if is_reference { format!("reference-{unit}") } else { unit.to_owned() }
    }
}
