//! The rules of the source tree that the compiler does not know: which layer may import which,
//! what devices must not touch, what the top folder holds, and why each dependency is there.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Spacing, TokenStream, TokenTree};

/// Each layer with what it may import besides itself; everything in `src/` belongs to one.
const LAYERS: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("frames", &[]),
    ("wire", &["time"]),
    ("links", &["time", "wire"]),
    ("config", &["time", "frames", "wire", "links"]),
    ("world", &["time", "frames", "wire", "links", "config"]),
    ("sensors", &["time", "frames", "wire", "links", "config", "world"]),
    ("devices", &["time", "frames", "wire", "links", "config", "world", "sensors"]),
    ("engine", &["time", "frames", "wire", "links", "config", "world", "sensors", "devices"]),
    (
        "analysis",
        &["time", "frames", "wire", "links", "config", "world", "sensors", "devices", "engine"],
    ),
    (
        "validation",
        &[
            "time", "frames", "wire", "links", "config", "world", "sensors", "devices", "engine",
            "analysis",
        ],
    ),
    (
        "cli",
        &[
            "time",
            "frames",
            "wire",
            "links",
            "config",
            "world",
            "sensors",
            "devices",
            "engine",
            "analysis",
            "validation",
        ],
    ),
];

/// Devices turn values into bytes; time is an argument and the engine does the I/O.
const NOT_IN_DEVICES: &[&[&str]] = &[
    &["std", "net"],
    &["std", "fs"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["tokio"],
    &["socket2"],
];

/// Files of `src/` that may say `unsafe`.
const UNSAFE_ALLOWED: &[&str] = &[
    "src/engine/clock_state.rs",
    "src/links/card_clock.rs",
    "src/links/low_latency.rs",
    "src/world/raycast/embree/library.rs",
    "src/world/raycast/memory.rs",
];

/// What the top folder may hold besides hidden files and what git ignores.
const TOP_FOLDER: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "docs",
    "examples",
    "firmware-profiles",
    "src",
    "target",
    "tests",
    "tools",
];

/// Places on the machine of whoever wrote a file; in halves, as this file is searched too.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp", "/wt")];

#[test]
fn no_layer_imports_to_its_right() {
    report(source_files().iter().flat_map(|(name, text)| layer_faults(name, text)));
}

#[test]
fn devices_do_no_io() {
    report(
        source_files()
            .iter()
            .filter(|(name, _)| layer_of(name) == Some("devices"))
            .flat_map(|(name, text)| io_faults(name, text)),
    );
}

#[test]
fn unsafe_stays_where_it_is_allowed() {
    report(
        source_files()
            .iter()
            .filter(|(name, _)| !UNSAFE_ALLOWED.contains(&name.as_str()))
            .flat_map(|(name, text)| unsafe_faults(name, text)),
    );
}

#[test]
fn the_top_folder_holds_what_was_agreed() {
    let names = fs::read_dir(top()).expect("the crate's folder").map(|entry| {
        entry.expect("an entry of the crate's folder").file_name().to_string_lossy().into_owned()
    });
    report(names.filter_map(|name| top_folder_fault(&name)));
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml");
    report(dependency_faults(&manifest));
}

#[test]
fn the_table_of_dependencies_is_complete() {
    let manifest = fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml");
    let document = fs::read_to_string(top().join("docs/DEPENDENCIES.md")).expect("the table");
    report(table_faults(&manifest, &document));
}

#[test]
fn no_file_names_a_place_on_someones_machine() {
    let mut files = Vec::new();
    collect(&top(), &mut files);
    assert!(files.len() > 20, "found only {} files", files.len());
    report(files.iter().flat_map(|(name, text)| machine_path_faults(name, text)));
}

/// One broken rule.
#[derive(Debug, PartialEq)]
struct Fault {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

fn fault(file: &str, line: usize, what: impl Into<String>) -> Fault {
    Fault { file: file.to_owned(), line, what: what.into() }
}

fn report(faults: impl IntoIterator<Item = Fault>) {
    let faults: Vec<String> = faults.into_iter().map(|f| f.to_string()).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Text files of `src/` as (path from the top, text).
fn source_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(&top().join("src"), &mut files);
    files.retain(|(name, _)| name.ends_with(".rs"));
    assert!(files.iter().any(|(name, _)| name == "src/lib.rs"));
    files
}

/// Every text file below `folder`, without what git or Python keep beside them.
fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if ["target", ".git", ".venv", "__pycache__"].contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(top()).expect("below the top").to_string_lossy();
            files.push((name.into_owned(), text));
        }
    }
}

/// The module a file of `src/` is, or `None` for the crate's roots.
fn module_of(file: &str) -> Option<Vec<String>> {
    let inner = file.strip_prefix("src/")?.strip_suffix(".rs")?;
    let module: Vec<String> =
        inner.split('/').filter(|part| *part != "mod").map(str::to_owned).collect();
    (!matches!(module[0].as_str(), "lib" | "main")).then_some(module)
}

fn layer_of(file: &str) -> Option<&'static str> {
    let module = module_of(file)?;
    LAYERS.iter().map(|(layer, _)| *layer).find(|layer| *layer == module[0])
}

fn layer_faults(file: &str, text: &str) -> Vec<Fault> {
    let Some(module) = module_of(file) else { return Vec::new() };
    let Some((layer, may_import)) = LAYERS.iter().find(|(layer, _)| *layer == module[0]) else {
        return vec![fault(file, 1, format!("`{}` is on no layer of the map", module[0]))];
    };
    paths_of(file, text)
        .into_iter()
        .filter_map(|path| {
            let target = path.names.get(1).filter(|_| path.names[0] == "crate")?;
            let known = LAYERS.iter().any(|(layer, _)| layer == target);
            let allowed = target == layer || may_import.contains(&target.as_str());
            (known && !allowed)
                .then(|| fault(file, path.line, format!("`{layer}` must not import `{target}`")))
        })
        .collect()
}

fn io_faults(file: &str, text: &str) -> Vec<Fault> {
    paths_of(file, text)
        .into_iter()
        .filter(|path| {
            NOT_IN_DEVICES.iter().any(|banned| {
                path.names.len() >= banned.len()
                    && path.names.iter().zip(*banned).all(|(name, banned)| name == banned)
            })
        })
        .map(|path| {
            fault(file, path.line, format!("a device must not use `{}`", path.names.join("::")))
        })
        .collect()
}

fn unsafe_faults(file: &str, text: &str) -> Vec<Fault> {
    fn search(tokens: TokenStream, lines: &mut Vec<usize>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => search(group.stream(), lines),
                TokenTree::Ident(ident) if ident == "unsafe" => {
                    lines.push(ident.span().start().line);
                }
                _ => {}
            }
        }
    }
    let mut lines = Vec::new();
    search(tokens_of(file, text), &mut lines);
    lines.into_iter().map(|line| fault(file, line, "`unsafe` is not allowed here")).collect()
}

fn top_folder_fault(name: &str) -> Option<Fault> {
    let fine = name.starts_with('.') || TOP_FOLDER.contains(&name);
    (!fine).then(|| fault(name, 0, "is not agreed to lie in the top folder"))
}

/// A dependency needs a comment above it; `serde_json` below `serde` shares its own.
fn dependency_faults(manifest: &str) -> Vec<Fault> {
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
fn table_faults(manifest: &str, document: &str) -> Vec<Fault> {
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

fn machine_path_faults(file: &str, text: &str) -> Vec<Fault> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let found = MACHINE_PATHS.iter().find(|place| line.contains(**place))?;
            Some(fault(file, index + 1, format!("names the place `{found}`")))
        })
        .collect()
}

/// A path as written, from the crate's root where it starts there: `crate` also stands for
/// `menura`, `self` and `super`.
struct UsedPath {
    names: Vec<String>,
    line: usize,
}

/// Every path in a file's code, macros and tests included; groups (`a::{b, c}`) taken apart.
/// Comments are not code.
fn paths_of(file: &str, text: &str) -> Vec<UsedPath> {
    let mut paths = Vec::new();
    walk(tokens_of(file, text), &module_of(file).unwrap_or_default(), &mut paths);
    paths
}

fn tokens_of(file: &str, text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn walk(tokens: TokenStream, module: &[String], paths: &mut Vec<UsedPath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(keyword) if keyword == "mod" => {
                if let [TokenTree::Ident(name), TokenTree::Group(body), ..] = &tokens[at + 1..] {
                    let mut inner = module.to_vec();
                    inner.push(name.to_string());
                    walk(body.stream(), &inner, paths);
                    at += 3;
                } else {
                    at += 1;
                }
            }
            TokenTree::Ident(_) => at = take_path(&tokens, at, Vec::new(), module, paths),
            TokenTree::Group(group) => {
                walk(group.stream(), module, paths);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that starts at `tokens[at]` behind `names`, and returns where it ends.
fn take_path(
    tokens: &[TokenTree],
    mut at: usize,
    mut names: Vec<String>,
    module: &[String],
    paths: &mut Vec<UsedPath>,
) -> usize {
    let line = tokens[at].span().start().line;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                names.push(name.to_string());
                at += 1;
            }
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma =
                    |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
                for item in inner.split(is_comma).filter(|item| !item.is_empty()) {
                    take_path(item, 0, names.clone(), module, paths);
                }
                return at + 1;
            }
            // `*`, or generics: what goes before is the path.
            _ => break,
        }
        match tokens.get(at..at + 2) {
            Some([TokenTree::Punct(first), TokenTree::Punct(second)])
                if first.as_char() == ':'
                    && first.spacing() == Spacing::Joint
                    && second.as_char() == ':' =>
            {
                at += 2;
            }
            _ => break,
        }
    }
    paths.push(UsedPath { names: from_the_root(names, module), line });
    at
}

/// `menura::a`, `self::a` and `super::a`, seen from `module`, as `crate::…`.
fn from_the_root(names: Vec<String>, module: &[String]) -> Vec<String> {
    let mut place = match names[0].as_str() {
        "menura" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return names,
    };
    let mut rest = names.iter().skip(usize::from(names[0] != "super")).peekable();
    while rest.next_if(|name| *name == "super").is_some() {
        place.pop();
    }
    std::iter::once("crate".to_owned()).chain(place).chain(rest.cloned()).collect()
}

/// The checker itself, on text that breaks the rules.
mod checker {
    use super::*;

    fn lines(faults: &[Fault]) -> Vec<usize> {
        faults.iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn finds_imports_to_the_right_however_they_are_written() {
        let text = "\
use crate::devices::Device;
use crate::{frames::World, engine};
use crate::{time, devices::{self, velodyne::Hdl64e}};
use super::super::sensors::Lidar;
// use crate::engine::Clock;
/// See [`crate::engine`].
fn f() -> menura::cli::Cli { crate::time::now() }
fn g() { println!(\"{}\", crate::engine::NAME); }
fn h() { let crate_engine = \"crate::engine\"; }
mod tests {
    use super::*;
    use super::super::super::engine;
}
use self::super::super::devices;
use ::std::time::Duration;
";
        let faults = layer_faults("src/config/rig.rs", text);
        assert_eq!(lines(&faults), [1, 2, 3, 3, 4, 7, 8, 12, 14], "{faults:?}");
        assert_eq!(
            faults[0].to_string(),
            "src/config/rig.rs:1: `config` must not import `devices`"
        );
    }

    #[test]
    fn knows_what_the_first_layers_may_import() {
        assert_eq!(layer_faults("src/time.rs", "use crate::frames::World;").len(), 1);
        assert_eq!(layer_faults("src/wire/velodyne.rs", "use crate::time::SimTime;"), []);
        assert_eq!(layer_faults("src/wire/velodyne.rs", "use crate::links::Udp;").len(), 1);
        assert_eq!(layer_faults("src/links/mod.rs", "use crate::wire::a; use super::time;"), []);
        assert_eq!(layer_faults("src/cli/run.rs", "use crate::engine::Engine;"), []);
        assert_eq!(layer_faults("src/lib.rs", "use crate::engine::Engine;"), []);
        assert_eq!(layer_faults("src/helpers.rs", "").len(), 1);
    }

    #[test]
    fn finds_io_in_devices() {
        let text = "\
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use std::{fmt, fs as files};
use tokio::time::sleep;
use std::time::Duration;
fn f() { ::std::fs::read(\"x\"); }
";
        assert_eq!(lines(&io_faults("src/devices/a.rs", text)), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn finds_unsafe() {
        let text = "#![deny(unsafe_code)]\n// unsafe\nfn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines(&unsafe_faults("src/a.rs", text)), [4]);
    }

    #[test]
    fn finds_strangers_in_the_top_folder() {
        assert!(top_folder_fault("notes.txt").is_some());
        assert!(top_folder_fault("src").is_none() && top_folder_fault(".ci").is_none());
    }

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

    #[test]
    fn finds_places_on_a_machine() {
        let text = format!("fine\nsee {}x\n", MACHINE_PATHS[0]);
        assert_eq!(lines(&machine_path_faults("README.md", &text)), [2]);
    }
}
