//! Firmware profile of a Livox with SDK 2, and its settings in a rig.

use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey, port};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{Ascii, By, Listed, OneOf, Time, TrueOrFalse, Whole};
use crate::config::toml::reader::{Field, Limit};
use crate::spinning::clock_settings::ClockSettings;
pub use crate::spinning::master::PtpState;
use crate::spinning::profile_read::celsius;
use crate::spinning::returns::retro_gain;
use crate::spinning::turns::scaled;
use crate::wire::ethernet::FrameHeader;
use crate::wire::livox::data::{DataType, POINTS};
use crate::wire::livox::key::{length_of, state};

words!(TargetState: "sampling" => Sampling, "idle" => Idle, "ready" => Ready);
words!(EchoChoice: "strongest" => Strongest, "first" => First);
words!(Form: "mid360" => Mid360, "hap" => Hap);
words!(TagRule: "zero" => Zero, "judged" => Judged);

/// Profile of the firmware of one model.
#[derive(Clone, Debug)]
pub struct LivoxProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// Ports other than the port of points.
    pub ports: Ports,
    /// Identity that the unit reports.
    pub identity: Identity,
    /// Answer and start-up times of the unit, and the protocol keys that it supports.
    pub interface: InterfaceProfile,
    /// Scan pattern, without the settings of a rig.
    pub pattern: PatternProfile,
    /// Encoding of points.
    pub points: PointProfile,
    /// The IMU.
    pub imu: ImuProfile,
    /// Values that a rig can override.
    pub defaults: LivoxSettings,
}

const FORMAT: &str = "the wire format";
/// Source, named in error messages, of the limits on settings that hosts can change by the protocol's keys.
const KEYS: &str = "the unit's keys";

pub(super) fn byte() -> Limit<i128> {
    Limit::new(0..=255, "", FORMAT)
}

/// Key type of the four numbers of a version.
pub(super) fn four_bytes() -> Whole {
    Whole(byte())
}

/// Key type for the time from a command to the answer.
pub(super) fn reply() -> Time {
    Time(Limit::new(0.1..=1000.0, "ms", PROFILES), 1e6)
}

/// Key type for the duration of a state change.
pub(super) fn change() -> Time {
    Time(Limit::new(0.0..=600.0, "s", PROFILES), 1e9)
}

/// Key type of the period of messages that the unit repeats.
pub(super) fn period() -> Time {
    Time(Limit::new(0.005..=60.0, "s", PROFILES), 1e9)
}

/// Limits of the number of pulses or points per second.
pub(super) fn rate() -> Limit<i128> {
    Limit::new(1000..=2_000_000, "Hz", PROFILES)
}

/// Limits of the age of a pattern at the start of the run.
pub(super) fn age() -> Limit<f64> {
    Limit::new(0.0..=1e6, "s", PROFILES)
}

/// Limits of a sensitive detection threshold, as a multiple of the normal one.
pub(super) fn sensitive() -> Limit<f64> {
    Limit::new(0.01..=1.0, "", PROFILES)
}

fn numbers_of_keys(field: &Field<'_>) -> Option<Vec<u16>> {
    let key = Limit::new(0..=0xffff, "", FORMAT);
    let (items, place) = field.array("numbers of keys")?;
    let keys: Option<Vec<u16>> = items.iter().map(|item| item.integer(&key)).collect();
    let keys = keys?;
    if let Some(unknown) = keys.iter().find(|key| length_of(**key).is_none()) {
        let title = format!("the protocol has no key {unknown:#06x}");
        field.fault(place.fault(title, "allowed: keys of SDK 2"));
        return None;
    }
    Some(keys)
}

keys! {
    /// UDP ports other than the port of points.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Ports {
        /// The source port of inertial samples.
        pub imu_source as "imu_source_port": u16, port();
        /// The destination port of inertial samples.
        pub imu_destination as "imu_destination_port": u16, port();
        /// The source port of pushes.
        pub state_source as "state_source_port": u16, port();
        /// The destination port of pushes.
        pub state_destination as "state_destination_port": u16, port();
        /// The port of commands that the answer to a search reports.
        pub command as "command_port": u16, port();
    }
}

keys! {
    /// Identity that the unit reports, without the values that the rig sets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// Livox's number for the product (`dev_type`).
        pub device_type: u8, byte();
        /// Product that the unit reports.
        pub product: String, Ascii(64, "a name and a date");
        /// The application's version.
        pub version: [u8; 4], four_bytes();
        /// The loader's version.
        pub loader_version: [u8; 4], four_bytes();
        /// The hardware's version.
        pub hardware_version: [u8; 4], four_bytes();
        /// Number of starts before the run.
        pub starts: u32, Limit::new(0..=i128::from(u32::MAX / 2), "", FORMAT);
        /// Temperature of the core.
        pub temperature_c: f64, celsius();
    }
}

keys! {
    /// Answer and start-up times of a unit, and the keys that it supports and reports.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct InterfaceProfile {
        /// Time from a command to its answer.
        pub reply_ns as "reply_ms": u64, reply();
        /// Time from power-on until the unit answers.
        pub boot_ns as "boot_s": u64, change();
        /// Duration of the self-test after a start.
        pub self_check_ns as "self_check_s": u64, change();
        /// Time from rest until the motor is at its speed.
        pub motor_start_ns as "motor_start_s": u64, change();
        /// Time from the end of sampling to rest.
        pub motor_stop_ns as "motor_stop_s": u64, change();
        /// Keys that the firmware has.
        pub keys: Vec<u16>, By(numbers_of_keys);
        /// Keys in a push of the unit's state.
        pub push_keys: Vec<u16>, By(numbers_of_keys);
        /// Patterns that the unit accepts.
        pub patterns: Vec<u8>, Listed("patterns", byte());
        /// Return code with which the unit refuses a pattern that `patterns` does not have.
        pub pattern_refusal: u8, byte();
    }
}

keys! {
    /// Scan pattern, without the settings of a rig.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PatternProfile {
        /// Closed form of the directions in which the lines point.
        pub form: Form, OneOf(&Form::WORDS, "Menura's patterns");
        /// Points per second.
        pub point_rate_hz: u32, rate();
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
        /// Reflectivity of the empty points outside the fields of view.
        pub outside_reflectivity: u8, byte();
        /// Detection threshold of sensitive detection as a multiple of the normal one.
        pub sensitive_threshold: f64, sensitive();
    }
}

keys! {
    /// Sample rate, latency and errors of the unit's IMU.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ImuProfile {
        /// Samples a second, each in a packet.
        pub rate_hz: u32, Limit::new(1..=1000, "Hz", PROFILES);
        /// Time from a sample until its packet leaves.
        pub latency_ns as "latency_us": u64, Time(Limit::new(0.0..=100_000.0, "us", PROFILES), 1e3);
        /// Standard deviation of accelerations.
        pub accel_std_g: f64, Limit::new(0.0..=1.0, "g", PROFILES);
        /// Standard deviation of angular rates.
        pub gyro_std_deg_s: f64, Limit::new(0.0..=100.0, "degrees/s", PROFILES);
        /// Whether samples are sent while the unit is ready but sends no points.
        pub sends_when_ready: bool, TrueOrFalse;
    }
}

/// States that a host can request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetState {
    /// Points are sent.
    #[default]
    Sampling,
    /// The motor is off.
    Idle,
    /// The motor runs, no points are sent.
    Ready,
}

impl TargetState {
    /// Code of the state in key values of the Livox protocol.
    pub fn number(self) -> u8 {
        match self {
            Self::Sampling => state::SAMPLING,
            Self::Idle => state::IDLE,
            Self::Ready => state::READY,
        }
    }
}

/// Scan pattern of a model; its beam directions are a closed form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// All azimuths around the vertical axis.
    #[default]
    Mid360,
    /// A field of view to the front.
    Hap,
}

impl Form {
    /// Number of lines, which fire together.
    pub const fn lines(self) -> usize {
        match self {
            Self::Mid360 => 4,
            Self::Hap => 6,
        }
    }

    /// Lowest and highest elevation, degrees.
    pub fn elevations_deg(self) -> [f64; 2] {
        match self {
            Self::Mid360 => [-7.21, 52.16],
            Self::Hap => [-13.25, 13.25],
        }
    }
}

/// Selection of the echo that becomes a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EchoChoice {
    /// The strongest echo.
    #[default]
    Strongest,
    /// The nearest echo.
    First,
}

/// Content of the points' tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagRule {
    /// All tags are zero.
    #[default]
    Zero,
    /// Tags mark weak points and points between two objects, with medium confidence.
    Judged,
}

/// Settings of the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LivoxClockSettings {
    /// State of the PTP master that sets the clock, if any.
    pub ptp: PtpState,
    /// Offset of a simulated PTP master's time from UTC, seconds; positive is ahead.
    pub ptp_ahead_s: i32,
    /// Settings of the clock that a GNSS receiver sets.
    pub own: ClockSettings,
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct LivoxSettings {
        identity {
            /// Serial number of the unit.
            pub serial: String, Ascii(15, "a serial number such as \"47MDL8C0010101\"");
        }
        stored {
            /// State of the unit at the start: it sends points, rests, or has its motor running.
            pub target_state: TargetState, OneOf(&TargetState::WORDS, KEYS);
            /// Format of points until a host requests another.
            pub data_type: DataType, OneOf(&DataType::WORDS, KEYS);
            /// Send IMU samples until a host changes this setting.
            pub imu_enable: bool, TrueOrFalse;
            /// Send to the link's address before a host sets another, as to a destination that the unit has stored.
            pub stored_destination: bool, TrueOrFalse;
            /// Time from one push of the unit's state to the next.
            pub push_period_ns as "push_period_s": u64, period();
        }
        start {
            /// Switch the unit on at the first instant: it starts and tests itself before it sends points.
            pub starts_cold: bool, TrueOrFalse;
            /// Age of the pattern at the first instant.
            pub pattern_start_s: f64, age();
        }
        pattern {
            /// Turns of the pattern around the vertical axis per second.
            pub spin_hz: f64, Limit::new(1.0..=1000.0, "Hz", PROFILES);
            /// Swings of the pattern's elevation per second.
            pub swing_hz: f64, Limit::new(0.1..=100.0, "Hz", PROFILES);
        }
        points {
            /// Echo of a pulse that becomes a point.
            pub echo: EchoChoice, OneOf(&EchoChoice::WORDS, "Menura's detector models");
            /// Contents of the points' tags: nothing, or medium confidence for weak points and for points between two
            /// objects.
            pub tags: TagRule, OneOf(&TagRule::WORDS, "Menura's detector models");
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Position of the IMU in the frame of the points: forward, left, up, millimetres.
        pub imu_place_mm: [f64; 3],
        /// Settings of the clock.
        pub clock: LivoxClockSettings,
        /// Optics of the lasers.
        pub beam: BeamSettings,
        /// Errors of the measurements.
        pub noise: NoiseSettings,
    }
}

impl LivoxProfile {
    /// Index of the IMU port; the point port has index 0.
    pub const IMU: PortIndex = PortIndex(1);
    /// Index of the port of push messages.
    pub const STATE: PortIndex = PortIndex(2);

    /// Ports of points, IMU samples and push messages.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, [source_port, destination_port]: [u16; 2]| {
            let frame = FrameHeader { source_port, destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let Ports { imu_source, imu_destination, state_source, state_destination, .. } = self.ports;
        let imu = further("imu", PortKey::IMU, [imu_source, imu_destination]);
        let state = further("state", PortKey::STATE, [state_source, state_destination]);
        vec![data, imu, state]
    }

    /// Time from the first to the last point of a packet, as in packet headers, tenths of a microsecond; computed for
    /// evenly spaced points.
    pub fn interval(&self) -> u16 {
        let span = (POINTS as u64 - 1) * 10_000_000 / u64::from(self.pattern.point_rate_hz);
        span.min(u16::MAX.into()) as u16
    }

    /// Packets per frame of 0.1 s, at least one.
    pub fn packets_per_frame(&self) -> u64 {
        (u64::from(self.pattern.point_rate_hz) / (10 * POINTS as u64)).max(1)
    }

    /// Start of packet `number`, nanoseconds after the start of the run.
    pub fn packet_start_ns(&self, number: u64) -> u64 {
        scaled(number, POINTS as u64 * 1_000_000_000, self.pattern.point_rate_hz.into())
    }
}
