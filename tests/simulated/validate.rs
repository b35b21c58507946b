//! `menura validate --all --short`: every experiment in its short form, and the files that it
//! writes.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common;

fn menura(arguments: &[&str]) -> Output {
    common::menura().args(arguments).output().expect("menura runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_experiment_holds_in_its_short_form_and_leaves_numbers_plots_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/by/it");
    let run = menura(&["validate", "--all", "--short", "--out", out.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    let names = experiments();
    for name in &names {
        let numbers = fs::read_to_string(out.join(format!("{name}.json"))).unwrap();
        let numbers: Value = serde_json::from_str(&numbers).unwrap();
        assert_eq!(numbers["holds"], true, "{name}");
        let comparisons = numbers["comparisons"].as_array().unwrap();
        assert!(!comparisons.is_empty(), "{name}");
        for comparison in comparisons {
            for key in ["what", "ours", "tolerance"] {
                let said = comparison[key].as_str().unwrap();
                assert!(!said.is_empty(), "{name}: {key} of {comparison}");
            }
        }
        let svg = fs::read_to_string(out.join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && page.contains(&svg), "{name}");
        assert!(fs::read(out.join(format!("{name}.png"))).unwrap().starts_with(b"\x89PNG"));
        assert!(page.contains(&format!("<h2 id=\"{name}\">")), "{name}");
        assert!(text(&run.stderr).contains(&format!("{name}: ")), "{}", text(&run.stderr));
    }
    // The page loads nothing from elsewhere.
    assert!(!page.contains(" src=") && !page.contains("<link"), "{page}");
}

/// Names of the experiments in `menura validate --help`.
fn experiments() -> Vec<String> {
    let help = text(&menura(&["validate", "--help"]).stdout);
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = commands.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    names.collect()
}

#[test]
fn what_cannot_be_asked_is_refused_before_the_work() {
    let refused = |arguments: &[&str]| {
        let run = menura(&[&["validate"], arguments].concat());
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {}", text(&run.stderr));
        text(&run.stderr)
    };
    assert!(refused(&["--all"]).contains("--out <DIR>"));
    assert!(refused(&["--out", "somewhere"]).contains("--all"));
    assert!(!Path::new("somewhere").exists());
    assert!(refused(&["--short"]).contains("--all"));
    assert!(refused(&["no-such-experiment"]).contains("no-such-experiment"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("folder");
    let told = refused(&["vepd", "--short", "--out", below.to_str().unwrap()]);
    assert!(told.contains("cannot create the folder"), "{told}");
}
