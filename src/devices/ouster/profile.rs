//! Firmware profile of an Ouster, and its settings in a rig.

use super::words::{LidarMode, OperatingMode, PtpProfile, PtpState, ReturnOrder, TimestampMode};
use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::{DatagramPort, PortIndex, PortKey};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{
    AnyText, By, FactoryFirst, OneOf, Scaled, SomeOf, Time, TrueOrFalse,
};
use crate::config::toml::reader::{Field, Limit};
use crate::ptp::PtpOptions;
use crate::spinning::clock_settings::ahead_of_utc;
use crate::spinning::motor_settings::MotorSettings;
use crate::spinning::profile_read::start_azimuth;
use crate::wire::ethernet::FrameHeader;
use crate::wire::ouster::format::LidarFormat;
use crate::wire::ouster::lidar::Footer;

/// Profile of the firmware of one model.
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
    /// Lidar modes of the firmware: columns per rotation and rotation rates.
    pub modes: Vec<LidarMode>,
    /// Whether two full returns are possible at 20 480 columns per second.
    pub has_fast_dual: bool,
    /// Positions of beams, lidar and IMU in the sensor frame.
    pub geometry: Geometry,
    /// Conversion of light to counts.
    pub photons: Photons,
    /// Beams by row of the image, the highest first: 32, 64 or 128.
    pub beams: Vec<BeamAngles>,
    /// The IMU.
    pub imu: ImuProfile,
    /// Values that a rig can override.
    pub defaults: OusterSettings,
}

keys! {
    /// Identity in the answer to `sensor_info`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Identity {
        /// The product line in sensor_info.
        pub product_line as "prod_line": String,
            AnyText("a product line such as \"OS-1-128\"");
        /// The part number in sensor_info.
        pub part_number as "prod_pn": String, AnyText("a part number");
        /// The serial number in sensor_info and in packets.
        pub serial as "prod_sn": u64, Limit::new(1..=(1 << 40) - 1, "", "the wire format: 40 bits");
        /// The firmware's image in sensor_info, in which clients find the version.
        pub image as "image_rev": String,
            AnyText("an image with its version such as v2.5.2");
        /// The build in sensor_info.
        pub build as "build_rev": String, AnyText("a version");
        /// The build's date in sensor_info.
        pub build_date: String, AnyText("a date and time");
        /// The initialization id at power-up; each reinitialisation has a new one.
        pub initialization_id: u32, Limit::new(1..=0x00ff_ffff, "", "the wire format: 24 bits");
        /// Date and time at which the reflectivity was calibrated.
        pub calibrated: String, AnyText("a date and time");
    }
}

keys! {
    /// Configuration interface of a firmware, with its answer, reinitialisation and boot times.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InterfaceProfile {
        /// Whether the unit has the request system/cmd/reboot, which system/restart replaced.
        pub has_reboot_command: bool, TrueOrFalse;
        /// Whether hosts send commands by TCP, as to firmware 2.0.
        pub has_tcp_commands: bool, TrueOrFalse;
        /// Time from a line at the TCP port to its answer.
        pub reply_ns as "reply_ms": u64, Time(Limit::new(0.0..=1000.0, "ms", PROFILES), 1e6);
        /// Whether the unit reports calibration_status.
        pub has_calibration_status: bool, TrueOrFalse;
        /// Whether the unit has the keys that came with firmware 3.1: return_order, and ranges of the IMU.
        pub has_return_order: bool, TrueOrFalse;
        /// Time from a reinitialisation until packets leave again, if the rotor is at its speed.
        pub reinitialise_ns as "reinitialise_s": u64, Time(Limit::new(0.0..=600.0, "s", PROFILES), 1e9);
        /// Time from a restart until the unit answers again.
        pub boot_ns as "boot_s": u64, Time(Limit::new(0.0..=600.0, "s", PROFILES), 1e9);
    }
}

/// Source, named in error messages, of the limits of the unit's own configuration.
pub(super) const MANUAL: &str = "the unit's configuration, see its HTTP API guide";
const FOOTERS: [(&str, Footer); 3] =
    [("zero", Footer::Zero), ("constant", Footer::Constant), ("crc64", Footer::Crc64)];

keys! {
    /// Content of lidar packets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PacketProfile {
        /// Values of udp_profile_lidar that the firmware knows; the first is the factory setting.
        pub formats as "udp_profiles": Vec<LidarFormat>, FactoryFirst(
            SomeOf(&LidarFormat::NAMES, PROFILES),
            "a firmware needs at least one lidar profile"
        );
        /// The last eight bytes of lidar packets.
        pub footer: Footer, OneOf(&FOOTERS, PROFILES);
        /// Ranges are multiples of this.
        pub range_step_mm: u32, Limit::new(1..=100, "mm", PROFILES);
    }
}

/// Limits of a length in the sensor, mm.
fn length() -> Limit<f64> {
    Limit::new(-500.0..=500.0, "mm", PROFILES)
}

fn near_infrared() -> Limit<f64> {
    Limit::new(0.0..=65_535.0, "photons", "the wire format: two bytes")
}

keys! {
    /// Positions of beams, lidar and IMU in the sensor frame.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Geometry {
        /// Distance from the axis to where beams begin.
        pub beam_origin_m as "beam_origin_mm": f64, Scaled(length(), 1e-3);
        /// Distance from the sensor's base up to the lidar's origin.
        pub lidar_height_m as "lidar_height_mm": f64, Scaled(length(), 1e-3);
        /// Position of the IMU in the sensor: forward, left, up.
        pub imu_m as "imu_mm": [f64; 3],
            By(|field: &Field<'_>| field.numbers::<3>(&length()).map(|mm| mm.map(|mm| mm / 1000.0)));
    }
}

keys! {
    /// Conversion of light to counts.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Photons {
        /// Photons of the signal of a white target at 1 m.
        pub signal_at_1m: f64, Limit::new(0.0..=1e9, "photons", PROFILES);
        /// Photons of near infrared of a white target in daylight.
        pub white_near_infrared: f64, near_infrared();
        /// Photons of near infrared from the sky.
        pub sky_near_infrared: f64, near_infrared();
        /// Light from a retroreflector of reflectivity 255, as a multiple of the light from a white target.
        pub retro_full_gain: f64, Limit::new(1.1..=1e6, "times a white target", PROFILES);
        /// Whether reflectivity is calibrated. If not, it is the number of photons that the return would have from 1 m,
        /// modulo 65536.
        pub calibrates_reflectivity: bool, TrueOrFalse;
    }
}

/// Direction of a beam relative to its column, as in the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BeamAngles {
    /// Elevation of the beam, degrees.
    pub altitude_deg: f64,
    /// Azimuth offset of the beam, clockwise from the column's direction, degrees.
    pub azimuth_deg: f64,
}

/// Reads two times in microseconds; returns nanoseconds.
fn times_us(field: &Field<'_>) -> Option<[u64; 2]> {
    let times = field.numbers::<2>(&Limit::new(0.0..=10_000.0, "us", PROFILES));
    times.map(|times| times.map(|us| (us * 1000.0).round() as u64))
}

keys! {
    /// Sample rate, timing, errors and scale of the unit's IMU.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ImuProfile {
        /// Samples per second, each in its own packet.
        pub rate_hz: u32, Limit::new(1..=1000, "Hz", PROFILES);
        /// Times from the system's reading to those of accelerometer and gyro.
        pub read_after_ns as "read_after_us": [u64; 2], By(times_us);
        /// Time from a sample to its packet's departure.
        pub latency_ns as "latency_us": u64, Time(Limit::new(0.0..=10_000.0, "us", PROFILES), 1e3);
        /// Standard deviation of accelerations.
        pub accel_std_g: f64, Limit::new(0.0..=10.0, "", PROFILES);
        /// Standard deviation of angular rates.
        pub gyro_std_deg_s: f64, Limit::new(0.0..=10.0, "", PROFILES);
        /// Counts per standard gravity of acceleration, and per degree/s of angular rate.
        pub counts: [f64; 2], Limit::new(1.0..=1e6, "", PROFILES);
    }
}

keys! {
    in profile and rig;
    /// Settings of the clock.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct OusterClockSettings {
        resolution {
            /// Resolution of timestamps, except those of PTP.
            pub resolution_ns: u64, Limit::new(1..=1000, "ns", PROFILES);
        }
        master {
            /// PTP profile at the start. Requests to `time/ptp/profile` change it.
            pub ptp_profile: PtpProfile, OneOf(&PtpProfile::WORDS, MANUAL);
        }
        start {
            /// Time since power-on at the start of the run, which a free-running clock shows.
            pub power_up_ns as "uptime_s": u64, Time(Limit::new(0.0..=1e9, "s", "the rig format"), 1e9);
        }
        /// State of the PTP master that sets the clock: none, simulated, or a master with PTP messages.
        pub ptp: PtpState,
        /// Offset of a simulated PTP master's time from UTC, seconds; positive is ahead.
        pub ptp_ahead_s: i32,
        /// Drift of the oscillator, seconds per day; positive when it is fast.
        pub drift_s_per_day: f64,
        /// PTP options that no request sets.
        pub ptp_options: PtpOptions,
    }
}

keys! {
    in profile and rig;
    /// Settings in a rig; the profile has the defaults. Keys have the names of the unit's configuration.
    #[derive(Clone, Debug, Default)]
    pub struct OusterSettings {
        operation {
            /// Clock that stamps columns.
            pub timestamp_mode: TimestampMode, OneOf(&TimestampMode::WORDS, MANUAL);
            /// Whether the unit runs at the start, or stands by.
            pub operating_mode: OperatingMode, OneOf(&OperatingMode::WORDS, MANUAL);
        }
        phase {
            /// Direction of the rotor when a second begins, counter-clockwise from the connector.
            pub phase_lock_offset_mdeg: u32,
                Limit::new(0..=360_000, "thousandths of a degree", MANUAL);
        }
        order {
            /// Order of a pixel's returns.
            pub return_order: ReturnOrder, OneOf(&ReturnOrder::WORDS, MANUAL);
        }
        nmea {
            /// Whether the multipurpose input reads a receiver's sentences.
            pub reads_nmea: bool, TrueOrFalse;
            /// Seconds that are added to the time of sentences.
            pub nmea_leap_seconds: i32, ahead_of_utc();
            /// The rate of the multipurpose input.
            pub nmea_baud as "nmea_baud_rate": u32,
                OneOf(&[("BAUD_9600", 9600), ("BAUD_115200", 115_200)], MANUAL);
        }
        start {
            /// Direction of the head at the first instant, clockwise from the connector.
            pub start_azimuth_rad as "start_azimuth_deg": f64, start_azimuth();
        }
        packet {
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        /// Columns per rotation and rotations per second.
        pub lidar_mode: LidarMode,
        /// Format of packets: `udp_profile_lidar`.
        pub lidar_format: LidarFormat,
        /// Azimuth window: two angles in thousandths of a degree, counter-clockwise from the connector, both included.
        pub azimuth_window_mdeg: [u32; 2],
        /// Multiplier of the photon counts of the signal.
        pub signal_multiplier: f64,
        /// Whether phase lock is enabled, i.e. the rotor keeps a phase relative to the clock's seconds.
        pub phase_lock_enable: bool,
        /// Settings of the motor.
        pub motor: MotorSettings,
        /// Settings of the clock.
        pub clock: OusterClockSettings,
        /// Optics of the lasers.
        pub beam: BeamSettings,
        /// Errors of the measurements.
        pub noise: NoiseSettings,
    }
}

impl OusterProfile {
    /// Index of the port of IMU packets.
    pub const IMU_PORT: PortIndex = PortIndex(1);
    /// Factory UDP port of IMU packets.
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
        let rig_key = Some(PortKey::IMU);
        vec![data, DatagramPort { name: "imu", rig_key, frame, counts_frames: true }]
    }

    /// Checks whether a packet format is possible in a lidar mode.
    ///
    /// # Errors
    /// Returns the reason why it is not.
    pub fn check_rate(&self, format: LidarFormat, mode: LidarMode) -> Result<(), String> {
        match format == LidarFormat::Dual && mode.is_fast() && !self.has_fast_dual {
            true => Err(format!("{} does not go with {}", format.name(), mode.word())),
            false => Ok(()),
        }
    }
}
