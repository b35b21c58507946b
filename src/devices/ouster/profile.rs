//! What a firmware of an Ouster is, and what a rig may set on a unit.

use super::words::{LidarMode, OperatingMode, PtpProfile, PtpState, ReturnOrder, TimestampMode};
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::ptp::PtpOptions;
use crate::spinning::motor_settings::MotorSettings;
use crate::wire::ethernet::FrameHeader;
use crate::wire::ouster::format::LidarFormat;
use crate::wire::ouster::lidar::Footer;

/// A firmware of one model.
#[derive(Clone, Debug)]
pub struct OusterProfile {
    /// Addresses and header fields of lidar packets.
    pub network: FrameHeader,
    /// Identity in the metadata.
    pub identity: Identity,
    /// Interface for the configuration.
    pub interface: InterfaceProfile,
    /// Content of lidar packets.
    pub packet: PacketProfile,
    /// Turns and columns that it can be set to.
    pub modes: Vec<LidarMode>,
    /// Whether two returns of full width go with 20 480 columns a second.
    pub has_fast_dual: bool,
    /// Where beams, lidar and IMU sit in the sensor.
    pub geometry: Geometry,
    /// Conversion of light to counts.
    pub photons: Photons,
    /// Beams by row of the image, the highest first: 32, 64 or 128.
    pub beams: Vec<BeamAngles>,
    /// The IMU.
    pub imu: ImuProfile,
    /// Values that a rig may override.
    pub defaults: OusterSettings,
}

/// Answer of a unit to `sensor_info`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// `prod_line`.
    pub product_line: String,
    /// `prod_pn`.
    pub part_number: String,
    /// `prod_sn`, whose number packets carry.
    pub serial: u64,
    /// `image_rev`, in which clients find the firmware's version.
    pub image: String,
    /// `build_rev`.
    pub build: String,
    /// `build_date`.
    pub build_date: String,
    /// `initialization_id` at power-up, 24 bits; a new one with each reinitialisation.
    pub initialization_id: u32,
    /// When the reflectivity was calibrated.
    pub calibrated: String,
}

/// How a firmware is configured, and how long that takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceProfile {
    /// Whether it has the requests under `sensor/cmd`.
    pub has_commands: bool,
    /// Whether hosts give commands by TCP, as to firmware 2.0, and the web interface has little more than versions.
    pub has_tcp_commands: bool,
    /// Time from a line at the TCP port to its answer, nanoseconds.
    pub reply_ns: u64,
    /// Whether it tells `calibration_status`.
    pub has_calibration_status: bool,
    /// Whether it has the keys that came with firmware 3.1: `return_order`, ranges of the IMU.
    pub has_return_order: bool,
    /// Time from a reinitialisation until packets leave again, nanoseconds; the rotor may take
    /// longer.
    pub reinitialise_ns: u64,
    /// Time from a restart until it answers again, nanoseconds.
    pub boot_ns: u64,
}

/// Content of lidar packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketProfile {
    /// Values of `udp_profile_lidar` that it knows, the factory's first.
    pub formats: Vec<LidarFormat>,
    /// The last bytes of packets; those of functional safety end in zeros.
    pub footer: Footer,
    /// Ranges are multiples of this, mm.
    pub range_step_mm: u32,
}

/// Where things sit in a sensor, metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Geometry {
    /// Distance from the axis to where a beam begins.
    pub beam_origin_m: f64,
    /// Distance from the sensor's base to the lidar's origin, up.
    pub lidar_height_m: f64,
    /// The IMU in the sensor's frame.
    pub imu_m: [f64; 3],
}

/// Conversion of light to counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Photons {
    /// Signal of a white target at 1 m.
    pub signal_at_1m: f64,
    /// Near infrared of a white target in daylight.
    pub white_near_infrared: f64,
    /// Near infrared where no surface answers.
    pub sky_near_infrared: f64,
    /// How many times as much as a white diffuse target a retro-reflector sends back whose reflectivity
    /// is 255.
    pub retro_full_gain: f64,
}

/// Where a beam looks, degrees as the metadata has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BeamAngles {
    /// Up.
    pub altitude_deg: f64,
    /// Clockwise of the column's direction.
    pub azimuth_deg: f64,
}

/// The IMU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImuProfile {
    /// Samples, and packets, a second.
    pub rate_hz: u32,
    /// Time from the system's reading to those of accelerometer and gyro, nanoseconds.
    pub read_after_ns: [u64; 2],
    /// Time from a sample until its packet leaves, nanoseconds.
    pub latency_ns: u64,
    /// Standard deviation of an acceleration, standard gravity.
    pub accel_std_g: f64,
    /// Standard deviation of an angular rate, degrees/s.
    pub gyro_std_deg_s: f64,
    /// Counts per standard gravity of acceleration, and per degree/s of angular rate.
    pub counts: [f64; 2],
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OusterClockSettings {
    /// Timestamps are multiples of this, nanoseconds, but those of PTP.
    pub resolution_ns: u64,
    /// Drift of the oscillator, seconds a day; positive when it is fast.
    pub drift_s_per_day: f64,
    /// How long the unit has been on at the first instant, nanoseconds.
    pub power_up_ns: u64,
    /// Whether a PTP master keeps it.
    pub ptp: PtpState,
    /// Lead of the PTP master's time over UTC, seconds.
    pub ptp_ahead_s: i32,
    /// PTP profile at first.
    pub ptp_profile: PtpProfile,
    /// PTP options that no request sets.
    pub ptp_options: PtpOptions,
}

/// What a rig may set; the profile gives the defaults. Names are those of the unit's own configuration.
#[derive(Clone, Debug, Default)]
pub struct OusterSettings {
    /// Columns of a turn and turns a second.
    pub lidar_mode: LidarMode,
    /// Format of packets: `udp_profile_lidar`.
    pub lidar_format: LidarFormat,
    /// Thousandths of a degree, counter-clockwise from the connector, both ends included.
    pub azimuth_window_mdeg: [u32; 2],
    /// Time that timestamps count.
    pub timestamp_mode: TimestampMode,
    /// Whether it runs.
    pub operating_mode: OperatingMode,
    /// Factor of the signal.
    pub signal_multiplier: f64,
    /// Whether the rotor follows the clock.
    pub phase_lock_enable: bool,
    /// Where the rotor points when a second begins, thousandths of a degree.
    pub phase_lock_offset_mdeg: u32,
    /// The order of the returns.
    pub return_order: ReturnOrder,
    /// Whether sentences of a receiver are read at the multipurpose input.
    pub reads_nmea: bool,
    /// What the sentences' time is ahead of UTC when it is taken, seconds.
    pub nmea_leap_seconds: i32,
    /// Bits a second of the multipurpose input.
    pub nmea_baud: u32,
    /// Where the rotor points at the first instant, radians, clockwise from the connector.
    pub start_azimuth_rad: f64,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// Settings of the motor.
    pub motor: MotorSettings,
    /// The clock.
    pub clock: OusterClockSettings,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}

impl OusterProfile {
    /// The port of IMU packets, which comes after that of lidar packets.
    pub const IMU_PORT: PortIndex = PortIndex(1);
    /// The factory's UDP port of IMU packets.
    pub const IMU_UDP_PORT: u16 = 7503;

    /// Ports of lidar packets and IMU packets.
    pub fn ports(&self) -> Vec<DatagramPort> {
        let data = DatagramPort { counts_frames: true, ..DatagramPort::data(&self.network) };
        let frame = FrameHeader {
            source_port: Self::IMU_UDP_PORT,
            destination_port: Self::IMU_UDP_PORT,
            dont_fragment: true,
            ..data.frame.clone()
        };
        vec![
            data,
            DatagramPort { name: "imu", rig_key: Some("imu_port"), frame, counts_frames: true },
        ]
    }

    /// Whether a format goes with a mode.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check_rate(&self, format: LidarFormat, mode: LidarMode) -> Result<(), String> {
        match format == LidarFormat::Dual && mode.is_fast() && !self.has_fast_dual {
            true => Err(format!("{} does not go with {}", format.name(), mode.word())),
            false => Ok(()),
        }
    }
}
