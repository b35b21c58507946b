//! What several test files need.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::engine::LiveWorld;
use menura::engine::record::record;

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

/// The rig that `text` describes, with some keys set otherwise.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn rig(text: &str, sets: &[(&str, &str)]) -> Rig {
    let set = |(key, value): &(&str, &str)| Override { key: (*key).into(), value: (*value).into() };
    let overrides: Vec<Override> = sets.iter().map(set).collect();
    Rig::parse("test rig", text, Path::new("."), &overrides).unwrap_or_else(|e| panic!("{e}"))
}

/// A rig and its world, from the rig's text.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn load(text: &str) -> (Rig, LiveWorld) {
    let rig = rig(text, &[]);
    let world = LiveWorld::load(&rig).unwrap_or_else(|e| panic!("{e}"));
    (rig, world)
}

/// A port of this host that nobody has, most likely for as long as the test takes.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The files of a recording by name.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn recorded(rig: &Rig, duration: Duration) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let world = LiveWorld::load(rig).unwrap_or_else(|e| panic!("{e}"));
    record(rig, &world, duration, folder.path(), &AtomicBool::new(false), |_| {}).unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

/// The captures of these devices in a recording, empty for a device without one.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn captures<const N: usize>(rig: &Rig, duration: Duration, names: [&str; N]) -> [Vec<u8>; N] {
    let mut files = recorded(rig, duration);
    names.map(|name| files.remove(&format!("{name}.pcap")).unwrap_or_default())
}
