//! Why each dependency is there: the manifest says it, and the table of the document is complete.

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

/// The document's tables name each direct dependency once, and nothing that is gone: rows are
/// ``| `name` | …``, under headings that say `in Cargo.toml`.
pub fn table_faults(manifest: &str, document: &str) -> Vec<Fault> {
    let mut wanted: Vec<&str> = Vec::new();
    let mut in_dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
        } else if let (true, false, Some((name, _))) =
            (in_dependencies, line.starts_with('#'), line.split_once('='))
        {
            wanted.push(name.trim());
        }
    }
    let mut faults = Vec::new();
    let mut listed: Vec<&str> = Vec::new();
    let mut in_tables = false;
    for (index, line) in document.lines().enumerate() {
        if line.starts_with('#') {
            in_tables = line.ends_with("in Cargo.toml");
        } else if let (true, Some(row)) = (in_tables, line.strip_prefix("| `")) {
            let name = row.split('`').next().unwrap_or_default();
            if !wanted.contains(&name) || listed.contains(&name) {
                let what = format!("`{name}` is not a dependency, or is named twice");
                faults.push(fault("docs/DEPENDENCIES.md", index + 1, what));
            }
            listed.push(name);
        }
    }
    let missing = wanted.iter().filter(|name| !listed.contains(name));
    faults.extend(missing.map(|name| {
        fault("docs/DEPENDENCIES.md", 0, format!("`{name}` of Cargo.toml is not in the tables"))
    }));
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

    #[test]
    fn compares_the_tables_with_the_manifest() {
        let manifest = "[dependencies]\n# x = y\nserde = \"1\"\nglam = \"1\"\n[features]\nx = []\n";
        let document =
            "# Libraries in Cargo.toml\n| `serde` | a |\n| `csv` | b |\n# Others\n| `d` | c |\n";
        let faults = table_faults(manifest, document);
        assert_eq!(lines(&faults), [3, 0], "{faults:?}");
    }
}
