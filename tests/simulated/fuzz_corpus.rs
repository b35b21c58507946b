//! Replays the inputs of every fuzz target in `tools/fuzz`: seeds, and inputs that searches have
//! found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

macro_rules! targets {
    ($($name:ident)*) => {
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            mod $name;
            #[test]
            fn $name() {
                crate::fuzz_corpus::replay(stringify!($name), $name::run);
            }
        )*
    };
}
#[path = "../../tools/fuzz/targets/mod.rs"]
mod targets;

static SEEDS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-seeds");
    // Otherwise, seeds of an earlier version would be replayed too.
    let _ = fs::remove_dir_all(&folder);
    targets::seeds::write(&folder).expect("a folder for seeds");
    folder
});

fn fuzz(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/fuzz").join(path)
}

/// Entries of a folder in a fixed order; empty if it does not exist.
fn entries(folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

fn replay(target: &str, run: fn(&[u8])) {
    let folders = [SEEDS.join(target), fuzz("kept").join(target)];
    let inputs: Vec<PathBuf> = folders.iter().flat_map(|folder| entries(folder)).collect();
    assert!(!inputs.is_empty(), "{target} has neither seeds nor kept inputs");
    for input in inputs {
        // Shown only if the test fails; the last line then names the input.
        println!("{}", input.display());
        run(&fs::read(input).expect("an input"));
    }
}

#[test]
fn every_file_belongs_to_a_target() {
    let names: BTreeSet<&str> = targets::NAMES.iter().copied().collect();
    let stem = |path: &Path| path.file_stem().unwrap_or_default().display().to_string();
    for file in entries(&fuzz("targets")) {
        let is_target = fs::read_to_string(&file).expect("text").contains("pub fn run(");
        assert!(
            !is_target || names.contains(&*stem(&file)),
            "{} is not in targets/mod.rs",
            file.display()
        );
    }
    for folder in [SEEDS.as_path(), &fuzz("kept")].into_iter().flat_map(entries) {
        assert!(names.contains(&*stem(&folder)), "{} is of no target", folder.display());
    }
}
