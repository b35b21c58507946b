//! FDILink, the frames of the Wheeltec N100 (FDIsystems DETA10 and relatives).
//!
//! `FC | type | length | sequence | CRC8 | CRC16 high, low | payload | FD`. Numbers are least significant byte first,
//! except the CRC16. The CRC8 covers the first four bytes, the CRC16 the payload. Source: the maker's ROS driver
//! `fdilink_ahrs`. Hosts send no frames; they configure the product with lines of text.

use super::ParseError;
use super::checksum::{crc8_maxim, crc16_xmodem};
use super::framer::{Framing, NoFrame, head, require, whole};
use super::record::{Record, record};

const HEAD: u8 = 0xfc;
const END: u8 = 0xfd;
/// Bytes of a frame in addition to its payload.
pub const OVERHEAD: usize = 8;

/// Type bytes.
mod kind {
    pub const IMU: u8 = 0x40;
    pub const AHRS: u8 = 0x41;
    pub const INS_GPS: u8 = 0x42;
    pub const GROUND_STATION: u8 = 0xf0;
    pub const OTHER: u8 = 0x50;
    pub const GEODETIC_POSITION: u8 = 0x5c;
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Frame counter, modulo 256.
    pub sequence: u8,
    /// Content of the frame.
    pub packet: Packet,
}

/// Content of a frame. Axes: body forward-right-down, Earth north-east-down.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    /// Raw measurements.
    Imu(Imu),
    /// Attitude.
    Ahrs(Ahrs),
    /// Navigation.
    InsGps(InsGps),
    /// Position.
    GeodeticPosition(GeodeticPosition),
    /// Frames that the maker's driver ignores: type 0xF0 (ground station) or 0x50.
    Skipped {
        /// The type byte.
        kind: u8,
        /// Payload, at most 255 bytes.
        payload: Vec<u8>,
    },
}

record! {
    /// Payload of type 0x40: raw measurements.
    #[derive(Copy, Default, serde::Serialize)]
    Imu: Le 56 {
        /// Angular rates, rad/s.
        gyro_rad_s: [f32; 3],
        /// Specific force, m/s².
        accel_m_s2: [f32; 3],
        /// Magnetic flux density, milligauss.
        mag_mgauss: [f32; 3],
        /// Temperature of the IMU, degrees C.
        temperature_c: f32,
        /// Air pressure, pascals.
        pressure_pa: f32,
        /// Temperature of the barometer, degrees C.
        pressure_temperature_c: f32,
        /// Time since power-on, us.
        timestamp_us: i64,
    }
    /// Payload of type 0x41: attitude.
    #[derive(Copy, Default, serde::Serialize)]
    Ahrs: Le 48 {
        /// Roll, pitch and heading rates, rad/s.
        rates_rad_s: [f32; 3],
        /// Roll, pitch and heading, rad.
        rpy_rad: [f32; 3],
        /// Rotation from body to north-east-down axes: w, x, y, z.
        quaternion: [f32; 4],
        /// Time since power-on, us.
        timestamp_us: i64,
    }
    /// Payload of type 0x42: navigation.
    #[derive(Copy, Default, serde::Serialize)]
    InsGps: Le 72 {
        /// Velocity in body axes, m/s.
        body_velocity_m_s: [f32; 3],
        /// Acceleration in body axes, m/s².
        body_accel_m_s2: [f32; 3],
        /// Position relative to the start: north, east, down, m.
        location_ned_m: [f32; 3],
        /// Velocity: north, east, down, m/s.
        velocity_ned_m_s: [f32; 3],
        /// Acceleration: north, east, down, m/s².
        accel_ned_m_s2: [f32; 3],
        /// Altitude by the barometer, m.
        pressure_altitude_m: f32,
        /// Time since power-on, us.
        timestamp_us: i64,
    }
    /// Payload of type 0x5C: position.
    #[derive(Copy, Default, serde::Serialize)]
    GeodeticPosition: Le 32 {
        /// Latitude, rad.
        latitude_rad: f64,
        /// Longitude, rad.
        longitude_rad: f64,
        /// Height, m.
        height_m: f64,
        /// Horizontal accuracy, m.
        horizontal_accuracy_m: f32,
        /// Vertical accuracy, m.
        vertical_accuracy_m: f32,
    }
}

impl Packet {
    /// The type byte of the frame.
    pub fn kind(&self) -> u8 {
        match self {
            Packet::Imu(_) => kind::IMU,
            Packet::Ahrs(_) => kind::AHRS,
            Packet::InsGps(_) => kind::INS_GPS,
            Packet::GeodeticPosition(_) => kind::GEODETIC_POSITION,
            Packet::Skipped { kind, .. } => *kind,
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Packet::Imu(imu) => imu.emit(out),
            Packet::Ahrs(ahrs) => ahrs.emit(out),
            Packet::InsGps(ins_gps) => ins_gps.emit(out),
            Packet::GeodeticPosition(position) => position.emit(out),
            Packet::Skipped { payload, .. } => out.extend_from_slice(payload),
        }
    }

    fn parse(kind: u8, payload: &[u8]) -> Result<Self, ParseError> {
        Ok(match kind {
            kind::IMU => Packet::Imu(Imu::parse(payload)?),
            kind::AHRS => Packet::Ahrs(Ahrs::parse(payload)?),
            kind::INS_GPS => Packet::InsGps(InsGps::parse(payload)?),
            kind::GEODETIC_POSITION => Packet::GeodeticPosition(GeodeticPosition::parse(payload)?),
            kind::GROUND_STATION | kind::OTHER => {
                Packet::Skipped { kind, payload: payload.to_vec() }
            }
            _ => return Err(ParseError::value("type", kind, "that of a known packet")),
        })
    }
}

impl Frame {
    /// Appends the frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([HEAD, self.packet.kind(), 0, self.sequence, 0, 0, 0]);
        self.packet.emit(out);
        let payload = start + OVERHEAD - 1;
        // Only a `Skipped` packet can have a longer payload, which is truncated.
        out[start + 2] = (out.len() - payload).min(255) as u8;
        out.truncate(payload + 255);
        out[start + 4] = crc8_maxim(&out[start..start + 4]);
        let crc = crc16_xmodem(&out[payload..]);
        out[start + 5..payload].copy_from_slice(&crc.to_be_bytes());
        out.push(END);
    }
}

/// Finds [`Frame`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct FdiLink;

impl Framing for FdiLink {
    type Frame = Frame;

    fn max_len(&self) -> usize {
        OVERHEAD + 255
    }

    fn begins(&self, byte: u8) -> bool {
        byte == HEAD
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        let [_, kind, length, sequence, crc8, high, low] = head(bytes)?;
        require(crc8 == crc8_maxim(&bytes[..4]))?;
        let frame = whole(bytes, OVERHEAD + usize::from(length))?;
        let payload = &frame[OVERHEAD - 1..frame.len() - 1];
        require(frame.ends_with(&[END]) && crc16_xmodem(payload).to_be_bytes() == [high, low])?;
        Ok((Frame { sequence, packet: Packet::parse(kind, payload)? }, frame.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;
    use proptest::prelude::*;

    const IMU: &str = "FC 40 38 00 09 97 DB 0A D7 23 3C 0A D7 A3 BC 8F C2 F5 3C CD CC CC 3D CD CC \
        4C BE C3 F5 1C C1 00 00 7A 43 00 00 F0 C1 00 00 C8 43 00 00 0E 42 80 E6 C5 47 00 00 0E 42 \
        D2 02 96 49 00 00 00 00 FD";
    const AHRS: &str = "FC 41 30 01 8A E9 79 0A D7 23 3C 0A D7 A3 BC 8F C2 F5 3C 00 00 00 00 00 \
        00 00 00 DB 0F C9 3F F3 04 35 3F 00 00 00 00 00 00 00 00 F3 04 35 3F D2 02 96 49 00 00 00 \
        00 FD";
    const POSITION: &str = "FC 5C 20 02 DE 1E 5D A2 6F 44 E8 B7 68 EA 3F BC 00 C3 6B 8E 22 C3 3F \
        CD CC CC CC CC 1C 81 40 9A 99 99 3F 66 66 E6 3F FD";
    const GROUND: &str = "FC F0 04 03 37 00 00 00 00 00 00 FD";

    fn emit(frame: &Frame) -> Vec<u8> {
        let mut out = vec![0xa5];
        frame.emit(&mut out);
        out.split_off(1)
    }

    #[test]
    fn frames_are_those_the_makers_driver_takes() {
        let imu = Imu {
            gyro_rad_s: [0.01, -0.02, 0.03],
            accel_m_s2: [0.1, -0.2, -9.81],
            mag_mgauss: [250.0, -30.0, 400.0],
            temperature_c: 35.5,
            pressure_pa: 101_325.0,
            pressure_temperature_c: 35.5,
            timestamp_us: 1_234_567_890,
        };
        let ahrs = Ahrs {
            rates_rad_s: [0.01, -0.02, 0.03],
            rpy_rad: [0.0, 0.0, std::f32::consts::FRAC_PI_2],
            quaternion: [0.707_106_77, 0.0, 0.0, 0.707_106_77],
            timestamp_us: 1_234_567_890,
        };
        for (sequence, packet, golden) in
            [(0, Packet::Imu(imu), IMU), (1, Packet::Ahrs(ahrs), AHRS)]
        {
            assert_eq!(emit(&Frame { sequence, packet }), hex(golden));
        }
    }

    #[test]
    fn golden_frames_survive_one_after_the_other() {
        let bytes = hex(&[IMU, AHRS, POSITION, GROUND].join(" "));
        let frames = Framer::new(FdiLink).frames(&bytes);
        assert_eq!(frames.len(), 4);
        assert_eq!(frames.iter().flat_map(emit).collect::<Vec<_>>(), bytes);
        let Packet::GeodeticPosition(p) = &frames[2].packet else { panic!("{:?}", frames[2]) };
        assert!((p.latitude_rad.to_degrees() - 47.285_233_167).abs() < 1e-6, "{p:?}");
        let zeros = Packet::Skipped { kind: 0xf0, payload: vec![0; 4] };
        assert_eq!(frames[3].packet, zeros);
    }

    proptest! {
        #[test]
        fn every_wrong_byte_is_noticed(place in 0usize..64, change in 1u8..) {
            let mut bytes = hex(IMU);
            bytes[place] ^= change;
            prop_assert!(Framer::new(FdiLink).frames(&bytes).is_empty());
        }
    }
}
