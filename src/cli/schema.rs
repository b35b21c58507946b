//! `menura schema`: every key of a rig, for editors and for people.

mod json;
mod markdown;
pub(super) mod sentences;
pub(super) mod words;

use super::{CliError, console};
use crate::config::rig;
use crate::devices::family::catalogue;

/// Arguments of `menura schema`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Print a page for people instead of a JSON Schema
    #[arg(long)]
    markdown: bool,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        console::print(if self.markdown { page() } else { schema() })
    }
}

/// The JSON Schema of rigs, draft 7.
pub fn schema() -> String {
    json::schema(&rig::spec(catalogue()))
}

/// The page of every key of a rig, `docs/RIG-KEYS.md`.
pub fn page() -> String {
    markdown::page(&rig::spec(catalogue()))
}

/// Keys without a sentence, and sentences without a key.
pub fn sentence_faults() -> Vec<String> {
    sentences::faults(&rig::spec(catalogue()))
}
