//! Any text as a YUMA almanac: parsed or rejected with a message.

use menura::config::toml::diagnostic::SourceFile;
use menura::sensors::gnss::almanac::Almanac;

pub fn run(bytes: &[u8]) {
    match Almanac::from_yuma(&SourceFile::new("any.alm", super::text(bytes), "")) {
        Err(faults) => assert!(!faults.to_string().is_empty()),
        Ok(almanac) => assert!(!almanac.satellites.is_empty()),
    }
}
