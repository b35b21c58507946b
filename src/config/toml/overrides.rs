//! `--set KEY=VALUE`: sets one key of a rig on the command line.
//!
//! `KEY` is a dotted path. Items of an array have an index, `device[0].name`. Tables of an array may be selected by
//! name instead, `device.roof-lidar.settings.rotation_rate_rpm`. `VALUE` is TOML; any other text is a string, so that
//! paths need no quotes. The value replaces the one in the file and is checked in the same way. Errors in the value
//! show the argument, and relative paths in it refer to the current folder. If the option sets `world.scene`,
//! parameters of the file for another scene are ignored.

use std::str::FromStr;
use std::sync::Arc;

use crate::toml::diagnostic::{OVERRIDE_NAME, Place, SourceFile};
use crate::toml::reader::{Entry, Faults, Node, Value, nearest, parse_value};

/// One `--set` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The dotted path.
    pub key: String,
    /// Text after `=`: a TOML value, or a string without quotes.
    pub value: String,
}

impl FromStr for Override {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().into(), value: value.trim().into() })
            }
            _ => Err("write KEY=VALUE, such as world.scene=room".into()),
        }
    }
}

impl Override {
    /// Inserts the value into the tree of a file; missing keys of tables are created. An impossible path is reported to
    /// `faults`, for example an index past the end of an array, or a key below a number. `table_of` converts a short
    /// form to its table.
    pub fn apply(
        &self,
        root: &mut Node,
        faults: &Faults,
        table_of: &dyn Fn(&str) -> Option<serde_json::Value>,
    ) {
        let source = SourceFile::new(OVERRIDE_NAME, format!("{}={}", self.key, self.value), "");
        let value_at = self.key.len() + 1;
        let value = parse_value(&source, value_at, faults).unwrap_or_else(|| Node {
            value: Value::String(self.value.clone()),
            place: Place::new(&source, value_at..source.text.len()),
        });
        let Some(steps) = self.steps(&source, faults) else { return };
        let mut node = root;
        for step in &steps {
            if let (Word::Key(_), Some(table)) = (&step.word, node.as_text().and_then(table_of))
                && let Some(table) = Node::of_json(table, &node.place)
            {
                *node = table;
            }
            match node.enter(step, faults) {
                Some(next) => node = next,
                None => return,
            }
        }
        *node = value;
    }

    fn steps(&self, source: &Arc<SourceFile>, faults: &Faults) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        let mut start = 0;
        for part in self.key.split('.') {
            let (name, mut indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let place = Place::new(source, start..start + part.len());
            let mut wrong = name.is_empty() || !name.chars().all(is_bare);
            steps.push(Step { word: Word::Key(name.into()), place: place.clone() });
            while !indexes.is_empty() && !wrong {
                let inner = indexes.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                match inner.and_then(|(digits, rest)| Some((digits.parse().ok()?, rest))) {
                    Some((index, rest)) => {
                        steps.push(Step { word: Word::Index(index), place: place.clone() });
                        indexes = rest;
                    }
                    None => wrong = true,
                }
            }
            if wrong {
                let label = "write it as in `world.scene` or `device[0].settings.return_mode`";
                faults.borrow_mut().push(place.fault("not a valid key for --set", label));
                return None;
            }
            start += part.len() + 1;
        }
        Some(steps)
    }
}

struct Step {
    word: Word,
    place: Place,
}

enum Word {
    Key(String),
    Index(usize),
}

impl Node {
    /// The node one step down. A missing key of a table is created; any other missing node is reported to `faults`, and
    /// the result is `None`.
    fn enter(&mut self, step: &Step, faults: &Faults) -> Option<&mut Node> {
        let refuse = |label: String| {
            faults.borrow_mut().push(step.place.fault("--set: the rig has no such key", label));
            None
        };
        match (&mut self.value, &step.word) {
            (Value::Table(entries), Word::Key(key)) => {
                let index = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
                    entries.push(Entry {
                        key: key.clone(),
                        key_place: step.place.clone(),
                        node: Node { value: Value::Table(Vec::new()), place: step.place.clone() },
                    });
                    entries.len() - 1
                });
                Some(&mut entries[index].node)
            }
            (Value::Array(items), Word::Index(index)) => {
                let count = items.len();
                match items.get_mut(*index) {
                    Some(item) => Some(item),
                    None if count == 0 => refuse("this array is empty".into()),
                    None => refuse(format!("allowed: index 0 to {}", count - 1)),
                }
            }
            (Value::Array(items), Word::Key(name)) => {
                let names: Vec<String> =
                    items.iter().filter_map(Node::name).map(str::to_string).collect();
                match items.iter_mut().find(|item| item.name() == Some(name)) {
                    Some(item) => Some(item),
                    None if names.is_empty() => refuse(format!(
                        "this is an array; write an index such as `[0]` instead of `{name}`"
                    )),
                    None => {
                        let near = nearest(name, names.iter().map(String::as_str));
                        let mean =
                            near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
                        refuse(format!("{mean}allowed: {}, or an index", names.join(", ")))
                    }
                }
            }
            (_, Word::Index(_)) => refuse("this is not an array".into()),
            (_, Word::Key(name)) => {
                refuse(format!("the key before `.{name}` is a value, not a table"))
            }
        }
    }

    /// Value of a table's `name` key.
    fn name(&self) -> Option<&str> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == "name").and_then(|entry| match &entry.node.value {
            Value::String(name) => Some(name.as_str()),
            _ => None,
        })
    }
}
