//! What several test files need.

use std::io::Write;
use std::path::PathBuf;

/// A file of the reference data that lies beside a developer's checkout, or `None` when it is not
/// there: the test then leaves itself out and says so. With `CI=true` a missing one is a failure.
///
/// Looks in `$MENURA_SHARED`, else in `../shared` beside the crate.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MENURA_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let file = root.join(path);
    if file.exists() {
        return Some(file);
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "{test} needs {}, which is missing",
        file.display()
    );
    // Not `eprintln!`: the test harness would keep it to itself when the test passes.
    let text = format!("left out: {test} needs {}, which is missing\n", file.display());
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}
