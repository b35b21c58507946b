//! Loads the world of a rig: scene, moving objects, and ray caster.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::SetupError;
use super::caster::{self, Chosen};
use crate::config::rig::faults::FaultKind;
use crate::config::rig::joints::{Jam, JointJam};
use crate::config::rig::objects::ObjectConfig;
use crate::config::rig::responses::StimulusCause;
use crate::config::rig::{DeviceId, Rig, SceneSource};
use crate::frames::{Body, GeoOrigin, Sensor, Transform};
use crate::sensors::Surroundings;
use crate::sensors::lidar::Watch;
use crate::sensors::weather::Weather;
use crate::world::ground::{GroundHeight, Terrain};
use crate::world::joints::Joints;
use crate::world::loaders::{self, Disk};
use crate::world::moving::{Bodies, MovingCaster, MovingObject};
use crate::world::raycast::RayCaster;
use crate::world::scene::Scene;
use crate::world::trajectory::Trajectory;

/// The world of a rig, ready for measurements. All threads share it.
pub struct LiveWorld {
    /// Ray caster for pulses.
    pub caster: Box<dyn RayCaster>,
    /// Trajectory of the robot.
    pub trajectory: Trajectory,
    /// Joints of the robot.
    pub joints: Joints,
    /// Index of the joint that carries each device, by [`DeviceId`]; `None` for devices on the body.
    pub carriers: Vec<Option<usize>>,
    /// Moving objects, in the rig's order.
    pub objects: Arc<[MovingObject]>,
    /// Static scene.
    pub scene: Arc<Scene>,
    /// Objects whose first return is reported as the stimulus of a latency measurement.
    pub watch: Watch,
    /// Whether sensors return ground truth with their measurements. Must be set before the world is used.
    pub keeps_truth: bool,
    /// Whether an observer shows labels of lidar points; while it is set, lidars return ground truth with
    /// their measurements.
    pub shows_labels: AtomicBool,
    /// Position of the World frame on Earth.
    pub origin: GeoOrigin,
    /// Weather; `None` if the air is clear.
    pub weather: Option<Weather>,
    /// Summary of the world, for messages.
    pub summary: WorldSummary,
}

/// Summary of a loaded world.
#[derive(Clone, Debug)]
pub struct WorldSummary {
    /// Name or path of the scene.
    pub scene: String,
    /// Number of triangles, including those of all copies.
    pub instanced_triangles: u64,
    /// Number of instances.
    pub instances: usize,
    /// Number of moving objects, without the robot.
    pub moving_objects: usize,
    /// Size of the ray tracer's trees, bytes.
    pub tracer_bytes: usize,
    /// Identity of the ray caster: the processor, a GPU with its driver, or a library.
    pub caster: String,
}

/// The world of a rig as loaded from its files, without a ray caster; `menura check` uses only this.
pub struct LoadedWorld {
    /// Static scene.
    pub scene: Scene,
    /// Trajectory of the robot.
    pub trajectory: Trajectory,
    /// Joints of the robot.
    pub joints: Joints,
    /// Moving objects, in the rig's order.
    pub objects: Vec<MovingObject>,
    /// Position of the World frame on Earth.
    pub origin: GeoOrigin,
}

/// Loads the scene of `rig`, its objects and all trajectories.
pub fn load_scene(rig: &Rig) -> Result<LoadedWorld, SetupError> {
    caster::look_for(rig.engine.caster)?;
    let colours = caster::has_cameras(rig);
    let scene = loaders::load(&rig.world.scene, &Disk { colours })?;
    let origin = GeoOrigin::new(rig.origin);
    let motions = rig.world.objects.iter().map(|object| &object.motion);
    let follows = motions.chain([&rig.robot]).any(|motion| motion.follow_ground);
    let terrain = follows.then(|| Arc::new(Terrain::new(&scene)));
    let ground = terrain.as_deref().map(|t| t as &dyn GroundHeight);
    let trajectory = Trajectory::new(&rig.robot, &origin, ground)?;
    if let Some(terrain) = terrain.as_ref().filter(|_| rig.robot.follow_ground) {
        trajectory.keep_ground(terrain.clone())?;
    }
    let mut bodies = Bodies::new(colours);
    let object = |config: &ObjectConfig| {
        bodies
            .object(config, &origin, ground)
            .map_err(|error| SetupError::Object { object: Box::new(config.clone()), error })
    };
    let mut objects = rig.world.objects.iter().map(object).collect::<Result<Vec<_>, _>>()?;
    for stimulus in &rig.stimuli {
        if let StimulusCause::Object { object, schedule } = stimulus.cause {
            objects[object].shown.push(schedule);
        }
    }
    let joints = joints(rig);
    Ok(LoadedWorld { scene, trajectory, joints, objects, origin })
}

/// Joints of `rig`, with the faults that block them.
fn joints(rig: &Rig) -> Joints {
    let jams = rig.faults.iter().enumerate().filter_map(|(fault, config)| {
        let FaultKind::Device(kind) = &config.kind else { return None };
        let jam = *kind.get::<JointJam>()?;
        let (joint, _) = rig.devices.get(config.device)?.on.as_ref()?;
        Some((*joint, Jam { fault, schedule: config.schedule, jam }))
    });
    Joints::new(rig.joints.iter().map(|joint| &**joint), &jams.collect::<Vec<_>>())
}

impl LiveWorld {
    /// Loads the scene, objects and trajectories that `rig` names, and builds the ray caster.
    pub fn load(rig: &Rig) -> Result<Self, SetupError> {
        Self::load_with(rig, |_| ())
    }

    /// Like [`LiveWorld::load`]; calls `look` with the scene before the ray caster is built.
    pub fn load_with(rig: &Rig, look: impl FnOnce(&Scene)) -> Result<Self, SetupError> {
        let loaded = load_scene(rig)?;
        look(&loaded.scene);
        Self::build(rig, loaded)
    }

    /// Builds the ray caster of a loaded world.
    pub fn build(rig: &Rig, loaded: LoadedWorld) -> Result<Self, SetupError> {
        let LoadedWorld { scene, trajectory, joints, objects, origin } = loaded;
        let scene = Arc::new(scene);
        let bodies: Vec<_> = objects.iter().map(|object| object.caster().clone()).collect();
        let Chosen { mut caster, tracer_bytes, identity } = caster::choose(rig, &scene, &bodies)?;
        let summary = WorldSummary {
            scene: scene_name(&rig.world.scene),
            instanced_triangles: scene.instanced_triangles(),
            instances: scene.instances.len(),
            moving_objects: objects.len(),
            tracer_bytes: tracer_bytes + objects.iter().map(|o| o.memory_bytes()).sum::<usize>(),
            caster: identity,
        };
        let objects: Arc<[MovingObject]> = objects.into();
        if let Some(driven) = trajectory.driven() {
            let names = objects.iter().map(|object| object.name.clone()).collect();
            driven.look_around(scene.clone(), names);
        }
        if !objects.is_empty() {
            caster = Box::new(MovingCaster::new(caster, scene.instances.len(), objects.clone()));
        }
        let watched = objects.iter().take(64).enumerate().filter(|(_, o)| !o.shown.is_empty());
        let watch = Watch {
            first_instance: scene.instances.len() as u32,
            objects: watched.fold(0, |mask, (index, _)| mask | 1 << index),
        };
        let is_clear = rig.world.weather.is_clear();
        let weather =
            (!is_clear).then(|| Weather::new(&rig.world.weather, rig.seed, objects.clone()));
        let carriers =
            rig.devices.iter().map(|device| device.on.as_ref().map(|(joint, _)| *joint)).collect();
        Ok(Self {
            caster,
            trajectory,
            joints,
            carriers,
            objects,
            scene,
            watch,
            keeps_truth: false,
            shows_labels: AtomicBool::new(false),
            origin,
            weather,
            summary,
        })
    }

    /// Identity of the ray caster, with a note if a GPU has cast no pulses or was lost.
    pub fn caster_report(&self) -> String {
        let identity = &self.summary.caster;
        match self.caster.lost() {
            Some(why) => format!("{identity}; lost ({why}), the processor took over"),
            None if self.caster.in_flight() > 1 && self.caster.pulses_by_gpu() == 0 => {
                format!("{identity}, which has cast no pulses")
            }
            None => identity.clone(),
        }
    }

    /// Surroundings of a device's sensor; `body_from_sensor` is its pose on the body or on the joint that carries it.
    pub fn surroundings_of(
        &self,
        device: DeviceId,
        body_from_sensor: &Transform<Body, Sensor>,
    ) -> Surroundings<'_> {
        let joint = self.carriers.get(device.0).copied().flatten();
        let carrier = joint.map(|joint| self.joints.carrier(joint));
        Surroundings { carrier, ..self.surroundings(body_from_sensor) }
    }

    /// Surroundings of a sensor on the body; `body_from_sensor` is its pose.
    pub fn surroundings(&self, body_from_sensor: &Transform<Body, Sensor>) -> Surroundings<'_> {
        Surroundings {
            caster: self.caster.as_ref(),
            trajectory: &self.trajectory,
            origin: &self.origin,
            carrier: None,
            body_from_sensor: *body_from_sensor,
            weather: self.weather.as_ref(),
        }
    }
}

fn scene_name(source: &SceneSource) -> String {
    match source {
        SceneSource::Courtyard(_) => "courtyard".into(),
        SceneSource::Room(_) => "room".into(),
        SceneSource::RootStep(_) => "root-step".into(),
        SceneSource::Rods(_) => "rods".into(),
        SceneSource::MeadowWall(_) => "meadow-wall".into(),
        SceneSource::GrassStand(_) => "grass-stand".into(),
        SceneSource::Shrub(_) => "shrub".into(),
        SceneSource::Street(_) => "street".into(),
        SceneSource::AndabataField(_) => "andabata-field".into(),
        SceneSource::FortDrum(_) => "fort-drum".into(),
        SceneSource::File { path, .. } => path.display().to_string(),
    }
}
