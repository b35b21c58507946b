//! A bench: the world, the robot, its devices and how they are wired.

mod cable_read;
mod claims;
pub mod drive;
mod drive_read;
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
mod trajectory_read;
pub mod weather;
mod weather_read;
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

/// A checked rig.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The file's path as given, or `default rig`.
    pub name: String,
    /// Its text, without overrides.
    pub source: Arc<SourceFile>,
    /// Seed of every random draw.
    pub seed: u64,
    /// Device time of the first instant; `None` takes the host's clock.
    pub start_utc: Option<jiff::Timestamp>,
    /// Where World stands on Earth.
    pub origin: Geodetic,
    /// The scene.
    pub world: WorldConfig,
    /// The robot's motion.
    pub robot: RobotConfig,
    /// What turns or slides between the robot's body and devices, in the rig's order.
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
    /// Where things were written, for faults that show only when a file is loaded.
    pub places: RigPlaces,
}

/// Where a rig names what is loaded later.
#[derive(Clone, Debug)]
pub struct RigPlaces {
    /// The value of `world.scene`.
    pub scene: Place,
    /// The value of `robot.trajectory`, or of its `path`.
    pub trajectory: Place,
    /// The value of `engine.caster`, if it is written.
    pub caster: Option<Place>,
}

/// The rig that runs when none is given.
const DEFAULT_RIG: &str = include_str!("default-rig.toml");

/// No rig is longer than this.
const MAX_RIG_BYTES: u64 = 8 << 20;

impl Rig {
    /// Reads the rig at `path` with `overrides` applied to it.
    ///
    /// # Errors
    /// Everything that is wrong with it, with the profiles and calibrations it names, and with
    /// the overrides.
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

    /// The rig that runs when none is given: a robot with all kinds of sensors circles in the
    /// courtyard.
    ///
    /// # Errors
    /// Everything that is wrong with the overrides.
    pub fn default_rig(overrides: &[Override], catalogue: &Catalogue) -> Result<Rig, Diagnostics> {
        Self::parse("default rig", DEFAULT_RIG, Path::new(""), overrides, catalogue)
    }

    /// The rig at `path`, or [`Rig::default_rig`], as a rig file in which every default is written and no
    /// short form; relative paths stay as they are.
    ///
    /// # Errors
    /// As [`Rig::load`].
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

    /// The text of [`Rig::default_rig`], to start one's own from.
    pub fn default_text() -> &'static str {
        DEFAULT_RIG
    }

    /// Reads a rig from its text, which messages call `name`; relative paths in it start at
    /// `base_dir`.
    ///
    /// # Errors
    /// As [`Rig::load`].
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

/// `[world]`
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Scene to load.
    pub scene: SceneSource,
    /// Moving objects, in the rig's order.
    pub objects: Vec<ObjectConfig>,
    /// Weather.
    pub weather: WeatherConfig,
    /// What things are called in the truth; the first rule that fits holds.
    pub labels: Vec<LabelRule>,
}

/// A rule for labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRule {
    /// A name of an object, a mesh or a material; `*` stands for any letters.
    pub pattern: String,
    /// The label.
    pub label: String,
}

/// A built-in scene with its parameters, or a file.
#[derive(Clone, Debug)]
pub enum SceneSource {
    /// The paper's courtyard.
    Courtyard(CourtyardParameters),
    /// A rectangular room with known planes.
    Room(RoomParameters),
    /// The paper's forest floor.
    RootStep(RootStepParameters),
    /// Rows of rods before walls.
    Rods(RodsParameters),
    /// Grass and a fence before walls.
    MeadowWall(MeadowWallParameters),
    /// The paper's stand of cylinders.
    GrassStand(GrassStandParameters),
    /// A potted shrub.
    Shrub(ShrubParameters),
    /// A street with what is not matt.
    Street(StreetParameters),
    /// A field to drive across.
    AndabataField(AndabataFieldParameters),
    /// An apron with objects and plants.
    FortDrum(FortDrumParameters),
    /// MAVS `.json`, `.gltf`, `.glb`, `.obj`, `.ply`, `.stl`; relative to the rig file's folder.
    File {
        /// The file.
        path: PathBuf,
        /// Seed of random placement in MAVS scenes.
        seed: u64,
        /// Placement in the world.
        placement: ScenePlacement,
    },
}

/// `[robot]`
#[derive(Clone, Debug)]
pub struct RobotConfig {
    /// Motion of the robot.
    pub trajectory: TrajectoryConfig,
    /// Take z, roll and pitch from the terrain.
    pub follow_ground: bool,
    /// Between front and rear, and between left and right wheels, metres.
    pub footprint_m: [f64; 2],
}

impl SceneSource {
    /// Whether the ground of a built-in scene is uneven; of a scene file nothing is known.
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
    /// The footprint when a rig names none, metres.
    pub const USUAL_FOOTPRINT_M: [f64; 2] = [0.6, 0.5];

    /// Something that moves so, with the usual footprint.
    pub fn new(trajectory: TrajectoryConfig, follow_ground: bool) -> Self {
        Self { trajectory, follow_ground, footprint_m: Self::USUAL_FOOTPRINT_M }
    }
}

/// Where the robot goes. Angles in radians, World frame; motion starts at the first instant.
#[derive(Clone, Debug, PartialEq)]
pub enum TrajectoryConfig {
    /// Does not move.
    Still {
        /// x, y, z, metres.
        position_m: [f64; 3],
        /// Heading, counter-clockwise from east, radians.
        yaw_rad: f64,
    },
    /// Straight on for ever.
    Line {
        /// Position at the start of the run, metres.
        start_m: [f64; 3],
        /// Heading, radians.
        yaw_rad: f64,
        /// Speed, m/s.
        speed_m_s: f64,
    },
    /// Round and round.
    Circle {
        /// Centre, metres.
        center_m: [f64; 3],
        /// Radius, metres.
        radius_m: f64,
        /// Speed, m/s; negative runs clockwise.
        speed_m_s: f64,
        /// Where on the circle it starts, radians from east.
        start_angle_rad: f64,
    },
    /// Along a sine's half wave and back to the line, for ever: y = amplitude * sin(pi x / length).
    HalfSine {
        /// Position at the start of the run, metres.
        start_m: [f64; 3],
        /// Heading of the sine's axis, radians.
        yaw_rad: f64,
        /// Length of the half wave, metres.
        length_m: f64,
        /// Height of the half wave, metres.
        amplitude_m: f64,
        /// Speed along the path, m/s.
        speed_m_s: f64,
    },
    /// Through points at a speed.
    Waypoints {
        /// x, y (z = 0) or x, y, z, metres.
        points_m: Vec<[f64; 3]>,
        /// Speed along the path, m/s.
        speed_m_s: f64,
        /// Back to the first point and on, for ever; else it stops at the last.
        closed: bool,
    },
    /// A recorded trajectory.
    File {
        /// TUM `.txt`/`.tum`, `.csv`, `.gpx`, `.vprp`; relative to the rig file's folder.
        path: PathBuf,
        /// For files whose times are not to be trusted: drive the path at this speed instead.
        speed_m_s: Option<f64>,
        /// Start again at the end.
        closed: bool,
    },
    /// Poses that another simulator sends during the run.
    Feed(FeedConfig),
    /// The robot's computer drives.
    Drive(drive::DriveConfig),
}

/// `trajectory = { kind = "feed", … }`: see [`crate::wire::feed`].
#[derive(Clone, Debug, PartialEq)]
pub struct FeedConfig {
    /// Where datagrams are taken.
    pub listen: SocketAddr,
    /// After this long without one the body is held, nanoseconds.
    pub hold_after_ns: u64,
    /// Before the first one: x, y, z, metres.
    pub position_m: [f64; 3],
    /// Before the first one: heading, radians.
    pub yaw_rad: f64,
}

/// A device's place in its rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub usize);

/// `[[device]]`
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Unique in the rig; names files.
    pub name: String,
    /// The firmware.
    pub profile: Arc<Profile>,
    /// The joint that carries it, with its place in the rig; `None` on the body itself.
    pub on: Option<(usize, Arc<JointConfig>)>,
    /// Where it sits on the robot's body, or on what the joint moves.
    pub body_from_sensor: Transform<Body, Sensor>,
    /// Link to which its bytes go.
    pub link: LinkConfig,
    /// Where else it listens to its hosts.
    pub controls: Vec<ControlConfig>,
    /// The device whose PPS and serial port it hears by a cable; of a rover, the base whose corrections
    /// it has; of a further line, the receiver.
    pub cable_from: Option<DeviceId>,
    /// What comes by the cable.
    pub cable: CableKind,
    /// Ports of the device to which further devices of the rig are lines.
    pub further_lines: Vec<u8>,
    /// The caster that hands out what it sends.
    pub caster: Option<CasterConfig>,
    /// The caster that it has corrections from.
    pub ntrip: Option<NtripConfig>,
    /// It asks for samples in series that are no longer, nanoseconds: how many at once changes no value.
    pub longest_series_ns: u64,
    /// Settings in the rig, which only its family understands.
    pub settings: Arc<dyn FamilyData>,
}

impl DeviceConfig {
    /// The usual [`DeviceConfig::longest_series_ns`].
    pub const LONGEST_SERIES_NS: u64 = 10_000_000;
    /// The same where a host moves the robot, whose motion is known no further than
    /// `engine.render_ahead_ms` ahead: nobody could measure a series that ends later.
    pub const LONGEST_SERIES_DRIVEN_NS: u64 = 2_000_000;

    /// Whether it is nothing but a line to a port of another device.
    pub fn is_line(&self) -> bool {
        matches!(self.cable, CableKind::Line(_))
    }

    /// The address of its own at which it speaks PTP, if it does.
    pub fn ptp_address(&self) -> Option<Ipv4Addr> {
        let speaks = self.profile.family.speaks_ptp(&*self.settings);
        self.link.own_address().filter(|_| speaks)
    }

    /// The unit's settings, if it is of the family whose settings are an `S`.
    pub fn settings<S: 'static>(&self) -> Option<&S> {
        self.settings.get()
    }
}

/// What a cable from another device carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CableKind {
    /// PPS, and what leaves by the link.
    #[default]
    Link,
    /// What leaves by this port.
    Port(u8),
    /// What leaves by this port; the device is nothing but the line to it, and its hosts speak to the
    /// device that it leads to.
    Line(u8),
}

/// Where a device's bytes go.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkConfig {
    /// `link = { udp = { … } }`: datagrams.
    Udp {
        /// Where those of the product's first port go.
        udp: UdpOptions,
        /// Destination ports of the product's further ports, on the same host.
        further_ports: Vec<u16>,
    },
    /// A serial line.
    Line(LineConfig),
    /// `link = { tcp = ["ADDRESS:PORT", "ADDRESS:PORT"] }`: where a device with a server listens.
    TcpServer(Vec<SocketAddr>),
}

impl LinkConfig {
    /// Where datagrams go; `None` for a link that has none.
    pub fn datagram_host(&self) -> Option<HostAddress> {
        match self {
            Self::Udp { udp, further_ports } => {
                let ports = std::iter::once(udp.to.port()).chain(further_ports.iter().copied());
                Some(HostAddress { ip: udp.to.ip(), ports: ports.collect() })
            }
            Self::Line(_) | Self::TcpServer(_) => None,
        }
    }

    /// Its datagrams' settings; `None` for a link that has none.
    pub fn udp(&self) -> Option<&UdpOptions> {
        match self {
            Self::Udp { udp, .. } => Some(udp),
            Self::Line(_) | Self::TcpServer(_) => None,
        }
    }

    /// The IPv4 address that only this device has, as far as the rig says.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        match self.udp()?.from?.ip() {
            IpAddr::V4(ip) if !ip.is_unspecified() => Some(ip),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        }
    }

    /// The link in messages, without what only the open link knows.
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

/// Kind of a serial line.
#[derive(Clone, Debug, PartialEq)]
pub enum LineConfig {
    /// `{ pty = "PATH" }`: a pseudo-terminal that behaves like a serial port.
    Pty(PtyOptions),
    /// `{ serial = "PORT" }`: a real serial port.
    Serial(SerialOptions),
    /// `{ tcp = "ADDRESS:PORT" }`: a serial line over TCP; Menura listens.
    Tcp(SocketAddr),
}

impl LineConfig {
    /// The line in messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Pty(pty) => format!("pty {}", pty.path.display()),
            Self::Serial(serial) => format!("serial {}", serial.port.display()),
            Self::Tcp(address) => format!("tcp {address}"),
        }
    }
}

/// A way to a device beside its link, under the key that its product gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlConfig {
    /// `"ADDRESS:PORT"`: where its web interface is.
    Web(SocketAddr),
    /// `"ADDRESS:PORT"`: where hosts give commands by TCP.
    Commands {
        /// Address at which it listens.
        address: SocketAddr,
        /// What [`crate::wire::port::Peer::port`] is of those who connect.
        port: u8,
    },
    /// `"ADDRESS:PORT"`: where hosts give commands by UDP.
    Datagrams {
        /// Address at which it listens.
        address: SocketAddr,
        /// What [`crate::wire::port::Peer::port`] is of those who speak to it.
        port: u8,
        /// Whether it hears what hosts broadcast to the port.
        hears_broadcasts: bool,
        /// Whether it answers such hosts by broadcast; else it answers them alone.
        answers_all: bool,
    },
    /// `{ pty = "PATH" }`: the serial line it takes commands from.
    Line(LineConfig),
}

impl ControlConfig {
    /// The link in messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Web(address) => format!("http://{address}"),
            Self::Commands { address, .. } => format!("commands by tcp {address}"),
            Self::Datagrams { address, .. } => format!("commands by udp {address}"),
            Self::Line(line) => line.describe(),
        }
    }
}
