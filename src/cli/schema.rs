//! `menura schema`: prints every key of a rig, for editors and as a page, and every key of a
//! profile.

mod json;
mod markdown;
pub(super) mod rows;
pub(super) mod words;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{CliError, console};
use crate::config::rig;
use crate::config::toml::spec::{KeySpec, TableSpec};
use crate::devices::families::catalogue;

/// Arguments of `menura schema`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Print a Markdown page instead of a JSON Schema
    #[arg(long)]
    markdown: bool,
    /// Print the JSON Schema of firmware profiles
    #[arg(long, conflicts_with = "markdown")]
    profiles: bool,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        console::print(match self {
            Self { markdown: true, .. } => page(),
            Self { profiles: true, .. } => profile_schema(),
            Self { .. } => schema(),
        })
    }
}

/// All keys that a rig can have with the embedded profiles; the first call takes seconds.
pub fn of_rig() -> &'static TableSpec {
    static FOUND: LazyLock<TableSpec> = LazyLock::new(|| rig::spec(catalogue()));
    &FOUND
}

/// The JSON Schema of rigs, draft 7.
pub fn schema() -> String {
    json::schema("Menura rig", "rig", of_rig())
}

/// The JSON Schema of firmware profiles, draft 7.
pub fn profile_schema() -> String {
    json::schema("Menura firmware profile", "profile", &catalogue().profile_spec())
}

/// The page `docs/RIG-KEYS.md` with every key of a rig.
pub fn page() -> String {
    markdown::page(of_rig())
}

/// Paths of undocumented keys in rigs and profiles.
pub fn keys_without_sentence() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (path, spec) in [("rig", of_rig()), ("profile", &catalogue().profile_spec())] {
        without_sentence(spec, path, &mut all);
    }
    all
}

fn without_sentence(spec: &TableSpec, path: &str, all: &mut BTreeSet<String>) {
    let cases = spec.variants.iter().flat_map(|variants| &variants.cases);
    let of_cases = cases.flat_map(|case| &case.keys).filter_map(|(_, key)| key.as_ref());
    for key in spec.keys.iter().chain(of_cases) {
        let path = format!("{path}.{}", key.name);
        for table in [key.table(), key.item().and_then(KeySpec::table)].into_iter().flatten() {
            without_sentence(table, &path, all);
        }
        if key.meaning.is_none() {
            all.insert(path);
        }
    }
}
