//! A scene of any bytes as STL: loaded soundly, or refused with words.

use std::path::Path;

use super::sound;
use menura::world::loaders::stl;

pub fn run(bytes: &[u8]) {
    sound::check(stl::parse(bytes, Path::new("a.stl")));
}
