//! The keys that a reader accepts, with their types, limits, words and defaults.
//!
//! [`explore`](super::explore) obtains them by running the readers, so that no key is described twice.

use serde_json::Value as Json;

/// The keys of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableSpec {
    /// Keys in the order in which the reader reads them.
    pub keys: Vec<KeySpec>,
    /// Keys and types that depend on another key.
    pub variants: Vec<Variants>,
}

/// One key, or the items of an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeySpec {
    /// Name of the key; empty for the items of an array.
    pub name: String,
    /// Whether the key is required.
    pub is_required: bool,
    /// Default value, as it would be written in the file; `None` if there is none, or if it depends on other values.
    pub default: Option<Json>,
    /// Sentence about the key, if its reader has one.
    pub meaning: Option<String>,
    /// Whether the description depends on another key. This struct then has only the common part; the [`Variants`] of
    /// the table have the rest.
    pub depends: bool,
    /// Types that are allowed.
    pub kinds: Vec<Kind>,
}

/// Type of a value, with the limits of the type.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number, integer or not.
    Number(Range<f64>),
    /// An integer.
    Integer(Range<i128>),
    /// An integer from a list.
    OneOf(Vec<i128>),
    /// `true` or `false`.
    Boolean,
    /// A string.
    Text {
        /// Description of the expected content.
        expected: String,
        /// Regular expression of the content, if there is one.
        pattern: Option<String>,
    },
    /// A word from a list.
    Words(Vec<String>),
    /// A date with a time of day.
    Datetime {
        /// Description of the expected value.
        expected: String,
    },
    /// A date.
    Date {
        /// Description of the expected value.
        expected: String,
    },
    /// A value of any type, which only the reader of the key checks.
    Any {
        /// Description of the expected value.
        expected: String,
    },
    /// An array.
    Array {
        /// Description of the expected content.
        expected: String,
        /// Smallest number of items.
        least: usize,
        /// Largest number of items; `None` if unlimited.
        most: Option<usize>,
        /// Description of the items.
        item: Box<KeySpec>,
    },
    /// A table.
    Table(TableSpec),
}

/// Limits of a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Range<T> {
    /// Smallest value.
    pub least: T,
    /// Largest value.
    pub most: T,
    /// Unit; may be empty.
    pub unit: &'static str,
    /// Origin of the limits; may be empty.
    pub origin: String,
}

/// Dependence of a table's keys on another key.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants {
    /// Condition that selects a case.
    pub by: Discriminator,
    /// Cases with their keys.
    pub cases: Vec<Case>,
}

/// Condition on which other keys depend.
#[derive(Clone, Debug, PartialEq)]
pub enum Discriminator {
    /// The word that is the value of the key with this name. The key can be in a nested table, as in
    /// `packet.generation`.
    WordOf(String),
    /// Which one of several alternative keys the table has.
    WhichKey,
}

/// One of several sets of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Word, or name of the alternative key, that selects this case; `None`: the case of all words that no other case
    /// names.
    pub word: Option<String>,
    /// Keys that depend on the condition, by name; `None` for keys that are not allowed in this case.
    pub keys: Vec<(String, Option<KeySpec>)>,
}

impl TableSpec {
    /// The key called `name`; `None` if there is none.
    pub fn key(&self, name: &str) -> Option<&KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The key called `name`, mutable.
    pub(super) fn key_mut(&mut self, name: &str) -> Option<&mut KeySpec> {
        self.keys.iter_mut().find(|key| key.name == name)
    }

    /// The table at a path such as `world.object[]`; the empty path is the table itself.
    pub(super) fn table_at(&self, path: &str) -> Option<&Self> {
        path.split('.').filter(|part| !part.is_empty()).try_fold(self, |table, part| {
            let name = part.trim_end_matches("[]");
            let mut key = table.key(name)?;
            for _ in 0..(part.len() - name.len()) / 2 {
                key = key.item()?;
            }
            key.table()
        })
    }

    /// Like [`TableSpec::table_at`], mutable.
    pub(super) fn table_mut(&mut self, path: &str) -> Option<&mut Self> {
        if path.is_empty() { Some(self) } else { self.at_mut(path)?.table_mut() }
    }

    /// The key, or the items of an array, at a path such as `world.object[].size_m`.
    pub(super) fn at_mut(&mut self, path: &str) -> Option<&mut KeySpec> {
        let (first, rest) = match path.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path, None),
        };
        let name = first.trim_end_matches("[]");
        let mut key = self.key_mut(name)?;
        for _ in 0..(first.len() - name.len()) / 2 {
            key = key.item_mut()?;
        }
        match rest {
            Some(rest) => key.table_mut()?.at_mut(rest),
            None => Some(key),
        }
    }
}

impl TableSpec {
    /// Removes the keys whose values the reader never read, also in nested tables; the reader rejects such keys.
    pub(super) fn forget_unread(&mut self) {
        self.keys.retain(|key| !key.kinds.is_empty());
        for kind in self.keys.iter_mut().flat_map(|key| &mut key.kinds) {
            match kind {
                Kind::Table(table) => table.forget_unread(),
                Kind::Array { item, .. } => {
                    if let Some(table) = item.table_mut() {
                        table.forget_unread();
                    }
                }
                _ => {}
            }
        }
    }

    /// Empties the table at a path.
    pub(super) fn clear(&mut self, path: &str) {
        if let Some(table) = self.table_mut(path) {
            *table = Self::default();
        }
    }

    /// The description without defaults, for comparisons.
    pub(super) fn without_defaults(mut self) -> Self {
        self.keys = self.keys.into_iter().map(KeySpec::without_defaults).collect();
        self
    }
}

impl KeySpec {
    /// The description without defaults, for comparisons.
    pub(super) fn without_defaults(mut self) -> Self {
        self.default = None;
        for kind in &mut self.kinds {
            match kind {
                Kind::Table(table) => *table = std::mem::take(table).without_defaults(),
                Kind::Array { item, .. } => **item = std::mem::take(&mut **item).without_defaults(),
                _ => {}
            }
        }
        self
    }

    /// A key called `name` without further facts.
    pub(super) fn new(name: &str, is_required: bool) -> Self {
        Self { name: name.to_owned(), is_required, ..Self::default() }
    }

    /// Description of the table, if the value may be a table; otherwise `None`.
    pub fn table(&self) -> Option<&TableSpec> {
        self.kinds.iter().find_map(|kind| match kind {
            Kind::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Description of an array's items, if the value may be an array; otherwise `None`.
    pub fn item(&self) -> Option<&KeySpec> {
        self.kinds.iter().find_map(|kind| match kind {
            Kind::Array { item, .. } => Some(&**item),
            _ => None,
        })
    }

    fn table_mut(&mut self) -> Option<&mut TableSpec> {
        self.kinds.iter_mut().find_map(|kind| match kind {
            Kind::Table(table) => Some(table),
            _ => None,
        })
    }

    fn item_mut(&mut self) -> Option<&mut Self> {
        self.kinds.iter_mut().find_map(|kind| match kind {
            Kind::Array { item, .. } => Some(&mut **item),
            _ => None,
        })
    }

    /// Adds a type if the key does not have it yet. A key has at most one table type and one array type.
    pub(super) fn add(&mut self, kind: Kind) {
        let is_there = match kind {
            Kind::Table(_) => self.table().is_some(),
            Kind::Array { .. } => self.item().is_some(),
            _ => self.kinds.contains(&kind),
        };
        if !is_there {
            self.kinds.push(kind);
        }
    }
}
