//! Reads fields of suites and adapters: seconds, pairs, patterns, tables.

use regex::Regex;

use crate::config::toml::reader::{Field, Limit, Node, TableReader, Value};

/// Source of the limits, for messages.
pub(super) const FORMAT: &str = "the format of suites, docs/DRIVER-TESTS.md";
/// Longest case, seconds.
const LONGEST_S: f64 = 3600.0;

/// Strings of an optional field; `expected` describes them in messages.
pub(super) fn optional_strings(field: &Field<'_>, expected: &str) -> Vec<String> {
    if field.is_written() { field.strings(expected).unwrap_or_default() } else { Vec::new() }
}

/// Reads each table of an optional array of at most `most` tables; reports and omits tables with errors. `what` is the
/// array's name.
pub(super) fn tables<T>(
    field: &Field<'_>,
    what: &str,
    most: usize,
    read: impl Fn(TableReader<'_>) -> Option<T>,
) -> Vec<T> {
    if !field.is_written() {
        return Vec::new();
    }
    let expected = format!("up to {most} of [[{what}]]");
    let Some((items, _)) = field.array_up_to(0..=most, FORMAT, &expected) else {
        return Vec::new();
    };
    let table = |item: &Field<'_>| read(item.named(what).table(&format!("[[{what}]]"))?);
    items.iter().filter_map(table).collect()
}

/// Allowed range of a time within a case, from `from` to `LONGEST_S`, seconds.
pub(super) fn seconds(from: f64) -> Limit<f64> {
    Limit::new(from..=LONGEST_S, "s", FORMAT)
}

/// Reads strings of the form `KEY=VALUE`.
pub(super) fn pairs(field: &Field<'_>, expected: &str) -> Vec<String> {
    if !field.is_written() {
        return Vec::new();
    }
    let Some((items, _)) = field.array(expected) else { return Vec::new() };
    let pair = |item: &Field<'_>| {
        let text = item.text(expected)?;
        if text.value.split_once('=').is_none_or(|(key, _)| key.trim().is_empty()) {
            let title = format!("\"{}\" has no `=`", text.value);
            item.fault(text.place.fault(title, format!("allowed: {expected}")));
            return None;
        }
        Some(text.value)
    };
    items.iter().filter_map(pair).collect()
}

/// Reads a regular expression.
pub(super) fn pattern(field: &Field<'_>) -> Option<Regex> {
    let text = field.text("a regular expression")?;
    match Regex::new(&text.value) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            field.fault(text.place.fault("not a regular expression", why));
            None
        }
    }
}

/// A value as inline TOML.
pub(super) fn toml_of(node: &Node) -> String {
    match &node.value {
        Value::String(text) => toml::Value::String(text.clone()).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(word) => word.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml_of).collect::<Vec<_>>().join(", "))
        }
        Value::Table(entries) => {
            let entry = |entry: &crate::config::toml::reader::Entry| {
                format!("{} = {}", entry.key, toml_of(&entry.node))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}
