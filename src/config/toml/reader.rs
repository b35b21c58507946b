//! Reads TOML that remembers where every value was written.
//!
//! Two steps. [`parse_toml`] makes a tree of [`Node`]s, each with its [`Place`]; `--set` may then
//! replace some, whose place is the argument. [`TableReader`] takes the tree apart key by key:
//! every getter says what it accepts, so a wrong type, a value out of range, a missing and an
//! unknown key are told in one way everywhere. Getters answer `None` after telling a fault and for
//! an optional key that is absent; reading goes on, so that all faults of a file come at once.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use super::limit::Limit;
use super::limit::limit_note;
use super::spec::{KeySpec, Kind, TableSpec};
use super::survey::{Asked, Survey};
use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, Place, SourceFile};

/// Collects faults while a file is read.
pub type Faults = RefCell<Diagnostics>;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where.
    pub place: Place,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `"text"`
    String(String),
    /// `12`; wider than TOML's own so that every `u64` seed fits.
    Integer(i128),
    /// `1.5`
    Float(f64),
    /// `true`
    Boolean(bool),
    /// `2026-06-01T12:00:00Z`
    Datetime(toml::value::Datetime),
    /// `[1, 2]` or `[[table]]`
    Array(Vec<Node>),
    /// `{ a = 1 }` or `[table]`
    Table(Vec<Entry>),
}

/// `key = value`
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// The value.
    pub node: Node,
}

/// Parses a whole file; `None` when it is not TOML, told to `faults`.
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
    // What a file lacks is told at its beginning.
    root.place.span = 0..0;
    Some(root)
}

/// Parses one value that stands at `offset` in `source` up to its end; `None` when it is not TOML.
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
        let text = "whole numbers have at most 38 digits here";
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
        // TOML's floats are Rust's, underscores already removed.
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
    /// What a message calls it.
    fn found(&self) -> String {
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

/// A string and where it was written.
#[derive(Clone, Debug)]
pub struct Text {
    /// The string.
    pub value: String,
    /// Where.
    pub place: Place,
}

/// Takes a table apart; [`TableReader::finish`] refuses what was not asked for.
#[derive(Debug)]
#[must_use]
pub struct TableReader<'f> {
    what: String,
    place: Place,
    entries: Vec<Entry>,
    known: Vec<&'static str>,
    faults: &'f Faults,
    asked: Option<Asked<'f>>,
}

impl<'f> TableReader<'f> {
    /// Reads a file's top level.
    pub fn root(node: Node, what: &str, faults: &'f Faults) -> Self {
        let entries = if let Value::Table(entries) = node.value { entries } else { Vec::new() };
        let what = what.to_string();
        Self { what, place: node.place, entries, known: Vec::new(), faults, asked: None }
    }

    /// The top level of a file of which nothing is known: `survey` notes what is asked for.
    pub fn surveyed(survey: &'f Survey, faults: &'f Faults) -> Self {
        Self {
            what: String::new(),
            place: Place::new(&SourceFile::new("", "", ""), 0..0),
            entries: Vec::new(),
            known: Vec::new(),
            faults,
            asked: Some(survey.root()),
        }
    }

    /// Where the table was written.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Tells a fault.
    pub fn fault(&self, fault: Diagnostic) {
        self.faults.borrow_mut().push(fault);
    }

    /// A key that may be absent.
    pub fn optional(&mut self, key: &'static str) -> Field<'f> {
        self.field(key, false)
    }

    fn field(&mut self, key: &'static str, is_required: bool) -> Field<'f> {
        self.known.push(key);
        if let Some(asked) = &self.asked {
            return Field::surveyed(asked.key(key, is_required), key, &self.place, self.faults);
        }
        let found = self.entries.iter().position(|entry| entry.key == key);
        let entry = found.map(|index| self.entries.remove(index));
        Field {
            name: key.to_string(),
            node: entry.map(|entry| entry.node),
            example: None,
            missing: None,
            faults: self.faults,
            asked: None,
        }
    }

    /// A key that must be there.
    pub fn required(&mut self, key: &'static str) -> Field<'f> {
        let missing = Some((self.place.clone(), self.what.clone()));
        Field { missing, ..self.field(key, true) }
    }

    /// Those of `keys` that are there and have not been asked for; exactly one should be.
    pub fn written_among(&self, keys: &[&'static str]) -> Vec<&'static str> {
        if let Some(asked) = &self.asked {
            return vec![keys[asked.which_key(keys)]];
        }
        let is_written = |key: &&str| self.entries.iter().any(|entry| entry.key == **key);
        keys.iter().copied().filter(|key| is_written(key)).collect()
    }

    /// Removes a key that is not allowed here and says where it stands, so that more can be told
    /// than that it is unknown.
    pub fn take_unlisted(&mut self, key: &str) -> Option<Place> {
        let found = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(found).key_place)
    }

    /// Forgets keys that were not asked for, if `droppable` says so of their values' places.
    pub fn drop_unknown(&mut self, droppable: impl Fn(&Place) -> bool) {
        self.entries.retain(|entry| !droppable(&entry.node.place));
    }

    /// Every key must have been asked for: unknown ones are refused with the nearest known one.
    pub fn finish(self) {
        for (index, entry) in self.entries.iter().enumerate() {
            if self.faults.borrow().is_full() {
                self.faults.borrow_mut().count(self.entries.len() - index);
                return;
            }
            let label = match nearest(&entry.key, self.known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "not known here".to_string(),
            };
            let fault = entry
                .key_place
                .fault(format!("unknown key `{}`", entry.key), label)
                .note(format!("keys of {}: {}", self.what, self.known.join(", ")));
            self.faults.borrow_mut().push(fault);
        }
    }
}

/// One value to be read as something.
#[derive(Clone, Debug)]
pub struct Field<'f> {
    name: String,
    node: Option<Node>,
    example: Option<&'static str>,
    missing: Option<(Place, String)>,
    faults: &'f Faults,
    pub(super) asked: Option<Asked<'f>>,
}

impl<'f> Field<'f> {
    fn surveyed(asked: Asked<'f>, name: &str, place: &Place, faults: &'f Faults) -> Self {
        // It is written, whatever it is.
        let node = Node { value: Value::Boolean(true), place: place.clone() };
        let (name, node) = (name.to_owned(), Some(node));
        Self { name, node, example: None, missing: None, faults, asked: Some(asked) }
    }

    /// What the value sets, for those who describe the format.
    #[must_use]
    pub fn meaning(self, meaning: &str) -> Self {
        if let Some(asked) = &self.asked {
            asked.means(meaning);
        }
        self
    }

    /// How to write a table that stands here, for when it is missing.
    #[must_use]
    pub fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// Whether the key was written.
    pub fn is_written(&self) -> bool {
        self.node.is_some()
    }

    /// Where the value stands, if it was written.
    pub fn place(&self) -> Option<Place> {
        self.node.as_ref().map(|node| node.place.clone())
    }

    /// A finite number within `limit`; whole ones count.
    pub fn number(&self, limit: &Limit<f64>) -> Option<f64> {
        if let Some(asked) = &self.asked {
            return Some(asked.number(limit));
        }
        let expected = format!("a number, {}", limit.allowed());
        let node = self.some(&expected, &limit.note())?;
        let number = match node.value {
            Value::Integer(i) => i as f64,
            Value::Float(x) if x.is_finite() => x,
            Value::Float(_) => {
                return self.wrong_type(&node, "a finite number", &expected, &limit.note());
            }
            _ => return self.wrong_type(&node, "a number", &expected, &limit.note()),
        };
        self.within(&node, number, limit)
    }

    /// A whole number within `limit`.
    pub fn integer<T: TryFrom<i128>>(&self, limit: &Limit<i128>) -> Option<T> {
        if let Some(asked) = &self.asked {
            return T::try_from(asked.integer(limit)).ok();
        }
        let expected = format!("a whole number, {}", limit.allowed());
        let node = self.some(&expected, &limit.note())?;
        let Value::Integer(number) = node.value else {
            return self.wrong_type(&node, "a whole number", &expected, &limit.note());
        };
        T::try_from(self.within(&node, number, limit)?).ok()
    }

    /// As [`Field::integer`], for a number that should be one of `allowed`; the caller judges that.
    pub fn integer_among<T: TryFrom<i128>>(
        &self,
        limit: &Limit<i128>,
        allowed: &[i128],
    ) -> Option<T> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::OneOf(allowed.to_vec()));
            return T::try_from(*allowed.first()?).ok();
        }
        self.integer(limit)
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Boolean);
            return Some(false);
        }
        let node = self.some("true or false", "")?;
        match node.value {
            Value::Boolean(b) => Some(b),
            _ => self.wrong_type(&node, "true or false", "true or false, without quotes", ""),
        }
    }

    /// A string; `expected` says what it should hold.
    pub fn text(&self, expected: &str) -> Option<Text> {
        self.text_like(expected, None)
    }

    /// A string; `expected` says what it should hold, and so does a regular expression to those who
    /// describe the format. The caller judges it.
    pub fn text_like(&self, expected: &str, pattern: Option<&str>) -> Option<Text> {
        if let Some(asked) = &self.asked {
            let pattern = pattern.map(str::to_owned);
            asked.may_be(Kind::Text { expected: expected.to_owned(), pattern });
            return self.sample("x");
        }
        let node = self.some(expected, "")?;
        match node.value {
            Value::String(value) => Some(Text { value, place: node.place }),
            _ => self.wrong_type(&node, "a string", expected, ""),
        }
    }

    /// One of a few words, or other text that `expected` and a regular expression describe; the
    /// caller knows what each means. `example` is some other text.
    pub fn word_or_text(
        &self,
        words: &[&str],
        expected: &str,
        pattern: &str,
        example: &str,
    ) -> Option<Text> {
        if let Some(asked) = &self.asked {
            let answer = asked.word_or_text(words, expected, pattern);
            return self.sample(words.get(answer).copied().unwrap_or(example));
        }
        self.text(expected)
    }

    /// Some text of a value that is not known.
    fn sample(&self, text: &str) -> Option<Text> {
        self.place().map(|place| Text { value: text.to_owned(), place })
    }

    /// A number, or a word that stands for none; `origin` says who allows the word.
    pub fn number_or_word(
        &self,
        limit: &Limit<f64>,
        word: &str,
        origin: &str,
    ) -> Option<Option<f64>> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Words(vec![word.to_owned()]));
            return Some(Some(asked.number(limit)));
        }
        let node = self.some(&format!("a number or \"{word}\""), "")?;
        match node.value {
            Value::String(_) => self.choice(&[(word, None)], &format!("{origin}; else a number")),
            _ => self.number(limit).map(Some),
        }
    }

    /// One of a few words; `origin` says who allows them.
    pub fn choice<T: Clone>(&self, words: &[(&str, T)], origin: &str) -> Option<T> {
        if let Some(asked) = &self.asked {
            let answer = asked.word(words.iter().map(|(word, _)| *word));
            return words.get(answer).map(|(_, value)| value.clone());
        }
        let list: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let expected = list.join(", ");
        let note = limit_note(origin);
        let node = self.some(&expected, &note)?;
        let Value::String(written) = &node.value else {
            return self.wrong_type(&node, "a string", &expected, &note);
        };
        let found = words.iter().find(|(word, _)| word == written);
        if found.is_none() {
            let near = nearest(written, words.iter().map(|(word, _)| *word));
            let mut fault = node
                .place
                .fault(
                    format!("`{}` cannot be \"{written}\"", self.name),
                    format!("allowed: {expected}"),
                )
                .note(note);
            if let Some(near) = near {
                fault = fault.help(format!("did you mean \"{near}\"?"));
            }
            self.fault(fault);
        }
        found.map(|(_, value)| value.clone())
    }

    /// Refuses a word that has another name today; whether it was written.
    pub fn refuse_old_word(&self, old: &str, new: &str) -> bool {
        let Some(node) = &self.node else { return false };
        if !matches!(&node.value, Value::String(written) if written == old) {
            return false;
        }
        let title = format!("\"{old}\" is now called \"{new}\"");
        self.fault(node.place.fault(title, format!("write {} = \"{new}\"", self.name)));
        true
    }

    /// A date with time and offset.
    pub fn datetime(&self) -> Option<(toml::value::Datetime, Place)> {
        let expected = "a date, time and offset, such as 2026-06-01T12:00:00Z";
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Datetime { expected: expected.to_owned() });
            return None;
        }
        let node = self.some(expected, "")?;
        match node.value {
            Value::Datetime(d) => Some((d, node.place)),
            _ => self.wrong_type(&node, "a date and time", &format!("{expected}, no quotes"), ""),
        }
    }

    /// `N` numbers, each within `limit`.
    pub fn numbers<const N: usize>(&self, limit: &Limit<f64>) -> Option<[f64; N]> {
        let expected = format!("{N} numbers, each {}", limit.allowed());
        if self.asked.is_some() {
            let (items, _) = self.array_of(N..=N, &expected)?;
            let numbers: Option<Vec<f64>> = items.iter().map(|item| item.number(limit)).collect();
            return numbers?.try_into().ok();
        }
        let (items, place) = self.items(&expected, &limit.note())?;
        let count = items.len();
        let numbers: Vec<_> = items.into_iter().map(|item| item.number(limit)).collect();
        if count != N {
            let title = format!("`{}` must have {N} numbers", self.name);
            let text = format!("this has {count}; allowed: {expected}");
            self.fault(place.fault(title, text).note(limit.note()));
            return None;
        }
        let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
        numbers?.try_into().ok()
    }

    /// An array's items, each to be read on its own, and where the array stands.
    pub fn array(&self, expected: &str) -> Option<(Vec<Field<'f>>, Place)> {
        self.items(expected, "")
    }

    /// As [`Field::array`], of no more items than `count`; `origin` says who sets that limit. Nothing is
    /// read of an array that is longer.
    pub fn array_up_to(
        &self,
        count: RangeInclusive<usize>,
        origin: &str,
        expected: &str,
    ) -> Option<(Vec<Field<'f>>, Place)> {
        if let Some(Node { value: Value::Array(items), place }) = &self.node
            && items.len() > *count.end()
        {
            let title = format!("{} of [[{}]] are too many", items.len(), self.name);
            let fault = place.fault(title, format!("allowed: at most {}", count.end()));
            self.fault(fault.note(limit_note(origin)));
            return None;
        }
        self.array_of(count, expected)
    }

    /// As [`Field::array`], for an array that should have so many items; the caller counts them.
    pub fn array_of(
        &self,
        count: RangeInclusive<usize>,
        expected: &str,
    ) -> Option<(Vec<Field<'f>>, Place)> {
        match &self.asked {
            Some(asked) => self.surveyed_items(asked, count, expected),
            None => self.array(expected),
        }
    }

    /// An array of strings; `expected` says of what.
    pub fn strings(&self, expected: &str) -> Option<Vec<String>> {
        let (items, _) = self.items(&format!("an array of strings, {expected}"), "")?;
        let texts: Vec<_> = items.iter().map(|item| item.text(expected)).collect();
        texts.into_iter().map(|text| text.map(|text| text.value)).collect()
    }

    /// A value that may be of several types.
    pub fn any(&self, expected: &str) -> Option<Node> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Any { expected: expected.to_owned() });
        }
        self.some(expected, "")
    }

    /// What a file named by this value holds, or its faults; those without a place get this one.
    pub(crate) fn loaded<T>(&self, text: &Text, outcome: Result<T, Diagnostics>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(faults) => {
                self.faults.borrow_mut().append(faults.placed(&text.place, "named here"));
                None
            }
        }
    }

    /// Called `name` in messages from here on.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self { name: name.to_string(), ..self.clone() }
    }

    /// A table; `what` is its name in messages.
    pub fn table(&self, what: &str) -> Option<TableReader<'f>> {
        let expected = match self.example {
            Some(example) => format!("a table such as {example}"),
            None => format!("the table {what}"),
        };
        let node = self.some(&expected, "")?;
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Table(TableSpec::default()));
            return Some(TableReader {
                what: what.to_string(),
                place: node.place,
                entries: Vec::new(),
                known: Vec::new(),
                faults: self.faults,
                asked: Some(asked.clone()),
            });
        }
        match node.value {
            Value::Table(entries) => Some(TableReader {
                what: what.to_string(),
                place: node.place,
                entries,
                known: Vec::new(),
                faults: self.faults,
                asked: None,
            }),
            _ => self.wrong_type(&node, "a table", &expected, ""),
        }
    }

    /// Whether the value is a string.
    pub fn is_text(&self) -> bool {
        if let Some(asked) = &self.asked {
            return asked.is_of_type("string");
        }
        matches!(self.node, Some(Node { value: Value::String(_), .. }))
    }

    /// Whether the value is an array.
    pub fn is_array(&self) -> bool {
        if let Some(asked) = &self.asked {
            return asked.is_of_type("array");
        }
        matches!(self.node, Some(Node { value: Value::Array(_), .. }))
    }

    /// Tells a fault.
    pub fn fault(&self, fault: Diagnostic) {
        self.faults.borrow_mut().push(fault);
    }

    /// The value, or the fault that it is missing.
    fn some(&self, expected: &str, note: &str) -> Option<Node> {
        if self.node.is_none()
            && let Some((place, what)) = &self.missing
        {
            let label = format!("{what} needs `{}`: {expected}", self.name);
            let fault = place.fault(format!("`{}` is missing", self.name), label).note(note);
            self.fault(fault);
        }
        self.node.clone()
    }

    /// As few items as may be, but one.
    fn surveyed_items(
        &self,
        asked: &Asked<'f>,
        count: RangeInclusive<usize>,
        expected: &str,
    ) -> Option<(Vec<Field<'f>>, Place)> {
        asked.may_be(Kind::Array {
            expected: expected.to_owned(),
            least: *count.start(),
            most: Some(*count.end()).filter(|most| *most < usize::MAX),
            item: Box::new(KeySpec::default()),
        });
        let place = self.place()?;
        let name = |index| format!("{}[{index}]", self.name);
        let item = |index| Field::surveyed(asked.item(), &name(index), &place, self.faults);
        Some(((0..(*count.start()).max(1)).map(item).collect(), place.clone()))
    }

    fn items(&self, expected: &str, note: &str) -> Option<(Vec<Field<'f>>, Place)> {
        if let Some(asked) = &self.asked {
            return self.surveyed_items(asked, 0..=usize::MAX, expected);
        }
        let node = self.some(expected, note)?;
        let Value::Array(items) = node.value else {
            return self.wrong_type(&node, "an array", expected, note);
        };
        let field = |(index, item)| Field {
            name: format!("{}[{index}]", self.name),
            node: Some(item),
            example: None,
            missing: None,
            faults: self.faults,
            asked: None,
        };
        Some((items.into_iter().enumerate().map(field).collect(), node.place))
    }

    fn within<T: PartialOrd + Display>(
        &self,
        node: &Node,
        number: T,
        limit: &Limit<T>,
    ) -> Option<T> {
        if limit.range.contains(&number) {
            return Some(number);
        }
        let fault = node
            .place
            .fault(
                format!("`{}` is out of range", self.name),
                format!("allowed: {}", limit.allowed()),
            )
            .note(limit.note());
        self.fault(fault);
        None
    }

    fn wrong_type<T>(&self, node: &Node, must: &str, expected: &str, note: &str) -> Option<T> {
        let label = format!("{}; allowed: {expected}", node.found());
        let fault = node.place.fault(format!("`{}` must be {must}", self.name), label).note(note);
        self.fault(fault);
        None
    }
}

/// No known word is longer.
const LONGEST_WORD: usize = 100;

/// The word of `known` that `written` is most like, if any is like it at all.
pub fn nearest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // Comparing takes as long as the product of the lengths.
    if written.len() > LONGEST_WORD {
        return None;
    }
    known
        .map(|word| (strsim::damerau_levenshtein(written, word), word))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, word)| {
            *distance <= written.len().max(word.len()) / 3 || word.starts_with(written)
        })
        .map(|(_, word)| word)
}
