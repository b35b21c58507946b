//! Rules of the source tree that the compiler does not check: permitted imports, layers without I/O, the file that
//! prints, the content of the top folder, and a reason for each dependency. Tests of each rule show that it detects
//! violations.

mod imports;
mod io;
mod manifest;
mod names;
mod paths;
mod printing;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use menura::devices::FAMILIES;
use proc_macro2::{TokenStream, TokenTree};

/// Files of `src/` that may contain `unsafe`.
const UNSAFE_ALLOWED: &[&str] = &[
    "src/devices/ouster/pixels.rs",
    "src/timing/clock_state.rs",
    "src/links/card_clock.rs",
    "src/links/low_latency.rs",
    "src/world/raycast/embree/library.rs",
    "src/world/raycast/gpu/device.rs",
    "src/world/raycast/memory.rs",
];

/// Permitted entries of the top folder, in addition to hidden files and files that git ignores.
const TOP_FOLDER: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "build.rs",
    "docs",
    "examples",
    "firmware-profiles",
    "src",
    "target",
    "test-suites",
    "tests",
    "tools",
];

/// Paths on a developer's machine; split in halves, because this file is searched too.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp", "/wt")];

#[test]
fn no_layer_imports_to_its_right() {
    report(source_files().iter().flat_map(|(name, text)| imports::layer_faults(name, text)));
}

#[test]
fn no_files_import_in_a_circle() {
    report(imports::circles(&source_files()));
}

#[test]
fn no_folders_import_in_a_circle() {
    report(imports::circles_of_folders(&source_files()));
}

#[test]
fn no_family_imports_another() {
    let files = source_files();
    let families = imports::families(&files);
    assert!(families.len() >= 6, "{families:?}");
    report(files.iter().flat_map(|(name, text)| imports::family_faults(name, text, &families)));
}

#[test]
fn a_family_is_named_in_its_room_and_the_table() {
    let files = source_files();
    let families = imports::families(&files);
    let keys = FAMILIES.iter().map(|family| family.key()).collect();
    report(files.iter().flat_map(|(name, text)| names::name_faults(name, text, &families, &keys)));
}

#[test]
fn layers_that_compute_do_no_io() {
    let files = source_files();
    report(files.iter().flat_map(|(name, text)| io::io_faults(name, text)));
    report(io::idle_allowances(&files));
}

#[test]
fn one_file_prints() {
    report(source_files().iter().flat_map(|(name, text)| printing::printing_faults(name, text)));
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
    let files = files_of(&top());
    let names: BTreeSet<_> = files.iter().filter_map(|file| file.split('/').next()).collect();
    assert!(names.contains("src"), "{names:?}");
    report(names.into_iter().filter_map(top_folder_fault));
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml");
    report(manifest::dependency_faults("Cargo.toml", &manifest));
    for layer in ["config", "devices", "mpi", "wire", "world"] {
        let name = format!("src/{layer}/Cargo.toml");
        let text = fs::read_to_string(top().join(&name)).expect("a layer's Cargo.toml");
        report(manifest::dependency_faults(&name, &text));
    }
    let page = "docs/DEPENDENCIES.md";
    let text = fs::read_to_string(top().join(page)).expect("the page of the dependencies");
    report(manifest::repeated_reasons(page, &text, &manifest));
}

#[test]
fn no_file_names_a_place_on_someones_machine() {
    let files = files_of(&top());
    assert!(files.len() > 20, "found only {} files", files.len());
    report(files.iter().flat_map(|name| {
        let text = fs::read_to_string(top().join(name)).unwrap_or_default();
        machine_path_faults(name, &text)
    }));
}

#[test]
fn what_an_ignored_test_needs_is_known_to_tools_test() {
    let script = fs::read_to_string(top().join("tools/test")).expect("tools/test");
    let mut files = Vec::new();
    collect(&top().join("src"), &mut files);
    collect(&top().join("tests"), &mut files);
    report(files.iter().flat_map(|(name, text)| ignore_faults(name, text, &script)));
}

/// A violation of a rule.
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

/// Rust files of `src/` as (path from the top folder, text).
fn source_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(&top().join("src"), &mut files);
    files.retain(|(name, _)| name.ends_with(".rs"));
    assert!(files.iter().any(|(name, _)| name == "src/lib.rs"));
    files
}

/// Source files in `top`: those that git tracks or would add. In a source archive, git lists nothing, and every file
/// counts.
fn files_of(top: &Path) -> Vec<String> {
    // Without `safe.directory`, git refuses the checkout of another user.
    let listed = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(top)
        .output()
        .ok()
        .filter(|listed| listed.status.success() && !listed.stdout.is_empty());
    let Some(listed) = listed else {
        assert!(
            !top.join(".git").exists(),
            "this checkout needs git, which does not list its files"
        );
        let mut names = Vec::new();
        walk(top, top, &mut names);
        return names;
    };
    let names = String::from_utf8_lossy(&listed.stdout);
    let names = names.split_terminator('\0').filter(|name| top.join(name).exists());
    names.map(str::to_owned).collect()
}

/// Every text file below `folder`.
fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    let mut names = Vec::new();
    walk(&top(), folder, &mut names);
    for name in names {
        if let Ok(text) = fs::read_to_string(top().join(&name)) {
            files.push((name, text));
        }
    }
}

/// Every file below `folder` as a path from `top`, without files of git, Cargo and Python.
fn walk(top: &Path, folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if ["target", ".git", ".venv", "__pycache__"].contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            walk(top, &path, names);
        } else {
            let name = path.strip_prefix(top).expect("below the top").to_string_lossy();
            names.push(name.into_owned());
        }
    }
}

fn lines(faults: &[Fault]) -> Vec<usize> {
    faults.iter().map(|fault| fault.line).collect()
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
    search(paths::tokens_of(file, text), &mut lines);
    lines.into_iter().map(|line| fault(file, line, "`unsafe` is not allowed here")).collect()
}

fn top_folder_fault(name: &str) -> Option<Fault> {
    let fine = name.starts_with('.') || TOP_FOLDER.contains(&name);
    (!fine).then(|| {
        let what = "does not belong in the top folder: write output below target/, name what belongs there in \
                    TOP_FOLDER, or let .git/info/exclude ignore files of your own";
        fault(name, 0, what)
    })
}

/// Checks that an ignored test states its requirement, and that a row of `tools/test` runs it if the requirement is
/// met.
fn ignore_faults(file: &str, text: &str, script: &str) -> Vec<Fault> {
    let mut folders = file.trim_end_matches(".rs").split('/');
    let (program, module) = match (folders.next(), folders.next().unwrap_or_default()) {
        (Some("tests"), program) => (program.to_owned(), folders.next()),
        (_, "sensors") => ("menura_world".to_owned(), None),
        (_, "analysis" | "links" | "plot" | "timing") => ("menura_engine".to_owned(), None),
        (_, "cli" | "kit" | "lib" | "main") => ("menura".to_owned(), None),
        (_, layer) => (format!("menura_{layer}"), None),
    };
    let runs_module = |filter: &str| filter.split("::").next() == module;
    let is_run = |need: &str| {
        let row = format!("'{need}: ");
        let mut rows = script.lines().filter_map(|line| line.trim().strip_prefix(&row));
        rows.any(|row| {
            let mut words = row.trim_end_matches('\'').split(' ');
            words.next() == Some(&program) && (module.is_none() || words.any(runs_module))
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with("#[ignore"))
        .filter(|(_, line)| {
            let need = line.trim().strip_prefix("#[ignore = \"needs ");
            !need.and_then(|need| need.strip_suffix("\"]")).is_some_and(is_run)
        })
        .map(|(index, _)| {
            fault(file, index + 1, format!("no row of tools/test runs this in {program}"))
        })
        .collect()
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

mod checker {
    use super::*;

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
    fn asks_git_for_the_files_of_the_source() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files-of-the-source");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("sub")).expect("a folder");
        for name in ["new", "sub/new", "ignored"] {
            fs::write(folder.join(name), "").expect("a file");
        }
        fs::write(folder.join(".gitignore"), "/ignored\n").expect("a file");
        let files = |folder: &Path| {
            let mut files = files_of(folder);
            files.sort();
            files
        };
        // The folder is below target/, so a surrounding checkout lists none of its files.
        let archive = [".gitignore", "ignored", "new", "sub/new"];
        assert_eq!(files(&folder), archive);
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(&folder).status();
        match made {
            Ok(made) if made.success() => {
                assert_eq!(files(&folder), [".gitignore", "new", "sub/new"]);
            }
            // A package may be built without git; its sources are not a checkout then.
            _ => assert!(!top().join(".git").exists(), "{made:?}"),
        }
    }

    #[test]
    fn finds_ignored_tests_that_nobody_runs() {
        let script =
            "rows=(\n    'two cores: live a:: b::some_test'\n    'a net: menura_engine x'\n)\n";
        let text = "#[ignore]\n#[ignore = \"needs two cores\"]\n#[ignore = \"needs more\"]\n\
                    \n    #[ignore = \"needs a net\"]\n#[ignore = \"slow\"]\n";
        for file in ["tests/live/a.rs", "tests/live/b.rs"] {
            assert_eq!(lines(&ignore_faults(file, text, script)), [1, 3, 5, 6]);
        }
        for file in ["tests/live/c.rs", "tests/other/a.rs"] {
            assert_eq!(lines(&ignore_faults(file, text, script)), [1, 2, 3, 5, 6]);
        }
        assert_eq!(lines(&ignore_faults("src/links/a.rs", text, script)), [1, 2, 3, 6]);
    }

    #[test]
    fn finds_places_on_a_machine() {
        let text = format!("fine\nsee {}x\n", MACHINE_PATHS[0]);
        assert_eq!(lines(&machine_path_faults("README.md", &text)), [2]);
    }
}
