//! What several test files need.

use menura::devices::family::catalogue;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::engine::LiveWorld;
use menura::engine::record::record;

/// A file or folder of the reference data that lies beside a developer's checkout: in
/// `$MENURA_SHARED`, else in `../shared` beside the crate. Tests that ask for one are ignored unless
/// asked for; `tools/test` asks where the data is.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn shared(path: &str) -> PathBuf {
    let root = std::env::var_os("MENURA_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let file = root.join(path);
    assert!(
        file.exists(),
        "{} is missing; docs/TESTING.md says where it is looked for",
        file.display()
    );
    file
}

/// The rig that `text` describes, with some keys set otherwise.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn rig(text: &str, sets: &[(&str, &str)]) -> Rig {
    let set = |(key, value): &(&str, &str)| Override { key: (*key).into(), value: (*value).into() };
    let overrides: Vec<Override> = sets.iter().map(set).collect();
    Rig::parse("test rig", text, Path::new("."), &overrides, catalogue())
        .unwrap_or_else(|e| panic!("{e}"))
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
