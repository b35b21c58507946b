//! Records the keys that readers request while they read a table with unknown content.
//!
//! For a reader of [`TableReader::surveyed`](super::reader::TableReader::surveyed), every key exists and has a value
//! within its limits. If the reader branches by a word, by a type or by which key exists, the survey returns the
//! chosen answer and records the question. [`explore`](super::explore) then tries the other answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;

use super::limit::Limit;
use super::spec::{KeySpec, Kind, Range, TableSpec};
use serde_json::Value as Json;

/// Record of one reading of a table with unknown content.
#[derive(Debug, Default)]
pub struct Survey {
    answers: BTreeMap<String, usize>,
    /// Path of the table whose keys and questions are recorded.
    focus: String,
    questions: RefCell<Vec<Question>>,
    found: RefCell<TableSpec>,
}

/// A point at which a reader branches, depending on the content of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    /// Id of the question, unique in the file.
    pub id: String,
    /// Path of the table that contains the question.
    pub table: String,
    /// Key of the question, relative to the table; empty for [`Matter::WhichKey`].
    pub key: String,
    /// Subject of the question.
    pub matter: Matter,
    /// Possible answers; a reading uses the first one by default.
    pub answers: Vec<Option<String>>,
    /// Extent of the answers' effects.
    pub reach: Reach,
}

/// Extent of the effects of an answer to a [`Question`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Some keys of the question's table.
    Keys,
    /// Keys of the question's table, and of tables inside it.
    Tables,
    /// All further keys of the question's table.
    All,
}

/// Subject of a [`Question`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matter {
    /// The word under a key; the answer `None` stands for other text.
    Word,
    /// Which one of several alternative keys exists.
    WhichKey,
    /// The type of a value; the answer `None` stands for any other type.
    Type,
}

/// A position in a surveyed file: a table, a value, or an array's item.
#[derive(Clone, Debug)]
pub(super) struct Asked<'s> {
    survey: &'s Survey,
    path: String,
    /// Whether the position is inside the table that the survey records, or on the path to that table.
    is_recorded: bool,
}

impl Survey {
    /// A survey that gives these answers: by question id, the index into [`Question::answers`]. All other questions get
    /// the first answer. Only the table at the path `focus` is recorded.
    pub(super) fn answering(answers: BTreeMap<String, usize>, focus: &str) -> Self {
        Self { answers, focus: focus.to_owned(), ..Self::default() }
    }

    /// The keys and the questions of the reading.
    pub(super) fn into_parts(self) -> (TableSpec, Vec<Question>) {
        (self.found.into_inner(), self.questions.into_inner())
    }

    /// Position of the file's top level.
    pub(super) fn root(&self) -> Asked<'_> {
        Asked { survey: self, path: String::new(), is_recorded: true }
    }

    fn at(&self, path: String, is_above_recorded: bool) -> Asked<'_> {
        let is_below = |path: &str, above: &str| {
            let rest = path.strip_prefix(above);
            rest.is_some_and(|rest| {
                above.is_empty() || rest.is_empty() || rest.starts_with(['.', '['])
            })
        };
        let is_recorded =
            is_above_recorded && (is_below(&path, &self.focus) || is_below(&self.focus, &path));
        Asked { survey: self, path, is_recorded }
    }
}

impl<'s> Asked<'s> {
    /// Position of the key `name` of this table; records the key.
    pub fn key(&self, name: &str, is_required: bool) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        let asked = self.survey.at(format!("{}{dot}{name}", self.path), self.is_recorded);
        if asked.is_recorded
            && let Some(table) = self.survey.found.borrow_mut().table_mut(&self.path)
        {
            match table.key_mut(name) {
                Some(key) => key.is_required |= is_required,
                None => table.keys.push(KeySpec::new(name, is_required)),
            }
        }
        asked
    }

    /// Position of this array's items, the same for all of them.
    pub fn item(&self) -> Self {
        self.survey.at(format!("{}[]", self.path), self.is_recorded)
    }

    /// Adds a type that this value may have.
    pub fn may_be(&self, kind: Kind) {
        self.change(|key| key.add(kind));
    }

    /// Records the default of this value.
    pub fn defaults_to(&self, default: Json) {
        self.change(|key| key.default = Some(default));
    }

    /// Records the documentation's sentence about this value.
    pub fn means(&self, meaning: &str) {
        self.change(|key| key.meaning = Some(meaning.to_owned()));
    }

    fn change(&self, change: impl FnOnce(&mut KeySpec)) {
        if self.is_recorded
            && let Some(key) = self.survey.found.borrow_mut().at_mut(&self.path)
        {
            change(key);
        }
    }

    /// Records that this value may be a number; returns the smallest number that `limit` allows.
    pub fn number(&self, limit: &Limit<f64>) -> f64 {
        self.may_be(Kind::Number(range(limit)));
        *limit.range.start()
    }

    /// Records that this value may be an integer; returns the smallest integer that `limit` allows.
    pub fn integer(&self, limit: &Limit<i128>) -> i128 {
        self.may_be(Kind::Integer(range(limit)));
        *limit.range.start()
    }

    /// Index of the chosen word in `words`. With `is_kind`, all further keys of the table may depend on the word.
    pub fn word<'w>(&self, words: impl Iterator<Item = &'w str>, is_kind: bool) -> usize {
        let words: Vec<String> = words.map(str::to_owned).collect();
        self.may_be(Kind::Words(words.clone()));
        let reach = if is_kind { Reach::All } else { Reach::Keys };
        self.ask(Matter::Word, "", words.into_iter().map(Some).collect(), reach)
    }

    /// Index of the chosen word in `words`; `words.len()` stands for other text.
    pub fn word_or_text(&self, words: &[&str], expected: &str, pattern: &str) -> usize {
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let answers = owned.iter().cloned().map(Some).chain([None]).collect();
        self.may_be(Kind::Words(owned));
        let (expected, pattern) = (expected.to_owned(), Some(pattern.to_owned()));
        self.may_be(Kind::Text { expected, pattern });
        self.ask(Matter::Word, "", answers, Reach::All)
    }

    /// Index in `keys` of the key that this table has according to the chosen answer.
    pub fn which_key(&self, keys: &[&str]) -> usize {
        let id = format!("{}?{}", self.path, keys.join("|"));
        self.answer(id, |id| Question {
            id,
            table: self.path.clone(),
            key: String::new(),
            matter: Matter::WhichKey,
            answers: keys.iter().map(|key| Some((*key).to_owned())).collect(),
            reach: Reach::Keys,
        })
    }

    /// Whether, according to the chosen answer, this value is of the type called `name`.
    pub fn is_of_type(&self, name: &str) -> bool {
        self.ask(Matter::Type, name, vec![None, Some(name.to_owned())], Reach::Keys) == 1
    }

    fn ask(
        &self,
        matter: Matter,
        detail: &str,
        answers: Vec<Option<String>>,
        reach: Reach,
    ) -> usize {
        let (table, key) = self.path.rsplit_once('.').unwrap_or(("", &self.path));
        let (table, key) = (table.to_owned(), key.to_owned());
        let id = format!("{}#{detail}", self.path);
        self.answer(id, |id| Question { id, table, key, matter, answers, reach })
    }

    /// The chosen answer to the question with this id; records the question.
    fn answer(&self, id: String, question: impl FnOnce(String) -> Question) -> usize {
        let answer = self.survey.answers.get(&id).copied().unwrap_or(0);
        let mut questions = self.survey.questions.borrow_mut();
        if self.is_recorded && !questions.iter().any(|known| known.id == id) {
            questions.push(question(id));
        }
        answer
    }
}

fn range<T: Copy + PartialOrd + Display>(limit: &Limit<T>) -> Range<T> {
    Range {
        least: *limit.range.start(),
        most: *limit.range.end(),
        unit: limit.unit,
        origin: limit.origin.clone(),
    }
}
