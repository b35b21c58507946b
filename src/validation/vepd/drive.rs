//! Simulated drives: what the receiver and the IMU make of them, and what the judge makes of that.
//!
//! The sensors are those of the devices (`sensors::gnss`, `sensors::imu`), with the settings of a
//! ZED-F9P's and an N100's profile. The sky is open; corrections for RTK are there from the start.
//! Readings reach the judge at once and unrounded: neither latency nor wire formats are judged.

use crate::devices::family::catalogue;
use glam::DVec3;

use super::judge::{Beliefs, Judge};
use super::metrics::Drive;
use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::devices::gnss::profile::GnssProfile;
use crate::devices::gnss::profile::GnssSettings;
use crate::devices::imu::output::Stream;
use crate::devices::imu::profile::ImuProfile;
use crate::devices::imu::profile::{Decimation, ImuSettings};
use crate::frames::{GeoOrigin, Geodetic, Transform};
use crate::sensors::gnss::navigator::{Fix, NavigationLimits, Navigator};
use crate::sensors::gnss::settings::{BestFix, ErrorPreset};
use crate::sensors::gnss::{SkySensor, SkyView};
use crate::sensors::imu::earth::gravity_in_world;
use crate::sensors::imu::{ImuErrors, ImuSensor, InertialTruth};
use crate::sensors::lidar::Scratch;
use crate::sensors::noise::NoiseSource;
use crate::sensors::{MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::time::{Epoch, SimTime};
use crate::world::raycast::OpenSky;
use crate::world::trajectory::{Start, Trajectory, TrajectoryError};

/// The receiver's profile and rate.
pub const RECEIVER: (&str, u64) = ("ublox-zed-f9p-hpg1.32", 10);
/// The IMU's profile and rate.
pub const IMU: (&str, u32) = ("wheeltec-n100", 100);
/// The speed is written down at every third output of the IMU, near the 30 Hz of robot_localization.
const OUTPUTS_A_SPEED: u64 = 3;
/// Of the first instant; the satellites stand accordingly.
const START_UTC: &str = "2024-03-16T18:00:00Z";
/// Madison, Wisconsin, where the paper's vehicle drove.
const ORIGIN: Geodetic =
    Geodetic { latitude_deg: 43.0722, longitude_deg: -89.4008, altitude_m: 260.0 };
/// Where IMU and antenna sit on the robot, as in `examples/art.toml`, metres.
const IMU_MOUNT_M: DVec3 = DVec3::new(0.1, 0.0, 0.12);
const ANTENNA_MOUNT_M: DVec3 = DVec3::new(-0.1, 0.0, 0.3);

/// How the receiver errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Variant {
    /// No error of the position
    #[value(name = "none")]
    None,
    /// The profile's own model of a receiver with fixed RTK
    #[value(name = "profile")]
    Profile,
    /// Chrono's Gaussian error
    #[value(name = "ch-gauss")]
    ChGauss,
    /// Chrono's random walk
    #[value(name = "ch-rw")]
    ChRw,
    /// AirSim's falling HDOP, no error of the position
    #[value(name = "airsim")]
    Airsim,
    /// Chrono's Gaussian error and AirSim's HDOP
    #[value(name = "ch-gauss+airsim")]
    ChGaussAirsim,
    /// Chrono's random walk and AirSim's HDOP
    #[value(name = "ch-rw+airsim")]
    ChRwAirsim,
}

impl Variant {
    /// The five of the paper.
    pub const PAPER: [Self; 5] =
        [Self::ChGauss, Self::ChRw, Self::Airsim, Self::ChGaussAirsim, Self::ChRwAirsim];

    fn preset(self) -> Option<ErrorPreset> {
        match self {
            Self::Profile => None,
            Self::None => Some(ErrorPreset::None),
            Self::ChGauss => Some(ErrorPreset::ChGauss),
            Self::ChRw => Some(ErrorPreset::ChRw),
            Self::Airsim => Some(ErrorPreset::Airsim),
            Self::ChGaussAirsim => Some(ErrorPreset::ChGaussAirsim),
            Self::ChRwAirsim => Some(ErrorPreset::ChRwAirsim),
        }
    }
}

/// Which way is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Course {
    /// Straight on
    Line,
    /// Along half waves of a sine
    HalfSine,
    /// Round and round
    Circle,
}

impl Course {
    /// All of the paper.
    pub const ALL: [Self; 3] = [Self::Line, Self::HalfSine, Self::Circle];
}

/// How the courses are driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// Of the half wave, metres.
    pub length_m: f64,
    /// Of the half wave, metres.
    pub height_m: f64,
    /// Of the circle, metres.
    pub radius_m: f64,
    /// m/s
    pub speed_m_s: f64,
    /// At rest before, switched on; seconds.
    pub still_s: f64,
    /// From rest to the full speed, seconds.
    pub ramp_s: f64,
    /// From the moment the robot moves, seconds.
    pub duration_s: f64,
}

impl Manner {
    fn trajectory(&self, course: Course) -> TrajectoryConfig {
        let speed_m_s = self.speed_m_s;
        match course {
            Course::Line => TrajectoryConfig::Line { start_m: [0.0; 3], yaw_rad: 0.0, speed_m_s },
            Course::HalfSine => TrajectoryConfig::HalfSine {
                start_m: [0.0; 3],
                yaw_rad: 0.0,
                length_m: self.length_m,
                amplitude_m: self.height_m,
                speed_m_s,
            },
            Course::Circle => TrajectoryConfig::Circle {
                center_m: [0.0; 3],
                radius_m: self.radius_m,
                speed_m_s,
                start_angle_rad: 0.0,
            },
        }
    }
}

/// The units that drive, and the day.
pub struct Bench {
    origin: GeoOrigin,
    epoch: Epoch,
    gnss: GnssSettings,
    imu: ImuSettings,
    imu_sample_hz: u32,
    decimation: Decimation,
}

/// A course as errorless sensors find it.
pub struct Truth {
    course: Course,
    still_s: f64,
    inertial: Vec<InertialTruth>,
    sky: Vec<SkyView>,
    constellation: crate::sensors::gnss::constellation::Constellation,
}

/// An IMU's outputs on a drive.
pub struct Readings(Vec<Reading>);

struct Reading {
    at: SimTime,
    gyro: DVec3,
    accel: DVec3,
    interval_s: f64,
    attitude: glam::DQuat,
    true_velocity_m_s: DVec3,
}

/// What the judge made of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Speeds from the moment the robot moves.
    pub drive: Drive,
    /// Mean of the velocity's normalised error squared while it moves; 3 when the judge's beliefs are
    /// right.
    pub velocity_nees: f64,
}

impl Bench {
    /// A ZED-F9P and an N100.
    pub fn new() -> Self {
        let profile = |name| catalogue().profile(name).expect("a built-in profile");
        let (receiver, imu) = (profile(RECEIVER.0), profile(IMU.0));
        let gnss = receiver.data::<GnssProfile>().expect("a receiver");
        let imu = imu.data::<ImuProfile>().expect("an IMU");
        let mut settings = gnss.defaults.clone();
        settings.period_ns = 1_000_000_000 / RECEIVER.1;
        let acquisition = &mut settings.receiver.acquisition;
        acquisition.best_fix = BestFix::RtkFixed;
        acquisition.differential_after_ns = 0;
        acquisition.rtk_float_after_ns = 0;
        acquisition.rtk_fixed_after_ns = 0;
        Self {
            origin: GeoOrigin::new(ORIGIN),
            epoch: Epoch::new(START_UTC.parse().expect("a constant time")),
            gnss: settings,
            imu: ImuSettings { rate_hz: IMU.1, ..imu.defaults.clone() },
            imu_sample_hz: imu.sample_rate_hz,
            decimation: imu.decimation,
        }
    }

    /// Measures a course without errors.
    ///
    /// # Errors
    /// When the course cannot be driven so.
    pub fn truth(&self, course: Course, manner: &Manner) -> Result<Truth, TrajectoryError> {
        let robot = RobotConfig::new(manner.trajectory(course), false);
        let start = Start { still_s: manner.still_s, ramp_s: manner.ramp_s };
        let motion = Trajectory::new(&robot, &self.origin, None)?.starting_from_rest(start);
        let around = |mount| Surroundings {
            caster: &OpenSky,
            trajectory: &motion,
            origin: &self.origin,
            carrier: None,
            body_from_sensor: Transform::from_rpy(mount, 0.0, 0.0, 0.0),
            weather: None,
        };
        let total_s = manner.still_s + manner.duration_s;
        let mut scratch = Scratch::default();
        let imu = ImuSensor::new(&self.imu.model, self.epoch.civil(SimTime::ZERO).date());
        let period_ns = 1_000_000_000 / u64::from(self.imu_sample_hz);
        let count = (total_s * f64::from(self.imu_sample_hz)) as u64;
        let at_imu = around(IMU_MOUNT_M);
        let inertial = (0..=count).map(|i| imu.truth(SimTime(i * period_ns), &at_imu)).collect();
        let antenna = SkySensor::new(&self.gnss.receiver, self.epoch);
        let at_antenna = around(ANTENNA_MOUNT_M);
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
        Ok(Truth { course, still_s: manner.still_s, inertial, sky, constellation })
    }

    /// What the IMU outputs on drive number `run`. All variants of a run have the same.
    pub fn readings(&self, truth: &Truth, seed: u64, run: u32) -> Readings {
        let dt_s = f64::from(self.imu_sample_hz).recip();
        let name = format!("vepd/{:?}/{run}/imu", truth.course);
        let mut errors = ImuErrors::new(&self.imu.model, seed, &name, dt_s);
        let mut stream = Stream::every(u64::from(self.imu_sample_hz / self.imu.rate_hz));
        let mut readings = Vec::new();
        for (index, truth) in (0..).zip(&truth.inertial) {
            let sample = errors.step(index, *truth);
            if let Some(measured) = stream.step(&sample, dt_s, self.decimation) {
                readings.push(Reading {
                    at: truth.at,
                    gyro: measured.gyro,
                    accel: measured.accel,
                    interval_s: measured.interval_s,
                    attitude: sample.attitude,
                    true_velocity_m_s: truth.velocity_m_s,
                });
            }
        }
        Readings(readings)
    }

    /// Has the judge estimate the speed on drive number `run` with a receiver that errs as `variant`.
    pub fn judge(
        &self,
        truth: &Truth,
        readings: &Readings,
        variant: Variant,
        seed: u64,
        run: u32,
    ) -> Judged {
        let mut settings = self.gnss.clone();
        if let Some(preset) = variant.preset() {
            settings.receiver.apply(preset);
        }
        // Of a receiver without any error the HDOP is there at once, too.
        settings.receiver.acquisition.is_filtered &= variant != Variant::None;
        let noise = NoiseSource::new(seed, &format!("vepd/{:?}/{run}/gnss", truth.course));
        let limits =
            NavigationLimits::new(settings.receiver.systems.clone(), settings.receiver.mask_rad);
        let mut receiver =
            Navigator::new(&settings.receiver, truth.constellation.clone(), noise, SimTime::ZERO);
        let gravity = gravity_in_world(DVec3::ZERO, &self.origin.origin());
        let mut judge = Judge::at_rest(Beliefs::of(&self.imu), readings.0[0].attitude, gravity);
        let arm_m = ANTENNA_MOUNT_M - IMU_MOUNT_M;
        let period_ns = self.gnss.period_ns;
        let mut judged = Judged { drive: Drive::default(), velocity_nees: 0.0 };
        let mut moving = 0u32;
        for (output, reading) in (0u64..).zip(&readings.0) {
            if output > 0 {
                judge.predict(reading.gyro, reading.accel, reading.interval_s);
            }
            if reading.at.0.is_multiple_of(period_ns) {
                let index = reading.at.0 / period_ns;
                let Some(view) = truth.sky.get(index as usize) else { break };
                let solution = receiver.step(reading.at, index, view, &limits);
                if matches!(solution.fix, Fix::ThreeD(_)) {
                    let antenna_m = self.origin.world_from_geodetic(solution.position);
                    judge.take_position(antenna_m, arm_m, solution.covariance_m2);
                }
                judge.take_attitude(reading.attitude, period_ns as f64 * 1e-9);
            }
            let since_s = reading.at.as_secs_f64() - truth.still_s;
            if since_s >= 0.0 {
                let true_speed_m_s = reading.true_velocity_m_s.truncate().length();
                judged.drive.truth.push(since_s, true_speed_m_s);
                if output.is_multiple_of(OUTPUTS_A_SPEED) {
                    let speed_m_s = judge.velocity_m_s.truncate().length();
                    judged.drive.estimated.push(since_s, speed_m_s);
                }
                judged.velocity_nees += judge.velocity_nees(reading.true_velocity_m_s);
                moving += 1;
            }
        }
        judged.velocity_nees /= f64::from(moving.max(1));
        judged
    }
}
