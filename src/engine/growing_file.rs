//! Output files that grow during a run.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::links::part_file::SharedPart;

/// An output file that grows during a run. It is named `NAME.part` until it is complete, and then `NAME`. It keeps the
/// name `NAME.part` if the process ends early or writing fails.
pub struct GrowingFile {
    what: &'static str,
    path: PathBuf,
    file: SharedPart,
}

impl GrowingFile {
    /// Opens the file as `NAME.part`; `what` is its description in messages, such as `fault log`.
    ///
    /// # Errors
    /// The system's error, as a sentence.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        let file = SharedPart::create(path).map_err(|error| unwritable(what, path, &error))?;
        Ok(Self::of(what, path, file))
    }

    /// Uses `file`, a stream that is already open.
    pub fn of(what: &'static str, path: &Path, file: SharedPart) -> Self {
        Self { what, path: path.to_owned(), file }
    }

    /// A writer to the file.
    pub fn writer(&self) -> Box<dyn Write + Send> {
        Box::new(BufWriter::new(self.file.clone()))
    }

    /// Makes sure that `NAME.part` is kept from now on, even without [`Self::finish`].
    pub fn keep(&self) {
        self.file.keep();
    }

    /// Renames the complete file to its final name. The writer itself reports errors of writing.
    ///
    /// # Errors
    /// The system's error, as a sentence.
    pub fn finish(self) -> Result<(), String> {
        self.file.finish().map(drop).map_err(|error| unwritable(self.what, &self.path, &error))
    }
}

fn unwritable(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot write the {what} {}: {error}", path.display())
}
