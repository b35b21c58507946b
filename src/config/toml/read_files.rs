//! Files that a rig consists of: one machine records them and sends them, another reads them from the list.
//!
//! A rig names its profiles and calibrations only while it is read. So the record belongs to the reading
//! thread and is not passed through all readers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Every file that this process has read for a rig.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Records that `path` is read for a rig: the rig itself, or a file that it names.
pub fn note_read(path: &Path) {
    READ.lock().expect("no holder panics").insert(path.to_owned());
}

/// Paths of all files that this process has read for rigs, so that it does not overwrite one.
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

/// Path and text of each file that `work` reads on this thread, with the result of `work`.
pub fn noting_files<R>(work: impl FnOnce() -> R) -> (R, Vec<(String, String)>) {
    LISTS.with_borrow_mut(|lists| lists.noted = Some(Vec::new()));
    let done = work();
    (done, LISTS.with_borrow_mut(|lists| lists.noted.take()).unwrap_or_default())
}

/// Runs `work` with these texts in place of the files at their paths, on this thread; other files are read as
/// usual.
pub fn with_files<R>(files: Vec<(String, String)>, work: impl FnOnce() -> R) -> R {
    LISTS.with_borrow_mut(|lists| lists.given = Some(files));
    let done = work();
    LISTS.with_borrow_mut(|lists| lists.given = None);
    done
}

/// The text that was given for the file at `path`.
pub(super) fn given(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    LISTS.with_borrow(|lists| {
        let files = lists.given.as_ref()?;
        files.iter().find(|(known, _)| known == path).map(|(_, text)| text.clone())
    })
}

/// Notes that `text` was read from `path`, if such notes are kept.
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
