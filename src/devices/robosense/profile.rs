//! Firmware profile of a RoboSense, and its settings in a rig.

use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey, port};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{By, OneOf, Scaled, Time, TrueOrFalse, Whole};
use crate::config::toml::reader::{Field, Limit};
use crate::ptp::PtpOptions;
use crate::spinning::clock_settings::ClockSettings;
pub use crate::spinning::master::PtpState;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::profile_read::{Hexadecimal, boot, celsius, start_azimuth};
use crate::spinning::returns::retro_gain;
use crate::spinning::turns::scaled;
pub use crate::spinning::unit_lasers::{UnitLaser, UnitSpread};
use crate::wire::ethernet::FrameHeader;
use crate::wire::robosense::difop::{SUPPLIES, SyncMode, TEMPERATURES};
use crate::wire::robosense::layout::Layout;

words!(Returns: "strongest" => Strongest, "last" => Last, "first" => First, "dual" => Dual,
    "dual-strongest-first" => DualStrongestFirst, "dual-first-last" => DualFirstLast);
words!(TwoReturns: "strongest-first" => StrongestFirst, "last-first" => LastFirst);
words!(UcwpEffect: "at-once" => AtOnce, "restarts" => Restarts, "stored" => Stored);

/// Profile of the firmware of one model.
#[derive(Clone, Debug)]
pub struct RobosenseProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// Ports of DIFOP (status) packets.
    pub difop: DifopPorts,
    /// Identity that the unit reports.
    pub identity: Identity,
    /// Configuration by hosts, start-up time, and constant values in DIFOP (status) packets.
    pub interface: InterfaceProfile,
    /// Encoding of packets of points.
    pub packet: PacketProfile,
    /// Speeds of the motor, rpm; the first is the factory setting. In an M1, 60 times the frame rate.
    pub rates_rpm: Vec<u32>,
    /// Firing period, nanoseconds: the first number divided by the second.
    pub period_ns: [u64; 2],
    /// Scan pattern of an M1's channels; `None` for other models.
    pub raster: Option<RasterProfile>,
    /// Return modes of the firmware with their codes; the first is the factory setting.
    pub return_modes: Vec<(Returns, u8)>,
    /// Clock sources that a host can select.
    pub sync_modes: Vec<SyncMode>,
    /// Spread of angles between units.
    pub spread: UnitSpread,
    /// Exit point of the beams.
    pub exit: Exit,
    /// Lasers in order of channels.
    pub lasers: Vec<UnitLaser>,
    /// IMU of an Airy; `None` for other models.
    pub imu: Option<ImuProfile>,
    /// Values that a rig can override.
    pub defaults: RobosenseSettings,
}

const FORMAT: &str = "the wire format";
/// Source, named in error messages, of the limits on values that hosts set.
pub(super) const SETTINGS: &str = "the unit's configuration";

pub(super) fn byte() -> Limit<i128> {
    Limit::new(0..=255, "", FORMAT)
}

fn millimetres() -> Limit<f64> {
    Limit::new(-1000.0..=1000.0, "mm", PROFILES)
}

fn range() -> Limit<i128> {
    Limit::new(0..=3, "", FORMAT)
}

fn version() -> Hexadecimal {
    hexadecimal("ten hexadecimal digits such as \"0714040100\"")
}

fn hexadecimal(expected: &'static str) -> Hexadecimal {
    Hexadecimal(expected, "these are not hexadecimal digits")
}

/// Reads a position in millimetres; returns metres.
fn place_m(field: &Field<'_>) -> Option<[f64; 3]> {
    field.numbers::<3>(&millimetres()).map(|place| place.map(|mm| mm / 1000.0))
}

keys! {
    /// UDP ports of DIFOP (status) packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DifopPorts {
        /// Source port.
        pub source_port: u16, port();
        /// Destination port.
        pub destination_port: u16, port();
    }
}

keys! {
    /// Identity that the unit reports, without the values that the rig sets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// The version of the top board, as hexadecimal digits.
        pub top_version: [u8; 5], version();
        /// The version of the bottom board, as hexadecimal digits.
        pub bottom_version: [u8; 5], version();
    }
}

keys! {
    /// Start-up time of a unit, and constant values in its DIFOP (status) packets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InterfaceProfile {
        /// Whether hosts configure the unit by UCWP.
        pub has_ucwp: bool, TrueOrFalse;
        /// Time from a restart until the unit sends again.
        pub boot_ns as "boot_s": u64, boot();
        /// Temperatures of boards in packets of state.
        pub celsius as "board_temperatures_c": [f64; TEMPERATURES], celsius();
        /// Voltages and currents in packets of state, as the model counts them.
        pub supplies: [u16; SUPPLIES], Whole(Limit::new(0..=65_535, "", FORMAT));
        /// Mounting of an Airy in packets of state: 0 upright, 1 on its side.
        pub mounting: u8, byte();
        /// Codes of the present time source in packets of state: none, a GNSS receiver, PTP.
        pub sync_codes: [u8; 3], Whole(byte());
    }
}

keys! {
    /// Encoding of packets of points.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct PacketProfile {
        /// Layout of packets.
        pub layout: Layout, OneOf(&Layout::WORDS, PROFILES);
        /// The model's type in the head of packets.
        pub kind as "type": u8, byte();
        /// The model's kind in the head of packets.
        pub model: u8, byte();
        /// Temperature in the head of packets.
        pub celsius as "temperature_c": f64, Limit::new(-80.0..=127.0, "degrees C", PROFILES);
        /// Intensity of a white diffuse target; retro-reflectors are above it.
        pub diffuse_full_scale: u8, byte();
        /// Light from a retroreflector of intensity 255, as a multiple of the light from a white target.
        pub retro_full_gain: f64, retro_gain();
    }
}

/// Scan pattern of an M1's channels: rows from top to bottom, in alternating directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RasterProfile {
    /// Rows per frame.
    pub rows: u32,
    /// Firings per row.
    pub columns: u32,
    /// Angle between rows and between firings, degrees.
    pub step_deg: f64,
}

keys! {
    /// IMU of an Airy.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ImuProfile {
        /// Source port of inertial samples.
        pub source_port: u16, port();
        /// Destination port of inertial samples.
        pub destination_port: u16, port();
        /// Samples a second, each in a packet.
        pub rate_hz: u32, Limit::new(1..=1000, "Hz", PROFILES);
        /// Time from a sample until its packet leaves.
        pub latency_ns as "latency_us": u64, Time(Limit::new(0.0..=100_000.0, "us", PROFILES), 1e3);
        /// Number n of the accelerometer's range: 2^(n+1) g.
        pub accel_range: u8, range();
        /// Number n of the gyro's range: 250 * 2^n degrees/s.
        pub gyro_range: u8, range();
        /// Power of two that stands for a full range.
        pub full_scale_bits: u8, Limit::new(8..=31, "", FORMAT);
        /// Standard deviation of accelerations.
        pub accel_std_g: f64, Limit::new(0.0..=1.0, "g", PROFILES);
        /// Standard deviation of angular rates.
        pub gyro_std_deg_s: f64, Limit::new(0.0..=100.0, "degrees/s", PROFILES);
        /// Place of the inertial unit in the frame of the points: forward, left, up.
        pub place_m as "place_mm": [f64; 3], By(place_m);
    }
}

keys! {
    /// Exit point of the beams.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Exit {
        /// Distance of the point from the axis, in the direction in which the rotor looks.
        pub out_m as "out_mm": f64, Scaled(millimetres(), 1e-3);
        /// Height of the point above the origin of the points.
        pub up_m as "up_mm": f64, Scaled(millimetres(), 1e-3);
    }
}

/// Selection of a firing's echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// The strongest echo.
    #[default]
    Strongest,
    /// The farthest echo.
    Last,
    /// The nearest echo.
    First,
    /// The strongest and the farthest echo.
    Dual,
    /// The strongest and the nearest echo.
    DualStrongestFirst,
    /// The nearest and the farthest echo.
    DualFirstLast,
}

impl Returns {
    /// Whether a firing has two returns.
    pub fn is_dual(self) -> bool {
        matches!(self, Self::Dual | Self::DualStrongestFirst | Self::DualFirstLast)
    }
}

/// Order of the two returns of a firing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwoReturns {
    /// The order of the echoes in the description of the return mode: for [`Returns::Dual`], strongest, then farthest.
    #[default]
    StrongestFirst,
    /// The reverse order.
    LastFirst,
}

/// Time at which a configuration written by a host takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UcwpEffect {
    /// The configuration takes effect with the next rotation.
    #[default]
    AtOnce,
    /// The unit restarts and applies the configuration.
    Restarts,
    /// The unit only stores and reports the configuration; it takes no effect in this run.
    Stored,
}

/// Settings of the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RobosenseClockSettings {
    /// State of the PTP master that sets the clock, if any.
    pub ptp: PtpState,
    /// Offset of a simulated PTP master's time from UTC, seconds; positive is ahead.
    pub ptp_ahead_s: i32,
    /// Settings of the clock that a GNSS receiver sets.
    pub own: ClockSettings,
    /// Selected source of the clock.
    pub mode: SyncMode,
    /// PTP options that hosts cannot set.
    pub ptp_options: PtpOptions,
}

impl RobosenseClockSettings {
    /// Whether PTP is the selected source of the clock.
    pub fn is_ptp(&self) -> bool {
        self.mode != SyncMode::Gps
    }

    /// Whether the unit runs a PTP slave.
    pub fn has_slave(&self) -> bool {
        self.is_ptp() && self.ptp.has_slave()
    }
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct RobosenseSettings {
        identity {
            /// Serial number of the unit, which determines its laser angles.
            pub serial: [u8; 6], hexadecimal("twelve hexadecimal digits such as \"001C23174ACC\"");
        }
        returns {
            /// Order of two returns: as the return mode names them, or the other way round.
            pub two_returns: TwoReturns, OneOf(&TwoReturns::WORDS, PROFILES);
        }
        phase {
            /// Keep the rotor at `phase_deg` when a second begins, once the clock is set.
            pub phase_lock: bool, TrueOrFalse;
            /// Angle of the rotor when a second begins, with `phase_lock`.
            pub phase_deg: u16, Limit::new(0..=359, "degrees", SETTINGS);
        }
        ucwp {
            /// When a configuration by UCWP takes effect: with the next rotation, after a restart that the unit makes,
            /// or not in this run.
            pub ucwp_effect: UcwpEffect, OneOf(&UcwpEffect::WORDS, PROFILES);
        }
        difop {
            /// Time from one packet of state to the next.
            pub difop_period_ns as "difop_period_s": u64,
                Time(Limit::new(0.01..=60.0, "s", PROFILES), 1e9);
        }
        imu {
            /// Send IMU samples until a host changes this setting.
            pub has_imu as "imu_enable": bool, TrueOrFalse;
        }
        rotation {
            /// Direction of the head at the first instant, clockwise from forward.
            pub start_azimuth_rad as "start_azimuth_deg": f64, start_azimuth();
        }
        packet {
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Speed of the rotor, rpm.
        pub rotation_rate_rpm: u32,
        /// Selection of the echoes that the unit reports.
        pub return_mode: Returns,
        /// Sector in which the lasers fire: from the first to the second angle, clockwise, hundredths of a degree.
        pub fov_centideg: [u16; 2],
        /// Settings of the motor.
        pub motor: MotorSettings,
        /// Settings of the clock.
        pub clock: RobosenseClockSettings,
        /// Optics of the lasers.
        pub beam: BeamSettings,
        /// Errors of the measurements.
        pub noise: NoiseSettings,
    }
}

impl RobosenseProfile {
    /// Index of the port of DIFOP (status) packets.
    pub const DIFOP: PortIndex = PortIndex(1);
    /// Index of the port of IMU samples.
    pub const IMU: PortIndex = PortIndex(2);

    /// Ports of points, DIFOP (status) packets and, in an Airy, IMU samples.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, [source_port, destination_port]: [u16; 2]| {
            let frame = FrameHeader { source_port, destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let difop_key = PortKey {
            name: "difop_port",
            meaning: "The destination port of status packets (DIFOP).",
        };
        let difop =
            further("difop", difop_key, [self.difop.source_port, self.difop.destination_port]);
        let imu = self
            .imu
            .map(|imu| further("imu", PortKey::IMU, [imu.source_port, imu.destination_port]));
        [data, difop].into_iter().chain(imu).collect()
    }

    /// Start of firing `step`, nanoseconds after the start of the run.
    pub fn step_ns(&self, step: u64) -> u64 {
        let [over, under] = self.period_ns;
        scaled(step, over, under)
    }

    /// Number of the first firing that starts at or after `at_ns`.
    pub fn step_at(&self, at_ns: u64) -> u64 {
        let [over, under] = self.period_ns;
        let mut step = scaled(at_ns, under, over);
        while self.step_ns(step) < at_ns {
            step += 1;
        }
        step
    }

    /// Code of a return mode; 0 if the firmware does not have the mode.
    pub fn return_code(&self, mode: Returns) -> u8 {
        let own = self.return_modes.iter().find(|(known, _)| *known == mode);
        own.map_or(0, |(_, code)| *code)
    }
}
