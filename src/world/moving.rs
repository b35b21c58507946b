//! Moving objects: rigid bodies, each with a trajectory of its own.

use std::sync::Arc;

use glam::{DAffine3, DVec3};

use super::builtin::bodies;
use super::ground::GroundHeight;
use super::loaders::{self, SceneError};
use super::raycast::{BuildError, BvhCaster};
use super::scene::Scene;
use super::trajectory::{Trajectory, TrajectoryError};
use crate::config::rig::SceneSource;
use crate::config::rig::objects::{ObjectBody, ObjectConfig};
use crate::config::rig::schedule::Schedule;
use crate::frames::{Body, GeoOrigin, Transform, World};
use crate::time::SimTime;

/// A rigid body with a trajectory, ready for ray casting.
pub struct MovingObject {
    /// Its name in the rig.
    pub name: String,
    /// Its pose over time.
    pub trajectory: Trajectory,
    /// Windows of time in which it exists; empty means always.
    pub shown: Vec<Schedule>,
    /// Casts rays into its body, in the body's frame.
    pub(super) caster: BvhCaster,
    /// Centre of a bounding ball, in the body's frame.
    pub(super) centre: DVec3,
    pub(super) radius_m: f64,
}

/// Why an object cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Its mesh cannot be loaded.
    #[error(transparent)]
    Body(#[from] SceneError),
    /// No tree can be built of its mesh.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Its trajectory is not possible.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
}

impl MovingObject {
    /// Loads the body of `config` and makes its trajectory; `geo` and `ground` are as for
    /// [`Trajectory::new`].
    ///
    /// # Errors
    /// What is wrong with the mesh or the trajectory.
    pub fn new(
        config: &ObjectConfig,
        geo: &GeoOrigin,
        ground: Option<&dyn GroundHeight>,
    ) -> Result<Self, ObjectError> {
        let scene = match &config.body {
            ObjectBody::BuiltIn { shape, size_m, reflectance } => {
                bodies::build(*shape, *size_m, *reflectance)
            }
            ObjectBody::File { path, body_from_mesh } => {
                let source = SceneSource::File { path: path.clone(), seed: 0 };
                placed(loaders::load(&source)?, body_from_mesh)
            }
        };
        let trajectory = Trajectory::new(&config.motion, geo, ground)?;
        Ok(Self::of(&config.name, scene, trajectory)?)
    }

    /// An object called `name` whose body is `scene`, in the body's frame.
    ///
    /// # Errors
    /// No tree can be built of the scene.
    pub fn of(name: &str, scene: Scene, trajectory: Trajectory) -> Result<Self, BuildError> {
        let (centre, radius_m) = ball(&scene);
        let caster = BvhCaster::new(Arc::new(scene))?;
        Ok(Self { name: name.to_owned(), trajectory, shown: Vec::new(), caster, centre, radius_m })
    }

    /// Its pose at `at`.
    pub fn pose(&self, at: SimTime) -> Transform<World, Body> {
        self.trajectory.pose(at)
    }

    /// Whether it exists at `at`.
    pub fn is_there(&self, at: SimTime) -> bool {
        self.shown.is_empty() || self.shown.iter().any(|shown| shown.window_at(at).is_some())
    }

    /// Its body, in the body's frame.
    pub fn body(&self) -> &Arc<Scene> {
        self.caster.scene()
    }

    /// Bytes of its trees.
    pub fn memory_bytes(&self) -> usize {
        self.caster.memory_bytes()
    }
}

fn placed(mut scene: Scene, body_from_mesh: &DAffine3) -> Scene {
    for instance in &mut scene.instances {
        instance.world_from_mesh = *body_from_mesh * instance.world_from_mesh;
    }
    scene.ground.clear();
    scene
}

/// Centre and radius of a ball that contains the scene, centred on its bounding box.
fn ball(scene: &Scene) -> (DVec3, f64) {
    let corners = || {
        scene.instances.iter().flat_map(|instance| {
            let positions = &scene.meshes[instance.mesh as usize].positions;
            positions.iter().map(|p| {
                instance.world_from_mesh.transform_point3(DVec3::from_array(p.map(f64::from)))
            })
        })
    };
    let (low, high) = corners()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
    if low.x > high.x {
        return (DVec3::ZERO, 0.0);
    }
    let centre = 0.5 * (low + high);
    (centre, corners().map(|p| p.distance(centre)).fold(0.0, f64::max))
}
