//! A scene of any bytes as PLY: loaded soundly, or refused with words.

use std::path::Path;

use super::sound;
use menura::world::loaders::ply;

pub fn run(bytes: &[u8]) {
    sound::check(ply::parse(bytes, Path::new("a.ply")));
}
