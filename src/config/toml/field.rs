//! One value of a file before its conversion to a type.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::diagnostic::{Diagnostic, Diagnostics, Place};
use super::limit::{Limit, limit_note};
use super::nearest::nearest;
use super::noted::Noted;
use super::spec::{KeySpec, Kind};
use super::survey::Asked;
use super::tree::{Faults, Node, Value};

/// A string with its position.
#[derive(Clone, Debug)]
pub struct Text {
    /// The string.
    pub value: String,
    /// Position of the string.
    pub place: Place,
}

/// One value of a file before its conversion to a type. A getter returns `None` if the key is missing, or after it has
/// reported an error.
#[derive(Clone, Debug)]
pub struct Field<'f> {
    pub(super) name: String,
    pub(super) node: Option<Node>,
    pub(super) example: Option<&'static str>,
    pub(super) missing: Option<(Place, String)>,
    pub(super) faults: &'f Faults,
    pub(super) asked: Option<Asked<'f>>,
    pub(super) noted: Option<Noted<'f>>,
}

impl<'f> Field<'f> {
    pub(super) fn surveyed(
        asked: Asked<'f>,
        name: &str,
        place: &Place,
        faults: &'f Faults,
    ) -> Self {
        // While the content of the file is unknown, every key counts as written; this value is a placeholder.
        let node = Node { value: Value::Boolean(true), place: place.clone() };
        let (name, node) = (name.to_owned(), Some(node));
        Self { name, node, example: None, missing: None, faults, asked: Some(asked), noted: None }
    }

    /// Name of the key in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records the meaning of the value for descriptions of the format.
    #[must_use]
    pub fn meaning(self, meaning: &str) -> Self {
        if let Some(asked) = &self.asked {
            asked.means(meaning);
        }
        self
    }

    /// Sets an example of the table, for the message if the table is missing.
    #[must_use]
    pub fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// The same field with `node` instead of its value in the file.
    #[must_use]
    pub fn with(mut self, node: Node) -> Self {
        if let Some(noted) = &self.noted {
            noted.set(node.clone());
        }
        self.node = Some(node);
        self
    }

    /// The same field, with an empty table at `place` if the key is missing.
    #[must_use]
    pub fn or_empty(mut self, place: &Place) -> Self {
        self.node.get_or_insert_with(|| Node::empty(place));
        self
    }

    /// Like [`Field::or_empty`], but only while defaults are recorded. The defaults of a missing table's keys are then
    /// recorded, too.
    #[must_use]
    pub fn or_empty_if_noted(self, place: &Place) -> Self {
        if self.noted.is_some() { self.or_empty(place) } else { self }
    }

    /// The given `items` as fields of this array; they replace the items in the file.
    pub fn items_of(&self, items: Vec<Node>) -> Vec<Field<'f>> {
        if let (Some(noted), Some(place)) = (&self.noted, self.place()) {
            noted.set(Node { value: Value::Array(items.clone()), place });
        }
        let item = |(index, item)| Field {
            name: format!("{}[{index}]", self.name),
            node: Some(item),
            noted: self.noted.as_ref().map(|noted| noted.item(index)),
            ..self.clone()
        };
        items.into_iter().enumerate().map(item).collect()
    }

    /// The value in the file; `None` if the key is missing or the content of the file is unknown.
    pub fn node(&self) -> Option<&Node> {
        self.node.as_ref().filter(|_| self.asked.is_none())
    }

    /// The text of a short form, which is a string instead of a table, such as the link `"udp:127.0.0.1:2368"`. `None`
    /// if the value is not a string. `expected` and the regular expression `pattern` describe the text.
    pub fn short_form(&self, expected: &str, pattern: &str) -> Option<Text> {
        if let Some(asked) = &self.asked {
            let pattern = Some(pattern.to_owned());
            asked.may_be(Kind::Text { expected: expected.to_owned(), pattern });
            return None;
        }
        match self.node.clone()? {
            Node { value: Value::String(value), place } => Some(Text { value, place }),
            _ => None,
        }
    }

    /// Whether the file has the key.
    pub fn is_written(&self) -> bool {
        self.node.is_some()
    }

    /// Position of the value; `None` if the key is missing.
    pub fn place(&self) -> Option<Place> {
        self.node.as_ref().map(|node| node.place.clone())
    }

    /// A finite number within `limit`; integers are accepted.
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

    /// An integer within `limit`.
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

    /// Like [`Field::number`], for a number that limits other numbers of the file. For descriptions of the format,
    /// which are made without a file, returns the largest allowed value.
    pub fn number_that_limits(&self, limit: &Limit<f64>) -> Option<f64> {
        self.number(limit)
            .map(|number| if self.asked.is_some() { *limit.range.end() } else { number })
    }

    /// Like [`Field::number_that_limits`], for an integer.
    pub fn integer_that_limits<T: TryFrom<i128>>(&self, limit: &Limit<i128>) -> Option<T> {
        let number = self.integer::<T>(limit);
        if self.asked.is_some() { T::try_from(*limit.range.end()).ok() } else { number }
    }

    /// An integer from the list `allowed`, which assigns a result to each integer; returns the result. `origin` is the
    /// source of the list.
    pub fn integer_among<T: Clone>(
        &self,
        allowed: &[(i128, T)],
        unit: &str,
        origin: &str,
    ) -> Option<T> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::OneOf(allowed.iter().map(|(number, _)| *number).collect()));
            return allowed.first().map(|(_, value)| value.clone());
        }
        let list: Vec<String> = allowed.iter().map(|(number, _)| number.to_string()).collect();
        let expected = format!("{} {unit}", list.join(", ")).trim_end().to_owned();
        let note = limit_note(origin);
        let node = self.some(&expected, &note)?;
        let Value::Integer(number) = node.value else {
            return self.wrong_type(&node, "a whole number", &expected, &note);
        };
        let found = allowed.iter().find(|(one, _)| *one == number);
        if found.is_none() {
            let title = format!("`{}` cannot be {number}", self.name);
            self.fault(node.place.fault(title, format!("allowed: {expected}")).note(note));
        }
        found.map(|(_, value)| value.clone())
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

    /// A string; `expected` describes its content.
    pub fn text(&self, expected: &str) -> Option<Text> {
        self.text_like(expected, None)
    }

    /// A string of at most `most` printable ASCII characters; `expected` describes its content.
    pub fn ascii(&self, most: usize, expected: &str) -> Option<String> {
        let text = self.text(expected)?;
        let is_plain = text.value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if text.value.len() > most || !is_plain {
            let label = format!("allowed: {expected}, up to {most} ASCII characters");
            self.fault(
                text.place.fault("this text does not fit into the field of the wire format", label),
            );
            return None;
        }
        Some(text.value)
    }

    /// A string whose content the caller checks. `expected` describes the content for users; the regular expression
    /// `pattern` describes it in descriptions of the format.
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

    /// One of `words`, or another text. `expected` and the regular expression `pattern` describe the other text;
    /// `example` is an example of it.
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

    /// The string `text` at the position of this value. It replaces the value while the content of the file is unknown.
    fn sample(&self, text: &str) -> Option<Text> {
        self.place().map(|place| Text { value: text.to_owned(), place })
    }

    /// A number, or `word` instead of a number: `Some(None)` means the word. `origin` is the source of the word.
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

    /// A word from a list; `origin` is the source of the list.
    pub fn choice<T: Clone>(&self, words: &[(&str, T)], origin: &str) -> Option<T> {
        self.one_of(words, origin, false)
    }

    /// Like [`Field::choice`], for a word that determines all other keys of its table.
    pub fn choice_of_kind<T: Clone>(&self, words: &[(&str, T)], origin: &str) -> Option<T> {
        self.one_of(words, origin, true)
    }

    fn one_of<T: Clone>(&self, words: &[(&str, T)], origin: &str, is_kind: bool) -> Option<T> {
        if let Some(asked) = &self.asked {
            let answer = asked.word(words.iter().map(|(word, _)| *word), is_kind);
            return words.get(answer).map(|(_, value)| value.clone());
        }
        let expected = quoted(words);
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

    /// An array of words from a list, each at most once; `origin` is the source of the list. For descriptions of the
    /// format, which are made without a file, returns the values of all words.
    pub fn choices<T: Clone>(&self, words: &[(&str, T)], origin: &str) -> Option<Vec<T>> {
        let expected = format!("an array of {}", quoted(words));
        if let Some(asked) = &self.asked {
            let words_only = words.iter().map(|(word, _)| (*word).to_owned()).collect();
            let item = KeySpec { kinds: vec![Kind::Words(words_only)], ..KeySpec::default() };
            asked.may_be(Kind::Array { expected, least: 0, most: None, item: Box::new(item) });
            return Some(words.iter().map(|(_, value)| value.clone()).collect());
        }
        let (items, _) = self.array(&expected)?;
        let places: Vec<_> =
            words.iter().enumerate().map(|(index, (word, _))| (*word, index)).collect();
        let mut found: Vec<Option<usize>> = Vec::new();
        for item in items {
            let index = item.choice(&places, origin);
            if index.is_some()
                && found.contains(&index)
                && let Some(place) = item.place()
            {
                item.fault(place.fault("this item is in the list twice", "again here"));
            }
            found.push(index);
        }
        found.into_iter().map(|index| Some(words[index?].1.clone())).collect()
    }

    /// Returns whether the value is `old`, a word that was renamed to `new`, and reports an error in that case.
    pub fn refuse_old_word(&self, old: &str, new: &str) -> bool {
        let Some(node) = &self.node else { return false };
        if !matches!(&node.value, Value::String(written) if written == old) {
            return false;
        }
        let title = format!("\"{old}\" is now called \"{new}\"");
        self.fault(node.place.fault(title, format!("write {} = \"{new}\"", self.name)));
        true
    }

    /// A TOML date or time, with its position in the file. The caller checks that date, time and UTC offset are
    /// present.
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

    /// A date without a time of day, such as `2026-06-30`; a day that is not in the calendar is an error.
    pub fn date(&self) -> Option<jiff::civil::Date> {
        let expected = "a date, such as 2026-06-30";
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Date { expected: expected.to_owned() });
            return None;
        }
        let node = self.some(expected, "")?;
        match node.value {
            Value::Datetime(toml::value::Datetime { date: Some(date), time: None, .. }) => {
                let (year, month, day) = (date.year as i16, date.month as i8, date.day as i8);
                let found = jiff::civil::Date::new(year, month, day);
                if let Err(error) = &found {
                    let title = format!("`{}` is not a calendar date", self.name);
                    self.fault(node.place.fault(title, "no such day").note(error.to_string()));
                }
                found.ok()
            }
            _ => self.wrong_type(&node, "a date", &format!("{expected}, no quotes"), ""),
        }
    }

    /// `N` numbers, each within `limit`.
    pub fn numbers<const N: usize>(&self, limit: &Limit<f64>) -> Option<[f64; N]> {
        self.several(limit, |item| item.number(limit))
    }

    /// `N` integers, each within `limit`.
    pub fn integers<T: TryFrom<i128>, const N: usize>(
        &self,
        limit: &Limit<i128>,
    ) -> Option<[T; N]> {
        self.several(limit, |item| item.integer(limit))
    }

    /// The items of an array, and the array's position.
    pub fn array(&self, expected: &str) -> Option<(Vec<Field<'f>>, Place)> {
        self.items(expected, "")
    }

    /// The items of an array that must not be empty; `title` is the error for an empty one.
    pub fn some_items(&self, expected: &str, title: &str) -> Option<Vec<Field<'f>>> {
        let (items, place) = self.array_of(1..=usize::MAX, expected)?;
        if items.is_empty() {
            self.fault(place.fault(title, format!("allowed: {expected}")));
            return None;
        }
        Some(items)
    }

    /// Like [`Field::array`], for an array with a number of items within `count`. `origin` is the source of the upper
    /// limit; a longer array is rejected as a whole. The caller checks the lower limit.
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

    /// Like [`Field::array`], for an array of `count` items. The caller checks the number of items.
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

    /// An array of strings; `expected` describes them.
    pub fn strings(&self, expected: &str) -> Option<Vec<String>> {
        let (items, _) = self.items(&format!("an array of strings, {expected}"), "")?;
        let texts: Vec<_> = items.iter().map(|item| item.text(expected)).collect();
        texts.into_iter().map(|text| text.map(|text| text.value)).collect()
    }

    /// A value of one of several types, which `expected` describes.
    pub fn any(&self, expected: &str) -> Option<Node> {
        if let Some(asked) = &self.asked {
            asked.may_be(Kind::Any { expected: expected.to_owned() });
        }
        self.some(expected, "")
    }

    /// Content of a file that this value names. Reports the errors in `outcome`; errors without a position get the
    /// position of the value.
    pub fn loaded<T>(&self, text: &Text, outcome: Result<T, Diagnostics>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(faults) => {
                self.faults.borrow_mut().append(faults.placed(&text.place, "named here"));
                None
            }
        }
    }

    /// The same field, called `name` in messages.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self { name: name.to_string(), ..self.clone() }
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

    /// Reports an error.
    pub fn fault(&self, fault: Diagnostic) {
        self.faults.borrow_mut().push(fault);
    }

    /// Returns the value in the file; `None` if it is missing. Reports this as an error if the key is required.
    pub(super) fn some(&self, expected: &str, note: &str) -> Option<Node> {
        if self.node.is_none()
            && let Some((place, what)) = &self.missing
        {
            let label = format!("{what} needs `{}`: {expected}", self.name);
            let fault = place.fault(format!("`{}` is missing", self.name), label).note(note);
            self.fault(fault);
        }
        self.node.clone()
    }

    /// Reads `N` numbers with `read`; messages state the `limit`.
    fn several<L: PartialOrd + Display, T, const N: usize>(
        &self,
        limit: &Limit<L>,
        read: impl Fn(&Field<'f>) -> Option<T>,
    ) -> Option<[T; N]> {
        let expected = format!("{N} numbers, each {}", limit.allowed());
        let (items, place) = match &self.asked {
            Some(asked) => self.surveyed_items(asked, N..=N, &expected)?,
            None => self.items(&expected, &limit.note())?,
        };
        let numbers: Vec<_> = items.iter().map(read).collect();
        if items.len() != N {
            let title = format!("`{}` must have {N} numbers", self.name);
            let text = format!("this has {}; allowed: {expected}", items.len());
            self.fault(place.fault(title, text).note(limit.note()));
            return None;
        }
        let numbers: Option<Vec<T>> = numbers.into_iter().collect();
        numbers?.try_into().ok()
    }

    /// Items of an array with unknown content: the smallest allowed number, but at least one.
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
            noted: self.noted.as_ref().map(|noted| noted.item(index)),
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

    pub(super) fn wrong_type<T>(
        &self,
        node: &Node,
        must: &str,
        expected: &str,
        note: &str,
    ) -> Option<T> {
        let label = format!("{}; allowed: {expected}", node.found());
        let fault = node.place.fault(format!("`{}` must be {must}", self.name), label).note(note);
        self.fault(fault);
        None
    }
}

/// Words for messages: `"a", "b"`.
fn quoted<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}
