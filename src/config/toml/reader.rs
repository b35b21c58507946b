//! Reads TOML and keeps the position of every value.
//!
//! Reading has two steps. [`parse_toml`] makes a tree of [`Node`]s, each with its [`Place`]; `--set` may replace some
//! of them. [`TableReader`] takes keys from the tree one by one, and [`Field`] reads a value. Every getter describes
//! the values that it accepts, so that a wrong type, a value out of range, a missing key and an unknown key are
//! reported uniformly. Getters return `None` after an error and for a missing optional key. Reading continues after
//! an error, so that all errors of a file are reported together.

pub use super::field::{Field, Text};
pub use super::limit::Limit;
pub use super::nearest::nearest;
use super::noted::{Noted, Notes};
use super::spec::{Kind, TableSpec};
use super::survey::{Asked, Survey};
pub use super::tree::{Entry, Faults, Node, Value, parse_toml, parse_value};
use crate::toml::diagnostic::{Diagnostic, Place, SourceFile};

/// Takes keys from a table. [`TableReader::finish`] rejects unknown keys.
#[derive(Debug)]
#[must_use]
pub struct TableReader<'f> {
    what: String,
    place: Place,
    entries: Vec<Entry>,
    /// The keys requested so far, with the positions of their values.
    known: Vec<(&'static str, Option<Place>)>,
    /// The key that will be requested next, with its sentence for descriptions of the format.
    meaning: Option<(&'static str, &'static str)>,
    faults: &'f Faults,
    asked: Option<Asked<'f>>,
    noted: Option<Noted<'f>>,
}

impl<'f> TableReader<'f> {
    /// Reads a file's top level.
    pub fn root(node: Node, what: &str, faults: &'f Faults) -> Self {
        let entries = if let Value::Table(entries) = node.value { entries } else { Vec::new() };
        Self::of(what, node.place, entries, faults)
    }

    fn of(what: &str, place: Place, entries: Vec<Entry>, faults: &'f Faults) -> Self {
        let (what, known) = (what.to_owned(), Vec::new());
        Self { what, place, entries, known, meaning: None, faults, asked: None, noted: None }
    }

    /// Returns this reader; it then also records in `notes` each key that is read, with its value.
    pub fn noted_in(self, notes: &'f Notes) -> Self {
        Self { noted: Some(notes.root()), ..self }
    }

    /// A reader without a file, for exploring a format: `survey` records the keys that the caller requests.
    pub fn surveyed(survey: &'f Survey, faults: &'f Faults) -> Self {
        let place = Place::new(&SourceFile::new("", "", ""), 0..0);
        Self { asked: Some(survey.root()), ..Self::of("", place, Vec::new(), faults) }
    }

    /// Position of the table.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reports an error.
    pub fn fault(&self, fault: Diagnostic) {
        self.faults.borrow_mut().push(fault);
    }

    /// Takes an optional key from the table.
    pub fn optional(&mut self, key: &'static str) -> Field<'f> {
        self.field(key, false)
    }

    /// Sets the sentence of `key` for descriptions of the format, before the key is read.
    pub(super) fn next_means(&mut self, key: &'static str, meaning: &'static str) {
        self.meaning = Some((key, meaning.trim()));
    }

    /// Position of the value of a key that has been read; `None` if the file lacks the key or it has not been read.
    pub fn place_of(&self, key: &str) -> Option<Place> {
        self.known.iter().find(|(known, _)| *known == key)?.1.clone()
    }

    fn field(&mut self, key: &'static str, is_required: bool) -> Field<'f> {
        if let Some(asked) = &self.asked {
            self.known.push((key, Some(self.place.clone())));
            let asked = asked.key(key, is_required);
            let meaning = self.meaning.filter(|(meant, _)| *meant == key);
            meaning.into_iter().for_each(|(_, meaning)| asked.means(meaning));
            return Field::surveyed(asked, key, &self.place, self.faults);
        }
        let found = self.entries.iter().position(|entry| entry.key == key);
        let entry = found.map(|index| self.entries.remove(index));
        self.known.push((key, entry.as_ref().map(|entry| entry.node.place.clone())));
        let noted = self.noted.as_ref().map(|noted| noted.key(key));
        if let (Some(noted), Some(entry)) = (&noted, &entry) {
            noted.set(entry.node.clone());
        }
        Field {
            name: key.to_string(),
            node: entry.map(|entry| entry.node),
            example: None,
            missing: None,
            faults: self.faults,
            asked: None,
            noted,
        }
    }

    /// Reports an error if the table has the key `old`, which is now called `new`.
    pub fn was_called(&mut self, old: &str, new: &str) {
        self.was_called_in(old, new, "");
    }

    /// Like [`TableReader::was_called`], for a change of more than the name; `how` describes the new form.
    pub fn was_called_in(&mut self, old: &str, new: &str, how: &str) {
        if let Some(place) = self.take_unlisted(old) {
            let label = if how.is_empty() { format!("write `{new}`") } else { how.to_owned() };
            self.fault(place.fault(format!("`{old}` is now called `{new}`"), label));
        }
    }

    /// Value of a key that has not been read yet; `None` if the table lacks the key or it has been read.
    pub fn node(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Removes the short form `key` from the notes; the keys that it stands for are noted instead.
    pub fn is_written_out(&self, key: &str) {
        if let Some(noted) = &self.noted {
            noted.unset(key);
        }
    }

    /// Takes a required key from the table; reading its value reports an error if the key is missing.
    pub fn required(&mut self, key: &'static str) -> Field<'f> {
        let missing = Some((self.place.clone(), self.what.clone()));
        Field { missing, ..self.field(key, true) }
    }

    /// The keys among `keys` that the table has and that have not been read. At most one is allowed; the caller reports
    /// an error if there are more.
    pub fn written_among(&self, keys: &[&'static str]) -> Vec<&'static str> {
        if let Some(asked) = &self.asked {
            return vec![keys[asked.which_key(keys)]];
        }
        let is_written = |key: &&str| self.entries.iter().any(|entry| entry.key == **key);
        keys.iter().copied().filter(|key| is_written(key)).collect()
    }

    /// Removes a key that is not allowed here and returns its position, for a better message than that for unknown
    /// keys. `None` if the table lacks the key.
    pub fn take_unlisted(&mut self, key: &str) -> Option<Place> {
        let found = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(found).key_place)
    }

    /// Removes and returns the unread keys, for a caller that interprets them.
    pub fn take_rest(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Drops unread keys if `droppable` returns true for the positions of their values.
    pub fn drop_unknown(&mut self, droppable: impl Fn(&Place) -> bool) {
        self.entries.retain(|entry| !droppable(&entry.node.place));
    }

    /// Rejects unread keys, with the most similar known key as a suggestion.
    pub fn finish(self) {
        for (index, entry) in self.entries.iter().enumerate() {
            if self.faults.borrow().is_full() {
                self.faults.borrow_mut().count(self.entries.len() - index);
                return;
            }
            let known = || self.known.iter().map(|(key, _)| *key);
            let label = match nearest(&entry.key, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "not known here".to_string(),
            };
            let fault = entry
                .key_place
                .fault(format!("unknown key `{}`", entry.key), label)
                .note(format!("keys of {}: {}", self.what, known().collect::<Vec<_>>().join(", ")));
            self.faults.borrow_mut().push(fault);
        }
    }
}

impl<'f> Field<'f> {
    /// Reads a table, which messages call `what`.
    pub fn table(&self, what: &str) -> Option<TableReader<'f>> {
        let expected = match self.example {
            Some(example) => format!("a table such as {example}"),
            None => format!("the table {what}"),
        };
        let node = self.some(&expected, "")?;
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Table(TableSpec::default()));
            let asked = Some(asked.clone());
            let table = TableReader::of(what, node.place, Vec::new(), self.faults);
            return Some(TableReader { asked, ..table });
        }
        match node.value {
            Value::Table(entries) => {
                let noted = self.noted.clone();
                let table = TableReader::of(what, node.place, entries, self.faults);
                Some(TableReader { noted, ..table })
            }
            _ => self.wrong_type(&node, "a table", &expected, ""),
        }
    }
}
