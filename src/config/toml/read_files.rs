//! Files that a rig consists of. One machine records the texts of these files and sends them to another machine, which
//! reads the texts instead of files.
//!
//! The names of profiles and calibrations are known only while a rig is read. The record therefore belongs to the
//! reading thread and is not an argument of all readers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// All files that this process has read for a rig.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Records that `path` is read for a rig: the rig itself, or a file that it names.
pub fn note_read(path: &Path) {
    READ.lock().expect("no holder panics").insert(path.to_owned());
}

/// Paths of all files that this process has read for rigs. Menura must not overwrite them.
pub fn files_read() -> Vec<PathBuf> {
    READ.lock().expect("no holder panics").iter().cloned().collect()
}

thread_local! {
    static LISTS: RefCell<Lists> = const { RefCell::new(Lists { noted: None, given: None }) };
}

struct Lists {
    noted: Option<Vec<(String, String)>>,
    given: Option<Vec<(String, String)>>,
}

/// Runs `work`; returns its result, and path and text of each file that it reads on this thread.
pub fn noting_files<R>(work: impl FnOnce() -> R) -> (R, Vec<(String, String)>) {
    LISTS.with_borrow_mut(|lists| lists.noted = Some(Vec::new()));
    let done = work();
    (done, LISTS.with_borrow_mut(|lists| lists.noted.take()).unwrap_or_default())
}

/// Runs `work` on this thread with these texts instead of the files at their paths. Other files are read normally.
pub fn with_files<R>(files: Vec<(String, String)>, work: impl FnOnce() -> R) -> R {
    LISTS.with_borrow_mut(|lists| lists.given = Some(files));
    let done = work();
    LISTS.with_borrow_mut(|lists| lists.given = None);
    done
}

/// The text that [`with_files`] provides for the file at `path`.
pub(super) fn given(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    LISTS.with_borrow(|lists| {
        let files = lists.given.as_ref()?;
        files.iter().find(|(known, _)| known == path).map(|(_, text)| text.clone())
    })
}

/// Records that `text` was read from `path`, if [`noting_files`] is active on this thread.
pub(super) fn note(path: &Path, text: &str) {
    LISTS.with_borrow_mut(|lists| {
        if let (Some(noted), Some(path)) = (&mut lists.noted, path.to_str())
            && !noted.iter().any(|(known, _)| known == path)
        {
            noted.push((path.to_owned(), text.to_owned()));
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::toml::diagnostic::SourceFile;

    use super::*;

    #[test]
    fn what_one_has_read_another_finds_without_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rig.toml");
        std::fs::write(&path, "a = 1").unwrap();
        let read = || SourceFile::read("rig", &path, 100).map(|source| source.text.clone());
        let (text, files) = noting_files(read);
        assert_eq!(text.unwrap(), "a = 1");
        assert_eq!(files, [(path.display().to_string(), "a = 1".to_owned())]);
        std::fs::remove_file(&path).unwrap();
        assert!(read().is_err());
        assert_eq!(with_files(files, read).unwrap(), "a = 1");
        assert!(read().is_err(), "given for once");
    }
}
