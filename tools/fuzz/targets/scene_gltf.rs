//! A scene of any bytes as glTF or GLB: loaded soundly, or refused with words.
#![no_main]

mod sound;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::world::loaders::gltf;
use menura::world::loaders::resolve::Memory;

fuzz_target!(|bytes: &[u8]| sound::check(gltf::parse(
    bytes,
    Path::new("a.gltf"),
    &Memory::default()
)));
