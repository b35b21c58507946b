//! One program with all fuzz targets, so that they are linked only once.
//!
//! `FUZZ_TARGET` names the target. `FUZZ_SEEDS` names a folder: the program fills it with the seeds of
//! all targets, each in a folder of its own, and ends.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs, io, process};

use libfuzzer_sys::fuzz_target;

macro_rules! targets {
    ($($name:ident)*) => {
        $(mod $name;)*
        pub const ALL: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run)),*];
    };
}
mod targets;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = env::var("FUZZ_TARGET").expect("the name of a target in FUZZ_TARGET");
    let target = targets::ALL.iter().find(|(name, _)| *name == wanted);
    target.unwrap_or_else(|| panic!("{wanted} is no target of targets/mod.rs")).1
});

fuzz_target!(
    init: if let Some(folder) = env::var_os("FUZZ_SEEDS") {
        write_seeds(Path::new(&folder)).expect("a folder for seeds");
        process::exit(0);
    },
    |bytes: &[u8]| RUN(bytes)
);

fn write_seeds(folder: &Path) -> io::Result<()> {
    for (name, _) in targets::ALL {
        fs::create_dir_all(folder.join(name))?;
    }
    targets::seeds::write(folder)
}
