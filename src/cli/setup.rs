//! Loads a rig's world and shows progress.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::out_paths::spare_what_was_read;
use super::{CliError, console};
use crate::config::rig::{Rig, TrajectoryConfig};
use crate::config::toml::diagnostic::{Diagnostics, SourceFile};
use crate::devices::families::family_of;
use crate::engine::caster::for_few_rays;
use crate::engine::host_log::{self, Conversation};
use crate::engine::{LiveWorld, LoadedWorld, SetupError, sky};
use crate::world::moving::ObjectError;
use crate::world::scene::Scene;

/// Message for a setup error. It points to the line of the rig that causes the error, if there is one.
pub fn explain(rig: &Rig, error: &SetupError) -> CliError {
    let (place, title) = match error {
        SetupError::Control { .. } => {
            return CliError::Input(format!("error: {error}\n"));
        }
        SetupError::Link { .. }
        | SetupError::Feed { .. }
        | SetupError::Response { .. }
        | SetupError::PtpMaster(_) => {
            return CliError::Failed(error.to_string());
        }
        SetupError::Scene(_) | SetupError::Build(_) => (&rig.places.scene, "cannot load the scene"),
        SetupError::Embree(_) => match &rig.places.caster {
            Some(place) => (place, "cannot cast with Embree"),
            None => return CliError::Failed(error.to_string()),
        },
        SetupError::Gpu(_) => match &rig.places.caster {
            Some(place) => (place, "cannot cast with a GPU"),
            None => return CliError::Failed(error.to_string()),
        },
        SetupError::Object { object, error } => match error {
            ObjectError::Trajectory(_) => (&object.trajectory_place, "cannot use the trajectory"),
            ObjectError::Body(_) | ObjectError::Build(_) => {
                (&object.body_place, "cannot load the body")
            }
        },
        SetupError::Trajectory(_) => (&rig.places.trajectory, "cannot use the trajectory"),
    };
    let mut fault = place.fault(title, "named here");
    for line in error.to_string().lines() {
        fault = fault.note(line);
    }
    Diagnostics::from(fault).into()
}

/// Returns an error if the robot or an object follows a feed, which only `run` supports; `what` names the requested
/// command.
pub fn refuse_feeds(rig: &Rig, what: &str) -> Result<(), CliError> {
    let objects = rig.world.objects.iter().map(|o| (&o.motion.trajectory, &o.trajectory_place));
    let all = std::iter::once((&rig.robot.trajectory, &rig.places.trajectory)).chain(objects);
    let mut faults = Diagnostics::default();
    for (trajectory, place) in all {
        if let TrajectoryConfig::Feed(_) = trajectory {
            let title = format!("{what} cannot follow a feed");
            let why = format!("{what} does not run in real time, so that it cannot receive poses");
            let fault = place.fault(&title, "a feed sets this motion").note(why);
            faults.push(fault.help("use a trajectory that is known in advance: kind = \"file\""));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Largest size of a host log, bytes.
const MAX_HOST_LOG_BYTES: u64 = 1 << 30;

/// Reads the host log at `path`, which must be from a run of `rig`. Ignores an incomplete last line, with a warning.
pub fn read_host_log(path: &Path, rig: &Rig) -> Result<Conversation, CliError> {
    let wrong = |problem: &dyn Display| {
        CliError::Input(format!("error: cannot replay the host log {}: {problem}", path.display()))
    };
    let source = SourceFile::read("host log", path, MAX_HOST_LOG_BYTES).map_err(|e| wrong(&e))?;
    let hosts = host_log::read(&source.text, rig).map_err(|fault| wrong(&fault))?;
    if hosts.is_cut_off {
        let shown = path.display();
        console::say(format_args!("warning: {shown}: its last line is cut off and was left out"));
    }
    Ok(hosts)
}

/// Loads and builds the world; shows a spinner on a terminal.
pub fn load_world(rig: &Rig) -> Result<LiveWorld, CliError> {
    load_world_with(rig, |_| ())
}

/// Like [`load_world`]; `look` gets the scene before the ray caster is built.
pub fn load_world_with(rig: &Rig, look: impl FnOnce(&Scene)) -> Result<LiveWorld, CliError> {
    let style =
        ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
    let spinner = ProgressBar::new_spinner().with_style(style).with_message("loading the world");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let world = LiveWorld::load_with(rig, look);
    spinner.finish_and_clear();
    let world = world.map_err(|error| explain(rig, &error))?;
    spare_what_was_read()?;
    Ok(world)
}

/// Largest number of stored triangles of a scene for which `check` tests whether the scene hides the sky. The test
/// requires the ray caster, which takes long to build for a larger scene.
const QUICK_TRIANGLES: u64 = 2_000_000;

/// Prints a warning about GNSS receivers whose sky the scene hides.
pub fn warn_of_hidden_sky(rig: &Rig, world: &LiveWorld) {
    for hidden in sky::hidden(rig, world) {
        console::say(hidden);
    }
}

/// Like [`warn_of_hidden_sky`], for a scene that is loaded but not built. A large scene is not checked; a note says so.
pub fn look_for_sky(rig: &Rig, loaded: LoadedWorld) -> Result<(), CliError> {
    if !sky::is_asked_for(rig) {
        return Ok(());
    }
    if loaded.scene.stored_triangles() > QUICK_TRIANGLES {
        console::say(
            "note: the scene is large, so `check` did not test whether it hides the sky from a \
             GNSS receiver; `run` and `record` do",
        );
        return Ok(());
    }
    let rig = for_few_rays(rig);
    let world = LiveWorld::build(&rig, loaded).map_err(|error| explain(&rig, &error))?;
    warn_of_hidden_sky(&rig, &world);
    Ok(())
}

/// Changes the settings of devices that wait for a host, so that they stream from power-on.
pub fn start_streams(rig: &mut Rig) {
    for device in &mut rig.devices {
        if let Some(settings) = family_of(&device.profile).streaming(device) {
            device.settings = settings;
        }
    }
}
