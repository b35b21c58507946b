//! Sentences that describe what each key sets. All other facts about keys come from the readers.
//!
//! `sentences.toml` has the sentences by the end of a key's path: `beam.shape` is the sentence of every `shape` within
//! a `beam`, of any device.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::toml::spec::{KeySpec, Kind, TableSpec};

const TEXT: &str = include_str!("sentences.toml");

/// The sentences, with a record of which are used.
pub struct Sentences {
    by_path: BTreeMap<String, String>,
    used: RefCell<BTreeSet<String>>,
}

impl Sentences {
    /// All sentences.
    pub fn new() -> Self {
        // The file is embedded, so an error in it is a bug, which every test that uses it finds.
        let by_path = toml::from_str(TEXT).unwrap_or_else(|error| panic!("{error}"));
        Self { by_path, used: RefCell::default() }
    }

    /// The sentence of a key at `path`, such as `world.object.name`.
    pub fn of(&self, path: &str, key: &KeySpec) -> Option<String> {
        if let Some(meaning) = &key.meaning {
            return Some(meaning.clone());
        }
        let mut end = path;
        loop {
            if let Some(sentence) = self.by_path.get(end) {
                self.used.borrow_mut().insert(end.to_owned());
                return Some(sentence.clone());
            }
            end = end.split_once('.')?.1;
        }
    }
}

/// Keys of `specs` without a sentence, and sentences without a key.
pub fn faults(specs: &[&TableSpec]) -> Vec<String> {
    let sentences = Sentences::new();
    let mut missing = BTreeSet::new();
    specs.iter().for_each(|spec| table(spec, "", &sentences, &mut missing));
    let missing = missing.into_iter().map(|path| format!("no sentence says what `{path}` sets"));
    let used = sentences.used.borrow();
    let unused = sentences.by_path.keys().filter(|path| !used.contains(*path));
    missing.chain(unused.map(|path| format!("no key is called `{path}`"))).collect()
}

fn table(spec: &TableSpec, path: &str, sentences: &Sentences, missing: &mut BTreeSet<String>) {
    let cases = spec.variants.iter().flat_map(|variants| &variants.cases);
    let of_cases = cases.flat_map(|case| &case.keys).filter_map(|(_, key)| key.as_ref());
    for key in spec.keys.iter().chain(of_cases) {
        let path = joined(path, &key.name);
        if sentences.of(&path, key).is_none() {
            missing.insert(path.clone());
        }
        within(key, &path, sentences, missing);
    }
}

fn within(key: &KeySpec, path: &str, sentences: &Sentences, missing: &mut BTreeSet<String>) {
    for kind in &key.kinds {
        match kind {
            Kind::Table(inner) => table(inner, path, sentences, missing),
            Kind::Array { item, .. } => within(item, path, sentences, missing),
            _ => {}
        }
    }
}

/// Path of `key` in the table at `path`.
pub fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
