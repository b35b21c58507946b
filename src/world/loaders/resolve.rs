//! Sources of a scene's files: the disk, or memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::config::toml::read_files::note_read;

/// Reads the files that a scene file names.
pub trait Resolver {
    /// Reads the whole file at `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] for a missing file, otherwise the reason why the file cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Whether a file or folder exists at `path`.
    fn exists(&self, path: &Path) -> bool;

    /// Whether colour images are requested. They take four times the memory of images for lasers.
    fn wants_colours(&self) -> bool {
        true
    }
}

/// Files on disk, up to 4 GiB each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk {
    /// Whether colour images are requested.
    pub colours: bool,
}

/// Size of the largest file that is read, bytes.
const MAX_FILE_BYTES: u64 = 1 << 32;

impl Resolver for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let about = std::fs::metadata(path)?;
        // Reading a device or a pipe might never end.
        if !about.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if about.len() > MAX_FILE_BYTES {
            return Err(io::Error::other("it is larger than 4 GiB"));
        }
        note_read(path);
        std::fs::read(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn wants_colours(&self) -> bool {
        self.colours
    }
}

/// Files in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Memory {
    /// Adds a file.
    pub fn with(mut self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(plain(path.as_ref()), bytes.into());
        self
    }
}

impl Resolver for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = self.files.get(&plain(path));
        bytes.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn exists(&self, path: &Path) -> bool {
        let path = plain(path);
        self.files.keys().any(|file| file.starts_with(&path))
    }
}

/// Removes `.` and `..` from `path` without access to the disk.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path `text`, relative to `folder`. The separator can be `\`, as in files made on Windows.
pub(super) fn named(folder: &Path, text: &str) -> PathBuf {
    folder.join(text.replace('\\', "/"))
}

/// The folder of a file.
pub(super) fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_knows_files_and_their_folders() {
        let files = Memory::default().with("data/scenes/a.json", "{}");
        assert_eq!(files.read(Path::new("data/./scenes/x/../a.json")).unwrap(), b"{}");
        assert!(files.exists(Path::new("data/scenes")));
        assert!(!files.exists(Path::new("data/sce")));
        assert_eq!(files.read(Path::new("b")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_disk_gives_regular_files_only() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Disk::default().exists(folder.path()));
        assert!(
            Disk::default().read(folder.path()).unwrap_err().to_string().contains("regular file")
        );
        let missing = Disk::default().read(&folder.path().join("x")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn backslashes_are_folders() {
        assert_eq!(named(Path::new("a"), "b\\c.bmp"), Path::new("a/b/c.bmp"));
    }
}
