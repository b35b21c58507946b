//! A rig: the world, the robot, its devices and their connections.

mod cable_read;
mod claims;
pub mod drive;
mod driver_read;
mod engine;
pub mod fault_read;
pub mod faults;
mod joint_read;
pub mod joint_table;
pub mod joints;
mod link_read;
pub mod ntrip;
mod object_read;
pub mod objects;
mod parts;
pub mod placement;
mod read;
mod response_read;
pub mod responses;
pub mod scene_parameters;
pub mod scene_read;
pub mod scenes;
pub mod schedule;
pub mod short_forms;
pub mod short_link;
mod trajectory;
pub mod weather;
mod wire_fault_read;
mod world_read;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::ntrip::{CasterConfig, NtripConfig};
use crate::frames::{Body, Geodetic, Sensor, Transform};
use crate::profile::network::HostAddress;
use crate::profile::{Catalogue, FamilyData, Profile};
use crate::rig::faults::FaultConfig;
use crate::rig::joints::JointConfig;
use crate::rig::objects::ObjectConfig;
use crate::rig::placement::ScenePlacement;
use crate::rig::responses::{ResponseConfig, StimulusConfig};
use crate::rig::weather::WeatherConfig;
use crate::toml::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};
pub use crate::toml::overrides::Override;
use crate::wire::port::{PtyOptions, SerialOptions, UdpOptions};
pub use engine::{
    CasterChoice, EngineConfig, LatePolicy, Lead, PtpMasterConfig, SchedulerChoice, StampChoice,
};
pub use read::spec;
pub use scene_parameters::{
    AndabataFieldParameters, CourtyardParameters, FortDrumParameters, GrassStandParameters,
    MeadowWallParameters, PuddleChoice, RodsParameters, RoomParameters, RootStepParameters,
    ShrubParameters, StreetParameters,
};
pub use trajectory::{FeedConfig, TrajectoryConfig};

/// A checked rig.
#[derive(Clone, Debug)]
pub struct Rig {
    /// Path of the file as given, or `default rig`.
    pub name: String,
    /// Text of the file, without overrides.
    pub source: Arc<SourceFile>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// UTC at the start of the run; `None`: a live run uses the host's clock; a recording uses the start of the
    /// replayed host log or, without such a log, a fixed time.
    pub start_utc: Option<jiff::Timestamp>,
    /// Position of the World frame on Earth.
    pub origin: Geodetic,
    /// Scene, moving objects and weather.
    pub world: WorldConfig,
    /// The robot's motion.
    pub robot: RobotConfig,
    /// Joints between the robot's body and devices, in the rig's order.
    pub joints: Vec<Arc<JointConfig>>,
    /// Settings of the engine.
    pub engine: EngineConfig,
    /// The devices, in the rig's order.
    pub devices: Vec<DeviceConfig>,
    /// Faults, in the rig's order.
    pub faults: Vec<FaultConfig>,
    /// Stimuli for the robot.
    pub stimuli: Vec<StimulusConfig>,
    /// Responses of the robot to stimuli.
    pub responses: Vec<ResponseConfig>,
    /// Positions in the rig file, for errors in files that are loaded only after the rig was read.
    pub places: RigPlaces,
}

/// Positions of values in a rig file, for errors that occur when the world is loaded.
#[derive(Clone, Debug)]
pub struct RigPlaces {
    /// Position of the value of `world.scene`.
    pub scene: Place,
    /// Position of the value of `robot.trajectory`, or of `robot.trajectory.path` if the trajectory is a file.
    pub trajectory: Place,
    /// Position of `engine.caster`, if the rig has this key.
    pub caster: Option<Place>,
}

/// Text of the default rig.
const DEFAULT_RIG: &str = include_str!("default-rig.toml");

/// Largest size of a rig, bytes.
const MAX_RIG_BYTES: u64 = 8 << 20;

impl Rig {
    /// Reads the rig at `path` with `overrides` applied to it.
    ///
    /// # Errors
    /// All errors in the rig, in the profiles and calibrations that it names, and in the overrides.
    pub fn load(
        path: &Path,
        overrides: &[Override],
        catalogue: &Catalogue,
    ) -> Result<Rig, Diagnostics> {
        read::parse(&Self::source(path)?, overrides, catalogue)
    }

    fn source(path: &Path) -> Result<Arc<SourceFile>, Diagnostics> {
        let name = path.display().to_string();
        SourceFile::read(&name, path, MAX_RIG_BYTES)
            .map_err(|why| Diagnostic::new(format!("cannot read rig `{name}`: {why}")).into())
    }

    /// The default rig: a robot with all kinds of sensors circles in the courtyard.
    ///
    /// # Errors
    /// All errors in the overrides.
    pub fn default_rig(overrides: &[Override], catalogue: &Catalogue) -> Result<Rig, Diagnostics> {
        Self::parse("default rig", DEFAULT_RIG, Path::new(""), overrides, catalogue)
    }

    /// The rig at `path`, or [`Rig::default_rig`], as the text of a rig file with all defaults and without short
    /// forms. Relative paths are unchanged.
    ///
    /// # Errors
    /// See [`Rig::load`].
    pub fn complete_text(
        path: Option<&Path>,
        overrides: &[Override],
        catalogue: &Catalogue,
    ) -> Result<String, Diagnostics> {
        let source = match path {
            Some(path) => Self::source(path)?,
            None => SourceFile::new("default rig", DEFAULT_RIG, ""),
        };
        read::complete(&source, overrides, catalogue)
    }

    /// Text of [`Rig::default_rig`], as a template for new rigs.
    pub fn default_text() -> &'static str {
        DEFAULT_RIG
    }

    /// Reads a rig from TOML text. `name` is the name of the text in messages; relative paths refer to `base_dir`.
    ///
    /// # Errors
    /// See [`Rig::load`].
    pub fn parse(
        name: &str,
        text: &str,
        base_dir: &Path,
        overrides: &[Override],
        catalogue: &Catalogue,
    ) -> Result<Rig, Diagnostics> {
        read::parse(&SourceFile::new(name, text, base_dir), overrides, catalogue)
    }
}

/// `[world]`: scene, moving objects and weather.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Scene to load.
    pub scene: SceneSource,
    /// Moving objects, in the rig's order.
    pub objects: Vec<ObjectConfig>,
    /// Weather.
    pub weather: WeatherConfig,
    /// Rules for labels in the ground truth; the first matching rule applies.
    pub labels: Vec<LabelRule>,
}

/// A rule that assigns a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRule {
    /// Pattern for the name of an object, a mesh or a material; `*` matches any characters.
    pub pattern: String,
    /// The label.
    pub label: String,
}

/// A built-in scene with its parameters, or a file.
#[derive(Clone, Debug)]
pub enum SceneSource {
    /// The courtyard of Goodin et al. 2018.
    Courtyard(CourtyardParameters),
    /// A rectangular room with known planes.
    Room(RoomParameters),
    /// The forest floor of Goodin et al. 2018.
    RootStep(RootStepParameters),
    /// Rows of rods with walls behind them.
    Rods(RodsParameters),
    /// Grass and a fence with walls behind them.
    MeadowWall(MeadowWallParameters),
    /// The stand of grass of Goodin et al. 2018, made of cylinders.
    GrassStand(GrassStandParameters),
    /// A potted shrub.
    Shrub(ShrubParameters),
    /// A street with specular, transparent and retroreflective surfaces.
    Street(StreetParameters),
    /// A field to drive across.
    AndabataField(AndabataFieldParameters),
    /// A parking apron with objects and plants.
    FortDrum(FortDrumParameters),
    /// A file: MAVS `.json`, `.gltf`, `.glb`, `.obj`, `.ply` or `.stl`. Relative paths refer to the rig file's
    /// folder.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Seed of random placement in MAVS scenes.
        seed: u64,
        /// Placement in the world.
        placement: ScenePlacement,
    },
}

/// `[robot]`: motion of the robot.
#[derive(Clone, Debug)]
pub struct RobotConfig {
    /// Motion of the robot.
    pub trajectory: TrajectoryConfig,
    /// Whether the terrain determines height, roll and pitch.
    pub follow_ground: bool,
    /// Distance between front and rear wheels, and between left and right wheels, metres.
    pub footprint_m: [f64; 2],
}

impl SceneSource {
    /// Whether the ground of a built-in scene is uneven; false for scene files, whose ground is unknown.
    fn has_terrain(&self) -> bool {
        match self {
            Self::Courtyard(_) | Self::RootStep(_) | Self::AndabataField(_) | Self::FortDrum(_) => {
                true
            }
            Self::Room(_)
            | Self::Rods(_)
            | Self::MeadowWall(_)
            | Self::GrassStand(_)
            | Self::Shrub(_)
            | Self::Street(_)
            | Self::File { .. } => false,
        }
    }
}

impl RobotConfig {
    /// Default footprint, metres.
    pub const USUAL_FOOTPRINT_M: [f64; 2] = [0.6, 0.5];

    /// A moving body with this trajectory and the default footprint.
    pub fn new(trajectory: TrajectoryConfig, follow_ground: bool) -> Self {
        Self { trajectory, follow_ground, footprint_m: Self::USUAL_FOOTPRINT_M }
    }
}

/// Index of a device in its rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub usize);

/// `[[device]]`: a device, its mount and its connections.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Name of the device, unique in the rig; files are named after it.
    pub name: String,
    /// The firmware.
    pub profile: Arc<Profile>,
    /// The joint that carries the device, with the joint's index in the rig; `None`: the robot's body carries
    /// the device.
    pub on: Option<(usize, Arc<JointConfig>)>,
    /// Pose on the robot's body, or on the moving part of the joint.
    pub body_from_sensor: Transform<Body, Sensor>,
    /// Link of the device.
    pub link: LinkConfig,
    /// Further addresses at which the device receives host commands.
    pub controls: Vec<ControlConfig>,
    /// Device at the other end of the cable; `None` without a cable. With the key `gps_cable`, the source of PPS and
    /// serial data; with `corrections`, the base; with `line_of`, the GNSS receiver.
    pub cable_from: Option<DeviceId>,
    /// Signals of the cable.
    pub cable: CableKind,
    /// Numbers of this GNSS receiver's ports whose serial lines are further devices of the rig.
    pub further_lines: Vec<u8>,
    /// NTRIP caster in Menura that serves this device's corrections.
    pub caster: Option<CasterConfig>,
    /// NTRIP caster from which the device gets corrections.
    pub ntrip: Option<NtripConfig>,
    /// Largest duration of a series of samples in one request, nanoseconds. The values of the samples do not depend on
    /// it.
    pub longest_series_ns: u64,
    /// Settings of the device in the rig; only its family understands them.
    pub settings: Arc<dyn FamilyData>,
}

impl DeviceConfig {
    /// Default of [`DeviceConfig::longest_series_ns`].
    pub const LONGEST_SERIES_NS: u64 = 10_000_000;
    /// Default of [`DeviceConfig::longest_series_ns`] if a host moves the robot. The motion is known only
    /// `engine.render_ahead_ms` ahead, so that a longer series could not be measured.
    pub const LONGEST_SERIES_DRIVEN_NS: u64 = 2_000_000;

    /// Whether the device is only a serial line to a port of another device.
    pub fn is_line(&self) -> bool {
        matches!(self.cable, CableKind::Line(_))
    }

    /// The device's own address for PTP; `None` if it does not use PTP or has no own address.
    pub fn ptp_address(&self) -> Option<Ipv4Addr> {
        let speaks = self.profile.family.speaks_ptp(&*self.settings);
        self.link.own_address().filter(|_| speaks)
    }

    /// The device's settings if they are of the type `S`, which identifies the family; `None` for devices of other
    /// families.
    pub fn settings<S: 'static>(&self) -> Option<&S> {
        self.settings.get()
    }
}

/// Signals that a cable from another device carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CableKind {
    /// PPS, and the bytes that the other device sends on its link.
    #[default]
    Link,
    /// Bytes that the other device sends on its port with this number.
    Port(u8),
    /// Bytes that a GNSS receiver sends on its port with this number. The device is only a serial line to the port:
    /// host commands go to the GNSS receiver at the other end.
    Line(u8),
}

/// Link of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkConfig {
    /// `link = { udp = { … } }`: datagrams.
    Udp {
        /// Settings of the product's first port.
        udp: UdpOptions,
        /// Destination ports of the product's further ports, on the same host.
        further_ports: Vec<u16>,
    },
    /// A serial line.
    Line(LineConfig),
    /// `link = { tcp = ["ADDRESS:PORT", "ADDRESS:PORT"] }`: the addresses of a device that is a TCP server.
    TcpServer(Vec<SocketAddr>),
}

impl LinkConfig {
    /// Destination of datagrams; `None` for other links.
    pub fn datagram_host(&self) -> Option<HostAddress> {
        match self {
            Self::Udp { udp, further_ports } => {
                let ports = std::iter::once(udp.to.port()).chain(further_ports.iter().copied());
                Some(HostAddress { ip: udp.to.ip(), ports: ports.collect() })
            }
            Self::Line(_) | Self::TcpServer(_) => None,
        }
    }

    /// Settings of datagrams; `None` for other links.
    pub fn udp(&self) -> Option<&UdpOptions> {
        match self {
            Self::Udp { udp, .. } => Some(udp),
            Self::Line(_) | Self::TcpServer(_) => None,
        }
    }

    /// The device's own IPv4 address: that of `link.udp.from`. `None` if the rig sets no IPv4 address there.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        match self.udp()?.from?.ip() {
            IpAddr::V4(ip) if !ip.is_unspecified() => Some(ip),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        }
    }

    /// Description of the link for messages, without facts that are only known once the link is open.
    pub fn describe(&self) -> String {
        match self {
            Self::Udp { udp, .. } => format!("udp {}", udp.to),
            Self::Line(line) => line.describe(),
            Self::TcpServer(addresses) => {
                let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
                format!("tcp {}", addresses.join(", "))
            }
        }
    }
}

/// A serial line: pseudo-terminal, serial port or TCP.
#[derive(Clone, Debug, PartialEq)]
pub enum LineConfig {
    /// `{ pty = "PATH" }`: a pseudo-terminal in place of a serial port.
    Pty(PtyOptions),
    /// `{ serial = "PORT" }`: a real serial port.
    Serial(SerialOptions),
    /// `{ tcp = "ADDRESS:PORT" }`: a serial line over TCP; Menura is the server.
    Tcp(SocketAddr),
}

impl LineConfig {
    /// Description of the line for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Pty(pty) => format!("pty {}", pty.path.display()),
            Self::Serial(serial) => format!("serial {}", serial.port.display()),
            Self::Tcp(address) => format!("tcp {address}"),
        }
    }
}

/// An additional input of a device. The device's product defines the key in the rig.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlConfig {
    /// `"ADDRESS:PORT"`: address of the web interface.
    Web(SocketAddr),
    /// `"ADDRESS:PORT"`: address for commands by TCP.
    Commands {
        /// Address of the server.
        address: SocketAddr,
        /// Value of [`crate::wire::port::Peer::port`] for hosts that connect to this server.
        port: u8,
    },
    /// `"ADDRESS:PORT"`: address for commands by UDP.
    Datagrams {
        /// Address at which the device receives the datagrams.
        address: SocketAddr,
        /// Value of [`crate::wire::port::Peer::port`] for hosts that send to this address.
        port: u8,
        /// Whether the port receives broadcasts.
        hears_broadcasts: bool,
        /// Whether broadcasts are answered by broadcast instead of unicast.
        answers_all: bool,
    },
    /// `{ pty = "PATH" }`: serial line for commands.
    Line(LineConfig),
}

impl ControlConfig {
    /// Description of the input for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Web(address) => format!("http://{address}"),
            Self::Commands { address, .. } => format!("commands by tcp {address}"),
            Self::Datagrams { address, .. } => format!("commands by udp {address}"),
            Self::Line(line) => line.describe(),
        }
    }
}
