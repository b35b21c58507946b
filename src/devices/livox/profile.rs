//! What a firmware of a Livox is, and what a rig may set on a unit.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::spinning::clock_settings::ClockSettings;
pub use crate::spinning::master::PtpState;
use crate::spinning::turns::scaled;
use crate::wire::ethernet::FrameHeader;
use crate::wire::livox::data::{DataType, POINTS};
use crate::wire::livox::key::state;

words!(TargetState: "sampling" => Sampling, "idle" => Idle, "ready" => Ready);
words!(EchoChoice: "strongest" => Strongest, "first" => First);
words!(Form: "mid360" => Mid360, "hap" => Hap);
words!(TagRule: "zero" => Zero, "judged" => Judged);

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct LivoxProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// The other ports.
    pub ports: Ports,
    /// What the unit says of itself.
    pub identity: Identity,
    /// How it answers, starts and reports.
    pub interface: InterfaceProfile,
    /// Points a second.
    pub point_rate_hz: u32,
    /// Where points look.
    pub form: Form,
    /// What points hold.
    pub points: PointProfile,
    /// The inertial unit.
    pub imu: ImuProfile,
    /// Values that a rig may override.
    pub defaults: LivoxSettings,
}

/// UDP ports: source and destination, and where commands are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Of inertial samples.
    pub imu: [u16; 2],
    /// Of pushes.
    pub state: [u16; 2],
    /// Commands.
    pub command: u16,
}

/// What the unit says of itself, except what the rig sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The number of the product.
    pub device_type: u8,
    /// Name and date of the product.
    pub product: String,
    /// Application, loader, hardware.
    pub versions: [[u8; 4]; 3],
    /// Starts so far.
    pub starts: u32,
    /// Of the core, degrees Celsius.
    pub temperature_c: f64,
}

/// How a unit answers, starts and reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceProfile {
    /// From a request to its answer, nanoseconds.
    pub reply_ns: u64,
    /// From power-up until it answers, nanoseconds.
    pub boot_ns: u64,
    /// Then it tests itself so long, nanoseconds.
    pub self_check_ns: u64,
    /// From rest to the motor's speed, nanoseconds.
    pub motor_start_ns: u64,
    /// From sampling to idle, nanoseconds.
    pub motor_stop_ns: u64,
    /// Keys that it has.
    pub keys: Vec<u16>,
    /// Keys that it reports by itself.
    pub push_keys: Vec<u16>,
    /// Patterns that it has.
    pub patterns: Vec<u8>,
    /// The code for another pattern.
    pub pattern_refusal: u8,
}

/// What points hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointProfile {
    /// Reflectivity of a white diffuse target; retro-reflectors are above it.
    pub diffuse_full_scale: u8,
    /// How many times as much as a white diffuse target a retro-reflector sends back whose reflectivity is
    /// 255.
    pub retro_full_gain: f64,
    /// Reflectivity of points outside the fields of view.
    pub outside_reflectivity: u8,
    /// The threshold of sensitive detection as a multiple of the normal one.
    pub sensitive_threshold: f64,
}

/// The inertial unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImuProfile {
    /// Samples a second.
    pub rate_hz: u32,
    /// From a sample to its packet, nanoseconds.
    pub latency_ns: u64,
    /// Standard deviation of the acceleration, g.
    pub accel_std_g: f64,
    /// Standard deviation of the angular rate, degrees/s.
    pub gyro_std_deg_s: f64,
    /// Whether samples are sent while the unit is ready.
    pub sends_when_ready: bool,
}

/// States that a host can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetState {
    /// Points are sent.
    #[default]
    Sampling,
    /// The motor rests.
    Idle,
    /// The motor runs, no points are sent.
    Ready,
}

impl TargetState {
    /// Its number in keys.
    pub fn number(self) -> u8 {
        match self {
            Self::Sampling => state::SAMPLING,
            Self::Idle => state::IDLE,
            Self::Ready => state::READY,
        }
    }
}

/// The closed form of the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Around the vertical axis.
    #[default]
    Mid360,
    /// Forward.
    Hap,
}

impl Form {
    /// Lines that fire together.
    pub const fn lines(self) -> usize {
        match self {
            Self::Mid360 => 4,
            Self::Hap => 6,
        }
    }

    /// The span of the elevations, degrees.
    pub fn elevations_deg(self) -> [f64; 2] {
        match self {
            Self::Mid360 => [-7.21, 52.16],
            Self::Hap => [-13.25, 13.25],
        }
    }
}

/// Which echo becomes a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EchoChoice {
    /// The strongest.
    #[default]
    Strongest,
    /// The nearest.
    First,
}

/// What tags say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagRule {
    /// Nothing.
    #[default]
    Zero,
    /// Medium confidence of weak points and of points that lie between two objects.
    Judged,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LivoxClockSettings {
    /// The clock that a receiver sets.
    pub own: ClockSettings,
    /// Whether a PTP master keeps it.
    pub ptp: PtpState,
    /// What the time of the master of `locked` is ahead of UTC, seconds.
    pub ptp_ahead_s: i32,
}

/// What a rig may set; the profile gives the defaults.
#[derive(Clone, Debug, Default)]
pub struct LivoxSettings {
    /// Serial number.
    pub serial: String,
    /// The stored state, in which the unit starts.
    pub target_state: TargetState,
    /// How points are written.
    pub data_type: DataType,
    /// Whether inertial samples are sent.
    pub imu_enable: bool,
    /// Place of the inertial unit in the frame of the points, millimetres.
    pub imu_place_mm: [f64; 3],
    /// Whether points leave for the link's address before a host has set another.
    pub stored_destination: bool,
    /// Whether the unit is switched on at the first instant; else it has been running.
    pub starts_cold: bool,
    /// From a push to the next, nanoseconds.
    pub push_period_ns: u64,
    /// Turns of the pattern around the vertical axis, Hz.
    pub spin_hz: f64,
    /// Swings of the pattern up and down, Hz.
    pub swing_hz: f64,
    /// How long the pattern has run at the first instant, seconds.
    pub pattern_start_s: f64,
    /// Which echo becomes a point.
    pub echo: EchoChoice,
    /// What tags say.
    pub tags: TagRule,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// The clock.
    pub clock: LivoxClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}

impl LivoxProfile {
    /// The port of inertial samples, which comes after that of points.
    pub const IMU: PortIndex = PortIndex(1);
    /// The port of pushes.
    pub const STATE: PortIndex = PortIndex(2);

    /// Those of points, inertial samples and pushes.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, [source_port, destination_port]: [u16; 2]| {
            let frame = FrameHeader { source_port, destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let imu = further("imu", "imu_port", self.ports.imu);
        let state = further("state", "state_port", self.ports.state);
        vec![data, imu, state]
    }

    /// The time from a packet's first point to its last as packets state it, as if points followed one another evenly;
    /// tenths of a microsecond.
    pub fn interval(&self) -> u16 {
        let span = (POINTS as u64 - 1) * 10_000_000 / u64::from(self.point_rate_hz);
        span.min(u16::MAX.into()) as u16
    }

    /// Packets of a frame of 0.1 s, at least one.
    pub fn packets_per_frame(&self) -> u64 {
        (u64::from(self.point_rate_hz) / (10 * POINTS as u64)).max(1)
    }

    /// When packet `number` begins, nanoseconds after the first instant.
    pub fn packet_start_ns(&self, number: u64) -> u64 {
        scaled(number, POINTS as u64 * 1_000_000_000, self.point_rate_hz.into())
    }
}
