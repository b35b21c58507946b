//! A product's firmware as data: typed, checked, nothing optional left.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use super::profile_read;
use super::reader::nearest;
use crate::wire::ethernet::FrameHeader;

/// One firmware of one product.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The file's stem: `<vendor>-<model>-<firmware>`.
    pub name: String,
    /// The file, as messages about its limits name it.
    pub file: String,
    /// One line for `menura profiles`.
    pub summary: String,
    /// Where the numbers come from: manuals, captures, drivers.
    pub sources: Vec<String>,
    /// What no two sources confirm; each is a setting of the profile, not a constant of the code.
    pub unsure: Vec<String>,
    /// The family and its data.
    pub driver: DriverProfile,
}

/// The profiles that are part of the program: file name and text.
const EMBEDDED: &[(&str, &str)] = &[
    (
        "firmware-profiles/velodyne-hdl64e-s1.toml",
        include_str!("../../firmware-profiles/velodyne-hdl64e-s1.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl64e-s2.toml",
        include_str!("../../firmware-profiles/velodyne-hdl64e-s2.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl64e-s3.toml",
        include_str!("../../firmware-profiles/velodyne-hdl64e-s3.toml"),
    ),
];

/// No profile is longer than this.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

impl Profile {
    /// How the product's packets look below UDP.
    pub fn network(&self) -> &NetworkIdentity {
        match &self.driver {
            DriverProfile::VelodyneHdl64e(driver) => &driver.network,
        }
    }

    /// The profiles that are part of the program, by name.
    pub fn embedded() -> &'static [Arc<Profile>] {
        static PROFILES: LazyLock<Vec<Arc<Profile>>> = LazyLock::new(|| {
            let parse = |(file, text): &(&str, &str)| match Profile::parse(file, text) {
                Ok(profile) => Arc::new(profile),
                // Their text is part of the program: this is a bug in Menura, seen by its tests.
                Err(faults) => panic!("{faults}"),
            };
            EMBEDDED.iter().map(parse).collect()
        });
        &PROFILES
    }

    /// A profile by name, or by the path of a `.toml` file.
    ///
    /// # Errors
    /// An unknown name, or everything that is wrong with the file.
    pub fn find(name_or_path: &str) -> Result<Arc<Profile>, Diagnostics> {
        if Self::is_path(name_or_path) {
            return Self::load(name_or_path, Path::new(name_or_path)).map(Arc::new);
        }
        Self::by_name(name_or_path).ok_or_else(|| {
            let fault = Diagnostic::new(format!("there is no profile `{name_or_path}`"));
            Diagnostics::from(fault.help(Self::suggestion(name_or_path)))
        })
    }

    /// Whether a rig's `profile` key means a file rather than a name.
    pub(super) fn is_path(name_or_path: &str) -> bool {
        name_or_path.contains(['/', '\\']) || name_or_path.ends_with(".toml")
    }

    /// One of [`Profile::embedded`].
    pub(super) fn by_name(name: &str) -> Option<Arc<Profile>> {
        Self::embedded().iter().find(|profile| profile.name == name).cloned()
    }

    /// What to write instead of an unknown name.
    pub(super) fn suggestion(name: &str) -> String {
        let names: Vec<_> = Self::embedded().iter().map(|profile| profile.name.as_str()).collect();
        let near = nearest(name, names.iter().copied());
        let mean = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("{mean}allowed: {}, or the path of a .toml file", names.join(", "))
    }

    /// Reads the profile at `path`, which messages call `file`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(file: &str, path: &Path) -> Result<Profile, Diagnostics> {
        let source = SourceFile::read(file, path, MAX_PROFILE_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read profile `{file}`: {why}")))
        })?;
        profile_read::parse(&source)
    }

    /// Reads a profile from its text; messages call it `file`, whose stem is the name.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Profile, Diagnostics> {
        profile_read::parse(&SourceFile::new(file, text, ""))
    }
}

/// The data of each family. The variant is what a profile's `driver` key says.
#[derive(Clone, Debug)]
pub enum DriverProfile {
    /// `velodyne-hdl64e`
    VelodyneHdl64e(Box<Hdl64eProfile>),
}

/// Gives an enum the words that TOML and `menura profiles` have for it.
macro_rules! words {
    ($type:ident: $($word:literal => $variant:ident),+) => {
        impl $type {
            /// Every value with its word in TOML.
            pub const WORDS: [(&'static str, Self); [$($word),+].len()] =
                [$(($word, Self::$variant)),+];

            /// The word for it in TOML.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

words!(Hdl64eGeneration: "s1" => S1, "s2" => S2, "s3" => S3);
words!(ReturnMode: "strongest" => Strongest, "last" => Last, "dual" => Dual);
words!(TimestampMarks: "first-firing" => FirstFiring, "packet-end" => PacketEnd);
words!(S1Grouping: "block" => Block, "datagram" => Datagram);
words!(CalibrationReading: "velodyne-decoder" => VelodyneDecoder, "ros" => Ros);
words!(BeamShape:
    "ray" => Ray, "circular" => Circular, "elliptical" => Elliptical, "rectangular" => Rectangular);

/// How a product's packets look below UDP, as captures show; recorded frames carry it.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkIdentity {
    /// Factory source address.
    pub source_ip: Ipv4Addr,
    /// Factory destination address.
    pub destination_ip: Ipv4Addr,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// The unit's MAC address.
    pub source_mac: [u8; 6],
    /// The destination's MAC address.
    pub destination_mac: [u8; 6],
    /// IP time to live.
    pub ttl: u8,
    /// IP don't-fragment flag.
    pub dont_fragment: bool,
    /// IP identification, the same in every packet.
    pub identification: u16,
    /// Whether the UDP checksum is computed; zero otherwise.
    pub udp_checksum: bool,
}

impl NetworkIdentity {
    /// The headers of a recorded frame.
    pub fn frame_header(&self) -> FrameHeader {
        FrameHeader {
            source_mac: self.source_mac,
            destination_mac: self.destination_mac,
            source_ip: self.source_ip,
            destination_ip: self.destination_ip,
            source_port: self.source_port,
            destination_port: self.destination_port,
            ttl: self.ttl,
            dont_fragment: self.dont_fragment,
            identification: self.identification,
            udp_checksum: self.udp_checksum,
        }
    }
}

/// Which HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hdl64eGeneration {
    /// Three upper blocks, then one lower.
    S1,
    /// Upper and lower blocks alternate; calibration in the status bytes.
    S2,
    /// As S2, with dual return.
    S3,
}

/// Which echo of a pulse is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnMode {
    /// The brightest.
    Strongest,
    /// The farthest.
    Last,
    /// Both.
    Dual,
}

/// What instant a packet's timestamp names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampMarks {
    /// The packet's first firing.
    FirstFiring,
    /// The instant the packet leaves.
    PacketEnd,
}

/// Whether the S1's three-to-one order counts blocks or whole datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum S1Grouping {
    /// U U U L block by block.
    Block,
    /// Three datagrams of upper blocks, then one of lower blocks.
    Datagram,
}

/// An HDL-64E firmware.
#[derive(Clone, Debug)]
pub struct Hdl64eProfile {
    /// Which generation's packing and status bytes.
    pub generation: Hdl64eGeneration,
    /// Addresses and header fields.
    pub network: NetworkIdentity,
    /// Lowest rotation rate, rpm.
    pub min_rotation_rate_rpm: u32,
    /// Highest rotation rate, rpm.
    pub max_rotation_rate_rpm: u32,
    /// Return modes this firmware has; the first is the factory's.
    pub return_modes: Vec<ReturnMode>,
    /// Firing times with one return.
    pub timing: PacketTiming,
    /// Firing times with dual return, where there is one.
    pub dual_timing: Option<PacketTiming>,
    /// Values of the status bytes.
    pub status: Hdl64eStatus,
    /// Values a rig may override; see [`Hdl64eSettings`].
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

/// When the lasers of one packet fire. A *cycle* is one sweep over 32 slots; S1: one block;
/// S2, S3: an upper and a lower block, whose lasers of equal slot fire together.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketTiming {
    /// Packets a second; the nominal rate.
    pub packets_per_second: f64,
    /// When the packet's cycles start, and when it leaves.
    pub cycles: CycleStarts,
    /// Firing time of each slot after its cycle's start, nanoseconds.
    pub slot_offset_ns: [u32; 32],
}

/// When the cycles of a packet start.
#[derive(Clone, Debug, PartialEq)]
pub enum CycleStarts {
    /// S2 and S3: at fixed times.
    Listed {
        /// After the packet's first firing, nanoseconds: 6 entries, or 3 with dual return.
        start_ns: Vec<u64>,
        /// From the packet's first firing to its leaving, nanoseconds.
        packet_end_ns: u64,
    },
    /// S1: at the last place of a grid that is not after the cycle's place at the mean rate, so
    /// that a cycle lasts one or two places, as a capture shows. The packet leaves a place after its
    /// last cycle's start.
    Grid {
        /// Between the grid's places, nanoseconds.
        grid_ns: u64,
    },
}

/// The device's state as its status bytes tell it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hdl64eStatus {
    /// 'T': degrees C.
    pub temperature_c: u8,
    /// 'V': firmware in hex nibbles, 0x47 = 4.07. S1: the version form's number.
    pub firmware_version: u16,
    /// 'G': b'A', b'V', b'P' or 0.
    pub gps_status: u8,
    /// Upper and lower block threshold.
    pub thresholds: [u8; 2],
    /// Percent, reserved.
    pub humidity_percent: u8,
    /// Hours the unit has run.
    pub life_time_hours: u16,
    /// 0xA8 = internal correction, 0xA0..=0xA7 fixed power.
    pub power_level: u8,
    /// Warning bits.
    pub warnings: u8,
    /// Year - 2000, month, day, hour, minute, second of the calibration; all 0xff for none.
    pub calibration_time: [u8; 6],
    /// S1: how many packets carry one form of the six status bytes before the other takes over.
    pub s1_form_packets: u32,
}

/// What a rig may set on an HDL-64E; the profile gives the defaults.
#[derive(Clone, Debug)]
pub struct Hdl64eSettings {
    /// Rotor speed, rpm.
    pub rotation_rate_rpm: u32,
    /// Which echo.
    pub return_mode: ReturnMode,
    /// Rotor angle at the first instant, radians, clockwise from the device's +Y (forward).
    pub start_azimuth_rad: f64,
    /// What the timestamp names.
    pub timestamp_marks: TimestampMarks,
    /// S1: how many blocks (or datagrams) of the U U U L order precede the first one sent, 0..=3.
    pub s1_start_phase: u8,
    /// S1: what the order counts.
    pub s1_grouping: S1Grouping,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
    /// Extra delay from a packet's end to its leaving, nanoseconds.
    pub lag_ns: u64,
    /// The unit's calibration, 64 lasers by id.
    pub calibration: LaserTable,
    /// Whose reading of the calibration the raw distances undo.
    pub calibration_reading: CalibrationReading,
}

/// How a driver turns a raw distance into a point. The two differ by up to some centimetres, so
/// raw distances can be exact for one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationReading {
    /// PyPI velodyne-decoder: the exit point stands `vertical_offset` above the origin; near-point
    /// corrections hold below 25.04 m of raw distance, where a laser has them.
    VelodyneDecoder,
    /// The ROS velodyne driver: the exit point lies `vertical_offset` across the beam; near-point
    /// corrections hold everywhere, where the table says so.
    Ros,
}

/// The shape of a laser's spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeamShape {
    /// One centre ray.
    Ray,
    /// Nine rays, Goodin et al. 2018.
    Circular,
    /// Nine rays, two half-axes.
    Elliptical,
    /// Nine rays: centre, corners, edge middles.
    Rectangular,
}

/// Optics of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamSettings {
    /// Spot shape.
    pub shape: BeamShape,
    /// Full divergence angle across (horizontal), radians.
    pub divergence_horizontal_rad: f64,
    /// Full divergence angle along (vertical), radians.
    pub divergence_vertical_rad: f64,
    /// Echoes nearer to one another than this are one, metres.
    pub signal_cutoff_m: f64,
    /// Nothing nearer is reported, metres.
    pub min_range_m: f64,
    /// Nothing farther is reported, metres.
    pub max_range_m: f64,
    /// `reflectance * cos(incidence)` below which an echo is not detected, 0..1.
    pub detection_threshold: f64,
}

/// Gaussian errors of a lidar, standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseSettings {
    /// On range, metres.
    pub range_std_m: f64,
    /// On the beam's azimuth, radians.
    pub azimuth_std_rad: f64,
    /// On the beam's elevation, radians.
    pub elevation_std_rad: f64,
    /// On intensity, of full scale.
    pub intensity_std: f64,
}

/// A unit's calibration, as Velodyne's `db.xml` and the ROS driver's YAML hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct LaserTable {
    /// Whether drivers use the near-point corrections X and Y.
    pub two_point_correction: bool,
    /// By laser id.
    pub lasers: Vec<LaserCalibration>,
}

/// One laser of a [`LaserTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaserCalibration {
    /// Elevation, radians.
    pub vertical_rad: f64,
    /// Subtracted from the azimuth, radians.
    pub rotational_rad: f64,
    /// Added to the raw distance (far point, 25.04 m), metres.
    pub distance_m: f64,
    /// The same at the near point of x, 2.40 m, metres.
    pub distance_x_m: f64,
    /// The same at the near point of y, 1.93 m, metres.
    pub distance_y_m: f64,
    /// Height of the laser's exit, metres.
    pub vertical_offset_m: f64,
    /// Sideways place of the laser's exit, metres.
    pub horizontal_offset_m: f64,
    /// Distance at which intensity needs no correction, metres.
    pub focal_distance_m: f64,
    /// Strength of the intensity correction.
    pub focal_slope: f64,
    /// Corrected intensities are clamped to this from below.
    pub min_intensity: u8,
    /// And to this from above.
    pub max_intensity: u8,
}
