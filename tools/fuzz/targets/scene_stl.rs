//! Any bytes as an STL file: loaded as a valid scene, or rejected with a message.

use std::path::Path;

use super::sound;
use menura::world::loaders::stl;

pub fn run(bytes: &[u8]) {
    sound::check(stl::parse(bytes, Path::new("a.stl")));
}
