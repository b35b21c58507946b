//! sbgECom, the frames of SBG Systems products.
//!
//! `FF 5A | message | class | length | data | CRC16 | 33`. Numbers are least significant byte first; the CRC covers
//! all bytes from message to data. Class 0x00 has logs, class 0x10 commands. Source: the maker's library sbgECom and
//! its protocol documents.

use super::ParseError;
use super::checksum::crc16_kermit;
use super::framer::{Framing, NoFrame, head, require, whole};
use super::record::{Record, record};

const SYNC: [u8; 2] = [0xff, 0x5a];
const END: u8 = 0x33;
/// Length of a frame in addition to its data, bytes.
pub const OVERHEAD: usize = 9;
/// Longest data of a frame, bytes.
pub const MAX_DATA: usize = 4086;

/// Classes of messages.
pub mod class {
    /// Measurements and estimates.
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
    pub const MAG_CALIB: u8 = 5;
    pub const EKF_EULER: u8 = 6;
    pub const EKF_QUAT: u8 = 7;
    pub const EKF_NAV: u8 = 8;
    pub const SHIP_MOTION: u8 = 9;
    pub const GPS1_VEL: u8 = 13;
    pub const GPS1_POS: u8 = 14;
    pub const GPS1_HDT: u8 = 15;
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
    pub const SET_MAG_CALIB: u8 = 13;
    pub const START_MAG_CALIB: u8 = 14;
    pub const COMPUTE_MAG_CALIB: u8 = 15;
    pub const GNSS_1_MODEL_ID: u8 = 17;
    pub const GNSS_1_LEVER_ARM_ALIGNMENT: u8 = 18;
    pub const GNSS_1_REJECT_MODES: u8 = 19;
    pub const ODO_CONF: u8 = 20;
    pub const ODO_LEVER_ARM: u8 = 21;
    pub const ODO_REJECT_MODE: u8 = 22;
    pub const UART_CONF: u8 = 23;
    pub const CAN_BUS_CONF: u8 = 24;
    pub const CAN_OUTPUT_CONF: u8 = 25;
    pub const SYNC_IN_CONF: u8 = 26;
    pub const SYNC_OUT_CONF: u8 = 27;
    pub const NMEA_TALKER_ID: u8 = 29;
    pub const OUTPUT_CONF: u8 = 30;
    pub const ADVANCED_CONF: u8 = 32;
    pub const FEATURES: u8 = 33;
    pub const OUTPUT_CLASS_ENABLE: u8 = 35;
    pub const VALIDITY_THRESHOLDS: u8 = 38;
    pub const DVL_MODEL_ID: u8 = 39;
    pub const DVL_INSTALLATION: u8 = 40;
    pub const DVL_REJECT_MODES: u8 = 41;
    pub const AIRDATA_MODEL_ID: u8 = 42;
    pub const AIRDATA_LEVER_ARM: u8 = 43;
    pub const AIRDATA_REJECT_MODES: u8 = 44;
    pub const ODO_CAN_CONF: u8 = 45;
    pub const GNSS_1_INSTALLATION: u8 = 46;
}

/// Error codes of acknowledgements.
pub mod code {
    /// No error.
    pub const NO_ERROR: u16 = 0;
    /// The length of the data is wrong for the command.
    pub const INVALID_FRAME: u16 = 4;
    /// A parameter is not allowed, or the command is unknown.
    pub const INVALID_PARAMETER: u16 = 9;
}

/// Divisors that `OUTPUT_CONF` accepts for periodic logs. The main loop runs at 200 Hz; the divisor 40 gives 5 logs per
/// second.
pub const OUTPUT_DIVISORS: [u16; 9] = [1, 2, 4, 5, 8, 10, 20, 40, 200];

/// One frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Id of the message within its class.
    pub message: u8,
    /// Class, see [`class`]; bit 7 marks a page of a large message.
    pub class: u8,
    /// The data, at most [`MAX_DATA`] bytes.
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

    fn max_len(&self) -> usize {
        OVERHEAD + MAX_DATA
    }

    fn begins(&self, byte: u8) -> bool {
        byte == SYNC[0]
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        // If the first byte is repeated, only its last copy can begin a frame.
        require(head::<2>(bytes)? == SYNC)?;
        let [_, _, message, class, low, high] = head(bytes)?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        require(length <= MAX_DATA)?;
        let frame = whole(bytes, OVERHEAD + length)?;
        let (covered, tail) = frame[2..].split_at(4 + length);
        let [low, high] = crc16_kermit(covered).to_le_bytes();
        require(tail == [low, high, END])?;
        Ok((Frame { message, class, data: covered[4..].to_vec() }, frame.len()))
    }
}

/// The supported logs. All times are microseconds since power-on.
#[derive(Clone, Debug, PartialEq)]
pub enum Log {
    /// State of the product, 27 bytes.
    Status(Status),
    /// UTC, 33 bytes.
    UtcTime(UtcTime),
    /// IMU measurements in floats, 58 bytes.
    ImuData(ImuData),
    /// IMU measurements in integers, 32 bytes.
    ImuShort(ImuShort),
    /// Magnetic field, 30 bytes.
    Mag(Mag),
    /// Data for calibrating the magnetometer, 22 bytes.
    MagCalib(MagCalib),
    /// Heave of a ship, 46 bytes.
    ShipMotion(ShipMotion),
    /// Attitude in angles, 32 bytes, or 40 with magnetic declination and inclination.
    EkfEuler(EkfEuler),
    /// Attitude as a quaternion, 36 bytes, or 44 with magnetic declination and inclination.
    EkfQuat(EkfQuat),
    /// Velocity and position, 72 bytes.
    EkfNav(EkfNav),
    /// Velocity of the first GNSS receiver, 44 bytes.
    Gps1Vel(Gps1Vel),
    /// Position of the first GNSS receiver, 57 bytes.
    Gps1Pos(Gps1Pos),
    /// Heading from the two antennas of the first GNSS receiver, 26 bytes, or 30 with the baseline's length.
    Gps1Hdt(Gps1Hdt),
}

record! {
    /// Content of [`Log::Status`]. The library's documents list the bits of its words.
    #[derive(Copy, Default, Eq, serde::Serialize)]
    Status: Le 27 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status word of power and settings.
        general: u16,
        /// Second status word of the ports.
        com_2: u16,
        /// First status word of the ports.
        com: u32,
        /// Status word of the received aiding data.
        aiding: u32,
        /// Reserved.
        reserved_2: u32,
        /// Reserved.
        reserved_3: u16,
        /// Time since power-on, seconds.
        uptime_s: u32,
        /// Load of the processor, percent.
        cpu_percent: u8,
    }
    /// Content of [`Log::UtcTime`].
    #[derive(Copy, Default, serde::Serialize)]
    UtcTime: Le 33 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status bits; 0x00A7 without errors.
        status: u16,
        /// Year with century.
        year: u16,
        /// Month, 1..=12.
        month: u8,
        /// Day of the month, 1..=31.
        day: u8,
        /// Hour, 0..=23.
        hour: u8,
        /// Minute, 0..=59.
        minute: u8,
        /// Second, 0..=60.
        second: u8,
        /// Nanoseconds within the second.
        nanosecond: i32,
        /// GPS time of week, ms.
        time_of_week_ms: u32,
        /// Standard deviations of the clock's bias and scale factor, and the clock's residual.
        clock: [f32; 3],
    }
    /// Content of [`Log::ImuData`].
    #[derive(Copy, Default, serde::Serialize)]
    ImuData: Le 58 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status bits; 0x03FF without errors.
        status: u16,
        /// Accelerations, m/s².
        accel_m_s2: [f32; 3],
        /// Angular rates, rad/s.
        gyro_rad_s: [f32; 3],
        /// Temperature, degrees C.
        temperature_c: f32,
        /// Change of velocity divided by the sample interval, m/s².
        delta_velocity_m_s2: [f32; 3],
        /// Change of angle divided by the sample interval, rad/s.
        delta_angle_rad_s: [f32; 3],
    }
    /// Content of [`Log::ImuShort`].
    #[derive(Copy, Default, Eq, serde::Serialize)]
    ImuShort: Le 32 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status bits; 0x03FF without errors. Bit 10: `gyro` is in coarse counts.
        status: u16,
        /// Accelerations in counts, [`ImuShort::ACCEL_LSB`] per m/s².
        accel: [i32; 3],
        /// Angular rates in counts, [`ImuShort::GYRO_LSB`] per rad/s, or [`ImuShort::COARSE_GYRO_LSB`] if status bit
        /// 10 is set.
        gyro: [i32; 3],
        /// Temperature, 1/256 degree C.
        temperature: i16,
    }
    /// Content of [`Log::Mag`].
    #[derive(Copy, Default, serde::Serialize)]
    Mag: Le 30 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status bits; 0x01FF without errors.
        status: u16,
        /// Magnetic field along x, y and z in the product's arbitrary unit; the profile defines this unit in gauss.
        mag: [f32; 3],
        /// Accelerations, m/s².
        accel_m_s2: [f32; 3],
    }
    /// Content of [`Log::MagCalib`].
    #[derive(Copy, Default, Eq, serde::Serialize)]
    MagCalib: Le 22 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Reserved.
        reserved: u16,
        /// Undocumented data for the maker's programs.
        buffer: [u8; 16],
    }
    /// Content of [`Log::ShipMotion`].
    #[derive(Copy, Default, serde::Serialize)]
    ShipMotion: Le 46 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Period of the waves, s; 0: not known.
        period_s: f32,
        /// Displacement: surge forward, sway right, heave down, m.
        motion_m: [f32; 3],
        /// Acceleration: forward, right, down, m/s².
        accel_m_s2: [f32; 3],
        /// Velocity: forward, right, down, m/s.
        velocity_m_s: [f32; 3],
        /// Status: bit 0 heave is valid, bit 1 heave is aided by velocity, bit 2 surge and sway are included, bit 3
        /// the period is included, bit 4 the period is valid.
        status: u16,
    }
    /// Content of [`Log::EkfEuler`].
    #[derive(Copy, Default, serde::Serialize)]
    EkfEuler: Le {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Roll, pitch and yaw, rad.
        rpy_rad: [f32; 3],
        /// Standard deviations of roll, pitch and yaw, rad.
        std_rad: [f32; 3],
        /// Status bits of the solution.
        status: u32,
        /// Declination and inclination of the magnetic field, rad; newer firmware only.
        declination_inclination_rad: Option<[f32; 2]>,
    }
    /// Content of [`Log::EkfQuat`].
    #[derive(Copy, Default, serde::Serialize)]
    EkfQuat: Le {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Rotation from the body's axes to north-east-down: quaternion w, x, y, z.
        quaternion: [f32; 4],
        /// Standard deviations of roll, pitch and yaw, rad.
        std_rad: [f32; 3],
        /// Status bits of the solution.
        status: u32,
        /// Declination and inclination of the magnetic field, rad; newer firmware only.
        declination_inclination_rad: Option<[f32; 2]>,
    }
    /// Content of [`Log::EkfNav`].
    #[derive(Copy, Default, serde::Serialize)]
    EkfNav: Le 72 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Velocity north, east, down, m/s.
        velocity_ned_m_s: [f32; 3],
        /// Standard deviations of the velocity, m/s.
        velocity_std_m_s: [f32; 3],
        /// Latitude, degrees.
        latitude_deg: f64,
        /// Longitude, degrees.
        longitude_deg: f64,
        /// Altitude above mean sea level, m.
        altitude_m: f64,
        /// Undulation of the geoid above the ellipsoid, m.
        undulation_m: f32,
        /// Standard deviations of the position: north, east, down, m.
        position_std_m: [f32; 3],
        /// Status bits of the solution.
        status: u32,
    }
    /// Content of [`Log::Gps1Vel`].
    #[derive(Copy, Default, serde::Serialize)]
    Gps1Vel: Le 44 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status: bits 0 to 5 are 0 if the velocity was computed; the bits from 6 on are its type, 2 for Doppler.
        status: u32,
        /// GPS time of week, ms.
        time_of_week_ms: u32,
        /// Velocity north, east, down, m/s.
        velocity_ned_m_s: [f32; 3],
        /// Standard deviations of the velocity, m/s.
        velocity_std_m_s: [f32; 3],
        /// Course over ground, degrees.
        course_deg: f32,
        /// Standard deviation of the course, degrees.
        course_std_deg: f32,
    }
    /// Content of [`Log::Gps1Pos`].
    #[derive(Copy, Default, serde::Serialize)]
    Gps1Pos: Le 57 {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status: bits 0 to 5 are 0 if the position was computed; the bits from 6 on are its type, 2 for a single
        /// point and 7 for RTK; the bits from 12 on are the signals used.
        status: u32,
        /// GPS time of week, ms.
        time_of_week_ms: u32,
        /// Latitude, degrees.
        latitude_deg: f64,
        /// Longitude, degrees.
        longitude_deg: f64,
        /// Altitude above mean sea level, m.
        altitude_m: f64,
        /// Undulation of the geoid above the ellipsoid, m.
        undulation_m: f32,
        /// Standard deviations of latitude, longitude and altitude, m.
        position_std_m: [f32; 3],
        /// Number of satellites used.
        satellites: u8,
        /// Id of the station that sends the corrections; 0xFFFF: none.
        base_station: u16,
        /// Age of differential corrections, 0.01 s; 0xFFFF: none.
        correction_age: u16,
    }
    /// Content of [`Log::Gps1Hdt`].
    #[derive(Copy, Default, serde::Serialize)]
    Gps1Hdt: Le {
        /// Time since power-on, us.
        timestamp_us: u32,
        /// Status: bits 0 to 5 are 0 if the heading was computed; bit 6 is set if the baseline is valid.
        status: u16,
        /// GPS time of week, ms.
        time_of_week_ms: u32,
        /// True heading, degrees.
        heading_deg: f32,
        /// Standard deviation of the heading, degrees.
        heading_std_deg: f32,
        /// Pitch, degrees.
        pitch_deg: f32,
        /// Standard deviation of the pitch, degrees.
        pitch_std_deg: f32,
        /// Distance between the antennas, m; newer firmware only.
        baseline_m: Option<f32>,
    }
}

impl ImuShort {
    /// Counts per m/s².
    pub const ACCEL_LSB: f64 = 1_048_576.0;
    /// Counts per rad/s.
    pub const GYRO_LSB: f64 = 67_108_864.0;
    /// Counts per rad/s for rates above 1833 °/s, which exceed the range of fine counts.
    pub const COARSE_GYRO_LSB: f64 = 12_304_174.0;
    /// Status bit: rates are in coarse counts.
    pub const COARSE_GYRO: u16 = 1 << 10;
}

impl Log {
    /// Message id of the log.
    pub fn message(&self) -> u8 {
        match self {
            Log::Status(_) => log::STATUS,
            Log::UtcTime(_) => log::UTC_TIME,
            Log::ImuData(_) => log::IMU_DATA,
            Log::ImuShort(_) => log::IMU_SHORT,
            Log::Mag(_) => log::MAG,
            Log::MagCalib(_) => log::MAG_CALIB,
            Log::ShipMotion(_) => log::SHIP_MOTION,
            Log::EkfEuler(_) => log::EKF_EULER,
            Log::EkfQuat(_) => log::EKF_QUAT,
            Log::EkfNav(_) => log::EKF_NAV,
            Log::Gps1Vel(_) => log::GPS1_VEL,
            Log::Gps1Pos(_) => log::GPS1_POS,
            Log::Gps1Hdt(_) => log::GPS1_HDT,
        }
    }

    /// Encodes the log as a frame.
    pub fn frame(&self) -> Frame {
        let data = match self {
            Log::Status(log) => log.to_bytes(),
            Log::UtcTime(log) => log.to_bytes(),
            Log::ImuData(log) => log.to_bytes(),
            Log::ImuShort(log) => log.to_bytes(),
            Log::Mag(log) => log.to_bytes(),
            Log::MagCalib(log) => log.to_bytes(),
            Log::ShipMotion(log) => log.to_bytes(),
            Log::EkfEuler(log) => log.to_bytes(),
            Log::EkfQuat(log) => log.to_bytes(),
            Log::EkfNav(log) => log.to_bytes(),
            Log::Gps1Vel(log) => log.to_bytes(),
            Log::Gps1Pos(log) => log.to_bytes(),
            Log::Gps1Hdt(log) => log.to_bytes(),
        };
        Frame { message: self.message(), class: class::LOG, data }
    }

    /// Decodes a frame of class [`class::LOG`]; `None` for unsupported logs.
    ///
    /// # Errors
    /// The length of a supported log is wrong.
    pub fn parse(frame: &Frame) -> Option<Result<Self, ParseError>> {
        if frame.class != class::LOG {
            return None;
        }
        let data = &frame.data;
        Some(match frame.message {
            log::STATUS => Status::parse(data).map(Log::Status),
            log::UTC_TIME => UtcTime::parse(data).map(Log::UtcTime),
            log::IMU_DATA => ImuData::parse(data).map(Log::ImuData),
            log::IMU_SHORT => ImuShort::parse(data).map(Log::ImuShort),
            log::MAG => Mag::parse(data).map(Log::Mag),
            log::MAG_CALIB => MagCalib::parse(data).map(Log::MagCalib),
            log::SHIP_MOTION => ShipMotion::parse(data).map(Log::ShipMotion),
            log::EKF_EULER => EkfEuler::parse(data).map(Log::EkfEuler),
            log::EKF_QUAT => EkfQuat::parse(data).map(Log::EkfQuat),
            log::EKF_NAV => EkfNav::parse(data).map(Log::EkfNav),
            log::GPS1_VEL => Gps1Vel::parse(data).map(Log::Gps1Vel),
            log::GPS1_POS => Gps1Pos::parse(data).map(Log::Gps1Pos),
            log::GPS1_HDT => Gps1Hdt::parse(data).map(Log::Gps1Hdt),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
