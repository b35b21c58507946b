//! MAVS scene files (`.json`) of the Mississippi State University Autonomous Vehicle Simulator.
//!
//! `Objects`, `Layered Surface`, `Surface Mesh` and `Vegetation Distribution` have the same effect as in MAVS. Unknown
//! keys are ignored, as in MAVS. Angles are radians. Differences:
//!
//! - Random positions come from Menura's own generator and the scene's seed: they have the same
//!   distribution as in MAVS, and are the same on every machine.
//! - Paths: DATA is the nearest folder at or above the scene file that contains `scenes/meshes`. `PathToMeshes` is
//!   relative to the scene file, and so are the literal paths of `UseFullPaths`.
//! - A trail does not change the ground's texture. Labels are those of meshes, so potholes have none.
//! - `Animations` are not supported and are reported.
//! - A missing image or material file and a polygon without area give a warning. A missing mesh, layer texture or
//!   trail is a fault; MAVS stops at it, too.

mod layered;
mod pose;
mod scatter;
mod trail;
mod vegetation;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glam::DVec2;

use super::MAX_INSTANCES;
use super::assemble::Assembly;
use super::error::{Fault, Problem, SceneError};
use super::json::{Document, Node, Object};
use super::obj;
use super::oddity::Oddity;
use super::resolve::{Resolver, folder_of, named};
use crate::world::ground::{GroundHeight, Terrain};
use crate::world::scene::Scene;

/// Reads the MAVS scene `bytes`, called `file`. `seed` determines random positions.
///
/// # Errors
/// All errors in the file and in the files that it names.
pub fn parse(
    bytes: &[u8],
    file: &Path,
    seed: u64,
    resolver: &dyn Resolver,
) -> Result<Scene, SceneError> {
    let document = Document::new(file, bytes)?;
    let scene = document.root()?.object()?;
    let roots = Roots::of(file, &scene, resolver)?;
    let mut loader = Loader {
        roots,
        seed,
        assembly: Assembly::new(resolver),
        labels: BTreeMap::new(),
        meshes: BTreeMap::new(),
        terrain: None,
    };
    loader.sections(&scene);
    loader.assembly.finish(file, false)
}

/// Folders that are searched for files.
struct Roots {
    /// Folder of the scene file.
    scene: PathBuf,
    /// The folder that MAVS calls DATA.
    data: PathBuf,
    /// `PathToMeshes`, or the default below DATA.
    meshes: PathBuf,
    /// `UseFullPaths`: paths are absolute, or relative to the scene file's folder.
    full_paths: bool,
}

impl Roots {
    fn of(file: &Path, scene: &Object, resolver: &dyn Resolver) -> Result<Self, Fault> {
        let folder = folder_of(file);
        // If the path is relative, the search includes folders above its first folder.
        let above = (1..8).map(|levels| folder.join("../".repeat(levels)));
        let beyond = if folder.is_relative() { above.collect() } else { Vec::new() };
        let data = folder
            .ancestors()
            .map(Path::to_owned)
            .chain(beyond)
            .find(|root| resolver.exists(&root.join("scenes/meshes")))
            .unwrap_or_else(|| folder.parent().unwrap_or(folder).to_owned());
        let meshes = match scene.get("PathToMeshes") {
            Some(path) => named(folder, &path.string()?),
            None => data.join("scenes/meshes"),
        };
        let full_paths = scene.or("UseFullPaths", false, Node::flag)?;
        Ok(Self { scene: folder.to_owned(), data, meshes, full_paths })
    }

    /// Resolves a path: with `UseFullPaths` relative to the scene file's folder, otherwise to `root`.
    fn literal_or(&self, root: &Path, path: &str) -> PathBuf {
        named(if self.full_paths { &self.scene } else { root }, path)
    }

    /// The folder that is searched for spectra.
    fn spectra(&self) -> PathBuf {
        self.data.join("scenes/meshes")
    }
}

/// Base numbers of random streams. The stream of an entry has the base number plus the entry's index in its array.
mod streams {
    pub const OBJECTS: u64 = 0x100_0000_0000;
    pub const VEGETATION: u64 = 0x200_0000_0000;
}

struct Loader<'a> {
    roots: Roots,
    seed: u64,
    assembly: Assembly<'a>,
    /// Labels of meshes by file, from the scene's file of labels.
    labels: BTreeMap<String, String>,
    /// Meshes read so far, by file and by the material file that replaces the mesh's own.
    meshes: BTreeMap<(PathBuf, Option<String>), Option<u32>>,
    /// Height field of the ground, once the ground is complete.
    terrain: Option<Terrain>,
}

impl Loader<'_> {
    /// Reads the sections in the order of MAVS, because placing objects needs the ground.
    fn sections(&mut self, scene: &Object) {
        if let Some(labels) = scene.get("Object Labels") {
            let outcome = self.labels(&labels);
            self.assembly.keep(outcome);
        }
        let mut trails = Vec::new();
        if let Some(surface) = scene.get("Layered Surface") {
            let outcome = self.layered_surface(&surface);
            trails = self.assembly.keep(outcome).unwrap_or_default();
        }
        self.each(scene, "Surface Mesh", |loader, _, node| loader.surface_mesh(node));
        if self.room_for_random(scene).is_some() {
            self.each(scene, "Objects", Self::object);
        }
        if let Some(vegetation) = scene.get("Vegetation Distribution") {
            let outcome = self.vegetation(&vegetation, &trails);
            self.assembly.keep(outcome);
        }
        if let Some(animations) = scene.get("Animations") {
            tracing::warn!(
                "{}: `Animations` are not supported: the scene is loaded without its moving meshes",
                animations.place()
            );
        }
    }

    /// Reads every entry of the array at `key`, and records the faults of each.
    fn each(
        &mut self,
        scene: &Object,
        key: &str,
        read: impl Fn(&mut Self, u64, &Node) -> Result<(), Fault>,
    ) {
        let Some(node) = scene.get(key) else { return };
        let array = node.array();
        let entries = self.assembly.keep(array).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            let outcome = read(self, index as u64, entry);
            self.assembly.keep(outcome);
        }
    }

    /// Reads the labels. A lidar does not need them; a missing or invalid file therefore only gives a warning.
    fn labels(&mut self, node: &Node) -> Result<(), Fault> {
        let path = named(&self.roots.meshes, &node.string()?);
        if !self.assembly.resolver.exists(&path) {
            tracing::warn!("{}: there is no label file `{}`", node.place(), path.display());
            return Ok(());
        }
        let bytes = self.assembly.read(&path, &node.place());
        match bytes.map(|bytes| serde_json::from_slice::<LabelFile>(&bytes)) {
            Some(Ok(file)) => self.labels = file.labels.into_iter().collect(),
            Some(Err(error)) => tracing::warn!("{}: {error}", path.display()),
            None => {}
        }
        Ok(())
    }

    fn surface_mesh(&mut self, node: &Node) -> Result<(), Fault> {
        let object = node.object()?;
        let file = object.need("Mesh", "the path of an .obj file")?;
        let path = self.roots.literal_or(&self.roots.meshes, &file.string()?);
        let pose = pose::of_surface(&object)? * pose::turn(&object)?;
        if let Some(mesh) = self.mesh(path, None, &file) {
            self.assembly.add_ground(mesh, pose, &node.place());
        }
        Ok(())
    }

    fn object(&mut self, index: u64, node: &Node) -> Result<(), Fault> {
        let object = node.object()?;
        let file = object.need("Mesh", "the path of an .obj file")?;
        let path = named(&self.roots.meshes, &file.string()?);
        let material = object.get("Material").map(|m| m.string()).transpose()?;
        let turn = pose::turn(&object)?;
        let mesh = self.mesh(path, material, &file);
        if let Some(instances) = object.get("Instances") {
            for instance in instances.array()? {
                let pose = instance.object().and_then(|object| pose::of_object(&object));
                if let Some(pose) = self.assembly.keep(pose)
                    && let Some(mesh) = mesh
                {
                    self.assembly.add_instance(mesh, pose * turn, &instance.place());
                }
            }
            return Ok(());
        }
        let Some(random) = object.get("Random") else {
            let (key, expected) = ("Instances", "an array of poses, unless there is `Random`");
            return Err(node.fault(Problem::MissingKey { key, expected }));
        };
        let scatter = scatter::Scatter::read(&random)?;
        let Some(mesh) = mesh else { return Ok(()) };
        let place = random.place();
        if let Some(corners) = scatter.flat_corners() {
            self.assembly.warn(&place, Oddity::FlatPolygon { corners });
        }
        if self.assembly.room_for(scatter.number(), &place).is_none() {
            return Ok(());
        }
        let kind = streams::OBJECTS + index;
        scatter.copies(self.seed, kind, &place, |copy| {
            let height = self.height(copy.place).unwrap_or(0.0);
            self.assembly.add_instance(mesh, copy.pose(height) * turn, &place);
        });
        Ok(())
    }

    /// Sums the random copies of all `Objects` before any is made; `None` if the sum exceeds the limit.
    fn room_for_random(&mut self, scene: &Object) -> Option<()> {
        let Some(node) = scene.get("Objects") else { return Some(()) };
        let number = |entry: &Node| -> Option<u64> {
            let object = entry.object().ok().filter(|object| object.get("Instances").is_none())?;
            object.get("Random")?.object().ok()?.get("Number")?.whole(MAX_INSTANCES as u64).ok()
        };
        // Invalid entries are reported later, when they are read.
        let entries = node.array().unwrap_or_default();
        let count = entries.iter().filter_map(number).sum();
        self.assembly.room_for(count, &node.place())
    }

    /// Reads the mesh at `path`, or finds it if it was read before; `named_at` is the position that names it. Returns
    /// its index, or `None` after a fault.
    fn mesh(&mut self, path: PathBuf, material: Option<String>, named_at: &Node) -> Option<u32> {
        let key = (path, material);
        if let Some(&known) = self.meshes.get(&key) {
            return known;
        }
        let (path, material) = (&key.0, key.1.as_deref());
        let bytes = self.assembly.read(path, &named_at.place());
        let spectra = self.roots.spectra();
        let mesh = bytes.and_then(|bytes| {
            obj::read(&bytes, path, material, Some(&spectra), &mut self.assembly)
        });
        if let Some(mesh) = mesh
            && let Ok(file) = named_at.string()
            && let Some(label) = self.labels.get(&file)
        {
            self.assembly.label_mesh(mesh, label);
        }
        self.meshes.insert(key, mesh);
        mesh
    }

    /// Height of the ground at `p`, metres; `None` where there is no ground. Call it only when the ground is
    /// complete.
    fn height(&mut self, p: DVec2) -> Option<f64> {
        let scene = self.assembly.scene();
        self.terrain.get_or_insert_with(|| Terrain::new(scene)).height_m(p.x, p.y)
    }
}

/// Content of a file with labels and their colours; the colours are not used.
#[derive(serde::Deserialize)]
struct LabelFile {
    /// File and label of each mesh.
    #[serde(rename = "Labels", default)]
    labels: Vec<(String, String)>,
}

#[cfg(test)]
mod tests;
