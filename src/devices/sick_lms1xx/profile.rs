//! The SICK LMS1xx and LMS5xx: differences between firmwares, and settings in a rig.
//!
//! Directions are counter-clockwise seen from above, 90 degrees is forward, in 1/10000 degree as on
//! the wire.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::wire::cola::Dialect;

words!(AcceptedDialects: "both" => Both, "configured" => Configured);
words!(EchoFilter: "first" => First, "all" => All, "last" => Last);
words!(ScannerStatus:
    "ok" => Ok, "error" => Error, "pollution-warning" => PollutionWarning,
    "pollution-error" => PollutionError);
words!(ScannerClock: "since-power-on" => SincePowerOn, "utc" => Utc);

/// Angle units of the wire in one rotation.
pub const TURN: u32 = 3_600_000;

/// The dialects that a scanner accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedDialects {
    /// Both dialects, each answered in kind.
    Both,
    /// The dialect that `EIHstCola` set when the host connected; the other gets no answer.
    Configured,
}

/// The echoes that are sent: the values of `FREchoFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoFilter {
    /// The nearest, as DIST1.
    First = 0,
    /// The nearest echo as DIST1 and the next as DIST2, as the channels of `LMDscandatacfg` require.
    All = 1,
    /// The farthest, as DIST1.
    Last = 2,
}

/// Status that a scanner reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScannerStatus {
    /// Fine.
    Ok,
    /// A fault.
    Error,
    /// The window is getting dirty.
    PollutionWarning,
    /// The window is dirty.
    PollutionError,
}

/// Time of the scanner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScannerClock {
    /// The clock was not set: it counts from 1 January 1970 at power-on.
    SincePowerOn,
    /// UTC.
    Utc,
}

/// A scan frequency with its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanMode {
    /// Rotations of the mirror per second, 1/100 Hz.
    pub frequency_centihz: u32,
    /// Step between directions, rounded as on the wire, 1/10000 degree.
    pub resolution: u32,
    /// Directions of a whole rotation, exactly.
    pub steps_per_turn: u32,
}

/// A password's level and hash, as `SetAccessMode` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// User level: 2 maintenance, 3 authorised client, 4 service.
    pub level: u8,
    /// Hash of the password.
    pub hash: u32,
}

/// An LMS1xx or LMS5xx firmware.
#[derive(Clone, Debug)]
pub struct SickLms1xxProfile {
    /// `DeviceIdent`: name and version.
    pub ident: [String; 2],
    /// `FirmwareVersion`.
    pub firmware_version: String,
    /// Version of the telegram `LMDscandata`: the format.
    pub telegram_version: u16,
    /// Device number in the telegram `LMDscandata`.
    pub device_number: u16,
    /// `ODoprh` at the first instant, 1/10 h.
    pub operating_time_tenth_h: u32,
    /// `ODpwrc`.
    pub power_on_count: u32,
    /// First and last direction.
    pub field: [i32; 2],
    /// Modes that `mLMPsetscancfg` accepts; the first is the factory setting.
    pub modes: Vec<ScanMode>,
    /// Direction of the mirror at a scan's time.
    pub zero_index: i32,
    /// Time from the last direction to the telegram's leaving, nanoseconds.
    pub transmission_delay_ns: u64,
    /// Time from a start of the motor to the first scan, nanoseconds.
    pub start_ns: u64,
    /// Time from standby to the first scan, nanoseconds.
    pub leave_standby_ns: u64,
    /// Time from a change of the scan mode to the first scan, nanoseconds.
    pub settle_ns: u64,
    /// Time from power-on or a reboot to the first answer, nanoseconds.
    pub boot_ns: u64,
    /// Number in STlms while the motor is held.
    pub stalled_state: u16,
    /// Largest number of echoes of a pulse.
    pub echoes: u8,
    /// Whether the scanner has `FREchoFilter`.
    pub has_echo_filter: bool,
    /// RSSI of a white, square target, in 8 and in 16 bits.
    pub remission_full_scale: (u8, u16),
    /// Time from a command to its answer, nanoseconds.
    pub reply_ns: u64,
    /// Answer to `sMN Run`.
    pub run_result: u8,
    /// State of the outputs while all evaluation fields are free.
    pub digital_outputs: [u8; 2],
    /// Number of outputs, at most 6.
    pub outputs: u8,
    /// Changes that each output has counted at the first instant.
    pub output_changes: u32,
    /// Order number and type.
    pub order: [String; 2],
    /// Passwords by user level.
    pub passwords: Vec<Password>,
    /// Defaults that a rig may override.
    pub defaults: SickLms1xxSettings,
}

/// Settings of an LMS1xx or LMS5xx in a rig; the profile has the defaults. The first ones are the stored
/// configuration, which hosts change by commands.
#[derive(Clone, Debug)]
pub struct SickLms1xxSettings {
    /// Frequency and resolution after power-on.
    pub mode: ScanMode,
    /// First and last direction that is sent.
    pub output_range: [i32; 2],
    /// A bit an echo.
    pub channels: u8,
    /// The echoes that are sent.
    pub echo_filter: EchoFilter,
    /// Whether RSSI values are sent.
    pub remission: bool,
    /// Whether RSSI values have 16 bits instead of 8.
    pub remission_16_bit: bool,
    /// Whether the scanner's time is sent.
    pub timestamp: bool,
    /// Interval of sent scans: every n-th scan is sent.
    pub output_interval: u16,
    /// `EIHstCola`.
    pub host_dialect: Dialect,
    /// `LocationName`.
    pub location_name: String,
    /// Dialects that the scanner accepts.
    pub accepted_dialects: AcceptedDialects,
    /// Dialect in which every connected host gets scans without a request; so does a recording.
    pub power_on_stream: Option<Dialect>,
    /// Status that the scanner reports.
    pub status: ScannerStatus,
    /// Start of the scanner's clock.
    pub clock: ScannerClock,
    /// Time from the run's first instant to its first answer, nanoseconds; 0 for one that runs
    /// already.
    pub start_up_ns: u64,
    /// Time since power-on at the first instant, nanoseconds.
    pub uptime_ns: u64,
    /// How much later than [`SickLms1xxProfile::transmission_delay_ns`] a telegram leaves, nanoseconds.
    pub lag_ns: u64,
    /// `SerialNumber`.
    pub serial_number: u32,
    /// Millimetres of a distance count.
    pub scale_factor: u8,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}
