//! Clocks, deadlines and workers: the real-time loop and the recorder.
//!
//! ```text
//! conductor (devices) --jobs--> workers (sensors, rays) --measurements--> conductor --packets--> sender
//! ```
//!
//! Workers render ahead and may finish in any order; the conductor hands each device its
//! measurements in the order it asked for them, so the bytes never depend on how many workers
//! there are. [`run`] gives packets to one thread that sends them at their due times; [`record`]
//! writes the same packets to files with the clock stepped by the work itself.

pub mod cables;
pub mod certificate;
#[allow(clippy::disallowed_methods)] // the one place that asks for the time and sleeps
pub mod clock;
pub mod clock_state;
pub mod faults;
pub mod feed_log;
pub mod host;
pub mod launch;
pub mod os;
pub mod record;
pub mod render;
pub mod replay;
pub mod responses;
pub mod run;
pub mod stats;
pub mod timing;
pub mod wakeups;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::config::rig::faults::DeviceFaults;
use crate::config::rig::objects::ObjectConfig;
use crate::config::rig::responses::StimulusCause;
use crate::config::rig::{
    CasterChoice, ControlConfig, DeviceConfig, EngineConfig, LineConfig, LinkConfig, Rig,
    SceneSource, StampChoice, UdpConfig,
};
use crate::devices::{self, Built};
use crate::frames::{Body, GeoOrigin, Sensor, Transform};
use crate::links::card_clock::CardClock;
use crate::links::http::HttpServer;
use crate::links::line::LineSettings;
use crate::links::pty::PtyLink;
use crate::links::serial::SerialLink;
use crate::links::tcp::TcpLink;
use crate::links::tcp_server::TcpServer;
use crate::links::udp::{UdpLink, UdpOptions};
use crate::links::{ByteLink, interface};
use crate::sensors::Surroundings;
use crate::sensors::lidar::Watch;
use crate::time::Epoch;
use crate::world::ground::{GroundHeight, Terrain};
use crate::world::loaders::{self, SceneError};
use crate::world::moving::{MovingObject, ObjectError};
use crate::world::raycast::embree::{self, EmbreeCaster, EmbreeError, EmbreeSettings};
use crate::world::raycast::{BuildError, BvhCaster, MovingCaster, RayCaster};
use crate::world::scene::Scene;
use crate::world::trajectory::{Trajectory, TrajectoryError};

/// Why a rig that reads well cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The scene cannot be loaded.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The scene cannot be cast into.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// Embree is asked for and is not there, or fails.
    #[error(transparent)]
    Embree(#[from] EmbreeError),
    /// The trajectory cannot be driven.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// An object of the world cannot be made.
    #[error("object `{}`: {error}", object.name)]
    Object {
        /// Which.
        object: Box<ObjectConfig>,
        /// Why.
        error: ObjectError,
    },
    /// A device's second link cannot be had.
    #[error("device `{device}`: {error}")]
    Control {
        /// The device whose link it is.
        device: String,
        /// The system's answer.
        error: io::Error,
    },
    /// The port of a feed cannot be opened.
    #[error("cannot listen at {listen} for the motion of `{of}`: {error}")]
    Feed {
        /// Whose motion it is.
        of: String,
        /// Where it was to come.
        listen: SocketAddr,
        /// The system's answer.
        error: io::Error,
    },
    /// The port of a response cannot be opened.
    #[error("cannot listen for the response `{response}`: {error}")]
    Response {
        /// Which.
        response: String,
        /// The system's answer.
        error: io::Error,
    },
    /// A link cannot be opened.
    #[error("device `{device}`: {error}")]
    Link {
        /// The device whose link it is.
        device: String,
        /// The system's answer.
        error: io::Error,
    },
}

/// The world of a rig, ready to be driven through. Shared by all threads.
pub struct LiveWorld {
    /// What pulses hit.
    pub caster: Box<dyn RayCaster>,
    /// Where the robot is.
    pub trajectory: Trajectory,
    /// What else moves, in the rig's order.
    pub objects: Arc<[MovingObject]>,
    /// Which objects are looked out for.
    pub watch: Watch,
    /// Where World stands on Earth.
    pub origin: GeoOrigin,
    /// What was loaded, for people.
    pub summary: WorldSummary,
}

/// What a loaded world holds.
#[derive(Clone, Debug)]
pub struct WorldSummary {
    /// The scene's name or path.
    pub scene: String,
    /// Triangles counting copies.
    pub instanced_triangles: u64,
    /// Instances.
    pub instances: usize,
    /// Things that move, the robot aside.
    pub moving_objects: usize,
    /// Bytes of the tracer's trees.
    pub tracer_bytes: usize,
}

/// What a rig names, before rays can be cast; what `check` needs.
pub struct LoadedWorld {
    /// What does not move.
    pub scene: Scene,
    /// The robot's motion.
    pub trajectory: Trajectory,
    /// What else moves.
    pub objects: Vec<MovingObject>,
    /// Where World stands on Earth.
    pub origin: GeoOrigin,
}

/// Loads the scene of `rig`, its objects and all motions.
pub fn load_scene(rig: &Rig) -> Result<LoadedWorld, SetupError> {
    if rig.engine.caster == CasterChoice::Embree {
        let (version, path) = embree::find()?;
        tracing::info!("Embree {version}, {path}");
    }
    let scene = loaders::load(&rig.world.scene)?;
    let origin = GeoOrigin::new(rig.origin);
    let motions = rig.world.objects.iter().map(|object| &object.motion);
    let follows = motions.chain([&rig.robot]).any(|motion| motion.follow_ground);
    let terrain = follows.then(|| Terrain::new(&scene));
    let ground = terrain.as_ref().map(|t| t as &dyn GroundHeight);
    let trajectory = Trajectory::new(&rig.robot, &origin, ground)?;
    let object = |config: &ObjectConfig| {
        MovingObject::new(config, &origin, ground)
            .map_err(|error| SetupError::Object { object: Box::new(config.clone()), error })
    };
    let mut objects = rig.world.objects.iter().map(object).collect::<Result<Vec<_>, _>>()?;
    for stimulus in &rig.stimuli {
        if let StimulusCause::Object { object, schedule } = stimulus.cause {
            objects[object].shown.push(schedule);
        }
    }
    Ok(LoadedWorld { scene, trajectory, objects, origin })
}

impl LiveWorld {
    /// Loads and builds everything `rig` names.
    pub fn load(rig: &Rig) -> Result<Self, SetupError> {
        Self::load_with(rig, |_| ())
    }

    /// As [`LiveWorld::load`]; `look` is shown the scene before it is built.
    pub fn load_with(rig: &Rig, look: impl FnOnce(&Scene)) -> Result<Self, SetupError> {
        let LoadedWorld { scene, trajectory, objects, origin } = load_scene(rig)?;
        look(&scene);
        let scene = Arc::new(scene);
        let (mut caster, tracer_bytes) = build_caster(rig.engine.caster, &scene)?;
        let summary = WorldSummary {
            scene: scene_name(&rig.world.scene),
            instanced_triangles: scene.instanced_triangles(),
            instances: scene.instances.len(),
            moving_objects: objects.len(),
            tracer_bytes: tracer_bytes + objects.iter().map(|o| o.memory_bytes()).sum::<usize>(),
        };
        let objects: Arc<[MovingObject]> = objects.into();
        if !objects.is_empty() {
            caster = Box::new(MovingCaster::new(caster, scene.instances.len(), objects.clone()));
        }
        let watched = objects.iter().take(64).enumerate().filter(|(_, o)| !o.shown.is_empty());
        let watch = Watch {
            first_instance: scene.instances.len() as u32,
            objects: watched.fold(0, |mask, (index, _)| mask | 1 << index),
        };
        Ok(Self { caster, trajectory, objects, watch, origin, summary })
    }

    /// What a sensor at `body_from_sensor` finds itself in.
    pub fn surroundings(&self, body_from_sensor: &Transform<Body, Sensor>) -> Surroundings<'_> {
        Surroundings {
            caster: self.caster.as_ref(),
            trajectory: &self.trajectory,
            origin: &self.origin,
            body_from_sensor: *body_from_sensor,
        }
    }
}

/// The tracer of a scene, and the bytes of its trees.
fn build_caster(
    choice: CasterChoice,
    scene: &Arc<Scene>,
) -> Result<(Box<dyn RayCaster>, usize), SetupError> {
    Ok(match choice {
        CasterChoice::Menura => {
            let caster = BvhCaster::new(scene.clone())?;
            let bytes = caster.memory_bytes();
            (Box::new(caster), bytes)
        }
        CasterChoice::Embree => {
            let caster = EmbreeCaster::new(scene.clone(), EmbreeSettings::default())?;
            let bytes = caster.memory_bytes();
            (Box::new(caster), bytes)
        }
    })
}

fn scene_name(source: &SceneSource) -> String {
    match source {
        SceneSource::Courtyard(_) => "courtyard".into(),
        SceneSource::Room(_) => "room".into(),
        SceneSource::RootStep(_) => "root-step".into(),
        SceneSource::File { path, .. } => path.display().to_string(),
    }
}

/// Threads that cast rays when the rig does not say.
pub fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Builds the devices of a rig, in its order.
pub fn build_devices(rig: &Rig, epoch: Epoch) -> Vec<Built> {
    let built = rig.devices.iter().enumerate().map(|(index, device)| {
        let faults = DeviceFaults::of(&rig.faults, index);
        devices::build(device, &faults, rig.seed, epoch)
    });
    built.collect()
}

/// An open link.
pub enum Link {
    /// Datagrams: a socket for each of the device's ports, by [`PortIndex`].
    Datagrams(Vec<UdpLink>),
    /// A serial line; a port thread reads it while the sender writes.
    Line(Arc<dyn ByteLink>),
    /// A server; a port thread hears its clients while the sender writes to them.
    Server(TcpServer),
}

impl Link {
    /// The link in the status view.
    pub fn describe(&self) -> String {
        match self {
            Self::Datagrams(ports) => {
                ports.first().map_or_else(String::new, |data| format!("udp {}", data.to()))
            }
            Self::Line(line) => line.describe(),
            Self::Server(server) => server.describe(),
        }
    }
}

/// A device's second link, which is only heard.
pub enum ControlLink {
    /// A web interface.
    Web(HttpServer),
    /// A serial line.
    Line(Arc<dyn ByteLink>),
}

impl ControlLink {
    /// The link in the status view.
    pub fn describe(&self) -> String {
        match self {
            Self::Web(server) => format!("http://{}", server.address()),
            Self::Line(line) => line.describe(),
        }
    }
}

/// Opens the second link of a device, if it has one; its serial port starts at `line`.
pub fn open_control(
    device: &DeviceConfig,
    line: LineSettings,
) -> Result<Option<ControlLink>, SetupError> {
    let opened = match &device.control {
        None => return Ok(None),
        Some(ControlConfig::Web(address)) => HttpServer::listen(*address).map(ControlLink::Web),
        Some(ControlConfig::Line(config)) => open_line(config, line).map(ControlLink::Line),
    };
    opened.map(Some).map_err(|error| SetupError::Control { device: device.name.clone(), error })
}

/// Opens the link of a device whose serial port, if it has one, starts at `line`; datagrams leave
/// and are stamped as `engine` has it.
pub fn open_link(
    device: &DeviceConfig,
    line: LineSettings,
    engine: &EngineConfig,
) -> Result<Link, SetupError> {
    let opened = match &device.link {
        LinkConfig::Udp(udp) => open_ports(device, udp).and_then(|mut ports| {
            prepare_sending(&mut ports, udp.interface.as_deref(), engine)?;
            Ok(Link::Datagrams(ports))
        }),
        LinkConfig::Line(config) => open_line(config, line).map(Link::Line),
        LinkConfig::TcpServer(addresses) => TcpServer::listen(addresses).map(Link::Server),
    };
    opened.map_err(|error| SetupError::Link { device: device.name.clone(), error })
}

/// Has what the `ports` of a device send leave, and be stamped, by `interface` as `engine` has it;
/// without one, by that which leads to their host.
fn prepare_sending(
    ports: &mut [UdpLink],
    interface: Option<&str>,
    engine: &EngineConfig,
) -> io::Result<()> {
    let is_by_card = engine.stamps == StampChoice::Card;
    let Some(to) = ports.first().map(UdpLink::to).filter(|_| engine.launch_time || is_by_card)
    else {
        return Ok(());
    };
    let interface = match interface {
        Some(name) => name.to_owned(),
        None => interface::towards(to)?,
    };
    if engine.launch_time {
        launch::prepare(ports, &interface)?;
    }
    if is_by_card {
        let clock = CardClock::open(&interface).map_err(|error| {
            let text = format!("stamps by the card (`engine.stamps`, `--stamps`): {error}");
            io::Error::new(error.kind(), text)
        })?;
        let clock = Arc::new(clock);
        ports.iter_mut().for_each(|port| port.set_card_clock(Arc::clone(&clock)));
    }
    Ok(())
}

fn open_line(config: &LineConfig, line: LineSettings) -> io::Result<Arc<dyn ByteLink>> {
    Ok(match config {
        LineConfig::Pty(options) => Arc::new(PtyLink::open(options.clone(), line)?),
        LineConfig::Serial(options) => Arc::new(SerialLink::open(options.clone(), line)?),
        LineConfig::Tcp(address) => Arc::new(TcpLink::listen(*address)?),
    })
}

/// Opens a socket for each port of a device. Where the rig says nothing, the profile does.
fn open_ports(device: &DeviceConfig, udp: &UdpConfig) -> io::Result<Vec<UdpLink>> {
    let host = udp.host();
    let open = |(place, port): (usize, &DatagramPort)| {
        let to = host.of(PortIndex(place as u8)).ok_or(io::ErrorKind::InvalidInput)?;
        let mut from = udp.from;
        // A source port that the rig leaves open for the first is left open for the others too.
        if let Some(from) = from.as_mut().filter(|from| place > 0 && from.port() != 0) {
            from.set_port(port.frame.source_port);
        }
        UdpLink::open(&UdpOptions {
            to,
            from,
            interface: udp.interface.clone(),
            ttl: udp.ttl.or(Some(port.frame.ttl)),
            dont_fragment: Some(port.frame.dont_fragment),
            broadcast: udp.broadcast,
        })
    };
    device.profile.ports().iter().enumerate().map(open).collect()
}
