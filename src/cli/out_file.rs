//! Files that are written after the work, opened before it so that a wrong path stops it at once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::CliError;
use crate::plot::{Figure, PlotFile};

/// An open, empty file.
pub struct OutFile {
    path: PathBuf,
    file: File,
}

impl OutFile {
    /// Creates or empties the file, which messages call `what`.
    pub fn create(what: &str, path: &Path) -> Result<Self, CliError> {
        let file = File::create(path).map_err(|error| {
            CliError::Input(format!("error: cannot write the {what} {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Whether its name says that it is a page for people.
    pub fn is_page(&self) -> bool {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"))
    }

    /// Writes `content` as JSON.
    pub fn write_json(self, content: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(content)
            .map_err(|error| CliError::failed(self.path.display(), &error))?;
        self.write(&format!("{text}\n"))
    }

    /// Writes `text`.
    pub fn write(mut self, text: &str) -> Result<(), CliError> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|error| CliError::failed(self.path.display(), &error))
    }
}

/// Writes a figure that shows `what` and says so.
pub fn write_plot(figure: &Figure, file: &PlotFile, what: &str) -> Result<(), CliError> {
    let shown = file.path().display();
    figure
        .write(file)
        .map_err(|error| CliError::failed(format!("cannot write {shown}"), &error))?;
    eprintln!("drew {what} to {shown}");
    Ok(())
}
