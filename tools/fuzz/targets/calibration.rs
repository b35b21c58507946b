//! Any text as a laser calibration: parsed or rejected with a message. A parsed table is unchanged after it is written
//! and parsed again.

use menura::config::toml::diagnostic::SourceFile;
use menura::devices::hdl64e::profile::LaserTable;

pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    match LaserTable::from_yaml(&SourceFile::new("any.yaml", text, "")) {
        Err(faults) => assert!(!faults.to_string().is_empty()),
        Ok(table) => {
            let written = table.to_yaml();
            let again = LaserTable::from_yaml(&SourceFile::new("again.yaml", &written, ""));
            assert_eq!(again.ok(), Some(table));
        }
    }
}
