//! SBG Ellipse: logs at divisors of a main loop of 200 Hz, and the commands of sbgECom.
//!
//! A setting is acknowledged, a question answered with the command's own id. Receive-only clients
//! need none of it. Settings of the filter and of aiding are stored and read back; they change
//! nothing, as the filter's result is the truth with errors.

use std::collections::BTreeMap;

use super::output::{Measured, Stream, f32s, ned, ned_from_frd, roll_pitch_yaw, wxyz};
use super::xbus::gps_time_of_week_ms;
use super::{Protocol, Unit, believed_place};
use crate::devices::imu::answers::SbgAnswers;
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::sbg_ecom::{
    EkfEuler, EkfNav, EkfQuat, Frame, ImuData, ImuShort, Log, Mag, OUTPUT_DIVISORS, SbgEcom,
    Status, UtcTime, class, code, command, log,
};

/// What the unit can send, by its name in profiles, in the order it is sent.
pub const MESSAGES: [(&str, u8); 8] = [
    ("status", log::STATUS),
    ("utc-time", log::UTC_TIME),
    ("imu-data", log::IMU_DATA),
    ("imu-short", log::IMU_SHORT),
    ("mag", log::MAG),
    ("ekf-euler", log::EKF_EULER),
    ("ekf-quat", log::EKF_QUAT),
    ("ekf-nav", log::EKF_NAV),
];

const ACCEL_RANGE_OK: u16 = 1 << 8;
const GYRO_RANGE_OK: u16 = 1 << 9;
/// Above it the short log's fine unit does not reach, rad/s.
const FINE_GYRO_MAX_RAD_S: f64 = 31.99;

/// See the module.
pub struct SbgUnit {
    /// What it says when it is well.
    answers: SbgAnswers,
    framer: Framer<SbgEcom>,
    /// Every how many loops each log is sent; 0: not.
    divisors: BTreeMap<u8, u16>,
    streams: BTreeMap<u8, Stream>,
    is_class_on: bool,
    stored: BTreeMap<u8, Vec<u8>>,
    silent_until: SimTime,
    saved: (BTreeMap<u8, u16>, BTreeMap<u8, Vec<u8>>),
    sample_rate_hz: f64,
}

impl SbgUnit {
    /// A unit with the profile's logs on.
    pub fn new(unit: &Unit, answers: SbgAnswers) -> Self {
        let loops = unit.divisor(unit.settings.rate_hz) as u16;
        let is_listed = |name: &str| unit.profile.messages.iter().any(|m| m == name);
        let divisors: BTreeMap<u8, u16> = MESSAGES
            .iter()
            .map(|(name, id)| (*id, if is_listed(name) { loops } else { 0 }))
            .collect();
        let stored = answers.stored.clone();
        let mut made = Self {
            answers,
            framer: Framer::new(SbgEcom),
            divisors: divisors.clone(),
            streams: BTreeMap::new(),
            is_class_on: unit.settings.is_streaming,
            stored: stored.clone(),
            silent_until: SimTime::ZERO,
            saved: (divisors, stored),
            sample_rate_hz: f64::from(unit.profile.sample_rate_hz),
        };
        made.retime();
        made
    }

    fn retime(&mut self) {
        self.streams = self
            .divisors
            .iter()
            .filter(|(_, loops)| **loops > 0)
            .map(|(id, loops)| {
                let same = self.streams.remove(id).filter(|s| s.divisor() == u64::from(*loops));
                (*id, same.unwrap_or_else(|| Stream::every((*loops).into())))
            })
            .collect();
    }

    fn say(unit: &mut Unit, now: SimTime, frame: &Frame) {
        let mut bytes = Vec::new();
        frame.emit(&mut bytes);
        unit.reply(now, bytes);
    }

    fn on_command(&mut self, now: SimTime, frame: &Frame, unit: &mut Unit) {
        let message = frame.message;
        let answer = |data: Vec<u8>| Frame { message, class: class::COMMAND, data };
        let mut restarts = false;
        let reply = match (message, frame.data.as_slice()) {
            (command::INFO, []) => answer(info(unit)),
            (command::OUTPUT_CONF, &[port, id, class]) => match self.divisors.get(&id) {
                Some(loops) if port == 0 && class == class::LOG => {
                    answer([&[port, id, class][..], &loops.to_le_bytes()].concat())
                }
                _ => Frame::ack(message, code::INVALID_PARAMETER),
            },
            (command::OUTPUT_CONF, &[port, id, class, low, high]) => {
                let loops = u16::from_le_bytes([low, high]);
                let is_known = port == 0 && class == class::LOG && self.divisors.contains_key(&id);
                if is_known && (loops == 0 || OUTPUT_DIVISORS.contains(&loops)) {
                    self.divisors.insert(id, loops);
                    self.retime();
                    Frame::ack(message, code::NO_ERROR)
                } else {
                    Frame::ack(message, code::INVALID_PARAMETER)
                }
            }
            (command::OUTPUT_CLASS_ENABLE, &[0, class::LOG]) => {
                answer(vec![0, class::LOG, self.is_class_on.into()])
            }
            (command::OUTPUT_CLASS_ENABLE, &[0, class::LOG, on @ (0 | 1)]) => {
                self.is_class_on = on == 1;
                Frame::ack(message, code::NO_ERROR)
            }
            (command::UART_CONF, &[0]) => {
                // Port A in main mode.
                answer([&[0][..], &unit.port.line().baud.to_le_bytes(), &[1]].concat())
            }
            (command::UART_CONF, &[0, a, b, c, d, _]) => {
                let baud = u32::from_le_bytes([a, b, c, d]);
                if unit.profile.baud_rates.contains(&baud) {
                    Self::say(unit, now, &Frame::ack(message, code::NO_ERROR));
                    unit.port.change_rate(now, baud);
                    return;
                }
                Frame::ack(message, code::INVALID_PARAMETER)
            }
            (command::SETTINGS_ACTION, &[action @ 0..=2]) => {
                match action {
                    1 => self.saved = (self.divisors.clone(), self.stored.clone()),
                    2 => {
                        let new = Self::new(unit, self.answers.clone());
                        (self.divisors, self.stored) = new.saved.clone();
                        self.saved = new.saved;
                        restarts = true;
                    }
                    _ => restarts = true,
                }
                Frame::ack(message, code::NO_ERROR)
            }
            (_, data) => match self.stored.get_mut(&message) {
                None => Frame::ack(message, code::INVALID_PARAMETER),
                Some(stored) if data.is_empty() => answer(stored.clone()),
                Some(stored) if data.len() == stored.len() => {
                    stored.copy_from_slice(data);
                    Frame::ack(message, code::NO_ERROR)
                }
                Some(_) => Frame::ack(message, code::INVALID_FRAME),
            },
        };
        Self::say(unit, now, &reply);
        if restarts {
            (self.divisors, self.stored) = self.saved.clone();
            self.retime();
            self.silent_until = SimTime(now.0 + unit.profile.boot_ns);
            unit.restart(self.silent_until);
        }
    }

    fn log(&self, id: u8, sample: &Sample, m: &Measured, unit: &Unit) -> Log {
        let clock_ns = unit.clock_ns(sample);
        let timestamp_us = (clock_ns / 1000) as u32;
        let attitude = ned_from_frd(sample.attitude);
        let errors = &unit.settings.model.attitude;
        let (level, heading) = (errors.roll_pitch_std_rad as f32, errors.heading_std_rad as f32);
        let std_rad = [level, level, heading];
        let healthy = &self.answers;
        let status = healthy.solution;
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
                status: healthy.mag,
                mag: f32s(m.mag / unit.profile.magnetic_unit_gauss),
                accel_m_s2: f32s(m.accel),
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

/// Product code, serial number, calibration and revisions: 52 bytes, as the library reads them.
fn info(unit: &Unit) -> Vec<u8> {
    let identity = &unit.profile.identity;
    let mut data = identity.model.clone().into_bytes();
    data.resize(32, 0);
    data.extend(identity.serial.parse::<u32>().unwrap_or(0).to_le_bytes());
    data.extend([0; 4]);
    let start = unit.epoch.civil(SimTime::ZERO);
    data.extend((start.year() as u16).to_le_bytes());
    data.extend([start.month() as u8, start.day() as u8]);
    data.extend(revision(&identity.hardware).to_le_bytes());
    data.extend(revision(&identity.firmware).to_le_bytes());
    data
}

/// `2.5.1` as the library packs it: major, minor, revision, build in a byte each, from the top.
fn revision(text: &str) -> u32 {
    let mut numbers = text.split('.').map(|n| n.parse::<u8>().unwrap_or(0));
    u32::from_be_bytes(std::array::from_fn(|_| numbers.next().unwrap_or(0)))
}

impl Protocol for SbgUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.decimation);
        let is_heard = self.is_class_on && sample.truth.at >= self.silent_until;
        for (_, id) in MESSAGES {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            let Some(measured) = stream.step(sample, dt_s, decimation) else { continue };
            if is_heard {
                let mut bytes = Vec::new();
                self.log(id, sample, &measured.in_frd(), unit).frame().emit(&mut bytes);
                unit.report(sample, bytes);
            }
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        for frame in self.framer.frames(bytes) {
            // An acknowledgement is not answered.
            if frame.class != class::COMMAND || frame.message == command::ACK {
                continue;
            }
            self.on_command(now, &frame, unit);
            if now < self.silent_until {
                // What came behind a reset is not heard.
                self.framer.clear();
                break;
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        let on = self.streams.values().filter(|_| self.is_class_on);
        on.map(|stream| self.sample_rate_hz / stream.divisor() as f64).sum()
    }
}
