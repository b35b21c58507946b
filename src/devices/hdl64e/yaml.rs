//! Nodes of a YAML document, each with its position in the text.
//!
//! An alias refers to its node and is never copied, so the memory of a document is proportional to the length of its
//! text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Marker, Parser, Span};

use crate::config::toml::diagnostic::{Diagnostic, Place, SourceFile};

pub(super) struct Document<'a> {
    source: &'a Arc<SourceFile>,
    nodes: Vec<Node<'a>>,
}

struct Node<'a> {
    bytes: Range<usize>,
    value: Value<'a>,
}

enum Value<'a> {
    Scalar(Cow<'a, str>),
    /// Node indices of the items.
    Sequence(Vec<usize>),
    /// Node indices of keys and values, alternating.
    Mapping(Vec<usize>),
}

/// A node of a document.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'d> {
    document: &'d Document<'d>,
    index: usize,
}

/// Error in a text, with its position.
pub(super) struct YamlFault {
    pub place: Place,
    pub text: String,
}

impl<'a> Document<'a> {
    /// Reads the one document of `source`.
    ///
    /// # Errors
    /// The text is not YAML, or it has no document or several.
    pub fn parse(source: &'a Arc<SourceFile>) -> Result<Self, YamlFault> {
        let fault = |bytes: Range<usize>, text: &str| YamlFault {
            place: Place::new(source, bytes),
            text: text.to_owned(),
        };
        let mut document = Self { source, nodes: Vec::new() };
        // Open collections, and the nodes of the anchors.
        let mut open: Vec<usize> = Vec::new();
        let mut anchors: HashMap<usize, usize> = HashMap::new();
        for event in Parser::new_from_str(&source.text) {
            let (event, span) =
                event.map_err(|e| fault(bytes_of_mark(source, *e.marker()), &e.info()))?;
            let bytes = bytes_of_span(source, &span);
            let (anchor, value) = match event {
                Event::Scalar(text, _, anchor, _) => (anchor, Value::Scalar(text)),
                Event::SequenceStart(_, anchor, _) => (anchor, Value::Sequence(Vec::new())),
                Event::MappingStart(_, anchor, _) => (anchor, Value::Mapping(Vec::new())),
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                Event::Alias(anchor) => {
                    // The parser resolves anchors; an alias as root has no earlier anchor.
                    if let (Some(&node), Some(&parent)) = (anchors.get(&anchor), open.last()) {
                        document.add_child(parent, node);
                    }
                    continue;
                }
                _ => continue,
            };
            let index = document.nodes.len();
            let is_collection = !matches!(value, Value::Scalar(_));
            if index > 0 && open.is_empty() {
                return Err(fault(bytes, "a second document"));
            }
            document.nodes.push(Node { bytes, value });
            if let Some(&parent) = open.last() {
                document.add_child(parent, index);
            }
            if anchor > 0 {
                anchors.insert(anchor, index);
            }
            if is_collection {
                open.push(index);
            }
        }
        if document.nodes.is_empty() {
            return Err(fault(0..0, "the file is empty"));
        }
        Ok(document)
    }

    fn add_child(&mut self, parent: usize, child: usize) {
        match &mut self.nodes[parent].value {
            Value::Sequence(children) | Value::Mapping(children) => children.push(child),
            Value::Scalar(_) => {}
        }
    }

    pub fn root(&'a self) -> NodeRef<'a> {
        NodeRef { document: self, index: 0 }
    }
}

impl<'d> NodeRef<'d> {
    pub fn place(self) -> Place {
        Place::new(self.document.source, self.node().bytes.clone())
    }

    /// Entries of a mapping by key.
    ///
    /// # Errors
    /// The node is not a mapping, a key is not a scalar, or a key is listed twice.
    pub fn mapping(self) -> Result<HashMap<&'d str, NodeRef<'d>>, YamlFault> {
        let Value::Mapping(children) = &self.node().value else {
            return Err(self.fault("expected a mapping"));
        };
        let mut entries = HashMap::new();
        for pair in children.chunks_exact(2) {
            let [key, value] = [self.at(pair[0]), self.at(pair[1])];
            let name = key.scalar().ok_or_else(|| key.fault("expected the name of a key"))?;
            if entries.insert(name, value).is_some() {
                return Err(key.fault("this key is listed twice"));
            }
        }
        Ok(entries)
    }

    /// The items of a sequence.
    ///
    /// # Errors
    /// The node is not a sequence.
    pub fn sequence(self) -> Result<Vec<NodeRef<'d>>, YamlFault> {
        match &self.node().value {
            Value::Sequence(children) => Ok(children.iter().map(|child| self.at(*child)).collect()),
            _ => Err(self.fault("expected a sequence")),
        }
    }

    /// A number; YAML's `.nan` and `.inf` are numbers too.
    ///
    /// # Errors
    /// The node is not a number.
    pub fn number(self) -> Result<f64, YamlFault> {
        let expected = || self.fault("expected a number");
        let text = self.scalar().ok_or_else(expected)?;
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1.0, digits),
            None => (1.0, text.strip_prefix('+').unwrap_or(text)),
        };
        match digits {
            ".nan" | ".NaN" | ".NAN" => return Ok(f64::NAN),
            ".inf" | ".Inf" | ".INF" => return Ok(sign * f64::INFINITY),
            _ => {}
        }
        // Rust also parses words such as "inf", which YAML does not have.
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(expected());
        }
        digits.parse::<f64>().map(|number| sign * number).map_err(|_| expected())
    }

    /// A whole number.
    ///
    /// # Errors
    /// The node is not a whole number.
    pub fn whole_number(self) -> Result<i64, YamlFault> {
        let number = self.scalar().and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.fault("expected a whole number"))
    }

    /// A Boolean, in the words of YAML 1.1 that the driver's YAML reader accepts.
    ///
    /// # Errors
    /// The node is not a Boolean.
    pub fn truth(self) -> Result<bool, YamlFault> {
        match self.scalar().map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on" | "y") => Ok(true),
            Some("false" | "no" | "off" | "n") => Ok(false),
            _ => Err(self.fault("expected true or false")),
        }
    }

    fn scalar(self) -> Option<&'d str> {
        match &self.node().value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    fn fault(self, text: &str) -> YamlFault {
        YamlFault { place: self.place(), text: text.to_owned() }
    }

    fn node(self) -> &'d Node<'d> {
        &self.document.nodes[self.index]
    }

    fn at(self, index: usize) -> NodeRef<'d> {
        NodeRef { index, ..self }
    }
}

impl YamlFault {
    /// Diagnostic with the title `title`.
    pub fn titled(self, title: &str) -> Diagnostic {
        self.place.fault(title, self.text)
    }
}

fn bytes_of_span(source: &SourceFile, span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or_else(|| bytes_of_mark(source, span.start))
}

/// Byte range of the character at `mark`. The mark of an error may have no byte offset, only line and column.
fn bytes_of_mark(source: &SourceFile, mark: Marker) -> Range<usize> {
    let line = mark.line().saturating_sub(1);
    let line_start: usize = source.text.split_inclusive('\n').take(line).map(str::len).sum();
    let before: usize =
        source.text[line_start..].chars().take(mark.col()).map(char::len_utf8).sum();
    let start = mark.byte_offset().unwrap_or(line_start + before);
    start..start + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<SourceFile> {
        SourceFile::new("unit.yaml", text, "")
    }

    #[test]
    fn an_alias_is_the_node_it_names() {
        let source = source("first: &a {x: -1.5e-3}\nsecond: *a\n");
        let document = Document::parse(&source).ok().unwrap();
        let root = document.root().mapping().ok().unwrap();
        let second = root["second"].mapping().ok().unwrap();
        assert_eq!(second["x"].number().ok(), Some(-1.5e-3));
        assert_eq!(document.nodes.len(), 6);
    }

    #[test]
    fn numbers_are_yamls() {
        let value = |text: &str| {
            let source = source(text);
            let document = Document::parse(&source).ok().unwrap();
            document.root().number().ok()
        };
        assert_eq!(value("-0.25"), Some(-0.25));
        assert_eq!(value("+.5"), Some(0.5));
        assert_eq!(value("-.inf"), Some(f64::NEG_INFINITY));
        assert!(value(".nan").unwrap().is_nan());
        for wrong in ["inf", "nan", "NaN", "--1", "1,5", "low", "-", "[1]"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_single_document_is_refused() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("a: 1\n---\nb: 2\n", "a second document"),
            ("a: [1, 2", "unclosed bracket '['"),
        ] {
            let fault = Document::parse(&source(text)).err().map(|fault| fault.text);
            assert_eq!(fault.as_deref(), Some(expected), "{text:?}");
        }
    }
}
