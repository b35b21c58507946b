//! Output files of commands. They are opened before the work, so that a wrong path is reported at once.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{CliError, console};
use crate::links::part_file::{OutPath, PartFile};
use crate::plot::{Figure, PlotFile};

/// An open output file. An existing file keeps its content until the new one is complete.
pub struct OutFile {
    path: PathBuf,
    file: PartFile,
}

impl OutFile {
    /// Opens the file; `what` is its name in messages.
    pub fn create(what: &str, path: &OutPath) -> Result<Self, CliError> {
        let file = PartFile::create(path).map_err(|error| cannot_start(what, path, &error))?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// Whether the file's extension requests an HTML page.
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

    /// Replaces the content of the file by `text`.
    pub fn write(self, text: &str) -> Result<(), CliError> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    /// Replaces the content of the file by the output of `write`.
    pub fn write_with(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(), CliError> {
        let mut out = BufWriter::new(&mut self.file);
        let written = write(&mut out).and_then(|()| out.flush());
        drop(out);
        let Self { path, file } = self;
        written.and_then(|()| file.finish().map(drop)).map_err(|error| cannot_write(&path, &error))
    }
}

/// Writes `bytes` to the file at `path`.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    PartFile::write_whole(path, bytes).map_err(|error| cannot_write(path, &error))
}

fn cannot_start(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::Input(format!("error: cannot write the {what} {}: {error}", path.display()))
}

fn cannot_write(path: impl AsRef<Path>, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot write {}", path.as_ref().display()), error)
}

/// Writes a figure that shows `what`, and prints the file's path.
pub fn write_plot(figure: &Figure, file: &PlotFile, what: &str) -> Result<(), CliError> {
    write_file(file.path(), &figure.bytes(file))?;
    console::say(format_args!("drew {what} to {}", file.path().display()));
    Ok(())
}
