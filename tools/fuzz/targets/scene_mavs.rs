//! Any bytes as a MAVS scene: loaded as a valid scene, or rejected with a message.

use std::path::Path;

use super::sound;
use menura::world::loaders::mavs;
use menura::world::loaders::resolve::Memory;

const MESH: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

pub fn run(bytes: &[u8]) {
    sound::check(mavs::parse(
        bytes,
        Path::new("a.json"),
        1,
        &Memory::default().with("a.obj", MESH),
    ));
}
