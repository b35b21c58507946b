//! Records the result of reading a file: the values in the file, with short forms expanded, and the defaults of all
//! missing keys.

use std::cell::RefCell;

use serde_json::Value as Json;

use super::diagnostic::Place;
use super::tree::{Entry, Node, Value};

/// Record of one reading of a file: its values, and the defaults of missing keys.
#[derive(Debug)]
pub struct Notes {
    root: RefCell<Node>,
}

/// A step into a table or an array.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// A position in the record of a file that is being read.
#[derive(Clone, Debug)]
pub(super) struct Noted<'f> {
    notes: &'f Notes,
    path: Vec<Step>,
}

impl Notes {
    /// An empty record.
    pub fn new(place: &Place) -> Self {
        Self { root: RefCell::new(Node { value: Value::Table(Vec::new()), place: place.clone() }) }
    }

    pub(super) fn root(&self) -> Noted<'_> {
        Noted { notes: self, path: Vec::new() }
    }

    /// The complete file with all defaults.
    pub fn into_node(self) -> Node {
        self.root.into_inner()
    }
}

impl Noted<'_> {
    pub fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    pub fn item(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        let path = self.path.iter().cloned().chain([step]).collect();
        Self { notes: self.notes, path }
    }

    /// Records that the file has `node` here.
    pub fn set(&self, node: Node) {
        let mut root = self.notes.root.borrow_mut();
        let mut place = &mut *root;
        for step in &self.path {
            let Some(next) = place.step(step) else { return };
            place = next;
        }
        *place = node;
    }

    /// Records that `key` is omitted, because other keys replace it.
    pub fn unset(&self, key: &str) {
        let mut root = self.notes.root.borrow_mut();
        let mut place = &mut *root;
        for step in &self.path {
            let Some(next) = place.step(step) else { return };
            place = next;
        }
        if let Value::Table(entries) = &mut place.value {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// Records the default that applies here.
    pub fn set_default(&self, default: Json) {
        let place = self.notes.root.borrow().place.clone();
        if let Some(node) = Node::of_json(default, &place) {
            self.set(node);
        }
    }
}

impl Node {
    /// The node one step down; a missing key is created. `None` for an index without an item, or a step that this node
    /// cannot have.
    fn step(&mut self, step: &Step) -> Option<&mut Self> {
        match step {
            Step::Index(index) => match &mut self.value {
                Value::Array(items) => items.get_mut(*index),
                _ => None,
            },
            Step::Key(key) => {
                let empty = Self::empty(&self.place);
                self.get_mut_or_insert(key, || empty)
            }
        }
    }

    /// `value` as a node at `place`; `None` if `value` has no TOML form.
    pub fn of_json(value: Json, place: &Place) -> Option<Self> {
        let value = match value {
            Json::Null => return None,
            Json::Bool(value) => Value::Boolean(value),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), ..) => Value::Integer(whole.into()),
                (_, Some(whole), _) => Value::Integer(whole.into()),
                (.., x) => Value::Float(x?),
            },
            Json::String(text) => Value::String(text),
            Json::Array(items) => Value::Array(
                items.into_iter().map(|item| Self::of_json(item, place)).collect::<Option<_>>()?,
            ),
            Json::Object(entries) => {
                let entry = |(key, value)| {
                    let node = Self::of_json(value, place)?;
                    Some(Entry { key, key_place: place.clone(), node })
                };
                Value::Table(entries.into_iter().map(entry).collect::<Option<_>>()?)
            }
        };
        Some(Self { value, place: place.clone() })
    }
}
