//! What a firmware of a RoboSense is, and what a rig may set on a unit.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::ptp::PtpOptions;
use crate::spinning::clock_settings::ClockSettings;
pub use crate::spinning::master::PtpState;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::turns::scaled;
pub use crate::spinning::unit_lasers::{UnitLaser, UnitSpread};
use crate::wire::ethernet::FrameHeader;
use crate::wire::robosense::difop::{SUPPLIES, SyncMode, TEMPERATURES};
use crate::wire::robosense::layout::Layout;

words!(Returns: "strongest" => Strongest, "last" => Last, "first" => First, "dual" => Dual,
    "dual-strongest-first" => DualStrongestFirst, "dual-first-last" => DualFirstLast);
words!(TwoReturns: "strongest-first" => StrongestFirst, "last-first" => LastFirst);
words!(UcwpEffect: "at-once" => AtOnce, "restarts" => Restarts, "stored" => Stored);

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct RobosenseProfile {
    /// Addresses and header fields of packets of points.
    pub network: FrameHeader,
    /// Source and destination port of packets of state.
    pub difop_ports: [u16; 2],
    /// What the unit says of itself.
    pub identity: Identity,
    /// How it is set and starts.
    pub interface: InterfaceProfile,
    /// What packets of points hold.
    pub packet: PacketProfile,
    /// Speeds that it can be set to, the factory's first, rpm; 60 times the frames a second of an M1.
    pub rates_rpm: Vec<u32>,
    /// From a firing to the next, nanoseconds: the first divided by the second.
    pub period_ns: [u64; 2],
    /// Where an M1's channels look one after the other.
    pub raster: Option<RasterProfile>,
    /// Return modes that it has with their codes, the factory's first.
    pub return_modes: Vec<(Returns, u8)>,
    /// Ways in which the clock can be set.
    pub sync_modes: Vec<SyncMode>,
    /// How units differ from one another.
    pub spread: UnitSpread,
    /// Where beams leave: from the axis outward in the rotor's direction, and up, metres.
    pub exit_m: [f64; 2],
    /// By channel.
    pub lasers: Vec<UnitLaser>,
    /// The inertial unit of an Airy.
    pub imu: Option<ImuProfile>,
    /// Values that a rig may override.
    pub defaults: RobosenseSettings,
}

/// What the unit says of itself, except what the rig sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Versions of the top board and of the bottom board.
    pub versions: [[u8; 5]; 2],
}

/// How a unit is set and starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceProfile {
    /// Whether hosts configure it by UCWP.
    pub has_ucwp: bool,
    /// From a restart until it sends again, nanoseconds.
    pub boot_ns: u64,
    /// Of the boards, degrees Celsius.
    pub celsius: [f64; TEMPERATURES],
    /// Voltages and currents as packets of state have them.
    pub supplies: [u16; SUPPLIES],
    /// How an Airy is mounted: 0 upright, 1 on its side.
    pub mounting: u8,
}

/// What packets of points hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketProfile {
    /// How they are laid out.
    pub layout: Layout,
    /// The model's type and kind in the head.
    pub kind: [u8; 2],
    /// In the head, of the boards, degrees Celsius.
    pub celsius: f64,
    /// Intensity of a white diffuse target; retro-reflectors are above it.
    pub diffuse_full_scale: u8,
    /// How many times as much as a white diffuse target a retro-reflector sends back whose intensity is 255.
    pub retro_full_gain: f64,
}

/// Where an M1's channels look: rows from the top down, there and back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RasterProfile {
    /// Rows of a frame.
    pub rows: u32,
    /// Firings of a row.
    pub columns: u32,
    /// From row to row and from firing to firing, degrees.
    pub step_deg: f64,
}

/// The inertial unit of an Airy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImuProfile {
    /// Source and destination port of its packets.
    pub ports: [u16; 2],
    /// Samples a second.
    pub rate_hz: u32,
    /// From a sample to its packet, nanoseconds.
    pub latency_ns: u64,
    /// Numbers of the ranges of acceleration and angular rate.
    pub ranges: [u8; 2],
    /// A full range is 2 to the power of this.
    pub full_scale_bits: u8,
    /// Standard deviation of the acceleration, g.
    pub accel_std_g: f64,
    /// Standard deviation of the angular rate, degrees/s.
    pub gyro_std_deg_s: f64,
    /// Its place in the frame of the points, metres.
    pub place_m: [f64; 3],
}

/// Which echoes a packet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// The strongest.
    #[default]
    Strongest,
    /// The farthest.
    Last,
    /// The nearest.
    First,
    /// The strongest and the farthest.
    Dual,
    /// The strongest and the nearest.
    DualStrongestFirst,
    /// The nearest and the farthest.
    DualFirstLast,
}

impl Returns {
    /// Whether there are two of a firing.
    pub fn is_dual(self) -> bool {
        matches!(self, Self::Dual | Self::DualStrongestFirst | Self::DualFirstLast)
    }
}

/// In which order two returns of a firing go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwoReturns {
    /// As the mode names them.
    #[default]
    StrongestFirst,
    /// The other way round.
    LastFirst,
}

/// When a configuration takes effect that a host has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UcwpEffect {
    /// With the next rotation.
    #[default]
    AtOnce,
    /// The unit restarts by itself.
    Restarts,
    /// With the next run: it is stored and reported.
    Stored,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RobosenseClockSettings {
    /// The clock that a receiver sets.
    pub own: ClockSettings,
    /// By what it is to be set.
    pub mode: SyncMode,
    /// Whether a PTP master keeps it.
    pub ptp: PtpState,
    /// What the time of the master of `locked` is ahead of UTC, seconds.
    pub ptp_ahead_s: i32,
    /// What no configuration sets of PTP.
    pub ptp_options: PtpOptions,
}

impl RobosenseClockSettings {
    /// Whether the clock is to be set by PTP.
    pub fn is_ptp(&self) -> bool {
        self.mode != SyncMode::Gps
    }

    /// Whether a slave follows a master by PTP.
    pub fn has_slave(&self) -> bool {
        self.is_ptp() && self.ptp.has_slave()
    }
}

/// What a rig may set; the profile gives the defaults.
#[derive(Clone, Debug, Default)]
pub struct RobosenseSettings {
    /// The unit's serial number, from which its own angles follow.
    pub serial: [u8; 6],
    /// Speed, rpm.
    pub rotation_rate_rpm: u32,
    /// Which echoes.
    pub return_mode: Returns,
    /// In which order two returns go.
    pub two_returns: TwoReturns,
    /// Lasers fire from the first to the second angle, hundredths of a degree, clockwise.
    pub fov_centideg: [u16; 2],
    /// Whether the rotor keeps a phase once the clock is set.
    pub phase_lock: bool,
    /// Where the rotor is to be when a second begins, degrees.
    pub phase_deg: u16,
    /// When a configuration takes effect.
    pub ucwp_effect: UcwpEffect,
    /// From a packet of state to the next, nanoseconds.
    pub difop_period_ns: u64,
    /// Whether an Airy sends inertial samples.
    pub has_imu: bool,
    /// Rotor angle at the first instant, radians, clockwise from forward.
    pub start_azimuth_rad: f64,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// How the head is driven.
    pub motor: MotorSettings,
    /// The clock.
    pub clock: RobosenseClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}

impl RobosenseProfile {
    /// The port of packets of state, which comes after that of points.
    pub const DIFOP: PortIndex = PortIndex(1);
    /// The port of inertial samples.
    pub const IMU: PortIndex = PortIndex(2);

    /// Those of points, state and, of an Airy, inertial samples.
    pub fn datagram_ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let further = |name, rig_key, [source_port, destination_port]: [u16; 2]| {
            let frame = FrameHeader { source_port, destination_port, ..data.frame.clone() };
            DatagramPort { name, rig_key: Some(rig_key), frame, counts_frames: false }
        };
        let difop = further("difop", "difop_port", self.difop_ports);
        let imu = self.imu.map(|imu| further("imu", "imu_port", imu.ports));
        [data, difop].into_iter().chain(imu).collect()
    }

    /// When firing `step` begins, after the first instant.
    pub fn step_ns(&self, step: u64) -> u64 {
        let [over, under] = self.period_ns;
        scaled(step, over, under)
    }

    /// The first firing that does not begin before `at_ns`.
    pub fn step_at(&self, at_ns: u64) -> u64 {
        let [over, under] = self.period_ns;
        let mut step = scaled(at_ns, under, over);
        while self.step_ns(step) < at_ns {
            step += 1;
        }
        step
    }

    /// The code of a return mode.
    pub fn return_code(&self, mode: Returns) -> u8 {
        let own = self.return_modes.iter().find(|(known, _)| *known == mode);
        own.map_or(0, |(_, code)| *code)
    }
}
