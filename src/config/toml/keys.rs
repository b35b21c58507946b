//! Keys that a profile requires and a rig may override: one reader for both.
//!
//! A reader fills a value. For a rig, the value starts as that of the profile. For a profile, the start value has no
//! effect, because every key is required. The code therefore states each key once, with its limit and its unit.

use serde_json::Value as Json;

use super::key_types::{KeyType, OneOf, RequiredKeys};
use super::reader::{Field, TableReader};

/// Reads the keys of a table into a value.
#[derive(Debug)]
#[must_use]
pub struct Keys<'f> {
    /// The table, for keys that only a profile or only a rig has.
    pub table: TableReader<'f>,
    /// Whether every key is required, as in a profile.
    is_profile: bool,
    is_complete: bool,
}

impl<'f> Keys<'f> {
    /// Keys of a profile's table: all are required.
    pub fn of_profile(table: TableReader<'f>) -> Self {
        Self { table, is_profile: true, is_complete: true }
    }

    /// Keys of a rig's table: a missing key keeps the profile's value.
    pub fn of_rig(table: TableReader<'f>) -> Self {
        Self { table, is_profile: false, is_complete: true }
    }

    /// Reads a rig's table; missing keys have the values of `defaults`.
    pub fn over<T: Clone>(
        table: TableReader<'f>,
        defaults: &T,
        read: impl FnOnce(&mut T, &mut Self),
    ) -> Option<T> {
        let (mut all, mut keys) = (defaults.clone(), Self::of_rig(table));
        read(&mut all, &mut keys);
        keys.finish().map(|()| all)
    }

    /// Whether every key is required.
    pub fn is_profile(&self) -> bool {
        self.is_profile
    }

    /// Whether all required keys that were read so far exist and are valid.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The value of `key`, which is required in a profile.
    pub fn field(&mut self, key: &'static str) -> Field<'f> {
        if self.is_profile { self.table.required(key) } else { self.table.optional(key) }
    }

    /// The value of `key`, which is required in a profile. For a rig, also records `default`, in the form of the file,
    /// as the default; if the rig lacks the key, the returned field has no value.
    pub fn field_or(&mut self, key: &'static str, default: impl Into<Json>) -> Field<'f> {
        let field = self.field(key);
        if !self.is_profile {
            field.defaults_to(default);
        }
        field
    }

    /// Stores a value in `into`. `None` makes a profile incomplete.
    pub fn put<T>(&mut self, read: Option<T>, into: &mut T) {
        match read {
            Some(value) => *into = value,
            None => self.is_complete &= !self.is_profile,
        }
    }

    /// Reads a key that is optional both in profiles and in rigs.
    pub fn maybe<T>(
        &mut self,
        key: &'static str,
        into: &mut Option<T>,
        read: impl FnOnce(&Field<'f>) -> Option<T>,
    ) {
        if let Some(value) = read(&self.table.optional(key)) {
            *into = Some(value);
        }
    }

    /// Reads a key; `doc` is its sentence in the documentation.
    pub fn of_type<T>(
        &mut self,
        key: &'static str,
        doc: &str,
        key_type: &impl KeyType<T>,
        into: &mut T,
    ) {
        let field = self.field_or(key, key_type.written(into)).meaning(doc.trim());
        self.put(key_type.read(&field), into);
    }

    /// Like [`Keys::of_type`], for a key whose sentence in the documentation is defined elsewhere.
    pub fn typed<T>(&mut self, key: &'static str, key_type: &impl KeyType<T>, into: &mut T) {
        self.with_default(key, key_type.written(into), into, |field| key_type.read(field));
    }

    /// Reads a word from a list; `origin` is the source of the list.
    pub fn choice<T: Clone + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        origin: &str,
        into: &mut T,
    ) {
        self.typed(key, &OneOf(words, origin), into);
    }

    /// Reads the value of `key` with `read` and stores the result in `into`. If a rig lacks the key, `into` stays
    /// unchanged; `default`, in the form of the file, is recorded as the default.
    pub fn with_default<T>(
        &mut self,
        key: &'static str,
        default: impl Into<Json>,
        into: &mut T,
        read: impl FnOnce(&Field<'f>) -> Option<T>,
    ) {
        let field = self.field_or(key, default);
        self.put(read(&field), into);
    }

    /// Reads the table under `key` with `read`; messages call the table `what`.
    pub fn table<T: Clone>(
        &mut self,
        key: &'static str,
        what: &str,
        into: &mut T,
        read: impl FnOnce(Keys<'f>, &mut T) -> Option<()>,
    ) {
        let field = self.field(key);
        self.table_in(&field, what, into, read);
    }

    /// Like [`Keys::table`], for a function `read` made by `keys!`. Such a function does not reject unknown keys;
    /// `shared_table` does so afterwards.
    pub fn shared_table<T: Clone>(
        &mut self,
        key: &'static str,
        what: &str,
        into: &mut T,
        read: impl FnOnce(&mut T, &mut Keys<'f>),
    ) {
        self.table(key, what, into, |mut keys, all| {
            read(all, &mut keys);
            keys.finish()
        });
    }

    /// Reads a table `[key]` that only a profile has; `doc` is its sentence in the documentation.
    pub fn section<T: RequiredKeys>(&mut self, key: &'static str, doc: &str) -> Option<T> {
        self.section_with(key, doc, |_| ())
    }

    /// Like [`Keys::section`], with further keys that a rig may override and that `shared` reads.
    pub fn section_with<T: RequiredKeys>(
        &mut self,
        key: &'static str,
        doc: &str,
        shared: impl FnOnce(&mut Keys<'f>),
    ) -> Option<T> {
        section_of(&self.table.required(key).meaning(doc), &format!("[{key}]"), shared)
    }

    /// Reads the table `field` of a profile or of a rig's settings. For a rig, messages call the table `what` and show
    /// the example.
    pub fn part<T: Clone>(
        &mut self,
        field: Field<'f>,
        [what, example]: [&'static str; 2],
        into: &mut T,
        read: impl FnOnce(Keys<'f>, &mut T) -> Option<()>,
    ) {
        if self.is_profile {
            self.table_in(&field, &format!("[{}]", field.name()), into, read);
        } else {
            self.table_in(&field.such_as(example), what, into, read);
        }
    }

    /// Like [`Keys::table`], for a field that the caller has already taken from the table.
    pub fn table_in<T: Clone>(
        &mut self,
        field: &Field<'f>,
        what: &str,
        into: &mut T,
        read: impl FnOnce(Keys<'f>, &mut T) -> Option<()>,
    ) {
        let field = field.clone().or_empty_if_noted(self.table.place());
        if !field.is_written() && !self.is_profile {
            return;
        }
        let is_profile = self.is_profile;
        let part = field.table(what).and_then(|table| {
            let mut part = into.clone();
            let keys = Keys { table, is_profile, is_complete: true };
            read(keys, &mut part).map(|()| part)
        });
        self.put(part, into);
    }

    /// Rejects unknown keys; `None` if required keys of a profile are missing or invalid.
    pub fn finish(self) -> Option<()> {
        self.table.finish();
        self.is_complete.then_some(())
    }
}

/// Calls `read`, which reads keys of a table into `all`. If it reads `key`, `doc` becomes the sentence of that key in
/// the documentation.
pub fn read_by<'f, T>(
    all: &mut T,
    keys: &mut Keys<'f>,
    key: &'static str,
    doc: &'static str,
    read: impl FnOnce(&mut T, &mut Keys<'f>),
) {
    keys.table.next_means(key, doc);
    read(all, keys);
}

/// Like [`Keys::section_with`], for a field that the caller has already taken from the table; messages call it `what`.
pub fn section_of<'f, T: RequiredKeys>(
    field: &Field<'f>,
    what: &str,
    shared: impl FnOnce(&mut Keys<'f>),
) -> Option<T> {
    let mut table = field.table(what)?;
    let own = T::read_keys(&mut table);
    let mut keys = Keys::of_profile(table);
    shared(&mut keys);
    keys.finish()?;
    own
}

/// A table that a profile must have and a rig may override key by key.
pub trait SharedKeys: Clone {
    /// Reads the keys of the table; keys that a rig lacks keep the profile's values.
    fn read_keys(&mut self, keys: &mut Keys<'_>);

    /// Reads the whole table; an argument for [`Keys::table`].
    fn read(mut keys: Keys<'_>, all: &mut Self) -> Option<()> {
        all.read_keys(&mut keys);
        keys.finish()
    }
}

/// A profile's table that a rig may override. The field is the name of the table in messages.
#[derive(Debug)]
pub struct Shared(pub &'static str);

impl<T: SharedKeys + Default> KeyType<T> for Shared {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        let mut all = T::default();
        T::read(Keys::of_profile(field.table(self.0)?), &mut all).map(|()| all)
    }
}
