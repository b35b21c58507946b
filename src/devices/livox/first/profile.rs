//! Firmware profile of a Livox with SDK 1, and its settings in a rig.

use std::net::Ipv4Addr;

use super::super::profile::{
    ImuProfile, LivoxClockSettings, age, byte, change, four_bytes, period, rate, reply, sensitive,
};
use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey, port};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{Ascii, Listed, OneOf, SomeOf, Time, TrueOrFalse};
use crate::config::toml::reader::Limit;
use crate::spinning::returns::retro_gain;
use crate::spinning::turns::scaled;
use crate::wire::ethernet::FrameHeader;
use crate::wire::livox::first::command::{BROADCAST_PORT, LIDAR_PORT, key};
use crate::wire::livox::first::data::{Coordinates, Format};

words!(Form: "mid40" => Mid40, "mid70" => Mid70, "avia" => Avia, "horizon" => Horizon);
words!(ReturnMode:
    "first" => First, "strongest" => Strongest, "dual" => Dual, "triple" => Triple);

/// Profile of the firmware of one model.
#[derive(Clone, Debug)]
pub struct FirstProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// Destination ports other than the port of points.
    pub ports: Ports,
    /// Identity that the unit reports.
    pub identity: Identity,
    /// Answer and start-up times, and optional functions of the unit.
    pub interface: InterfaceProfile,
    /// Scan pattern, without the settings of a rig.
    pub pattern: PatternProfile,
    /// Encoding of points.
    pub points: PointProfile,
    /// The IMU, if the model has one.
    pub imu: Option<ImuProfile>,
    /// Values that a rig can override.
    pub defaults: FirstSettings,
}

/// Source, named in error messages, of the limits on values that hosts set by commands.
const COMMANDS: &str = "the unit's commands";

/// Key type of a waiting time or period.
fn wait() -> Time {
    Time(Limit::new(0.1..=600.0, "s", PROFILES), 1e9)
}

keys! {
    /// Destination ports until a host sets others.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Ports {
        /// The destination port of inertial samples.
        pub imu as "imu_destination_port": u16, port();
        /// The destination port of status messages.
        pub status as "state_destination_port": u16, port();
    }
}

keys! {
    /// Identity that the unit reports, without the values that the rig sets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// Livox's number for the product (`dev_type`).
        pub device_type: u8, byte();
        /// Product that the unit reports.
        pub product: String, Ascii(64, "a name");
        /// Version of the firmware.
        pub version: [u8; 4], four_bytes();
    }
}

keys! {
    /// Answer and start-up times of a unit, and its optional functions.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct InterfaceProfile {
        /// Time from a command to its answer.
        pub reply_ns as "reply_ms": u64, reply();
        /// Time from power-on until the unit answers.
        pub boot_ns as "boot_s": u64, change();
        /// Time from rest until the motor is at its speed.
        pub motor_start_ns as "motor_start_s": u64, change();
        /// Time without a heartbeat after which the unit drops its host.
        pub heartbeat_timeout_ns as "heartbeat_timeout_s": u64, wait();
        /// Time from one status message to the next while something is wrong.
        pub abnormal_period_ns as "abnormal_period_s": u64, wait();
        /// Keys that the firmware has.
        pub keys: Vec<u16>, Listed(
            "numbers of parameters",
            Limit::new(key::SENSITIVITY.into()..=key::SLOT.into(), "", "the wire format")
        );
        /// Return modes that a host can choose.
        pub return_modes: Vec<ReturnMode>, SomeOf(&ReturnMode::WORDS, COMMANDS);
        /// Whether the unit suppresses rain and fog.
        pub has_rain_fog: bool, TrueOrFalse;
        /// Whether the unit has commands for a fan.
        pub has_fan: bool, TrueOrFalse;
        /// Factory return mode.
        pub return_mode: ReturnMode, OneOf(&ReturnMode::WORDS, COMMANDS);
        /// Whether inertial samples are sent with the factory settings.
        pub imu_enable: bool, TrueOrFalse;
    }
}

keys! {
    /// Scan pattern, without the settings of a rig.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PatternProfile {
        /// Closed form of the directions in which the lines point.
        pub form: Form, OneOf(&Form::WORDS, "Menura's patterns");
        /// Pulses per second.
        pub pulse_rate_hz: u32, rate();
    }
}

keys! {
    /// Encoding of points.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PointProfile {
        /// Reflectivity of a white diffuse target.
        pub diffuse_full_scale: u8, byte();
        /// Light from a retroreflector of reflectivity 255, as a multiple of the light from a white diffuse target.
        pub retro_full_gain: f64, retro_gain();
        /// Detection threshold of sensitive detection as a multiple of the normal one.
        pub sensitive_threshold: f64, sensitive();
        /// Detection threshold while rain and fog are suppressed as a multiple of the normal one.
        pub rain_fog_threshold: f64, Limit::new(1.0..=100.0, "", PROFILES);
    }
}

/// Scan pattern of a model; its beam directions are a closed form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Circular field of view, 38 degrees.
    #[default]
    Mid40,
    /// Circular field of view, 70 degrees.
    Mid70,
    /// Field of view of 70 by 77 degrees.
    Avia,
    /// Field of view of 82 by 25 degrees.
    Horizon,
}

impl Form {
    /// Number of lines, which fire in turn.
    pub const fn lines(self) -> usize {
        match self {
            Self::Mid40 | Self::Mid70 => 1,
            Self::Avia | Self::Horizon => 6,
        }
    }

    /// Lowest and highest elevation, degrees.
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

/// Selection of the echoes that become points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnMode {
    /// The nearest echo.
    #[default]
    First,
    /// The strongest echo.
    Strongest,
    /// The two nearest echoes.
    Dual,
    /// The three nearest echoes.
    Triple,
}

impl ReturnMode {
    /// Number of the mode in commands.
    pub fn number(self) -> u8 {
        match self {
            Self::First => 0,
            Self::Strongest => 1,
            Self::Dual => 2,
            Self::Triple => 3,
        }
    }

    /// Mode with this number in commands; `None` for an unknown number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::WORDS.into_iter().map(|(_, mode)| mode).find(|mode| mode.number() == number)
    }

    /// Largest number of returns per pulse.
    pub fn returns(self) -> usize {
        match self {
            Self::First | Self::Strongest => 1,
            Self::Dual => 2,
            Self::Triple => 3,
        }
    }
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct FirstSettings {
        identity {
            /// Serial number of the unit.
            pub serial: String, Ascii(14, "a serial number such as \"3WEDH760010123\"");
            /// Slot of the hub, the last character of the broadcast code.
            pub slot: u8, Limit::new(1..=9, "", "Livox Hub: nine slots");
        }
        factory {
            /// Coordinates of points until a host requests others.
            pub coordinates: Coordinates, OneOf(&Coordinates::WORDS, COMMANDS);
            /// Send to the link's address from power-on, without a host.
            pub streams_alone: bool, TrueOrFalse;
            /// Time from one broadcast to the next while no host is connected.
            pub broadcast_period_ns as "broadcast_period_s": u64, period();
        }
        start {
            /// Switch the unit on at the first instant: it sends no points until it has started.
            pub starts_cold: bool, TrueOrFalse;
            /// Age of the pattern at the first instant.
            pub pattern_start_s: f64, age();
        }
        pattern {
            /// Speeds of the pattern's two prisms.
            pub prism_rpm: [f64; 2], Limit::new(-60_000.0..=60_000.0, "rpm", PROFILES);
        }
        points {
            /// Write points of a single return with tags.
            pub with_tags: bool, TrueOrFalse;
            /// Mark weak points and points between two objects in tags; they always have the number of the return.
            pub judged_tags: bool, TrueOrFalse;
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Echoes that become points until a host asks for something else.
        pub return_mode: ReturnMode,
        /// Whether IMU samples are sent, until a host changes it.
        pub imu_enable: bool,
        /// Place of the IMU in the frame of the points: forward, left, up, millimetres.
        pub imu_place_mm: [f64; 3],
        /// Settings of the clock.
        pub clock: LivoxClockSettings,
        /// Optics of the lasers.
        pub beam: BeamSettings,
        /// Errors of the measurements.
        pub noise: NoiseSettings,
    }
}

impl FirstSettings {
    /// Format of points until a host changes it.
    pub fn format(&self) -> Format {
        Format::new(self.coordinates, self.with_tags, self.return_mode.returns())
    }
}

impl FirstProfile {
    /// Index of the IMU port; the point port has index 0.
    pub const IMU: PortIndex = PortIndex(1);
    /// Index of the port of status messages.
    pub const STATUS: PortIndex = PortIndex(2);
    /// Index of the port of broadcasts.
    pub const BROADCAST: PortIndex = PortIndex(3);
    /// Number of ports.
    pub const PORTS: usize = 4;

    /// Ports of points, IMU samples, status messages and broadcasts; all have the same source port.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, destination_port: u16| {
            let frame = FrameHeader { destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let imu = further("imu", PortKey::IMU, self.ports.imu);
        let status = further("status", PortKey::STATE, self.ports.status);
        let broadcast_key = PortKey {
            name: "broadcast_port",
            meaning: "The destination port of broadcasts; real units use 55000.",
        };
        let mut broadcast = further("broadcast", broadcast_key, BROADCAST_PORT);
        broadcast.frame.destination_ip = Ipv4Addr::BROADCAST;
        broadcast.frame.destination_mac = [0xff; 6];
        vec![data, imu, status, broadcast]
    }

    /// UDP port of commands.
    pub const COMMANDS: u16 = LIDAR_PORT;

    /// Firing time of a pulse, nanoseconds after the start of the run; the lines fire in turn.
    pub fn pulse_ns(&self, number: u64) -> u64 {
        scaled(number, 1_000_000_000, self.pattern.pulse_rate_hz.into())
    }
}
