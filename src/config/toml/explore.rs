//! Finds all keys that a reader accepts: runs the reader once for each possible answer to each of its questions. A
//! question is a branch of the reader, for example on a word of the file.
//!
//! Each answer has its own reading in which all other answers are unchanged. This shows the effects of that answer
//! alone. The number of readings therefore grows with the sum of all answers, not with their product.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::spec::{Case, Discriminator, KeySpec, Kind, TableSpec, Variants};
use super::survey::{Matter, Question, Reach, Survey};

/// All keys that `read` accepts.
pub fn explore(read: impl Fn(&Survey)) -> TableSpec {
    let answers = Answers::new();
    let first = reading(&read, &answers, "");
    visit(&read, &answers, first, &BTreeSet::new(), "")
}

/// Index of the chosen answer, by question id.
type Answers = BTreeMap<String, usize>;

/// The keys and the questions of one reading.
type Reading = (TableSpec, Vec<Question>);

/// Keys that `read` accepts in the table at the path `focus`, with `answers` to the questions of `read`. `first` is the
/// reading with these answers. Questions in `known` are explored elsewhere.
fn visit(
    read: &dyn Fn(&Survey),
    answers: &Answers,
    (first, mut questions): Reading,
    known: &BTreeSet<String>,
    focus: &str,
) -> TableSpec {
    questions.retain(|question| !known.contains(&question.id));
    if questions.is_empty() {
        return first;
    }
    let mut all = known.clone();
    all.extend(questions.iter().map(|question| question.id.clone()));
    let plain = first.clone().without_defaults();
    let with = |question: &Question, answer| {
        let mut answers = answers.clone();
        answers.insert(question.id.clone(), answer);
        answers
    };
    let mut questions: Vec<(Question, Vec<Reading>)> = questions
        .into_iter()
        .map(|mut question| {
            let focus = question.focus(focus);
            let other = |answer| reading(read, &with(&question, answer), focus);
            let others: Vec<Reading> = (1..question.answers.len()).map(other).collect();
            question.widen(&plain, &others);
            (question, others)
        })
        .collect();
    // Questions that change a whole table come last, because the content of that table is explored for each of their
    // answers.
    questions.sort_by_key(|(question, _)| (question.reach, Reverse(question.table.len())));
    let mut outer = known.clone();
    let of_all = questions.iter().filter(|(question, _)| question.reach == Reach::All);
    outer.extend(of_all.map(|(question, _)| question.id.clone()));
    let mut spec = first.clone();
    for (question, others) in questions {
        let mut below = all.clone();
        let is_within = |id: &String| id.starts_with(&question.table) && *id != question.id;
        match question.reach {
            Reach::Keys => {}
            Reach::Tables => below.retain(|id| !is_within(id) || outer.contains(id)),
            Reach::All => below.retain(|id| !is_within(id)),
        }
        let base = if question.reach == Reach::Keys { &first } else { &spec };
        let base = base.table_at(&question.table).cloned();
        let others = others.into_iter().zip(1..).map(|(other, answer)| {
            let focus = question.focus(focus);
            let mut whole = visit(read, &with(&question, answer), other, &below, focus);
            whole.table_mut(&question.table).map(std::mem::take)
        });
        let cases: Vec<_> = question
            .answers
            .iter()
            .cloned()
            .zip(std::iter::once(base).chain(others))
            .filter_map(|(answer, table)| Some((answer, table?)))
            .collect();
        if let Some(table) = spec.table_mut(&question.table) {
            merge(table, &question, cases);
        }
    }
    spec
}

/// Runs `read` with these answers. Returns the keys and the questions of the table at the path `focus`.
fn reading(read: &dyn Fn(&Survey), answers: &Answers, focus: &str) -> Reading {
    let survey = Survey::answering(answers.clone(), focus);
    read(&survey);
    let (mut found, questions) = survey.into_parts();
    found.forget_unread();
    (found, questions)
}

impl Question {
    /// Path of the table that is recorded while the answers to this question are tried: the array item of the question
    /// if the answer affects the whole item, otherwise `focus`. An answer affects nothing outside its array item.
    fn focus<'q>(&'q self, focus: &'q str) -> &'q str {
        if self.reach == Reach::All && self.table.ends_with("[]") { &self.table } else { focus }
    }

    /// Moves a question up to the table that contains all its effects. `first` has the keys with the first answer,
    /// without defaults; `others` are the readings with the other answers. Questions in an array stay, because they
    /// do not belong to a single item.
    fn widen(&mut self, first: &TableSpec, others: &[Reading]) {
        if self.matter != Matter::Word || self.reach != Reach::Keys {
            return;
        }
        let mut first = first.clone();
        let others = others.iter().map(|(found, _)| found.clone().without_defaults());
        let mut others: Vec<TableSpec> = others.collect();
        let (mut table, mut key) = (self.table.clone(), self.key.clone());
        loop {
            // If all effects are within the table, everything outside of it is equal.
            first.clear(&table);
            others.iter_mut().for_each(|other| other.clear(&table));
            if others.iter().all(|other| *other == first) {
                break;
            }
            let (above, last) = table.rsplit_once('.').unwrap_or(("", &table));
            if last.ends_with("[]") {
                return;
            }
            key = format!("{last}.{key}");
            table = above.to_owned();
        }
        if table != self.table {
            (self.table, self.key, self.reach) = (table, key, Reach::Tables);
        }
    }
}

/// Adds to `table` the keys that depend on the answer to `question`. `cases` has each answer with the keys that it leads to.
fn merge(table: &mut TableSpec, question: &Question, mut cases: Vec<(Option<String>, TableSpec)>) {
    if question.matter == Matter::Type {
        let name = question.key.trim_end_matches("[]");
        let kinds: Vec<Kind> = cases
            .into_iter()
            .filter_map(|(_, case)| case.key(name).map(|key| key.kinds.clone()))
            .flatten()
            .collect();
        if let Some(key) = table.key_mut(name) {
            kinds.into_iter().for_each(|kind| key.add(kind));
        }
        return;
    }
    if question.matter == Matter::WhichKey {
        // Drop alternatives whose key the reader rejects in this table.
        cases.retain(|(key, case)| key.as_ref().is_some_and(|key| case.key(key).is_some()));
    }
    let mut names: Vec<String> = Vec::new();
    for key in cases.iter().flat_map(|(_, case)| &case.keys) {
        if !names.contains(&key.name) {
            names.push(key.name.clone());
        }
    }
    // A choice that changes only defaults, such as `errors = "none"`, makes no variants.
    let same = |some: Option<&KeySpec>, other: Option<&KeySpec>| {
        let plain = |key: Option<&KeySpec>| key.cloned().map(KeySpec::without_defaults);
        some == other || (question.reach == Reach::Keys && plain(some) == plain(other))
    };
    let differs = |name: &String| {
        cases.windows(2).any(|pair| !same(pair[0].1.key(name), pair[1].1.key(name)))
    };
    let depending: Vec<String> = names.into_iter().filter(differs).collect();
    for name in &depending {
        let specs: Vec<Option<&KeySpec>> = cases.iter().map(|(_, case)| case.key(name)).collect();
        let common = common(name, &specs);
        match table.key_mut(name) {
            Some(key) => *key = common,
            None => table.keys.push(common),
        }
    }
    for variants in cases.iter().flat_map(|(_, case)| &case.variants) {
        if !table.variants.contains(variants) {
            table.variants.push(variants.clone());
        }
    }
    let is_alone = question.matter == Matter::WhichKey && cases.len() == 1;
    if is_alone {
        // The content of the first answer's tables is already in `table`.
        let is_first = |word: &Option<String>| Some(word) == question.answers.first();
        cases.into_iter().filter(|(word, _)| !is_first(word)).for_each(|(_, case)| *table = case);
    } else if !depending.is_empty() {
        let by = match question.matter {
            Matter::WhichKey => Discriminator::WhichKey,
            _ => Discriminator::WordOf(question.key.clone()),
        };
        let is_other = |name: &String, word: &Option<String>| {
            question.matter == Matter::WhichKey
                && word.as_ref() != Some(name)
                && question.answers.iter().any(|answer| answer.as_ref() == Some(name))
        };
        let case = |(word, case): (Option<String>, TableSpec)| {
            let key = |name: &String| case.key(name).filter(|_| !is_other(name, &word)).cloned();
            let keys = depending.iter().map(|name| (name.clone(), key(name))).collect();
            Case { word, keys }
        };
        table.variants.push(Variants { by, cases: cases.into_iter().map(case).collect() });
    }
}

/// Description of the key `name` that covers all cases: required only if every case requires it, with the types of all
/// cases. `None` stands for a case without the key.
fn common(name: &str, specs: &[Option<&KeySpec>]) -> KeySpec {
    if let [Some(first), others @ ..] = specs
        && others.iter().all(|other| *other == Some(first))
    {
        return (*first).clone();
    }
    let there: Vec<&KeySpec> = specs.iter().copied().flatten().collect();
    let mut all =
        KeySpec::new(name, specs.iter().all(|key| key.is_some_and(|key| key.is_required)));
    all.depends = true;
    all.meaning = there.iter().find_map(|key| key.meaning.clone());
    let tables: Vec<&TableSpec> = there.iter().filter_map(|key| key.table()).collect();
    if !tables.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for key in tables.iter().flat_map(|table| &table.keys) {
            if !names.contains(&&*key.name) {
                names.push(&key.name);
            }
        }
        let keys = names.into_iter().map(|name| {
            let of_tables: Vec<_> = tables.iter().map(|table| table.key(name)).collect();
            common(name, &of_tables)
        });
        all.kinds.push(Kind::Table(TableSpec { keys: keys.collect(), variants: Vec::new() }));
    }
    there.iter().flat_map(|key| &key.kinds).for_each(|kind| all.add(kind.clone()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml::reader::{Faults, Limit, TableReader};

    fn spec_of(read: impl Fn(TableReader<'_>)) -> TableSpec {
        explore(|survey| {
            let faults = Faults::default();
            read(TableReader::surveyed(survey, &faults));
        })
    }

    fn metres() -> Limit<f64> {
        Limit::new(0.0..=10.0, "m", "the test")
    }

    /// Word and keys of each case of `spec.variants[variants]`.
    fn cases(spec: &TableSpec, variants: usize) -> Vec<(Option<&str>, Vec<&str>)> {
        let cases = spec.variants[variants].cases.iter();
        let there = |case: &'_ Case| -> Vec<String> {
            let keys = case.keys.iter().filter(|(_, key)| key.is_some());
            keys.map(|(name, _)| name.clone()).collect()
        };
        cases
            .map(|case| {
                let names = there(case);
                let known = case.keys.iter().map(|(name, _)| &**name);
                (case.word.as_deref(), known.filter(|k| names.iter().any(|n| n == k)).collect())
            })
            .collect()
    }

    #[test]
    fn keys_of_a_word_are_asked_for_with_that_word_only() {
        let spec = spec_of(|mut table| {
            let words = [("circle", 0), ("line", 1), ("still", 2)];
            let kind = table.required("kind").choice(&words, "");
            match kind {
                Some(0) => drop(table.required("radius_m").number(&metres())),
                Some(1) => drop(table.required("closed").boolean()),
                _ => {}
            }
            let _ = table.optional("speed").number(&metres());
        });
        let names: Vec<_> = spec.keys.iter().map(|key| &*key.name).collect();
        assert_eq!(names, ["kind", "radius_m", "speed", "closed"]);
        assert_eq!(
            cases(&spec, 0),
            [
                (Some("circle"), vec!["radius_m"]),
                (Some("line"), vec!["closed"]),
                (Some("still"), vec![])
            ]
        );
        assert!(!spec.key("speed").unwrap().depends);
    }

    /// A word in one table may change another table, whose keys may depend on further words.
    #[test]
    fn what_a_word_changes_in_other_tables_is_told_where_both_are() {
        let spec = spec_of(|mut root| {
            let mut packet = root.required("packet").table("packet").unwrap();
            let words = [("old", 0), ("new", 1)];
            let generation = packet.required("generation").choice(&words, "");
            let mut status = root.required("status").table("status").unwrap();
            if generation == Some(0) {
                let _ = status.required("form").boolean();
                return;
            }
            let mut clock = root.required("clock").table("clock").unwrap();
            if clock.required("source").choice(&[("own", false), ("gps", true)], "") == Some(true) {
                let _ = clock.required("baud").number(&metres());
            }
        });
        assert_eq!(spec.variants.len(), 1);
        assert_eq!(spec.variants[0].by, Discriminator::WordOf("packet.generation".into()));
        let [old, new] = &spec.variants[0].cases[..] else { panic!("{spec:?}") };
        let of = |case: &Case, name: &str| -> Option<KeySpec> {
            case.keys.iter().find(|(key, _)| key == name)?.1.clone()
        };
        assert!(of(old, "status").unwrap().table().unwrap().key("form").is_some());
        assert!(of(new, "status").unwrap().table().unwrap().key("form").is_none());
        assert!(of(old, "clock").is_none());
        let clock = of(new, "clock").unwrap();
        assert_eq!(
            cases(clock.table().unwrap(), 0),
            [(Some("own"), vec![]), (Some("gps"), vec!["baud"])]
        );
        assert!(spec.key("packet").unwrap().table().unwrap().key("generation").is_some());
    }

    /// A word that names a kind determines its whole table; other words below belong to that kind.
    #[test]
    fn a_word_of_a_kind_is_explored_with_what_depends_on_other_words() {
        let spec = spec_of(|mut root| {
            let kind = root.required("driver").choice_of_kind(&[("a", 0), ("b", 1)], "");
            let mut receiver = root.required("receiver").table("receiver").unwrap();
            let words = [("plain", false), ("full", true)];
            let dialect = receiver.required("dialect").choice(&words, "");
            let mut settings = root.required("settings").table("settings").unwrap();
            if kind == Some(1) && dialect == Some(true) {
                let _ = settings.required("messages").boolean();
            }
        });
        let by: Vec<_> = spec.variants.iter().map(|variants| &variants.by).collect();
        let word = |path: &str| Discriminator::WordOf(path.into());
        assert_eq!(by, [&word("receiver.dialect"), &word("driver")]);
    }

    /// Two nested choices between keys are independent.
    #[test]
    fn choices_of_keys_are_told_apart() {
        let spec = spec_of(|mut table| {
            let way = table.written_among(&["udp", "tcp"]);
            match way[..] {
                ["udp"] => drop(table.required("udp").boolean()),
                _ => drop(table.required("tcp").number(&metres())),
            }
            let what = table.written_among(&["text", "hex"]);
            let _ = table.required(what[0]).text("it");
        });
        assert_eq!(cases(&spec, 0), [(Some("udp"), vec!["udp"]), (Some("tcp"), vec!["tcp"])]);
        assert_eq!(cases(&spec, 1), [(Some("text"), vec!["text"]), (Some("hex"), vec!["hex"])]);
    }

    #[test]
    fn types_and_what_lies_behind_them_are_united() {
        let spec = spec_of(|mut table| {
            let field = table.optional("errors");
            if !field.is_array() {
                let _ = field.choice(&[("none", ())], "");
            } else if let Some((items, _)) = field.array_of(1..=3, "errors") {
                let mut item = items[0].table("an error").unwrap();
                let words = [("a", false), ("b", true)];
                if item.required("model").choice(&words, "") == Some(true) {
                    let _ = item.required("of_b").boolean();
                }
            }
        });
        let errors = spec.key("errors").unwrap();
        assert_eq!(errors.kinds.len(), 2, "{errors:?}");
        let item = errors.item().unwrap().table().unwrap();
        assert_eq!(cases(item, 0), [(Some("a"), vec![]), (Some("b"), vec!["of_b"])]);
    }

    /// Effects of a product's name are explored for each product, at all depths.
    #[test]
    fn each_of_many_products_is_explored() {
        let spec = spec_of(|mut table| {
            let name = table.required("profile").word_or_text(&["a", "b"], "a profile", "", "c");
            let settings = table.optional("settings").table("settings");
            let (Some(name), Some(mut settings)) = (name, settings) else { return };
            let field = settings.optional("field");
            if field.is_array() {
                let _ = field.numbers::<3>(&metres());
            } else {
                let most = if name.value == "a" { 1.0 } else { 2.0 };
                let _ = field.number(&Limit::new(0.0..=most, "", ""));
            }
        });
        let variants = &spec.variants[0];
        let words: Vec<_> = variants.cases.iter().map(|case| case.word.as_deref()).collect();
        assert_eq!(words, [Some("a"), Some("b"), None]);
        for case in &variants.cases {
            let settings = case.keys[0].1.as_ref().unwrap().table().unwrap();
            assert_eq!(settings.key("field").unwrap().kinds.len(), 2, "{case:?}");
        }
    }
}
