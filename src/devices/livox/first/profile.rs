//! What a firmware of the protocol "SDK 1" is, and what a rig may set on a unit.

use std::net::Ipv4Addr;

use super::super::profile::{ImuProfile, LivoxClockSettings};
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::spinning::turns::scaled;
use crate::wire::ethernet::FrameHeader;
use crate::wire::livox::first::command::{BROADCAST_PORT, LIDAR_PORT};
use crate::wire::livox::first::data::{Coordinates, Format};

words!(Form: "mid40" => Mid40, "mid70" => Mid70, "avia" => Avia, "horizon" => Horizon);
words!(ReturnMode:
    "first" => First, "strongest" => Strongest, "dual" => Dual, "triple" => Triple);

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct FirstProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// The other destination ports.
    pub ports: Ports,
    /// What the unit says of itself.
    pub identity: Identity,
    /// How it answers and starts.
    pub interface: InterfaceProfile,
    /// Pulses a second.
    pub pulse_rate_hz: u32,
    /// Where they go.
    pub form: Form,
    /// What points hold.
    pub points: PointProfile,
    /// The inertial unit, if the model has one.
    pub imu: Option<ImuProfile>,
    /// Values that a rig may override.
    pub defaults: FirstSettings,
}

/// Destination ports until a host sets others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Of inertial samples.
    pub imu: u16,
    /// Of status messages.
    pub status: u16,
}

/// What the unit says of itself, except what the rig sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The number of the product.
    pub device_type: u8,
    /// Name of the product.
    pub product: String,
    /// Version of the firmware.
    pub version: [u8; 4],
}

/// How a unit answers and starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceProfile {
    /// From a command to its answer, nanoseconds.
    pub reply_ns: u64,
    /// From power-up until it answers, nanoseconds.
    pub boot_ns: u64,
    /// From rest to the motor's speed, nanoseconds.
    pub motor_start_ns: u64,
    /// Without a heartbeat for so long, the unit broadcasts again, nanoseconds.
    pub heartbeat_timeout_ns: u64,
    /// From a status message to the next while something is wrong, nanoseconds.
    pub abnormal_period_ns: u64,
    /// Parameters that it has.
    pub keys: Vec<u16>,
    /// Return modes that a host can choose; none if it has only that of the defaults.
    pub return_modes: Vec<ReturnMode>,
    /// Whether it suppresses rain and fog.
    pub has_rain_fog: bool,
    /// Whether it has a fan.
    pub has_fan: bool,
}

/// What points hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointProfile {
    /// Reflectivity of a white diffuse target; retro-reflectors are above it.
    pub diffuse_full_scale: u8,
    /// How many times as much as a white diffuse target a retro-reflector sends back whose reflectivity is
    /// 255.
    pub retro_full_gain: f64,
    /// The threshold of high sensitivity as a multiple of the normal one.
    pub sensitive_threshold: f64,
    /// The threshold while rain and fog are suppressed as a multiple of the normal one.
    pub rain_fog_threshold: f64,
}

/// The closed form of the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A round field of view of 38 degrees.
    #[default]
    Mid40,
    /// A round field of view of 70 degrees.
    Mid70,
    /// 70 by 77 degrees.
    Avia,
    /// 82 by 25 degrees.
    Horizon,
}

impl Form {
    /// Lines that fire in turn.
    pub const fn lines(self) -> usize {
        match self {
            Self::Mid40 | Self::Mid70 => 1,
            Self::Avia | Self::Horizon => 6,
        }
    }

    /// The span of the elevations, degrees.
    pub fn elevations_deg(self) -> [f64; 2] {
        let half = match self {
            Self::Mid40 => 19.2,
            Self::Mid70 => 35.2,
            Self::Avia => 38.6,
            Self::Horizon => 14.1,
        };
        [-half, half]
    }
}

/// Which of a pulse's echoes become points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnMode {
    /// The nearest.
    #[default]
    First,
    /// The strongest.
    Strongest,
    /// The nearest two.
    Dual,
    /// The nearest three.
    Triple,
}

impl ReturnMode {
    /// Its number in commands.
    pub fn number(self) -> u8 {
        match self {
            Self::First => 0,
            Self::Strongest => 1,
            Self::Dual => 2,
            Self::Triple => 3,
        }
    }

    /// What a number in a command means.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::WORDS.into_iter().map(|(_, mode)| mode).find(|mode| mode.number() == number)
    }

    /// Returns of a pulse.
    pub fn returns(self) -> usize {
        match self {
            Self::First | Self::Strongest => 1,
            Self::Dual => 2,
            Self::Triple => 3,
        }
    }
}

/// What a rig may set; the profile gives the defaults.
#[derive(Clone, Debug, Default)]
pub struct FirstSettings {
    /// Serial number.
    pub serial: String,
    /// The slot of the hub, the last character of the broadcast code.
    pub slot: u8,
    /// How points are written until a host asks for something else.
    pub coordinates: Coordinates,
    /// Which echoes become points until a host asks for something else.
    pub return_mode: ReturnMode,
    /// Whether inertial samples are sent until a host asks for something else.
    pub imu_enable: bool,
    /// Place of the IMU in the frame of the points: forward, left, up, millimetres.
    pub imu_place_mm: [f64; 3],
    /// Whether the unit sends to the link's address although no host has connected.
    pub streams_alone: bool,
    /// Whether the unit is switched on at the first instant; else it has been running.
    pub starts_cold: bool,
    /// From a broadcast to the next, nanoseconds.
    pub broadcast_period_ns: u64,
    /// Speeds of the two prisms, revolutions per minute.
    pub prism_rpm: [f64; 2],
    /// How long the pattern has run at the first instant, seconds.
    pub pattern_start_s: f64,
    /// Whether points of a single return have tags.
    pub with_tags: bool,
    /// Whether tags judge points; else they have the number of the return alone.
    pub judged_tags: bool,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// The clock.
    pub clock: LivoxClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}

impl FirstSettings {
    /// The format of points as the unit is delivered.
    pub fn format(&self) -> Format {
        Format::new(self.coordinates, self.with_tags, self.return_mode.returns())
    }
}

impl FirstProfile {
    /// The port of inertial samples, which comes after that of points.
    pub const IMU: PortIndex = PortIndex(1);
    /// The port of status messages.
    pub const STATUS: PortIndex = PortIndex(2);
    /// The port of broadcasts.
    pub const BROADCAST: PortIndex = PortIndex(3);
    /// Number of ports.
    pub const PORTS: usize = 4;

    /// Those of points, inertial samples, status messages and broadcasts, all of which leave from one source port.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, destination_port: u16| {
            let frame = FrameHeader { destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let imu = further("imu", "imu_port", self.ports.imu);
        let status = further("status", "state_port", self.ports.status);
        let mut broadcast = further("broadcast", "broadcast_port", BROADCAST_PORT);
        broadcast.frame.destination_ip = Ipv4Addr::BROADCAST;
        broadcast.frame.destination_mac = [0xff; 6];
        vec![data, imu, status, broadcast]
    }

    /// The port of commands.
    pub const COMMANDS: u16 = LIDAR_PORT;

    /// When a pulse is fired, nanoseconds after the first instant: lines fire in turn.
    pub fn pulse_ns(&self, number: u64) -> u64 {
        scaled(number, 1_000_000_000, self.pulse_rate_hz.into())
    }
}
