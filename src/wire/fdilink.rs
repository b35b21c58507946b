//! FDILink, the frames of the Wheeltec N100 (FDIsystems DETA10 and relatives).
//!
//! `FC | type | length | sequence | CRC8 | CRC16 high, low | payload | FD`. Numbers are least
//! significant byte first, but for the CRC16. The CRC8 covers the first four bytes, the CRC16 the
//! payload. Source: the maker's ROS driver `fdilink_ahrs`; the product only talks, it is never
//! asked anything.

use super::checksum::{crc8_maxim, crc16_xmodem};
use super::fields::{Fields, put_f32s_le};
use super::stream::{Framing, Scan};

const HEAD: u8 = 0xfc;
const END: u8 = 0xfd;
/// Bytes of a frame besides its payload.
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
    /// Counts all frames, modulo 256.
    pub sequence: u8,
    /// What it says.
    pub packet: Packet,
}

/// What a frame says. Axes: body forward-right-down, Earth north-east-down.
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
    /// Frames the maker's driver steps over: type 0xF0 (ground station) or 0x50.
    Skipped {
        /// The type byte.
        kind: u8,
        /// At most 255 bytes.
        payload: Vec<u8>,
    },
}

/// Type 0x40, 56 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Imu {
    /// rad/s.
    pub gyro_rad_s: [f32; 3],
    /// Specific force, m/s².
    pub accel_m_s2: [f32; 3],
    /// Milligauss.
    pub mag_mgauss: [f32; 3],
    /// Of the IMU, degrees C.
    pub temperature_c: f32,
    /// Pascal.
    pub pressure_pa: f32,
    /// Of the barometer, degrees C.
    pub pressure_temperature_c: f32,
    /// Since power-on, us.
    pub timestamp_us: i64,
}

/// Type 0x41, 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Ahrs {
    /// Roll, pitch and heading speed, rad/s.
    pub rates_rad_s: [f32; 3],
    /// Roll, pitch and heading, rad.
    pub rpy_rad: [f32; 3],
    /// w, x, y, z; north-east-down from body.
    pub quaternion: [f32; 4],
    /// Since power-on, us.
    pub timestamp_us: i64,
}

/// Type 0x42, 72 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct InsGps {
    /// Body, m/s.
    pub body_velocity_m_s: [f32; 3],
    /// Body, m/s².
    pub body_accel_m_s2: [f32; 3],
    /// North, east, down from the start, m.
    pub location_ned_m: [f32; 3],
    /// North, east, down, m/s.
    pub velocity_ned_m_s: [f32; 3],
    /// North, east, down, m/s².
    pub accel_ned_m_s2: [f32; 3],
    /// By the barometer, m.
    pub pressure_altitude_m: f32,
    /// Since power-on, us.
    pub timestamp_us: i64,
}

/// Type 0x5C, 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct GeodeticPosition {
    /// rad.
    pub latitude_rad: f64,
    /// rad.
    pub longitude_rad: f64,
    /// m.
    pub height_m: f64,
    /// Horizontal accuracy, m.
    pub horizontal_accuracy_m: f32,
    /// Vertical accuracy, m.
    pub vertical_accuracy_m: f32,
}

impl Packet {
    /// The type byte.
    pub fn kind(&self) -> u8 {
        match self {
            Packet::Imu(_) => kind::IMU,
            Packet::Ahrs(_) => kind::AHRS,
            Packet::InsGps(_) => kind::INS_GPS,
            Packet::GeodeticPosition(_) => kind::GEODETIC_POSITION,
            Packet::Skipped { kind, .. } => *kind,
        }
    }

    fn payload(&self, out: &mut Vec<u8>) {
        match self {
            Packet::Imu(p) => {
                put_f32s_le(out, &p.gyro_rad_s);
                put_f32s_le(out, &p.accel_m_s2);
                put_f32s_le(out, &p.mag_mgauss);
                put_f32s_le(out, &[p.temperature_c, p.pressure_pa, p.pressure_temperature_c]);
                out.extend(p.timestamp_us.to_le_bytes());
            }
            Packet::Ahrs(p) => {
                put_f32s_le(out, &p.rates_rad_s);
                put_f32s_le(out, &p.rpy_rad);
                put_f32s_le(out, &p.quaternion);
                out.extend(p.timestamp_us.to_le_bytes());
            }
            Packet::InsGps(p) => {
                put_f32s_le(out, &p.body_velocity_m_s);
                put_f32s_le(out, &p.body_accel_m_s2);
                put_f32s_le(out, &p.location_ned_m);
                put_f32s_le(out, &p.velocity_ned_m_s);
                put_f32s_le(out, &p.accel_ned_m_s2);
                put_f32s_le(out, &[p.pressure_altitude_m]);
                out.extend(p.timestamp_us.to_le_bytes());
            }
            Packet::GeodeticPosition(p) => {
                for value in [p.latitude_rad, p.longitude_rad, p.height_m] {
                    out.extend(value.to_le_bytes());
                }
                put_f32s_le(out, &[p.horizontal_accuracy_m, p.vertical_accuracy_m]);
            }
            Packet::Skipped { payload, .. } => out.extend_from_slice(payload),
        }
    }

    fn parse(kind: u8, payload: &[u8]) -> Option<Self> {
        Some(match kind {
            kind::IMU => {
                let mut f = Fields::new("IMU", payload, 56).ok()?;
                Packet::Imu(Imu {
                    gyro_rad_s: f.f32s_le(),
                    accel_m_s2: f.f32s_le(),
                    mag_mgauss: f.f32s_le(),
                    temperature_c: f.f32_le(),
                    pressure_pa: f.f32_le(),
                    pressure_temperature_c: f.f32_le(),
                    timestamp_us: f.i64_le(),
                })
            }
            kind::AHRS => {
                let mut f = Fields::new("AHRS", payload, 48).ok()?;
                Packet::Ahrs(Ahrs {
                    rates_rad_s: f.f32s_le(),
                    rpy_rad: f.f32s_le(),
                    quaternion: f.f32s_le(),
                    timestamp_us: f.i64_le(),
                })
            }
            kind::INS_GPS => {
                let mut f = Fields::new("INS/GPS", payload, 72).ok()?;
                Packet::InsGps(InsGps {
                    body_velocity_m_s: f.f32s_le(),
                    body_accel_m_s2: f.f32s_le(),
                    location_ned_m: f.f32s_le(),
                    velocity_ned_m_s: f.f32s_le(),
                    accel_ned_m_s2: f.f32s_le(),
                    pressure_altitude_m: f.f32_le(),
                    timestamp_us: f.i64_le(),
                })
            }
            kind::GEODETIC_POSITION => {
                let mut f = Fields::new("geodetic position", payload, 32).ok()?;
                Packet::GeodeticPosition(GeodeticPosition {
                    latitude_rad: f.f64_le(),
                    longitude_rad: f.f64_le(),
                    height_m: f.f64_le(),
                    horizontal_accuracy_m: f.f32_le(),
                    vertical_accuracy_m: f.f32_le(),
                })
            }
            kind::GROUND_STATION | kind::OTHER => {
                Packet::Skipped { kind, payload: payload.to_vec() }
            }
            _ => return None,
        })
    }
}

impl Frame {
    /// Appends the frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([HEAD, self.packet.kind(), 0, self.sequence, 0, 0, 0]);
        self.packet.payload(out);
        let payload = start + OVERHEAD - 1;
        // Every payload of a `Packet` that was parsed or made here fits.
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
    const MAX_LEN: usize = OVERHEAD + 255;

    fn scan(bytes: &[u8]) -> Scan<Frame> {
        if bytes[0] != HEAD {
            return Scan::Skip(bytes.iter().position(|b| *b == HEAD).unwrap_or(bytes.len()));
        }
        let Some((&head, rest)) = bytes.split_first_chunk::<7>() else { return Scan::Incomplete };
        let [_, kind, length, sequence, crc8, high, low] = head;
        if crc8 != crc8_maxim(&head[..4]) {
            return Scan::Skip(1);
        }
        let length = usize::from(length);
        let Some((payload, end)) = rest.split_at_checked(length) else { return Scan::Incomplete };
        let Some(&end) = end.first() else { return Scan::Incomplete };
        if end != END || crc16_xmodem(payload).to_be_bytes() != [high, low] {
            return Scan::Skip(1);
        }
        match Packet::parse(kind, payload) {
            Some(packet) => Scan::Frame(Frame { sequence, packet }, OVERHEAD + length),
            None => Scan::Skip(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::fields::hex;
    use crate::wire::stream::{frames_in, tests::check};
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
        let frames = frames_in::<FdiLink>(&bytes);
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
            prop_assert!(frames_in::<FdiLink>(&bytes).is_empty());
        }

        #[test]
        fn any_stream_is_survived(
            parts in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                Just(hex(IMU)), Just(hex(AHRS)), Just(hex(GROUND)),
            ], 0..8),
            cut in 1usize..80,
        ) {
            check::<FdiLink>(&parts.concat(), cut, emit);
        }
    }
}
