//! `menura schema`: prints every key of a rig, for editors and as a page, and every key of a
//! profile.

mod json;
mod markdown;
pub(super) mod rows;
pub(super) mod sentences;
pub(super) mod words;

use std::sync::LazyLock;

use super::{CliError, console};
use crate::config::rig;
use crate::config::toml::spec::TableSpec;
use crate::devices::families::catalogue;

/// Arguments of `menura schema`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Print a page for people instead of a JSON Schema
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

/// Keys of a rig with any of the embedded profiles; the first call takes seconds.
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

/// Names of keys without a sentence, and of sentences without a key.
pub fn sentence_faults() -> Vec<String> {
    sentences::faults(&[of_rig(), &catalogue().profile_spec()])
}
