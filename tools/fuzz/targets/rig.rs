//! Any text as a rig: parsed or rejected, and the error messages can be printed.

use menura::devices::families::catalogue;
use std::path::Path;

use menura::config::rig::Rig;

pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    if let Err(faults) = Rig::parse("rig.toml", text, Path::new("/nowhere"), &[], catalogue()) {
        assert!(!faults.to_string().is_empty());
    }
}
