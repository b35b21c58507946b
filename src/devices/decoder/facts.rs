//! Facts that a decoder states about a sender or a stream; text reports and JSON reports use the same list.

use serde_json::{Map, Value};

/// Lines of a text report: label and text.
pub type Lines = Vec<(&'static str, String)>;

/// Facts, in the order of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(Vec<Fact>);

#[derive(Clone, Debug, PartialEq)]
struct Fact {
    /// Key and value for JSON; `None` for a fact in text only.
    data: Option<(&'static str, Value)>,
    /// Label and text; `None` for a fact in JSON only.
    line: Option<(&'static str, String)>,
}

impl Facts {
    /// Adds a fact: `key` and `value` for JSON reports, `label` and `text` for text reports.
    pub fn add(
        &mut self,
        key: &'static str,
        value: impl Into<Value>,
        label: &'static str,
        text: impl Into<String>,
    ) {
        self.0.push(Fact { data: Some((key, value.into())), line: Some((label, text.into())) });
    }

    /// Like [`Facts::add`], for a value that can be unknown: null in JSON, no line in text.
    pub fn add_known<T: Into<Value>>(
        &mut self,
        key: &'static str,
        value: Option<T>,
        label: &'static str,
        text: impl FnOnce(&T) -> String,
    ) {
        let line = value.as_ref().map(|value| (label, text(value)));
        self.0.push(Fact { data: Some((key, value.into())), line });
    }

    /// Adds a number; text shows it only if it is not 0.
    pub fn add_count(&mut self, key: &'static str, count: u64, label: &'static str) {
        let line = (count > 0).then(|| (label, count.to_string()));
        self.0.push(Fact { data: Some((key, count.into())), line });
    }

    /// Adds a value for JSON only.
    pub fn add_data(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push(Fact { data: Some((key, value.into())), line: None });
    }

    /// Adds a line for text only.
    pub fn add_line(&mut self, label: &'static str, text: impl Into<String>) {
        self.0.push(Fact { data: None, line: Some((label, text.into())) });
    }

    /// The facts without text lines.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self(self.0.into_iter().map(|fact| Fact { line: None, ..fact }).collect())
    }

    /// Lines for text.
    pub fn into_lines(self) -> Lines {
        self.0.into_iter().filter_map(|fact| fact.line).collect()
    }

    /// Keys and values for JSON.
    pub fn into_fields(self) -> Map<String, Value> {
        let data = self.0.into_iter().filter_map(|fact| fact.data);
        data.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Number and noun: `1 packet`, `2 packets`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
