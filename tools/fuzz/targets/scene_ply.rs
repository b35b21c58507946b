//! A scene of any bytes as PLY: loaded soundly, or refused with words.
#![no_main]

mod sound;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::world::loaders::ply;

fuzz_target!(|bytes: &[u8]| sound::check(ply::parse(bytes, Path::new("a.ply"))));
