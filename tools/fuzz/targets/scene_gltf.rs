//! Any bytes as a glTF or GLB file: loaded as a valid scene, or rejected with a message.

use std::path::Path;

use super::sound;
use menura::world::loaders::gltf;
use menura::world::loaders::resolve::Memory;

pub fn run(bytes: &[u8]) {
    sound::check(gltf::parse(bytes, Path::new("a.gltf"), &Memory::default()));
}
