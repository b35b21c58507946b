//! Descriptors of the commands of a 3DM, by descriptor set.

use crate::wire::mip::set;

/// Descriptor set and descriptor of each command, except the commands in [`super::settings::SETTINGS`].
pub const COMMANDS: [(u8, u8); 38] = [
    (set::BASE, base::PING),
    (set::BASE, base::IDLE),
    (set::BASE, base::DEVICE_INFO),
    (set::BASE, base::DESCRIPTORS),
    (set::BASE, base::BUILT_IN_TEST),
    (set::BASE, base::RESUME),
    (set::BASE, base::EXTENDED_DESCRIPTORS),
    (set::BASE, base::GPS_TIME),
    (set::BASE, base::RESET),
    (set::THREE_DM, dm::POLL_SENSOR),
    (set::THREE_DM, dm::POLL_FILTER),
    (set::THREE_DM, dm::SENSOR_BASE_RATE),
    (set::THREE_DM, dm::SENSOR_FORMAT),
    (set::THREE_DM, dm::FILTER_FORMAT),
    (set::THREE_DM, dm::FILTER_BASE_RATE),
    (set::THREE_DM, dm::POLL_DATA),
    (set::THREE_DM, dm::BASE_RATE),
    (set::THREE_DM, dm::FORMAT),
    (set::THREE_DM, dm::STREAM),
    (set::THREE_DM, dm::SETTINGS),
    (set::THREE_DM, dm::CAPTURE_GYRO_BIAS),
    (set::THREE_DM, dm::BAUD_RATE),
    (set::THREE_DM, dm::SENSOR_LOW_PASS),
    (set::THREE_DM, dm::SENSOR_RANGE),
    (set::THREE_DM, dm::CALIBRATED_RANGES),
    (set::THREE_DM, dm::LOW_PASS),
    (set::THREE_DM, dm::DEVICE_STATUS),
    (set::FILTER, filter::RESET),
    (set::FILTER, filter::INITIAL_ATTITUDE),
    (set::FILTER, filter::INITIAL_HEADING),
    (set::FILTER, filter::INITIAL_MAGNETIC_HEADING),
    (set::FILTER, filter::EXTERNAL_HEADING),
    (set::FILTER, filter::TIMED_EXTERNAL_HEADING),
    (set::FILTER, filter::TARE),
    (set::FILTER, filter::ZERO_ANGULAR_RATE),
    (set::FILTER, filter::CAPTURE_IRON),
    (set::FILTER, filter::SENSOR_TO_VEHICLE),
    (set::SYSTEM, system::COM_MODE),
];

/// Descriptors of the commands and replies of [`set::BASE`].
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod base {
    pub const PING: u8 = 0x01;
    pub const IDLE: u8 = 0x02;
    pub const DEVICE_INFO: u8 = 0x03;
    pub const DESCRIPTORS: u8 = 0x04;
    pub const BUILT_IN_TEST: u8 = 0x05;
    pub const RESUME: u8 = 0x06;
    pub const EXTENDED_DESCRIPTORS: u8 = 0x07;
    pub const GPS_TIME: u8 = 0x72;
    pub const RESET: u8 = 0x7e;
    pub const INFO_REPLY: u8 = 0x81;
    pub const DESCRIPTORS_REPLY: u8 = 0x82;
    pub const TEST_REPLY: u8 = 0x83;
    pub const GPS_WEEK_REPLY: u8 = 0x84;
    pub const GPS_SECOND_REPLY: u8 = 0x85;
    pub const EXTENDED_REPLY: u8 = 0x86;
}

/// Descriptors of the commands and replies of [`set::THREE_DM`].
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod dm {
    pub const POLL_SENSOR: u8 = 0x01;
    pub const POLL_FILTER: u8 = 0x03;
    pub const SENSOR_BASE_RATE: u8 = 0x06;
    pub const SENSOR_FORMAT: u8 = 0x08;
    pub const FILTER_FORMAT: u8 = 0x0a;
    pub const FILTER_BASE_RATE: u8 = 0x0b;
    pub const POLL_DATA: u8 = 0x0d;
    pub const BASE_RATE: u8 = 0x0e;
    pub const FORMAT: u8 = 0x0f;
    pub const STREAM: u8 = 0x11;
    pub const SETTINGS: u8 = 0x30;
    pub const ACCEL_BIAS: u8 = 0x37;
    pub const GYRO_BIAS: u8 = 0x38;
    pub const CAPTURE_GYRO_BIAS: u8 = 0x39;
    pub const HARD_IRON: u8 = 0x3a;
    pub const SOFT_IRON: u8 = 0x3b;
    pub const CONING: u8 = 0x3e;
    pub const BAUD_RATE: u8 = 0x40;
    pub const SENSOR_LOW_PASS: u8 = 0x50;
    pub const COMPLEMENTARY: u8 = 0x51;
    pub const SENSOR_RANGE: u8 = 0x52;
    pub const CALIBRATED_RANGES: u8 = 0x53;
    pub const LOW_PASS: u8 = 0x54;
    pub const DEVICE_STATUS: u8 = 0x64;
    pub const SENSOR_FORMAT_REPLY: u8 = 0x80;
    pub const FILTER_FORMAT_REPLY: u8 = 0x82;
    pub const SENSOR_RATE_REPLY: u8 = 0x83;
    pub const STREAM_REPLY: u8 = 0x85;
    pub const BAUD_REPLY: u8 = 0x87;
    pub const FILTER_RATE_REPLY: u8 = 0x8a;
    pub const RATE_REPLY: u8 = 0x8e;
    pub const FORMAT_REPLY: u8 = 0x8f;
    pub const STATUS_REPLY: u8 = 0x90;
    pub const GYRO_BIAS_REPLY: u8 = 0x9b;
    pub const RANGE_REPLY: u8 = 0xd2;
    pub const RANGES_REPLY: u8 = 0xd3;
}

/// Descriptors of the commands of [`set::FILTER`].
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod filter {
    pub const RESET: u8 = 0x01;
    pub const INITIAL_ATTITUDE: u8 = 0x02;
    pub const INITIAL_HEADING: u8 = 0x03;
    pub const INITIAL_MAGNETIC_HEADING: u8 = 0x04;
    pub const SENSOR_TO_VEHICLE: u8 = 0x11;
    pub const EXTERNAL_HEADING: u8 = 0x17;
    pub const HEADING_SOURCE: u8 = 0x18;
    pub const AUTO_INIT: u8 = 0x19;
    pub const TIMED_EXTERNAL_HEADING: u8 = 0x1f;
    pub const TARE: u8 = 0x21;
    pub const ZERO_ANGULAR_RATE: u8 = 0x23;
    pub const REFERENCE_POSITION: u8 = 0x26;
    pub const CAPTURE_IRON: u8 = 0x27;
    pub const DECLINATION: u8 = 0x43;
}

/// Descriptors of the command and reply of [`set::SYSTEM`], and the communication mode `NORMAL`.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod system {
    pub const COM_MODE: u8 = 0x10;
    pub const COM_MODE_REPLY: u8 = 0x90;
    pub const NORMAL: u8 = 1;
}

/// Function selectors: actions on a setting.
#[allow(missing_docs, reason = "the names are those of the protocol's documents")]
pub mod function {
    pub const WRITE: u8 = 1;
    pub const READ: u8 = 2;
    pub const SAVE: u8 = 3;
    pub const LOAD: u8 = 4;
    pub const DEFAULT: u8 = 5;
    pub const WRITE_UNANSWERED: u8 = 6;
}

/// Command that sets the rotation from the sensor frame to the vehicle frame.
pub const VEHICLE: (u8, u8) = (set::FILTER, filter::SENSOR_TO_VEHICLE);
