//! Clocks, deadlines and workers: the real-time loop and the recorder.
//!
//! ```text
//! scheduler (devices) --jobs--> workers (sensors, rays) --measurements--> scheduler --packets--> sender
//! ```
//!
//! Workers render ahead and may finish in any order. Each device gets its measurements in the order of its requests, so
//! the bytes never depend on the number of workers. A free worker chooses the device to serve ([`work_queue`]). [`run`]
//! passes packets to the sender, which sends them at their due times; a rig can add a standby sender. [`record`] writes
//! the same packets to files, without a real-time clock: its time advances with the rendering.

mod actuators;
pub mod bench;
pub(crate) mod cables;
pub mod caster;
pub mod certificate;
pub(crate) mod connections;
pub(crate) mod due_queue;
pub mod faults;
pub mod feed_log;
mod growing_file;
pub mod host;
pub mod host_events;
pub mod host_log;
pub mod hosts;
pub mod launch;
pub mod live_faults;
mod log_failures;
pub mod os;
pub(crate) mod packet;
pub mod ptp_figures;
pub mod ranks;
pub mod record;
pub mod refusal;
pub(crate) mod render;
pub mod replay;
pub mod replay_times;
pub mod responses;
pub mod run;
pub mod run_control;
pub mod session;
pub mod sky;
pub mod stats;
pub mod truth;
pub mod wakeups;
pub(crate) mod work_queue;
pub mod workers;
pub(crate) mod world;

use std::io;
use std::net::SocketAddr;

use crate::config::rig::Rig;
use crate::config::rig::faults::DeviceFaults;
use crate::config::rig::objects::ObjectConfig;
use crate::devices::{self, Built};
use crate::time::Epoch;
use crate::world::loaders::SceneError;
use crate::world::moving::ObjectError;
use crate::world::raycast::BuildError;
use crate::world::raycast::embree::EmbreeError;
use crate::world::trajectory::TrajectoryError;
use caster::GpuProblem;
pub use run::RealTimeRun;
pub use session::{LiveRun, RunError, RunLogs, RunOptions, RunOutcome, RunSession, SpawnedRun};
pub use world::{LiveWorld, LoadedWorld, WorldSummary, load_scene};

/// Reason why a valid rig cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The scene cannot be loaded.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The scene cannot be prepared for ray casting.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// Embree was requested, but is not installed or fails.
    #[error(transparent)]
    Embree(#[from] EmbreeError),
    /// A GPU was requested, but none is used; the [`GpuProblem`] is the reason.
    #[error(transparent)]
    Gpu(#[from] GpuProblem),
    /// The robot cannot follow its trajectory.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// An object of the world cannot be created.
    #[error("object `{}`: {error}", object.name)]
    Object {
        /// Configuration of the object in the rig.
        object: Box<ObjectConfig>,
        /// Reason why the object cannot be created.
        error: ObjectError,
    },
    /// The port of a feed cannot be opened.
    #[error("cannot listen at {listen} for the motion of `{of}`: {error}")]
    Feed {
        /// Name of the robot or object that the feed moves.
        of: String,
        /// Address of the feed.
        listen: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The port at which the robot's response is awaited cannot be opened.
    #[error("cannot listen for the response `{response}`: {error}")]
    Response {
        /// Name of the response in the rig.
        response: String,
        /// The system's error.
        error: io::Error,
    },
    /// A device's control cannot be opened.
    #[error("device `{device}`: {error}")]
    Control {
        /// Device of the control.
        device: String,
        /// The system's error.
        error: io::Error,
    },
    /// The sockets of the PTP master cannot be opened.
    #[error("[engine.ptp]: {0}")]
    PtpMaster(io::Error),
    /// A link cannot be opened.
    #[error("device `{device}`: {error}")]
    Link {
        /// Device of the link.
        device: String,
        /// The system's error.
        error: io::Error,
    },
}

/// Default number of worker threads: the number of processors that this process can use; 1 if unknown.
pub fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Builds the devices of a rig, in the rig's order.
pub fn build_devices(rig: &Rig, epoch: Epoch) -> Vec<Built> {
    let built = rig.devices.iter().enumerate().map(|(index, device)| {
        let faults = DeviceFaults::of(&rig.faults, index);
        devices::build(device, &faults, rig.seed, epoch)
    });
    built.collect()
}
