//! Any bytes as a PLY file: loaded as a valid scene, or rejected with a message.

use std::path::Path;

use super::sound;
use menura::world::loaders::ply;

pub fn run(bytes: &[u8]) {
    sound::check(ply::parse(bytes, Path::new("a.ply")));
}
