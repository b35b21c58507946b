//! Facts that a decoder states about a sender or a stream. Reports for people and for machines use the same
//! list.

use serde_json::{Map, Value};

/// Lines of a report for people: name and text.
pub type Lines = Vec<(&'static str, String)>;

/// Facts in the order of reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(Vec<Fact>);

#[derive(Clone, Debug, PartialEq)]
struct Fact {
    /// Key and value for machines; none of a fact that only people read.
    data: Option<(&'static str, Value)>,
    /// Label and text for people; none of a fact that only machines read.
    line: Option<(&'static str, String)>,
}

impl Facts {
    /// Adds a value with its key for machines, and a label and a text for people.
    pub fn add(
        &mut self,
        key: &'static str,
        value: impl Into<Value>,
        label: &'static str,
        text: impl Into<String>,
    ) {
        self.0.push(Fact { data: Some((key, value.into())), line: Some((label, text.into())) });
    }

    /// Like [`Facts::add`], for a value that may be unknown: null for machines, no line for people.
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

    /// Adds a number; people see it only if it is not 0.
    pub fn add_count(&mut self, key: &'static str, count: u64, label: &'static str) {
        let line = (count > 0).then(|| (label, count.to_string()));
        self.0.push(Fact { data: Some((key, count.into())), line });
    }

    /// Adds a value that only machines read.
    pub fn add_data(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push(Fact { data: Some((key, value.into())), line: None });
    }

    /// Adds a line that only people read.
    pub fn add_line(&mut self, label: &'static str, text: impl Into<String>) {
        self.0.push(Fact { data: None, line: Some((label, text.into())) });
    }

    /// The same facts without lines for people.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self(self.0.into_iter().map(|fact| Fact { line: None, ..fact }).collect())
    }

    /// The lines for people.
    pub fn into_lines(self) -> Lines {
        self.0.into_iter().filter_map(|fact| fact.line).collect()
    }

    /// Keys with their values, for machines.
    pub fn into_fields(self) -> Map<String, Value> {
        let data = self.0.into_iter().filter_map(|fact| fact.data);
        data.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// `1 packet`, `2 packets`
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
