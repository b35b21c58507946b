//! Any bytes as an OBJ file: loaded as a valid scene, or rejected with a message.

use std::path::Path;

use super::sound;
use menura::world::loaders::obj;
use menura::world::loaders::resolve::Memory;

const MATERIALS: &str = "newmtl leaf\nKd 0.4 0.5 0.1\n";

pub fn run(bytes: &[u8]) {
    sound::check(obj::parse(
        bytes,
        Path::new("a.obj"),
        &Memory::default().with("a.mtl", MATERIALS),
    ));
}
