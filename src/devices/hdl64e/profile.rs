//! Firmware profile of a Velodyne HDL-64E, and its settings in a rig.

use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{By, OneOf};
use crate::config::toml::reader::{Field, Limit, Value};
use crate::hdl64e::serial_settings::SerialProfile;
use crate::spinning::clock_settings::ClockSettings;
use crate::spinning::motor_settings::{MotorSettings, RotationRates};
use crate::spinning::profile_read::start_azimuth;
use crate::spinning::return_mode::ReturnMode;
use crate::wire::ethernet::FrameHeader;
use crate::wire::velodyne::hdl64e_status::ThresholdTypes;

words!(Hdl64eGeneration: "s1" => S1, "s2" => S2, "s3" => S3);
words!(TimestampMarks: "first-firing" => FirstFiring, "packet-end" => PacketEnd);
words!(S1Grouping: "block" => Block, "datagram" => Datagram);
words!(CalibrationReading: "velodyne-decoder" => VelodyneDecoder, "ros" => Ros);

/// Generations of the HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hdl64eGeneration {
    /// Three blocks of upper lasers, then one of lower lasers.
    S1,
    /// Blocks of upper and lower lasers alternate; calibration in the status bytes.
    S2,
    /// Like S2, with dual return.
    S3,
}

/// Event whose time is the timestamp of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimestampMarks {
    /// The packet's first firing.
    #[default]
    FirstFiring,
    /// The departure of the packet.
    PacketEnd,
}

/// Unit of the S1's three-to-one order: blocks or datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S1Grouping {
    /// Upper, upper, upper, lower, block by block.
    #[default]
    Block,
    /// Three datagrams of upper blocks, then one of lower blocks.
    Datagram,
}

/// Profile of an HDL-64E firmware.
#[derive(Clone, Debug)]
pub struct Hdl64eProfile {
    /// Generation, which determines packing and status bytes.
    pub generation: Hdl64eGeneration,
    /// Addresses and header fields.
    pub network: FrameHeader,
    /// Rotation rates that a rig can set.
    pub rotation_rates: RotationRates,
    /// Lowest and highest intensity of a point without a return; values are uniformly distributed.
    pub dark_intensity: [u8; 2],
    /// Return modes of the firmware; the first is the factory setting.
    pub return_modes: Vec<ReturnMode>,
    /// Firing times with one return.
    pub timing: PacketTiming,
    /// Firing times with dual return, if supported.
    pub dual_timing: Option<PacketTiming>,
    /// Serial line for commands.
    pub serial: SerialProfile,
    /// Values of the status bytes.
    pub status: Hdl64eStatus,
    /// Values that a rig can override.
    pub defaults: Hdl64eSettings,
}

impl Hdl64eProfile {
    /// Firing times in a return mode.
    pub fn timing_of(&self, mode: ReturnMode) -> &PacketTiming {
        match mode {
            ReturnMode::Dual => self.dual_timing.as_ref().unwrap_or(&self.timing),
            ReturnMode::Strongest | ReturnMode::Last => &self.timing,
        }
    }
}

/// Firing times of a packet's lasers. A *cycle* is one pass through the 32 slots. In an S1, it fires one block. In S2 and
/// S3, it fires an upper and a lower block; lasers of both blocks with equal slots fire together.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketTiming {
    /// Nominal packet rate, 1/s.
    pub packets_per_second: f64,
    /// Start times of the packet's cycles, and departure of the packet.
    pub cycles: CycleStarts,
    /// Firing time of each slot, nanoseconds after the start of the slot's cycle.
    pub slot_offset_ns: [u32; 32],
}

/// Start times of a packet's cycles.
#[derive(Clone, Debug, PartialEq)]
pub enum CycleStarts {
    /// S2 and S3: at fixed times.
    Listed {
        /// Start of each cycle after the packet's first firing, nanoseconds: 6 entries, or 3 with dual
        /// return.
        start_ns: Vec<u64>,
        /// Time from the packet's first firing to its departure, nanoseconds.
        packet_end_ns: u64,
    },
    /// S1: each cycle starts at a whole multiple of a fixed time, the grid step. Its start is computed from the mean
    /// rate and rounded down to such a multiple. A cycle therefore lasts one or two grid steps, as in a capture. The
    /// packet leaves one grid step after the start of its last cycle.
    Grid {
        /// Step of the grid, nanoseconds.
        grid_ns: u64,
    },
}

/// Words for warning bits in a profile.
const WARNINGS: &[(&str, u8)] = &[
    ("lens-contaminated", 1 << 0),
    ("too-hot", 1 << 1),
    ("too-cold", 1 << 2),
    ("voltage-low", 1 << 3),
    ("voltage-high", 1 << 4),
];

fn byte(unit: &'static str) -> Limit<i128> {
    Limit::new(0..=255, unit, "the wire format: one byte")
}

fn two_bytes(unit: &'static str) -> Limit<i128> {
    Limit::new(0..=65535, unit, "the wire format: two bytes")
}

fn warnings(field: &Field<'_>) -> Option<u8> {
    let bits = field.choices(WARNINGS, "the warning byte")?;
    Some(bits.into_iter().fold(0, |all, bit| all | bit))
}

/// Reads a date and time as year minus 2000, month, day, hour, minute, second. The word "none" becomes 0xff in all six
/// bytes.
fn calibration_time(field: &Field<'_>) -> Option<[u8; 6]> {
    let expected = "a date and time such as 2016-11-15T12:47:47, or \"none\"";
    let node = field.any(expected)?;
    let bytes = match &node.value {
        Value::String(word) if word == "none" => Some([0xff; 6]),
        Value::Datetime(stamp) => stamp.date.zip(stamp.time).and_then(|(date, time)| {
            let year = u8::try_from(date.year.checked_sub(2000)?).ok()?;
            let second = time.second.unwrap_or(0);
            Some([year, date.month, date.day, time.hour, time.minute, second])
        }),
        _ => None,
    };
    if bytes.is_none() {
        let fault = node.place.fault("not a calibration time", format!("allowed: {expected}"));
        field.fault(fault.note("limit from the wire format: one byte for the year since 2000"));
    }
    bytes
}

keys! {
    /// Device state that the status bytes report.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Hdl64eStatus {
        of_all {
            /// The unit's temperature.
            pub temperature_c: u8, byte("degrees C");
            /// The firmware's version in hex digits: 0x47 is 4.07.
            pub firmware_version: u16, two_bytes("");
        }
        of_s1 {
            /// Number of packets in one form before the other form follows.
            pub s1_form_packets as "form_packets": u32, Limit::new(1..=65535, "packets", PROFILES);
        }
        of_later {
            /// The threshold of the upper block.
            pub upper_threshold: u8, byte("");
            /// The threshold of the lower block.
            pub lower_threshold: u8, byte("");
            /// The humidity within the unit.
            pub humidity_percent: u8, Limit::new(0..=100, "percent", "relative humidity");
            /// Operating hours of the unit.
            pub life_time_hours: u16, two_bytes("hours");
            /// The laser power: 0xA8 for the unit's own control, 0xA0 to 0xA7 for a fixed one.
            pub power_level: u8,
                Limit::new(0xA0..=0xA8, "(0xA0 to 0xA8)", "the status byte of the laser power");
            /// The warnings that the unit gives.
            pub warnings: u8, By(warnings);
            /// Time of the calibration, or "none".
            pub calibration_time: [u8; 6], By(calibration_time);
        }
    }
}

keys! {
    in profile and rig;
    /// Settings of an HDL-64E in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default)]
    pub struct Hdl64eSettings {
        rotation {
            /// Direction of the head at the first instant, clockwise from forward.
            pub start_azimuth_rad as "start_azimuth_deg": f64, start_azimuth();
        }
        packet {
            /// Instant to which a packet's timestamp refers.
            pub timestamp_marks: TimestampMarks, OneOf(&TimestampMarks::WORDS, PROFILES);
            /// Output latency in addition to the product's own delay.
            pub lag_ns as "lag_ms": u64, lag::key();
        }
        thresholds {
            /// Status types in which the thresholds of the `UNIT#` cycle are sent.
            pub threshold_types: ThresholdTypes, OneOf(&ThresholdTypes::WORDS, PROFILES);
        }
        s1_order {
            /// Number of blocks that the unit skips at the start of the repeated order upper, upper, upper, lower. With
            /// `grouping = "datagram"`, the number of datagrams.
            pub s1_start_phase as "start_phase": u8,
                Limit::new(0..=3, "", "the S1's order of four: upper, upper, upper, lower");
            /// Whether blocks or whole datagrams follow the order upper, upper, upper, lower.
            pub s1_grouping as "grouping": S1Grouping, OneOf(&S1Grouping::WORDS, PROFILES);
        }
        /// Rotor speed, rpm.
        pub rotation_rate_rpm: u32,
        /// Echo or echoes that the unit reports.
        pub return_mode: ReturnMode,
        /// Optics of the unit.
        pub beam: BeamSettings,
        /// The errors.
        pub noise: NoiseSettings,
        /// Settings of the motor.
        pub motor: MotorSettings,
        /// The clock and the GPS input; the S1 has neither.
        pub clock: Option<ClockSettings>,
        /// The unit's calibration, 64 lasers by id.
        pub calibration: LaserTable,
        /// Driver formula for which the raw distances are exact.
        pub calibration_reading: CalibrationReading,
    }
}

/// Formula by which a driver converts a raw distance to a point. The two formulas differ by up to some centimetres, so
/// raw distances can be exact for only one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CalibrationReading {
    /// PyPI velodyne-decoder: the exit point is `vertical_offset` above the origin; near-point corrections
    /// apply below 25.04 m of raw distance, for lasers that have them.
    #[default]
    VelodyneDecoder,
    /// The ROS velodyne driver: the exit point is offset by `vertical_offset` across the beam; near-point
    /// corrections apply everywhere, if the table has them.
    Ros,
}

/// A unit's calibration, the content of Velodyne's `db.xml` and the ROS driver's YAML.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaserTable {
    /// Whether drivers use the near-point corrections X and Y.
    pub two_point_correction: bool,
    /// Calibration by laser id.
    pub lasers: Vec<LaserCalibration>,
}

/// Distance of the far calibration point, metres (HDL-64E S2 manual, appendix F). There, near-point corrections are zero.
pub const FAR_POINT_M: f64 = 25.04;
/// Distance of the near calibration point for x, metres.
pub const NEAR_POINT_X_M: f64 = 2.40;
/// Distance of the near calibration point for y, metres.
pub const NEAR_POINT_Y_M: f64 = 1.93;
/// Scale of focal distances in the intensity correction, metres (13 100 cm).
pub const FOCAL_SCALE_M: f64 = 131.0;

/// Calibration of one laser in a [`LaserTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaserCalibration {
    /// Elevation, radians.
    pub vertical_rad: f64,
    /// Rotational correction, radians: the azimuth of the beam is that of the rotor minus this angle.
    pub rotational_rad: f64,
    /// Far-point correction (25.04 m): added to the raw distance, metres.
    pub distance_m: f64,
    /// Near-point distance correction of x (2.40 m), metres.
    pub distance_x_m: f64,
    /// Near-point distance correction of y (1.93 m), metres.
    pub distance_y_m: f64,
    /// Vertical offset of the beam's exit point, metres.
    pub vertical_offset_m: f64,
    /// Horizontal offset of the beam's exit point, metres.
    pub horizontal_offset_m: f64,
    /// Distance at which intensity needs no correction, metres.
    pub focal_distance_m: f64,
    /// Slope of the intensity correction.
    pub focal_slope: f64,
    /// Smallest corrected intensity.
    pub min_intensity: u8,
    /// Largest corrected intensity.
    pub max_intensity: u8,
}
