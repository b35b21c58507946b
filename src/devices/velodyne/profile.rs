//! Velodynes with the same optics in every unit: HDL-32E, VLP-16, Puck Hi-Res, VLP-32C, VLS-128.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::DatagramPort;
use crate::config::profile::network::PortIndex;
use crate::spinning::clock_settings::ClockSettings;
use crate::spinning::motor_settings::{MotorSettings, RotationRates};
use crate::spinning::return_mode::ReturnMode;
use crate::velodyne::position_settings::PositionProfile;
use crate::velodyne::web_settings::{ThermalProfile, WebProfile};
use crate::wire::ethernet::FrameHeader;

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct VelodyneProfile {
    /// Addresses and header fields of data packets.
    pub network: FrameHeader,
    /// Speeds that a rig and the web interface may set.
    pub rotation_rates: RotationRates,
    /// Return modes this firmware has; the first is the factory's.
    pub return_modes: Vec<ReturnMode>,
    /// Position packets: times and content.
    pub position: PositionProfile,
    /// Content of data packets.
    pub packet: VelodynePacket,
    /// Time from one firing sequence to the next, nanoseconds. In a sequence every laser fires once.
    pub sequence_ns: u64,
    /// Lasers by laser id: 16, 32 or 128.
    pub lasers: Vec<VelodyneLaser>,
    /// Content of the web interface.
    pub web: WebProfile,
    /// Temperatures of the boards.
    pub thermal: ThermalProfile,
    /// Defaults that a rig may override.
    pub defaults: VelodyneSettings,
}

impl VelodyneProfile {
    /// The port of position packets, which come after the data packets' in [`Self::ports`].
    pub const POSITION_PORT: PortIndex = PortIndex(1);

    /// Ports of data packets and position packets.
    pub fn ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort::data(&self.network);
        let frame = FrameHeader {
            source_port: self.position.port,
            destination_port: self.position.port,
            ttl: self.position.ttl,
            dont_fragment: self.position.dont_fragment,
            identification: 0,
            udp_checksum: self.position.udp_checksum,
            ..data.frame.clone()
        };
        let rig_key = Some("position_port");
        let position = DatagramPort { name: "position", rig_key, frame, counts_frames: true };
        vec![data, position]
    }
}

/// Facts that are the same in every data packet of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VelodynePacket {
    /// Byte 1205 of a data packet.
    pub product_id: u8,
    /// Length of one count of distance, metres.
    pub distance_unit_m: f64,
    /// Intensity of a white diffuse target; retro-reflectors are above it.
    pub diffuse_full_scale: u8,
    /// Light from a retroreflector with intensity 255, as a multiple of that from a white diffuse target.
    pub retro_full_gain: f64,
    /// Lowest and highest intensity of a point without a return; all between are equally likely.
    pub dark_intensity: [u8; 2],
    /// Added to the time of the first firing to make the timestamp, nanoseconds.
    pub timestamp_offset_ns: u64,
    /// Flag of blocks that carry nothing, which only the VLS-128 sends, with dual return.
    pub filler_flag: u16,
}

/// One laser.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VelodyneLaser {
    /// Elevation, radians.
    pub elevation_rad: f64,
    /// Added to the block's azimuth, radians.
    pub azimuth_offset_rad: f64,
    /// Height of the beam where it crosses the axis, metres.
    pub vertical_offset_m: f64,
    /// Delay after the sequence's start, nanoseconds.
    pub firing_offset_ns: u32,
}

/// Settings in a rig; the profile gives the defaults.
#[derive(Clone, Debug, Default)]
pub struct VelodyneSettings {
    /// Rotor speed, rpm.
    pub rotation_rate_rpm: u32,
    /// The reported echo.
    pub return_mode: ReturnMode,
    /// Rotor angle at the first instant, radians, clockwise from the device's +Y (forward).
    pub start_azimuth_rad: f64,
    /// First and last whole degree in which lasers fire; `[0, 359]` is the whole rotation. The sector
    /// includes 0 if the first is the greater one.
    pub sector_deg: [u16; 2],
    /// Standard deviation of a reported azimuth, hundredths of a degree.
    pub azimuth_jitter_centideg: f64,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// Settings of the motor.
    pub motor: MotorSettings,
    /// The clock and the GPS input.
    pub clock: ClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}
