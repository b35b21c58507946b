//! sbgECom, the frames of SBG Systems units.
//!
//! `FF 5A | message | class | length | data | CRC16 | 33`. Numbers are least significant byte
//! first; the CRC covers message to data. Class 0x00 has logs, class 0x10 commands. Source: the
//! maker's library sbgECom, its protocol documents.

use super::ParseError;
use super::checksum::crc16_kermit;
use super::fields::{Fields, put_f32s_le};
use super::stream::{Framing, Scan};

const SYNC: [u8; 2] = [0xff, 0x5a];
const END: u8 = 0x33;
/// Bytes of a frame besides its data.
pub const OVERHEAD: usize = 9;
/// Longest data of a frame.
pub const MAX_DATA: usize = 4086;

/// Classes of messages.
pub mod class {
    /// What the unit measures and estimates.
    pub const LOG: u8 = 0x00;
    /// Commands and their answers.
    pub const COMMAND: u8 = 0x10;
}

/// Ids of logs in [`class::LOG`].
#[allow(missing_docs, reason = "the names are the library's")]
pub mod log {
    pub const STATUS: u8 = 1;
    pub const UTC_TIME: u8 = 2;
    pub const IMU_DATA: u8 = 3;
    pub const MAG: u8 = 4;
    pub const EKF_EULER: u8 = 6;
    pub const EKF_QUAT: u8 = 7;
    pub const EKF_NAV: u8 = 8;
    pub const IMU_SHORT: u8 = 44;
}

/// Ids of commands in [`class::COMMAND`].
#[allow(missing_docs, reason = "the names are the library's")]
pub mod command {
    pub const ACK: u8 = 0;
    pub const SETTINGS_ACTION: u8 = 1;
    pub const INFO: u8 = 4;
    pub const INIT_PARAMETERS: u8 = 5;
    pub const MOTION_PROFILE_ID: u8 = 7;
    pub const IMU_ALIGNMENT_LEVER_ARM: u8 = 8;
    pub const AIDING_ASSIGNMENT: u8 = 9;
    pub const MAGNETOMETER_MODEL_ID: u8 = 11;
    pub const MAGNETOMETER_REJECT_MODE: u8 = 12;
    pub const GNSS_1_MODEL_ID: u8 = 17;
    pub const UART_CONF: u8 = 23;
    pub const OUTPUT_CONF: u8 = 30;
    pub const ADVANCED_CONF: u8 = 32;
    pub const OUTPUT_CLASS_ENABLE: u8 = 35;
    pub const VALIDITY_THRESHOLDS: u8 = 38;
}

/// Error codes of acknowledgements.
pub mod code {
    /// Done.
    pub const NO_ERROR: u16 = 0;
    /// The data is not as long as the command's.
    pub const INVALID_FRAME: u16 = 4;
    /// A parameter is not allowed, or the command not known.
    pub const INVALID_PARAMETER: u16 = 9;
}

/// Every how many main loops (200 Hz) a log is sent, as `OUTPUT_CONF` writes it.
pub const OUTPUT_DIVISORS: [u16; 9] = [1, 2, 4, 5, 8, 10, 20, 40, 200];

/// One frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Message id, in its class.
    pub message: u8,
    /// See [`class`]; bit 7 marks a page of a large message.
    pub class: u8,
    /// At most [`MAX_DATA`] bytes.
    pub data: Vec<u8>,
}

impl Frame {
    /// An acknowledgement of a command, with a code of [`code`].
    pub fn ack(message: u8, error: u16) -> Self {
        let [low, high] = error.to_le_bytes();
        let data = vec![message, class::COMMAND, low, high];
        Self { message: command::ACK, class: class::COMMAND, data }
    }

    /// Appends the frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(SYNC);
        let start = out.len();
        out.extend([self.message, self.class]);
        out.extend((self.data.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.data);
        let crc = crc16_kermit(&out[start..]);
        out.extend(crc.to_le_bytes());
        out.push(END);
    }
}

/// Finds [`Frame`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct SbgEcom;

impl Framing for SbgEcom {
    type Frame = Frame;
    const MAX_LEN: usize = OVERHEAD + MAX_DATA;

    fn scan(bytes: &[u8]) -> Scan<Frame> {
        if bytes[0] != SYNC[0] {
            return Scan::Skip(bytes.iter().position(|b| *b == SYNC[0]).unwrap_or(bytes.len()));
        }
        if bytes.get(1).is_some_and(|b| *b != SYNC[1]) {
            return Scan::Skip(1);
        }
        let Some((&[_, _, message, class, low, high], rest)) = bytes.split_first_chunk() else {
            return Scan::Incomplete;
        };
        let length = usize::from(u16::from_le_bytes([low, high]));
        if length > MAX_DATA {
            return Scan::Skip(1);
        }
        let Some((data, tail)) = rest.split_at_checked(length) else { return Scan::Incomplete };
        let Some(&[a, b, end]) = tail.first_chunk() else { return Scan::Incomplete };
        if end != END || u16::from_le_bytes([a, b]) != crc16_kermit(&bytes[2..6 + length]) {
            return Scan::Skip(1);
        }
        Scan::Frame(Frame { message, class, data: data.to_vec() }, OVERHEAD + length)
    }
}

/// The logs whose content is known here. All times in us since power-on.
#[derive(Clone, Debug, PartialEq)]
pub enum Log {
    /// State of the unit, 27 bytes.
    Status(Status),
    /// UTC, 33 bytes.
    UtcTime(UtcTime),
    /// Measurements in floats, 58 bytes.
    ImuData(ImuData),
    /// Measurements in whole numbers, 32 bytes.
    ImuShort(ImuShort),
    /// Magnetic field, 30 bytes.
    Mag(Mag),
    /// Attitude in angles, 32 bytes, or 40 with declination and inclination.
    EkfEuler(EkfEuler),
    /// Attitude as a quaternion, 36 bytes, or 44 with declination and inclination.
    EkfQuat(EkfQuat),
    /// Velocity and position, 72 bytes.
    EkfNav(EkfNav),
}

/// See [`Log::Status`]. Words of bits as the library's documents list them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// us.
    pub timestamp_us: u32,
    /// Power and settings.
    pub general: u16,
    /// Second word of the ports.
    pub com_2: u16,
    /// Ports.
    pub com: u32,
    /// Aiding received.
    pub aiding: u32,
    /// Reserved.
    pub reserved_2: u32,
    /// Reserved.
    pub reserved_3: u16,
    /// Seconds since power-on.
    pub uptime_s: u32,
    /// Percent.
    pub cpu_percent: u8,
}

/// See [`Log::UtcTime`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct UtcTime {
    /// us.
    pub timestamp_us: u32,
    /// Bits; 0x00A7 when all is well.
    pub status: u16,
    /// With century.
    pub year: u16,
    /// 1..=12.
    pub month: u8,
    /// 1..=31.
    pub day: u8,
    /// 0..=23.
    pub hour: u8,
    /// 0..=59.
    pub minute: u8,
    /// 0..=60.
    pub second: u8,
    /// ns.
    pub nanosecond: i32,
    /// GPS time of week, ms.
    pub time_of_week_ms: u32,
    /// Bias, scale factor and residual of the clock.
    pub clock: [f32; 3],
}

/// See [`Log::ImuData`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct ImuData {
    /// us.
    pub timestamp_us: u32,
    /// Bits; 0x03FF when all is well.
    pub status: u16,
    /// m/s².
    pub accel_m_s2: [f32; 3],
    /// rad/s.
    pub gyro_rad_s: [f32; 3],
    /// degrees C.
    pub temperature_c: f32,
    /// Change of velocity over the sample interval, divided by it, m/s².
    pub delta_velocity_m_s2: [f32; 3],
    /// Change of angle over the sample interval, divided by it, rad/s.
    pub delta_angle_rad_s: [f32; 3],
}

/// See [`Log::ImuShort`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ImuShort {
    /// us.
    pub timestamp_us: u32,
    /// Bits; 0x03FF when all is well, bit 10: gyro in the coarse unit.
    pub status: u16,
    /// [`ImuShort::ACCEL_LSB`] units.
    pub accel: [i32; 3],
    /// [`ImuShort::GYRO_LSB`] units, or [`ImuShort::COARSE_GYRO_LSB`] with status bit 10.
    pub gyro: [i32; 3],
    /// 1/256 degree C.
    pub temperature: i16,
}

impl ImuShort {
    /// Units in one m/s².
    pub const ACCEL_LSB: f64 = 1_048_576.0;
    /// Units in one rad/s.
    pub const GYRO_LSB: f64 = 67_108_864.0;
    /// Units in one rad/s when the fine ones would not reach, above 1833 °/s.
    pub const COARSE_GYRO_LSB: f64 = 12_304_174.0;
    /// The status bit that says which.
    pub const COARSE_GYRO: u16 = 1 << 10;
}

/// See [`Log::Mag`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Mag {
    /// us.
    pub timestamp_us: u32,
    /// Bits; 0x01FF when all is well.
    pub status: u16,
    /// Of the field's usual strength.
    pub mag: [f32; 3],
    /// m/s².
    pub accel_m_s2: [f32; 3],
}

/// Declination and inclination, rad.
type Declination = Option<[f32; 2]>;

/// See [`Log::EkfEuler`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct EkfEuler {
    /// us.
    pub timestamp_us: u32,
    /// Roll, pitch, yaw, rad.
    pub rpy_rad: [f32; 3],
    /// Standard deviations, rad.
    pub std_rad: [f32; 3],
    /// Solution status.
    pub status: u32,
    /// Newer firmware only.
    pub declination_inclination_rad: Declination,
}

/// See [`Log::EkfQuat`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct EkfQuat {
    /// us.
    pub timestamp_us: u32,
    /// w, x, y, z; north-east-down from body.
    pub quaternion: [f32; 4],
    /// Of roll, pitch, yaw, rad.
    pub std_rad: [f32; 3],
    /// Solution status.
    pub status: u32,
    /// Newer firmware only.
    pub declination_inclination_rad: Declination,
}

/// See [`Log::EkfNav`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct EkfNav {
    /// us.
    pub timestamp_us: u32,
    /// m/s.
    pub velocity_ned_m_s: [f32; 3],
    /// m/s.
    pub velocity_std_m_s: [f32; 3],
    /// degrees.
    pub latitude_deg: f64,
    /// degrees.
    pub longitude_deg: f64,
    /// Above mean sea level, m.
    pub altitude_m: f64,
    /// Of the geoid above the ellipsoid, m.
    pub undulation_m: f32,
    /// North, east, down, m.
    pub position_std_m: [f32; 3],
    /// Solution status.
    pub status: u32,
}

fn declination(f: &mut Fields<'_>) -> Declination {
    (!f.is_empty()).then(|| f.f32s_le())
}

impl Log {
    /// The message id.
    pub fn message(&self) -> u8 {
        match self {
            Log::Status(_) => log::STATUS,
            Log::UtcTime(_) => log::UTC_TIME,
            Log::ImuData(_) => log::IMU_DATA,
            Log::ImuShort(_) => log::IMU_SHORT,
            Log::Mag(_) => log::MAG,
            Log::EkfEuler(_) => log::EKF_EULER,
            Log::EkfQuat(_) => log::EKF_QUAT,
            Log::EkfNav(_) => log::EKF_NAV,
        }
    }

    /// The log as a frame.
    pub fn frame(&self) -> Frame {
        let mut data = Vec::with_capacity(72);
        let out = &mut data;
        match self {
            Log::Status(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                out.extend(l.general.to_le_bytes());
                out.extend(l.com_2.to_le_bytes());
                for word in [l.com, l.aiding, l.reserved_2] {
                    out.extend(word.to_le_bytes());
                }
                out.extend(l.reserved_3.to_le_bytes());
                out.extend(l.uptime_s.to_le_bytes());
                out.push(l.cpu_percent);
            }
            Log::UtcTime(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                out.extend(l.status.to_le_bytes());
                out.extend(l.year.to_le_bytes());
                out.extend([l.month, l.day, l.hour, l.minute, l.second]);
                out.extend(l.nanosecond.to_le_bytes());
                out.extend(l.time_of_week_ms.to_le_bytes());
                put_f32s_le(out, &l.clock);
            }
            Log::ImuData(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                out.extend(l.status.to_le_bytes());
                put_f32s_le(out, &l.accel_m_s2);
                put_f32s_le(out, &l.gyro_rad_s);
                put_f32s_le(out, &[l.temperature_c]);
                put_f32s_le(out, &l.delta_velocity_m_s2);
                put_f32s_le(out, &l.delta_angle_rad_s);
            }
            Log::ImuShort(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                out.extend(l.status.to_le_bytes());
                out.extend(l.accel.iter().chain(&l.gyro).flat_map(|value| value.to_le_bytes()));
                out.extend(l.temperature.to_le_bytes());
            }
            Log::Mag(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                out.extend(l.status.to_le_bytes());
                put_f32s_le(out, &l.mag);
                put_f32s_le(out, &l.accel_m_s2);
            }
            Log::EkfEuler(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                put_f32s_le(out, &l.rpy_rad);
                put_f32s_le(out, &l.std_rad);
                out.extend(l.status.to_le_bytes());
                put_f32s_le(out, l.declination_inclination_rad.as_slice().as_flattened());
            }
            Log::EkfQuat(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                put_f32s_le(out, &l.quaternion);
                put_f32s_le(out, &l.std_rad);
                out.extend(l.status.to_le_bytes());
                put_f32s_le(out, l.declination_inclination_rad.as_slice().as_flattened());
            }
            Log::EkfNav(l) => {
                out.extend(l.timestamp_us.to_le_bytes());
                put_f32s_le(out, &l.velocity_ned_m_s);
                put_f32s_le(out, &l.velocity_std_m_s);
                for value in [l.latitude_deg, l.longitude_deg, l.altitude_m] {
                    out.extend(value.to_le_bytes());
                }
                put_f32s_le(out, &[l.undulation_m]);
                put_f32s_le(out, &l.position_std_m);
                out.extend(l.status.to_le_bytes());
            }
        }
        Frame { message: self.message(), class: class::LOG, data }
    }

    /// What a frame of class [`class::LOG`] says; `None` for logs that are not known here.
    ///
    /// # Errors
    /// A known log of another length.
    pub fn parse(frame: &Frame) -> Option<Result<Self, ParseError>> {
        let known = [
            log::STATUS,
            log::UTC_TIME,
            log::IMU_DATA,
            log::IMU_SHORT,
            log::MAG,
            log::EKF_EULER,
            log::EKF_QUAT,
            log::EKF_NAV,
        ];
        let is_known = frame.class == class::LOG && known.contains(&frame.message);
        is_known.then(|| Self::parse_known(frame))
    }

    fn parse_known(frame: &Frame) -> Result<Self, ParseError> {
        let data = &frame.data;
        // Newer firmware appends declination and inclination.
        let either = |short: usize| if data.len() == short + 8 { short + 8 } else { short };
        Ok(match frame.message {
            log::STATUS => {
                let mut f = Fields::new("STATUS", data, 27)?;
                Log::Status(Status {
                    timestamp_us: f.u32_le(),
                    general: f.u16_le(),
                    com_2: f.u16_le(),
                    com: f.u32_le(),
                    aiding: f.u32_le(),
                    reserved_2: f.u32_le(),
                    reserved_3: f.u16_le(),
                    uptime_s: f.u32_le(),
                    cpu_percent: f.u8(),
                })
            }
            log::UTC_TIME => {
                let mut f = Fields::new("UTC_TIME", data, 33)?;
                Log::UtcTime(UtcTime {
                    timestamp_us: f.u32_le(),
                    status: f.u16_le(),
                    year: f.u16_le(),
                    month: f.u8(),
                    day: f.u8(),
                    hour: f.u8(),
                    minute: f.u8(),
                    second: f.u8(),
                    nanosecond: f.i32_le(),
                    time_of_week_ms: f.u32_le(),
                    clock: f.f32s_le(),
                })
            }
            log::IMU_DATA => {
                let mut f = Fields::new("IMU_DATA", data, 58)?;
                Log::ImuData(ImuData {
                    timestamp_us: f.u32_le(),
                    status: f.u16_le(),
                    accel_m_s2: f.f32s_le(),
                    gyro_rad_s: f.f32s_le(),
                    temperature_c: f.f32_le(),
                    delta_velocity_m_s2: f.f32s_le(),
                    delta_angle_rad_s: f.f32s_le(),
                })
            }
            log::IMU_SHORT => {
                let mut f = Fields::new("IMU_SHORT", data, 32)?;
                Log::ImuShort(ImuShort {
                    timestamp_us: f.u32_le(),
                    status: f.u16_le(),
                    accel: std::array::from_fn(|_| f.i32_le()),
                    gyro: std::array::from_fn(|_| f.i32_le()),
                    temperature: f.i16_le(),
                })
            }
            log::MAG => {
                let mut f = Fields::new("MAG", data, 30)?;
                Log::Mag(Mag {
                    timestamp_us: f.u32_le(),
                    status: f.u16_le(),
                    mag: f.f32s_le(),
                    accel_m_s2: f.f32s_le(),
                })
            }
            log::EKF_EULER => {
                let mut f = Fields::new("EKF_EULER", data, either(32))?;
                Log::EkfEuler(EkfEuler {
                    timestamp_us: f.u32_le(),
                    rpy_rad: f.f32s_le(),
                    std_rad: f.f32s_le(),
                    status: f.u32_le(),
                    declination_inclination_rad: declination(&mut f),
                })
            }
            log::EKF_QUAT => {
                let mut f = Fields::new("EKF_QUAT", data, either(36))?;
                Log::EkfQuat(EkfQuat {
                    timestamp_us: f.u32_le(),
                    quaternion: f.f32s_le(),
                    std_rad: f.f32s_le(),
                    status: f.u32_le(),
                    declination_inclination_rad: declination(&mut f),
                })
            }
            _ => {
                let mut f = Fields::new("EKF_NAV", data, 72)?;
                Log::EkfNav(EkfNav {
                    timestamp_us: f.u32_le(),
                    velocity_ned_m_s: f.f32s_le(),
                    velocity_std_m_s: f.f32s_le(),
                    latitude_deg: f.f64_le(),
                    longitude_deg: f.f64_le(),
                    altitude_m: f.f64_le(),
                    undulation_m: f.f32_le(),
                    position_std_m: f.f32s_le(),
                    status: f.u32_le(),
                })
            }
        })
    }
}

#[cfg(test)]
mod tests;
