//! Firmware profile of a Hesai, and its settings in a rig.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::ptp::PtpOptions;
use crate::spinning::clock_settings::ClockSettings;
use crate::spinning::motor_settings::MotorSettings;
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

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct HesaiProfile {
    /// Addresses and header fields of data packets.
    pub network: FrameHeader,
    /// Port of GPS packets.
    pub gps_udp_port: u16,
    /// Identity in the inventory.
    pub identity: Identity,
    /// Answers to commands.
    pub interface: InterfaceProfile,
    /// Content of data packets.
    pub packet: PacketProfile,
    /// Speeds that it can be set to, the factory's first, rpm.
    pub rates_rpm: Vec<u32>,
    /// Firings per rotation at 600 rpm; the number per second is the same at other speeds.
    pub steps_at_600_rpm: u32,
    /// Return modes of the firmware; the first is the factory setting.
    pub return_modes: Vec<ReturnMode>,
    /// Differences between units.
    pub spread: UnitSpread,
    /// Lasers by channel.
    pub lasers: Vec<UnitLaser>,
    /// Defaults that a rig may override.
    pub defaults: HesaiSettings,
}

/// Inventory of a unit, except for the rig's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Number of the product.
    pub model: u8,
    /// Date of manufacture.
    pub manufactured: String,
    /// Versions of the software, the hardware, the controller's and the sensor's firmware.
    pub versions: [String; 4],
    /// Number of starts.
    pub starts: u32,
    /// Operating time, minutes.
    pub operation_min: u32,
}

/// Answers of a unit to commands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceProfile {
    /// Time from a request to its answer, nanoseconds.
    pub reply_ns: u64,
    /// Time from a restart to the next answer, nanoseconds.
    pub boot_ns: u64,
    /// Temperatures of the boards, degrees Celsius.
    pub temperatures_c: [f64; 8],
    /// Supply voltage, and power in watts in operation and in standby.
    pub supply: [f64; 3],
}

/// Content of data packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketProfile {
    /// Layout of the packets.
    pub format: HesaiFormat,
    /// Minor version of the protocol, in formats with one.
    pub minor: u8,
    /// The year that dates count from.
    pub year_base: u16,
    /// The factory's byte.
    pub factory: u8,
    /// Number of returns that heads tell with one return, and with two.
    pub told_returns: [u8; 2],
    /// The fourth byte of points.
    pub confidence: u8,
    /// The words of state before the tail, of a sound unit.
    pub status: [u8; 10],
    /// Offsets of little-endian words in the status bytes that vary.
    pub live_words: Vec<u8>,
    /// Reflectivity of a white diffuse target; retro-reflectors are above it.
    pub diffuse_full_scale: u8,
    /// Light from a retroreflector with reflectivity 255, as a multiple of that from a white diffuse target.
    pub retro_full_gain: f64,
    /// Time from the first or last firing of a packet to its timestamp, nanoseconds.
    pub stamp: (Stamped, i64),
    /// Time from the start of a firing to the instant of its block's azimuth, nanoseconds.
    pub azimuth_after_ns: u64,
}

impl PacketProfile {
    /// Angle from the start of a firing to its block's azimuth at this speed, degrees.
    pub fn azimuth_ahead_deg(&self, rpm: u16) -> f64 {
        f64::from(rpm) * 6e-9 * self.azimuth_after_ns as f64
    }
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HesaiClockSettings {
    /// The clock that a receiver sets.
    pub own: ClockSettings,
    /// Source of the clock's time.
    pub source: ClockSource,
    /// Whether a PTP master keeps the clock.
    pub ptp: PtpState,
    /// Lead of the PTP master's time over UTC, seconds.
    pub ptp_ahead_s: i32,
    /// PTP profile at first.
    pub ptp_profile: PtpProfile,
    /// Transport of IEEE 1588 PTP at first.
    pub ptp_transport: PtpTransport,
    /// PTP options that no command sets.
    pub ptp_options: PtpOptions,
}

/// Profile of PTP, with its number in commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpProfile {
    /// IEEE 1588, version 2.
    #[default]
    Ieee1588 = 0,
    /// IEEE 802.1AS.
    Gptp = 1,
    /// The automotive profile.
    Automotive = 2,
}

/// Transport of IEEE 1588 PTP, with its number in commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpTransport {
    /// UDP.
    #[default]
    Udp = 0,
    /// Ethernet.
    L2 = 1,
}

/// Order of the two returns of a firing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DualOrder {
    /// The farther one is in the first block of a pair.
    #[default]
    FartherFirst,
    /// The nearer echo comes first.
    NearerFirst,
}

/// Source of the clock's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// A receiver's pulse and sentences.
    #[default]
    Gps,
    /// A PTP master.
    Ptp,
}

/// Whether a PTP master keeps the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpState {
    /// No master.
    #[default]
    Free,
    /// A master is followed; the clock is near its time.
    Tracking,
    /// The clock is the master's.
    Locked,
    /// The master is lost; the clock continues at its last rate.
    Frozen,
    /// A master on the network sets the clock by PTP, if there is one.
    Wire,
    /// A master within Menura, by PTP.
    Virtual,
}

impl PtpState {
    /// Whether a slave follows the master by PTP.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }

    /// Number of the state in answers.
    pub fn number(self) -> u8 {
        match self {
            Self::Free | Self::Wire | Self::Virtual => 0,
            Self::Tracking => 1,
            Self::Locked => 2,
            Self::Frozen => 3,
        }
    }
}

/// The firing that defines a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamped {
    /// The first firing of the packet defines it.
    First,
    /// The last firing of the packet defines it.
    #[default]
    Last,
}

/// Settings in a rig; the profile gives the defaults.
#[derive(Clone, Debug, Default)]
pub struct HesaiSettings {
    /// Serial number of the unit, which determines its laser angles.
    pub serial: String,
    /// Speed, rpm.
    pub rotation_rate_rpm: u32,
    /// The reported echoes.
    pub return_mode: ReturnMode,
    /// Order of two returns.
    pub dual_order: DualOrder,
    /// Lasers fire from the first to the second angle, tenths of a degree, clockwise.
    pub range_decideg: [u16; 2],
    /// Whether the rotor is at `sync_angle_deg` when a second begins.
    pub sync_enable: bool,
    /// Angle of the phase lock, degrees.
    pub sync_angle_deg: u16,
    /// Whether the unit is in standby.
    pub standby: bool,
    /// Whether packets have a sequence number.
    pub has_sequence: bool,
    /// Rotor angle at the first instant, radians, clockwise from forward.
    pub start_azimuth_rad: f64,
    /// Standard deviation of a reported azimuth, hundredths of a degree.
    pub azimuth_jitter_centideg: f64,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// Settings of the motor.
    pub motor: MotorSettings,
    /// The clock.
    pub clock: HesaiClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}

impl HesaiProfile {
    /// Port of GPS packets, after that of data packets.
    pub const GPS_PORT: PortIndex = PortIndex(1);

    /// Ports of data packets and GPS packets.
    pub fn ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort { counts_frames: true, ..DatagramPort::data(&self.network) };
        let frame = FrameHeader { destination_port: self.gps_udp_port, ..data.frame.clone() };
        vec![
            data,
            DatagramPort { name: "gps", rig_key: Some("gps_port"), frame, counts_frames: true },
        ]
    }

    /// Firings per rotation at a speed.
    pub fn steps(&self, rpm: u32) -> u32 {
        self.steps_at_600_rpm * 600 / rpm.max(1)
    }

    /// Firings of a packet.
    pub fn steps_of_packet(&self, mode: ReturnMode) -> u32 {
        let blocks = self.packet.format.blocks() as u32;
        if mode.is_dual() { blocks / 2 } else { blocks }
    }

    /// Time from a firing to the next, nanoseconds; the same at every speed.
    pub fn period_ns(&self) -> f64 {
        1e9 / (10.0 * f64::from(self.steps_at_600_rpm))
    }
}
