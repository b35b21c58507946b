//! Checks that the manifest has a reason for each dependency, and that no page repeats it.

use crate::{Fault, fault};

/// Checks that each dependency has a comment above it; `serde_json` directly after `serde` shares its comment.
pub fn dependency_faults(file: &str, manifest: &str) -> Vec<Fault> {
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
            // Crates of the workspace describe themselves; for inherited dependencies, the workspace has the reason.
            if name.starts_with("menura") || name.ends_with(".workspace") {
                continue;
            }
            if comment_above {
                explained = name.to_owned();
            } else if explained.is_empty() || !name.starts_with(&explained) {
                let what = format!("no comment says why `{name}` is there");
                faults.push(fault(file, index + 1, what));
            }
        }
        comment_above = line.starts_with('#') && line.len() > 2;
    }
    faults
}

/// Checks that a page about dependencies lists no dependency of the manifest: its reason would be stated twice.
pub fn repeated_reasons(page: &str, text: &str, manifest: &str) -> Vec<Fault> {
    let is_there = |name: &str| {
        manifest.lines().any(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
        })
    };
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let (name, _) = line.strip_prefix("- `")?.split_once('`')?;
            let what = format!("`{name}` is a dependency, and Cargo.toml says why");
            is_there(name).then(|| fault(page, index + 1, what))
        })
        .collect()
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
libm.workspace = true
csv = \"1\"
[target.'cfg(unix)'.dependencies]
rustix = \"1\"
[dev-dependencies]
#
tempfile = \"3\"
[profile.dev]
opt-level = 1
";
        assert_eq!(lines(&dependency_faults("Cargo.toml", text)), [7, 9, 11, 14]);
    }

    #[test]
    fn finds_reasons_that_stand_twice() {
        let manifest = "[dependencies]\n# data\nserde = \"1\"\nglam.version = \"1\"\n";
        let page = "- `serde`: data\n- `serde_yaml`: not kept\n  `serde` reads\n- text\n";
        assert_eq!(lines(&repeated_reasons("docs/a.md", page, manifest)), [1]);
    }
}
