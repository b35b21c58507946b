//! Clearpath's Horizon protocol, version 0, for the motor controller of the Husky A200.
//!
//! `AA | LEN | ~LEN | version | time (u32) | flags | type (u16) | 55 | payload | CRC16`, where LEN counts the
//! bytes after `~LEN`. Numbers are least significant byte first. The CRC is CRC-16/IBM-3740 over all bytes
//! before it. Source: `horizon_legacy` of Clearpath's `husky_base`.

use super::ParseError;
use super::checksum::crc16_ibm_3740;
use super::framer::{Framing, NoFrame, head, require, whole};
use super::record::{Record, record};

const HEAD: u8 = 0xaa;
const PAYLOAD_MARK: u8 = 0x55;
/// Bytes of a frame in addition to its payload.
pub const OVERHEAD: usize = 14;
/// Largest LEN: the host stores it in a signed byte.
const MAX_LENGTH: u8 = 127;
const MIN_LENGTH: u8 = OVERHEAD as u8 - 3;

/// Types of frames.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod kind {
    pub const SET_PLATFORM_NAME: u16 = 0x0002;
    pub const SET_PLATFORM_TIME: u16 = 0x0005;
    pub const SET_SAFETY: u16 = 0x0010;
    pub const SET_WHEEL_SPEEDS: u16 = 0x0200;
    pub const SET_GAINS: u16 = 0x0201;
    pub const SET_WHEEL_OUTPUTS: u16 = 0x0202;
    pub const SET_VELOCITY: u16 = 0x0204;
    pub const SET_TURN: u16 = 0x0205;
    pub const SET_MAX_SPEED: u16 = 0x0210;
    pub const SET_MAX_ACCEL: u16 = 0x0211;
    pub const RESET: u16 = 0x2000;
    pub const RESTORE_SETTINGS: u16 = 0x2001;
    pub const STORE_SETTINGS: u16 = 0x2002;
    /// First type of requests; the last is below [`DATA`].
    pub const REQUEST: u16 = 0x4000;
    /// First type of data. A data type is the type of its request plus 4000 (hexadecimal).
    pub const DATA: u16 = 0x8000;
    pub const ECHO: u16 = 0x8000;
    pub const PLATFORM_INFO: u16 = 0x8001;
    pub const PLATFORM_NAME: u16 = 0x8002;
    pub const FIRMWARE_INFO: u16 = 0x8003;
    pub const SYSTEM_STATUS: u16 = 0x8004;
    pub const POWER_STATUS: u16 = 0x8005;
    pub const PROCESSOR_STATUS: u16 = 0x8006;
    pub const SAFETY_STATUS: u16 = 0x8010;
    pub const WHEEL_SPEEDS: u16 = 0x8200;
    pub const GAINS: u16 = 0x8201;
    pub const WHEEL_OUTPUTS: u16 = 0x8202;
    pub const VELOCITY: u16 = 0x8204;
    pub const TURN: u16 = 0x8205;
    pub const MAX_SPEED: u16 = 0x8210;
    pub const MAX_ACCEL: u16 = 0x8211;
    pub const ENCODERS: u16 = 0x8800;
    pub const RAW_ENCODERS: u16 = 0x8801;
}

/// Codes of an acknowledgement.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod code {
    pub const OK: u16 = 0x00;
    pub const BAD_CHECKSUM: u16 = 0x01;
    pub const BAD_TYPE: u16 = 0x02;
    pub const BAD_FORMAT: u16 = 0x04;
    pub const RANGE: u16 = 0x08;
    pub const FREQUENCY_TOO_HIGH: u16 = 0x20;
    pub const TOO_MANY_SUBSCRIPTIONS: u16 = 0x40;
}

/// Bits of the safety status.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod safety {
    pub const TIMEOUT: u16 = 0x01;
    pub const LOCKOUT: u16 = 0x02;
    pub const EMERGENCY_STOP: u16 = 0x08;
    pub const PAUSE: u16 = 0x10;
    pub const NO_BATTERY: u16 = 0x20;
    pub const CURRENT_LIMIT: u16 = 0x40;
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Protocol version, 0.
    pub version: u8,
    /// The sender's clock, ms; hosts send 0.
    pub time: u32,
    /// Flags, 0.
    pub flags: u8,
    /// Type, see [`kind`].
    pub kind: u16,
    /// The payload, at most 116 bytes.
    pub payload: Vec<u8>,
    /// CRC as received; see [`Frame::is_sound`].
    pub crc: u16,
}

impl Frame {
    /// A frame with its CRC.
    pub fn new(time: u32, kind: u16, payload: impl Into<Vec<u8>>) -> Self {
        let mut frame = Self { version: 0, time, flags: 0, kind, payload: payload.into(), crc: 0 };
        frame.crc = crc16_ibm_3740(&frame.covered());
        frame
    }

    /// Whether the CRC is correct.
    pub fn is_sound(&self) -> bool {
        self.crc == crc16_ibm_3740(&self.covered())
    }

    /// Appends the frame's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.covered());
        out.extend(self.crc.to_le_bytes());
    }

    fn covered(&self) -> Vec<u8> {
        let length = (self.payload.len() + usize::from(MIN_LENGTH)) as u8;
        let mut out = vec![HEAD, length, !length, self.version];
        out.extend(self.time.to_le_bytes());
        out.push(self.flags);
        out.extend(self.kind.to_le_bytes());
        out.push(PAYLOAD_MARK);
        out.extend_from_slice(&self.payload);
        out
    }
}

/// Finds [`Frame`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Horizon;

impl Framing for Horizon {
    type Frame = Frame;

    fn max_len(&self) -> usize {
        3 + usize::from(MAX_LENGTH)
    }

    fn begins(&self, byte: u8) -> bool {
        byte == HEAD
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        let [_, length, complement] = head(bytes)?;
        require(complement == !length && (MIN_LENGTH..=MAX_LENGTH).contains(&length))?;
        let bytes = whole(bytes, 3 + usize::from(length))?;
        let [_, _, _, version, a, b, c, d, flags, low, high, mark] = head(bytes)?;
        require(mark == PAYLOAD_MARK)?;
        let (covered, crc) = bytes.split_last_chunk().ok_or(NoFrame::Incomplete)?;
        let frame = Frame {
            version,
            time: u32::from_le_bytes([a, b, c, d]),
            flags,
            kind: u16::from_le_bytes([low, high]),
            payload: covered[12..].to_vec(),
            crc: u16::from_le_bytes(*crc),
        };
        Ok((frame, bytes.len()))
    }
}

record! {
    /// Types 0200 and 8200 (hexadecimal): speeds and accelerations of the wheels.
    #[derive(Copy, serde::Serialize)]
    WheelSpeeds: Le 8 {
        /// Speeds of the left and right wheel, cm/s, positive forward.
        speed_cm_s: [i16; 2],
        /// Accelerations of the left and right wheel, cm/s².
        accel_cm_s2: [i16; 2],
    }
    /// Types 0210 and 8210 (hexadecimal): limits of speed. Types 0211 and 8211: limits of acceleration.
    #[derive(Copy, serde::Serialize)]
    Limits: Le 4 {
        /// Limit in the forward direction, hundredths of m/s or m/s².
        forward: i16,
        /// Limit in the backward direction, hundredths of m/s or m/s².
        reverse: i16,
    }
    /// Types 0202 and 8202 (hexadecimal): outputs of the motors, as shares of full output.
    #[derive(Copy, serde::Serialize)]
    WheelOutputs: Le 4 {
        /// Outputs of the left and right motor, hundredths of a percent.
        output: [i16; 2],
    }
    /// Types 0204 and 8204 (hexadecimal): speed and rate of turn. Types 0205 and 8205: speed and radius of the turn.
    #[derive(Copy, serde::Serialize)]
    Velocity: Le 6 {
        /// Forward speed, cm/s.
        speed_cm_s: i16,
        /// Rate of turn, left positive, hundredths of rad/s; in 0205 and 8205, radius of the turn, cm.
        turn: i16,
        /// Acceleration, cm/s².
        accel_cm_s2: i16,
    }
    /// Types 0201 and 8201 (hexadecimal): gains of the speed controllers.
    #[derive(Copy, serde::Serialize)]
    Gains: Le 24 {
        /// Gains of the left side, in hundredths: proportional, integral, differential, feed-forward, stiction, and
        /// limit of the integral.
        left: [i16; 6],
        /// Gains of the right side, in the order of `left`.
        right: [i16; 6],
    }
    /// Type 8003 (hexadecimal): version of the firmware.
    #[derive(Copy, serde::Serialize)]
    FirmwareInfo: Le 8 {
        /// Major and minor version of the firmware.
        firmware: [u8; 2],
        /// Version of the protocol.
        protocol: [u8; 2],
        /// Date of the firmware: minute in bits 0 to 5, hour from bit 6, day from bit 11, month from bit 17, and year
        /// since 2000 from bit 21.
        written: u32,
    }
    /// Type 8801 (hexadecimal): raw encoder counts of two wheels.
    #[derive(Copy, serde::Serialize)]
    RawEncoders: Le 9 {
        /// Number of encoders: 2.
        count: u8,
        /// Counts of the left and right encoder, ticks.
        ticks: [i32; 2],
    }
    /// Type 8800 (hexadecimal): travel and speed of two wheels.
    #[derive(Copy, serde::Serialize)]
    Encoders: Le 13 {
        /// Number of encoders: 2.
        count: u8,
        /// Travel of the left and right wheel, mm.
        travel_mm: [i32; 2],
        /// Speeds of the left and right wheel, mm/s.
        speed_mm_s: [i16; 2],
    }
    /// Type 8004 (hexadecimal): voltages, currents and temperatures of a Husky.
    #[derive(Copy, serde::Serialize)]
    SystemStatus: Le 27 {
        /// Time since power-on, ms.
        uptime_ms: u32,
        /// Number of voltages: 3.
        voltages: u8,
        /// Voltages of the battery, the left driver and the right driver, hundredths of a volt.
        voltage_cv: [i16; 3],
        /// Number of currents: 3.
        currents: u8,
        /// Currents of the controller, the left driver and the right driver, hundredths of an ampere.
        current_ca: [i16; 3],
        /// Number of temperatures: 4.
        temperatures: u8,
        /// Temperatures of the left and right driver and the left and right motor, hundredths of a degree C.
        temperature_cc: [i16; 4],
    }
    /// Type 8005 (hexadecimal): state of one battery.
    #[derive(Copy, serde::Serialize)]
    PowerStatus: Le 6 {
        /// Number of batteries: 1.
        count: u8,
        /// State of charge, percent.
        charge: i16,
        /// Capacity, Wh.
        capacity_wh: i16,
        /// State of the battery (hexadecimal): 80 present, 40 in use; in the low four bits 1: lead, 2: nickel-metal
        /// hydride.
        description: u8,
    }
}

/// Payload of type 8001 (hexadecimal): identity of the platform.
pub fn platform_info(model: &str, revision: u8, serial: u32) -> Vec<u8> {
    let mut out = vec![model.len() as u8];
    out.extend_from_slice(model.as_bytes());
    out.push(revision);
    out.extend(serial.to_le_bytes());
    out
}

/// Payload of types 0002 and 8002 (hexadecimal): name of the platform, at most 115 bytes.
pub fn platform_name(name: &[u8]) -> Vec<u8> {
    [&[name.len() as u8], name].concat()
}

/// Reads the frame's payload as a `T`.
///
/// # Errors
/// See [`Record::parse`].
pub fn payload<T: Record>(frame: &Frame) -> Result<T, ParseError> {
    T::parse(&frame.payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;

    fn golden(time: u32, kind: u16, payload: Vec<u8>, text: &str) {
        let frame = Frame::new(time, kind, payload);
        let mut out = Vec::new();
        frame.emit(&mut out);
        assert_eq!(out, hex(text));
        assert_eq!(Framer::new(Horizon).frames(&hex(text)), [frame]);
    }

    #[test]
    fn frames_are_those_of_the_makers_library() {
        let limits = Limits { forward: 500, reverse: 500 };
        golden(
            0,
            0x0211,
            limits.to_bytes(),
            "AA 0F F0 00 00 00 00 00 00 11 02 55 F4 01 F4 01 3F 92",
        );
        golden(0x7b, 0x0211, vec![0, 0], "AA 0D F2 00 7B 00 00 00 00 11 02 55 00 00 45 CF");
        golden(0, 0x4800, vec![0, 0], "AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 43");
        golden(0x7b, 0x4800, vec![0, 0], "AA 0D F2 00 7B 00 00 00 00 00 48 55 00 00 79 67");
        let encoders = Encoders { count: 2, travel_mm: [1234, -567], speed_mm_s: [500, -250] };
        golden(
            0x7c,
            kind::ENCODERS,
            encoders.to_bytes(),
            "AA 18 E7 00 7C 00 00 00 00 00 88 55 02 D2 04 00 00 C9 FD FF FF F4 01 06 FF F0 E2",
        );
        golden(0, 0x4001, vec![0, 0], "AA 0D F2 00 00 00 00 00 00 01 40 55 00 00 EE 6C");
        golden(
            0x7c,
            kind::PLATFORM_INFO,
            platform_info("A200", 1, 42),
            "AA 15 EA 00 7C 00 00 00 00 01 80 55 04 41 32 30 30 01 2A 00 00 00 A3 F8",
        );
        golden(0, 0x4200, vec![0, 0], "AA 0D F2 00 00 00 00 00 00 00 42 55 00 00 D7 2B");
        let speeds = WheelSpeeds { speed_cm_s: [50, -25], accel_cm_s2: [0, 0] };
        golden(
            0x7c,
            kind::WHEEL_SPEEDS,
            speeds.to_bytes(),
            "AA 13 EC 00 7C 00 00 00 00 00 82 55 32 00 E7 FF 00 00 00 00 68 DF",
        );
        let speeds = WheelSpeeds { speed_cm_s: [50, -25], accel_cm_s2: [500, 500] };
        golden(
            0,
            kind::SET_WHEEL_SPEEDS,
            speeds.to_bytes(),
            "AA 13 EC 00 00 00 00 00 00 00 02 55 32 00 E7 FF F4 01 F4 01 95 EE",
        );
        golden(0x7b, 0x0200, vec![0, 0], "AA 0D F2 00 7B 00 00 00 00 00 02 55 00 00 4E 61");
        golden(0x7c, 0x8010, vec![0, 0], "AA 0D F2 00 7C 00 00 00 00 10 80 55 00 00 BE 49");
        golden(0, 0x0200, vec![8, 0], "AA 0D F2 00 00 00 00 00 00 00 02 55 08 00 E2 CC");
    }

    #[test]
    fn a_wrong_crc_is_told() {
        let text = "AA 0D F2 00 00 00 00 00 00 00 42 55 00 00 D7 2C";
        let [frame] = &Framer::new(Horizon).frames(&hex(text))[..] else { panic!("one frame") };
        assert!(!frame.is_sound());
        assert_eq!(frame.kind, 0x4200);
    }
}
