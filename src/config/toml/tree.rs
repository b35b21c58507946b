//! A tree of TOML values with their positions.

use std::cell::RefCell;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostics, Place, SourceFile};

/// Collects errors while a file is read.
pub type Faults = RefCell<Diagnostics>;

/// A TOML value with its position in the file.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Position of the value.
    pub place: Place,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `"text"`, a string.
    String(String),
    /// `12`, an integer. The type is wider than TOML's, so that every `u64` seed fits.
    Integer(i128),
    /// `1.5`, a floating-point number.
    Float(f64),
    /// `true`, a boolean.
    Boolean(bool),
    /// `2026-06-01T12:00:00Z`, a date, a time, or both.
    Datetime(toml::value::Datetime),
    /// `[1, 2]` or `[[table]]`, an array.
    Array(Vec<Node>),
    /// `{ a = 1 }` or `[table]`, a table.
    Table(Vec<Entry>),
}

/// An entry of a table: `key = value`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Position of the key.
    pub key_place: Place,
    /// The value, with the position of the value.
    pub node: Node,
}

/// Parses a whole file. If the text is not TOML, reports that to `faults` and returns `None`.
pub fn parse_toml(source: &Arc<SourceFile>, faults: &Faults) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut sink = faults.borrow_mut();
    for error in &errors {
        let place = Place::new(source, error.span().unwrap_or(0..0));
        let mut lines = error.message().lines();
        let first = lines.next().unwrap_or_default();
        let rest = lines.collect::<Vec<_>>().join("; ");
        sink.push(place.fault(format!("not valid TOML: {first}"), rest));
    }
    drop(sink);
    if !errors.is_empty() {
        return None;
    }
    let mut root = node(source, 0, &Spanned::new(0..0, DeValue::Table(table.into_inner())), faults);
    // Missing keys are reported at the beginning of the file.
    root.place.span = 0..0;
    Some(root)
}

/// Parses one value from byte `offset` in `source` to the end. Returns `None`, without reporting an error, if the text
/// is not TOML. An integer that is too large is reported to `faults`.
pub fn parse_value(source: &Arc<SourceFile>, offset: usize, faults: &Faults) -> Option<Node> {
    let (value, errors) = DeValue::parse_recoverable(&source.text[offset..]);
    errors.is_empty().then(|| node(source, offset, &value, faults))
}

fn node(
    source: &Arc<SourceFile>,
    offset: usize,
    value: &Spanned<DeValue<'_>>,
    faults: &Faults,
) -> Node {
    let place_of =
        |span: std::ops::Range<usize>| Place::new(source, span.start + offset..span.end + offset);
    let place = place_of(value.span());
    let too_large = || {
        let text = "allowed: whole numbers of up to 38 digits";
        faults.borrow_mut().push(place.fault("this number is too large", text));
    };
    let value = match value.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => {
            Value::Integer(i128::from_str_radix(i.as_str(), i.radix()).unwrap_or_else(|_| {
                too_large();
                0
            }))
        }
        // After removal of underscores, TOML's floats have the form of Rust's.
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(d) => Value::Datetime(*d),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| node(source, offset, item, faults)).collect())
        }
        DeValue::Table(table) => Value::Table(
            table
                .iter()
                .map(|(key, value)| Entry {
                    key: key.get_ref().to_string(),
                    key_place: place_of(key.span()),
                    node: node(source, offset, value, faults),
                })
                .collect(),
        ),
    };
    Node { value, place }
}

impl Node {
    /// An empty table.
    pub fn empty(place: &Place) -> Self {
        Self { value: Value::Table(Vec::new()), place: place.clone() }
    }

    /// The entries of a table; `None` if this node is not a table.
    pub fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        if let Value::Table(entries) = &mut self.value { Some(entries) } else { None }
    }

    /// The value of a key of this table; `None` if the table lacks the key or this node is not a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of a key, created if missing; `None` if this node is not a table.
    pub fn get_mut_or_insert(
        &mut self,
        key: &str,
        node: impl FnOnce() -> Self,
    ) -> Option<&mut Self> {
        let place = self.place.clone();
        let entries = self.entries_mut()?;
        let found = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            entries.push(Entry { key: key.to_owned(), key_place: place, node: node() });
            entries.len() - 1
        });
        entries.get_mut(found).map(|entry| &mut entry.node)
    }

    /// The text of a string; `None` for other types.
    pub fn as_text(&self) -> Option<&str> {
        if let Value::String(text) = &self.value { Some(text) } else { None }
    }

    /// Clause that states the node's type in messages, such as `this is a string`.
    pub(super) fn found(&self) -> String {
        match &self.value {
            Value::String(_) => "this is a string".into(),
            Value::Integer(_) => "this is a whole number".into(),
            Value::Float(x) if !x.is_finite() => "this is not a finite number".into(),
            Value::Float(_) => "this is a number with a fraction".into(),
            Value::Boolean(_) => "this is a boolean".into(),
            Value::Datetime(_) => "this is a date or time".into(),
            Value::Array(_) => "this is an array".into(),
            Value::Table(_) => "this is a table".into(),
        }
    }
}
