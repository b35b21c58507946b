//! A rig of any text is read or refused; what is said of it can be printed.
#![no_main]

use menura::devices::family::catalogue;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::config::rig::Rig;

fuzz_target!(|text: &str| {
    if let Err(faults) = Rig::parse("rig.toml", text, Path::new("/nowhere"), &[], catalogue()) {
        assert!(!faults.to_string().is_empty());
    }
});
