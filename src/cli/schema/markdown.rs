//! `docs/RIG-KEYS.md`: every key of a rig with its type, limits and default.

use std::fmt::Write;

use super::rows::{Row, rows_of, rows_of_key};
use crate::config::toml::spec::{Discriminator, KeySpec, TableSpec, Variants};

const HEAD: &str = "\
# Every key of a rig

This page lists every key that a rig may have, with its type, its limits and its default. [RIG.md](RIG.md) explains
what they are for. `menura schema --markdown` prints this page, and `menura schema` prints the same as a JSON Schema
for editors ([RIG.md](RIG.md#in-an-editor)).

A key within a table is written with a dot, `mount.translation_m`; `[]` stands for the items of an array.
";

/// Markdown page about the keys of a rig, `spec`.
pub fn page(spec: &TableSpec) -> String {
    let mut out = HEAD.to_owned();
    section(&mut out, "The top level", spec, &is_table);
    for key in spec.keys.iter().filter(|key| is_table(key)) {
        if let Some(table) = key.table() {
            section(&mut out, &format!("`[{}]`", key.name), table, &|_| false);
        } else if let Some(table) = key.item().and_then(KeySpec::table) {
            let title = format!("`[[{}]]`", key.name);
            let by_profile = |key: &KeySpec| key.depends && is_table(key);
            section(&mut out, &title, table, &by_profile);
            for variants in &table.variants {
                sections_by_word(&mut out, &key.name, table, variants);
            }
        }
    }
    out
}

/// Whether a key is a table, or an array of tables, that gets its own section.
fn is_table(key: &KeySpec) -> bool {
    let is_long = |table: &TableSpec| {
        key.is_required
            || table.keys.len() > 3
            || table.keys.iter().any(|key| key.table().is_some())
    };
    key.table().is_some_and(is_long) || key.item().and_then(KeySpec::table).is_some()
}

/// Adds a heading and a table of all keys of `spec`, except those for which `apart` returns true.
fn section(out: &mut String, title: &str, spec: &TableSpec, apart: &dyn Fn(&KeySpec) -> bool) {
    let mut rows = Vec::new();
    for key in spec.keys.iter().filter(|key| !apart(key)) {
        rows_of_key(key, spec, "", "", &mut rows);
    }
    if !rows.is_empty() {
        let _ = writeln!(out, "\n## {title}\n");
        write_rows(out, &rows);
    }
}

/// Adds sections for tables whose keys depend on the word in another key: for example, the keys of `settings` depend on
/// the profile. Words with the same keys share a section.
fn sections_by_word(out: &mut String, path: &str, spec: &TableSpec, variants: &Variants) {
    let Discriminator::WordOf(by) = &variants.by else { return };
    for key in spec.keys.iter().filter(|key| key.depends && is_table(key)) {
        let mut groups: Vec<Vec<(&str, Vec<Row>)>> = Vec::new();
        for case in &variants.cases {
            let Some(word) = &case.word else { continue };
            let found = case.keys.iter().find(|(name, _)| *name == key.name);
            let Some(table) = found.and_then(|(_, key)| key.as_ref()?.table()) else { continue };
            let rows = rows_of(table);
            let same = groups.iter_mut().find(|group| has_same_keys(&group[0].1, &rows));
            match same {
                Some(group) => group.push((word.as_str(), rows)),
                None => groups.push(vec![(word.as_str(), rows)]),
            }
        }
        for group in groups {
            let words: Vec<_> = group.iter().map(|(word, _)| format!("`{word}`")).collect();
            let _ = writeln!(out, "\n## `{}.{}` of {}\n", path, key.name, words[0]);
            if words.len() > 1 {
                let _ = writeln!(out, "Also with `{by}` = {}.\n", words[1..].join(", "));
            }
            write_rows(out, &together(&group));
        }
    }
}

fn has_same_keys(some: &[Row], others: &[Row]) -> bool {
    let names = |rows: &[Row]| -> Vec<(String, String)> {
        rows.iter().map(|row| (row.key.clone(), row.when.clone())).collect()
    };
    names(some) == names(others)
}

/// Combines the rows of several words, which have the same keys. If the words differ in a cell, the cell lists up to
/// four values, each with its words. If there are more values, or long ones, the cell refers to the profile.
fn together(group: &[(&str, Vec<Row>)]) -> Vec<Row> {
    let cell = |index: usize, cell: &dyn Fn(&Row) -> &str| -> String {
        let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
        for (word, rows) in group {
            let value = cell(&rows[index]);
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, words)) => words.push(word),
                None => values.push((value, vec![*word])),
            }
        }
        match &values[..] {
            [(value, _)] => (*value).to_owned(),
            few if few.len() <= 4
                && few.iter().map(|(value, _)| value.len()).sum::<usize>() < 200 =>
            {
                let most = few.iter().map(|(_, words)| words.len()).max().unwrap_or_default();
                let one = |(value, words): &(&str, Vec<&str>)| {
                    let value = if value.is_empty() { "none" } else { *value };
                    let whose = if words.len() == most && most > 3 {
                        "most".into()
                    } else {
                        words.join(", ")
                    };
                    format!("{value} ({whose})")
                };
                few.iter().map(one).collect::<Vec<_>>().join("; ")
            }
            _ => "the profile's".to_owned(),
        }
    };
    let rows = group[0].1.iter().enumerate();
    rows.map(|(index, row)| Row {
        kind: cell(index, &|row| &row.kind),
        allowed: cell(index, &|row| &row.allowed),
        default: cell(index, &|row| &row.default),
        ..row.clone()
    })
    .collect()
}

fn write_rows(out: &mut String, rows: &[Row]) {
    let has_when = rows.iter().any(|row| !row.when.is_empty());
    let _ = writeln!(
        out,
        "| key |{} type | allowed | default | what it sets |",
        if has_when { " when |" } else { "" }
    );
    let _ = writeln!(out, "|---|{}---|---|---|---|", if has_when { "---|" } else { "" });
    for row in rows {
        let cell = |text: &str| text.replace('|', "\\|");
        let when = if has_when { format!(" {} |", cell(&row.when)) } else { String::new() };
        let _ = writeln!(
            out,
            "| `{}` |{when} {} | {} | {} | {} |",
            row.key,
            cell(&row.kind),
            cell(&row.allowed),
            cell(&row.default),
            cell(&row.sentence)
        );
    }
}
