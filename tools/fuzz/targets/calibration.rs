//! A calibration of any text is read or refused; what is read survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::config::toml::diagnostic::SourceFile;
use menura::devices::hdl64e::profile::LaserTable;

fuzz_target!(|text: &str| {
    match LaserTable::from_yaml(&SourceFile::new("any.yaml", text, "")) {
        Err(faults) => assert!(!faults.to_string().is_empty()),
        Ok(table) => {
            let written = table.to_yaml();
            let again = LaserTable::from_yaml(&SourceFile::new("again.yaml", &written, ""));
            assert_eq!(again.ok(), Some(table));
        }
    }
});
