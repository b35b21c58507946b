//! Keys: what a unit can be set to and what it reports, each a number with a value of fixed length.

use crate::ParseError;
use crate::record::{Reader, record};

/// Their numbers.
#[expect(
    clippy::module_inception,
    reason = "key::STATE reads well, and there is nothing else to import"
)]
pub mod key {
    /// How points are written.
    pub const DATA_TYPE: u16 = 0x0000;
    /// The pattern of the scan.
    pub const PATTERN: u16 = 0x0001;
    /// Whether pulses are emitted twice.
    pub const DUAL_EMISSION: u16 = 0x0002;
    /// 0 sends points, 1 does not.
    pub const NO_POINTS: u16 = 0x0003;
    /// The unit's own address, mask and gateway.
    pub const NETWORK: u16 = 0x0004;
    /// Where pushes go.
    pub const STATE_HOST: u16 = 0x0005;
    /// Where points go.
    pub const POINT_HOST: u16 = 0x0006;
    /// Where inertial samples go.
    pub const IMU_HOST: u16 = 0x0007;
    /// How the unit is mounted; stored only.
    pub const MOUNTING: u16 = 0x0012;
    /// Nothing nearer is reported, centimetres.
    pub const BLIND_ZONE: u16 = 0x0013;
    /// The first field of view.
    pub const FIELD_0: u16 = 0x0015;
    /// The second.
    pub const FIELD_1: u16 = 0x0016;
    /// Which of them are on, a bit each.
    pub const FIELDS_ON: u16 = 0x0017;
    /// 0 normal, 1 sensitive.
    pub const DETECTION: u16 = 0x0018;
    /// The state that the unit is to be in.
    pub const TARGET_STATE: u16 = 0x001a;
    /// Whether the window may be heated.
    pub const HEATING: u16 = 0x001b;
    /// Whether inertial samples are sent.
    pub const IMU_ON: u16 = 0x001c;
    /// Whether the window is heated in any case.
    pub const FORCED_HEATING: u16 = 0x001e;
    /// The state after a start.
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
    /// The state that the unit is in.
    pub const STATE: u16 = 0x8006;
    /// Of the core, hundredths of a degree Celsius.
    pub const TEMPERATURE: u16 = 0x8007;
    /// Starts so far.
    pub const STARTS: u16 = 0x8008;
    /// What the clock shows, nanoseconds.
    pub const TIME: u16 = 0x8009;
    /// What it showed when it was set last, nanoseconds.
    pub const SYNCHRONISED: u16 = 0x800a;
    /// How far it was off then, nanoseconds.
    pub const TIME_OFFSET: u16 = 0x800b;
    /// By what it is set.
    pub const SYNCHRONISATION: u16 = 0x800c;
    /// The table of status codes of a HAP.
    pub const STATUS: u16 = 0x800d;
    /// Four nibbles: system, scan, ranging, communication.
    pub const DIAGNOSIS: u16 = 0x800e;
    /// Whether the flash memory is being written.
    pub const FLASH: u16 = 0x800f;
    /// 0 loader, 1 application.
    pub const FIRMWARE_KIND: u16 = 0x8010;
    /// Eight codes of what is wrong.
    pub const HMS: u16 = 0x8011;
    /// Whether the window is heated.
    pub const HEATER: u16 = 0x8012;
}

/// The length of a key's value, bytes; `None` of a key that the format does not know.
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

/// States of a unit: values of [`key::STATE`], and, of some, of [`key::TARGET_STATE`].
pub mod state {
    /// Points are sent.
    pub const SAMPLING: u8 = 1;
    /// Motor and lasers rest.
    pub const IDLE: u8 = 2;
    /// Something is wrong.
    pub const ERROR: u8 = 4;
    /// The unit tests itself.
    pub const SELF_CHECK: u8 = 5;
    /// The motor starts.
    pub const STARTING: u8 = 6;
    /// The motor runs.
    pub const READY: u8 = 9;
}

/// Keys and their values, in the order of the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(pub Vec<(u16, Vec<u8>)>);

impl Entries {
    /// Reads `count` of them, and nothing else.
    ///
    /// # Errors
    /// Too few bytes, or too many.
    pub fn read(reader: &mut Reader<'_>, count: u16) -> Result<Self, ParseError> {
        let mut all = Vec::new();
        for _ in 0..count {
            let (key, length): (u16, u16) = (reader.le()?, reader.le()?);
            all.push((key, reader.bytes(length.into())?.to_vec()));
        }
        reader.clone().finish()?;
        Ok(Self(all))
    }

    /// Appends their bytes.
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
        /// The host.
        ip: [u8; 4],
        /// Its port.
        port: u16,
        /// The port that datagrams leave from; units have their own.
        own_port: u16,
    }

    /// Value of [`key::FIELD_0`] and [`key::FIELD_1`], degrees.
    FieldOfView: Le 20 {
        /// 0 to 359, counter-clockwise from forward.
        yaw_start: i32,
        /// As `yaw_start`; less than that if the field goes across 0.
        yaw_stop: i32,
        /// -10 to 60, up.
        pitch_start: i32,
        /// As `pitch_start`.
        pitch_stop: i32,
        /// Zero.
        reserved: u32,
    }
}
