//! The SICK LMS1xx and LMS5xx: what their firmwares differ in and what a rig may set.
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

/// Parts of a turn that the wire counts.
pub const TURN: u32 = 3_600_000;

/// The dialects that a scanner accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedDialects {
    /// Both, each answered in kind.
    Both,
    /// The one that `EIHstCola` set when the host connected; the other gets no answer.
    Configured,
}

/// The echoes that are sent: the values of `FREchoFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoFilter {
    /// The nearest, as DIST1.
    First = 0,
    /// The nearest as DIST1, the next as DIST2, as the channels of `LMDscandatacfg` say.
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
    /// 1 January 1970 at power-on: nobody has set it.
    SincePowerOn,
    /// UTC.
    Utc,
}

/// A scan frequency with its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanMode {
    /// Turns of the mirror, 1/100 Hz.
    pub frequency_centihz: u32,
    /// Between directions as the wire rounds it, 1/10000 degree.
    pub resolution: u32,
    /// Directions of a whole turn, exactly.
    pub steps_per_turn: u32,
}

/// A password's level and hash, as `SetAccessMode` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// 2 maintenance, 3 authorised client, 4 service.
    pub level: u8,
    /// Its hash.
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
    /// What `mLMPsetscancfg` accepts; the first is the factory's.
    pub modes: Vec<ScanMode>,
    /// Where the mirror is when a scan's time is taken.
    pub zero_index: i32,
    /// Time from the last direction to the telegram's leaving, nanoseconds.
    pub transmission_delay_ns: u64,
    /// Until it measures after the motor stood, nanoseconds.
    pub start_ns: u64,
    /// Until it measures after standby, nanoseconds.
    pub leave_standby_ns: u64,
    /// Until it measures in a new scan mode, nanoseconds.
    pub settle_ns: u64,
    /// Time from power-on, or a reboot, until it hears hosts, nanoseconds.
    pub boot_ns: u64,
    /// Number in STlms while the motor is held.
    pub stalled_state: u16,
    /// Number of echoes that it distinguishes.
    pub echoes: u8,
    /// Whether it has `FREchoFilter`.
    pub has_echo_filter: bool,
    /// RSSI of a white, square target, in 8 and in 16 bits.
    pub remission_full_scale: (u8, u16),
    /// Time from a command to its answer, nanoseconds.
    pub reply_ns: u64,
    /// Answer to `sMN Run`.
    pub run_result: u8,
    /// Outputs of a scanner whose fields are free.
    pub digital_outputs: [u8; 2],
    /// Outputs that it has, at most 6.
    pub outputs: u8,
    /// Changes that each output has counted at the first instant.
    pub output_changes: u32,
    /// Order number and type.
    pub order: [String; 2],
    /// Passwords by user level.
    pub passwords: Vec<Password>,
    /// Values a rig may override.
    pub defaults: SickLms1xxSettings,
}

/// What a rig may set on an LMS1xx or LMS5xx; the profile gives the defaults. The first ones are
/// the stored configuration, which hosts change by commands.
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
    /// Whether RSSI values are given out.
    pub remission: bool,
    /// Whether they have 16 bits, else 8.
    pub remission_16_bit: bool,
    /// Whether the clock is given out.
    pub timestamp: bool,
    /// Every n-th scan is sent.
    pub output_interval: u16,
    /// `EIHstCola`.
    pub host_dialect: Dialect,
    /// `LocationName`.
    pub location_name: String,
    /// The dialects that it accepts.
    pub accepted_dialects: AcceptedDialects,
    /// Every host that connects gets scans in this dialect without asking; so does a recording.
    pub power_on_stream: Option<Dialect>,
    /// Status that it reports.
    pub status: ScannerStatus,
    /// Time of its clock.
    pub clock: ScannerClock,
    /// Time from the run's first instant to its first answer, nanoseconds; 0 for one that runs
    /// already.
    pub start_up_ns: u64,
    /// How long one that runs already does so, nanoseconds.
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
