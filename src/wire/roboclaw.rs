//! RoboClaw's packet serial, of Basicmicro's motor controllers.
//!
//! The host reads with `address | command` and writes with `address | command | data | CRC16`. The
//! controller answers a read with `data | CRC16`, where the CRC covers address and command as well,
//! and a write with `FF`. Numbers are most significant byte first; the CRC is CRC-16/XMODEM.
//! Source: the user manual of the RoboClaw series and Basicmicro's Python library.

use super::checksum::crc16_xmodem;
use super::framer::{Framing, NoFrame, head, whole};

/// The addresses that a controller can have.
pub const ADDRESSES: std::ops::RangeInclusive<u8> = 0x80..=0x87;
/// The answer to a write.
pub const ACK: u8 = 0xff;

/// Command numbers, decimal as in the manual.
#[allow(missing_docs, reason = "the names are those of the manual")]
pub mod command {
    pub const M1_FORWARD: u8 = 0;
    pub const M1_BACKWARD: u8 = 1;
    pub const M2_FORWARD: u8 = 4;
    pub const M2_BACKWARD: u8 = 5;
    pub const M1_7_BIT: u8 = 6;
    pub const M2_7_BIT: u8 = 7;
    pub const MIXED_FORWARD: u8 = 8;
    pub const MIXED_BACKWARD: u8 = 9;
    pub const MIXED_RIGHT: u8 = 10;
    pub const MIXED_LEFT: u8 = 11;
    pub const MIXED_DRIVE_7_BIT: u8 = 12;
    pub const MIXED_TURN_7_BIT: u8 = 13;
    pub const SET_SERIAL_TIMEOUT: u8 = 14;
    pub const READ_SERIAL_TIMEOUT: u8 = 15;
    pub const READ_ENCODER_M1: u8 = 16;
    pub const READ_ENCODER_M2: u8 = 17;
    pub const READ_SPEED_M1: u8 = 18;
    pub const READ_SPEED_M2: u8 = 19;
    pub const RESET_ENCODERS: u8 = 20;
    pub const READ_VERSION: u8 = 21;
    pub const SET_ENCODER_M1: u8 = 22;
    pub const SET_ENCODER_M2: u8 = 23;
    pub const READ_MAIN_BATTERY: u8 = 24;
    pub const READ_LOGIC_BATTERY: u8 = 25;
    pub const SET_VELOCITY_PID_M1: u8 = 28;
    pub const SET_VELOCITY_PID_M2: u8 = 29;
    pub const READ_RAW_SPEED_M1: u8 = 30;
    pub const READ_RAW_SPEED_M2: u8 = 31;
    pub const DUTY_M1: u8 = 32;
    pub const DUTY_M2: u8 = 33;
    pub const DUTY: u8 = 34;
    pub const SPEED_M1: u8 = 35;
    pub const SPEED_M2: u8 = 36;
    pub const SPEED: u8 = 37;
    pub const SPEED_ACCEL_M1: u8 = 38;
    pub const SPEED_ACCEL_M2: u8 = 39;
    pub const SPEED_ACCEL: u8 = 40;
    pub const READ_BUFFERS: u8 = 47;
    pub const READ_PWMS: u8 = 48;
    pub const READ_CURRENTS: u8 = 49;
    pub const SPEED_TWO_ACCELS: u8 = 50;
    pub const DUTY_ACCEL_M1: u8 = 52;
    pub const DUTY_ACCEL_M2: u8 = 53;
    pub const DUTY_TWO_ACCELS: u8 = 54;
    pub const READ_VELOCITY_PID_M1: u8 = 55;
    pub const READ_VELOCITY_PID_M2: u8 = 56;
    pub const READ_ENCODERS: u8 = 78;
    pub const READ_RAW_SPEEDS: u8 = 79;
    pub const READ_TEMPERATURE: u8 = 82;
    pub const READ_TEMPERATURE_2: u8 = 83;
    pub const READ_STATUS: u8 = 90;
    pub const READ_ENCODER_MODES: u8 = 91;
    pub const READ_VOLTAGES: u8 = 100;
    pub const READ_TEMPERATURES: u8 = 101;
    pub const READ_AVERAGE_SPEEDS: u8 = 108;
}

/// Writes with the length of their data, bytes.
const WRITES: [(u8, usize); 31] = [
    (command::M1_FORWARD, 1),
    (command::M1_BACKWARD, 1),
    (command::M2_FORWARD, 1),
    (command::M2_BACKWARD, 1),
    (command::M1_7_BIT, 1),
    (command::M2_7_BIT, 1),
    (command::MIXED_FORWARD, 1),
    (command::MIXED_BACKWARD, 1),
    (command::MIXED_RIGHT, 1),
    (command::MIXED_LEFT, 1),
    (command::MIXED_DRIVE_7_BIT, 1),
    (command::MIXED_TURN_7_BIT, 1),
    (command::SET_SERIAL_TIMEOUT, 1),
    (command::RESET_ENCODERS, 0),
    (command::SET_ENCODER_M1, 4),
    (command::SET_ENCODER_M2, 4),
    (command::SET_VELOCITY_PID_M1, 16),
    (command::SET_VELOCITY_PID_M2, 16),
    (command::DUTY_M1, 2),
    (command::DUTY_M2, 2),
    (command::DUTY, 4),
    (command::SPEED_M1, 4),
    (command::SPEED_M2, 4),
    (command::SPEED, 8),
    (command::SPEED_ACCEL_M1, 8),
    (command::SPEED_ACCEL_M2, 8),
    (command::SPEED_ACCEL, 12),
    (command::SPEED_TWO_ACCELS, 16),
    (command::DUTY_ACCEL_M1, 6),
    (command::DUTY_ACCEL_M2, 6),
    (command::DUTY_TWO_ACCELS, 12),
];

/// Commands that only read.
const READS: [u8; 24] = [
    command::READ_SERIAL_TIMEOUT,
    command::READ_ENCODER_M1,
    command::READ_ENCODER_M2,
    command::READ_SPEED_M1,
    command::READ_SPEED_M2,
    command::READ_VERSION,
    command::READ_MAIN_BATTERY,
    command::READ_LOGIC_BATTERY,
    command::READ_RAW_SPEED_M1,
    command::READ_RAW_SPEED_M2,
    command::READ_BUFFERS,
    command::READ_PWMS,
    command::READ_CURRENTS,
    command::READ_VELOCITY_PID_M1,
    command::READ_VELOCITY_PID_M2,
    command::READ_ENCODERS,
    command::READ_RAW_SPEEDS,
    command::READ_TEMPERATURE,
    command::READ_TEMPERATURE_2,
    command::READ_STATUS,
    command::READ_ENCODER_MODES,
    command::READ_VOLTAGES,
    command::READ_TEMPERATURES,
    command::READ_AVERAGE_SPEEDS,
];

/// What a host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `address | command`.
    Read {
        /// Of whom.
        address: u8,
        /// See [`command`].
        command: u8,
    },
    /// `address | command | data | CRC16`.
    Write {
        /// To whom.
        address: u8,
        /// See [`command`].
        command: u8,
        /// As long as the command says.
        data: Vec<u8>,
        /// As it was received; see [`Item::is_sound`].
        crc: u16,
    },
    /// A command that is not known: where it ends nobody can say.
    Unknown {
        /// To whom.
        address: u8,
        /// The command.
        command: u8,
    },
}

impl Item {
    /// A write with its CRC.
    pub fn write(address: u8, command: u8, data: impl Into<Vec<u8>>) -> Self {
        let data = data.into();
        let crc = crc_of(address, command, &data);
        Self::Write { address, command, data, crc }
    }

    /// Whether the CRC is right, where there is one.
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Write { address, command, data, crc } => *crc == crc_of(*address, *command, data),
            Self::Read { .. } | Self::Unknown { .. } => true,
        }
    }

    /// To whom it is said.
    pub fn address(&self) -> u8 {
        match self {
            Self::Read { address, .. }
            | Self::Write { address, .. }
            | Self::Unknown { address, .. } => *address,
        }
    }

    /// Appends its bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Read { address, command } | Self::Unknown { address, command } => {
                out.extend([*address, *command]);
            }
            Self::Write { address, command, data, crc } => {
                out.extend([*address, *command]);
                out.extend_from_slice(data);
                out.extend(crc.to_be_bytes());
            }
        }
    }
}

/// The bytes of the answer to a read.
pub fn answer(address: u8, command: u8, data: &[u8]) -> Vec<u8> {
    let crc = crc_of(address, command, data);
    [data, &crc.to_be_bytes()].concat()
}

/// The data of the answer to a read; `None` if its CRC is wrong.
pub fn read_answer(address: u8, command: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (data, crc) = bytes.split_last_chunk::<2>()?;
    (crc_of(address, command, data).to_be_bytes() == *crc).then_some(data)
}

fn crc_of(address: u8, command: u8, data: &[u8]) -> u16 {
    crc16_xmodem(&[&[address, command], data].concat())
}

/// Finds [`Item`]s in what a host says.
#[derive(Clone, Copy, Debug)]
pub struct RoboClaw;

impl Framing for RoboClaw {
    type Frame = Item;

    fn max_len(&self) -> usize {
        4 + 16
    }

    fn begins(&self, byte: u8) -> bool {
        ADDRESSES.contains(&byte)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Item, usize), NoFrame> {
        let [address, command] = head(bytes)?;
        if READS.contains(&command) {
            return Ok((Item::Read { address, command }, 2));
        }
        let Some((_, length)) = WRITES.iter().find(|(known, _)| *known == command) else {
            return Ok((Item::Unknown { address, command }, 2));
        };
        let packet = whole(bytes, 4 + length)?;
        let (data, crc) = packet.split_last_chunk().ok_or(NoFrame::Incomplete)?;
        let data = data[2..].to_vec();
        let crc = u16::from_be_bytes(*crc);
        Ok((Item::Write { address, command, data, crc }, packet.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;

    fn golden_write(command: u8, data: &str, text: &str) {
        let item = Item::write(0x80, command, hex(data));
        let mut out = Vec::new();
        item.emit(&mut out);
        assert_eq!(out, hex(text));
        assert_eq!(Framer::new(RoboClaw).frames(&hex(text)), [item]);
    }

    fn golden_answer(command: u8, data: &str, text: &str) {
        assert_eq!(answer(0x80, command, &hex(data)), hex(text));
        assert_eq!(read_answer(0x80, command, &hex(text)), Some(&hex(data)[..]));
        let read = Item::Read { address: 0x80, command };
        assert_eq!(Framer::new(RoboClaw).frames(&[0x80, command]), [read]);
    }

    #[test]
    fn writes_are_the_makers() {
        golden_write(37, "00 00 05 DC FF FF FA 24", "80 25 00 00 05 DC FF FF FA 24 D7 E0");
        golden_write(37, "00 00 00 00 00 00 00 00", "80 25 00 00 00 00 00 00 00 00 34 04");
        golden_write(20, "", "80 14 49 2D");
        golden_write(14, "0A", "80 0E 0A B9 1F");
        golden_write(0, "00", "80 00 00 3B 5A");
        golden_write(34, "40 00 C0 00", "80 22 40 00 C0 00 E0 DF");
    }

    #[test]
    fn answers_are_the_makers() {
        golden_answer(16, "FF FF FB 2E 02", "FF FF FB 2E 02 B6 79");
        golden_answer(78, "FF FF FB 2E 00 00 16 2E", "FF FF FB 2E 00 00 16 2E 00 DF");
        golden_answer(79, "00 00 05 DC FF FF FA 24", "00 00 05 DC FF FF FA 24 C0 5D");
        golden_answer(108, "00 00 05 DC FF FF FA 24", "00 00 05 DC FF FF FA 24 4A E5");
        golden_answer(19, "00 00 05 DC 01", "00 00 05 DC 01 D4 06");
        golden_answer(24, "00 F1", "00 F1 C8 C4");
        golden_answer(90, "00 00 00 00", "00 00 00 00 87 BC");
        golden_answer(90, "00 00", "00 00 44 37");
        let version = [b"USB Roboclaw 2x15a v4.1.34\n\0".as_slice(), &[0x34, 0x6a]].concat();
        assert_eq!(answer(0x80, 21, b"USB Roboclaw 2x15a v4.1.34\n\0"), version);
    }

    #[test]
    fn a_wrong_crc_is_told_and_an_unknown_command_is_no_write() {
        let items = Framer::new(RoboClaw).frames(&hex("80 14 49 2E 81 C8"));
        assert!(!items[0].is_sound());
        assert_eq!(items[1], Item::Unknown { address: 0x81, command: 200 });
        assert_eq!(read_answer(0x80, 24, &hex("00 F1 C8 C5")), None);
        assert_eq!(read_answer(0x80, 24, &[1]), None);
    }
}
