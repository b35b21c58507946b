//! The rig with which a driver is tested.

use std::path::{Path, PathBuf};

use crate::config::toml::diagnostic::{Diagnostic, Diagnostics};
use crate::kit::library;

/// Origin of a rig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RigSource {
    /// A file.
    File(PathBuf),
    /// A rig that is part of the program: path in the source tree, and text.
    Embedded(&'static str, &'static str),
}

impl RigSource {
    /// Finds an embedded rig by its name, or a rig file by its path, which ends in `.toml`. Paths are relative to
    /// `folder`.
    ///
    /// # Errors
    /// No embedded rig has this name.
    pub fn find(name: &str, folder: &Path) -> Result<Self, Diagnostics> {
        if name.ends_with(".toml") {
            return Ok(Self::File(folder.join(name)));
        }
        match library::rig(name) {
            Some((file, text)) => Ok(Self::Embedded(file, text)),
            None => {
                let names: Vec<_> = library::rig_names().collect();
                let fault = Diagnostic::new(format!("there is no rig `{name}` for suites"));
                Err(fault
                    .help(format!("allowed: {}; or the path of a .toml file", names.join(", ")))
                    .into())
            }
        }
    }

    /// Path of the rig; an embedded rig is first written into `folder`.
    ///
    /// # Errors
    /// The embedded rig cannot be written, or a file of its name with other content exists.
    pub fn file(&self, folder: &Path) -> std::io::Result<PathBuf> {
        match self {
            // An absolute path, so that `repeat.sh` works from any folder.
            Self::File(path) => Ok(path.canonicalize().unwrap_or_else(|_| path.clone())),
            Self::Embedded(file, text) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                let path = folder.join(name);
                // Parallel cases may write the same file, which must always be complete.
                match std::fs::read(&path) {
                    Ok(there) if there == text.as_bytes() => return Ok(path),
                    Ok(_) => {
                        let text = format!("{} exists and has other content", path.display());
                        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, text));
                    }
                    Err(_) => {}
                }
                let part = folder.join(format!("{name}.{:?}", std::thread::current().id()));
                std::fs::write(&part, text)?;
                std::fs::rename(&part, &path)?;
                Ok(path)
            }
        }
    }

    /// Name for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Embedded(file, _) => (*file).to_owned(),
        }
    }
}
