//! Files that grow while a run goes on.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::links::part_file::SharedPart;

/// A file that grows while a run goes on. Once it is to be kept it stays under the name of an unfinished file if
/// the process ends before, or if it could not be written to its end.
pub struct GrowingFile {
    what: &'static str,
    path: PathBuf,
    file: SharedPart,
}

impl GrowingFile {
    /// Opens the file, which messages call `what`.
    ///
    /// # Errors
    /// The system's, as a sentence.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        let file = SharedPart::create(path).map_err(|error| unwritable(what, path, &error))?;
        Ok(Self::of(what, path, file))
    }

    /// A file whose stream, `file`, is open already.
    pub fn of(what: &'static str, path: &Path, file: SharedPart) -> Self {
        Self { what, path: path.to_owned(), file }
    }

    /// A writer to the file.
    pub fn writer(&self) -> Box<dyn Write + Send> {
        Box::new(BufWriter::new(self.file.clone()))
    }

    /// From now on what is written stays, whatever happens.
    pub fn keep(&self) {
        self.file.keep();
    }

    /// Gives the file its name, now that all of it is written. Whoever wrote it reports what failed.
    ///
    /// # Errors
    /// The system's, as a sentence.
    pub fn finish(self) -> Result<(), String> {
        self.file.finish().map(drop).map_err(|error| unwritable(self.what, &self.path, &error))
    }
}

fn unwritable(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot write the {what} {}: {error}", path.display())
}
