//! Types, limits and defaults as text.

use serde_json::Value as Json;

use crate::config::toml::spec::{KeySpec, Kind};

/// Type of a key, with its unit.
pub fn type_of(key: &KeySpec) -> String {
    joined(key, |kind| match kind {
        Kind::Number(range) => with_unit("number", range.unit),
        Kind::Integer(range) => with_unit("whole number", range.unit),
        Kind::OneOf(_) => "whole number".into(),
        Kind::Boolean => "true or false".into(),
        Kind::Text { .. } => "text".into(),
        Kind::Words(_) => "word".into(),
        Kind::Datetime { .. } => "date and time".into(),
        Kind::Date { .. } => "date".into(),
        Kind::Any { .. } => "value".into(),
        Kind::Array { least, most, item, .. } if Some(*least) == *most => {
            format!("{least} × {}", type_of(item))
        }
        Kind::Array { item, .. } => format!("array of {}", plural(&type_of(item))),
        Kind::Table(_) => "table".into(),
    })
}

/// Allowed values of a key.
pub fn allowed(key: &KeySpec) -> String {
    let has_text = key.kinds.iter().any(|kind| matches!(kind, Kind::Text { .. }));
    joined(key, |kind| match kind {
        Kind::Number(range) => format!("{} to {}", range.least, range.most),
        Kind::Integer(range) if range.most == i128::from(u64::MAX) => "any of 64 bits".into(),
        Kind::Integer(range) => format!("{} to {}", range.least, range.most),
        Kind::OneOf(numbers) => list(numbers.iter().map(ToString::to_string)),
        Kind::Boolean | Kind::Table(_) => String::new(),
        // The description of the text already lists the words.
        Kind::Words(_) if has_text => String::new(),
        Kind::Words(words) => list(words.iter().map(|word| format!("\"{word}\""))),
        Kind::Text { expected, .. }
        | Kind::Datetime { expected }
        | Kind::Date { expected }
        | Kind::Any { expected } => expected.clone(),
        Kind::Array { least, most, item, .. } => {
            let count = match (least, most) {
                (least, Some(most)) if least == most => String::new(),
                (least, Some(most)) => format!("{least} to {most} items"),
                (0, None) => String::new(),
                (least, None) => format!("{least} or more"),
            };
            let each = allowed(item);
            let is_said = each.is_empty() || each.starts_with("each ");
            let each = if is_said { each } else { format!("each {each}") };
            [count, each].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        }
    })
}

/// Source of a key's limits; empty if there is none.
pub fn origin(key: &KeySpec) -> &str {
    key.kinds
        .iter()
        .find_map(|kind| match kind {
            Kind::Number(range) => Some(&*range.origin),
            Kind::Integer(range) => Some(&*range.origin),
            Kind::Array { item, .. } => Some(origin(item)),
            _ => None,
        })
        .unwrap_or_default()
}

/// A default in TOML notation.
pub fn written(default: &Json) -> String {
    match default {
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        // Whole numbers as `1`, not `1.0`: users may write either if a number is expected.
        Json::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() => x.to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn joined(key: &KeySpec, word: impl Fn(&Kind) -> String) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in key.kinds.iter().map(word).filter(|word| !word.is_empty()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" or ")
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn with_unit(kind: &str, unit: &str) -> String {
    if unit.is_empty() { kind.into() } else { format!("{kind}, {unit}") }
}

fn plural(word: &str) -> String {
    match word.split_once(", ") {
        Some((noun, unit)) => format!("{}, {unit}", plural(noun)),
        None if word.ends_with("number") || ["word", "text", "table"].contains(&word) => {
            format!("{word}s")
        }
        None => word.to_owned(),
    }
}
