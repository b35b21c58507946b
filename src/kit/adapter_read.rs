//! Reads adapter files.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use crate::config::toml::reader::{Faults, Limit, Node, TableReader, Value, parse_toml};
use crate::kit::adapter::{Adapter, PythonJudge, Read};
use crate::kit::toml_fields::{pattern, tables};

/// Source of the limits, for messages.
const FORMAT: &str = "the format of adapters, docs/DRIVER-TESTS.md";
/// Largest number of `[[read]]` tables, of `[[judge]]` tables and of `[[ask]]` tables.
const MOST: usize = 50;

/// Largest size of an adapter file, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the adapter at `path`.
///
/// # Errors
/// The file cannot be read, or contains errors: all of them are returned.
pub fn load(path: &Path) -> Result<Adapter, Diagnostics> {
    let name = path.display().to_string();
    let source = SourceFile::read(&name, path, MAX_BYTES)
        .map_err(|why| Diagnostic::new(format!("cannot read the adapter `{name}`: {why}")))?;
    adapter(&source)
}

fn adapter(source: &Arc<SourceFile>) -> Result<Adapter, Diagnostics> {
    let faults = Faults::default();
    let read = parse_toml(source, &faults).map(|root| {
        let usual = Adapter::default();
        let mut table = TableReader::root(root, "an adapter", &faults);
        let seconds = Limit::new(0.0..=600.0, "s", FORMAT);
        let ready_field = table.optional("ready");
        let ready = if ready_field.is_written() { pattern(&ready_field) } else { None };
        let ready_within_s =
            table.optional("ready_within_s").number_or(&seconds, usual.ready_within_s);
        let start_s = table.optional("start_s").number_or(&seconds, usual.start_s);
        let settle_s = table.optional("settle_s").number_or(&seconds, usual.settle_s);
        let respawn = table.optional("respawn").boolean_or(false);
        let reads = tables(&table.optional("read"), "read", MOST, one_read);
        let judges = tables(&table.optional("judge"), "judge", MOST, judge);
        let asks = tables(&table.optional("ask"), "ask", MOST, |mut table| {
            let asked = command(&mut table);
            table.finish();
            asked
        });
        table.finish();
        let reads = if reads.is_empty() { usual.reads } else { reads };
        Adapter { ready, ready_within_s, start_s, settle_s, respawn, reads, judges, asks }
    });
    match (read, faults.into_inner()) {
        (Some(adapter), faults) if faults.is_empty() => Ok(adapter),
        (_, faults) => Err(faults),
    }
}

fn one_read(mut table: TableReader<'_>) -> Option<Read> {
    let kinds =
        [("pattern", "pattern"), ("json", "json"), ("cloud", "cloud"), ("command", "command")];
    let kind = table.required("kind").choice(&kinds, FORMAT);
    let required_event = |table: &mut TableReader<'_>| {
        Some(table.required("as").text("the name of an event, such as \"points\"")?.value)
    };
    let read = match kind {
        Some("pattern") => {
            let pattern = pattern(&table.required("pattern"));
            let event = required_event(&mut table);
            pattern.zip(event).map(|(pattern, event)| Read::Pattern { pattern, event })
        }
        Some("json") => {
            let event = table.optional("as");
            let event = if event.is_written() { event.text("an event") } else { None };
            let only = entries(&mut table, "where").into_iter();
            let only = only.map(|(key, node)| (key, json_of(&node))).collect();
            let mut fields = Vec::new();
            for (ours, node) in entries(&mut table, "fields") {
                match node.value {
                    Value::String(theirs) => fields.push((ours, theirs)),
                    _ => table.fault(
                        node.place.fault("not a path of keys", "allowed: such as \"position.lat\""),
                    ),
                }
            }
            Some(Read::Json { only, event: event.map(|event| event.value), fields })
        }
        Some("cloud") => {
            let path = table.required("path").text("a .pcd, .xyz or .csv file");
            let event = table.optional("as");
            let event = match event.is_written() {
                true => event.text("an event").map(|event| event.value),
                false => Some("points".to_owned()),
            };
            path.zip(event).map(|(path, event)| Read::Cloud { path: path.value, event })
        }
        Some(_) => {
            let asked = command(&mut table);
            let every = Limit::new(0.05..=600.0, "s", FORMAT);
            let every_s = table.optional("every_s").number_or(&every, 1.0);
            let event = required_event(&mut table);
            asked.zip(event).map(|(command, event)| Read::Ask { command, every_s, event })
        }
        None => {
            table.drop_unknown(|_| true);
            None
        }
    };
    table.finish();
    read
}

fn judge(mut table: TableReader<'_>) -> Option<PythonJudge> {
    let file = table.required("python").text("a Python file");
    let function = table.optional("function");
    let function = match function.is_written() {
        true => function.text("the name of a function").map(|text| text.value),
        false => Some("judge".to_owned()),
    };
    table.finish();
    let file = file?;
    Some(PythonJudge { file: file.place.source.resolve(&file.value), function: function? })
}

fn command(table: &mut TableReader<'_>) -> Option<Vec<String>> {
    let field = table.required("command");
    let command = field.strings("a program and its arguments")?;
    if let (true, Some(place)) = (command.is_empty(), field.place()) {
        field.fault(place.fault("this command is empty", "allowed: a program and its arguments"));
        return None;
    }
    Some(command)
}

/// Entries of a table whose keys the user chooses.
fn entries(table: &mut TableReader<'_>, key: &'static str) -> Vec<(String, Node)> {
    let field = table.optional(key);
    if !field.is_written() {
        return Vec::new();
    }
    let Some(mut inner) = field.table(key) else { return Vec::new() };
    let rest = inner.take_rest();
    inner.finish();
    rest.into_iter().map(|entry| (entry.key, entry.node)).collect()
}

fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::String(text) => Json::from(text.as_str()),
        Value::Integer(number) => i64::try_from(*number).map_or(Json::Null, Json::from),
        Value::Float(number) => Json::from(*number),
        Value::Boolean(word) => Json::from(*word),
        Value::Datetime(time) => Json::from(time.to_string()),
        Value::Array(items) => items.iter().map(json_of).collect(),
        Value::Table(entries) => Json::Object(
            entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.node))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Adapter, Diagnostics> {
        adapter(&SourceFile::new("adapter.toml", text, "there"))
    }

    #[test]
    fn an_adapter_is_read_whole() {
        let adapter = read(
            "ready = \"^up\"\nsettle_s = 3\n\
             [[read]]\nkind = \"pattern\"\npattern = '(?P<lat_deg>\\S+)'\nas = \"fix\"\n\
             [[read]]\nkind = \"json\"\nas = \"fix\"\nwhere = { class = \"TPV\" }\n\
             fields = { lat_deg = \"lat\" }\n\
             [[judge]]\npython = \"judge.py\"\n[[ask]]\ncommand = [\"true\"]\n",
        )
        .unwrap();
        assert_eq!((adapter.settle_s, adapter.reads.len()), (3.0, 2));
        assert_eq!(adapter.judges[0].file, std::path::Path::new("there/judge.py"));
        assert_eq!(adapter.asks, [["true"]]);
        let Read::Json { only, event, fields } = &adapter.reads[1] else { panic!("JSON") };
        assert_eq!(only[0], ("class".to_owned(), Json::from("TPV")));
        assert_eq!((event.as_deref(), fields.len()), (Some("fix"), 1));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |text: &str| read(text).unwrap_err().to_string();
        let text = told("[[read]]\nkind = \"jason\"\n[[ask]]\ncommand = []\n");
        assert!(
            text.contains("did you mean \"json\"?") && text.contains("command is empty"),
            "{text}"
        );
        let text = told("[[read]]\nkind = \"pattern\"\npattern = \"x\"\n");
        assert!(text.contains("`as` is missing"), "{text}");
        let text = told("[[read]]\nkind = \"json\"\nfields = { lat_deg = 3 }\n");
        assert!(text.contains("not a path of keys"), "{text}");
    }
}
