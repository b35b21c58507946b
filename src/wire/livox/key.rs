//! Keys: settings and reported values of a lidar. Each key has a number and a value of fixed length.

use crate::ParseError;
use crate::record::{Reader, record};

/// Numbers of the keys.
#[expect(
    clippy::module_inception,
    reason = "key::STATE reads well, and there is nothing else to import"
)]
pub mod key {
    /// Format of points: number of a `DataType`.
    pub const DATA_TYPE: u16 = 0x0000;
    /// Scan pattern: 0 non-repetitive; other numbers are repetitive patterns.
    pub const PATTERN: u16 = 0x0001;
    /// Whether pulses are emitted twice: 0 no, 1 yes.
    pub const DUAL_EMISSION: u16 = 0x0002;
    /// Whether points are sent: 0 yes, 1 no.
    pub const NO_POINTS: u16 = 0x0003;
    /// IP address, mask and gateway of the lidar.
    pub const NETWORK: u16 = 0x0004;
    /// Destination of the key values that the lidar pushes.
    pub const STATE_HOST: u16 = 0x0005;
    /// Destination of points.
    pub const POINT_HOST: u16 = 0x0006;
    /// Destination of IMU samples.
    pub const IMU_HOST: u16 = 0x0007;
    /// Mounting of the lidar. The lidar stores it, but its points do not change.
    pub const MOUNTING: u16 = 0x0012;
    /// Smallest reported distance, centimetres.
    pub const BLIND_ZONE: u16 = 0x0013;
    /// The first field of view.
    pub const FIELD_0: u16 = 0x0015;
    /// The second field of view.
    pub const FIELD_1: u16 = 0x0016;
    /// Enabled fields of view: bit 0 the first, bit 1 the second.
    pub const FIELDS_ON: u16 = 0x0017;
    /// Detection mode: 0 normal, 1 sensitive.
    pub const DETECTION: u16 = 0x0018;
    /// Functions of the pins IN0, IN1, OUT0 and OUT1.
    pub const FUNCTION_PINS: u16 = 0x0019;
    /// Requested state, one of [`state`](super::state).
    pub const TARGET_STATE: u16 = 0x001a;
    /// Whether the window is heated while points are sent: 0 no, 1 yes.
    pub const HEATING: u16 = 0x001b;
    /// Whether IMU samples are sent: 0 no, 1 yes.
    pub const IMU_ON: u16 = 0x001c;
    /// Whether the window is always heated: 0 no, 1 yes.
    pub const FORCED_HEATING: u16 = 0x001e;
    /// State after a start.
    pub const STATE_AFTER_BOOT: u16 = 0x0020;
    /// Serial number.
    pub const SERIAL: u16 = 0x8000;
    /// Name and date of the product.
    pub const PRODUCT: u16 = 0x8001;
    /// Version of the application.
    pub const VERSION: u16 = 0x8002;
    /// Version of the loader.
    pub const LOADER_VERSION: u16 = 0x8003;
    /// Version of the hardware.
    pub const HARDWARE_VERSION: u16 = 0x8004;
    /// MAC address.
    pub const MAC: u16 = 0x8005;
    /// Current state, one of [`state`](super::state).
    pub const STATE: u16 = 0x8006;
    /// Temperature of the core, hundredths of a degree Celsius.
    pub const TEMPERATURE: u16 = 0x8007;
    /// Number of power-ons.
    pub const STARTS: u16 = 0x8008;
    /// Current time of the lidar's clock, nanoseconds.
    pub const TIME: u16 = 0x8009;
    /// Time at which the clock was last set, nanoseconds.
    pub const SYNCHRONISED: u16 = 0x800a;
    /// Size of the last correction of the clock, nanoseconds.
    pub const TIME_OFFSET: u16 = 0x800b;
    /// Time source of the clock: number of a `TimeType`.
    pub const SYNCHRONISATION: u16 = 0x800c;
    /// Table of status codes (HAP).
    pub const STATUS: u16 = 0x800d;
    /// Diagnosis in four nibbles: system, scan, ranging, communication.
    pub const DIAGNOSIS: u16 = 0x800e;
    /// Whether the flash memory is being written.
    pub const FLASH: u16 = 0x800f;
    /// Kind of the running firmware: 0 loader, 1 application.
    pub const FIRMWARE_KIND: u16 = 0x8010;
    /// Eight diagnostic codes.
    pub const HMS: u16 = 0x8011;
    /// Whether the window is heated now: 0 no, 1 yes.
    pub const HEATER: u16 = 0x8012;
}

/// Length of a key's value, bytes; `None` for an unknown key.
pub fn length_of(key: u16) -> Option<usize> {
    Some(match key {
        0x0000..=0x0003 | 0x0014 | 0x0017 | 0x0018 | 0x001a..=0x001e | 0x0020..=0x0022 => 1,
        0x0024 | 0x0026..=0x0028 => 1,
        0x0004 => 12,
        0x0005..=0x0009 => 8,
        0x0010 | 0x0011 | 0x0013 | 0x0019 | 0x0025 => 4,
        0x0012 => 24,
        0x0015 | 0x0016 => 20,
        0x002b => 3,
        0x8000 => 16,
        0x8001 => 64,
        0x8002..=0x8004 | 0x8007 | 0x8008 => 4,
        0x8005 => 6,
        0x8006 | 0x800c | 0x800f | 0x8010 | 0x8012 => 1,
        0x8009..=0x800b => 8,
        0x800d | 0x8011 => 32,
        0x800e => 2,
        _ => return None,
    })
}

/// States of a lidar: values of [`key::STATE`]; some are also values of [`key::TARGET_STATE`].
pub mod state {
    /// Points are sent.
    pub const SAMPLING: u8 = 1;
    /// Motor and lasers are off.
    pub const IDLE: u8 = 2;
    /// The lidar has an error.
    pub const ERROR: u8 = 4;
    /// Self-test.
    pub const SELF_CHECK: u8 = 5;
    /// The motor is starting.
    pub const STARTING: u8 = 6;
    /// The motor runs.
    pub const READY: u8 = 9;
}

/// Keys and their values, in the order of the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(pub Vec<(u16, Vec<u8>)>);

impl Entries {
    /// Reads `count` keys with their values; no bytes may follow.
    ///
    /// # Errors
    /// There are too few or too many bytes.
    pub fn read(reader: &mut Reader<'_>, count: u16) -> Result<Self, ParseError> {
        let mut all = Vec::new();
        for _ in 0..count {
            let (key, length): (u16, u16) = (reader.le()?, reader.le()?);
            all.push((key, reader.bytes(length.into())?.to_vec()));
        }
        reader.clone().finish()?;
        Ok(Self(all))
    }

    /// Appends the bytes of keys and values.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for (key, value) in &self.0 {
            out.extend(key.to_le_bytes());
            out.extend((value.len() as u16).to_le_bytes());
            out.extend(value);
        }
    }
}

record! {
    /// Value of [`key::STATE_HOST`], [`key::POINT_HOST`] and [`key::IMU_HOST`].
    Destination: Le 8 {
        /// IP address of the host.
        ip: [u8; 4],
        /// Port of the destination.
        port: u16,
        /// Port from which the unit sends. The port is fixed; the value that a host writes here has no effect.
        own_port: u16,
    }

    /// Value of [`key::FIELD_0`] and [`key::FIELD_1`]; angles in degrees.
    FieldOfView: Le 20 {
        /// Start of the yaw sector, 0 to 359, counter-clockwise from forward.
        yaw_start: i32,
        /// End of the yaw sector, 0 to 359; smaller than `yaw_start` if the sector crosses 0.
        yaw_stop: i32,
        /// Start of the pitch sector, -10 to 60, positive upward.
        pitch_start: i32,
        /// End of the pitch sector, -10 to 60.
        pitch_stop: i32,
        /// Zero.
        reserved: u32,
    }
}
