//! JSON values with their path, line and column.
//!
//! `serde_json` is the parser. Values stay slices of the text until they are used, and the slices give their
//! positions.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;

use super::error::{Fault, Place, Problem, clipped};

/// A JSON file.
pub(super) struct Document<'a> {
    file: &'a Path,
    text: &'a str,
    /// Byte offset of each line.
    lines: Vec<usize>,
}

/// A value in a [`Document`]. The functions that read a value return a fault if the value is of another kind.
#[derive(Clone)]
pub(super) struct Node<'a> {
    document: &'a Document<'a>,
    text: &'a str,
    path: String,
}

impl<'a> Document<'a> {
    /// Reads `bytes` as text; skips a byte-order mark.
    pub fn new(file: &'a Path, bytes: &'a [u8]) -> Result<Self, Fault> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let sound = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let place = Place::offset(file, sound, sound.len());
            Fault::new(place, Problem::Syntax("is not UTF-8".into()))
        })?;
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Ok(Self { file, text, lines })
    }

    /// The top-level value.
    pub fn root(&'a self) -> Result<Node<'a>, Fault> {
        let raw: &RawValue = serde_json::from_str(self.text).map_err(|error| {
            let place = Place {
                column: Some(clipped(error.column())),
                ..Place::line(self.file, error.line().max(1))
            };
            let text = error.to_string();
            // Cut off the position in the message: the fault has a position of its own.
            let text = text.split(" at line ").next().unwrap_or_default();
            Fault::new(place, Problem::Syntax(format!("is not valid JSON: {text}")))
        })?;
        Ok(Node { document: self, text: raw.get(), path: "$".into() })
    }
}

impl<'a> Node<'a> {
    /// Position of the value in the JSON file. Columns beyond a few thousand are counted in bytes, because counting
    /// characters would take too long in a large file with a single line.
    pub fn place(&self) -> Place {
        let document = self.document;
        let offset = self.text.as_ptr() as usize - document.text.as_ptr() as usize;
        let line = document.lines.partition_point(|&start| start <= offset);
        let start = document.lines[line - 1];
        let before = &document.text[start..offset];
        let column = if before.len() > 4096 { before.len() } else { before.chars().count() };
        Place {
            file: document.file.to_owned(),
            line: Some(clipped(line)),
            column: Some(clipped(column + 1)),
            element: Some(self.path.clone()),
        }
    }

    /// Creates a fault at this value.
    pub fn fault(&self, problem: Problem) -> Fault {
        Fault::new(self.place(), problem)
    }

    /// Creates a fault which says that `expected`, such as "an array", was expected in place of this value.
    pub fn wrong(&self, expected: impl Into<String>) -> Fault {
        self.fault(Problem::wrong(expected, self.text))
    }

    /// The members of an object.
    pub fn object(&self) -> Result<Object<'a>, Fault> {
        let fields: BTreeMap<String, &'a RawValue> =
            serde_json::from_str(self.text).map_err(|_| self.wrong("an object"))?;
        Ok(Object { node: self.clone(), fields })
    }

    /// The elements of an array.
    pub fn array(&self) -> Result<Vec<Node<'a>>, Fault> {
        let raw: Vec<&'a RawValue> =
            serde_json::from_str(self.text).map_err(|_| self.wrong("an array"))?;
        let element = |(index, raw): (usize, &'a RawValue)| Node {
            document: self.document,
            text: raw.get(),
            path: format!("{}[{index}]", self.path),
        };
        Ok(raw.into_iter().enumerate().map(element).collect())
    }

    /// Reads a finite number.
    pub fn number(&self) -> Result<f64, Fault> {
        let number: Option<f64> = serde_json::from_str(self.text).ok();
        number.filter(|n| n.is_finite()).ok_or_else(|| self.wrong("a finite number"))
    }

    /// Reads an integer from 0 to `limit`.
    pub fn whole(&self, limit: u64) -> Result<u64, Fault> {
        let number: Option<u64> = serde_json::from_str(self.text).ok();
        let number = number.filter(|&n| n <= limit);
        number.ok_or_else(|| self.wrong(format!("a whole number from 0 to {limit}")))
    }

    /// Reads a positive number.
    pub fn positive(&self) -> Result<f64, Fault> {
        let number = self.number().ok().filter(|&n| n > 0.0);
        number.ok_or_else(|| self.wrong("a positive number"))
    }

    /// Reads `true` or `false`.
    pub fn flag(&self) -> Result<bool, Fault> {
        serde_json::from_str(self.text).map_err(|_| self.wrong("true or false"))
    }

    /// Reads a string.
    pub fn string(&self) -> Result<String, Fault> {
        serde_json::from_str(self.text).map_err(|_| self.wrong("a string"))
    }

    /// Reads an array of `N` finite numbers.
    pub fn numbers<const N: usize>(&self) -> Result<[f64; N], Fault> {
        let numbers: Option<Vec<f64>> = serde_json::from_str(self.text).ok();
        numbers
            .and_then(|numbers| <[f64; N]>::try_from(numbers).ok())
            .filter(|numbers| numbers.iter().all(|n| n.is_finite()))
            .ok_or_else(|| self.wrong(format!("an array of {N} finite numbers")))
    }
}

/// The members of an object by key; if a key occurs several times, the last value counts.
pub(super) struct Object<'a> {
    node: Node<'a>,
    fields: BTreeMap<String, &'a RawValue>,
}

impl<'a> Object<'a> {
    /// The value at `key`; `None` if the key is absent.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let raw = self.fields.get(key)?;
        // In the path, keys other than plain words are quoted.
        let is_word = key.chars().all(|c| c.is_ascii_alphanumeric());
        let step = if is_word { format!(".{key}") } else { format!("['{key}']") };
        let path = self.node.path.clone() + &step;
        Some(Node { document: self.node.document, text: raw.get(), path })
    }

    /// The value at the required key `key`; a fault that names `expected` if the key is absent.
    pub fn need(&self, key: &'static str, expected: &'static str) -> Result<Node<'a>, Fault> {
        self.get(key).ok_or_else(|| self.node.fault(Problem::MissingKey { key, expected }))
    }

    /// Applies `read` to the value at `key`; returns `default` if the key is absent.
    pub fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl Fn(&Node<'a>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.get(key).map_or(Ok(default), |node| read(&node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "{\n  \"a b\": [1, 2.5, \"ä\"],\n  \"ä\": {\"x\": [0, 1e999]}, \"f\": true }";

    fn with<T>(text: &str, read: impl Fn(&Object) -> Result<T, Fault>) -> Result<T, String> {
        let document = Document::new(Path::new("s.json"), text.as_bytes());
        let document = document.map_err(|fault| fault.to_string())?;
        let outcome = document.root().and_then(|root| read(&root.object()?));
        outcome.map_err(|fault| fault.to_string())
    }

    #[test]
    fn values_are_read() {
        let read = |o: &Object| o.need("a b", "")?.array()?[1].number();
        assert_eq!(with(TEXT, read), Ok(2.5));
        assert_eq!(with(TEXT, |o| o.or("f", false, Node::flag)), Ok(true));
        assert_eq!(with(TEXT, |o| o.or("g", 7, |n| n.whole(9))), Ok(7));
        let bom = format!("\u{feff}{TEXT}");
        assert_eq!(with(&bom, |o| o.need("a b", "")?.array()?[0].whole(1)), Ok(1));
    }

    #[test]
    fn faults_name_path_line_and_column() {
        assert_eq!(
            with(TEXT, |o| o.need("a b", "")?.array()?[2].number()).unwrap_err(),
            "s.json:2:19: $['a b'][2]: expected a finite number, got \"ä\""
        );
        assert_eq!(
            with(TEXT, |o| o.need("ä", "")?.object()?.need("x", "")?.numbers::<2>()).unwrap_err(),
            "s.json:3:14: $['ä'].x: expected an array of 2 finite numbers, got [0, 1e999]"
        );
        assert_eq!(
            with(TEXT, |o| o.need("z", "a string")?.string()).unwrap_err(),
            "s.json:1:1: $: has no `z`: expected a string"
        );
        assert_eq!(
            with("{\n \"a\": 1,\n 7}", |_| Ok(())).unwrap_err(),
            "s.json:3:2: is not valid JSON: key must be a string"
        );
        assert_eq!(
            with("[]", |_| Ok(())).unwrap_err(),
            "s.json:1:1: $: expected an object, got []"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_told() {
        let told = Document::new(Path::new("s.json"), b"{\n \xff}").err().unwrap().to_string();
        assert_eq!(told, "s.json:2:2: is not UTF-8");
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = "[".repeat(200_000);
        assert!(with(&deep, |_| Ok(())).is_err());
        let whole = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(with(&whole, |o| o.need("a", "")?.array()?[0].number()).is_err());
    }
}
