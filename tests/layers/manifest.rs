//! Why each dependency is there: the manifest says it.

use crate::{Fault, fault};

/// A dependency needs a comment above it; `serde_json` below `serde` shares its own.
pub fn dependency_faults(manifest: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut in_dependencies = false;
    let mut explained = String::new();
    let mut comment_above = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            explained.clear();
        } else if let (true, false, Some((name, _))) =
            (in_dependencies, line.starts_with('#'), line.split_once('='))
        {
            let name = name.trim();
            if comment_above {
                explained = name.to_owned();
            } else if explained.is_empty() || !name.starts_with(&explained) {
                let what = format!("no comment says why `{name}` is there");
                faults.push(fault("Cargo.toml", index + 1, what));
            }
        }
        comment_above = line.starts_with('#') && line.len() > 2;
    }
    faults
}

mod checker {
    use super::*;
    use crate::lines;

    #[test]
    fn finds_dependencies_without_a_reason() {
        let text = "\
[package]
name = \"x\"
[dependencies]
# data
serde = \"1\"
serde_json = \"1\"
glam = \"1\"

csv = \"1\"
[target.'cfg(unix)'.dependencies]
rustix = \"1\"
[dev-dependencies]
#
tempfile = \"3\"
[profile.dev]
opt-level = 1
";
        assert_eq!(lines(&dependency_faults(text)), [7, 9, 11, 14]);
    }
}
