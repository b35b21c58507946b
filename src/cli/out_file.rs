//! Files that are written after the work, opened before it so that a wrong path stops it at once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{CliError, console};
use crate::plot::{Figure, PlotFile};

/// An open file. Until it is written it keeps what it holds; if it never is, and was not there before,
/// it goes again.
pub struct OutFile {
    path: PathBuf,
    file: File,
    goes_again: bool,
}

impl OutFile {
    /// Opens the file, which messages call `what`, and creates it if it is not there.
    pub fn create(what: &str, path: &Path) -> Result<Self, CliError> {
        let goes_again = path.symlink_metadata().is_err();
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(
            |error| {
                let shown = path.display();
                CliError::Input(format!("error: cannot write the {what} {shown}: {error}"))
            },
        )?;
        Ok(Self { path: path.to_owned(), file, goes_again })
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

    /// Writes `text` in place of what the file held.
    pub fn write(mut self, text: &str) -> Result<(), CliError> {
        self.goes_again = false;
        let is_regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if is_regular { self.file.set_len(0) } else { Ok(()) };
        emptied.and_then(|()| self.file.write_all(text.as_bytes())).map_err(|error| {
            CliError::failed(format!("cannot write {}", self.path.display()), &error)
        })
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        if self.goes_again {
            // Something has gone wrong already, and that is told.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a figure that shows `what` and says so.
pub fn write_plot(figure: &Figure, file: &PlotFile, what: &str) -> Result<(), CliError> {
    let shown = file.path().display();
    figure
        .write(file)
        .map_err(|error| CliError::failed(format!("cannot write {shown}"), &error))?;
    console::say(format_args!("drew {what} to {shown}"));
    Ok(())
}
