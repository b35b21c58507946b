//! Converts the fault log of a run to sections of a rig. They reproduce the faults that were started during the run.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::cli::{CliError, console};
use crate::engine::faults::log::COLUMNS;
use crate::engine::live_faults::{TOLD, toml_of};
use crate::links::part_file::part_of;

/// Prints the sections for the log at `path`.
pub fn print(path: &Path) -> Result<(), CliError> {
    let wrong = |problem: String| {
        CliError::Input(format!("error: cannot read the fault log {}: {problem}", path.display()))
    };
    let part = part_of(path);
    let text = std::fs::read(path).map_err(|error| match part.exists() {
        true => wrong(format!(
            "{error}; its run has not ended, and the log is still {}",
            part.display()
        )),
        false => wrong(error.to_string()),
    })?;
    let sections = sections(&text).map_err(wrong)?;
    if sections.is_empty() {
        console::say("this log has no fault that was started during the run");
    }
    console::print(sections)
}

/// `[[fault]]` sections of a rig for the faults that, according to the fault log `csv`, were started during the run;
/// empty if there are none.
///
/// # Errors
/// The first line with an error, and the error.
fn sections(csv: &[u8]) -> Result<String, String> {
    let mut table = csv::Reader::from_reader(csv);
    let columns = table.headers().map_err(|error| error.to_string())?;
    if columns.iter().ne(COLUMNS) {
        return Err(format!("line 1: allowed: {}", COLUMNS.join(",")));
    }
    let mut begun: Vec<(u64, String, u64, Map<String, Value>)> = Vec::new();
    let mut ends = HashMap::new();
    for row in table.records() {
        let row = row.map_err(|error| error.to_string())?;
        let at = |problem: &str| {
            let line = row.position().map_or(0, csv::Position::line);
            format!("line {line}: {problem}")
        };
        let (name, effect, keys) = (&row[2], &row[6], &row[8]);
        let time_ns: u64 = row[0].parse().map_err(|_| at("`time_ns` must be a whole number"))?;
        match effect {
            "begins" if !keys.is_empty() => {
                let keys = serde_json::from_str(keys);
                let mut keys: Map<_, _> = keys.map_err(|error| at(&format!("`keys`: {error}")))?;
                let told = keys.shift_remove(TOLD).and_then(|told| told.as_u64()).unwrap_or(0);
                begun.push((told, name.to_owned(), time_ns, keys));
            }
            "ends" => {
                ends.insert(name.to_owned(), time_ns);
            }
            _ => {}
        }
    }
    // Sorted by the order in which the faults were started, because they act in this order.
    begun.sort_by_key(|(told, ..)| *told);
    let mut text = String::new();
    for (_, name, begins, keys) in begun {
        let lasts = ends.get(&name).map(|end| end.saturating_sub(begins));
        text += &section(&name, begins, lasts, &keys)?;
    }
    Ok(text)
}

fn section(
    name: &str,
    begins_ns: u64,
    lasts_ns: Option<u64>,
    keys: &Map<String, Value>,
) -> Result<String, String> {
    let named = Map::from_iter([("name".to_owned(), Value::from(name))]);
    let mut text = format!("\n[[fault]]\n{}{}", toml_of(&named)?, toml_of(keys)?);
    // Written with all digits, so that the nanosecond is exact.
    text += &format!("start_s = {}\n", seconds(begins_ns));
    if let Some(lasts_ns) = lasts_ns {
        text += &format!("duration_s = {}\n", seconds(lasts_ns));
    }
    Ok(text)
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_while_it_ran_becomes_a_section() {
        let log = "time_ns,device,fault,kind,stream,packet,effect,amount,keys\n\
            1000000,lidar,of-rig,packet-loss,,,begins,,\n\
            2500000,lidar,live-1,delay,,,begins,,\"{\"\"device\"\":\"\"lidar\"\",\"\"kind\"\":\"\"delay\"\",\"\"delay_ms\"\":2}\"\n\
            2600000,lidar,live-1,delay,data,5,delayed_ns,2000000,\n\
            3000000001,lidar,live-1,delay,,,ends,,\n\
            4000000,imu,live-2,link-down,,,begins,,\"{\"\"device\"\":\"\"imu\"\",\"\"kind\"\":\"\"link-down\"\"}\"\n";
        let expected = "\n[[fault]]\nname = \"live-1\"\ndevice = \"lidar\"\nkind = \"delay\"\n\
            delay_ms = 2\nstart_s = 0.002500000\nduration_s = 2.997500001\n\
            \n[[fault]]\nname = \"live-2\"\ndevice = \"imu\"\nkind = \"link-down\"\n\
            start_s = 0.004000000\n";
        assert_eq!(sections(log.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(sections(b"a,b\n1,2\n").unwrap_err().starts_with("line 1: allowed: time_ns,"));
        let head = COLUMNS.join(",");
        let wrong = format!("{head}\nx,lidar,a,delay,,,begins,,\n");
        assert_eq!(
            sections(wrong.as_bytes()).unwrap_err(),
            "line 2: `time_ns` must be a whole number"
        );
        let wrong = format!("{head}\n1,lidar,a,delay,,,begins,,{{\n");
        assert!(sections(wrong.as_bytes()).unwrap_err().starts_with("line 2: `keys`: "));
    }
}
