//! Result files: a file is named `NAME.part` until it is complete, and then `NAME`.
//!
//! So a file named `NAME` is always complete, even after a failure of the disk or the process.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::told;

/// Suffix of an unfinished file.
const SUFFIX: &str = ".part";
/// Path prefixes of streams that are already open, and of process information. Such files are written in place.
const OPEN_ALREADY: [&str; 4] = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"];
/// Largest number of symbolic links that are followed, as in Linux.
const MOST_LINKS: usize = 40;
/// Number of attempts to open and lock a `.part` file. An attempt fails if another process renames the file meanwhile.
const ATTEMPTS: usize = 8;

/// A file that is being written, without a buffer.
///
/// A pipe, a device or `/dev/stdout` is written in place.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    /// Name of the unfinished file.
    part: PathBuf,
    /// Final name; `None` if the file is written in place.
    target: Option<PathBuf>,
    is_kept: bool,
    has_failed: bool,
    is_finished: bool,
}

impl PartFile {
    /// Creates `PATH.part` in the folder of `path`, or of the file to which `path` is a symbolic link. Dropping the
    /// value before [`PartFile::finish`] deletes the file.
    ///
    /// # Errors
    /// The system's error. An existing file at `path` is write-protected, or another process writes it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let there = std::fs::metadata(path).ok();
        let is_open_already = OPEN_ALREADY.iter().any(|start| path.starts_with(start));
        if is_open_already || there.as_ref().is_some_and(|about| !about.is_file()) {
            let file = OpenOptions::new().write(true).truncate(is_open_already).open(path)?;
            return Ok(Self::of(file, path.to_owned(), None));
        }
        if there.is_some() {
            // Renaming could replace a write-protected file. Opening the file for writing reports an error instead.
            OpenOptions::new().write(true).open(path)?;
        }
        let target = resolved(path)?;
        let part = part_of(&target);
        let file = lock(&part)?;
        if let Some(about) = there {
            file.set_permissions(about.permissions())?;
        }
        Ok(Self::of(file, part, Some(target)))
    }

    /// Like [`PartFile::create`], but `PATH.part` is kept even if the file is never finished.
    ///
    /// # Errors
    /// See [`PartFile::create`].
    pub fn create_growing(path: &Path) -> io::Result<Self> {
        let mut file = Self::create(path)?;
        file.is_kept = true;
        Ok(file)
    }

    fn of(file: File, part: PathBuf, target: Option<PathBuf>) -> Self {
        Self { file, part, target, is_kept: false, has_failed: false, is_finished: false }
    }

    /// Present name of the file.
    pub fn path(&self) -> &Path {
        &self.part
    }

    /// Whether a write has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Waits until the disk has all data, and renames the file; returns its length, bytes.
    ///
    /// # Errors
    /// The system's error, or an earlier write has failed.
    pub fn finish(self) -> io::Result<u64> {
        self.finish_by(|part, target| std::fs::rename(part, target))
    }

    /// Like [`PartFile::finish`], but never replaces an existing file.
    ///
    /// # Errors
    /// Like [`PartFile::finish`]; in addition, the file exists.
    pub fn finish_new(self) -> io::Result<u64> {
        self.finish_by(|part, target| {
            match renameat_with(CWD, part, CWD, target, RenameFlags::NOREPLACE) {
                // Some file systems do not support renaming without replacing.
                Err(Errno::INVAL | Errno::NOSYS) if !target.exists() => {
                    std::fs::rename(part, target)
                }
                outcome => Ok(outcome?),
            }
        })
    }

    fn finish_by(mut self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<u64> {
        if self.has_failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let length = self.file.metadata()?.len();
        if let Some(target) = &self.target {
            self.file.sync_all().map_err(|error| told(&error, "sync"))?;
            rename(&self.part, target)
                .map_err(|error| told(&error, &format!("cannot rename {}", self.part.display())))?;
        }
        self.is_finished = true;
        Ok(length)
    }

    /// Writes `bytes` to the file `path`.
    ///
    /// # Errors
    /// The system's error; an existing file at `path` stays unchanged.
    pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(bytes)?;
        file.finish().map(drop)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.has_failed |= matches!(&written, Err(error) if error.kind() != ErrorKind::Interrupted);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_finished && !self.is_kept && self.target.is_some() {
            // The caller that drops the file reports why it is incomplete.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// A [`PartFile`] that one part of the program writes and another part finishes.
#[derive(Clone, Debug)]
pub struct SharedPart(Arc<Mutex<Option<PartFile>>>);

impl SharedPart {
    /// Creates the file, like [`PartFile::create`].
    ///
    /// # Errors
    /// See [`PartFile::create`].
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(Some(PartFile::create(path)?)))))
    }

    /// Keeps the unfinished file from now on, like [`PartFile::create_growing`].
    pub fn keep(&self) {
        if let Some(file) = &mut *self.0.lock().expect("no holder panics") {
            file.is_kept = true;
        }
    }

    /// Like [`PartFile::finish`]. Returns `None` if the file is finished already, or if a write has failed, which the
    /// writer reports.
    ///
    /// # Errors
    /// The system's error.
    pub fn finish(&self) -> io::Result<Option<u64>> {
        let file = self.0.lock().expect("no holder panics").take();
        file.filter(|file| !file.has_failed).map(PartFile::finish).transpose()
    }

    /// Length so far, bytes.
    ///
    /// # Errors
    /// The system's error, or the file is finished.
    pub fn length(&self) -> io::Result<u64> {
        self.with(|file| Ok(file.file.metadata()?.len()))
    }

    fn with<T>(&self, does: impl FnOnce(&mut PartFile) -> io::Result<T>) -> io::Result<T> {
        let mut file = self.0.lock().expect("no holder panics");
        does(file.as_mut().ok_or(ErrorKind::BrokenPipe)?)
    }
}

impl Write for SharedPart {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|file| file.flush())
    }
}

/// An output path of a command. All options with output paths have this type, so that the command line can
/// check them.
#[derive(Clone, Debug)]
pub struct OutPath(PathBuf);

impl From<OsString> for OutPath {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl Deref for OutPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// Name of the unfinished file for `path`.
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(SUFFIX);
    name.into()
}

/// Path of the file to which `path` leads after all symbolic links, whether the file exists or not.
///
/// # Errors
/// The folder does not exist, the path has no file name, or there are too many symbolic links.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
        let found = folder.join(name);
        match found.read_link() {
            Ok(next) => path = folder.join(next),
            Err(_) => return Ok(found),
        }
    }
    Err(Errno::LOOP.into())
}

/// Opens the file at `path`, locks it against other processes, and empties it.
fn lock(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let flags = OFlags::NOFOLLOW.bits() as i32;
        let options = OpenOptions::new().write(true).create(true).custom_flags(flags).to_owned();
        let file = options.open(path).map_err(|error| told(&error, &shown(path)))?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other(format!("{}: not a file", path.display())));
        }
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let text = format!("{} is already being written", path.display());
                return Err(io::Error::new(ErrorKind::ResourceBusy, text));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // The previous owner of the lock may have renamed the file meanwhile.
        let is_same = std::fs::symlink_metadata(path)
            .is_ok_and(|now| (now.dev(), now.ino()) == (about.dev(), about.ino()));
        if is_same {
            file.set_len(0)?;
            return Ok(file);
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, format!("{} keeps changing", path.display())))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut file = PartFile::create(&path).unwrap();
        file.write_all(b"new and longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["report.json", "report.json.part"]);
        assert_eq!(file.finish().unwrap(), 14);
        assert_eq!(names(folder.path()), ["report.json"]);
        assert_eq!(fs::read(&path).unwrap(), b"new and longer");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_is_never_finished_goes_and_a_stream_stays_under_its_other_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        drop(PartFile::create(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        let mut stream = PartFile::create_growing(&path).unwrap();
        stream.write_all(b"some").unwrap();
        drop(stream);
        assert_eq!(names(folder.path()), ["x.part"]);
        // An unfinished file does not prevent another attempt.
        PartFile::write_whole(&path, b"y").unwrap();
        assert_eq!(
            (names(folder.path()), fs::read(&path).unwrap()),
            (vec!["x".into()], b"y".into())
        );
    }

    #[test]
    fn links_lead_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).unwrap();
        symlink("far/data", at("link")).unwrap();
        PartFile::write_whole(&at("link"), b"1").unwrap();
        assert_eq!(fs::read(at("far/data")).unwrap(), b"1");
        assert!(at("link").is_symlink());
        symlink("circle", at("circle")).unwrap();
        assert!(PartFile::create(&at("circle")).is_err());
        // A symbolic link under the `.part` name does not redirect the output.
        symlink("far/data", at("trap.part")).unwrap();
        assert!(PartFile::create(&at("trap")).is_err());
        assert_eq!(fs::read(at("far/data")).unwrap(), b"1");
    }

    #[test]
    fn two_writers_of_one_file_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let first = PartFile::create(&path).unwrap();
        let error = PartFile::create(&path).unwrap_err();
        assert!(error.to_string().contains("is already being written"), "{error}");
        first.finish().unwrap();
        let again = PartFile::create(&path).unwrap();
        let error = again.finish_new().unwrap_err();
        assert!(error.to_string().contains("exists"), "{error}");
        assert_eq!(names(folder.path()), ["x"]);
    }

    #[test]
    fn a_failed_write_is_told_and_gives_no_name() {
        let mut full = PartFile::create(Path::new("/dev/full")).unwrap();
        assert!(full.write_all(b"x").is_err() && full.has_failed());
        assert!(full.finish().is_err());
        let missing = PartFile::create(Path::new("/no/such/folder/x")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(PartFile::create(Path::new("/tmp")).is_err(), "a folder");
    }
}
