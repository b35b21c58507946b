//! A scene of any bytes as glTF or GLB: loaded soundly, or refused with words.

use std::path::Path;

use super::sound;
use menura::world::loaders::gltf;
use menura::world::loaders::resolve::Memory;

pub fn run(bytes: &[u8]) {
    sound::check(gltf::parse(bytes, Path::new("a.gltf"), &Memory::default()));
}
