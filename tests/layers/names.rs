//! The name of a device family consists of its folder, its types and the words of its profiles' `driver` key. Outside
//! of the family's folder, only the table of families may contain this name.
//!
//! Formats of `src/wire` may have the name of their product wherever they are used, and tests may name the products
//! that they test. `gnss` is also a kind of sensor, so for this family only the folder in `src/devices` counts.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::paths::{paths_of, tokens_of};
use crate::{Fault, fault};

/// The table of families, and the file that declares their modules.
const TABLES: &[&str] = &["src/devices/families.rs", "src/devices/lib.rs"];
/// File that may contain names of families. It has the code that two families share, because both send the data packet
/// of `src/wire/velodyne`.
const SHARED_FORMAT: &str = "src/devices/spinning/data_packet.rs";
/// Families whose name is a kind of sensor.
const SENSOR_KINDS: &[&str] = &["gnss"];
/// Folder of the experiments, which may name the kind of sensor that they test.
const MAY_NAME_SENSOR_KINDS: &str = "src/validation/";

/// Names of families in a file outside of the folders of `families`; `keys` are the words of the `driver` key.
pub fn name_faults(
    file: &str,
    text: &str,
    families: &BTreeSet<String>,
    keys: &BTreeSet<&str>,
) -> Vec<Fault> {
    let in_room = families.iter().any(|family| file.starts_with(&format!("src/devices/{family}/")));
    let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
    let is_shared = file.starts_with("src/wire/") || file == SHARED_FORMAT;
    if in_room || is_test || is_shared || TABLES.contains(&file) {
        return Vec::new();
    }
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let (kinds, products): (Vec<&String>, Vec<&String>) =
        families.iter().partition(|family| SENSOR_KINDS.contains(&family.as_str()));
    let mut faults = Vec::new();
    let of_formats = names_of_formats(file, text);
    let is_name = |ident: &str| {
        !of_formats.contains(ident)
            && products
                .iter()
                .any(|family| ident == *family || ident.starts_with(&camel_case(family)))
    };
    search(tokens_of(file, text), &is_name, keys, &mut |line, name| {
        faults.push(fault(file, line, format!("names the family `{name}`")));
    });
    if !file.starts_with(MAY_NAME_SENSOR_KINDS) {
        let of_kinds = paths_of(file, text).into_iter().filter_map(|path| match &*path.names {
            [root, devices, kind, ..] if root == "crate" && devices == "devices" => kinds
                .contains(&kind)
                .then(|| fault(file, path.line, format!("names the family `{kind}`"))),
            _ => None,
        });
        faults.extend(of_kinds);
    }
    faults
}

/// Names in those paths of a file that lead to formats of `src/wire`.
fn names_of_formats(file: &str, text: &str) -> BTreeSet<String> {
    let paths = paths_of(file, text).into_iter();
    paths
        .filter(|path| path.names.get(1).is_some_and(|layer| layer == "wire"))
        .flat_map(|path| path.names)
        .collect()
}

/// Converts `sick_lms1xx` to `SickLms1xx`.
fn camel_case(family: &str) -> String {
    let parts = family.split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
    parts.collect()
}

fn search(
    tokens: TokenStream,
    is_name: &dyn Fn(&str) -> bool,
    keys: &BTreeSet<&str>,
    tell: &mut dyn FnMut(usize, &str),
) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => search(group.stream(), is_name, keys, tell),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                if is_name(&name) {
                    tell(ident.span().start().line, &name);
                }
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let word = text.trim_matches('"');
                if text.starts_with('"') && keys.contains(word) && !SENSOR_KINDS.contains(&word) {
                    tell(literal.span().start().line, word);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

mod checker {
    use super::*;
    use crate::lines;

    #[test]
    fn finds_a_family_that_is_named_outside_its_room() {
        let families = ["gnss", "hdl64e", "sick_lms1xx"].map(str::to_owned).into();
        let keys = ["velodyne-hdl64e", "gnss", "sick-lms1xx"].into();
        let text = "\
use crate::devices::hdl64e::profile;
use crate::devices::gnss::profile::Settings;
use crate::sensors::gnss::SkySensor;
// hdl64e and SickLms1xx
fn f(lidar: &SickLms1xxProfile) {}
const KEYS: [&str; 3] = [\"velodyne-hdl64e\", \"gnss\", \"a velodyne-hdl64e here\"];
#[cfg(test)]
mod tests {
    use crate::devices::hdl64e::Hdl64e;
}
";
        let find = |file| name_faults(file, text, &families, &keys);
        let mut found = lines(&find("src/engine/mod.rs"));
        found.sort_unstable();
        assert_eq!(found, [1, 2, 5, 6]);
        assert_eq!(lines(&find("src/validation/allan/mod.rs")).len(), 3);
        for room in ["src/devices/hdl64e/mod.rs", "src/devices/families.rs", "src/wire/velodyne.rs"]
        {
            assert_eq!(find(room), [], "{room}");
        }
    }
}
