//! The keys of a table as rows of text: `docs/RIG-KEYS.md` and `menura profiles NAME` print the same cells.

use std::fmt::Write;

use super::words;
use crate::config::toml::spec::{Discriminator, KeySpec, TableSpec};

/// Row for one key.
#[derive(Clone, PartialEq)]
pub struct Row {
    /// Name of the key; dots separate the names of tables.
    pub key: String,
    /// Condition under which the key exists; empty if it always exists.
    pub when: String,
    /// Type of the value, with the unit.
    pub kind: String,
    /// Allowed values.
    pub allowed: String,
    /// Default in TOML notation, `required`, or empty.
    pub default: String,
    /// Documentation of the key: one sentence about the value that it sets.
    pub sentence: String,
}

/// Rows of all keys in a table.
pub fn rows_of(spec: &TableSpec) -> Vec<Row> {
    let mut rows = Vec::new();
    for key in &spec.keys {
        rows_of_key(key, spec, "", "", &mut rows);
    }
    rows
}

/// Adds the rows of a key: one row for each case that other keys distinguish, each followed by rows for the keys of its
/// table.
pub fn rows_of_key(
    key: &KeySpec,
    table: &TableSpec,
    prefix: &str,
    when: &str,
    rows: &mut Vec<Row>,
) {
    let mut cases: Vec<(&KeySpec, Vec<String>)> = Vec::new();
    let mut of_all = 0;
    for variants in &table.variants {
        for case in &variants.cases {
            let Some((_, spec)) = case.keys.iter().find(|(name, _)| *name == key.name) else {
                continue;
            };
            of_all += 1;
            let Some(spec) = spec else { continue };
            let word = case_words(&variants.by, case.word.as_deref());
            match cases.iter_mut().find(|(known, _)| *known == spec) {
                Some((_, words)) => words.push(word),
                None => cases.push((spec, vec![word])),
            }
        }
    }
    if cases.is_empty() {
        row(key, prefix, when, rows);
    }
    for (spec, words) in cases {
        let is_always = words.len() == of_all;
        let now = if is_always { String::new() } else { shortened(&words) };
        let both = [when, &now].into_iter().filter(|part| !part.is_empty());
        row(spec, prefix, &both.collect::<Vec<_>>().join("; "), rows);
    }
}

fn case_words(by: &Discriminator, word: Option<&str>) -> String {
    match (by, word) {
        (Discriminator::WordOf(key), Some(word)) => format!("`{key} = \"{word}\"`"),
        (Discriminator::WordOf(key), None) => format!("`{key}` is a path"),
        (Discriminator::WhichKey, word) => format!("with `{}`", word.unwrap_or_default()),
    }
}

/// Joins conditions and omits a repeated key: `kind = "a"`, `"b"` instead of `kind = "a"`, `kind = "b"`.
fn shortened(words: &[String]) -> String {
    let mut all = String::new();
    let mut last = "";
    for word in words {
        let key = word.split_once(" = ").map_or("", |(key, _)| key);
        all += if all.is_empty() { "" } else { ", " };
        if !key.is_empty() && key == last {
            let _ = write!(all, "`{}", word.split_once(" = ").map_or(&**word, |(_, value)| value));
        } else {
            all += word;
        }
        last = key;
    }
    all
}

fn row(key: &KeySpec, prefix: &str, when: &str, rows: &mut Vec<Row>) {
    let name = format!("{prefix}{}", key.name);
    let default = match &key.default {
        Some(default) => format!("`{}`", words::written(default)),
        None if key.is_required => "required".to_owned(),
        None => String::new(),
    };
    rows.push(Row {
        key: name.clone(),
        when: when.to_owned(),
        kind: words::type_of(key),
        allowed: words::allowed(key),
        default,
        sentence: key.meaning.clone().unwrap_or_default(),
    });
    if let Some(table) = key.table() {
        for inner in &table.keys {
            rows_of_key(inner, table, &format!("{name}."), when, rows);
        }
    }
    if let Some(table) = key.item().and_then(KeySpec::table) {
        for inner in &table.keys {
            rows_of_key(inner, table, &format!("{name}[]."), when, rows);
        }
    }
}
