//! JSON Schema of a file, draft 7: the newest draft that TOML editors (taplo) support.
//!
//! If the meaning of a key depends on another key, `properties` has the part that all cases share, so that editors can
//! complete the key, and an `if` has each case.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::words;
use crate::config::toml::spec::{Case, Discriminator, KeySpec, Kind, TableSpec, Variants};

/// Repeated parts whose JSON text has at least this length, bytes, become named definitions.
const SHORTEST_SHARED: usize = 400;

/// Schema with the title `title` for files with the keys `spec`. A repeated part gets the name of its key, or `name` if
/// it is not inside any key.
pub fn schema(title: &str, name: &str, spec: &TableSpec) -> String {
    let mut whole = object(spec);
    let definitions = Shared::take_from(&mut whole, name);
    let mut all = Map::new();
    all.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    all.insert("title".into(), title.into());
    all.extend(whole.as_object_mut().map(std::mem::take).unwrap_or_default());
    all.insert("definitions".into(), Json::Object(definitions));
    format!("{:#}\n", Json::Object(all))
}

fn object(spec: &TableSpec) -> Json {
    let mut all = Map::new();
    all.insert("type".into(), "object".into());
    let properties: Map<String, Json> =
        spec.keys.iter().map(|key| (key.name.clone(), value(key))).collect();
    all.insert("properties".into(), properties.into());
    all.extend(required(spec));
    all.insert("additionalProperties".into(), false.into());
    let conditions: Vec<Json> = spec.variants.iter().flat_map(|of| conditions(of, spec)).collect();
    if !conditions.is_empty() {
        all.insert("allOf".into(), conditions.into());
    }
    all.into()
}

/// Schema entry for required keys, if any.
fn required(spec: &TableSpec) -> Option<(String, Json)> {
    let required: Vec<_> =
        spec.keys.iter().filter(|key| key.is_required).map(|key| key.name.clone()).collect();
    (!required.is_empty()).then(|| ("required".into(), required.into()))
}

fn conditions(variants: &Variants, table: &TableSpec) -> Vec<Json> {
    // A key that is omitted has its default.
    let is_default = |key: &str, word: &str| {
        let default = table.key(key).and_then(|key| key.default.as_ref()?.as_str());
        default == Some(word)
    };
    let words: Vec<&String> = variants.cases.iter().filter_map(|case| case.word.as_ref()).collect();
    let mut all: Vec<Json> = variants
        .cases
        .iter()
        .map(|case| {
            let is_so = match (&variants.by, &case.word) {
                (Discriminator::WhichKey, word) => json!({ "required": [word] }),
                (Discriminator::WordOf(key), Some(word)) if is_default(key, word) => {
                    json!({ "properties": { key: { "const": word } } })
                }
                (Discriminator::WordOf(key), Some(word)) => holds(key, json!({ "const": word })),
                (Discriminator::WordOf(key), None) => {
                    holds(key, json!({ "type": "string", "not": { "enum": words } }))
                }
            };
            json!({ "if": is_so, "then": consequence(case) })
        })
        .collect();
    if let Discriminator::WordOf(path) = &variants.by
        && path.contains('.')
    {
        // The word is in a table whose `properties` have only the keys that all cases share.
        all.push(
            path.rsplit('.').fold(
                json!({ "enum": words }),
                |value, key| json!({ "properties": { key: value } }),
            ),
        );
    }
    if variants.by == Discriminator::WhichKey {
        let one: Vec<Json> = words.iter().map(|word| json!({ "required": [word] })).collect();
        all.push(json!({ "anyOf": one }));
    }
    all
}

/// Condition that the key at the dotted `path` exists and that its value matches the schema `value`.
fn holds(path: &str, value: Json) -> Json {
    path.rsplit('.')
        .fold(value, |value, key| json!({ "properties": { key: value }, "required": [key] }))
}

fn consequence(case: &Case) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, key) in &case.keys {
        let schema = match key {
            Some(key) => value(key),
            None => Json::Bool(false),
        };
        properties.insert(name.clone(), schema);
        if key.as_ref().is_some_and(|key| key.is_required) {
            required.push(name.clone());
        }
    }
    json!({ "properties": properties, "required": required })
}

fn value(key: &KeySpec) -> Json {
    let mut all = Map::new();
    if !key.name.is_empty() {
        all.insert("description".into(), description(key).into());
    }
    if key.depends {
        let types: Vec<_> = key.kinds.iter().map(type_name).collect();
        if !types.is_empty() && !types.contains(&None) {
            let mut types: Vec<&str> = types.into_iter().flatten().collect();
            types.sort_unstable();
            types.dedup();
            all.insert("type".into(), types.into());
        }
        if let Some(table) = key.table() {
            let properties: Map<String, Json> =
                table.keys.iter().map(|key| (key.name.clone(), value(key))).collect();
            all.insert("properties".into(), properties.into());
            all.extend(required(table));
        }
        return all.into();
    }
    if let Some(default) = &key.default {
        all.insert("default".into(), default.clone());
    }
    let mut kinds: Vec<Map<String, Json>> = key.kinds.iter().map(of_kind).collect();
    match kinds.len() {
        0 => {}
        1 => all.extend(kinds.remove(0)),
        _ => {
            let kinds: Vec<Json> = kinds.into_iter().map(Json::Object).collect();
            all.insert("anyOf".into(), kinds.into());
        }
    }
    all.into()
}

/// Documentation of the key, with the facts that editors do not show from the schema itself.
fn description(key: &KeySpec) -> String {
    let mut all = key.meaning.clone().unwrap_or_default();
    if key.depends {
        return all;
    }
    let unit = words::type_of(key);
    let unit = unit.split_once(", ").map(|(_, unit)| format!(" {unit}")).unwrap_or_default();
    let allowed = words::allowed(key);
    let is_long =
        key.kinds.iter().any(|kind| matches!(kind, Kind::Words(words) if words.len() > 12));
    if !allowed.is_empty() && !is_long {
        all += &format!(" Allowed: {allowed}{unit}");
        let origin = words::origin(key);
        all += &if origin.is_empty() { ".".into() } else { format!(" (limit from {origin}).") };
    }
    if let Some(default) = &key.default {
        all += &format!(" Default: {}.", words::written(default));
    }
    all
}

fn type_name(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Number(_) => "number",
        Kind::Integer(_) | Kind::OneOf(_) => "integer",
        Kind::Boolean => "boolean",
        Kind::Text { .. } | Kind::Words(_) | Kind::Datetime { .. } | Kind::Date { .. } => "string",
        Kind::Any { .. } => return None,
        Kind::Array { .. } => "array",
        Kind::Table(_) => "object",
    })
}

fn of_kind(kind: &Kind) -> Map<String, Json> {
    let mut all = Map::new();
    if let Some(name) = type_name(kind) {
        all.insert("type".into(), name.into());
    }
    match kind {
        Kind::Number(range) => {
            all.insert("minimum".into(), range.least.into());
            all.insert("maximum".into(), range.most.into());
        }
        Kind::Integer(range) => {
            all.insert("minimum".into(), whole(range.least));
            all.insert("maximum".into(), whole(range.most));
        }
        Kind::OneOf(numbers) => {
            let numbers: Vec<Json> = numbers.iter().copied().map(whole).collect();
            all.insert("enum".into(), numbers.into());
        }
        Kind::Words(words) => {
            all.insert("enum".into(), words.clone().into());
        }
        Kind::Text { pattern: Some(pattern), .. } => {
            all.insert("pattern".into(), pattern.clone().into());
        }
        Kind::Array { least, most, item, .. } => {
            if *least > 0 {
                all.insert("minItems".into(), (*least).into());
            }
            if let Some(most) = most {
                all.insert("maxItems".into(), (*most).into());
            }
            all.insert("items".into(), value(item));
        }
        Kind::Table(table) => {
            if let Json::Object(table) = object(table) {
                all.extend(table);
            }
        }
        Kind::Text { pattern: None, .. }
        | Kind::Boolean
        | Kind::Datetime { .. }
        | Kind::Date { .. }
        | Kind::Any { .. } => {}
    }
    all
}

fn whole(number: i128) -> Json {
    let small = i64::try_from(number).map(Json::from);
    small.unwrap_or_else(|_| u64::try_from(number).map_or(Json::Null, Json::from))
}

/// Parts of a schema that occur more than once.
#[derive(Default)]
struct Shared {
    /// Number of occurrences of each part. The map key is the JSON text of the part.
    counts: BTreeMap<String, usize>,
    /// Name of each part. The map key is the JSON text of the part.
    names: BTreeMap<String, String>,
    definitions: Map<String, Json>,
}

impl Shared {
    /// Replaces each large part that occurs more than once in the schema `whole` by references. Returns these parts by
    /// name. A part that is not inside any key is called `name`.
    fn take_from(whole: &mut Json, name: &str) -> Map<String, Json> {
        let mut shared = Self::default();
        shared.count(whole);
        shared.replace(whole, name, true);
        shared.definitions
    }

    fn is_large(part: &Json) -> Option<String> {
        let text = part.as_object().is_some_and(|map| map.contains_key("type"));
        text.then(|| part.to_string()).filter(|text| text.len() >= SHORTEST_SHARED)
    }

    fn count(&mut self, part: &Json) {
        if let Some(text) = Self::is_large(part) {
            let count = self.counts.entry(text).or_default();
            *count += 1;
            if *count > 1 {
                return;
            }
        }
        match part {
            Json::Object(map) => map.values().for_each(|part| self.count(part)),
            Json::Array(items) => items.iter().for_each(|part| self.count(part)),
            _ => {}
        }
    }

    fn replace(&mut self, part: &mut Json, name: &str, is_root: bool) {
        let text = if is_root { None } else { Self::is_large(part) };
        let again = text.filter(|text| self.counts.get(text).is_some_and(|count| *count > 1));
        if let Some(text) = &again
            && let Some(name) = self.names.get(text)
        {
            *part = reference(name);
            return;
        }
        match part {
            Json::Object(map) => {
                for (key, inner) in map.iter_mut() {
                    let is_keyword = matches!(
                        key.as_str(),
                        "properties" | "items" | "allOf" | "anyOf" | "then" | "if"
                    );
                    self.replace(inner, if is_keyword { name } else { key }, false);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|part| self.replace(part, name, false)),
            _ => {}
        }
        if let Some(text) = again {
            let taken = |name: &String| !self.definitions.contains_key(name);
            let mut names =
                std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}-{n}")));
            let name = names.find(taken).expect("names without end");
            let inner = std::mem::replace(part, reference(&name));
            self.definitions.insert(name.clone(), inner);
            self.names.insert(text, name);
        }
    }
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/definitions/{name}") })
}
