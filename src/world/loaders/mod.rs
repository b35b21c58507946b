//! Loads scenes: [`load`] accepts a built-in scene or a file.
//!
//! | suffix | format | up axis | materials |
//! |---|---|---|---|
//! | `.json` | MAVS scene, see [`mavs`] | z | of its `.obj` meshes |
//! | `.obj` | Wavefront OBJ with MTL, see [`obj`] | z | `Kd`, `map_Kd`, `map_d`, `Kd spectral`, `Ks`, `Ns`, `d`, `Tr`, `Ni`, `illum` |
//! | `.gltf`, `.glb` | glTF 2.0, see [`gltf`] | y, turned to z | base colour, alpha, metallic-roughness, transmission |
//! | `.ply` | ascii and binary, see [`ply`] | z | none: default grey |
//! | `.stl` | ascii and binary, see [`stl`] | z | none: default grey |
//!
//! `docs/MATERIALS.md` describes the treatment of each material. If a file has no data for a material, the material's name
//! determines its optics.
//!
//! Files are in metres and in World coordinates, unless the rig turns, scales or moves them
//! ([`crate::config::rig::placement`]). A MAVS scene names its ground; in all other formats every surface is
//! also ground.
//!
//! A loader continues after a fault as far as it can, so that [`SceneError`] lists all faults together. It checks
//! each count in a file against the file's length, and never panics. Odd but usable data gives one warning for each
//! kind, with its first position and a count, see `oddity.rs`. Each format has a function `parse`, which takes bytes
//! in memory and a [`Resolver`] for the files that these bytes name.

pub(crate) mod error;
pub mod gltf;
pub mod mavs;
pub mod obj;
mod oddity;
pub mod ply;
pub mod resolve;
pub mod stl;

mod assemble;
mod json;
mod mtl;
mod polygon;
mod spectrum;
mod texture;

use std::path::Path;

use glam::DAffine3;

pub use error::{Fault, Place, Problem, SceneError};
pub use resolve::{Disk, Memory, Resolver};

use super::builtin;
use super::scene::Scene;
use crate::config::rig::SceneSource;

/// Largest coordinate of a scene, metres. For larger coordinates, `f32` has a resolution of metres.
pub const MAX_COORDINATE_M: f64 = 1.0e7;
/// Largest number of visible instances, and of ground instances. Ten million take a gigabyte.
pub const MAX_INSTANCES: usize = 10_000_000;
/// Largest total size of all meshes in memory. The size of a mesh is its number of triangles or of vertices, whichever is
/// larger.
pub const MAX_STORED: usize = 1 << 26;
/// Largest width and height of an image, pixels.
pub const MAX_IMAGE_SIDE: u32 = 16_384;
/// Largest number of texels of all textures, a byte each.
pub const MAX_TEXELS: usize = 1 << 30;
/// Largest number of pixels of an image.
pub const MAX_IMAGE_PIXELS: u64 = 1 << 26;

/// Builds a built-in scene, or loads a scene file. `files` reads this file and the files that it names.
///
/// # Errors
/// All errors in the files, with their positions.
pub fn load(source: &SceneSource, files: &Disk) -> Result<Scene, SceneError> {
    match source {
        SceneSource::Courtyard(parameters) => Ok(builtin::courtyard::build(parameters)),
        SceneSource::Room(parameters) => Ok(builtin::room::build(parameters)),
        SceneSource::RootStep(parameters) => Ok(builtin::root_step::build(parameters)),
        SceneSource::Rods(parameters) => Ok(builtin::rods::build(parameters)),
        SceneSource::MeadowWall(parameters) => Ok(builtin::meadow_wall::build(parameters)),
        SceneSource::GrassStand(parameters) => Ok(builtin::grass_stand::build(parameters)),
        SceneSource::Shrub(parameters) => Ok(builtin::shrub::build(parameters)),
        SceneSource::Street(parameters) => Ok(builtin::street::build(parameters)),
        SceneSource::AndabataField(parameters) => Ok(builtin::andabata_field::build(parameters)),
        SceneSource::FortDrum(parameters) => Ok(builtin::fort_drum::build(parameters)),
        SceneSource::File { path, seed, placement } => {
            place(load_file(path, *seed, files)?, &placement.world_from_loaded(path), path)
        }
    }
}

/// Transforms the whole scene, that is, visible instances and ground.
fn place(mut scene: Scene, placement: &DAffine3, file: &Path) -> Result<Scene, SceneError> {
    if *placement == DAffine3::IDENTITY {
        return Ok(scene);
    }
    for instance in scene.instances.iter_mut().chain(&mut scene.ground) {
        instance.world_from_mesh = *placement * instance.world_from_mesh;
    }
    let [low, high] = scene.extents();
    let near = -MAX_COORDINATE_M..=MAX_COORDINATE_M;
    let far = low.to_array().into_iter().chain(high.to_array()).find(|c| !near.contains(c));
    match far {
        None => Ok(scene),
        Some(value) => Err(Fault::new(Place::of(file), Problem::PlacedFarOut { value }).into()),
    }
}

/// Loads the file at `path` with the loader for its suffix; `resolver` reads the files. `seed` determines the random
/// positions of a MAVS scene.
///
/// # Errors
/// See [`load`].
pub fn load_file(path: &Path, seed: u64, resolver: &dyn Resolver) -> Result<Scene, SceneError> {
    let suffix = path.extension().and_then(|s| s.to_str()).unwrap_or_default().to_lowercase();
    let read = || {
        resolver.read(path).map_err(|error| {
            SceneError::from(Fault::new(Place::of(path), Problem::of_reading(path, &error)))
        })
    };
    match suffix.as_str() {
        "json" => mavs::parse(&read()?, path, seed, resolver),
        "obj" => obj::parse(&read()?, path, resolver),
        "gltf" | "glb" => gltf::parse(&read()?, path, resolver),
        "ply" => ply::parse(&read()?, path),
        "stl" => stl::parse(&read()?, path),
        _ => Err(Fault::new(Place::of(path), Problem::UnknownSuffix).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_and_a_strange_suffix_are_told() {
        let files = Memory::default();
        let missing = load_file(Path::new("a/b.obj"), 0, &files).unwrap_err();
        assert_eq!(missing.to_string(), "a/b.obj: there is no file `a/b.obj`");
        let strange = load_file(Path::new("a/b.blend"), 0, &files).unwrap_err();
        assert_eq!(
            strange.to_string(),
            "a/b.blend: has an unknown scene format; allowed: MAVS .json, .gltf, .glb, .obj, \
             .ply and .stl"
        );
    }
}
