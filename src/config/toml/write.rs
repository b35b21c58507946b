//! Writes a tree as TOML.

use std::fmt::Write;

use super::tree::{Entry, Node, Value};

/// Largest length of a key and its table on one line, bytes; a longer table gets a header of its own, as does every
/// table at the top level.
const LONGEST_LINE: usize = 100;

/// Text of a file with this content.
pub fn written(root: &Node) -> String {
    let mut out = String::new();
    if let Value::Table(entries) = &root.value {
        section(&mut out, "", entries);
    }
    out
}

fn section(out: &mut String, path: &str, entries: &[Entry]) {
    // Keys after a table's header belong to that table, so plain keys must come first.
    let (below, here): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| is_section(entry, path.is_empty()));
    for entry in here {
        let _ = writeln!(out, "{} = {}", key(&entry.key), inline(&entry.node));
    }
    for entry in below {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", key(&entry.key));
        match &entry.node.value {
            Value::Table(entries) => {
                let _ = writeln!(out, "\n[{path}]");
                section(out, &path, entries);
            }
            Value::Array(items) => {
                for item in items {
                    let _ = writeln!(out, "\n[[{path}]]");
                    if let Value::Table(entries) = &item.value {
                        section(out, &path, entries);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_section(entry: &Entry, is_top: bool) -> bool {
    let is_long = || is_top || key(&entry.key).len() + inline(&entry.node).len() > LONGEST_LINE;
    match &entry.node.value {
        Value::Table(_) => is_long(),
        Value::Array(items) => {
            let is_table = |item: &Node| matches!(item.value, Value::Table(_));
            !items.is_empty() && items.iter().all(is_table) && is_long()
        }
        _ => false,
    }
}

fn key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { text(key) }
}

fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A value on one line.
pub fn inline(node: &Node) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::String(value) => text(value),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(value) => value.to_string(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(inline).collect())),
        Value::Table(entries) if entries.is_empty() => "{}".into(),
        Value::Table(entries) => {
            let entry = |entry: &Entry| format!("{} = {}", key(&entry.key), inline(&entry.node));
            format!("{{ {} }}", joined(entries.iter().map(entry).collect()))
        }
    }
}
