//! Reads a firmware profile. Most keys are required; every value must be within its limits.
//!
//! `firmware-profiles/example.toml` explains the keys.

use std::path::Path;
use std::sync::Arc;

use super::{FamilyReader, Profile};
use crate::toml::diagnostic::{Diagnostics, SourceFile};
use crate::toml::explore::explore;
use crate::toml::reader::{Faults, TableReader, parse_toml};
use crate::toml::spec::TableSpec;

/// Text that error messages print as the source of limits that are the same for all products.
pub const PROFILES: &str = "Menura's profiles, see firmware-profiles/example.toml";

/// Documentation of the key `identity` of a profile.
pub const IDENTITY: &str = "Identity that the product reports.";
/// Documentation of the key `clock` of a profile.
pub const CLOCK: &str = "The unit's clock and its errors.";

/// Reads the profile in `source`; returns all errors. The profile's name is the name of its file without the extension.
pub fn parse(
    source: &Arc<SourceFile>,
    families: &[&'static dyn FamilyReader],
) -> Result<Profile, Diagnostics> {
    let faults = Faults::default();
    let profile = parse_toml(source, &faults)
        .and_then(|root| profile(TableReader::root(root, "a profile", &faults), source, families));
    let faults = faults.into_inner();
    match profile {
        Some(profile) if faults.is_empty() => Ok(profile),
        _ => Err(faults),
    }
}

/// Keys of a profile that this reader accepts.
pub fn spec(families: &[&'static dyn FamilyReader]) -> TableSpec {
    let source = SourceFile::new("", "", "");
    explore(|survey| {
        let faults = Faults::default();
        profile(TableReader::surveyed(survey, &faults), &source, families);
    })
}

fn profile(
    mut root: TableReader<'_>,
    source: &Arc<SourceFile>,
    families: &[&'static dyn FamilyReader],
) -> Option<Profile> {
    let words: Vec<(&str, &'static dyn FamilyReader)> =
        families.iter().map(|family| (family.key(), *family)).collect();
    let file = &source.name;
    let says = "Description of the product, in one line for `menura profiles`.";
    let summary = root.required("summary").meaning(says).text("one line for `menura profiles`");
    let says = "Product family, which determines the other keys of the file.";
    let family = root.required("driver").meaning(says).choice_of_kind(&words, PROFILES);
    let says = "Values that no two sources confirm.";
    let unsure = root.required("unsure").meaning(says).strings("what no two sources confirm");
    let says = "Sources of the numbers; at least one of the lists must have an entry.";
    let sources = root.required("source").meaning(says).table("[source]").and_then(sources);
    // If the family is unknown, the other keys cannot be checked.
    let family = family?;
    let read = family.read_profile(root);
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (product, data) = read?;
    Some(Profile {
        name,
        file: file.clone(),
        source: source.clone(),
        summary: summary?.value,
        sources: sources?,
        unsure: unsure?,
        product,
        family,
        data,
    })
}

fn sources(mut table: TableReader<'_>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut complete = true;
    for (key, kind, says) in [
        ("manual", "manual", "Documents of the vendor."),
        ("captures", "capture", "Traffic of real devices."),
        ("drivers", "driver", "Software that reads real devices."),
    ] {
        match table.required(key).meaning(says).strings("where the numbers come from") {
            Some(list) => all.extend(list.iter().map(|source| format!("{kind}: {source}"))),
            None => complete = false,
        }
    }
    if complete && all.is_empty() {
        let label = "at least one of manual, captures and drivers must name a source";
        table.fault(table.place().fault("a profile needs at least one entry in [source]", label));
    }
    table.finish();
    complete.then_some(all)
}
