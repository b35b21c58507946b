//! Any text as a firmware profile: parsed or rejected with a message.

use menura::devices::families::catalogue;

pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    if let Err(faults) = catalogue().parse_profile("any.toml", text) {
        assert!(!faults.to_string().is_empty());
    }
}
