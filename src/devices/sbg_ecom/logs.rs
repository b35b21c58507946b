//! Makes the logs (sbgECom messages) of a sample.

use super::answers::SbgAnswers;
use super::gnss;
use super::settings::Settings;
use crate::imu::gps_time::gps_time_of_week_ms;
use crate::imu::output::{Measured, f32s, ned, ned_from_frd, roll_pitch_yaw, wxyz};
use crate::imu::unit::{Unit, believed_place};
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::sbg_ecom::{
    EkfEuler, EkfNav, EkfQuat, ImuData, ImuShort, Log, Mag, MagCalib, ShipMotion, Status, UtcTime,
    log,
};

/// Logs with their names in profiles, in the order of sending.
pub const MESSAGES: [(&str, u8); 13] = [
    ("status", log::STATUS),
    ("utc-time", log::UTC_TIME),
    ("imu-data", log::IMU_DATA),
    ("imu-short", log::IMU_SHORT),
    ("mag", log::MAG),
    ("mag-calib", log::MAG_CALIB),
    ("ekf-euler", log::EKF_EULER),
    ("ekf-quat", log::EKF_QUAT),
    ("ekf-nav", log::EKF_NAV),
    ("ship-motion", log::SHIP_MOTION),
    ("gps1-vel", log::GPS1_VEL),
    ("gps1-pos", log::GPS1_POS),
    ("gps1-hdt", log::GPS1_HDT),
];

/// Logs that a host can configure but that the unit never sends, because it lacks the sensors: second GNSS receiver,
/// odometer, event inputs, velocity log, air data.
pub const NEVER_SENT: [u8; 16] = [16, 17, 18, 19, 24, 25, 26, 27, 28, 29, 30, 36, 37, 38, 45, 46];

/// Heave status: valid, aided by velocity.
const HEAVE_STATUS: u16 = 0x3;
/// Time constant of the high-pass filter for heave, s; slower motion is not heave.
const HEAVE_TIME_S: f64 = 10.0;

/// Heave: vertical velocity and displacement (positive down), high-pass filtered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heave {
    velocity_before_m_s: f64,
    velocity_m_s: f64,
    heave_m: f64,
}

impl Heave {
    /// Updates velocity and displacement with a sample.
    pub fn step(&mut self, sample: &Sample, dt_s: f64) {
        let velocity = -(sample.truth.velocity_m_s.z + sample.velocity_error_m_s.z);
        let change = velocity - self.velocity_before_m_s;
        self.velocity_before_m_s = velocity;
        let kept = libm::exp(-dt_s / HEAVE_TIME_S);
        self.velocity_m_s = kept * (self.velocity_m_s + change);
        self.heave_m = kept * (self.heave_m + self.velocity_m_s * dt_s);
    }
}

const ACCEL_RANGE_OK: u16 = 1 << 8;
const GYRO_RANGE_OK: u16 = 1 << 9;
/// Largest angular rate about an axis that the short log sends in its fine resolution, rad/s.
const FINE_GYRO_MAX_RAD_S: f64 = 31.99;

/// Makes the log `id` of a sample, with the measured values `m`. Both `sample` and `m` are in the vehicle frame.
pub fn log(
    id: u8,
    sample: &Sample,
    m: &Measured,
    settings: &Settings,
    heave: &Heave,
    answers: &SbgAnswers,
    unit: &Unit,
) -> Log {
    let clock_ns = unit.clock_ns(sample);
    let timestamp_us = (clock_ns / 1000) as u32;
    let attitude = ned_from_frd(sample.attitude);
    let errors = &unit.settings.model.attitude;
    let (level, heading) = (errors.roll_pitch_std_rad as f32, errors.heading_std_rad as f32);
    let std_rad = [level, level, heading];
    let healthy = answers;
    let status = settings.solution_status(healthy.solution, unit);
    let interval_s = m.interval_s.max(1e-9);
    match id {
        log::STATUS => Log::Status(Status {
            timestamp_us,
            general: healthy.general,
            com_2: 0,
            com: healthy.com,
            aiding: healthy.aiding,
            reserved_2: 0,
            reserved_3: 0,
            uptime_s: (clock_ns / 1_000_000_000) as u32,
            cpu_percent: healthy.cpu_percent,
        }),
        log::UTC_TIME => utc(timestamp_us, sample.truth.at, unit, healthy.utc),
        log::IMU_DATA => Log::ImuData(ImuData {
            timestamp_us,
            status: imu_status(healthy, m),
            accel_m_s2: f32s(m.accel),
            gyro_rad_s: f32s(m.gyro),
            temperature_c: sample.temperature_c as f32,
            delta_velocity_m_s2: f32s(m.delta_velocity / interval_s),
            delta_angle_rad_s: f32s(m.delta_angle / interval_s),
        }),
        log::IMU_SHORT => Log::ImuShort(short(timestamp_us, sample, m, healthy)),
        log::MAG => Log::Mag(Mag {
            timestamp_us,
            status: healthy.magnetometer,
            mag: f32s(m.mag / unit.profile.output.magnetic_unit_gauss),
            accel_m_s2: f32s(m.accel),
        }),
        log::MAG_CALIB => Log::MagCalib(MagCalib { timestamp_us, ..MagCalib::default() }),
        // An Ellipse computes only heave: surge and sway are zero.
        log::SHIP_MOTION => Log::ShipMotion(ShipMotion {
            timestamp_us,
            motion_m: [0.0, 0.0, heave.heave_m as f32],
            accel_m_s2: [0.0, 0.0, -sample.truth.acceleration_m_s2.z as f32],
            velocity_m_s: [0.0, 0.0, heave.velocity_m_s as f32],
            status: HEAVE_STATUS,
            ..ShipMotion::default()
        }),
        log::EKF_EULER => Log::EkfEuler(EkfEuler {
            timestamp_us,
            rpy_rad: f32s(roll_pitch_yaw(attitude)),
            std_rad,
            status,
            declination_inclination_rad: None,
        }),
        log::EKF_QUAT => Log::EkfQuat(EkfQuat {
            timestamp_us,
            quaternion: wxyz(attitude),
            std_rad,
            status,
            declination_inclination_rad: None,
        }),
        log::GPS1_VEL => gnss::velocity(timestamp_us, sample, unit),
        log::GPS1_POS => gnss::position(timestamp_us, sample, settings, answers, unit),
        log::GPS1_HDT => gnss::heading(timestamp_us, sample, settings, unit),
        _ => {
            let navigation = &unit.settings.model.navigation;
            let place = believed_place(sample);
            let velocity = sample.truth.velocity_m_s + sample.velocity_error_m_s;
            Log::EkfNav(EkfNav {
                timestamp_us,
                velocity_ned_m_s: f32s(ned(velocity)),
                velocity_std_m_s: [navigation.velocity_std_m_s as f32; 3],
                latitude_deg: place.latitude_deg,
                longitude_deg: place.longitude_deg,
                altitude_m: place.height_above_sea_level_m(),
                undulation_m: place.geoid_height_m() as f32,
                position_std_m: [navigation.position_std_m as f32; 3],
                status,
            })
        }
    }
}

fn imu_status(healthy: &SbgAnswers, m: &Measured) -> u16 {
    let mut status = healthy.imu;
    if m.clipped.accel.contains(&true) {
        status &= !ACCEL_RANGE_OK;
    }
    if m.clipped.gyro.contains(&true) {
        status &= !GYRO_RANGE_OK;
    }
    status
}

fn short(timestamp_us: u32, sample: &Sample, m: &Measured, healthy: &SbgAnswers) -> ImuShort {
    let is_fast = m.gyro.abs().max_element() > FINE_GYRO_MAX_RAD_S;
    let (lsb, flag) = if is_fast {
        (ImuShort::COARSE_GYRO_LSB, ImuShort::COARSE_GYRO)
    } else {
        (ImuShort::GYRO_LSB, 0)
    };
    ImuShort {
        timestamp_us,
        status: imu_status(healthy, m) | flag,
        accel: m.accel.to_array().map(|x| (x * ImuShort::ACCEL_LSB).round() as i32),
        gyro: m.gyro.to_array().map(|x| (x * lsb).round() as i32),
        temperature: (sample.temperature_c * 256.0).round() as i16,
    }
}

fn utc(timestamp_us: u32, at: SimTime, unit: &Unit, status: u16) -> Log {
    let now = unit.epoch.civil(at);
    Log::UtcTime(UtcTime {
        timestamp_us,
        status,
        year: now.year() as u16,
        month: now.month() as u8,
        day: now.day() as u8,
        hour: now.hour() as u8,
        minute: now.minute() as u8,
        second: now.second() as u8,
        nanosecond: now.subsec_nanosecond(),
        time_of_week_ms: gps_time_of_week_ms(unit.epoch.unix_ns(at).div_euclid(1_000_000)),
        clock: [0.0; 3],
    })
}
