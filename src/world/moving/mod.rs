//! Moving objects: rigid bodies, each with its own trajectory.

mod caster;

use std::sync::Arc;

use glam::{DAffine3, DVec3};

use crate::config::rig::objects::{ObjectBody, ObjectConfig};
use crate::config::rig::schedule::Schedule;
use crate::frames::{Body, GeoOrigin, Transform, World};
use crate::time::SimTime;
use crate::world::builtin::bodies;
use crate::world::ground::GroundHeight;
use crate::world::loaders::{self, Fault, Place, Problem, SceneError};
use crate::world::raycast::{BuildError, BvhCaster};
use crate::world::scene::Scene;
use crate::world::trajectory::{Trajectory, TrajectoryError};
pub use caster::MovingCaster;

/// A rigid body with a trajectory, ready for ray casting.
pub struct MovingObject {
    /// Name of the object in the rig.
    pub name: String,
    /// Trajectory of the object.
    pub trajectory: Trajectory,
    /// Time windows in which the object exists; empty: always.
    pub shown: Vec<Schedule>,
    /// Casts rays into the object's body, in the body's axes.
    caster: Arc<BvhCaster>,
    /// Centre of a bounding ball, in the body's frame.
    centre: DVec3,
    radius_m: f64,
}

/// Error in creating a moving object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The mesh cannot be loaded.
    #[error(transparent)]
    Body(#[from] SceneError),
    /// No ray-casting tree can be built over the mesh.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The trajectory is invalid.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
}

/// A body with its caster, ready for ray casting.
#[derive(Clone)]
struct Solid {
    caster: Arc<BvhCaster>,
    centre: DVec3,
    radius_m: f64,
}

impl Solid {
    fn new(scene: Scene) -> Result<Self, BuildError> {
        let (centre, radius_m) = ball(&scene);
        Ok(Self { caster: Arc::new(BvhCaster::new(Arc::new(scene))?), centre, radius_m })
    }
}

/// Bodies of a world's objects. Equal bodies are loaded once, and their total size is limited.
#[derive(Default)]
pub struct Bodies {
    /// Whether colour images are loaded.
    colours: bool,
    known: Vec<(ObjectBody, Solid)>,
    stored: u64,
}

impl Bodies {
    /// Starts without bodies. If `colours` is true, colour images are loaded as well.
    pub fn new(colours: bool) -> Self {
        Self { colours, ..Self::default() }
    }

    /// Creates a moving object like [`MovingObject::new`], but loads equal bodies only once.
    ///
    /// # Errors
    /// The mesh or the trajectory is invalid, or all meshes together are too large.
    pub fn object(
        &mut self,
        config: &ObjectConfig,
        geo: &GeoOrigin,
        ground: Option<&dyn GroundHeight>,
    ) -> Result<MovingObject, ObjectError> {
        let trajectory = Trajectory::new(&config.motion, geo, ground)?;
        let body = match self.known.iter().find(|(body, _)| *body == config.body) {
            Some((_, solid)) => solid.clone(),
            None => self.load(&config.body)?,
        };
        Ok(MovingObject::with(&config.name, &body, trajectory))
    }

    /// Number of loaded bodies.
    pub fn loaded(&self) -> usize {
        self.known.len()
    }

    fn load(&mut self, body: &ObjectBody) -> Result<Solid, ObjectError> {
        let scene = match body {
            ObjectBody::BuiltIn { shape, size_m, reflectance } => {
                bodies::build(*shape, *size_m, *reflectance)
            }
            ObjectBody::File { path, body_from_mesh } => {
                let scene = loaders::load_file(path, 0, &loaders::Disk { colours: self.colours })?;
                let stored = scene.stored_triangles() + self.stored;
                let limit = loaders::MAX_STORED as u64;
                if stored > limit {
                    let what = "triangles of all objects";
                    let problem = Problem::TooMany { what, count: stored, limit };
                    return Err(SceneError::from(Fault::new(Place::of(path), problem)).into());
                }
                placed(scene, body_from_mesh)
            }
        };
        self.stored += scene.stored_triangles();
        let solid = Solid::new(scene)?;
        self.known.push((body.clone(), solid.clone()));
        Ok(solid)
    }
}

impl MovingObject {
    /// Loads the body of `config`, without colour images, and creates its trajectory; `geo` and `ground` are as for
    /// [`Trajectory::new`].
    ///
    /// # Errors
    /// The mesh or the trajectory is invalid.
    pub fn new(
        config: &ObjectConfig,
        geo: &GeoOrigin,
        ground: Option<&dyn GroundHeight>,
    ) -> Result<Self, ObjectError> {
        Bodies::default().object(config, geo, ground)
    }

    /// Creates an object called `name` whose body is `scene`, in the body's frame.
    ///
    /// # Errors
    /// No tree can be built over the scene.
    pub fn of(name: &str, scene: Scene, trajectory: Trajectory) -> Result<Self, BuildError> {
        Ok(Self::with(name, &Solid::new(scene)?, trajectory))
    }

    fn with(name: &str, body: &Solid, trajectory: Trajectory) -> Self {
        let Solid { caster, centre, radius_m } = body.clone();
        Self { name: name.to_owned(), trajectory, shown: Vec::new(), caster, centre, radius_m }
    }

    /// Pose of the object at `at`.
    pub fn pose(&self, at: SimTime) -> Transform<World, Body> {
        self.trajectory.pose(at)
    }

    /// Whether the object exists at `at`.
    pub fn is_there(&self, at: SimTime) -> bool {
        self.shown.is_empty() || self.shown.iter().any(|shown| shown.window_at(at).is_some())
    }

    /// Scene of the body, in the body's frame.
    pub fn body(&self) -> &Arc<Scene> {
        self.caster.scene()
    }

    /// Ray caster of the body, in the body's frame. Objects with equal bodies share it.
    pub fn caster(&self) -> &Arc<BvhCaster> {
        &self.caster
    }

    /// Size of the body's ray-casting trees, bytes.
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
