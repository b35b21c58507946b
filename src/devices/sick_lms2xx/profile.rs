//! The SICK LMS 2xx: differences between firmwares, and settings in a rig.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::wire::sick_lms2xx::data::{MeasuringMode, Unit};
use crate::wire::sick_lms2xx::{LineRate, Variant};

words!(PowerOnMode:
    "on-request" => OnRequest, "continuous" => Continuous, "partial" => Partial,
    "reflectivity" => Reflectivity);
words!(SpoiltTelegram: "nak" => Nak, "silence" => Silence);
words!(TransmissionStart: "scan-end" => ScanEnd, "line-free" => LineFree);
words!(ScanIndexCounts: "revolutions" => Revolutions, "scans" => Scans);

/// Unit of ranges.
pub type RangeUnit = Unit;

/// The operating mode after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerOnMode {
    /// Nothing is sent until the host requests it.
    OnRequest,
    /// The stream has every scan.
    Continuous,
    /// The stream has every revolution of the mirror.
    Partial,
    /// Every scan with its reflectivity.
    Reflectivity,
}

/// Reaction to a telegram with a wrong CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoiltTelegram {
    /// The byte NAK.
    Nak,
    /// No answer.
    Silence,
}

/// When the scanner starts to send a scan after the line was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionStart {
    /// At the end of the next scan.
    ScanEnd,
    /// At once, with the latest complete scan.
    LineFree,
}

/// Unit in which the real-time scan index counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanIndexCounts {
    /// Revolutions of the mirror.
    Revolutions,
    /// Scans.
    Scans,
}

/// An LMS 2xx firmware.
#[derive(Clone, Debug)]
pub struct SickLms2xxProfile {
    /// Text of the type telegram, at most 20 characters.
    pub type_text: String,
    /// Version in the status telegram, 7 characters.
    pub software_version: [u8; 7],
    /// Version in the status telegram, 7 characters.
    pub boot_version: [u8; 7],
    /// Type of the variant: 0 standard, 1 special.
    pub variant_type: u8,
    /// Bytes of the configuration block: 34, or 32 in old firmware.
    pub configuration_len: usize,
    /// Units of two hours.
    pub operating_time: u16,
    /// Number of power-ons.
    pub power_on_count: u16,
    /// Angles and resolutions; the first is the factory's.
    pub variants: Vec<Variant>,
    /// Whether command 0x3B changes the variant.
    pub can_switch_variant: bool,
    /// Whether resolutions finer than a degree are made of several revolutions.
    pub is_interlaced: bool,
    /// Revolutions of the mirror, per 1000 s.
    pub mirror_millihertz: u64,
    /// Order in which revolutions sample the four quarters of a degree.
    pub quarter_order: [u8; 4],
    /// The mirror's motor.
    pub motor: Motor,
    /// Rates the line has; the first is the factory's.
    pub rates: Vec<LineRate>,
    /// Whether telegrams with reflectivity exist.
    pub has_reflectivity: bool,
    /// Values of block D that are accepted; the first is the factory's.
    pub measuring_modes: Vec<MeasuringMode>,
    /// Farthest range at which a target of 10 % reflectance is seen, for each sensitivity of
    /// block B, metres.
    pub sensitivity_range_m: [f64; 4],
    /// Factor above the detection threshold from which an echo dazzles the detector; 0: never.
    pub dazzling_signal: f64,
    /// The reflectivity byte of a white, square target.
    pub reflectivity_full_scale: u8,
    /// Remission of a white, square target, and the amplitude of an echo that dazzles.
    pub remission_full_scale: u16,
    /// Times of answers.
    pub timing: ReplyTiming,
    /// Reaction to a telegram with a wrong CRC.
    pub spoilt_telegram: SpoiltTelegram,
    /// Start of a scan's telegram.
    pub transmission_start: TransmissionStart,
    /// Unit in which the scan index counts.
    pub scan_index_counts: ScanIndexCounts,
    /// Defaults that a rig may override.
    pub defaults: SickLms2xxSettings,
}

/// Reports about a mirror that is held. Gearbox has the error's number; no source has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Motor {
    /// Time from the release to the next scans, nanoseconds.
    pub spin_up_ns: u64,
    /// Level in the status byte (bits 0 to 2) during the stall, and type of the error.
    pub stalled_level: u8,
    /// Number of the reported error.
    pub stalled_error: u8,
}

/// Times of the scanner's answers, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTiming {
    /// Time from a telegram's last byte to ACK.
    pub ack_ns: u64,
    /// Time from ACK to the reply.
    pub reply_ns: u64,
    /// Time from ACK to the reply to a new configuration.
    pub configure_ns: u64,
    /// Pause after which an incomplete telegram is dropped.
    pub byte_gap_ns: u64,
}

/// Settings of an LMS 2xx in a rig; the profile has the defaults. Most of them are the stored configuration,
/// which hosts change by commands.
#[derive(Clone, Debug)]
pub struct SickLms2xxSettings {
    /// Angle and resolution after power-on.
    pub variant: Variant,
    /// The line's rate after power-on.
    pub rate: LineRate,
    /// Block E.
    pub unit: RangeUnit,
    /// Block D.
    pub measuring_mode: MeasuringMode,
    /// Bit 1 of block C: scans carry real-time indices.
    pub real_time_indices: bool,
    /// Block B.
    pub sensitivity: u8,
    /// The operating mode after power-on.
    pub power_on_mode: PowerOnMode,
    /// Password of installation mode.
    pub password: [u8; 8],
    /// Added to 0x80 in telegrams from the scanner.
    pub address: u8,
    /// Time from the run's first instant to the power-on telegram, nanoseconds; 0 for a scanner that was on
    /// before and sends none.
    pub start_up_ns: u64,
    /// Time from a reset to the power-on telegram, nanoseconds.
    pub restart_ns: u64,
    /// Output latency: time from a scan's end to its telegram, nanoseconds.
    pub lag_ns: u64,
    /// Angle of the mirror at the first instant, radians counter-clockwise from the right.
    pub mirror_phase_rad: f64,
    /// Type and number of each error that the scanner reports.
    pub errors: Vec<[u8; 2]>,
    /// Level of the error: bits 0 to 2 of the status byte.
    pub error_level: u8,
    /// Whether the window is dirty.
    pub is_polluted: bool,
    /// Whether the measured values are reported as implausible.
    pub is_implausible: bool,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}
