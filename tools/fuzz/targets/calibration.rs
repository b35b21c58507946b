//! A calibration of any text is read or refused; what is read survives being written.

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
