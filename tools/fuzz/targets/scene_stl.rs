//! A scene of any bytes as STL: loaded soundly, or refused with words.
#![no_main]

mod sound;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::world::loaders::stl;

fuzz_target!(|bytes: &[u8]| sound::check(stl::parse(bytes, Path::new("a.stl"))));
