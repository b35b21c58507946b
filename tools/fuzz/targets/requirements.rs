//! Any text as requirements of a certificate (`--require`): parsed or rejected with a message.

use menura::engine::certificate::require::parse_list;

pub fn run(bytes: &[u8]) {
    match parse_list(super::text(bytes)) {
        Err(fault) => assert!(fault.contains("allowed: ")),
        Ok(list) => assert!(!list.is_empty()),
    }
}
