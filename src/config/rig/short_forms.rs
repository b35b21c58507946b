//! Short forms of arrays of tables, which are expanded before the tables are read: `[defaults."PATTERN"]` for
//! devices, and `repeat` of devices and objects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::parts::FORMAT;
use super::short_link::parts;
use crate::toml::reader::{Entry, Field, Limit, Node, Value};

/// Largest number of tables of `[defaults]`.
const MAX_DEFAULTS: usize = 64;

/// Keys that `[defaults]` cannot have, because each device has its own.
const OWN_KEYS: [&str; 6] = ["name", "profile", "repeat", "caster", "ntrip", "line_of"];

/// `[defaults]`: default keys of devices with matching profiles.
pub(crate) struct Defaults {
    /// Entries of `[defaults]`: the key is a pattern of profile names, the value a table of default keys. Patterns with
    /// more characters other than `*` come first.
    tables: Vec<Entry>,
}

impl Defaults {
    /// Reads `[defaults]`; empty if the table is missing or invalid.
    pub(crate) fn read(field: &Field<'_>) -> Self {
        let none = Self { tables: Vec::new() };
        if !field.is_written() {
            return none;
        }
        let expected =
            "patterns of profiles with keys of [[device]], such as [defaults.\"sick-lms291-*\"]";
        let Some(node) = field.any(expected) else { return none };
        if field.node().is_none() {
            return none;
        }
        let allowed = format!("allowed: {expected}");
        let Value::Table(entries) = node.value else {
            field.fault(node.place.fault("`defaults` must be a table", allowed));
            return none;
        };
        if entries.len() > MAX_DEFAULTS {
            let title = format!("{} tables of defaults are too many", entries.len());
            let fault = node.place.fault(title, format!("allowed: up to {MAX_DEFAULTS}"));
            field.fault(fault.note(format!("limit from {FORMAT}")));
            return none;
        }
        let mut tables: Vec<Entry> = Vec::new();
        for entry in entries {
            let Value::Table(keys) = &entry.node.value else {
                let title = format!("`defaults.\"{}\"` must be a table", entry.key);
                field.fault(entry.node.place.fault(title, allowed.clone()));
                continue;
            };
            for own in keys.iter().filter(|key| OWN_KEYS.contains(&&*key.key)) {
                let title = format!("`{}` cannot be a default", own.key);
                let label = "allowed: address, mount, link, gps_cable, corrections, settings";
                field.fault(own.key_place.fault(title, label));
            }
            tables.push(entry);
        }
        let letters = |entry: &Entry| entry.key.chars().filter(|c| *c != '*').count();
        tables.sort_by(|a, b| letters(b).cmp(&letters(a)).then_with(|| a.key.cmp(&b.key)));
        Self { tables }
    }

    /// Adds the defaults to `devices`. Rejects a pattern that matches no device.
    pub(crate) fn put_beneath(&self, devices: &mut [Node], field: &Field<'_>) {
        let profiles: Vec<_> =
            devices.iter().filter_map(|device| device.get("profile")?.as_text()).collect();
        for table in &self.tables {
            if !profiles.iter().any(|profile| fits(&table.key, profile)) {
                let title = format!("no device of this rig has a profile \"{}\"", table.key);
                let mut known = profiles.clone();
                known.sort_unstable();
                known.dedup();
                let label = format!("profiles of this rig: {}", known.join(", "));
                field.fault(table.key_place.fault(title, label));
            }
        }
        for device in devices {
            let profile = device.get("profile").and_then(Node::as_text).map(str::to_owned);
            let Some(profile) = profile else { continue };
            for table in self.tables.iter().filter(|table| fits(&table.key, &profile)) {
                put_beneath(device, &table.node, true);
            }
        }
    }
}

/// Adds missing keys from `defaults` to a table and, recursively, to its inner tables. If a device (`is_device`) has a
/// `link`, no keys are added to that link.
fn put_beneath(table: &mut Node, defaults: &Node, is_device: bool) {
    let Value::Table(defaults) = &defaults.value else { return };
    for default in defaults {
        if is_device && OWN_KEYS.contains(&&*default.key) {
            continue;
        }
        let Some(entries) = table.entries_mut() else { return };
        match entries.iter_mut().find(|entry| entry.key == default.key) {
            None => entries.push(default.clone()),
            Some(written) if is_device && written.key == "link" => {}
            Some(written) => put_beneath(&mut written.node, &default.node, false),
        }
    }
}

/// Whether `name` matches `pattern`, in which `*` matches any characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// One copy of a table that has `repeat`.
pub(crate) struct Copy {
    /// Index of the copy, from 0.
    pub index: usize,
    /// Offset from the original, metres.
    pub offset_m: [f64; 3],
}

/// Replaces each table of an array with `repeat = { count, step_m }` by its copies. `change` converts a table to a
/// copy; it returns title and label of an error if the table cannot be repeated.
pub(crate) fn repeated(
    items: Vec<Field<'_>>,
    most: usize,
    change: impl Fn(&mut Node, &Copy) -> Result<(), (String, String)>,
) -> Vec<Node> {
    let mut all = Vec::new();
    for item in &items {
        let Some(mut node) = item.node().cloned() else { continue };
        let repeat = node.entries_mut().and_then(|entries| {
            let found = entries.iter().position(|entry| entry.key == "repeat")?;
            Some(entries.remove(found))
        });
        let Some(repeat) = repeat else {
            all.push(node);
            continue;
        };
        let place = repeat.node.place.clone();
        let field = item.named("repeat").with(repeat.node);
        let Some((count, step_m)) = read(&field, most) else { continue };
        for index in 0..count {
            let mut copy = node.clone();
            if let Some(name) = copy
                .entries_mut()
                .and_then(|entries| entries.iter_mut().find(|entry| entry.key == "name"))
                && let Value::String(name) = &mut name.node.value
            {
                *name = format!("{name}-{}", index + 1);
            }
            let offset_m = step_m.map(|step| step * index as f64);
            if let Err((title, label)) = change(&mut copy, &Copy { index, offset_m }) {
                field.fault(place.fault(title, label));
                break;
            }
            all.push(copy);
        }
    }
    all
}

/// Reads `repeat`: the number of copies, at most `most`, and the offset from each copy to the next, metres.
pub(crate) fn read(field: &Field<'_>, most: usize) -> Option<(usize, [f64; 3])> {
    let mut table =
        field.clone().such_as("{ count = 6, step_m = [3.0, 0.0, 0.0] }").table("a repetition")?;
    let copies = Limit::new(1..=most as i128, "", FORMAT);
    let count = table.required("count").meaning("Number of copies.").integer::<u32>(&copies);
    let step = Limit::new(-1000.0..=1000.0, "m", FORMAT);
    let step_m = table
        .required("step_m")
        .meaning(
            "Distance from each copy to the next: of devices forward, left and up, of objects \
             east, north and up.",
        )
        .numbers(&step);
    table.finish();
    Some((count? as usize, step_m?))
}

/// Adds `offset_m` to the three numbers under `key` (default: 0). Other values stay unchanged; their reader reports
/// them.
pub(crate) fn moved(table: &mut Node, key: &str, offset_m: [f64; 3]) {
    let place = table.place.clone();
    let zero = |_| Node { value: Value::Float(0.0), place: place.clone() };
    let zeros =
        || Node { value: Value::Array(offset_m.iter().map(zero).collect()), place: place.clone() };
    let Some(numbers) = table.get_mut_or_insert(key, zeros) else { return };
    add(numbers, offset_m);
}

/// Adds the elements of `offset_m` to the numbers of an array with two or three elements. Elements that are not numbers
/// stay unchanged.
pub(crate) fn add(numbers: &mut Node, offset_m: [f64; 3]) {
    let Value::Array(items) = &mut numbers.value else { return };
    for (item, offset) in items.iter_mut().zip(offset_m) {
        match item.value {
            Value::Integer(whole) => item.value = Value::Float(whole as f64 + offset),
            Value::Float(x) => item.value = Value::Float(x + offset),
            _ => {}
        }
    }
}

/// Converts a device to a copy: moves it by the offset, and gives it its own address and pseudo-terminal. All copies keep
/// the UDP destination. For links that cannot be repeated, returns title and label of an error.
pub(crate) fn repeat_device(device: &mut Node, copy: &Copy) -> Result<(), (String, String)> {
    let place = device.place.clone();
    if let Some(mount) = device.get_mut_or_insert("mount", || Node::empty(&place)) {
        moved(mount, "translation_m", copy.offset_m);
    }
    let Some(entries) = device.entries_mut() else { return Ok(()) };
    for entry in entries {
        match (&*entry.key, &mut entry.node.value) {
            ("address", Value::String(text)) => {
                if let Ok(address) = text.parse::<IpAddr>() {
                    *text = further(address, copy.index).to_string();
                }
            }
            ("link", Value::String(text)) => match parts(text) {
                Some(("pty", _)) => *text = format!("{text}-{}", copy.index + 1),
                Some((kind @ ("serial" | "tcp"), _)) => return Err(one_link(kind)),
                _ => {}
            },
            ("link", Value::Table(link)) => {
                for part in link {
                    match (&*part.key, &mut part.node.value) {
                        ("pty", Value::String(path)) => {
                            *path = format!("{path}-{}", copy.index + 1)
                        }
                        ("udp", _) => {}
                        (kind, _) => return Err(one_link(kind)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn one_link(kind: &str) -> (String, String) {
    let title = format!("a device that repeats cannot have `{kind}` in its link");
    (title, "allowed: link = \"pty:PATH\", \"udp:HOST:PORT\", an `address`, or no link".into())
}

/// The IP address `address + index`.
fn further(address: IpAddr, index: usize) -> IpAddr {
    match address {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits().wrapping_add(index as u32)).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().wrapping_add(index as u128)).into(),
    }
}

/// Converts an object to a copy: moves its whole trajectory by the offset. For a trajectory from a file or a feed,
/// returns title and label of an error.
pub(crate) fn repeat_object(object: &mut Node, copy: &Copy) -> Result<(), (String, String)> {
    let empty = Node::empty(&object.place);
    let Some(trajectory) = object.get_mut_or_insert("trajectory", || empty) else { return Ok(()) };
    let kind = trajectory.get("kind").and_then(Node::as_text).unwrap_or_default();
    match kind {
        "still" => moved(trajectory, "position_m", copy.offset_m),
        "line" | "half-sine" => moved(trajectory, "start_m", copy.offset_m),
        "circle" => moved(trajectory, "center_m", copy.offset_m),
        "waypoints" => {
            let empty = Node::empty(&trajectory.place);
            let points = trajectory.get_mut_or_insert("points_m", || empty);
            if let Some(Node { value: Value::Array(points), .. }) = points {
                points.iter_mut().for_each(|point| add(point, copy.offset_m));
            }
        }
        "file" | "feed" => {
            let title = format!("an object with a trajectory of kind \"{kind}\" cannot repeat");
            return Err((title, "allowed: still, line, circle, half-sine, waypoints".into()));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        let is = ["sick-lms291-*", "*", "sick*s14", "sick-lms291-s14", "*lms*s1*"];
        assert!(is.iter().all(|pattern| fits(pattern, "sick-lms291-s14")));
        let is_not = ["sick-lms291", "lms291-s14", "*s05", "sick-*-*-*-s14", ""];
        assert!(is_not.iter().all(|pattern| !fits(pattern, "sick-lms291-s14")));
    }
}
