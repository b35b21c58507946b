//! Firmware profile of a Velodyne with fixed optics (HDL-32E, VLP-16, Puck Hi-Res, VLP-32C, VLS-128).

use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{By, Time, Whole};
use crate::config::toml::reader::{Field, Limit};
use crate::spinning::clock_settings::ClockSettings;
use crate::spinning::motor_settings::{MotorSettings, RotationRates};
use crate::spinning::profile_read::{dark_intensity, start_azimuth};
use crate::spinning::return_mode::ReturnMode;
use crate::spinning::returns::retro_gain;
use crate::velodyne::position_settings::{PositionImu, PositionProfile};
use crate::velodyne::web_settings::{ThermalProfile, WebProfile};
use crate::wire::ethernet::FrameHeader;

/// Profile of the firmware of one model.
#[derive(Clone, Debug)]
pub struct VelodyneProfile {
    /// Addresses and header fields of data packets.
    pub network: FrameHeader,
    /// Speeds that rig and web interface can set.
    pub rotation_rates: RotationRates,
    /// Return modes of the firmware; the first is the factory setting.
    pub return_modes: Vec<ReturnMode>,
    /// Position packets: timing and content.
    pub position: PositionProfile,
    /// IMU of an HDL-32E, reported in position packets.
    pub position_imu: Option<PositionImu>,
    /// Content of data packets.
    pub packet: VelodynePacket,
    /// Time between firing sequences, nanoseconds. Every laser fires once per sequence.
    pub sequence_ns: u64,
    /// Lasers by laser id: 16, 32 or 128.
    pub lasers: Vec<VelodyneLaser>,
    /// Content of the web interface.
    pub web: WebProfile,
    /// Temperatures of the boards.
    pub thermal: ThermalProfile,
    /// Values that a rig can override.
    pub defaults: VelodyneSettings,
}

impl VelodyneProfile {
    /// Index of the port of position packets in [`Self::ports`].
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
        let rig_key = Some(PortKey {
            name: "position_port",
            meaning: "The destination port of position packets.",
        });
        let position = DatagramPort { name: "position", rig_key, frame, counts_frames: true };
        vec![data, position]
    }
}

fn byte() -> Limit<i128> {
    Limit::new(0..=255, "", "the wire format: one byte")
}

/// Reads a length in millimetres; returns metres.
fn unit_m(field: &Field<'_>) -> Option<f64> {
    field.number(&Limit::new(1.0..=10.0, "mm", PROFILES)).map(|mm| mm / 1000.0)
}

keys! {
    /// Constant properties of a model's data packets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct VelodynePacket {
        /// The product's byte at the end of a packet.
        pub product_id: u8, byte();
        /// Millimetres of a distance count.
        pub distance_unit_m as "distance_unit_mm": f64, By(unit_m);
        /// The intensity of a white diffuse target.
        pub diffuse_full_scale: u8, byte();
        /// Light from a retroreflector of intensity 255, as a multiple of the light from a white target.
        pub retro_full_gain: f64, retro_gain();
        /// The lowest and the highest intensity of a point without a return.
        pub dark_intensity: [u8; 2], By(dark_intensity);
        /// Time from the first firing of a packet to the instant of its timestamp.
        pub timestamp_offset_ns as "timestamp_offset_us": u64,
            Time(Limit::new(0.0..=100.0, "us", PROFILES), 1e3);
        /// The flag of blocks without points, of a VLS-128 with dual return.
        pub filler_flag: u16, Limit::new(0..=0xffff, "", "the wire format: two bytes");
    }
}

/// One laser of a model's head.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VelodyneLaser {
    /// Elevation, radians.
    pub elevation_rad: f64,
    /// Azimuth offset from the block's azimuth, radians.
    pub azimuth_offset_rad: f64,
    /// Height of the beam at the rotation axis, metres.
    pub vertical_offset_m: f64,
    /// Delay after the sequence's start, nanoseconds.
    pub firing_offset_ns: u32,
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct VelodyneSettings {
        rotation {
            /// Direction of the head at the first instant, clockwise from forward.
            pub start_azimuth_rad as "start_azimuth_deg": f64, start_azimuth();
        }
        sector {
            /// First and last whole degree of the sector in which the lidar measures, clockwise from forward.
            pub sector_deg: [u16; 2],
                Whole(Limit::new(0..=359, "degrees", "the unit's configuration page"));
        }
        packet {
            /// Standard deviation of the azimuths that are sent, hundredths of a degree.
            pub azimuth_jitter_centideg: f64,
                Limit::new(0.0..=10.0, "hundredths of a degree", PROFILES);
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Rotation rate of the head, rpm.
        pub rotation_rate_rpm: u32,
        /// Echoes that are reported.
        pub return_mode: ReturnMode,
        /// Settings of the motor.
        pub motor: MotorSettings,
        /// The clock and the GPS input.
        pub clock: ClockSettings,
        /// Optics of the laser beams.
        pub beam: BeamSettings,
        /// Random errors of the measurements.
        pub noise: NoiseSettings,
    }
}
