//! Every wrong file of `tests/bad-rigs/` is refused with the exact message beside it.
//!
//! - `NAME.toml` is a rig, or a firmware profile if a line after the first one begins with
//!   `summary = ` (`profile-*.toml`). `NAME.yaml` is a calibration; `NAME.expected` is the message.
//!   Lines `#$ --set KEY=VALUE` in a rig are overrides.
//! - `NAME/` contains a `rig.toml` with the files that it needs. `menura check rig.toml` runs
//!   there, and `expected.txt` is its standard error.
//!
//! `MENURA_BLESS=1` writes new expectations. Read them before you commit: would the message help a
//! user who has never seen it?

use menura::devices::families::catalogue;
use std::fs;
use std::path::{Path, PathBuf};

use menura::config::rig::Rig;
use menura::config::toml::diagnostic::Diagnostics;
use menura::config::toml::overrides::Override;
use menura::devices::hdl64e::profile::LaserTable;
use proptest::prelude::*;

use crate::common;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-rigs")
}

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("tests/bad-rigs is part of the repository");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable folder").path()).collect();
    paths.retain(|path| path.extension().is_none_or(|e| e != "expected"));
    paths.sort();
    paths
}

/// Message with which the file or folder is refused; `None` if it is accepted.
fn message(path: &Path) -> Option<String> {
    let name = path.file_name().and_then(|name| name.to_str()).expect("plain names");
    if path.is_dir() {
        return checked_by_the_binary(path);
    }
    if name.ends_with(".yaml") {
        return LaserTable::load(name, path).err().map(|faults| faults.to_string());
    }
    let text = fs::read_to_string(path).expect("readable file");
    if text.contains("\nsummary = ") {
        return catalogue().load_profile(name, path).err().map(|faults| faults.to_string());
    }
    let overrides: Vec<Override> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#$ --set "))
        .map(|set| set.parse().expect("KEY=VALUE"))
        .collect();
    Rig::parse(name, &text, &folder(), &overrides, catalogue())
        .err()
        .map(|faults| faults.to_string())
}

fn checked_by_the_binary(folder: &Path) -> Option<String> {
    let output = common::menura()
        .args(["check", "rig.toml"])
        .env("MENURA_LOG", "error")
        .current_dir(folder)
        .output()
        .expect("the binary runs");
    match output.status.code() {
        Some(0) => None,
        Some(2) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        other => panic!("{}: exit code {other:?} instead of 2", folder.display()),
    }
}

#[test]
fn every_wrong_file_gets_its_exact_message() {
    let bless = std::env::var_os("MENURA_BLESS").is_some_and(|value| value == "1");
    let mut wrong = Vec::new();
    let cases = cases();
    for path in &cases {
        let Some(got) = message(path) else {
            wrong.push(format!("{}: accepted", path.display()));
            continue;
        };
        let got = format!("{}\n", got.trim_end());
        let expected_path = match path.is_dir() {
            true => path.join("expected.txt"),
            false => path.with_extension("expected"),
        };
        if bless {
            fs::write(&expected_path, &got).expect("writable folder");
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if got != expected {
            wrong.push(format!("{}: got\n{got}\nexpected\n{expected}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(cases.len() >= 30, "only {} cases", cases.len());
}

#[test]
fn every_expectation_has_its_case() {
    for entry in fs::read_dir(folder()).expect("tests/bad-rigs is part of the repository") {
        let path = entry.expect("readable folder").path();
        if path.extension().is_some_and(|e| e == "expected") {
            let has_case = ["toml", "yaml"].iter().any(|e| path.with_extension(e).exists());
            assert!(has_case, "{} has no case", path.display());
        }
    }
}

#[test]
fn messages_are_plain_ascii() {
    for path in cases() {
        let text = message(&path).unwrap_or_default();
        assert!(text.is_ascii(), "{}: {text}", path.display());
    }
}

fn read(text: &str, overrides: &[Override]) -> Result<Rig, Diagnostics> {
    Rig::parse("rig.toml", text, Path::new(""), overrides, catalogue())
}

proptest! {
    #[test]
    fn any_text_is_answered(text: String) {
        prop_assert!(read(&text, &[]).is_err());
    }

    /// Damaged rigs are read, or refused with a message; they never cause a panic.
    #[test]
    fn a_damaged_rig_is_answered(
        cuts in prop::collection::vec((0..Rig::default_text().len(), 0..20usize, ".{0,6}"), 1..4),
    ) {
        let mut text = Rig::default_text().to_string();
        for (start, length, insert) in cuts {
            let start = text.floor_char_boundary(start);
            let end = text.floor_char_boundary(start + length);
            text.replace_range(start..end, &insert);
        }
        if let Err(faults) = read(&text, &[]) {
            prop_assert!(!faults.is_empty());
            prop_assert!(faults.to_string().starts_with("error: "));
        }
    }

    #[test]
    fn any_override_is_answered(key in "(seed|world|robot|device)[].a-z0-9\\[]{0,12}", value: String) {
        let set = Override { key, value };
        if let Err(faults) = read(Rig::default_text(), &[set]) {
            prop_assert!(faults.to_string().starts_with("error: "));
        }
    }
}
