//! Dialogues between hosts and devices: files of `tests/dialogues/`, one step per line. `#` starts a comment at the
//! beginning of a line or after a space.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// A device and its host, which execute the steps of a dialogue.
pub trait Bench: Sized {
    /// Builds the device and its host. `profile` is the name in the dialogue's first line; `settings` is the TOML of
    /// its `settings` lines.
    fn new(profile: &str, settings: &str) -> Self;

    /// Executes a step; panics if the result differs from the expectation.
    fn step(&mut self, step: &Step);
}

/// A step of a dialogue: a line without its comment.
pub struct Step<'a> {
    pub verb: &'a str,
    pub rest: &'a str,
    /// First word of `rest`.
    pub first: &'a str,
    /// Text of `rest` after its first word.
    pub after: &'a str,
    /// All words of `rest`.
    pub words: Vec<&'a str>,
}

impl<'a> Step<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = match line.find(" #") {
            Some(at) => line[..at].trim_end(),
            None => line,
        };
        if line.trim().is_empty() || line.starts_with('#') {
            return None;
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Self { verb, rest, first, after, words: rest.split_ascii_whitespace().collect() })
    }
}

/// Plays a dialogue; `name` is its name in messages.
pub fn play<B: Bench>(name: &str, text: &str) {
    let (mut profile, mut settings) = ("", String::new());
    let mut bench: Option<B> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(step) = Step::of(line) else { continue };
        match step.verb {
            "profile" => profile = step.rest.trim_end(),
            "settings" => settings += &format!("{}\n", step.rest),
            _ => {
                let bench = bench.get_or_insert_with(|| B::new(profile, &settings));
                let taken = catch_unwind(AssertUnwindSafe(|| bench.step(&step)));
                if let Err(panic) = taken {
                    eprintln!("at {name}, line {}: {line}", number + 1);
                    resume_unwind(panic);
                }
            }
        }
    }
    assert!(bench.is_some(), "{name} has no steps");
}

/// Text of the dialogue `name` in a folder of `tests/dialogues/`.
pub fn text_of(folder: &str, name: &str) -> String {
    fs::read_to_string(folder_of(folder).join(format!("{name}.txt"))).expect("a conversation")
}

/// Plays one dialogue of a folder.
pub fn play_file<B: Bench>(folder: &str, name: &str) {
    play::<B>(name, &text_of(folder, name));
}

/// Plays all dialogues of a folder, which must have at least `least` of them.
pub fn play_all<B: Bench>(folder: &str, least: usize) {
    let names = names_in(folder);
    assert!(names.len() >= least, "only {names:?}");
    names.iter().for_each(|name| play_file::<B>(folder, name));
}

/// Names of the dialogues in a folder, sorted.
pub fn names_in(folder: &str) -> Vec<String> {
    let paths = fs::read_dir(folder_of(folder)).expect("part of the repository");
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = paths.map(|entry| name(entry.unwrap().path())).collect();
    names.sort();
    names
}

fn folder_of(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues").join(folder)
}

/// Defines a test for each dialogue of a folder, and a test that the list is complete.
#[macro_export]
macro_rules! conversations {
    ($bench:ty, $folder:literal: $($test:ident: $name:literal),+ $(,)?) => {
        $(#[test] fn $test() { $crate::common::dialogue::play_file::<$bench>($folder, $name); })+

        #[test]
        fn every_file_is_played() {
            let mut names = [$($name),+];
            names.sort_unstable();
            assert_eq!($crate::common::dialogue::names_in($folder), names);
        }
    };
}

/// Asserts that a dialogue fails.
pub fn assert_fails<B: Bench>(what: &str, text: &str) {
    assert!(catch_unwind(|| play::<B>(what, text)).is_err(), "{what} is not noticed");
}

/// Expected bytes; `None` stands for any byte.
pub struct Pattern(Vec<Option<u8>>);

impl Pattern {
    /// Parses text in quotes with `\r`, `\n` and `\0`, or hexadecimal bytes with `..` for any byte.
    pub fn of(text: &str) -> Self {
        if let Some(quoted) = text.strip_prefix('"') {
            let inner = quoted.strip_suffix('"').expect("a closing quote");
            let plain = inner.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0");
            return Self(plain.bytes().map(Some).collect());
        }
        let byte = |word| match word {
            ".." => None,
            hex => Some(u8::from_str_radix(hex, 16).unwrap_or_else(|_| panic!("{hex} is no byte"))),
        };
        Self(text.split_whitespace().map(byte).collect())
    }

    /// The bytes of a pattern without `..`.
    pub fn bytes(self) -> Vec<u8> {
        self.0.into_iter().map(|byte| byte.expect("a byte")).collect()
    }

    /// Whether `bytes` begin with the pattern.
    pub fn begins(&self, bytes: &[u8]) -> bool {
        let is_it = |(byte, wanted): (&u8, &Option<u8>)| wanted.is_none_or(|w| w == *byte);
        bytes.len() >= self.0.len() && bytes.iter().zip(&self.0).all(is_it)
    }

    /// Whether `bytes` match the whole pattern.
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.0.len() && self.begins(bytes)
    }
}

/// A host on a serial line that checks received pieces.
pub trait LineHost {
    /// Advances the time by a millisecond.
    fn pass_ms(&mut self);

    /// Sends bytes to the device; drops pieces that were received before.
    fn say(&mut self, bytes: &[u8]);

    /// Received pieces that were not checked yet.
    fn sent(&mut self) -> &mut Vec<Vec<u8>>;

    /// Executes a step that all lines support: `>` (send), `<` (expect within `deadline_ms`), `wait`, `silent`, and
    /// `stream`, whose count may differ by `margin`. Returns whether the step is one of these.
    fn take(&mut self, step: &Step, deadline_ms: u64, margin: i64) -> bool {
        match step.verb {
            ">" => self.say(&Pattern::of(step.rest.trim()).bytes()),
            "<" => {
                let wanted = Pattern::of(step.rest.trim());
                let mut left_ms = deadline_ms;
                let found = loop {
                    let found = self.sent().iter().position(|bytes| wanted.is(bytes));
                    if found.is_some() || left_ms == 0 {
                        break found;
                    }
                    left_ms -= 1;
                    self.pass_ms();
                };
                let shown = |b: &Vec<u8>| format!("{b:02X?} {}", String::from_utf8_lossy(b));
                let sent = self.sent();
                let Some(found) = found else {
                    let sent: Vec<_> = sent.iter().map(shown).collect();
                    panic!("not said, but\n{}", sent.join("\n"));
                };
                sent.drain(..=found);
            }
            "wait" => (0..ms(&step.words)).for_each(|_| self.pass_ms()),
            "silent" => {
                self.sent().clear();
                (0..ms(&step.words)).for_each(|_| self.pass_ms());
                assert!(self.sent().is_empty(), "{:02x?}", self.sent());
            }
            "stream" => {
                let [count, "in", time, unit, begin @ ..] = &step.words[..] else {
                    panic!("COUNT in TIME ms BYTES")
                };
                let wanted = Pattern::of(&begin.join(" "));
                self.sent().clear();
                (0..ms(&[time, unit])).for_each(|_| self.pass_ms());
                let found = self.sent().iter().filter(|bytes| wanted.begins(bytes)).count();
                let count: i64 = count.parse().expect("a count");
                assert!((found as i64 - count).abs() <= margin, "{found}");
            }
            _ => return false,
        }
        true
    }
}

/// Parses a time in milliseconds.
pub fn ms(words: &[&str]) -> u64 {
    assert_eq!(words[1], "ms", "times are in ms");
    words[0].parse().expect("a number of ms")
}
