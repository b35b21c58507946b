//! RoboClaw's packet serial protocol, for Basicmicro's motor controllers.
//!
//! A host reads with `address | command` and writes with `address | command | data | CRC16`. The controller answers a
//! read with `data | CRC16`; this CRC also covers address and command. It answers a write with `FF`. Numbers are most
//! significant byte first; the CRC is CRC-16/XMODEM. Source: the user manual of the RoboClaw series and Basicmicro's
//! Python library.

use super::checksum::crc16_xmodem;
use super::framer::{Framing, NoFrame, head, whole};

/// Possible addresses of a controller.
pub const ADDRESSES: std::ops::RangeInclusive<u8> = 0x80..=0x87;
/// Answer of the controller to a write.
pub const ACK: u8 = 0xff;
/// Second answer to [`command::WRITE_EEPROM`], sent when the word is stored. The maker's library `roboclaw_3` waits for
/// it.
pub const STORED: u8 = 0xaa;

/// Command numbers, decimal as in the manual.
#[allow(missing_docs, reason = "the names are those of the manual")]
pub mod command {
    pub const M1_FORWARD: u8 = 0;
    pub const M1_BACKWARD: u8 = 1;
    pub const MIN_MAIN_VOLTAGE: u8 = 2;
    pub const MAX_MAIN_VOLTAGE: u8 = 3;
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
    pub const MIN_LOGIC_VOLTAGE: u8 = 26;
    pub const MAX_LOGIC_VOLTAGE: u8 = 27;
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
    pub const SPEED_DISTANCE_M1: u8 = 41;
    pub const SPEED_DISTANCE_M2: u8 = 42;
    pub const SPEED_DISTANCE: u8 = 43;
    pub const SPEED_ACCEL_DISTANCE_M1: u8 = 44;
    pub const SPEED_ACCEL_DISTANCE_M2: u8 = 45;
    pub const SPEED_ACCEL_DISTANCE: u8 = 46;
    pub const READ_BUFFERS: u8 = 47;
    pub const READ_PWMS: u8 = 48;
    pub const READ_CURRENTS: u8 = 49;
    pub const SPEED_TWO_ACCELS: u8 = 50;
    pub const SPEED_TWO_ACCELS_DISTANCE: u8 = 51;
    pub const DUTY_ACCEL_M1: u8 = 52;
    pub const DUTY_ACCEL_M2: u8 = 53;
    pub const DUTY_TWO_ACCELS: u8 = 54;
    pub const READ_VELOCITY_PID_M1: u8 = 55;
    pub const READ_VELOCITY_PID_M2: u8 = 56;
    pub const SET_MAIN_VOLTAGES: u8 = 57;
    pub const SET_LOGIC_VOLTAGES: u8 = 58;
    pub const READ_MAIN_VOLTAGES: u8 = 59;
    pub const READ_LOGIC_VOLTAGES: u8 = 60;
    pub const SET_POSITION_PID_M1: u8 = 61;
    pub const SET_POSITION_PID_M2: u8 = 62;
    pub const READ_POSITION_PID_M1: u8 = 63;
    pub const READ_POSITION_PID_M2: u8 = 64;
    pub const SPEED_ACCEL_DECEL_POSITION_M1: u8 = 65;
    pub const SPEED_ACCEL_DECEL_POSITION_M2: u8 = 66;
    pub const SPEED_ACCEL_DECEL_POSITION: u8 = 67;
    pub const SET_DEFAULT_ACCEL_M1: u8 = 68;
    pub const SET_DEFAULT_ACCEL_M2: u8 = 69;
    pub const SET_DEFAULT_SPEED_M1: u8 = 70;
    pub const SET_DEFAULT_SPEED_M2: u8 = 71;
    pub const READ_DEFAULT_SPEEDS: u8 = 72;
    pub const READ_ALL_STATUS: u8 = 73;
    pub const SET_PIN_FUNCTIONS: u8 = 74;
    pub const READ_PIN_FUNCTIONS: u8 = 75;
    pub const SET_DEAD_BAND: u8 = 76;
    pub const READ_DEAD_BAND: u8 = 77;
    pub const READ_ENCODERS: u8 = 78;
    pub const READ_RAW_SPEEDS: u8 = 79;
    pub const RESTORE_DEFAULTS: u8 = 80;
    pub const READ_DEFAULT_ACCELS: u8 = 81;
    pub const READ_TEMPERATURE: u8 = 82;
    pub const READ_TEMPERATURE_2: u8 = 83;
    pub const READ_STATUS: u8 = 90;
    pub const READ_ENCODER_MODES: u8 = 91;
    pub const SET_ENCODER_MODE_M1: u8 = 92;
    pub const SET_ENCODER_MODE_M2: u8 = 93;
    pub const WRITE_SETTINGS: u8 = 94;
    pub const READ_SETTINGS: u8 = 95;
    pub const SET_SERIAL_NUMBER: u8 = 96;
    pub const READ_SERIAL_NUMBER: u8 = 97;
    pub const SET_CONFIG: u8 = 98;
    pub const READ_CONFIG: u8 = 99;
    pub const READ_VOLTAGES: u8 = 100;
    pub const READ_TEMPERATURES: u8 = 101;
    pub const SET_AUX_DUTIES: u8 = 102;
    pub const READ_ENCODER_STATUS: u8 = 103;
    pub const READ_AUX_DUTIES: u8 = 104;
    pub const SET_AUTO_HOME_M1: u8 = 105;
    pub const SET_AUTO_HOME_M2: u8 = 106;
    pub const READ_AUTO_HOME: u8 = 107;
    pub const READ_AVERAGE_SPEEDS: u8 = 108;
    pub const SET_SPEED_ERROR_LIMITS: u8 = 109;
    pub const READ_SPEED_ERROR_LIMITS: u8 = 110;
    pub const READ_SPEED_ERRORS: u8 = 111;
    pub const SET_POSITION_ERROR_LIMITS: u8 = 112;
    pub const READ_POSITION_ERROR_LIMITS: u8 = 113;
    pub const READ_POSITION_ERRORS: u8 = 114;
    pub const SET_VOLTAGE_OFFSETS: u8 = 115;
    pub const READ_VOLTAGE_OFFSETS: u8 = 116;
    pub const SET_CURRENT_BLANKING: u8 = 117;
    pub const READ_CURRENT_BLANKING: u8 = 118;
    pub const POSITION_M1: u8 = 119;
    pub const POSITION_M2: u8 = 120;
    pub const POSITION: u8 = 121;
    pub const SPEED_POSITION_M1: u8 = 122;
    pub const SPEED_POSITION_M2: u8 = 123;
    pub const SPEED_POSITION: u8 = 124;
    pub const PERCENT_POSITION_M1: u8 = 125;
    pub const PERCENT_POSITION_M2: u8 = 126;
    pub const PERCENT_POSITION: u8 = 127;
    pub const SET_INDUCTANCE_M1: u8 = 128;
    pub const SET_INDUCTANCE_M2: u8 = 129;
    pub const READ_INDUCTANCE_M1: u8 = 130;
    pub const READ_INDUCTANCE_M2: u8 = 131;
    pub const SET_MAX_CURRENT_M1: u8 = 133;
    pub const SET_MAX_CURRENT_M2: u8 = 134;
    pub const READ_MAX_CURRENT_M1: u8 = 135;
    pub const READ_MAX_CURRENT_M2: u8 = 136;
    pub const READ_DIGITAL_OUTPUTS: u8 = 138;
    pub const SET_PRIORITY: u8 = 139;
    pub const READ_PRIORITY: u8 = 140;
    pub const SET_ADDRESS_MIXED: u8 = 141;
    pub const READ_ADDRESS_MIXED: u8 = 142;
    pub const READ_SIGNALS: u8 = 144;
    pub const READ_STREAMS: u8 = 146;
    pub const READ_SIGNAL_DATA: u8 = 147;
    pub const SET_PWM_MODE: u8 = 148;
    pub const READ_PWM_MODE: u8 = 149;
    pub const SET_NODE_ID: u8 = 150;
    pub const READ_NODE_ID: u8 = 151;
    pub const SET_PWM_IDLE: u8 = 160;
    pub const READ_PWM_IDLE: u8 = 161;
    pub const RESET_EMERGENCY_STOP: u8 = 200;
    pub const SET_EMERGENCY_STOP_LOCK: u8 = 201;
    pub const READ_EMERGENCY_STOP_LOCK: u8 = 202;
    pub const SET_SCRIPT_AUTORUN: u8 = 246;
    pub const READ_SCRIPT_AUTORUN: u8 = 247;
    pub const READ_EEPROM: u8 = 252;
    pub const WRITE_EEPROM: u8 = 253;
}

/// Possible lengths of the data that a write command contains, bytes. Some lengths depend on the firmware; the shorter
/// one comes first. `None` for commands that do not write. Sources: the manual of firmware 4.1.34, and the maker's
/// Python libraries `roboclaw_3` and `basicmicro` 2.0.10.
fn lengths(command: u8) -> Option<&'static [usize]> {
    Some(match command {
        command::RESET_ENCODERS | command::READ_SETTINGS | command::RESET_EMERGENCY_STOP => &[0],
        command::RESTORE_DEFAULTS | command::WRITE_SETTINGS => &[0, 4],
        command::M1_FORWARD
        | command::M1_BACKWARD
        | command::MIN_MAIN_VOLTAGE
        | command::MAX_MAIN_VOLTAGE
        | command::M2_FORWARD
        | command::M2_BACKWARD
        | command::M1_7_BIT
        | command::M2_7_BIT
        | command::MIXED_FORWARD
        | command::MIXED_BACKWARD
        | command::MIXED_RIGHT
        | command::MIXED_LEFT
        | command::MIXED_DRIVE_7_BIT
        | command::MIXED_TURN_7_BIT
        | command::SET_SERIAL_TIMEOUT
        | command::MIN_LOGIC_VOLTAGE
        | command::MAX_LOGIC_VOLTAGE
        | command::SET_ENCODER_MODE_M1
        | command::SET_ENCODER_MODE_M2
        | command::SET_NODE_ID
        | command::SET_EMERGENCY_STOP_LOCK => &[1],
        command::SET_PWM_MODE => &[1, 2],
        command::DUTY_M1
        | command::DUTY_M2
        | command::SET_DEFAULT_SPEED_M1
        | command::SET_DEFAULT_SPEED_M2
        | command::SET_CONFIG
        | command::SET_VOLTAGE_OFFSETS
        | command::SET_ADDRESS_MIXED
        | command::SET_PWM_IDLE => &[2],
        command::SET_DEAD_BAND => &[2, 24],
        command::PERCENT_POSITION_M1
        | command::PERCENT_POSITION_M2
        | command::SET_PRIORITY
        | command::WRITE_EEPROM => &[3],
        command::SET_PIN_FUNCTIONS => &[3, 5],
        command::SET_ENCODER_M1
        | command::SET_ENCODER_M2
        | command::DUTY
        | command::SPEED_M1
        | command::SPEED_M2
        | command::SET_LOGIC_VOLTAGES
        | command::SET_SCRIPT_AUTORUN
        | command::SET_CURRENT_BLANKING => &[4],
        command::SET_MAIN_VOLTAGES => &[4, 5],
        command::SET_AUTO_HOME_M1 | command::SET_AUTO_HOME_M2 => &[4, 6],
        command::SET_DEFAULT_ACCEL_M1
        | command::SET_DEFAULT_ACCEL_M2
        | command::SET_SPEED_ERROR_LIMITS
        | command::SET_POSITION_ERROR_LIMITS => &[4, 8],
        command::POSITION_M1 | command::POSITION_M2 | command::PERCENT_POSITION => &[5],
        command::DUTY_ACCEL_M1 | command::DUTY_ACCEL_M2 => &[6],
        command::SPEED
        | command::SPEED_ACCEL_M1
        | command::SPEED_ACCEL_M2
        | command::SET_INDUCTANCE_M1
        | command::SET_INDUCTANCE_M2
        | command::SET_MAX_CURRENT_M1
        | command::SET_MAX_CURRENT_M2 => &[8],
        command::SPEED_DISTANCE_M1
        | command::SPEED_DISTANCE_M2
        | command::POSITION
        | command::SPEED_POSITION_M1
        | command::SPEED_POSITION_M2 => &[9],
        command::SET_AUX_DUTIES => &[10],
        command::SPEED_ACCEL | command::DUTY_TWO_ACCELS => &[12],
        command::SPEED_ACCEL_DISTANCE_M1 | command::SPEED_ACCEL_DISTANCE_M2 => &[13],
        command::SET_VELOCITY_PID_M1 | command::SET_VELOCITY_PID_M2 | command::SPEED_TWO_ACCELS => {
            &[16]
        }
        command::SPEED_DISTANCE
        | command::SPEED_ACCEL_DECEL_POSITION_M1
        | command::SPEED_ACCEL_DECEL_POSITION_M2
        | command::SPEED_POSITION => &[17],
        command::SPEED_ACCEL_DISTANCE => &[21],
        command::SPEED_TWO_ACCELS_DISTANCE => &[25],
        command::SET_POSITION_PID_M1 | command::SET_POSITION_PID_M2 => &[28],
        command::SPEED_ACCEL_DECEL_POSITION => &[33],
        command::SET_SERIAL_NUMBER => &[37],
        _ => return None,
    })
}

/// Commands that only read.
const READS: [u8; 59] = [
    command::READ_DIGITAL_OUTPUTS,
    command::READ_SIGNALS,
    command::READ_STREAMS,
    command::READ_SIGNAL_DATA,
    command::READ_SCRIPT_AUTORUN,
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
    command::READ_MAIN_VOLTAGES,
    command::READ_LOGIC_VOLTAGES,
    command::READ_POSITION_PID_M1,
    command::READ_POSITION_PID_M2,
    command::READ_DEFAULT_SPEEDS,
    command::READ_ALL_STATUS,
    command::READ_PIN_FUNCTIONS,
    command::READ_DEAD_BAND,
    command::READ_ENCODERS,
    command::READ_RAW_SPEEDS,
    command::READ_DEFAULT_ACCELS,
    command::READ_TEMPERATURE,
    command::READ_TEMPERATURE_2,
    command::READ_STATUS,
    command::READ_ENCODER_MODES,
    command::READ_SERIAL_NUMBER,
    command::READ_CONFIG,
    command::READ_VOLTAGES,
    command::READ_TEMPERATURES,
    command::READ_ENCODER_STATUS,
    command::READ_AUX_DUTIES,
    command::READ_AUTO_HOME,
    command::READ_AVERAGE_SPEEDS,
    command::READ_SPEED_ERROR_LIMITS,
    command::READ_SPEED_ERRORS,
    command::READ_POSITION_ERROR_LIMITS,
    command::READ_POSITION_ERRORS,
    command::READ_VOLTAGE_OFFSETS,
    command::READ_CURRENT_BLANKING,
    command::READ_INDUCTANCE_M1,
    command::READ_INDUCTANCE_M2,
    command::READ_MAX_CURRENT_M1,
    command::READ_MAX_CURRENT_M2,
    command::READ_PRIORITY,
    command::READ_ADDRESS_MIXED,
    command::READ_PWM_MODE,
    command::READ_NODE_ID,
    command::READ_PWM_IDLE,
    command::READ_EMERGENCY_STOP_LOCK,
];

/// A packet from a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `address | command`: reads values.
    Read {
        /// Address of the controller.
        address: u8,
        /// Command number, see [`command`].
        command: u8,
    },
    /// `address | command | argument`: reads one of several values.
    ReadOf {
        /// Address of the controller.
        address: u8,
        /// Command number, see [`command`].
        command: u8,
        /// Index of the requested value.
        argument: u8,
    },
    /// `address | command | data | CRC16`: writes values, or executes a command.
    Write {
        /// Address of the controller.
        address: u8,
        /// Command number, see [`command`].
        command: u8,
        /// Data, as long as the command requires.
        data: Vec<u8>,
        /// CRC as received; see [`Item::is_sound`].
        crc: u16,
    },
    /// An unknown command; the end of its packet is therefore unknown, too.
    Unknown {
        /// Address of the controller.
        address: u8,
        /// Command number.
        command: u8,
    },
}

impl Item {
    /// A write command with the correct CRC.
    pub fn write(address: u8, command: u8, data: impl Into<Vec<u8>>) -> Self {
        let data = data.into();
        let crc = crc_of(address, command, &data);
        Self::Write { address, command, data, crc }
    }

    /// Whether the CRC is correct; true for items without a CRC.
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Write { address, command, data, crc } => *crc == crc_of(*address, *command, data),
            Self::Read { .. } | Self::ReadOf { .. } | Self::Unknown { .. } => true,
        }
    }

    /// Address of the controller.
    pub fn address(&self) -> u8 {
        match self {
            Self::Read { address, .. }
            | Self::ReadOf { address, .. }
            | Self::Write { address, .. }
            | Self::Unknown { address, .. } => *address,
        }
    }

    /// Appends the packet's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Read { address, command } | Self::Unknown { address, command } => {
                out.extend([*address, *command]);
            }
            Self::ReadOf { address, command, argument } => {
                out.extend([*address, *command, *argument]);
            }
            Self::Write { address, command, data, crc } => {
                out.extend([*address, *command]);
                out.extend_from_slice(data);
                out.extend(crc.to_be_bytes());
            }
        }
    }
}

/// Bytes of the answer to a read command: `data` and a CRC.
pub fn answer(address: u8, command: u8, data: &[u8]) -> Vec<u8> {
    let crc = crc_of(address, command, data);
    [data, &crc.to_be_bytes()].concat()
}

/// Data in the answer to a read command; `None` if the answer's CRC is wrong.
pub fn read_answer(address: u8, command: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (data, crc) = bytes.split_last_chunk::<2>()?;
    (crc_of(address, command, data).to_be_bytes() == *crc).then_some(data)
}

fn crc_of(address: u8, command: u8, data: &[u8]) -> u16 {
    crc16_xmodem(&[&[address, command], data].concat())
}

/// Finds [`Item`]s in a host's bytes.
#[derive(Clone, Copy, Debug)]
pub struct RoboClaw;

impl Framing for RoboClaw {
    type Frame = Item;

    fn max_len(&self) -> usize {
        4 + 37
    }

    fn begins(&self, byte: u8) -> bool {
        ADDRESSES.contains(&byte)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Item, usize), NoFrame> {
        let [address, command] = head(bytes)?;
        if READS.contains(&command) {
            return Ok((Item::Read { address, command }, 2));
        }
        if command == command::READ_EEPROM {
            let [address, command, argument] = head(bytes)?;
            return Ok((Item::ReadOf { address, command, argument }, 3));
        }
        let Some(lengths) = lengths(command) else {
            return Ok((Item::Unknown { address, command }, 2));
        };
        // The CRC decides which of the lengths applies.
        for (place, length) in lengths.iter().enumerate() {
            let packet = whole(bytes, 4 + length)?;
            let (data, crc) = packet.split_last_chunk().ok_or(NoFrame::Incomplete)?;
            let (data, crc) = (data[2..].to_vec(), u16::from_be_bytes(*crc));
            let item = Item::Write { address, command, data, crc };
            if item.is_sound() || place + 1 == lengths.len() {
                return Ok((item, packet.len()));
            }
        }
        Err(NoFrame::Refused)
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
    fn a_write_has_the_length_that_its_crc_says() {
        for (command, data) in [
            (command::SET_PIN_FUNCTIONS, "01 02 03"),
            (command::SET_PIN_FUNCTIONS, "01 02 03 04 05"),
            (command::SET_AUTO_HOME_M2, "10 00 00 64"),
            (command::SET_AUTO_HOME_M2, "10 00 00 00 0B B8"),
            (command::SET_SPEED_ERROR_LIMITS, "01 F4 01 F4"),
            (command::SET_SPEED_ERROR_LIMITS, "00 00 01 F4 00 00 01 F4"),
            (command::SET_POSITION_ERROR_LIMITS, "00 00 01 F4 00 00 01 F4"),
            (command::SET_CURRENT_BLANKING, "02 8F 02 8F"),
        ] {
            let mut bytes = Vec::new();
            let item = Item::write(0x80, command, hex(data));
            item.emit(&mut bytes);
            assert_eq!(Framer::new(RoboClaw).frames(&bytes), [item], "{command} {data}");
        }
    }

    #[test]
    fn a_wrong_crc_is_told_and_an_unknown_command_is_no_write() {
        let items = Framer::new(RoboClaw).frames(&hex("80 14 49 2E 81 FF"));
        assert!(!items[0].is_sound());
        assert_eq!(items[1], Item::Unknown { address: 0x81, command: 255 });
        assert_eq!(read_answer(0x80, 24, &hex("00 F1 C8 C5")), None);
        assert_eq!(read_answer(0x80, 24, &[1]), None);
    }
}
