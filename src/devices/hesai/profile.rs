//! Firmware profile of a Hesai, and its settings in a rig.

use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{Ascii, By, Listed, OneOf, Time, TrueOrFalse, Whole};
use crate::config::toml::reader::{Field, Limit};
use crate::ptp::PtpOptions;
use crate::spinning::clock_settings::ClockSettings;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::profile_read::{Hexadecimal, boot, celsius, start_azimuth};
use crate::spinning::returns::retro_gain;
pub use crate::spinning::unit_lasers::{UnitLaser, UnitSpread};
use crate::wire::ethernet::FrameHeader;
use crate::wire::hesai::data::ReturnMode;
use crate::wire::hesai::format::HesaiFormat;

words!(DualOrder: "farther-first" => FartherFirst, "nearer-first" => NearerFirst);
words!(PtpProfile: "1588v2" => Ieee1588, "802.1as" => Gptp, "802.1as-automotive" => Automotive);
words!(PtpTransport: "udp" => Udp, "l2" => L2);
words!(ClockSource: "gps" => Gps, "ptp" => Ptp);
words!(PtpState: "free" => Free, "tracking" => Tracking, "locked" => Locked, "frozen" => Frozen, "virtual" => Virtual,
    "wire" => Wire);
words!(Stamped: "first" => First, "last" => Last);

/// Profile of the firmware of one model.
#[derive(Clone, Debug)]
pub struct HesaiProfile {
    /// Addresses and header fields of data packets.
    pub network: FrameHeader,
    /// Port of GPS packets.
    pub gps_udp_port: u16,
    /// Identity that the unit reports in its inventory.
    pub identity: Identity,
    /// Answer times and reported values of the command interface.
    pub interface: InterfaceProfile,
    /// Content of data packets.
    pub packet: PacketProfile,
    /// Speeds of the motor, rpm; the first is the factory setting.
    pub rates_rpm: Vec<u32>,
    /// Firings per rotation at 600 rpm; the firing rate is the same at every speed.
    pub steps_at_600_rpm: u32,
    /// Return modes of the firmware; the first is the factory setting.
    pub return_modes: Vec<ReturnMode>,
    /// Spread of angles between units.
    pub spread: UnitSpread,
    /// Lasers in order of channels.
    pub lasers: Vec<UnitLaser>,
    /// Values that a rig can override.
    pub defaults: HesaiSettings,
}

const ONE_BYTE: &str = "the wire format: one byte";
/// In error messages: the source of a limit, for values that host commands can set.
pub(super) const COMMANDS: &str = "the unit's commands by TCP";

fn byte() -> Limit<i128> {
    Limit::new(0..=255, "", ONE_BYTE)
}

fn count() -> Limit<i128> {
    Limit::new(0..=i128::from(i32::MAX), "", "the wire format: four bytes")
}

fn watts() -> Limit<f64> {
    Limit::new(0.0..=100.0, "W", PROFILES)
}

fn version() -> Ascii {
    Ascii(16, "a version")
}

/// Reads a time in microseconds; returns nanoseconds.
fn offset_ns(field: &Field<'_>) -> Option<i64> {
    let us = field.number(&Limit::new(-1000.0..=1000.0, "us", PROFILES));
    us.map(|us| (us * 1000.0).round() as i64)
}

keys! {
    /// Inventory that the unit reports, without the values that the rig sets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// The product's number in the inventory.
        pub model: u8, byte();
        /// The date of manufacture in the inventory.
        pub manufactured: String, Ascii(16, "a date");
        /// The version of the software.
        pub software: String, version();
        /// The version of the hardware.
        pub hardware: String, version();
        /// The version of the controller's firmware.
        pub control_firmware: String, version();
        /// The version of the sensor's firmware.
        pub sensor_firmware: String, version();
        /// Number of starts before the run.
        pub starts: u32, count();
        /// Operating time before the run.
        pub operation_min: u32, count();
    }
}

keys! {
    /// Answer and restart times of a unit, and the constant values in its answers to commands.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InterfaceProfile {
        /// Time from a command to its answer.
        pub reply_ns as "reply_ms": u64, Time(Limit::new(0.1..=1000.0, "ms", PROFILES), 1e6);
        /// Time from a restart until the unit answers again.
        pub boot_ns as "boot_s": u64, boot();
        /// Temperatures of the eight places in the status.
        pub temperatures_c: [f64; 8], celsius();
        /// The supply's voltage.
        pub supply_v: f64, Limit::new(1.0..=60.0, "V", PROFILES);
        /// The unit's power while it runs.
        pub running_w: f64, watts();
        /// The unit's power while the rotor stands.
        pub standby_w: f64, watts();
    }
}

keys! {
    /// Content of data packets.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PacketProfile {
        /// Layout of data packets.
        pub format: HesaiFormat, OneOf(&HesaiFormat::NAMES, PROFILES);
        /// The minor version of the protocol in the packet's head.
        pub minor: u8, byte();
        /// The year from which dates in packets count.
        pub year_base: u16,
            OneOf(&[("1900", 1900), ("2000", 2000)], "the drivers: no other year is supported");
        /// The factory's byte in the tail.
        pub factory: u8, byte();
        /// Number of returns in the packet's head, in a mode with one return and in one with two.
        pub told_returns: [u8; 2], Whole(byte());
        /// The fourth byte of points, of formats that have one.
        pub confidence: u8, byte();
        /// The ten status bytes before the tail, of a healthy unit, in hexadecimal digits.
        pub status: [u8; 10],
            Hexadecimal("ten bytes as twenty hexadecimal digits", "these are not ten status bytes");
        /// Positions of words in the status bytes that vary by a few counts.
        pub live_words: Vec<u8>, Listed(
            "positions of words in the status bytes",
            Limit::new(0..=8, "", "the wire format: ten bytes")
        );
        /// Reflectivity of a white diffuse target; retro-reflectors are above it.
        pub diffuse_full_scale: u8, byte();
        /// Light from a retroreflector of reflectivity 255, as a multiple of the light from a white diffuse target.
        pub retro_full_gain: f64, retro_gain();
        /// Firing of a packet to which its timestamp refers.
        pub stamped as "stamp_of": Stamped, OneOf(&Stamped::WORDS, PROFILES);
        /// Time from the beginning of that firing to the instant of the timestamp.
        pub stamp_offset_ns as "stamp_offset_us": i64, By(offset_ns);
        /// Time from the beginning of a firing to the instant whose azimuth the block reports.
        pub azimuth_after_ns as "azimuth_after_us": u64,
            Time(Limit::new(0.0..=1000.0, "us", PROFILES), 1e3);
    }
}

impl PacketProfile {
    /// Azimuth that a block reports minus the rotor angle at the start of the block's firing, at the speed `rpm`,
    /// degrees.
    pub fn azimuth_ahead_deg(&self, rpm: u16) -> f64 {
        f64::from(rpm) * 6e-9 * self.azimuth_after_ns as f64
    }
}

keys! {
    in profile and rig;
    /// Settings of the clock.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct HesaiClockSettings {
        reference {
            /// Reference of the clock: a GNSS receiver, or a PTP master.
            pub source as "clock_source": ClockSource, OneOf(&ClockSource::WORDS, COMMANDS);
        }
        transport {
            /// PTP profile at the start. The PTC command 0x24 changes it.
            pub ptp_profile: PtpProfile, OneOf(&PtpProfile::WORDS, COMMANDS);
            /// Transport of PTP at the start with the profile `1588v2`. The others use layer 2.
            pub ptp_transport: PtpTransport, OneOf(&PtpTransport::WORDS, COMMANDS);
        }
        /// State of the synchronisation with a PTP master: fixed by the rig, or determined by a PTP slave.
        pub ptp: PtpState,
        /// Offset of a simulated PTP master's time from UTC, seconds; positive is ahead.
        pub ptp_ahead_s: i32,
        /// Settings of the clock while its source is a GNSS receiver.
        pub own: ClockSettings,
        /// PTP options that no command sets.
        pub ptp_options: PtpOptions,
    }
}

/// PTP profile; the value of a variant is its number in commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpProfile {
    /// IEEE 1588, version 2.
    #[default]
    Ieee1588 = 0,
    /// IEEE 802.1AS.
    Gptp = 1,
    /// The automotive profile of IEEE 802.1AS.
    Automotive = 2,
}

/// Transport of IEEE 1588 PTP; the value of a variant is its number in commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpTransport {
    /// UDP over IP.
    #[default]
    Udp = 0,
    /// Ethernet frames without IP (layer 2).
    L2 = 1,
}

/// Order of the two returns of a firing in a pair of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DualOrder {
    /// The farther echo is in the first block.
    #[default]
    FartherFirst,
    /// The nearer echo is in the first block.
    NearerFirst,
}

/// Source of the clock's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// PPS and sentences of a GNSS receiver.
    #[default]
    Gps,
    /// A PTP master.
    Ptp,
}

/// State of the synchronisation with a PTP master. `Wire` and `Virtual` are settings with which a PTP slave determines
/// the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpState {
    /// No master.
    #[default]
    Free,
    /// The clock follows a master and is close to the master's time.
    Tracking,
    /// The clock is synchronised to a master.
    Locked,
    /// Holdover: the master is lost; the clock continues at its last rate.
    Frozen,
    /// The unit runs a PTP slave, which follows a master on the network, if there is one.
    Wire,
    /// The unit runs a PTP slave, which follows a master within Menura.
    Virtual,
}

impl PtpState {
    /// Whether the unit runs a PTP slave.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }

    /// Code of the PTP state in answers to commands.
    pub fn number(self) -> u8 {
        match self {
            Self::Free | Self::Wire | Self::Virtual => 0,
            Self::Tracking => 1,
            Self::Locked => 2,
            Self::Frozen => 3,
        }
    }
}

/// Firing whose time is the timestamp of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamped {
    /// The first firing of the packet.
    First,
    /// The last firing of the packet.
    #[default]
    Last,
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct HesaiSettings {
        identity {
            /// Serial number of the unit, which determines its laser angles.
            pub serial: String, Ascii(18, "a serial number such as \"XT2A1B2C3D4E5F\"");
        }
        returns {
            /// Which of two returns is in the first block of a pair.
            pub dual_order: DualOrder, OneOf(&DualOrder::WORDS, "captures of real units");
        }
        sync {
            /// Whether the rotor points at `sync_angle_deg` when a second begins.
            pub sync_enable: bool, TrueOrFalse;
            /// Direction of the rotor when a second begins, clockwise from forward.
            pub sync_angle_deg: u16, Limit::new(0..=359, "degrees", COMMANDS);
            /// Whether the unit is in standby at the start: the rotor stands and nothing is sent.
            pub standby: bool, TrueOrFalse;
        }
        rotation {
            /// Direction of the head at the first instant, clockwise from forward.
            pub start_azimuth_rad as "start_azimuth_deg": f64, start_azimuth();
        }
        packet {
            /// Whether data packets end with a sequence number.
            pub has_sequence as "udp_sequence": bool, TrueOrFalse;
            /// Standard deviation of the azimuths that are sent, hundredths of a degree.
            pub azimuth_jitter_centideg: f64,
                Limit::new(0.0..=10.0, "hundredths of a degree", PROFILES);
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Speed of the rotor, rpm.
        pub rotation_rate_rpm: u32,
        /// Selection of the echoes that the unit reports.
        pub return_mode: ReturnMode,
        /// Sector in which the lasers fire: from the first to the second angle, clockwise, tenths of a degree.
        pub range_decideg: [u16; 2],
        /// Settings of the motor.
        pub motor: MotorSettings,
        /// Settings of the clock.
        pub clock: HesaiClockSettings,
        /// Optics of the lasers.
        pub beam: BeamSettings,
        /// Errors of the measurements.
        pub noise: NoiseSettings,
    }
}

impl HesaiProfile {
    /// Index of the port of GPS packets.
    pub const GPS_PORT: PortIndex = PortIndex(1);

    /// Ports of data packets and GPS packets.
    pub fn ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort { counts_frames: true, ..DatagramPort::data(&self.network) };
        let frame = FrameHeader { destination_port: self.gps_udp_port, ..data.frame.clone() };
        let rig_key =
            Some(PortKey { name: "gps_port", meaning: "The destination port of GPS packets." });
        vec![data, DatagramPort { name: "gps", rig_key, frame, counts_frames: true }]
    }

    /// Firings per rotation at the speed `rpm`.
    pub fn steps(&self, rpm: u32) -> u32 {
        self.steps_at_600_rpm * 600 / rpm.max(1)
    }

    /// Firings per packet in a return mode.
    pub fn steps_of_packet(&self, mode: ReturnMode) -> u32 {
        let blocks = self.packet.format.blocks() as u32;
        if mode.is_dual() { blocks / 2 } else { blocks }
    }

    /// Time between firings, nanoseconds; the same at every speed.
    pub fn period_ns(&self) -> f64 {
        1e9 / (10.0 * f64::from(self.steps_at_600_rpm))
    }
}
